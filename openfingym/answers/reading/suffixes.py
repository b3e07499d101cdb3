"""The unit of a number: the words behind it, those stated before it, and whether a table knows all of them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from openfingym.answers.reading.number_patterns import (
    ABBREVIATED,
    CUT_OFF,
    MONEY_BEFORE,
    POWER,
    SCALED_BEFORE,
    STRANGE_CODE,
    STRANGE_UNIT,
    TOKEN,
)
from openfingym.answers.reading.vocabulary import COPULAS, COUNTED, FILLERS, TIMES, singular
from openfingym.answers.units import CURRENCIES, PERCENT, SCALES


class Suffix(NamedTuple):
    """The unit of a number."""

    end: int
    """Index after the last character of its words."""
    scale: Decimal | None = None
    """What it multiplies the number by; None without a word for that."""
    share: bool = False
    """Whether it measures a share."""
    currencies: frozenset[str] = frozenset()
    """ISO codes that its currency may stand for."""
    power: bool = False
    """Whether the scale is a power of ten in digits."""
    beside: str = ""
    """A word stated before the number that may be its unit and that no table knows."""


def suffix_of(text: str, at: int) -> Suffix:
    """Read the words of a unit after a number.

    Args:
        text: the text in which the number was found.
        at: index after the last digit of the number.
    """
    scale: Decimal | None = None
    share, power, currencies = False, False, frozenset[str]()
    if ten := POWER.match(text, at):
        scale, at, power = Decimal(1).scaleb(int(ten[1])), ten.end(), True
    while match := TOKEN.match(text, at):
        word = match[1].casefold()
        if word.endswith(("dollar", "dollars")) and word[0] == "u":
            word = "usd"
        elif "basis" in word or "percent" in word:
            word = word.replace("-", " ")
        # "%p" and "%-points" say what "%" says.
        if word.startswith("%"):
            word = "%"
        if word in PERCENT and (scale is None or power):
            scale, share = (scale or 1) * PERCENT[word], True
        elif word in SCALES and not share:
            scale, power = (scale or 1) * SCALES[word], False
        elif word in CURRENCIES and not currencies:
            currencies = CURRENCIES[word]
        elif word not in {"of", "us"} or scale is None:
            break
        at = match.end()
        # The full stop of an abbreviation ends no sentence.
        if text[at : at + 1] == "." and word in ABBREVIATED:
            at += 1
    return Suffix(at, scale, share, currencies, power)


def stated_before(clause: str, unit: Suffix) -> Suffix:
    """The unit of a number with what is stated of it before the number, as in "in millions of USD: 62.57".

    Args:
        clause: the text before the number.
        unit: what is stated behind the number.
    """
    if unit.share:
        return unit
    if unit.scale is None and (found := SCALED_BEFORE.search(clause)):
        money = found["money"] or found["sign"] or found["first"] or ""
        currencies = unit.currencies or CURRENCIES.get(money.casefold(), frozenset())
        return unit._replace(scale=SCALES[found["scale"].casefold()], currencies=currencies)
    if not unit.currencies and (stated := MONEY_BEFORE.search(clause)):
        return unit._replace(currencies=CURRENCIES[stated["money"].casefold()])
    if unit.currencies:
        return unit
    if (cut_off := CUT_OFF.search(clause)) and not _is_ordinary(cut_off[1]):
        return unit._replace(beside=cut_off[1].casefold())
    if code := STRANGE_CODE.search(clause):
        word = code[1] or code[2]
        return unit if _is_ordinary(word) else unit._replace(beside=word.casefold())
    if strange := STRANGE_UNIT.search(clause):
        word = strange[1].casefold()
        if word in PERCENT and unit.scale is None:
            return unit._replace(scale=PERCENT[word], share=True)
        if word.endswith("s") and singular(word) in COUNTED:
            return unit._replace(beside=singular(word))
        return unit if _is_ordinary(word) or strange[1][0].isupper() else unit._replace(beside=word)
    return unit


def _is_ordinary(word: str) -> bool:
    """Whether a word is one of ordinary sentences."""
    known = word.casefold().rstrip(".:=")
    return known in COPULAS or known in FILLERS


def words_of(unit: str) -> frozenset[str]:
    """The words of a unit or of a name, in lower case and in the singular, with Chinese nouns as English ones."""
    words = re.findall(r"[A-Za-zÀ-ɏ]+|[^\W\d_]+", unit.casefold())
    return frozenset(singular(word) for word in words) | frozenset(words)


def understood(beside: str, words: frozenset[str], *, plain: bool) -> bool:
    """Whether what stands beside a number leaves its size known: nothing, a word of the unit that is asked for, or what
    it counts if no unit is asked for.

    Args:
        beside: the word or sign beside the number that no table knows; empty if there is none.
        words: the words of the unit and of the name of what is asked for, as :func:`words_of` gives them.
        plain: whether no unit is asked for.
    """
    if not beside or beside in words:
        return True
    # Three years are no three months.
    return plain and beside in COUNTED and not (beside in TIMES and words & TIMES)
