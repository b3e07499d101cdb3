"""Finding dates in a text, in English and in Chinese: days, months, quarters, half years and years."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

DateDoubt = Literal["", "bound", "vague"]
"""Why a date is no answer by itself: it is a bound, as in "before 2024-03-15", or another date may be meant, as by "two
days after 2024-03-15" or "4-8 March 2024"; empty for a date as it stands."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NTH = r"(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)[0-9]{2}"
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "一": 1, "二": 2, "三": 3, "四": 4}
# The first letter of a group's name says what it is: y a year, m a month, d a day, q a quarter, h a half year, c a
# compact date, a and b day and month in either order; the number tells groups of the alternatives apart.
DATES = re.compile(
    rf"(?<![A-Za-z0-9.,$])(?:"
    rf"(?P<y1>{_YEAR})(?P<s1>[-/.])(?P<m1>[0-9]{{1,2}})(?P=s1)(?P<d1>[0-9]{{1,2}})(?![0-9])(?:T[0-9:.]+Z?)?"
    rf"|(?P<y2>{_YEAR})\s*年\s*(?:度)?(?:(?P<m2>[0-9]{{1,2}})\s*月份?(?:\s*(?P<d2>[0-9]{{1,2}})\s*[日号])?"
    rf"|第?(?P<q2>[一二三四1-4])季度?|Q(?P<q6>[1-4])|(?P<h2>[上下])半年)?"
    rf"|(?P<m3>{_MONTH})\s*(?P<d3>[0-9]{{1,2}}){_NTH}(?:,\s*|\s+)(?P<y3>{_YEAR})(?![0-9])"
    rf"|(?P<d4>[0-9]{{1,2}}){_NTH}(?:\s+of)?[\s-]+(?P<m4>{_MONTH}),?[\s-]*(?P<y4>{_YEAR})(?![0-9])"
    rf"|(?P<m5>{_MONTH}),?\s*(?:of\s+)?(?P<y5>{_YEAR})(?![0-9])"
    rf"|(?P<a>[0-9]{{1,2}})(?P<s6>[/.-])(?P<b>[0-9]{{1,2}})(?P=s6)(?P<y6>{_YEAR})(?![0-9])"
    rf"|Q(?P<q3>[1-4])\s*(?:of\s+)?[-/' ]?\s*(?:FY|fiscal(?: year)?)?\s*(?P<y7>{_YEAR})(?![0-9])"
    rf"|(?:FY)?(?P<y8>{_YEAR})\s*[-/]?\s*Q(?P<q4>[1-4])\b"
    rf"|(?P<q5>first|second|third"
    rf"|fourth)[\s-]+(?:fiscal\s+)?quarter(?:\s+of)?(?:\s+fiscal)?(?:\s+year)?\s+(?P<y9>{_YEAR})(?![0-9])"
    rf"|H(?P<h1>[12])\s*(?:of\s+)?-?\s*(?P<y10>{_YEAR})(?![0-9])|(?P<y11>{_YEAR})\s*-?\s*H(?P<h3>[12])\b"
    rf"|(?P<y12>{_YEAR})-(?P<m12>0[1-9]|1[0-2])(?![0-9-])"
    rf"|(?P<c>{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]))(?![0-9.,])"
    rf"|(?P<m13>{_MONTH})\s*(?P<d13>[0-9]{{1,2}}){_NTH}(?![0-9.,]*[0-9%])"
    rf"|(?P<m14>(?<![0-9])[0-9]{{1,2}})\s*月\s*(?P<d14>[0-9]{{1,2}})\s*[日号]"
    rf"|(?:FY\s*'?|fiscal\s+(?:year\s+)?)(?P<y13>{_YEAR}|[0-9]{{2}}\b)"
    rf")",
    re.IGNORECASE,
)
_PIECE = rf"(?:[0-9]{{1,2}}{_NTH}|Q[1-4]|H[12]|first|second|third|fourth|{_MONTH})"
_SEPARATED = r"\s*(?:-|–|—|~|/|&|,|\b(?:to|through|thru|until|till|and|or)\b)\s*"
_FILLER = (
    r"(?:\s|:|,|\(|\b(?:the|a|or|on|in|at|of|about|around|end|start|beginning|middle|close of"
    r"|date|day|year|month|quarter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b)*"
)
"""What may stand between a word of a bound and its date."""
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:before|after|since|until|till|til|by|through|up to|prior to|ahead of|past|beyond|preceding|following"
    r"|(?:no|not) (?:later|earlier|sooner|before|after) than|(?:earlier|later|sooner) than|not (?:before|after|until)"
    r"|no later|as (?:early|late) as|(?:starting|beginning|effective|onwards?)(?: from)?|latest by"
    r"|on or (?:before|after))\b"
    rf"|[<>≤≥]=?|早于|晚于|先于|迟于|直至|直到|止于|始于|自从|自(?!己)|至|到){_FILLER}$",
    re.IGNORECASE,
)
"""Words before a date that make it a bound, such as "before" or "no later than"."""
_BOUND_AFTER = re.compile(
    r"[\s,]*\(?(?:(?:or|and|&|/)\s*"
    r"(?:earlier|later|before|after|sooner|beyond|prior|since|onwards?|thereafter|following)"
    r"|onwards?|at the (?:latest|earliest)|at (?:latest|earliest)"
    r"|(?:to|until|till|through|-|–|—)\s*(?:date|present|now|today)"
    r"|\+(?![0-9])"
    r"|(?:或|及|和)?(?:之前|以前|之后|以后|前(?![后十五三]|收)|后(?!复权)|起|开?始|为?止|以来|迄今|至今))",
    re.IGNORECASE,
)
"""Words after a date that make it a bound, such as "or earlier"."""
_VAGUE_BEFORE = re.compile(
    r"(?:\b(?:around|about|approximately|approx\.?|circa|roughly|near(?:ly)?|close to"
    r"|(?<!starting )(?<!beginning )(?<!effective )from"
    r"|weeks? (?:of|ending)|fortnight of"
    r"|(?:days?|weeks?|months?|years?|quarters?|sessions?|hours?) (?:before|after|prior to|following|from|preceding)"
    rf"|(?:in|on) or (?:about|around))\b|~|大约|大概|约|截至|截止|(?<!自)从){_FILLER}$"
    rf"|(?<![0-9.,A-Za-z/-]){_PIECE}{_SEPARATED}$",
    re.IGNORECASE,
)
"""What makes a date another one than it says, or one of several: an offset, "around", the other end of a range."""
_VAGUE_AFTER = re.compile(
    r"[\s,]*\(?(?:or so|or thereabouts|or (?:around|about)|-?ish\b|plus or minus|\+/-|±"
    r"|前后|左右|上下|(?:的)?(?:前|次|第二|后)(?:一|二|两|几)?(?:个)?(?:交易)?[天日]|当周|那周)"
    rf"|(?:-|–|—|~|/|\s*\b(?:to|through|thru|until|till|or)\b|\s*(?:至|到|或|和|;))\s*(?:{_PIECE}(?![0-9.,%])"
    r"|(?:第)?[一二三四](?:季|至|到)|[上下]半年|[0-9]{1,2}\s*[月日号]|(?:19|20)?[0-9]{2}(?![0-9.,%/年-]))"
    rf"|\s+[-–—~]\s+(?:[0-9]{{1,2}}{_NTH}(?![0-9.,%])|{_MONTH})",
    re.IGNORECASE,
)
YEARS = re.compile(rf"(?<![A-Za-z0-9.,$€£¥+-]){_YEAR}(?![0-9%]|[.,][0-9]|\s*(?:%|万|亿|million|billion))")


class DateMention(NamedTuple):
    """A place in a text that states a date."""

    start: int
    """Index of the first character of the place."""
    end: int
    """Index after the last character of the place."""
    readings: tuple[str, ...]
    """The dates that it may mean, as references state them: ``2024-03-15``, ``2024-03``, ``2024-Q1``, ``2024-H1``,
    ``2024``, or ``--03-15`` without a year. There are two if day and month may be in either order."""


def dates_of(text: str) -> list[DateMention]:
    """Every date in a text, except years that stand alone."""
    return [
        DateMention(match.start(), match.end(), readings)
        for match in DATES.finditer(text)
        if (readings := _read(match))
    ]


def years_of(text: str) -> Iterator[DateMention]:
    """Every number in a text that may be a year, from 1900 to 2099."""
    for match in YEARS.finditer(text):
        yield DateMention(match.start(), match.end(), (match[0],))


def doubt(text: str, mention: DateMention) -> DateDoubt:
    """What the words around a date make of it."""
    # The words around it, as far as the patterns reach.
    begin, rest = text[max(0, mention.start - 40) : mention.start], text[mention.end : mention.end + 24]
    if _VAGUE_BEFORE.search(begin) or _VAGUE_AFTER.match(rest):
        return "vague"
    return "bound" if _BOUND_BEFORE.search(begin) or _BOUND_AFTER.match(rest) else ""


def _read(match: re.Match[str]) -> tuple[str, ...]:
    """The dates that a match of :data:`DATES` may mean; none if it only looks like a date, as 2024-13-40 does."""
    groups = {key: value for key, value in match.groupdict().items() if value is not None}
    if "c" in groups:
        digits = groups["c"]
        return _days((digits[:4], digits[4:6], digits[6:]))
    # 03/04/2024 is in March in America, and in April elsewhere; 12/12/2024 is one day either way.
    if "a" in groups:
        first, second, year = groups["a"], groups["b"], groups["y6"]
        return tuple(dict.fromkeys(_days((year, first, second), (year, second, first))))
    values = {key[0]: value for key, value in groups.items()}
    year, month, day = values.get("y", ""), values.get("m", ""), values.get("d", "")
    # Two digits, as in FY24.
    if len(year) == 2:
        year = f"20{year}"
    number = month if month.isdigit() else str(_MONTHS.index(month[:3].casefold()) + 1) if month else ""
    if not year:
        return (f"--{int(number):02d}-{int(day):02d}",) if 1 <= int(number) <= 12 else ()
    if day:
        return _days((year, number, day))
    if month:
        return (f"{year}-{int(number):02d}",) if 1 <= int(number) <= 12 else ()
    if "q" in values:
        quarter = values["q"].casefold()
        return (f"{year}-Q{_QUARTERS.get(quarter) or quarter}",)
    if "h" in values:
        return (f"{year}-H{ {'上': 1, '下': 2}.get(values['h'], values['h']) }",)
    return (year,)


def _days(*candidates: tuple[str, str, str]) -> tuple[str, ...]:
    """Those of the candidates, each a year, a month and a day, that are in the calendar, in ISO form."""
    days = []
    for year, month, day in candidates:
        try:
            days.append(date(int(year), int(month), int(day)).isoformat())
        except ValueError:
            continue
    return tuple(days)
