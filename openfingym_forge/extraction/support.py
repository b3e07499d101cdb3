"""Whether a quotation says what is claimed: it has the number, in digits or in words, the date, or the name.

The rules are lenient: they keep out values that a model invented or took from elsewhere, and a quotation that they
accept need not say the value of this very field.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import combinations

from openfingym_forge.blueprint import Value
from openfingym_forge.vocabulary import FORMS

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
_ONES += ["seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORDS = {word: number for number, word in enumerate(_ONES)} | {word: 10 * (n + 2) for n, word in enumerate(_TENS)}
FRACTIONS = {
    "half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fourth": 1 / 4, "fifth": 1 / 5, "sixth": 1 / 6, "eighth": 1 / 8,
    "tenth": 1 / 10, "twentieth": 1 / 20,
}  # fmt: skip
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
FACTORS = {
    "day": (1,), "session": (1,), "week": (1, 5, 7), "fortnight": (2, 10, 14), "month": (1, 4, 20, 21, 22, 30),
    "quarter": (1, 3, 12, 13, 63, 65, 66, 90), "year": (1, 4, 12, 52, 250, 252, 260, 365), "hour": (1, 12, 60),
    "decade": (10,),
}  # fmt: skip
"""Rows that a unit of time may stand for, whatever the frequency: a week is one row of weekly data, five of daily data
on trading days, and seven on calendar days."""
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e-?\d+)?")
_WORD = re.compile(r"[a-z]+")
_FRACTION = re.compile(rf"(?:([a-z]+)[\s-]+)?\b({'|'.join(FRACTIONS)})s?\b")
# Words for yes and for no, in lower case.
_TRUTH = {
    "protocol.shuffled": (
        r"shuffl|random|permut",
        (
            r"chronolog|order|time|not shuffl|no shuffl|without shuffl|consecutiv|first|last|earl|lat|final|follow|"
            r"remain|in turn"
        ),
    ),
    "protocol.overlap": (
        r"overlap|stride|share|random|shuffl|slid",
        r"no[nt]?\b|without|disjoint|gap|between|embargo|purg",
    ),
}
# Words that mean a number of one without saying it: "the next day", "a week", "daily".
_SINGLE = re.compile(
    rf"\b(?:a|an|one|single)\b|\b(?:next|following|subsequent|coming)[\s-]+(?!\d)(?!(?:{'|'.join(WORDS)})\b)|"
    r"\b(?:daily|weekly|monthly|yearly|annual|quarterly|hourly)\b"
)
_TOLERANCE = 0.0051
"""Difference of two shares that is rounding: half a percent, and a little for the floats."""


def numbers_in(text: str) -> set[float]:
    """Numbers that a text may say, in digits or in words up to the thousands."""
    lowered = text.lower().replace("−", "-")
    numbers = {float(each.replace(",", "")) for each in _NUMBER.findall(lowered)}
    # Also the parts of what looks like one number, as the ends of 2006-2019 or the cells of a row.
    numbers |= {float(each) for each in re.findall(r"\d+(?:\.\d+)?", lowered)}
    numbers |= {-number for number in numbers}
    # Words are added up while they follow each other: "two hundred and fifty" is 2, 250 and 50.
    total, begun = 0, False
    for word in [*_WORD.findall(lowered), "."]:
        if word in WORDS:
            total, begun = total + WORDS[word], True
            numbers.add(float(WORDS[word]))
        elif word == "hundred":
            total, begun = max(total, 1) * 100, True
        elif word == "thousand":
            total, begun = max(total, 1) * 1000, True
        elif word != "and" and begun:
            numbers.add(float(total))
            total, begun = 0, False
    if _SINGLE.search(lowered):
        numbers.add(1.0)
    return numbers


def shares_in(text: str) -> list[float]:
    """Shares that a text may say: percents, fractions, words for them, and what is left of one or two of them."""
    lowered = text.lower()
    shares = [number / 100 for number in numbers_in(text) if 0 < number <= 100]
    shares += [number for number in numbers_in(text) if 0 < number <= 1]
    for counted, word in re.findall(
        r"(?:([a-z]+)[\s-]+)?(half|third|quarter|fourth|fifth|sixth|eighth|tenth|twentieth)s?\b", lowered
    ):
        shares.append(WORDS.get(counted, 1) * FRACTIONS[word])
    shares += [int(part) / int(whole) for part, whole in re.findall(r"\b(\d+)\s*/\s*(\d+)\b", lowered) if int(whole)]
    # "70 percent train, 15 percent validate" says the share of the test as well. The pairs of a dozen are enough.
    rest = [1 - share for share in shares] + [1 - one - other for one, other in combinations(shares[:12], 2)]
    return [*shares, *(share for share in rest if share > 0)]


def supported(name: str, value: Value, quote: str) -> bool:
    """Whether a quotation says the value of a field.

    Args:
        name: name of the field.
        value: the claimed value, which fits the field.
        quote: words of the paper.
    """
    form = FORMS.get(name)
    lowered = quote.lower()
    if value is None or form is None:
        return True
    if form.type == "choice":
        return re.search(form.words[str(value)], lowered) is not None
    if form.type == "date":
        return isinstance(value, date) and date_said(value, quote) > 0
    if form.type == "truth":
        pattern = _TRUTH.get(name)
        return pattern is None or re.search(pattern[0 if value else 1], lowered) is not None
    if form.type == "share":
        return any(abs(float(str(value)) - share) < _TOLERANCE for share in shares_in(quote))
    if form.type in {"count", "number"}:
        # "Short positions up to the value of the account" is a multiple of one.
        whole = name == "contract.max_short" and re.search(r"value of|wealth|equity|account|capital", lowered)
        return (bool(whole) and value == 1) or _counted(float(str(value)), lowered)
    if isinstance(value, list):
        return all(name_said(str(each), quote) for each in value)
    # Summaries, in words of the model's own.
    if name in {"panel", "description", "data.target", "protocol.resampling"}:
        return True
    return name_said(str(value), quote)


def _counted(value: float, text: str) -> bool:
    """Whether a number is one that a text may mean, in rows, or in another unit than the one it is stated in."""
    numbers = numbers_in(text)
    possible = set(numbers)
    for unit, factors in FACTORS.items():
        if re.search(rf"{unit}(?:s|ly|\b)|{unit}-", text) or (unit == "day" and "daily" in text):
            possible |= {number * factor for number in numbers for factor in factors}
    # A percentage may be wanted as a share, or in basis points.
    if re.search(r"%|percent|per cent|basis", text):
        possible |= {number / 100 for number in numbers} | {number * 100 for number in numbers}
    if re.search(r"\d\s*(?:k\b|thousand)", text):
        possible |= {number * 1e3 for number in numbers}
    if re.search(r"million|\d\s*m\b", text):
        possible |= {number * 1e6 for number in numbers}
    if re.search(r"\b(?:no|not|none|zero|without|free)\b", text):
        possible.add(0.0)
    if value <= 1:
        possible |= set(shares_in(text))
    return any(abs(value - number) <= 1e-6 * max(1.0, abs(value)) for number in possible)


def date_said(value: date, quote: str) -> int:
    """How exactly a quotation says a date: 3 to the day, 2 to the month, 1 to the year, 0 not at all.

    A month says its first and its last day, and a year its first and its last one: a value must be a whole date.
    """
    lowered = quote.lower()
    if value.isoformat() in quote or value.strftime("%Y/%m/%d") in quote or value.strftime("%Y%m%d") in quote:
        return 3
    # Day before month, or month before day.
    if re.search(
        rf"\b(?:{value.day:02d}[./]{value.month:02d}|{value.month:02d}[./]{value.day:02d})[./]{value.year}\b", quote
    ):
        return 3
    month = MONTHS[value.month - 1]
    name = rf"(?:{month}|{month[:3]}\.?|sept\.?)" if month == "september" else rf"(?:{month}|{month[:3]}\.?)"
    day = rf"0?{value.day}(?:st|nd|rd|th)?"
    if re.search(rf"\b{name}\s+{day},?\s+{value.year}\b|\b{day}(?:\s+of)?\s+{name},?\s+{value.year}\b", lowered):
        return 3
    if re.search(rf"\b{name}\s+{day}\b|\b{day}\s+{name}\b", lowered) and str(value.year) in quote:
        return 3
    first, last = value.day == 1, (value + timedelta(days=1)).day == 1
    if (first or last) and (
        re.search(rf"\b{name},?\s+(?:of\s+)?{value.year}\b", lowered)
        or re.search(rf"\b{value.year}-{value.month:02d}\b", quote)
    ):
        return 2
    whole = (value.month, value.day) in {(1, 1), (12, 31)}
    return int(whole and re.search(rf"(?<!\d){value.year}(?!\d)", quote) is not None)


# What papers call the currencies, in lower case.
_CURRENCIES = {
    "eur": "euro", "gbp": "pound|sterling|british", "jpy": "yen|japanese", "chf": "franc|swiss", "cad": "canad",
    "aud": "austral", "nzd": "new zealand|kiwi", "cny": "renminbi|yuan|chinese", "sgd": "singapore",
    "sek": "swed|krona",
    "nok": "norw|krone", "dkk": "dan(?:ish|e)", "usd": "dollar|u\\.?s\\.?", "hkd": "hong kong", "inr": "rupee|indian",
    "mxn": "mexic|peso", "krw": "won|korea", "zar": "rand|south africa", "brl": "real|brazil",
}  # fmt: skip


def name_said(name: str, quote: str) -> bool:
    """Whether a quotation holds a name, however it is spelled: ``eur_usd`` as EUR/USD, ``3m`` as three months."""
    lowered = quote.lower()
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    if bare and bare in re.sub(r"[^a-z0-9]", "", lowered):
        return True
    pair = re.fullmatch(r"([a-z]{3})[_/ -]?([a-z]{3})", name.lower())
    if pair:
        return all(re.search(rf"{code}|{_CURRENCIES.get(code, code)}", lowered) for code in pair.groups())
    tenor = re.fullmatch(r"(\d+)[\s_-]?(m|y|month|year)s?", name.lower())
    if tenor:
        unit = {"m": "month|m\\b", "y": "year|y\\b"}[tenor[2][0]]
        return float(tenor[1]) in numbers_in(quote) and re.search(unit, lowered) is not None
    # Most of the words are enough: papers shorten names, and write their parts in another order.
    words = _WORD.findall(name.lower())
    return bool(words) and sum(word in lowered for word in words) >= 0.6 * len(words)
