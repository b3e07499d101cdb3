"""Finding the places where a text states a value for a part: candidates, each right, wrong, or too coarse to tell.

Numbers are compared as decimals, in the unit that is asked for. Equal sizes in other forms are equal: 12.45 %, 0.1245
and 1,245 basis points; 120,400,000 and 120.4 million. A unit may be left out, and then a number is in the asked unit
or in the basic one; a currency or a scale that is stated must be the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from openfingym.answers.candidate import Candidate
from openfingym.answers.naming import names, yes_or_no
from openfingym.answers.reading.dates import dates_of, doubt, years_of
from openfingym.answers.reading.directions import UNCHANGED
from openfingym.answers.reading.numbers import NumberMention, numbers_of
from openfingym.answers.reading.suffixes import understood, words_of
from openfingym.answers.reference import Part, Value
from openfingym.answers.units import unit_of

COARSEST = Decimal("0.005")
"""Largest rounding error of an answer, as a share of the right value, if no decimals are asked for; a number that is
rounded further is left to a judge."""
_HALF = Decimal("0.5")
_FALLING = re.compile(
    r"drop|declin|decreas|fall|fell|loss|lost|outflow|used|spent|reduc|drawdown|deficit|shortfall|contraction"
    r"|跌|降|减|亏|流出|回撤|逆差|赤字",
    re.IGNORECASE,
)
"""Names of parts that are the size of a fall."""
_EITHER = re.compile(
    r"income|profit|gain|change|provided|return|earning|result|balance"
    r"|变动|变化|损益|盈亏|利润|收益|净额",
    re.IGNORECASE,
)
"""Names of parts that rise or fall, so that the sign counts, as of "net income (loss)"."""
_CHANGE = re.compile(
    r"change|growth|return|revision|premium|discount|spread|gap|difference|margin|points|income|profit|earning|eps|gain"
    r"|balance|surplus|flow|contribution|inflation|rise|increase|move|result|alpha|correlation"
    r"|变动|变化|变幅|涨跌|增速|增长|增幅|收益|损益|盈亏|利润|净额|利差|溢价|差额|差值|差距|余额",
    re.IGNORECASE,
)
"""Names of parts that may be negative."""
_LEVEL = re.compile(
    r"yield|ratio|share|rate|probability|weight|lower|upper|level|占比|利率|收益率水平|比例|比重", re.IGNORECASE
)
"""Names of shares that are hardly negative."""


def candidates(part: Part, text: str) -> list[Candidate]:
    """Every place in a text that states a value for a part, in the order of the text.

    Args:
        part: the part of the right answer to look for; a number in a unit of another kind is no value for it.
        text: the text to search, after :func:`~openfingym.answers.reading.cleaning.cleaned`.
    """
    if part.type == "number":
        mentions = numbers_of(text)
        if not mentions and (unchanged := UNCHANGED.search(text)):
            return _unchanged(part, unchanged)
        compared = [_number(part, mention) for mention in mentions]
        return [candidate for candidate in compared if candidate is not None]
    if part.type == "date":
        return list(_dates(part, text))
    if part.type == "yes_no":
        return yes_or_no(part, text)
    return names(part, text)


def _unchanged(part: Part, said: re.Match[str]) -> list[Candidate]:
    """Words such as "no change" as a change of 0; they say nothing of a level."""
    rule = _rule(part)
    if not rule.changes:
        return []
    right = _compared(rule, Decimal(0), Decimal(0))
    return [Candidate(said.start(), said.end(), right, False)]


def _number(part: Part, mention: NumberMention) -> Candidate | None:
    """A number in a text as a value for a part; None if it is in another unit."""
    rule = _rule(part)
    readings = list(_readings(rule, mention))
    if not readings:
        return None
    if mention.beside and not understood(mention.beside, rule.words, plain=rule.plain):
        # An unknown word may be a scale, of which each is a power of ten, or a currency: other digits are wrong anyway.
        right: bool | None = None if _same_digits(rule, mention) else False
    else:
        states = [
            _compared(rule, signed, place) for value, place in readings for signed in _signed(rule, mention, value)
        ]
        right = True if True in states else None if None in states else False
        if right is not None and mention.doubt:
            right = _doubted(rule, mention, readings, right=right)
    return Candidate(mention.start, mention.end, right, mention.loose)


def _signed(rule: _Rule, mention: NumberMention, value: Decimal) -> tuple[Decimal, ...]:
    """The values that a number says, with the signs that the words around it give it.

    "Fell by 0.59" says -0.59, if the part is a change. The size of a fall is stated as 81 or -81, or as "fell by 81";
    "rose by 81" is a fall of -81.
    """
    if mention.direction < 0:
        return (value, -value) if rule.falling else (-value,)
    if rule.falling:
        return (-value,) if mention.direction > 0 else (value, -value)
    return (value,)


def _doubted(
    rule: _Rule, mention: NumberMention, readings: Sequence[tuple[Decimal, Decimal]], *, right: bool
) -> bool | None:
    """Whether a number of which the sign is in doubt is right: None if that depends on the sign."""
    if right:
        # A quantity that has no sign is not negative, whatever stands before it.
        return None if mention.doubt == "sign" or rule.changes else True
    turned = [_compared(rule, -value, place) for value, place in readings]
    return False if set(turned) == {False} else None


def _same_digits(rule: _Rule, mention: NumberMention) -> bool:
    """Whether a number is right, but for its sign and for some power of ten."""
    value = abs(mention.value)
    for truth in rule.values:
        if not value or not truth:
            if value == truth:
                return True
            continue
        shift = truth.adjusted() - value.adjusted()
        for power in (shift - 1, shift, shift + 1):
            scaled, place = value.scaleb(power), mention.place.scaleb(power)
            if _compared(rule, scaled, place) is not False or _compared(rule, -scaled, place) is not False:
                return True
    return False


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
    changes: bool
    """Whether the part may be negative as far as its name and its unit say, as a change or a share may."""
    words: frozenset[str]
    """The words of the part's name and of its unit, in lower case and in the singular."""


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
    else:
        # Rules without a range never ask for its ends.
        wider = slack if part.rule == "widened" else Decimal(0)
        low, high = _decimal(part.low or 0.0) - wider, _decimal(part.high or 0.0) + wider
    return _Rule(
        part.rule,
        (value, *map(_decimal, part.accept)),
        low,
        high,
        None if part.decimals is None else Decimal(1).scaleb(-part.decimals),
        part.places or 0,
        _decimal(part.scale),
        unit.share,
        not part.unit,
        unit.currencies,
        bool(_FALLING.search(part.name)) and not _EITHER.search(part.name),
        bool(_CHANGE.search(part.name)) or (unit.share and not _LEVEL.search(part.name)),
        words_of(f"{part.name} {part.unit or ''}"),
    )


def _decimal(value: Value) -> Decimal:
    """A number as it is written in the fewest digits, 0.1 and not 0.1000000000000000055."""
    return Decimal(repr(value))


def _readings(rule: _Rule, mention: NumberMention) -> Iterator[tuple[Decimal, Decimal]]:
    """The values that a number may mean in the asked unit, each with the size of one unit in its last place.

    There are none if the number is in a unit of another kind.
    """
    value, place, scale = mention.value, mention.place, mention.scale
    # A power of ten is no word of a unit, but part of the number.
    if mention.power and scale is not None and not mention.share:
        value, place, scale = value * scale, place * scale, None
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
    if scale is not None:
        size = scale / rule.scale
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
        coarser = place > _own_place(rule, end) and (rule.place is None or place <= rule.place)
        states.append(_near(rule._replace(place=None), value, place, end) if coarser else False)
    else:
        states.append(False)
    return True if True in states else None if None in states else False


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
        # With more decimals than are asked for, it is right if it rounds to the same; with fewer, it stays as it is.
        return not set(_rounded(truth, rule.place)).isdisjoint(_rounded(value, rule.place))
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
