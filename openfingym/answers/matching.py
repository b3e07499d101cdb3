"""Where a text says a part's value, or another value in its place: candidates, each right, wrong, or too coarse.

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

from openfingym.answers.reading.dates import dates_of, years_of
from openfingym.answers.reading.numbers import numbers_of
from openfingym.answers.units import unit_of

if TYPE_CHECKING:
    from openfingym.answers.reading.numbers import NumberMention
    from openfingym.answers.reference import Part, Value

COARSEST = Decimal("0.005")
"""Where no decimals are asked for, half of the last place of an answer may be this share of the truth; a number that is
rounded further is for a judge."""
_HALF = Decimal("0.5")
_FALLING = re.compile(
    r"drop|declin|decreas|fall|fell|loss|lost|outflow|used|spent|reduc|drawdown|跌|降|减|亏|流出|回撤", re.IGNORECASE
)
_EITHER = re.compile(
    r"income|profit|gain|change|provided|return|earning|result|balance|变动|变化|损益|盈亏|利润|收益|净额",
    re.IGNORECASE,
)
"""Of a part whose name has one of these, the sign says which it was."""
_WORD = re.compile(r"[^\W_]+")
_GENERIC = frozenset(
    {
        *(
            "the",
            "a",
            "an",
            "inc",
            "incorporated",
            "corp",
            "corporation",
            "co",
            "company",
            "ltd",
            "limited",
            "plc",
            "llc",
        ),
        *("lp", "sa", "ag", "nv", "se", "group", "holdings", "holding", "province", "city", "state", "stock", "shares"),
    }
)
_GENERIC_CHINESE = re.compile(r"股份有限公司|有限责任公司|有限公司|集团|公司|省|市$")
_YES = re.compile(r"\b(?:yes|true|correct)\b|(?<![不没])是的?(?!否)|对(?!于)|正确", re.IGNORECASE)
_NO = re.compile(r"\b(?:no|false|incorrect)\b|否|不是|没有|不对|错误|不正确", re.IGNORECASE)


class Candidate(NamedTuple):
    """A place in a text that says a value for a part."""

    start: int
    end: int
    right: bool | None
    """None: too coarse, or of two meanings, so that no rule can tell."""
    loose: bool
    """An end of a range, or a bound."""


def candidates(part: Part, text: str) -> list[Candidate]:
    """Every value for a part in a cleaned text, in their order; a number in another unit is none."""
    if part.type == "number":
        compared = [_number(part, mention) for mention in numbers_of(text)]
        return [found for found in compared if found is not None]
    if part.type == "date":
        return list(_dates(part, text))
    if part.type == "yes_no":
        return _yes_no(part, text)
    return _names(part, text)


def name_key(text: str) -> str:
    """A name for comparison: lower case, without signs, accents and words such as Inc. or 有限公司."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()
    plain = _GENERIC_CHINESE.sub("", plain.replace("'s", "").replace("&", " and "))
    words = _WORD.findall(plain)
    return " ".join(word for word in words if word not in _GENERIC) or " ".join(words)


def _number(part: Part, mention: NumberMention) -> Candidate | None:
    rule = _rule(part)
    states: list[bool | None] = []
    for value, place in _readings(rule, mention):
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
    """What a part accepts, as decimals."""

    kind: str
    values: tuple[Decimal, ...]
    low: Decimal
    high: Decimal
    place: Decimal | None
    """How large one of the last place is that is asked for; None where none is."""
    scale: Decimal
    share: bool
    plain: bool
    """Whether no unit is stated."""
    currencies: frozenset[str]
    falling: bool
    """Whether its name says that it is the size of a fall, which some write as negative."""


def _rule(part: Part) -> _Rule:
    """What a part accepts, kept with the part: it is asked for with every answer."""
    found: _Rule | None = part.__dict__.get("_rule")
    if found is None:
        found = part.__dict__["_rule"] = _made(part)
    return found


def _made(part: Part) -> _Rule:
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
    scale = unit.scale if float(unit.scale) == part.scale else _decimal(part.scale)
    return _Rule(
        part.rule,
        (value, *map(_decimal, part.accept)),
        low,
        high,
        None if part.decimals is None else Decimal(1).scaleb(-part.decimals),
        scale,
        unit.share,
        not part.unit,
        unit.currencies,
        bool(_FALLING.search(part.name)) and not _EITHER.search(part.name),
    )


def _decimal(value: Value) -> Decimal:
    return Decimal(repr(value))


def _readings(rule: _Rule, mention: NumberMention) -> Iterator[tuple[Decimal, Decimal]]:
    """What a number may mean in the asked unit, each with the size of its last place; nothing in another unit."""
    value, place = mention.value, mention.place
    if mention.share:
        assert mention.scale is not None
        if rule.share:
            yield value * mention.scale / rule.scale, place * mention.scale / rule.scale
        elif rule.plain:
            yield value, place
            yield value * mention.scale, place * mention.scale
        return
    if mention.currencies and rule.currencies and not mention.currencies & rule.currencies:
        return
    if mention.currencies and rule.share:
        return
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
    """Whether a value is right; None where it is rounded too far to tell."""
    states = [_near(rule, value, place, accepted) for accepted in rule.values[1:]]
    if rule.kind == "exact":
        states.append(value == rule.values[0])
    elif rule.kind == "rounding":
        states.append(_near(rule, value, place, rule.values[0]))
    elif rule.kind == "relative":
        states.append(rule.low < value < rule.high or value == rule.values[0])
    elif rule.low <= value <= rule.high:
        states.append(True)
    elif rule.kind == "between":
        end = rule.low if value < rule.low else rule.high
        states.append(_near(rule._replace(place=None), value, place, end) if _fine(rule, place) else False)
    else:
        states.append(False)
    return True if True in states else None if None in states else False


def _fine(rule: _Rule, place: Decimal) -> bool:
    return rule.place is None or place <= rule.place


def _near(rule: _Rule, value: Decimal, place: Decimal, truth: Decimal) -> bool | None:
    """Whether a value differs from a truth by rounding alone."""
    if value == truth:
        return True
    if rule.place is not None:
        if abs(value - truth) > rule.place:
            return False
        written = _rounded(truth, rule.place)
        if value in written:
            return True
        if place > rule.place:
            return False
        # More decimals than are asked for: rounded to these, it is what is asked for.
        return not set(written).isdisjoint(_rounded(value, rule.place))
    own = Decimal(1).scaleb(int(truth.normalize().as_tuple().exponent)) if truth else Decimal(1)
    if place > own:
        if abs(value - truth) > place * _HALF:
            return False
        return True if place * _HALF <= COARSEST * abs(truth) else None
    # It has more decimals than the truth is stated with.
    return abs(value - truth) <= own * _HALF and own * _HALF <= COARSEST * abs(truth)


def _rounded(value: Decimal, place: Decimal) -> tuple[Decimal, ...]:
    """A value rounded to a place; of one that lies in the middle both neighbours."""
    below = (value / place).to_integral_value(rounding="ROUND_FLOOR")
    rest = value / place - below
    # Figures computed as float64 may miss the middle by their last bits.
    if abs(rest - _HALF) < Decimal("1e-9"):
        return below * place, (below + 1) * place
    return ((below + (1 if rest > _HALF else 0)) * place,)


def _dates(part: Part, text: str) -> Iterator[Candidate]:
    accepted = tuple(str(value) for value in (part.value, *part.accept))
    grain = len(accepted[0])
    found = dates_of(text)
    if grain == 4 and not any(len(reading) == 4 for mention in found for reading in mention.readings):
        found = [*found, *years_of(text)]
    for mention in sorted(found):
        without_year = [reading for reading in mention.readings if reading.startswith("--")]
        if without_year:
            same = any(value[4:] == reading[1:] for reading in without_year for value in accepted)
            if grain == 10:
                yield Candidate(mention.start, mention.end, None if same else False, False)
            continue
        fitting = [reading for reading in mention.readings if _as_fine(reading, accepted[0])]
        if not fitting:
            continue
        right = [any(reading.startswith(value) for value in accepted) for reading in fitting]
        yield Candidate(mention.start, mention.end, right[0] if len(set(right)) == 1 else None, False)


def _as_fine(reading: str, truth: str) -> bool:
    """Whether a date says as much as the truth does."""
    if truth[5:6] in {"Q", "H"}:
        return reading[5:6] == truth[5]
    return len(reading) >= len(truth) and (len(truth) == 4 or reading[5:6] not in {"Q", "H"})


def _yes_no(part: Part, text: str) -> list[Candidate]:
    found = [Candidate(match.start(), match.end(), not part.value, False) for match in _NO.finditer(text)]
    taken = [(candidate.start, candidate.end) for candidate in found]
    found.extend(
        Candidate(match.start(), match.end(), bool(part.value), False)
        for match in _YES.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in taken)
    )
    found.sort()
    # "Yes, there is no change": what comes first and is set off is the answer.
    if len(found) > 1 and not found[0].start and re.match(r"\s*[,.;:!-]", text[found[0].end :]):
        return found[:1]
    return found


def _names(part: Part, text: str) -> list[Candidate]:
    """Where a text names the right value or another choice; all of a text that is nothing but the right value."""
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
    return _LEAD.sub("", text) if len(text) < 200 and not re.search(r"\bor\b|或", text) else text


@functools.lru_cache(maxsize=4096)
def _keys(part: Part) -> tuple[frozenset[str], frozenset[str]]:
    right = frozenset(name_key(str(value)) for value in (part.value, *part.accept))
    return right, frozenset(map(name_key, part.choices)) - right


@functools.lru_cache(maxsize=4096)
def _pattern(part: Part) -> tuple[re.Pattern[str], frozenset[str]]:
    """Finds every name, the longest first."""
    spelled = {str(value) for value in (part.value, *part.accept, *part.choices)}
    spelled |= {key for key in _keys(part)[0] | _keys(part)[1] if len(key) > 2}
    ordered = sorted(spelled, key=lambda name: (-len(name), name))
    bounded = (rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])" for name in ordered)
    return re.compile("|".join(bounded), re.IGNORECASE), _keys(part)[0]
