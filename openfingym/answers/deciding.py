"""Whether an answer is right, by rule.

An answer is *right* where it says the right value for every part and nothing that competes with it, *wrong* where some
part's right value is nowhere in it, or where it hedges, and *undecided* where a rule cannot tell: that is for a judge.
Two answers, a list of candidates, a range and a bound are wrong whatever they contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from openfingym.answers.matching import Candidate, candidates, name_key
from openfingym.answers.reading.cleaning import HEDGE, LONGEST, answer_and_rest, cleaned, final_parts
from openfingym.answers.reading.tables import json_of, named, outside_json, rows_of
from openfingym.answers.reference import Part, Reference

Outcome = Literal["right", "wrong", "undecided"]
State = Literal["answered", "empty", "declined", "ambiguous", "unreadable"]

_DECLINED = re.compile(
    r"\b(?:i\s+(?:do\s+not|don't|cannot|can't|could\s+not|couldn't)\b|unknown|not\s+(?:sure|available|found"
    r"|known|disclosed|certain)"
    r"|unable\s+to|cannot\s+(?:be\s+)?(?:determine|find|answer|provide)|no\s+(?:answer|data|information|idea)"
    r"|n/?a\b|none\b|undetermined)"
    r"|不知道|不清楚|不确定|无法|没有找到|未找到|未知|暂无|抱歉|没有数据",
    re.IGNORECASE,
)
_NOT_BEFORE = re.compile(
    r"\b(?:not|isn't|wasn't|aren't|never|neither|nor|n't|cannot be|rather than|instead of|unlike|except"
    r"|excluding|wrong)\b[^.;\n]{0,24}$|不是|并非|而非|不等于",
    re.IGNORECASE,
)
_NOT_AFTER = re.compile(
    r"^[^.;\n]{0,24}\b(?:is|was|are|would be|seems)\s+(?:not|wrong|incorrect|false)\b"
    r"|^[^.;\n]{0,8}(?:不对|不正确|是错)",
    re.IGNORECASE,
)
_BETWEEN_ALTERNATIVES = re.compile(
    r"(?:\s|[,;/|&()\[\]?!\"'.:~$€£¥%-]|\b(?:or|and|either|maybe|possibly|perhaps|alternatively|to|vs|also"
    r"|million|billion|thousand|usd|it|could"
    r"|be|might|may|is|then|else|if|not|answer|another|candidate|option|second|first|again|but)\b"
    r"|\b[0-9]{1,2}[.)]\s|或者?|和|至|到|以及|也|可能|是|元|万|亿|百万)*",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """What became of an answer."""

    outcome: Outcome
    state: State
    """What there was: an answer, nothing, a refusal, several answers at once, or nothing that can be read as one."""
    rule: str
    """Which rule decided: that of the part, ``rows``, ``order``, ``hedge``, ``negation``, ``empty``, ``declined``, or
    ``none`` where none could."""
    reason: str
    """In words, for whoever may see the reference."""


def decide(reference: Reference, answer: str) -> Verdict:
    """Decide by rule whether an answer is right. Never raises, whatever the answer is.

    Args:
        reference: the truth.
        answer: what was answered; a JSON value as JSON.
    """
    text = cleaned(answer[-LONGEST:] if len(answer) > LONGEST else answer)
    if not any(map(str.isalnum, text)):
        return Verdict("wrong", "empty", "empty", "there is no answer")
    finals = final_parts(text)
    if len(answer) > LONGEST and finals == (text,):
        return Verdict("wrong", "unreadable", "length", f"{len(answer):,} characters without a final answer")
    verdicts = [_decided(reference, final) for final in dict.fromkeys(finals)]
    if len({verdict.outcome for verdict in verdicts}) > 1:
        return Verdict("wrong", "ambiguous", "hedge", f"{len(verdicts)} final answers, which differ")
    return verdicts[0]


def _decided(reference: Reference, final: str) -> Verdict:
    text, rest = answer_and_rest(final)
    verdict = _rows(reference, text) if reference.rows else _parts(reference.parts, text)
    if verdict.outcome == "right" and rest and HEDGE.search(rest) and _says_otherwise(reference.columns, rest):
        return Verdict("undecided", "answered", "none", "what follows the answer may say another one")
    return verdict


def _parts(parts: Sequence[Part], text: str) -> Verdict:
    if not parts:
        return _declined(text) or Verdict(
            "undecided", "answered", "none", "the reference is a text; no rule compares it"
        )
    if len(parts) == 1:
        return _single(parts[0], _sole_value(parts[0], text))
    names = [part.name for part in parts]
    found = json_of(text)
    if found is not None:
        values = _from_json(found, names)
        if values is None:
            return Verdict("undecided", "unreadable", "none", f"its JSON has other names than {', '.join(names)}")
        verdict = _all([_single(part, value) for part, value in zip(parts, values, strict=True)])
        if (
            verdict.outcome == "right"
            and HEDGE.search(outside := outside_json(text))
            and _says_otherwise(parts, outside)
        ):
            return Verdict("undecided", "answered", "none", "what stands beside the JSON may say another answer")
        return verdict
    labelled = _labelled(parts, text)
    if labelled is not None:
        return _all([_single(part, value) for part, value in zip(parts, labelled, strict=True)])
    kinds = [part.type for part in parts]
    cells = [cell.strip() for cell in re.split(r"[;|\n]|,\s+", text) if cell.strip()]
    if len(cells) == len(parts) and not HEDGE.search(text):
        verdicts = [_single(part, value) for part, value in zip(parts, cells, strict=True)]
        if all(verdict.outcome == "right" for verdict in verdicts):
            return _all(verdicts)
    verdicts = [_single(part, text) for part in parts]
    lacking = [verdict for verdict in verdicts if verdict.rule == "absent" or verdict.state in {"declined", "empty"}]
    if lacking:
        return lacking[0]
    if len(set(kinds)) == len(kinds):
        return _all(verdicts)
    return Verdict("undecided", "answered", "none", "which value is for which part cannot be told")


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several parts: wrong where one is, right where all are."""
    for outcome in ("wrong", "undecided"):
        for verdict in verdicts:
            if verdict.outcome == outcome:
                return verdict
    return verdicts[0]


def _single(part: Part, text: str) -> Verdict:
    """One part, in the text that is to say it."""
    found = candidates(part, text)
    rule = part.rule if part.type == "number" else part.type
    if len(found) == 1 and found[0].right and not found[0].loose and found[0][:2] == (0, len(text)):
        return Verdict("right", "answered", rule, f"{part.name}: as in the reference")
    right = [candidate for candidate in found if candidate.right]
    others = [candidate for candidate in found if candidate.right is False]
    if not right:
        if any(candidate.right is None for candidate in found):
            return Verdict("undecided", "answered", "none", f"{part.name}: rounded too far, or of two meanings")
        return _without(part, text, found)
    loose = [candidate for candidate in right if candidate.loose]
    if loose and len(loose) == len(right):
        return Verdict("wrong", "ambiguous", "hedge", f"{part.name}: a range or a bound, not a value")
    if any(_alternatives(text, one, other) for one in right for other in (*others, *loose)):
        return Verdict("wrong", "ambiguous", "hedge", f"{part.name}: two answers, or a list of them")
    if others or loose or any(candidate.right is None for candidate in found):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, and others besides")
    if any(
        _NOT_BEFORE.search(text[max(0, one.start - 40) : one.start]) or _NOT_AFTER.match(text[one.end :])
        for one in right
    ):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, perhaps denied")
    if part.type != "yes_no" and len(text) > 12 and _DECLINED.search(text):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, and a refusal besides")
    if part.type == "text" and (hedged := _text_hedge(part, text, right)):
        return hedged
    return Verdict("right", "answered", rule, f"{part.name}: as in the reference")


def _without(part: Part, text: str, found: Sequence[Candidate]) -> Verdict:
    """The right value is nowhere in the text."""
    declined = _declined(text)
    if declined:
        return declined
    if part.type == "text" and not found:
        return Verdict("undecided", "answered", "none", f"{part.name}: no name that is known")
    if not found:
        state: State = "answered" if part.type == "number" and any(map(str.isdigit, text)) else "unreadable"
        return Verdict(
            "wrong", state, "absent", f"{part.name}: no {part.type.replace('_', ' ')} of its unit in the answer"
        )
    if len(found) > 1 or any(candidate.loose for candidate in found):
        return Verdict("wrong", "answered", "absent", f"{part.name}: none of the values in the answer is right")
    return Verdict(
        "wrong", "answered", "absent", f"{part.name}: {text[found[0].start : found[0].end].strip()[:60]!r} is wrong"
    )


def _declined(text: str) -> Verdict | None:
    match = _DECLINED.search(text)
    return Verdict("wrong", "declined", "declined", f"{match[0]!r}: no answer was given") if match else None


def _alternatives(text: str, one: Candidate, other: Candidate) -> bool:
    """Whether nothing but separators and words such as or stands between two values."""
    if one is other:
        return False
    gap = text[min(one.end, other.end) : max(one.start, other.start)]
    return len(gap) < 60 and _BETWEEN_ALTERNATIVES.fullmatch(gap) is not None


def _text_hedge(part: Part, text: str, right: Sequence[Candidate]) -> Verdict | None:
    """A name in a text that says more: right alone where the other choices are known, and none is named."""
    whole = any(candidate.start == 0 and candidate.end == len(text) for candidate in right)
    if whole or name_key(text) in {name_key(text[one.start : one.end]) for one in right}:
        return None
    if not part.choices:
        return Verdict("undecided", "answered", "none", f"{part.name}: named among other words")
    if HEDGE.search(text):
        return Verdict("undecided", "answered", "none", f"{part.name}: named beside words of doubt")
    return None


def _sole_value(part: Part, text: str) -> str:
    """What a JSON object of one part, or a list of one, holds; else the text."""
    found = json_of(text)
    if found is None:
        return text
    values = _from_json(found, [part.name])
    return values[0] if values is not None and not outside_json(text).strip(" `") else text


def _from_json(found: object, names: Sequence[str]) -> tuple[str, ...] | None:
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
        found = found[0]
    if isinstance(found, Mapping):
        if len(found) == len(names) == 1:
            return tuple(_scalar(value) for value in found.values())
        return named(found, names)
    if isinstance(found, list) and len(found) == len(names) and not any(isinstance(v, dict | list) for v in found):
        return tuple(_scalar(value) for value in found)
    return None


def _scalar(value: object) -> str:
    from openfingym.answers.reading.tables import cell

    return cell(value)


def _labelled(parts: Sequence[Part], text: str) -> list[str] | None:
    """The text after each part's name, up to the next; None where one is not named exactly once."""
    places = []
    for part in parts:
        name = re.escape(part.name).replace(r"\ ", r"[\s_-]+")
        found = list(
            re.finditer(
                rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])(?:\s+(?:is|was|price))*\s*[:=(-]?", text, re.IGNORECASE
            )
        )
        if len(found) != 1:
            return None
        places.append((found[0].start(), found[0].end()))
    if len({start for start, _ in places}) != len(places):
        return None
    starts = sorted(start for start, _ in places)
    return [text[end : next((s for s in starts if s >= end), len(text))].strip(" ,;\n") for _, end in places]


def _says_otherwise(parts: Sequence[Part], text: str) -> bool:
    return any(candidate.right is not True for part in parts for candidate in candidates(part, text))


def _rows(reference: Reference, text: str) -> Verdict:
    names = [part.name for part in reference.columns]
    rows, sure = rows_of(text, names)
    if not any(any(map(str.isalnum, cell)) for row in rows for cell in row):
        return Verdict("wrong", "empty", "empty", "there are no rows")
    if len(rows) == 1 and len(reference.rows) > 1 and (declined := _declined(text)):
        return declined
    if len(rows) != len(reference.rows):
        return Verdict("wrong" if sure else "undecided", "answered", "rows" if sure else "none",
                       f"{len(rows)} rows where there are {len(reference.rows)}")  # fmt: skip
    first = [_row(parts, row) for parts, row in zip(reference.rows, rows, strict=True)]
    if reference.ordered or all(verdict.outcome == "right" for verdict in first):
        return _all(first)
    return _any_order(reference, rows, first)


def _any_order(reference: Reference, rows: Sequence[tuple[str, ...]], first: Sequence[Verdict]) -> Verdict:
    """Each row of the reference takes a row of its own; those in place are kept there."""
    free = {index for index, verdict in enumerate(first) if verdict.outcome != "right"}
    doubtful = False
    for index in sorted(free):
        outcomes = {other: _row(reference.rows[index], rows[other]).outcome for other in sorted(free)}
        taken = next((other for other, outcome in outcomes.items() if outcome == "right"), None)
        if taken is not None:
            free.discard(taken)
        elif "undecided" in outcomes.values():
            doubtful = True
        else:
            return Verdict("wrong", "answered", "rows", f"row {index + 1} of the reference is not in the answer")
    if doubtful:
        return Verdict("undecided", "answered", "none", "some rows cannot be told")
    return Verdict("right", "answered", "rows", "all rows, and no others")


def _row(parts: Sequence[Part], row: tuple[str, ...]) -> Verdict:
    if len(row) == len(parts):
        return _all([_single(part, value) for part, value in zip(parts, row, strict=True)])
    return _parts(parts, " ; ".join(row))
