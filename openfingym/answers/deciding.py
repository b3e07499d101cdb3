"""Deciding by rule whether an answer is right.

An answer is *right* if it states the right value of every part and nothing that competes with it; *wrong* if the right
value of some part is nowhere in it, or if it hedges; and *undecided*, which is left to a judge, if a rule cannot tell.
Two answers, a list of candidates, a range and a bound are wrong whatever they contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from openfingym.answers.assignment import without_partner
from openfingym.answers.candidate import Candidate
from openfingym.answers.matching import candidates
from openfingym.answers.naming import name_key
from openfingym.answers.reading.cleaning import HEDGE, LONGEST, answer_and_rest, cleaned, final_parts
from openfingym.answers.reading.directions import REACH, said_before
from openfingym.answers.reading.refusals import SPEAKS_OF_REFUSAL, refusal
from openfingym.answers.reading.tables import cell, json_of, named, outside_json, rows_of
from openfingym.answers.reference import Part, Reference

Outcome = Literal["right", "wrong", "undecided"]
State = Literal["answered", "empty", "declined", "ambiguous", "unreadable"]

_NOT_BEFORE = re.compile(
    r"\b(?:not|isn't|wasn't|aren't|never|neither|nor|n't|cannot be|rather than|instead of|unlike|except"
    r"|excluding|wrong)\b[^.;\n]{0,24}$|不是|并非|而非|不等于"
    r"|\\[A-Za-z]+\s*\{[^{}]*$|~~",
    re.IGNORECASE,
)
"""A denial of the value that follows it in the same sentence, at most 24 characters later; or that it is struck out, or
within a command of LaTeX that nothing knows."""
_NOT_AFTER = re.compile(
    r"^[^.;\n]{0,24}\b(?:is|was|are|would be|seems)\s+(?:not|wrong|incorrect|false)\b"
    r"|^[^.;\n]{0,8}(?:不对|不正确|是错)",
    re.IGNORECASE,
)
"""A denial of the value that stands before it in the same sentence."""
_BETWEEN_ALTERNATIVES = re.compile(
    r"(?:\s|[,;/|&()\[\]?!\"'.:~$€£¥%-]|\b(?:or|and|either|maybe|possibly|perhaps|alternatively|to|vs|also"
    r"|million|billion|thousand|usd|it|could"
    r"|be|might|may|is|then|else|if|not|answer|another|candidate|option|second|first|again|but)\b"
    r"|\b[0-9]{1,2}[.)]\s|或者?|和|至|到|以及|也|可能|是|元|万|亿|百万)*",
    re.IGNORECASE,
)
"""All that may stand between two values for them to be alternatives: separators, words such as "or", and units."""
_TO = re.compile(r"\s*to\s+\S{0,4}", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+\S{0,4}$", re.IGNORECASE)
_NEGATIVE = re.compile(
    r"\b(?:no|none|not|nothing|never|neither|nor|nobody|nil|n/?a|zero|un(?:known|disclosed|available|able)|cannot|without"
    r"|(?:does|did|is|was|has)n't)\b|没|无|未|不|否|零",
    re.IGNORECASE,
)
"""Words of a reference that denies something, or says that something is not known."""
_NOTHING = re.compile(r"\W*(?:none|nil|nothing|no\s+\w+(?:\s+\w+)?|没有|无)\W*", re.IGNORECASE)
"""An answer that may be meant for 0."""
_ABSENT = {
    "number": "no number in the asked unit",
    "date": "no date as fine as the right one",
    "yes_no": "neither yes nor no",
}


class Verdict(NamedTuple):
    """The decision on an answer, and what it rests on."""

    outcome: Outcome
    """Whether the answer is right or wrong, or whether no rule can tell."""
    state: State
    """What was answered: an answer, nothing, a refusal, several answers at once, or nothing that can be read as one."""
    rule: str
    """The rule that decided: the rule of the part, ``rows``, ``length``, ``absent``, ``hedge``, ``empty`` or
    ``declined``; ``none`` if none could."""
    reason: str
    """The reason in words. It may disclose the truth, so only who may see the reference may see it."""


def decide(reference: Reference, answer: str) -> Verdict:
    """Decide by rule whether an answer is right. Never raises, whatever the answer is.

    Args:
        reference: the right answer to the question.
        answer: the text of the answer to decide; an answer in JSON as its JSON text.
    """
    # A final answer is at the end of a text, so it is the beginning of one that is too long which is cut off.
    text = cleaned(answer[-LONGEST:] if len(answer) > LONGEST else answer)
    if not any(map(str.isalnum, text)):
        return Verdict("wrong", "empty", "empty", "there is no answer")
    finals = final_parts(text)
    if len(answer) > LONGEST and finals == (text,):
        return Verdict("wrong", "unreadable", "length", f"{len(answer):,} characters without a final answer")
    # Each of several final answers is decided: were only the last one, or any of them, to count, then an answer could
    # try several values.
    verdicts = [_decided(reference, final) for final in dict.fromkeys(finals)]
    if len({verdict.outcome for verdict in verdicts}) > 1:
        return Verdict("wrong", "ambiguous", "hedge", f"{len(verdicts)} final answers, which differ")
    return verdicts[0]


def _decided(reference: Reference, final: str) -> Verdict:
    """Decide one final answer."""
    text, rest = answer_and_rest(final)
    if reference.rows:
        verdict = _rows(reference, text)
    else:
        verdict = _parts(reference.parts, text) if reference.parts else _for_judge(reference, text)
    # Sources and notes name other values, and may; unless in words of doubt, which make them other answers.
    if verdict.outcome == "right" and HEDGE.search(rest) and _says_otherwise(reference.columns, rest):
        return Verdict("undecided", "answered", "none", "what follows the answer may say another one")
    return verdict


def _for_judge(reference: Reference, text: str) -> Verdict:
    """Decide an answer to a question whose reference is a text: it is undecided, unless it refuses to answer."""
    # "None" and "not disclosed" may be the right answer, where the reference says something of the kind.
    declined = None if _NEGATIVE.search(reference.text) else _declined(text)
    return declined or Verdict("undecided", "answered", "none", "the reference is a text; no rule compares it")


def _parts(parts: Sequence[Part], text: str) -> Verdict:
    """Decide an answer that is not a table."""
    if len(parts) == 1:
        return _single(parts[0], _sole_value(parts[0], text))
    names = [part.name for part in parts]
    # A JSON object says which value is for which part.
    document = json_of(text)
    if document is not None:
        values = _from_json(document, names)
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
    # So does a text that names each part once.
    labelled = _labelled(parts, text)
    if labelled is not None:
        return _all([_single(part, value) for part, value in zip(parts, labelled, strict=True)])
    # As many values as there are parts are taken in the order of the parts; but only if all are right so, since the
    # separators may also be those of a sentence, and none is named as another part.
    values = tuple(piece.strip() for piece in re.split(r"[;|\n]|,\s+", text) if piece.strip())
    if len(values) == len(parts) and not HEDGE.search(text):
        verdicts = [_single(part, value) for part, value in zip(parts, values, strict=True)]
        misnamed = any(_names_another(part, value, names) for part, value in zip(parts, values, strict=True))
        if not misnamed and all(verdict.outcome == "right" for verdict in verdicts):
            return _all(verdicts)
    # Else each part is looked for in the whole text: what is nowhere in it is wrong wherever the others stand.
    verdicts = [_single(part, text) for part in parts]
    lacking = [verdict for verdict in verdicts if verdict.rule in {"absent", "declined"}]
    if lacking:
        return lacking[0]
    # A number cannot be meant for a date or a name: with one part of each type it is plain which value is for which.
    types = [part.type for part in parts]
    if len(set(types)) == len(types):
        return _all(verdicts)
    return Verdict("undecided", "answered", "none", "which value is for which part cannot be told")


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on several parts together: wrong if one is wrong, right if all are right."""
    for outcome in ("wrong", "undecided"):
        for verdict in verdicts:
            if verdict.outcome == outcome:
                return verdict
    return verdicts[0]


def _single(part: Part, text: str) -> Verdict:
    """Decide one part by the text that is to state it."""
    # Words of a refusal contain some for yes and no: "no data", 对不起.
    if part.type == "yes_no" and (declined := _declined(text)):
        return declined
    stated = candidates(part, text)
    rule = part.rule if part.type == "number" else part.type
    # The common case: the text is the right value, and nothing else.
    if len(stated) == 1 and stated[0].right and not stated[0].loose and stated[0][:2] == (0, len(text)):
        return Verdict("right", "answered", rule, f"{part.name}: as in the reference")
    right = [candidate for candidate in stated if candidate.right]
    others = [candidate for candidate in stated if candidate.right is False]
    if not right:
        if any(candidate.right is None for candidate in stated):
            return Verdict("undecided", "answered", "none", f"{part.name}: rounded too far, or of two meanings")
        return _without(part, text, stated)
    # A value that competes with the right one makes the answer wrong beside it, and undecided elsewhere in the text.
    loose = [candidate for candidate in right if candidate.loose]
    if loose and len(loose) == len(right):
        return Verdict("wrong", "ambiguous", "hedge", f"{part.name}: a range or a bound, not a value")
    if any(_alternatives(text, candidate, other) for candidate in right for other in (*others, *loose)):
        return Verdict("wrong", "ambiguous", "hedge", f"{part.name}: two answers, or a list of them")
    if others or loose or any(candidate.right is None for candidate in stated):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, and others besides")
    # The right value alone is no answer if the words around it deny it, or refuse to answer.
    if any(
        _NOT_BEFORE.search(text[max(0, candidate.start - 40) : candidate.start])
        or _NOT_AFTER.match(text[candidate.end :])
        for candidate in right
    ):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, perhaps denied")
    if SPEAKS_OF_REFUSAL.search(text):
        return Verdict("undecided", "answered", "none", f"{part.name}: the right value is there, and a refusal besides")
    if part.type == "text" and (hedged := _text_hedge(part, text, right)):
        return hedged
    return Verdict("right", "answered", rule, f"{part.name}: as in the reference")


def _without(part: Part, text: str, stated: Sequence[Candidate]) -> Verdict:
    """Decide one part whose right value is nowhere in the text."""
    if part.type == "number" and 0 in (part.value, *part.accept) and _NOTHING.fullmatch(text):
        return Verdict("undecided", "answered", "none", f"{part.name}: nothing, perhaps for 0")
    declined = _declined(text)
    if declined:
        return declined
    # Unlike a number or a date, a name may be spelled in ways that the reference does not know.
    if part.type == "text" and not stated:
        return Verdict("undecided", "answered", "none", f"{part.name}: no name that is known")
    if not stated:
        state: State = "answered" if part.type == "number" and any(map(str.isdigit, text)) else "unreadable"
        return Verdict("wrong", state, "absent", f"{part.name}: {_ABSENT[part.type]} in the answer")
    if len(stated) > 1 or any(candidate.loose for candidate in stated):
        return Verdict("wrong", "answered", "absent", f"{part.name}: none of the values in the answer is right")
    return Verdict(
        "wrong", "answered", "absent", f"{part.name}: {text[stated[0].start : stated[0].end].strip()[:60]!r} is wrong"
    )


def _declined(text: str) -> Verdict | None:
    """The verdict on a refusal to answer; None if the text is no refusal."""
    words = refusal(text)
    return Verdict("wrong", "declined", "declined", f"{words!r}: no answer was given") if words else None


def _alternatives(text: str, first: Candidate, second: Candidate) -> bool:
    """Whether two values are alternatives: nothing but separators and words such as "or" stands between them."""
    if first is second:
        return False
    gap = text[min(first.end, second.end) : max(first.start, second.start)]
    # "Fell 5 to 62" and "rose from 57 to 62" say where something went, and no two answers.
    before = text[: min(first.start, second.start)]
    if _TO.fullmatch(gap) and (_FROM.search(before) or said_before(before[-REACH:]).direction):
        return False
    return len(gap) < 60 and _BETWEEN_ALTERNATIVES.fullmatch(gap) is not None


def _text_hedge(part: Part, text: str, right: Sequence[Candidate]) -> Verdict | None:
    """The verdict on a right name in a text that says more; None if it is right all the same.

    It is right only if the other choices are known, and the text names none of them.
    """
    if name_key(text) in {name_key(text[candidate.start : candidate.end]) for candidate in right}:
        return None
    # Without known choices, another name among the words would go unnoticed.
    if not part.choices:
        return Verdict("undecided", "answered", "none", f"{part.name}: named among other words")
    if HEDGE.search(text):
        return Verdict("undecided", "answered", "none", f"{part.name}: named beside words of doubt")
    return None


def _sole_value(part: Part, text: str) -> str:
    """The value in a text that is a JSON object or list of one value, and nothing else; of any other text all of it."""
    document = json_of(text)
    if document is None:
        return text
    values = _from_json(document, [part.name])
    return values[0] if values is not None and not outside_json(text).strip(" `") else text


def _from_json(document: object, names: Sequence[str]) -> tuple[str, ...] | None:
    """The values of an object by these names, or of a list of as many; None for any other JSON value."""
    if isinstance(document, list) and len(document) == 1 and isinstance(document[0], dict):
        document = document[0]
    if isinstance(document, Mapping):
        # A single value is what is asked for, whatever it is called.
        if len(document) == len(names) == 1:
            return tuple(cell(value) for value in document.values())
        return named(document, names)
    if (
        isinstance(document, list)
        and len(document) == len(names)
        and not any(isinstance(value, dict | list) for value in document)
    ):
        return tuple(cell(value) for value in document)
    return None


def _labelled(parts: Sequence[Part], text: str) -> list[str] | None:
    """The text after each part's name, up to the next name; None unless each is named exactly once."""
    unnamed = text
    ends: dict[str, int] = {}
    starts: list[int] = []
    # The longest first: "sales" within "net sales" is not the name of another part.
    for part in sorted(parts, key=lambda part: -len(part.name)):
        # The words of a name may be joined in other ways, as in "opening_price".
        name = re.escape(part.name).replace(r"\ ", r"[\s_-]+")
        pattern = rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])(?:\s+(?:is|was|price))*\s*[:=]?"
        labels = list(re.finditer(pattern, unnamed, re.IGNORECASE))
        if len(labels) != 1:
            return None
        start, ends[part.name] = labels[0].span()
        starts.append(start)
        unnamed = unnamed[:start] + " " * len(labels[0][0]) + unnamed[labels[0].end() :]
    return [
        text[end : min((start for start in starts if start >= end), default=len(text))].strip(" ,;\n")
        for end in (ends[part.name] for part in parts)
    ]


def _names_another(part: Part, value: str, names: Sequence[str]) -> bool:
    """Whether the text of a value names another part than its own, whose name may hold another's, as "net sales"."""
    rest = value.casefold()
    for name in sorted(map(str.casefold, names), key=len, reverse=True):
        if name in rest and name != part.name.casefold():
            return True
        rest = rest.replace(name, "")
    return False


def _says_otherwise(parts: Sequence[Part], text: str) -> bool:
    """Whether a text states some value that is not certainly right for its part."""
    return any(candidate.right is not True for part in parts for candidate in candidates(part, text))


def _rows(reference: Reference, text: str) -> Verdict:
    """Decide an answer that is a table or a list."""
    names = [part.name for part in reference.columns]
    rows, sure = rows_of(text, names)
    if not any(any(map(str.isalnum, value)) for row in rows for value in row):
        return Verdict("wrong", "empty", "empty", "there are no rows")
    if len(rows) == 1 and len(reference.rows) > 1 and (declined := _declined(text)):
        return declined
    # Where it is not certain what the rows of a text are, their number says nothing.
    if len(rows) != len(reference.rows):
        return Verdict("wrong" if sure else "undecided", "answered", "rows" if sure else "none",
                       f"{len(rows)} rows where there are {len(reference.rows)}")  # fmt: skip
    in_place = [_row(parts, row) for parts, row in zip(reference.rows, rows, strict=True)]
    if reference.ordered:
        return _all(in_place)
    return _any_order(reference, rows, in_place)


def _any_order(reference: Reference, rows: Sequence[tuple[str, ...]], in_place: Sequence[Verdict]) -> Verdict:
    """Decide as many rows as there are in the reference, in any order: each must be a row of the reference of its own.

    Args:
        reference: the right answer to the question.
        rows: the rows of the answer, as many as the reference has.
        in_place: the verdict on each row of the answer by the row of the reference in the same place.
    """
    outcomes: dict[tuple[int, int], Outcome] = {
        (place, place): verdict.outcome for place, verdict in enumerate(in_place)
    }

    def outcome(wanted: int, stated: int) -> Outcome:
        if (wanted, stated) not in outcomes:
            outcomes[wanted, stated] = _row(reference.rows[wanted], rows[stated]).outcome
        return outcomes[wanted, stated]

    if without_partner(len(rows), lambda wanted, stated: outcome(wanted, stated) == "right") is None:
        return Verdict("right", "answered", "rows", "all rows, and no others")
    lacking = without_partner(len(rows), lambda wanted, stated: outcome(wanted, stated) != "wrong")
    if lacking is None:
        return Verdict("undecided", "answered", "none", "some rows cannot be told")
    return Verdict("wrong", "answered", "rows", f"row {lacking + 1} of the reference is not in the answer")


def _row(parts: Sequence[Part], row: tuple[str, ...]) -> Verdict:
    """Decide one row of an answer by one row of the reference."""
    if len(row) == len(parts):
        return _all([_single(part, value) for part, value in zip(parts, row, strict=True)])
    # Its cells cannot be told apart: it is read as an answer of several parts.
    return _parts(parts, " ; ".join(row))
