"""Finding numbers in a text together with the signs, scales, currencies, ranges and bounds that stand around them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from openfingym.answers.reading.dates import DateMention, dates_of, years_of
from openfingym.answers.reading.number_patterns import (
    AND,
    BEFORE,
    BETWEEN,
    BODIES,
    BOUND,
    BOUND_AFTER,
    DATED,
    DOWN,
    DOWN_AFTER,
    MOVED,
    NOISE,
    NOISY,
    ONE_UNIT,
    PLAIN,
    POWER,
    RANGE,
    SCALED_BEFORE,
    TOKEN,
    UP,
)
from openfingym.answers.reading.words import CHINESE, ENGLISH, NAMED, chinese, english
from openfingym.answers.units import CURRENCIES, PERCENT, SCALES

# Treasury futures are quoted in points, 32nds of a point, and eighths of a 32nd. Of the eighths only the first decimal
# is written: 3 for 0.375, 5 for 0.5, so that 4 and 9 do not occur; a + is a half as well.
_EIGHTHS = {
    "0": "0",
    "1": "0.125",
    "2": "0.25",
    "3": "0.375",
    "5": "0.5",
    "6": "0.625",
    "7": "0.75",
    "8": "0.875",
    "+": "0.5",
}
_LETTERS = re.compile(r"[a-z]+")
_PLACES = tuple(Decimal(1).scaleb(-places) for places in range(21))
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


def numbers_of(text: str) -> list[NumberMention]:
    """The numbers in a text, in its order.

    Dates, times, the numbers of a list, and digits in the names of forms and indices are not among them; years only if
    there is no other number.
    """
    # Most answers are a number and nothing else.
    if plain := PLAIN.fullmatch(text):
        return [_plain(plain)]
    # What is no number is replaced by as many spaces, so that places in the text stay where they are.
    hidden = text
    if len(text) > 4:
        hidden = _blanked(hidden, dates_of(text)) if DATED.search(text) else hidden
        hidden = NOISE.sub(lambda match: " " * len(match[0]), hidden) if NOISY.search(hidden) else hidden
        without_years = _blanked(hidden, list(years_of(hidden)))
        if without_years != hidden and (mentions := _mentions(without_years)):
            return mentions
    return _mentions(hidden)


def _plain(match: re.Match[str]) -> NumberMention:
    """The number that a text consists of, perhaps in per cent."""
    digits = match[2].replace(",", "")
    whole, _, rest = digits.partition(".")
    value = Decimal(match[1] + whole + "." + rest if rest else match[1] + whole)
    share = match[3] == "%"
    scale = PERCENT["%"] if share else None
    direction = 1 if match[1] == "+" else 0
    return NumberMention(0, match.end(), value, _PLACES[len(rest)], scale, share, _NONE, False, direction)


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
    return mentions if len(mentions) < 2 else _ranges(text, mentions)


def _read(text: str, match: re.Match[str], last: NumberMention | None) -> NumberMention | None:
    """Read a number together with what belongs to it on both sides; None if its digits are part of a word or a rate.

    Args:
        text: the text in which the number was found.
        match: the digits of the number, a match of :data:`BODIES` in the text.
        last: the number before, where what belongs to this one may begin; None for the first.
    """
    body, start, end = match[0], match.start(), match.end()
    before = _before(text, start, 0 if last is None else last.end)
    if before is None or (body == "1" and ONE_UNIT.match(text, end)):
        return None
    lead = before.start()
    value, place = _plain_number(body) if body.isdigit() else _number(body)
    # A minus may be a hyphen, as in GPT-4, or a dash.
    sign = before["sign2"] or before["sign"] or ""
    if sign == "-" and before["sign"] == "-" and lead:
        if text[lead - 1].isascii() and text[lead - 1].isalpha():
            return None
        sign = "" if _dash(text, lead, last) else sign
    scale, share, currencies, end = _suffix(text, end)
    # In accounts, brackets are a minus: $(62.57), (0.59)%, or nothing but (62.57). Elsewhere they are brackets.
    if before["bracket"]:
        closed = text[end : end + 1] == ")"
        alone = closed and (not text[: before.start("bracket")].strip(" $") or text[end + 1 : end + 2] == "%")
        if before["money"] or alone:
            sign = "-"
        if alone:
            after = _suffix(text, end + 1)
            scale, share, currencies = (after[0] or scale, after[1] or share, after[2] or currencies)
            end = after[3]
    if money := before["money"]:
        currencies = CURRENCIES.get(money.casefold(), _NONE)
    # The words around it, as far as the patterns reach.
    begin, rest = text[max(0, lead - 48) : lead], text[end : end + 16]
    if scale is None and begin and (unit := SCALED_BEFORE.search(begin)):
        scale = SCALES[unit[1].casefold()]
    bound = bool(begin and BOUND.search(begin)) or bool(rest and BOUND_AFTER.match(rest))
    value = -value if sign == "-" else value
    # The sign counts before the words: "fell by -0.59 %" is -0.59.
    direction = 1 if sign == "+" else 0 if sign else _direction(begin, rest)
    return NumberMention(lead, end, value, place, scale, share, currencies, bound or sign in {"±", "+/-"}, direction)


def _before(text: str, start: int, floor: int) -> re.Match[str] | None:
    """Match the sign, currency and bracket before a number; None if the number is part of a word.

    Args:
        text: the text in which the number was found.
        start: index of the first digit of the number.
        floor: index from which something may belong to it: where the number before ends.
    """
    if start and (previous := text[start - 1]).isascii() and (previous.isalnum() or previous in "_.'"):
        return None
    before = BEFORE.search(text, max(floor, start - 10), start)
    # The pattern fits the empty text as well.
    assert before is not None
    lead, money = before.start(), before["money"]
    # The letters of a currency may be the end of a word.
    if lead and money and money[0].isalpha() and text[lead - 1].isascii() and text[lead - 1].isalpha():
        return BEFORE.search(text, start, start)
    return before


def _direction(begin: str, rest: str) -> int:
    """-1 if the words around a number say that something fell by it, 1 if they say that it rose, 0 otherwise."""
    if not begin and not rest:
        return 0
    if DOWN.search(begin) or DOWN_AFTER.match(rest):
        return -1
    return 1 if UP.search(begin) else 0


def _plain_number(body: str) -> tuple[Decimal, Decimal]:
    """The value of digits alone, and the size of one unit in their last place."""
    return Decimal(body), _PLACES[0]


def _number(body: str) -> tuple[Decimal, Decimal]:
    """The value of a number in any form that :data:`BODIES` finds, and the size of one unit in its last place."""
    whole, point, rest = body.partition(".")
    if point and whole.isdigit() and rest.isdigit() and len(rest) <= 20:
        return Decimal(body), _PLACES[len(rest)]
    # Points and 32nds, of which there are at most 31; otherwise the quote groups thousands.
    if "'" in body and re.fullmatch(r"[0-9]{2,3}'[0-3][0-9](?:['.]?[0-9+])?", body):
        points, rest = body.split("'", 1)
        part = rest[2:].lstrip("'.")
        ticks = Decimal(rest[:2]) + Decimal(_EIGHTHS.get(part or "0", "0"))
        if ticks < 32 and (part or "0") in _EIGHTHS:
            return Decimal(points) + ticks / 32, Decimal(0)
    if parts := re.fullmatch(r"([0-9]+)(?:/|:|-for-| for )([0-9]+)", body, re.IGNORECASE):
        above, below = parts.groups()
        return (Decimal(above) / Decimal(below) if int(below) else Decimal(0)), Decimal(0)
    digits = body.replace(" ", "").replace("'", "")
    # A comma is a decimal point after grouping points, as in 1.234,56, or if it does not stand before three digits.
    if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(",") == 1 and len(digits) - digits.index(",") != 4 and "." not in digits:
        digits = digits.replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    return value, Decimal(1).scaleb(int(value.as_tuple().exponent))


def _suffix(text: str, at: int) -> tuple[Decimal | None, bool, frozenset[str], int]:
    """Read the words of a unit after a number.

    Args:
        text: the text in which the number was found.
        at: index after the last digit of the number.

    Returns:
        What the words multiply the number by, None without such words; whether the unit measures a share; the ISO codes
        that its currency may stand for; and the index after the last of the words.
    """
    scale: Decimal | None = None
    share, currencies = False, frozenset[str]()
    if power := POWER.match(text, at):
        scale, at = Decimal(1).scaleb(int(power[1])), power.end()
    # "million of US dollars" has four words.
    for _ in range(4):
        match = TOKEN.match(text, at)
        if match is None:
            break
        word = match[1].casefold()
        if word in PERCENT and scale is None:
            scale, share = PERCENT[word], True
        elif word in SCALES and not share:
            scale = (scale or 1) * SCALES[word]
        elif word in CURRENCIES and not currencies:
            currencies = CURRENCIES[word]
        elif word not in {"of", "us"} or scale is None:
            break
        at = match.end()
    return scale, share, currencies, at


def _dash(text: str, at: int, before: NumberMention | None) -> bool:
    """Whether the minus before a number is a dash: it follows a number or a letter, or has a space on both sides.

    Args:
        text: the text in which the number was found.
        at: index of the minus, which is not the first character.
        before: the number before; None if there is none.
    """
    previous = text[at - 1]
    if before is not None and not text[before.end : at].strip():
        return True
    return (
        (previous.isascii() and previous.isalnum())
        or (previous == " " and text[at + 1 : at + 2] == " ")
        or previous in ")%"
    )


def _joined(text: str, first: NumberMention, second: NumberMention) -> NumberMention | None:
    """Two numbers that are one, as 12亿 and 3400万; None if they are not."""
    if first.end != second.start or first.scale is None or second.scale is None or first.share or second.share:
        return None
    if not (second.scale < first.scale and text[second.start].isdigit() and not text[first.end - 1].isascii()):
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
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        is_chinese = pattern is CHINESE
        read = (chinese if is_chinese else english)(match["body"])
        if read is None or not match["body"]:
            continue
        value, place = read
        scale, share, currencies, end = _suffix(text, match.end())
        if is_chinese and match["share"]:
            scale, share = Decimal("0.01") if match["share"] == "百分之" else Decimal("0.001"), True
        begin, rest = text[max(0, match.start() - 48) : match.start()], text[end : end + 16]
        direction = _direction(begin, rest)
        mention = NumberMention(
            match.start(),
            end,
            -value if match["minus"] else value,
            place,
            scale,
            share,
            currencies,
            bool(BOUND.search(begin) or BOUND_AFTER.match(rest)),
            0 if match["minus"] else direction,
        )
        # A single Chinese numeral such as 千 is no such word.
        alone = len(match["body"]) == 1 if is_chinese else value < 11 and " " not in match["body"]
        (small if alone and scale is None and place <= 1 else result).append(mention)
    return result or ([] if mentions else small)


def _ranges(text: str, mentions: list[NumberMention]) -> list[NumberMention]:
    """Mark both ends of each range as loose, in the list itself, and return it."""
    for index in range(1, len(mentions)):
        first, second = mentions[index - 1], mentions[index]
        gap = text[first.end : second.start]
        if len(gap) > 12:
            continue
        between = AND.match(gap) and BETWEEN.search(text[max(0, first.start - 48) : first.start])
        signed = text[second.start : second.start + 3].startswith(("±", "+/-"))
        dash = not gap.strip() and text[second.start] == "-"
        # "Rose from 5 to 6" states two values, and no range.
        moved = first.direction or MOVED.search(text[max(0, first.start - 32) : first.start])
        if between or dash or signed or (RANGE.fullmatch(gap) and not moved):
            mentions[index - 1], mentions[index] = first._replace(loose=True), second._replace(loose=True)
    return mentions


def _blanked(text: str, mentions: list[DateMention]) -> str:
    """A text with spaces in the place of the dates."""
    for mention in mentions:
        text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text
