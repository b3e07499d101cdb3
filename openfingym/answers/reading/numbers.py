"""Finding numbers in a text together with the signs, scales, currencies, ranges and bounds that stand around them."""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from typing import NamedTuple

from openfingym.answers.reading.dates import DateMention, dates_of, years_of
from openfingym.answers.reading.digits import PLACES, read_digits
from openfingym.answers.reading.directions import REACH, said_before, said_behind
from openfingym.answers.reading.number_patterns import (
    AND,
    BETWEEN,
    BODIES,
    BOUND,
    BOUND_AFTER,
    CITED,
    DATED,
    MOVED,
    NOISE,
    NOISY,
    ONE_UNIT,
    OWN_POWER,
    PLAIN,
    RANGE,
    SHORT,
    STATED_SCALE,
)
from openfingym.answers.reading.said import NOTHING, UNSURE, Doubt, Said
from openfingym.answers.reading.signs import in_brackets, lead_of, together, trailing
from openfingym.answers.reading.suffixes import Suffix, stated_before, suffix_of
from openfingym.answers.reading.words import CHINESE, DIGIT, ENGLISH, NAMED, chinese, english
from openfingym.answers.units import CURRENCIES, PERCENT

_DATED_WORDS = re.compile(
    r" ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|of|for|st|nd|rd|th|e|年|月|日|页|季|条|款|号|份)"
)
"""Words behind a number that may make it a date, a fraction or the like."""
_LETTERS = re.compile(r"[a-z]+")
_NONE: frozenset[str] = frozenset()


class NumberMention(NamedTuple):
    """A place in a text that states a number."""

    start: int
    """Index of the first character of the place, with the signs that belong to the number."""
    end: int
    """Index after the last character of the place, with the words of its unit."""
    value: Decimal
    """The number as it is written, with its sign; neither a scale nor a per cent sign has been applied to it."""
    place: Decimal
    """The size of one unit in the last place of the number as written: 0.01 for 62.57; 0 for a fraction, which is
    exact."""
    scale: Decimal | None
    """What the words of the unit multiply the number by, such as 0.01 for per cent; None without such words."""
    share: bool
    """Whether the number is in per cent, percentage points or basis points."""
    currencies: frozenset[str]
    """ISO codes that the currency beside the number may stand for; empty without one."""
    loose: bool
    """Whether the number is an end of a range, or a bound, and so is no answer by itself."""
    direction: int
    """-1 if words say that something fell by the number, 1 if they or a plus sign say that it rose, 0 otherwise."""
    doubt: Doubt = ""
    """What is not known of its sign; empty if it is known."""
    beside: str = ""
    """The word or sign beside the number that no table of units knows, in lower case, a noun in the singular: the
    number's size is known only if the word is that of the unit that is asked for. Empty if all is known."""
    power: bool = False
    """Whether the scale is a power of ten, which belongs to the number itself: 6.257 × 10^7."""


def numbers_of(text: str) -> list[NumberMention]:
    """The numbers in a text, in its order.

    Dates, times, the numbers of a list, and digits in the names of forms and indices are not among them; years only if
    there is no other number.
    """
    # Most answers are a number and nothing else.
    if plain := PLAIN.fullmatch(text):
        return [_plain(plain)]
    if (short := SHORT.fullmatch(text)) and (mention := _short(short)):
        return [mention]
    # What is no number is replaced by as many spaces, so that places in the text stay where they are.
    hidden = _blanked(text, dates_of(text)) if DATED.search(text) else text
    hidden = NOISE.sub(lambda match: " " * len(match[0]), hidden) if NOISY.search(hidden) else hidden
    hidden = CITED.sub(lambda match: _hidden_citation(hidden, match), hidden)
    without_years = _blanked(hidden, list(years_of(hidden)))
    if without_years != hidden and (mentions := _mentions(without_years)):
        return mentions
    return _mentions(hidden)


def _hidden_citation(text: str, match: re.Match[str]) -> str:
    """Blanks in the place of the number of a source; the number itself if no other stands before it."""
    return " " * len(match[0]) if any(map(str.isdigit, text[: match.start()])) else match[0]


def _plain(match: re.Match[str]) -> NumberMention:
    """The number that a text consists of, perhaps in per cent."""
    digits = match[2].replace(",", "")
    whole, _, rest = digits.partition(".")
    value = Decimal(match[1] + whole + "." + rest if rest else match[1] + whole)
    share = match[3] == "%"
    scale = PERCENT["%"] if share else None
    direction = 1 if match[1] == "+" else 0
    return NumberMention(0, match.end(), value, PLACES[len(rest)], scale, share, _NONE, False, direction)


def _short(match: re.Match[str]) -> NumberMention | None:
    """The number of a text that is a number and the words of its unit; None if that must be read with more care."""
    sign, money, body, words = match.groups()
    unit_and_more = _words_alone(words or "", counts=not sign and not money)
    if unit_and_more is None:
        return None
    unit, behind, bound = unit_and_more
    value, place, _ = read_digits(body)
    direction, doubt = together(sign, "", NOTHING, behind)
    end = match.end(3) + unit.end
    currencies = CURRENCIES[money] if money else unit.currencies
    return NumberMention(
        *(0, end, -value if sign == "-" else value, place, unit.scale, unit.share, currencies, bound, direction, doubt),
        behind.beside,
    )


@functools.lru_cache(maxsize=4096)
def _words_alone(words: str, *, counts: bool) -> tuple[Suffix, Said, bool] | None:
    """The unit in the words behind the only number of a text, what the rest of them says, and whether they make the
    number a bound; None if the words may be a date's, or a number of their own.

    Args:
        words: the words, without digits; empty if there are none.
        counts: whether the number has neither a sign nor a currency.
    """
    lowered = words.casefold()
    if _DATED_WORDS.match(lowered) or not NAMED.isdisjoint(_LETTERS.findall(lowered)) or CHINESE.search(words):
        return None
    unit = suffix_of(words, 0)
    rest = words[unit.end :]
    if STATED_SCALE.search(rest):
        return None
    behind = said_behind(rest, counts=counts and unit.scale is None and not unit.currencies)
    return unit, behind, BOUND_AFTER.match(rest) is not None


def _mentions(text: str) -> list[NumberMention]:
    """The numbers in a text in which dates and the like are blanked."""
    mentions: list[NumberMention] = []
    for match in BODIES.finditer(text):
        # The unit of the number before has digits too if it is a power of ten, as in 62.57 x 10^6.
        if mentions and match.start() < mentions[-1].end:
            continue
        mention = _read(text, match, mentions[-1] if mentions else None)
        if mention is None:
            continue
        if mentions and (joined := _joined(text, mentions[-1], mention)):
            mentions[-1] = joined
            continue
        mentions.append(mention)
    spelled = [] if text.isascii() else _spelled(text, CHINESE, mentions)
    spelled += _spelled(text, ENGLISH, mentions)
    if spelled:
        mentions = sorted([*mentions, *spelled])
    mentions = _scaled_elsewhere(text, mentions)
    return (mentions or _glued(text)) if len(mentions) < 2 else _ranges(text, mentions)


def _scaled_elsewhere(text: str, mentions: list[NumberMention]) -> list[NumberMention]:
    """The numbers of a text, of which those without a scale have one in doubt if the text states one that stands beside
    none of them, as in "All figures are in billions. Revenue: 62.57".
    """
    for match in STATED_SCALE.finditer(text):
        word = next(filter(None, match.groups())).casefold()
        if not any(match.end() - 1 in range(mention.start, mention.end) for mention in mentions):
            mentions = [one if one.scale is not None or one.beside else one._replace(beside=word) for one in mentions]
    return mentions


def _read(text: str, match: re.Match[str], last: NumberMention | None) -> NumberMention | None:
    """Read a number together with what belongs to it on both sides; None if its digits are part of a word or a rate.

    Args:
        text: the text in which the number was found.
        match: the digits of the number, a match of :data:`BODIES` in the text.
        last: the number before, where what belongs to this one may begin; None for the first.
    """
    body, start, end = match[0], match.start(), match.end()
    floor = 0 if last is None else last.end
    lead = lead_of(text, start, floor)
    if lead is None or (body == "1" and ONE_UNIT.match(text, end)):
        return None
    value, place, known = read_digits(body)
    if body == "10" and (power := OWN_POWER.match(text, end)):
        value, place, end = Decimal(10).scaleb(int(power[1]) - 1), Decimal(0), power.end()
    strange = "" if known else body
    if text[end : end + 1] in {".", "'", "^", "_"} and text[end + 1 : end + 2].isdigit():
        strange = text[end]
    sign, doubt = lead.sign, lead.doubt
    unit = suffix_of(text, end)
    closed = False
    if lead.bracket >= 0:
        lead, sign, doubt, unit, closed = in_brackets(text, lead, end, unit, None if last is None else last.end)
    minus = trailing(text, end)
    minus = trailing(text, unit.end) if minus is None else minus
    if minus is not None:
        doubt = "sign" if minus or sign or closed else doubt
        sign = "" if doubt else "-"
    if lead.money:
        unit = unit._replace(currencies=CURRENCIES[lead.money.casefold().rstrip(".")])
    clause = text[max(floor, lead.start - REACH) : lead.start]
    if last is not None and _RESTATED.fullmatch(text[last.end : start]) and not sign:
        restated = -1 if last.value < 0 else last.direction
        return _made(text, _Bare(lead.start, value, place, unit, "", "", strange), Said(restated, last.doubt), "")
    return _made(text, _Bare(lead.start, value, place, unit, sign, doubt, strange), said_before(clause), clause)


class _Bare(NamedTuple):
    """A number with its signs and its unit, of which the words around it have not been read."""

    start: int
    """Index of the first character that belongs to it."""
    value: Decimal
    """The number without its sign."""
    place: Decimal
    """The size of one unit in its last place."""
    unit: Suffix
    """Its unit, as far as it stands behind it."""
    sign: str
    """Its sign; empty without one."""
    doubt: Doubt = ""
    """What its signs leave open."""
    strange: str = ""
    """A sign in its digits that nothing knows; empty without one."""


def _made(text: str, bare: _Bare, before: Said, clause: str) -> NumberMention:
    """Put a number together with what the words around it say.

    Args:
        text: the text in which the number was found.
        bare: the number.
        before: what the words before it say of its sign.
        clause: the text before it, in which its unit may be stated.
    """
    unit, sign = bare.unit, bare.sign
    rest = text[unit.end : unit.end + REACH]
    behind = said_behind(rest, counts=unit.scale is None and not unit.currencies and not sign)
    # The full stop of an abbreviation may end the sentence as well: "3.4 mio. Losses were lower".
    if behind.direction and text[unit.end - 1] == "." and rest.lstrip()[0].isupper():
        behind = UNSURE
    bound = BOUND.search(clause) is not None or BOUND_AFTER.match(rest) is not None
    unit = stated_before(clause, unit)
    direction, doubt = together(sign, bare.doubt, before, behind)
    return NumberMention(
        bare.start,
        unit.end,
        -bare.value if sign == "-" else bare.value,
        bare.place,
        unit.scale,
        unit.share,
        unit.currencies,
        bound or sign in {"±", "+/-"},
        direction,
        doubt,
        bare.strange or behind.beside or unit.beside,
        unit.power,
    )


_RESTATED = re.compile(r" ?(?:[(\[=≈]|\(?(?:i\.e\.|that is|or)[,:]?|即|,? ?equivalent to|,? ?equal to) ?\(?")
"""What stands between a number and one that states it once more, as in "fell by 0.59% (59 bps)"."""


_GLUED = re.compile(r"(?<![^\W\d_])([^\W\d_]+)[-.'_]?([0-9]+(?:\.[0-9]+)?)")
"""Digits with the word before them, from its first letter on: else long words would be searched from each letter."""


def _glued(text: str) -> list[NumberMention]:
    """Numbers that letters or strange signs stand right before, as in PLN62.57, of a text that has no other numbers.

    The letters may be a currency, or a name such as GPT-4: nothing is known of the number's size.
    """
    return [
        NumberMention(match.start(), match.end(), *read_digits(match[2])[:2], None, False, _NONE, False, 0, "sign",
                      match[1].casefold() or "?")
        for match in _GLUED.finditer(text)
    ]  # fmt: skip


def _joined(text: str, first: NumberMention, second: NumberMention) -> NumberMention | None:
    """Two numbers that are one, as 12亿 and 3400万; None if they are not."""
    if first.end != second.start or first.scale is None or second.scale is None:
        return None
    if second.scale >= first.scale or not text[second.start].isdigit():
        return None
    value = first.value * first.scale + second.value * second.scale
    return first._replace(
        end=second.end, value=value, place=second.place * second.scale, scale=Decimal(1), currencies=second.currencies
    )


def _spelled(text: str, pattern: re.Pattern[str], mentions: list[NumberMention]) -> list[NumberMention]:
    """The numbers in words of a text.

    Args:
        text: the text that is searched for numbers.
        pattern: the pattern of numbers in one language, :data:`CHINESE` or :data:`ENGLISH`.
        mentions: the numbers in digits of the text.
    """
    # The pattern is slow, and most texts have no such word.
    if pattern is ENGLISH and NAMED.isdisjoint(_LETTERS.findall(text.casefold())):
        return []
    taken = [(mention.start, mention.end) for mention in mentions]
    result: list[NumberMention] = []
    # Small numbers without a unit are mostly words of a sentence, such as "one of them" or 一个: they count only if
    # there is no other number.
    small: list[NumberMention] = []
    for match in pattern.finditer(text):
        # 亿 and 万 after digits are their unit.
        if any(match.start() in range(*place) for place in taken):
            continue
        # Digits that were not read, since letters stand before them, have a unit too.
        if match.start() and (previous := text[match.start() - 1]).isascii() and previous.isalnum():
            continue
        is_chinese = pattern is CHINESE
        read = (chinese if is_chinese else english)(match["body"])
        if read is None or not match["body"]:
            continue
        value, place = read
        unit = suffix_of(text, match.end())
        if is_chinese and match["share"]:
            unit = unit._replace(scale=Decimal("0.01" if match["share"] == "百分之" else "0.001"), share=True)
        clause = text[max(_floor(mentions, match.start()), match.start() - REACH) : match.start()]
        sign = "-" if match["minus"] else ""
        mention = _made(text, _Bare(match.start(), value, place, unit, sign), said_before(clause), clause)
        # Chinese numerals without a digit, such as 千 and 百万, are rather words of a sentence or of a unit.
        bare = is_chinese and DIGIT.search(match["body"]) is None
        alone = len(match["body"]) == 1 if is_chinese else value < 11 and " " not in match["body"]
        (small if bare or (alone and unit.scale is None and place <= 1) else result).append(mention)
    return result or ([] if mentions else small)


def _floor(mentions: list[NumberMention], start: int) -> int:
    """Where the last of the numbers before a place ends; 0 if there is none."""
    return max((mention.end for mention in mentions if mention.end <= start), default=0)


def _ranges(text: str, mentions: list[NumberMention]) -> list[NumberMention]:
    """Mark both ends of each range as loose, in the list itself, and return it."""
    for index in range(1, len(mentions)):
        first, second = mentions[index - 1], mentions[index]
        gap, clause = text[first.end : second.start], text[max(0, first.start - REACH) : first.start]
        between = AND.match(gap) and BETWEEN.search(clause)
        signed = not gap.strip() and text[second.start :].startswith(("-", "±", "+/-"))
        # "Rose from 5 to 6" and "fell 3 % to 6" state two values, and no range.
        moved = first.direction or MOVED.search(clause)
        if between or signed or (RANGE.fullmatch(gap) and not moved):
            mentions[index - 1], mentions[index] = first._replace(loose=True), second._replace(loose=True)
    return mentions


def _blanked(text: str, mentions: list[DateMention]) -> str:
    """A text with spaces in the place of the dates."""
    for mention in mentions:
        text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text
