"""Reading numbers that are written in Chinese numerals or in English words."""

from __future__ import annotations

import math
import re
from decimal import Decimal

# The second forms are those of cheques and contracts, which cannot be altered by a stroke.
_WRITTEN = ("零〇", "一壹", "二两贰兩", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
_DIGITS = {char: value for value, chars in enumerate(_WRITTEN) for char in chars}
_TENS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_DIGIT = "".join(_DIGITS)
DIGIT = re.compile(f"[{_DIGIT}]")
"""A Chinese digit, unlike a numeral for a power of ten."""
CHINESE = re.compile(
    rf"(?P<minus>负|負)?(?P<share>百分之|千分之)?(?P<body>"
    rf"[{_DIGIT}十拾百佰千仟][{_DIGIT}十拾百佰千仟万萬亿億兆]*(?:点[{_DIGIT}]+[万萬亿億兆]*)?)"
)
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_DECADES = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_VALUES = {word: value for value, word in enumerate(_ONES)} | _DECADES
LONGEST_NUMBER = 100
"""Most Chinese numerals of one number; Python reads no more than some thousand digits."""
NAMED = frozenset(_VALUES)
"""English words for numbers below a hundred, one of which is in every number in words."""
_NAMED = "|".join(sorted(_VALUES, key=len, reverse=True))
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ENGLISH = re.compile(
    rf"\b(?P<minus>minus |negative )?(?P<body>(?:{_NAMED})"
    rf"(?:[ -]+(?:and[ -]+)?(?:hundred|thousand|million|billion|trillion|{_NAMED}))*"
    rf"(?: point(?: (?:{'|'.join(_ONES[:10])}))+(?: (?:thousand|million|billion|trillion))?)?)\b",
    re.IGNORECASE,
)


def chinese(body: str) -> tuple[Decimal, Decimal] | None:
    """Read a number in Chinese numerals such as ``一百二十三点四亿``.

    Args:
        body: the group ``body`` of a match of :data:`CHINESE`.

    Returns:
        The number, and the size of one unit in its last place; None if the numerals are not one number.
    """
    whole, _, rest = body.partition("点")
    if len(body) > LONGEST_NUMBER:
        return None
    places = "".join(char for char in rest if char in _DIGITS)
    after = [_MYRIADS[char] for char in rest[len(places) :]]
    if all(char in _DIGITS for char in whole):
        # Digits one after the other, as in 二〇二四.
        number, last = int("".join(str(_DIGITS[char]) for char in whole)), 1
    else:
        read = _whole(whole)
        if read is None:
            return None
        number, last = read
    if not rest:
        return Decimal(number), Decimal(last)
    scale = Decimal(math.prod(after))
    digits = "".join(str(_DIGITS[char]) for char in places)
    return Decimal(f"{number}.{digits}") * scale, Decimal(1).scaleb(-len(digits)) * scale


def english(body: str) -> tuple[Decimal, Decimal] | None:
    """Read a number in English words such as ``sixty-two point five seven million``.

    Args:
        body: the group ``body`` of a match of :data:`ENGLISH`.

    Returns:
        The number, and the size of one unit in its last place; None if the words are not one number, as in
        ``two three``.
    """
    whole, _, rest = body.casefold().replace("-", " ").partition(" point ")
    # `total` is what the large words have closed, `current` what is being added up before the next of them.
    total, current, last, below = 0, 0, 1, math.inf
    previous = ""
    for word in whole.split():
        if word == "and":
            continue
        if word in _LARGE:
            # Large words only fall: "two thousand three million" are two numbers. Each has a number of its own.
            if _LARGE[word] >= below or previous in _LARGE:
                return None
            total, current, below, last = total + current * _LARGE[word], 0, _LARGE[word], _LARGE[word]
        elif word == "hundred":
            if previous not in _VALUES:
                return None
            current, last = current * 100, 100
        else:
            value = _VALUES[word]
            # "two three" and "sixty seventeen" are two numbers, not one.
            if previous in _VALUES and not (previous in _DECADES and 0 < value < 10):
                return None
            current, last = current + value, 1
        previous = word
    words = rest.split()
    digits = "".join(str(_VALUES[word]) for word in words if word in _VALUES)
    scale = next((Decimal(_LARGE[word]) for word in words if word in _LARGE), Decimal(1))
    if not digits:
        return Decimal(total + current), Decimal(last)
    return Decimal(f"{total + current}.{digits}") * scale, Decimal(1).scaleb(-len(digits)) * scale


def _whole(text: str) -> tuple[int, int] | None:
    """Read a whole number in Chinese numerals, as :func:`chinese` does; None if they are two numbers."""
    # A section is a number below 10,000: digits, each before its power of ten; 万 and 亿 close it.
    total, section, digit, last, smallest, ten = 0, 0, None, 1, math.inf, math.inf
    for char in text:
        if char in _DIGITS:
            # A zero only fills a gap, as in 一百零五.
            if digit:
                return None
            digit, last = _DIGITS[char], 1
        elif char in _TENS:
            # Powers of ten only fall: 五十六十 are two numbers.
            if _TENS[char] >= ten:
                return None
            ten = _TENS[char]
            # Without a digit before it, 十 is ten.
            section, digit, last = section + (1 if digit is None else digit) * _TENS[char], None, _TENS[char]
        else:
            size = _MYRIADS[char]
            # A larger word multiplies all that was before it: 一万亿 is 10,000 times 亿. A smaller one needs digits.
            if size == smallest or (size < smallest and digit is None and not section):
                return None
            section += digit or 0
            total = (total + section) * size if size > smallest else total + section * size
            section, digit, last, smallest, ten = 0, None, size, size, math.inf
    return total + section + (digit or 0), last
