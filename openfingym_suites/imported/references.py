"""References from answers as they were published, in words: a part that a rule can decide, or else a text for a judge.

What cannot be read beyond doubt stays a text: a reference must not be guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from openfingym.answers import Part, Reference
from openfingym.answers.reading.cleaning import cleaned
from openfingym.answers.reading.dates import dates_of
from openfingym.answers.units import CURRENCIES, SCALES, unit_of
from openfingym_suites.imported.notes import ScoringNote, clauses, read_note, read_notes, suffices, tolerance_of
from openfingym_suites.imported.quantities import Quantity, QuantityRange, quantity, quantity_range

_DECIMALS = re.compile(
    r"(?:(one|two|three|four|five|six|[0-6])\s+decimal)|保留\s*([0-6一两二三四五六])\s*位?小?数?"
    r"|(nearest (?:integer|whole|(million|billion|thousand)|dollar)|whole number|取整|整数)",
    re.IGNORECASE,
)
"""The decimals that a question asks for."""
_ASKED_UNIT = re.compile(
    r"\bin ((?:thousands?|millions?|billions?|trillions?)(?: of)?(?: (?:U\.?S\.? )?(?:dollars|USD"
    r"|CNY|RMB|yuan|HKD|EUR|euros|JPY|yen|GBP|pounds))?"
    r"|(?:thousand|million|billion) (?:dollars|USD|CNY|RMB|yuan|HKD|EUR|JPY)|percentage points"
    r"|percent(?:age)?|basis points)"
    r"|单位[:：]\s*([^\s,，。；;)）]{1,8})|多少(万亿|亿|百万|万)?(美元|港元|人民币|欧元|元)",
    re.IGNORECASE,
)
"""The unit that a question asks for."""
_ASKS_RANGE = re.compile(r"\brange\b|\bbetween what\b|区间|范围", re.IGNORECASE)
"""A question that a range answers."""
_REQUIRED = re.compile(
    r"(?:required content|(?:需|要求)?回答(?:内容)?|必要内容)\s*[:：]\s*([^\n]*?)(?:\n|\.\s|。|$)", re.IGNORECASE
)
"""What the answer to a question about the latest price has to state."""
_COUNT_WORDS = ("0", "one 1 一", "two 2 二 两", "three 3 三", "four 4 四", "five 5 五", "six 6 六")
_COUNTS = {word: number for number, words in enumerate(_COUNT_WORDS) for word in words.split()}
_LAST = re.compile(
    r"^(?:rt_)?(?:last|price|latest|close|exchange_rate|current|最新价|收盘价|现价)(?:_price)?$", re.IGNORECASE
)
"""Keys of a service's answer under which the price is; below, those of the low and the high of its day."""
_LOW = re.compile(r"(?:^|_)(?:low|lo|最低)(?:_price)?$|最低价", re.IGNORECASE)
_HIGH = re.compile(r"(?:^|_)(?:high|hi|最高)(?:_price)?$|最高价", re.IGNORECASE)


def published_reference(question: str, answer: str, criteria: str = "", group: tuple[str, ...] = ()) -> Reference:
    """The reference of a question about the past.

    Args:
        question: text of the question, which may say how the answer is rounded and in which unit it is.
        answer: the published answer, perhaps with a note on scoring.
        criteria: how the answer is scored, if that is stated apart from it.
        group: tier of the question, or its subset and tier.
    """
    # Fullwidth commas are never those of a number, and cleaning makes plain ones of them.
    published, *after = clauses(cleaned(answer.replace("，", "；"))) or [""]
    notes = read_notes([*after, *clauses(cleaned(criteria.replace("，", "；")))])
    part = None if notes is None else _part(question, suffices(published), notes)
    if part is None and notes is not None and (alone := read_note(published)) and alone.range:
        part = _range(question, alone.range, notes)
    said = criteria.strip() or "; ".join(after if notes is not None else ())
    return Reference((part,) if part else (), group=group, text=answer.strip(), criteria=said)


def live_reference(question: str, criteria: str, ground_truth: object, group: tuple[str, ...] = ()) -> Reference:
    """The reference of a question about the latest price, from what a service answered when it was asked.

    One price can be compared by a rule; several are for a judge.

    Args:
        question: text of the question.
        criteria: how the answer is scored: ``Required Content: ...`` and ``Accuracy Requirements: ...``.
        ground_truth: what the service answered, a JSON value or its text.
        group: tier of the question, or its subset and tier.
    """
    record = _json(ground_truth)
    leaves = dict(_leaves(record))
    # A judge needs the beginning of it, and a reference has little room.
    text = json.dumps(record, ensure_ascii=False)[:1500]
    content = _REQUIRED.search(criteria)
    several = content and re.search(r",|，|\band\b|[、和及]", content[1])
    part = None
    if criteria.strip() and not several:
        notes = read_notes(clauses(cleaned(_REQUIRED.sub("", criteria).replace("，", "；"))))
        part = _price(leaves, [note for note in notes if note.kind != "nothing"]) if notes else None
    return Reference((part,) if part else (), group=group, text=text or question, criteria=criteria.strip()[:1000])


def _price(leaves: Mapping[str, float], notes: Sequence[ScoringNote]) -> Part | None:
    """The latest price among the numbers of a service's answer, as its notes say that it is scored; None if there is
    not exactly one, or if its notes do not say so.
    """
    last, low, high = (_only(leaves, pattern) for pattern in (_LAST, _LOW, _HIGH))
    # Rounding is allowed beside each of the others, and two of those contradict each other.
    ruling = [note for note in notes if note.kind != "rounding"]
    if last is None or not notes or len(ruling) > 1:
        return None
    if not ruling:
        return Part("price", "number", last)
    note = ruling[0]
    if note.kind == "tolerance":
        slack = tolerance_of(note, Decimal(repr(last)), "")
        return None if slack is None else Part("price", "number", last, rule="within", tolerance=float(slack))
    if note.kind == "exact":
        return Part("price", "number", last, rule="exact")
    if note.kind not in {"day", "wider-day"} or low is None or high is None or low > high:
        return None
    if note.kind == "day":
        return Part("price", "number", last, rule="between", low=low, high=high)
    wider = 0.0 if note.amount is None else float(note.amount.value)
    return Part("price", "number", last, rule="widened", low=low, high=high, tolerance=wider)


def _part(question: str, published: str, notes: Sequence[ScoringNote]) -> Part | None:
    """The part that a published answer is; None if it is not one number, one range or one date and nothing else.

    Args:
        question: text of the question.
        published: the answer, cleaned, without a note on scoring.
        notes: what its notes on scoring say.
    """
    if dates_of(published):
        # Notes are about numbers: what they would mean for a date is not known.
        return None if any(note.kind not in {"nothing", "exact"} for note in notes) else _date(published)
    stated = quantity(published)
    if stated is None:
        # Of a question that asks for a range, the two ends are the answer itself.
        ends = None if _ASKS_RANGE.search(question) else quantity_range(published)
        return _range(question, ends, notes) if ends else None
    unit = _unit(question, stated.unit, stated.value, notes)
    if unit is None:
        return None
    return _number(stated.within(unit), _decimals(question, unit), notes)


def _number(stated: Quantity, decimals: int | None, notes: Sequence[ScoringNote]) -> Part | None:
    """A number with the rule that its notes give it; None if they contradict each other or the number."""
    ruling = [note for note in notes if note.kind not in {"nothing", "rounding", "unit"}]
    if len(ruling) > 1 or any(note.kind in {"day", "wider-day"} for note in ruling):
        return None
    value, unit = float(stated.value), stated.unit or None
    if not ruling:
        shown = max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent))
        places = stated.places if stated.places > shown else None
        return Part("answer", "number", value, unit, decimals=decimals, places=places)
    note = ruling[0]
    if note.kind == "exact":
        return Part("answer", "number", value, unit, rule="exact")
    if note.kind == "tolerance":
        slack = tolerance_of(note, stated.value, stated.unit)
        if slack is None:
            return None
        return Part("answer", "number", value, unit, decimals=decimals, rule="within", tolerance=float(slack))
    assert note.range is not None
    ends = note.range.within(stated.unit)
    if ends is None or not ends.low <= stated.value <= ends.high:
        return None
    return _between(value, ends, unit)


def _range(question: str, ends: QuantityRange, notes: Sequence[ScoringNote]) -> Part | None:
    """A range, any number of which is right; None if notes say something else than that rounding is allowed."""
    unit = _unit(question, ends.unit, ends.high, notes)
    if unit is None or any(note.kind not in {"nothing", "rounding", "unit"} for note in notes):
        return None
    return _between(float((ends.low + ends.high) / 2), ends, unit or None)


def _between(value: float, ends: QuantityRange, unit: str | None) -> Part:
    return Part("answer", "number", value, unit, rule="between", low=float(ends.low), high=float(ends.high))


def _unit(question: str, stated: str, value: Decimal, notes: Sequence[ScoringNote]) -> str | None:
    """The unit of an answer, in words: the answer's own, completed by a note or the question; None if they contradict.

    Args:
        question: text of the question.
        stated: the words of the unit beside the answer's number; empty without any.
        value: that number.
        notes: what the notes on scoring say.
    """
    noted = {note.unit for note in notes if note.kind == "unit"}
    if len(noted) > 1:
        return None
    named = noted.pop() if noted else _asked_unit(question)
    own, other = unit_of(stated), unit_of(named)
    # A number as large as the scale itself is hardly one of millions of millions.
    huge = other.scale > 1 and abs(value) >= other.scale
    if not stated:
        return None if huge else named
    if own.currencies and other.currencies and not own.currencies & other.currencies:
        return None
    # What stands beside the number and what is asked for complete each other, as "$" and "millions" do.
    words = stated.casefold().split()
    if own.scale == 1 and other.scale > 1 and not other.share and all(word in CURRENCIES for word in words):
        return None if huge else named if other.currencies else f"{stated} {named}"
    if own.scale == other.scale and other.currencies and all(word in SCALES for word in words):
        return named
    return stated


def _asked_unit(question: str) -> str:
    """The unit that a question asks for, in words; empty if it names none."""
    match = _ASKED_UNIT.search(question)
    if match is None:
        return ""
    asked = match[1] or match[2] or f"{match[3] or ''}{match[4] or ''}"
    return "%" if asked.casefold() in {"percentage", "百分比", "百分数"} else asked


def _date(text: str) -> Part | None:
    """The date that an answer is; None if it says anything else, or if the date can be read in two ways."""
    dates = dates_of(text)
    # A date without a year begins with "--".
    if len(dates) != 1 or len(dates[0].readings) != 1 or dates[0].readings[0].startswith("--"):
        return None
    rest = (text[: dates[0].start] + text[dates[0].end :]).strip(" .,")
    return None if rest else Part("answer", "date", dates[0].readings[0])


def _decimals(question: str, unit: str) -> int | None:
    """The decimals of a number in this unit that a question asks for; None if it says nothing of them, or rounds to a
    power of ten that no decimals of the unit express.
    """
    match = _DECIMALS.search(question)
    if match is None:
        return None
    if not match[3]:
        return _COUNTS.get((match[1] or match[2]).casefold())
    nearest = SCALES.get((match[4] or "").casefold())
    # "The nearest million" of billions is three decimals; a whole number is one in its own unit.
    places = 0 if nearest is None else round(math.log10(unit_of(unit).scale / nearest))
    return places if places >= 0 else None


def _json(value: object) -> object:
    """A value, or what it is the JSON text of."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _leaves(value: object, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers in a JSON value, each with the key that it is under, at whatever level."""
    # A file may be nested so deep that Python would run out of stack.
    if depth > 8:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, Mapping | list):
                yield from _leaves(inner, depth + 1)
            elif (number := _float(inner)) is not None:
                yield str(key), number
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, depth + 1)


def _float(value: Any) -> float | None:
    """A number, or a text that is one; None for anything else."""
    try:
        return None if isinstance(value, bool) else float(str(value).replace(",", ""))
    except ValueError:
        return None


def _only(leaves: Mapping[str, float], pattern: re.Pattern[str]) -> float | None:
    """The number under keys like a pattern; None if there is none, or if they have different ones."""
    numbers = {number for key, number in leaves.items() if pattern.search(key)}
    return numbers.pop() if len(numbers) == 1 else None
