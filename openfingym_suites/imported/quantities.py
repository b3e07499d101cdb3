"""Reading a published quantity in full: a number and its unit, with no word left over that is not understood."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from openfingym.answers.reading.numbers import NumberMention, numbers_of
from openfingym.answers.units import CURRENCIES, PERCENT, SCALES, Unit, unit_of

_LETTER_SCALES = {"k": "thousand", "m": "million", "b": "billion", "t": "trillion"}
_NEEDS_MONEY = frozenset("mt")
"""Letters that also stand for metres and tonnes: they are a scale of an amount of money alone."""
_MEASURES = (
    r"years?|months?|weeks?|days?|hours?|minutes?|quarters?|times"
    r"|shares?|units?|companies|banks|countries|provinces|cities|stocks|funds|people|persons|employees|stores|points?"
    r"|ounces?|tons?|tonnes?|barrels?|gallons?|kilograms?|kg|bushels?|pounds"
    r"|kilomet(?:er|re)s?|miles?|met(?:er|re)s?|km"
    r"|年|个月|月|周|天|日|小时|分钟|个?季度|次|股|家|个|只|人|名|户|点|盎司|吨|桶|克|千克|公斤|公里|米|倍"
)
"""What is counted or measured, other than money and shares of a whole. All are single words: of two, an answer is
compared by the first, and square miles would be square kilometres."""
_PER = rf"\s*(?:/|(?<![A-Za-z])per\b|每)\s*(?:{_MEASURES}|USD|CNY|EUR)(?![A-Za-z])"
_MEASURED = re.compile(rf"(?:(?<![A-Za-z])(?:{_MEASURES})(?:{_PER})?|{_PER}|)$", re.IGNORECASE)
"""The end of a unit that says what is measured, and per what; it fits the empty text too."""
_WORDS = re.compile(r"[A-Za-z]+\$|[A-Za-z]+|[%‰$€£¥￥₹₩₽₺]|[一-鿿]+", re.IGNORECASE)
_CHINESE = sorted((word for word in (*SCALES, *CURRENCIES, *PERCENT) if not word.isascii()), key=len, reverse=True)
_LEAD = re.compile(
    r"(?:the\s+(?:correct\s+)?answer\s+is|answer\s*:|(?:正确|参考)?答案\s*(?:是|为|:))\s*:?\s*", re.IGNORECASE
)
_RANGE_SIGN = re.compile(r"\s*(?:-|–|—|~|\bto\b|\band\b|至|到|和)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Quantity:
    """A number as it was published."""

    value: Decimal
    """The number, in ``unit``."""
    places: int
    """How many decimals it is published with, trailing zeros included."""
    unit: str
    """The words of its unit, such as ``$ billion``; empty without one."""

    @property
    def size(self) -> Unit:
        """What the words of the unit mean."""
        return unit_of(self.unit)

    def within(self, unit: str) -> Quantity:
        """The same digits in another unit, for a number that leaves its unit to what stands beside it."""
        return Quantity(self.value, self.places, unit)


@dataclass(frozen=True)
class QuantityRange:
    """A range of numbers as it was published, from ``low`` to ``high``, both in ``unit``."""

    low: Decimal
    high: Decimal
    unit: str
    """The words of the unit of both ends; empty without one."""

    def within(self, unit: str) -> QuantityRange | None:
        """The range in another unit, or its digits taken in that unit if it has none; None if the units differ in
        kind.
        """
        own, other = unit_of(self.unit), unit_of(unit)
        if not self.unit:
            return QuantityRange(self.low, self.high, unit)
        if own.share != other.share or (own.currencies and other.currencies and not own.currencies & other.currencies):
            return None
        factor = own.scale / other.scale
        return QuantityRange(self.low * factor, self.high * factor, unit)


def quantity(text: str) -> Quantity | None:
    """The quantity that a text is; None if it says anything besides, or if a word of it is not understood.

    Args:
        text: the text, after :func:`~openfingym.answers.reading.cleaning.cleaned`.
    """
    stated = _LEAD.sub("", text.strip(), count=1).strip().rstrip(".").strip()
    # A minus with a space after it may be the bullet of a list.
    if re.match(r"[-+–—]\s", stated):
        return None
    mentions = numbers_of(stated)
    # Exactly one number, and nothing before it: "about", "over" and "fell by" change what it says.
    if len(mentions) != 1 or mentions[0].loose or mentions[0].doubt or mentions[0].direction < 0 or mentions[0].start:
        return None
    mention = mentions[0]
    digits = [at for at, char in enumerate(stated[: mention.end]) if char.isdigit()]
    # Numbers in words, and powers of ten, whose digits stand among the words of the unit.
    if not digits or "^" in stated or not digits[-1] < mention.end:
        return None
    before, after = stated[: digits[0]], stated[digits[-1] + 1 :]
    unit = unit_words(f"{before.strip(' (+-.')} {after.replace(')', ' ', 1) if '(' in before else after}")
    if unit is None or not _same(unit_of(unit), mention):
        return None
    exponent = int(mention.place.as_tuple().exponent) if mention.place else 0
    return Quantity(mention.value, max(0, -exponent), unit)


def quantity_range(text: str) -> QuantityRange | None:
    """The range that a text is, such as ``100 to 110 million USD``; None if it says anything besides."""
    readings = {
        reading for cut in _RANGE_SIGN.finditer(text) if (reading := _ends(text[: cut.start()], text[cut.end() :]))
    }
    return readings.pop() if len(readings) == 1 else None


def unit_words(text: str) -> str | None:
    """The words of a unit, each of them understood; empty for an empty text, None if a word is not.

    Single letters become words: ``$ B`` is ``$ billion``.
    """
    text = re.sub(r"\s+", " ", text).strip(" .")
    if not text:
        return ""
    # The words of money and shares first: "basis points" are no points.
    known = _known(text)
    measured = ""
    if known is None:
        match = _MEASURED.search(text)
        assert match is not None
        known, measured = _known(text[: match.start()]), match[0].strip()
    if known is None:
        return None
    folded = [word.casefold() for word in known]
    # What is counted may have a scale, and no money or share before it: "% years" and "USD shares" are nothing.
    if measured and not re.match(rf"(?:{_PER})$", measured, re.IGNORECASE) and not all(map(_is_scale, folded)):
        return None
    if not _NEEDS_MONEY.isdisjoint(folded) and CURRENCIES.keys().isdisjoint(folded):
        return None
    return " ".join([*(_LETTER_SCALES.get(word.casefold(), word) for word in known), measured]).strip()


def _known(text: str) -> list[str] | None:
    """The words of a scale, a currency or a share; None if any of them is in no table."""
    whole = " ".join(text.split())
    if whole.casefold() in PERCENT or whole.casefold() in CURRENCIES:
        return [whole]
    words = _WORDS.findall(text)
    # What is left between the words, such as a digit or a stroke, is not understood either.
    if re.sub(r"\s", "", text) != "".join(words).replace(" ", ""):
        return None
    return words if all(map(_in_tables, words)) else None


def _is_scale(word: str) -> bool:
    """Whether a word of a unit is a scale, as million and 万 are."""
    return word in SCALES or word == "of"


def _in_tables(word: str) -> bool:
    """Whether a word is one of a unit, or consists of such words, as 亿美元 does of 亿 and 美元."""
    rest = word.casefold()
    if rest.isascii():
        return rest in SCALES or rest in CURRENCIES or rest in PERCENT or rest in {"of", "us"}
    while rest:
        first = next((known for known in _CHINESE if rest.startswith(known)), None)
        if first is None:
            return False
        rest = rest[len(first) :]
    return True


def _same(unit: Unit, mention: NumberMention) -> bool:
    """Whether the words of a unit mean what was read with the number, so that nothing is lost between the two."""
    return unit.scale == (mention.scale or 1) and unit.share == mention.share and unit.currencies == mention.currencies


def _ends(first: str, second: str) -> QuantityRange | None:
    """The range between two texts that are a quantity each; None if one is not, or if their units differ."""
    low, high = quantity(first), quantity(second)
    if low is None or high is None or low.value > high.value:
        return None
    unit = _unit_of_both(low, high)
    return None if unit is None else QuantityRange(low.value, high.value, unit)


def _unit_of_both(low: Quantity, high: Quantity) -> str | None:
    """The unit of both ends of a range, of which one may leave it to the other; None if they contradict."""
    if not low.unit or low.size == high.size:
        return high.unit
    if not high.unit:
        return low.unit
    # "$100 to 110 million": the sign at the first end, the scale at the second.
    if low.size.scale == 1 and not low.size.share and not high.size.share and not high.size.currencies:
        return f"{low.unit} {high.unit}"
    return None
