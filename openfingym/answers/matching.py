"""Finding the places where a text states a value for a part: candidates, each right, wrong, or too coarse to tell.

Numbers are compared as decimals, in the unit that is asked for. Equal sizes in other forms are equal: 12.45 %, 0.1245
and 1,245 basis points; 120,400,000 and 120.4 million. A unit may be left out, and then a number is in the asked unit
or in the basic one; a currency or a scale that is stated must be the right one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from openfingym.answers.reading.dates import dates_of, doubt, years_of
from openfingym.answers.reading.numbers import numbers_of
from openfingym.answers.units import unit_of

if TYPE_CHECKING:
    from openfingym.answers.reading.numbers import NumberMention
    from openfingym.answers.reference import Part, Value

COARSEST = Decimal("0.005")
"""Largest rounding error of an answer, as a share of the right value, if no decimals are asked for; a number that is
rounded further is left to a judge."""
_HALF = Decimal("0.5")
_FALLING = re.compile(
    r"drop|declin|decreas|fall|fell|loss|lost|outflow|used|spent|reduc|drawdown"
    r"|跌|降|减|亏|流出|回撤",
    re.IGNORECASE,
)
"""Names of parts that are the size of a fall."""
_EITHER = re.compile(
    r"income|profit|gain|change|provided|return|earning|result|balance"
    r"|变动|变化|损益|盈亏|利润|收益|净额",
    re.IGNORECASE,
)
"""Names of parts that rise or fall, so that the sign counts, as of "net income (loss)"."""
_WORD = re.compile(r"[^\W_]+")
_GENERIC = frozenset(
    {
        *("the", "a", "an", "inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "plc"),
        *("llc", "lp", "sa", "ag", "nv", "se", "group", "holdings", "holding"),
        *("province", "city", "state", "stock", "shares"),
    }
)
"""Words that do not tell one name from another."""
_GENERIC_CHINESE = re.compile(r"股份有限公司|有限责任公司|有限公司|集团|公司|省|市$")
_YES = re.compile(r"\b(?:yes|true|correct)\b|(?<![不没])是的?(?!否)|对(?!于)|正确", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false|incorrect)\b|否|不是|没有|不对|错误|不正确", re.IGNORECASE)


class Candidate(NamedTuple):
    """A place in a text that states a value for a part."""

    start: int
    """Index of the first character of the place."""
    end: int
    """Index after the last character of the place."""
    right: bool | None
    """Whether the value is right; None if no rule can tell, since it is rounded too far or has two meanings."""
    loose: bool
    """Whether the value is an end of a range, or a bound, and so is no answer by itself."""


def candidates(part: Part, text: str) -> list[Candidate]:
    """Every place in a text that states a value for a part, in the order of the text.

    Args:
        part: the part of the right answer to look for; a number in a unit of another kind is no value for it.
        text: the text to search, after :func:`~openfingym.answers.reading.cleaning.cleaned`.
    """
    if part.type == "number":
        compared = [_number(part, mention) for mention in numbers_of(text)]
        return [candidate for candidate in compared if candidate is not None]
    if part.type == "date":
        return list(_dates(part, text))
    if part.type == "yes_no":
        return _yes_no(part, text)
    return _names(part, text)


def name_key(text: str) -> str:
    """A name in the form in which names are compared: lower case, without signs, accents and words such as Inc. or
    有限公司.
    """
    # Decomposed, an accented letter is the letter and its accent, which can be left out.
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)).casefold()
    plain = _GENERIC_CHINESE.sub("", plain.replace("'s", "").replace("&", " and "))
    words = _WORD.findall(plain)
    # A name of such words alone keeps them.
    return " ".join(word for word in words if word not in _GENERIC) or " ".join(words)


def _number(part: Part, mention: NumberMention) -> Candidate | None:
    """A number in a text as a value for a part; None if it is in another unit."""
    rule = _rule(part)
    states: list[bool | None] = []
    for value, place in _readings(rule, mention):
        # "Fell by 0.59" says -0.59, if the part is a change. The size of a fall is stated as 81 or -81, or as "fell by
        # 81"; "rose by 81" is a fall of -81.
        signs: tuple[Decimal, ...] = (value,)
        if mention.direction < 0:
            signs = (value, -value) if rule.falling else (-value,)
        elif rule.falling:
            signs = (-value,) if mention.direction > 0 else (value, -value)
        states.extend(_compared(rule, signed, place) for signed in signs)
    if not states:
        return None
    right = True if True in states else None if None in states else False
    return Candidate(mention.start, mention.end, right, mention.loose)


class _Rule(NamedTuple):
    """What a part accepts, as decimals in the asked unit."""

    kind: str
    """The rule of the part, such as ``rounding``."""
    values: tuple[Decimal, ...]
    """The right value, and after it the other accepted ones."""
    low: Decimal
    """The lowest number that the rule accepts."""
    high: Decimal
    """The highest number that the rule accepts."""
    place: Decimal | None
    """The size of one unit in the last asked decimal place, 0.01 for two decimals; None if none are asked for."""
    places: int
    """How many decimals the right value has at least."""
    scale: Decimal
    """How many of the basic unit one of the asked unit is."""
    share: bool
    """Whether the asked unit measures a share, such as per cent."""
    plain: bool
    """Whether no unit is asked for."""
    currencies: frozenset[str]
    """ISO codes of the currencies that the asked unit may be in; empty if it is not money."""
    falling: bool
    """Whether the part's name says that it is the size of a fall, which some write as negative."""


def _rule(part: Part) -> _Rule:
    """What a part accepts."""
    # Kept with the part, since it is needed for every answer. A frozen dataclass lets only its __dict__ be written to;
    # what is there beside the fields does not count when parts are compared.
    rule: _Rule | None = part.__dict__.get("_rule")
    if rule is None:
        rule = part.__dict__["_rule"] = _made(part)
    return rule


def _made(part: Part) -> _Rule:
    """Make what a part accepts out of its fields."""
    unit, value = unit_of(part.unit), _decimal(part.value)
    slack = _decimal(part.tolerance or 0.0)
    if part.rule == "within":
        low, high = value - slack, value + slack
    elif part.rule == "relative":
        slack *= abs(value)
        low, high = value - slack, value + slack
    elif part.rule in {"between", "widened"}:
        wider = slack if part.rule == "widened" else Decimal(0)
        low, high = _decimal(part.low or 0.0) - wider, _decimal(part.high or 0.0) + wider
    else:
        low = high = value
    # The scale of the unit is exact; that of the part is a float64.
    scale = unit.scale if float(unit.scale) == part.scale else _decimal(part.scale)
    return _Rule(
        part.rule,
        (value, *map(_decimal, part.accept)),
        low,
        high,
        None if part.decimals is None else Decimal(1).scaleb(-part.decimals),
        part.places or 0,
        scale,
        unit.share,
        not part.unit,
        unit.currencies,
        bool(_FALLING.search(part.name)) and not _EITHER.search(part.name),
    )


def _decimal(value: Value) -> Decimal:
    """A number as it is written in the fewest digits, 0.1 and not 0.1000000000000000055."""
    return Decimal(repr(value))


def _readings(rule: _Rule, mention: NumberMention) -> Iterator[tuple[Decimal, Decimal]]:
    """The values that a number may mean in the asked unit, each with the size of one unit in its last place.

    There are none if the number is in a unit of another kind.
    """
    value, place = mention.value, mention.place
    if mention.share:
        assert mention.scale is not None
        if rule.share:
            yield value * mention.scale / rule.scale, place * mention.scale / rule.scale
        # Without an asked unit, 40 % may answer 0.4 and 40 alike.
        elif rule.plain:
            yield value, place
            yield value * mention.scale, place * mention.scale
        return
    if mention.currencies and rule.currencies and not mention.currencies & rule.currencies:
        return
    if mention.currencies and rule.share:
        return
    # A stated scale leaves no choice; "million" says nothing in per cent.
    if mention.scale is not None:
        size = mention.scale / rule.scale
        if not rule.share:
            yield value * size, place * size
        return
    yield value, place
    # In the basic unit, unless it vanishes in the asked one: any small number would be a right 0.00 million.
    if rule.scale != 1 and (rule.place is None or abs(value / rule.scale) >= rule.place):
        yield value / rule.scale, place / rule.scale


def _compared(rule: _Rule, value: Decimal, place: Decimal) -> bool | None:
    """Whether a value with this size of its last place is right; None if it is rounded too far to tell."""
    states = [_near(rule, value, place, accepted) for accepted in rule.values[1:]]
    if rule.kind == "exact":
        states.append(value == rule.values[0])
    elif rule.kind == "rounding":
        states.append(_near(rule, value, place, rule.values[0]))
    elif rule.kind == "relative":
        # The range around 0 is empty, and the ends do not count: the value itself is compared apart.
        states.append(rule.low < value < rule.high or value == rule.values[0])
    elif rule.low <= value <= rule.high:
        states.append(True)
    elif rule.kind == "between":
        # Outside by rounding alone: the ends may be stated with more decimals than the answer has.
        end = rule.low if value < rule.low else rule.high
        coarser = place > _own_place(rule, end)
        states.append(_near(rule._replace(place=None), value, place, end) if coarser and _fine(rule, place) else False)
    else:
        states.append(False)
    return True if True in states else None if None in states else False


def _fine(rule: _Rule, place: Decimal) -> bool:
    """Whether a number is written with as many decimals as are asked for."""
    return rule.place is None or place <= rule.place


def _near(rule: _Rule, value: Decimal, place: Decimal, truth: Decimal) -> bool | None:
    """Whether a value differs from the right one by rounding alone; None if it is rounded too far to tell.

    Args:
        rule: what the part accepts.
        value: the number in the answer.
        place: the size of one unit in the last place of that number.
        truth: the value of the part in the reference.
    """
    if value == truth:
        return True
    if rule.place is not None:
        if abs(value - truth) > rule.place:
            return False
        written = _rounded(truth, rule.place)
        if value in written:
            return True
        # Rounded further than is asked for.
        if place > rule.place:
            return False
        # It has more decimals than are asked for, and is right if it rounds to the same.
        return not set(written).isdisjoint(_rounded(value, rule.place))
    # No decimals are asked for: the coarser of both numbers says how far they may differ.
    own = _own_place(rule, truth)
    if place > own:
        if abs(value - truth) > place * _HALF:
            return False
        return True if place * _HALF <= COARSEST * abs(truth) else None
    # The answer has more decimals than the truth is stated with.
    return abs(value - truth) <= own * _HALF and own * _HALF <= COARSEST * abs(truth)


def _own_place(rule: _Rule, truth: Decimal) -> Decimal:
    """The size of one unit in the last place of the right value; the zeros of 24200 and of a published 62.50 count."""
    shown = min(0, int(truth.normalize().as_tuple().exponent))
    return Decimal(1).scaleb(min(shown, -rule.places))


def _rounded(value: Decimal, place: Decimal) -> tuple[Decimal, ...]:
    """A value rounded to a place; if it lies in the middle, both neighbours, since half is rounded either way."""
    below = (value / place).to_integral_value(rounding="ROUND_FLOOR")
    rest = value / place - below
    # Figures that were computed as float64 may miss the middle by their last bits.
    if abs(rest - _HALF) < Decimal("1e-9"):
        return below * place, (below + 1) * place
    return ((below + (1 if rest > _HALF else 0)) * place,)


def _dates(part: Part, text: str) -> Iterator[Candidate]:
    """The dates in a text that are as fine as the right one; coarser ones, as of a report, do not compete with it."""
    accepted = tuple(str(value) for value in (part.value, *part.accept))
    # How fine the right date is: a year has 4 characters, a month, quarter or half year 7, and a day 10.
    length = len(accepted[0])
    mentions = dates_of(text)
    # Any number of four digits may be a year: they are taken only if no date says the year in another way.
    if length == 4 and not any(len(reading) == 4 for mention in mentions for reading in mention.readings):
        mentions = [*mentions, *years_of(text)]
    for mention in sorted(mentions):
        # "--03-15" agrees with 2024-03-15 as far as it goes, and no rule can tell of which year it is.
        without_year = [reading for reading in mention.readings if reading.startswith("--")]
        if without_year:
            same = any(value[4:] == reading[1:] for reading in without_year for value in accepted)
            if length == 10:
                yield Candidate(mention.start, mention.end, None if same else False, False)
            continue
        fitting = [reading for reading in mention.readings if _as_fine(reading, accepted[0])]
        if not fitting:
            continue
        # A finer date is right within the right one. If one reading is right and another is not, none can tell.
        right = [any(reading.startswith(value) for value in accepted) for reading in fitting]
        doubted = doubt(text, mention)
        sure = len(set(right)) == 1 and doubted != "vague"
        yield Candidate(mention.start, mention.end, right[0] if sure else None, doubted == "bound")


def _as_fine(reading: str, truth: str) -> bool:
    """Whether a date is as fine as the right one, or finer."""
    if truth[5:6] in {"Q", "H"}:
        return reading[5:6] == truth[5]
    return len(reading) >= len(truth) and (len(truth) == 4 or reading[5:6] not in {"Q", "H"})


def _yes_no(part: Part, text: str) -> list[Candidate]:
    """Where a text says yes or no."""
    # No is looked for first, since words for it contain one for yes: 不是 has 是, and 不正确 has 正确.
    stated = [Candidate(match.start(), match.end(), not part.value, False) for match in _NO.finditer(text)]
    taken = [(candidate.start, candidate.end) for candidate in stated]
    stated.extend(
        Candidate(match.start(), match.end(), bool(part.value), False)
        for match in _YES.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in taken)
    )
    stated.sort()
    # "Yes, there is no change": what comes first and is set off by a comma is the answer.
    if len(stated) > 1 and not stated[0].start and re.match(r"\s*[,.;:!-]", text[stated[0].end :]):
        return stated[:1]
    return stated


def _names(part: Part, text: str) -> list[Candidate]:
    """Where a text names the right value or another choice; the whole text if it is nothing but the right value."""
    right = _keys(part)[0]
    if name_key(text) in right or name_key(_lead_in(text)) in right:
        return [Candidate(0, len(text), True, False)]
    pattern, keys = _pattern(part)
    return [
        Candidate(match.start(), match.end(), name_key(match[0]) in keys, False) for match in pattern.finditer(text)
    ]


_LEAD = re.compile(
    r"^\s*(?:it\s+(?:is|was)|(?:the\s+)?(?:answer|company|stock|country|province|city|one)\s+(?:is|was)"
    r"|that\s+(?:is|was)|是|为)\s*:?\s+"
    r"|\s*\([^()]{0,40}\)\s*\.?\s*$",
    re.IGNORECASE,
)


def _lead_in(text: str) -> str:
    """A short text without words such as "It is" before a name, and without what stands in brackets after it."""
    # What stands in brackets may be a second answer if the text says "or".
    return _LEAD.sub("", text) if len(text) < 200 and not re.search(r"\bor\b|或", text) else text


@functools.lru_cache(maxsize=4096)
def _keys(part: Part) -> tuple[frozenset[str], frozenset[str]]:
    """The names that are right, and those of the other choices, as :func:`name_key` gives them."""
    right = frozenset(name_key(str(value)) for value in (part.value, *part.accept))
    return right, frozenset(map(name_key, part.choices)) - right


@functools.lru_cache(maxsize=4096)
def _pattern(part: Part) -> tuple[re.Pattern[str], frozenset[str]]:
    """A pattern that finds every name of a part, right or not, and the right ones as :func:`name_key` gives them."""
    spelled = {str(value) for value in (part.value, *part.accept, *part.choices)}
    # A key is shorter than its name, and one of two letters may be a word of its own.
    spelled |= {key for key in _keys(part)[0] | _keys(part)[1] if len(key) > 2}
    # The longest first: "Industrial and Commercial Bank of China" must not be found as "Bank of China".
    ordered = sorted(spelled, key=lambda name: (-len(name), name))
    bounded = (rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in ordered)
    return re.compile("|".join(bounded), re.IGNORECASE), _keys(part)[0]
