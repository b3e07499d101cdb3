"""Numbers in a text with what stands around them: signs, scales, currencies, ranges and bounds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from openfingym.answers.reading.dates import DateMention, dates_of, years_of
from openfingym.answers.reading.words import CHINESE, ENGLISH, NAMED, chinese, english
from openfingym.answers.units import CURRENCIES, PERCENT, SCALES

_BODY = (
    r"[0-9]{2,3}'[0-3][0-9](?:(?:'|\.)?[0-9+])?(?![0-9'])"  # 113'08'5, 113'085, 113'08+: points and 32nds
    r"|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9]|,[0-9])"
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+(?![0-9])"  # 1.234,56
    r"|[0-9]{1,3}(?:[ '][0-9]{3})+(?:\.[0-9]+)?(?![0-9])"
    r"|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?(?![0-9])"  # 12,34,567
    r"|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})(?![0-9,])"  # 62,57
    r"|[0-9]+(?:/|:|-for-| for )[0-9]+(?![0-9/:])"  # a fraction, 4:1, 4-for-1
    r"|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2}(?![0-9]))?"
    r"|\.[0-9]+"
)
_MONEY = (
    r"(?:US|HK|NT|U\.S\.|[ACSR])?\$|[€£¥￥₹₩₽₺]"
    r"|(?:USD|HKD|TWD|CNY|CNH|RMB|EUR|GBP|JPY|CHF|AUD|CAD|SGD|INR|KRW)(?![A-Za-z])"
)
_BODIES = re.compile(_BODY, re.IGNORECASE)
_BEFORE = re.compile(
    rf"(?:(?P<sign>\+/-|±|[+-])\s?)?(?:(?P<money>{_MONEY})\s?)?(?P<bracket>\()?(?P<sign2>[+-])?$",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"(?: ?\(?in |[ -])?(percentage points?|per cent|basis points?|[A-Za-z]+\$|[A-Za-z]+|[%‰$€£¥￥₹₩₽₺]"
    r"|个百分点|個百分點|百分点|个?基点|万亿|萬億|[千百十][万萬亿億]"
    r"|[万萬千百亿億兆]|人民币|美元|美金|港元|港币|日元|欧元|英镑|新台币|元)",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"(?<![0-9:])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![0-9:])|\b(?:10-[KQ]|8-K|20-F|6-K)\b"
    r"|\b(?:S&P|Nasdaq|NDX|CSI|Russell|Nikkei|FTSE|Stoxx|DAX|CAC|KOSPI|Topix|Top|Fortune)[ -]?[0-9]+"
    r"|(?:沪深|中证|上证|科创|恒生)\s?[0-9]+"
    r"|\b(?:pages?|note|item|section|table|step|line|figure|form|rule|q|h|fy)\.? ?[0-9]+(?![0-9]*[.,%][0-9]*)"
    r"|(?:^|\n)[ ]*(?:[0-9]{1,2}[.)]|\([0-9]{1,2}\))[ ]+(?=[^\s])|第?[0-9]+(?:页|季度|月份|条|款)",
    re.IGNORECASE,
)
_NOISY = re.compile(r"[A-Za-z.][ -]?[0-9]|[0-9]:[0-9]|[0-9][.)][ ]|[0-9]-[KQFkqf]|[数深证创生第页份条款]")
"""What there is in a text with noise."""
_BOUND = re.compile(
    r"(?:\b(?:more|less|greater|fewer|higher|lower|larger|smaller) than"
    r"|\b(?:over|under|above|below|exceed(?:s|ed|ing)?|at least|at most|up to|minimum of|maximum of"
    r"|no (?:more|less) than|nearly|almost)|[<>≤≥]=?|超过|高于|大于|低于|小于|不到|不足|至少|至多|最多|最少|近)"
    r"\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"\s*(?:\+(?![0-9])|\(?\s*(?:or|/|或)\s*(?:thousand|million|billion|trillion|percent|%|bps?|basis|千|百万|万|亿"
    r"|per ?cent)"
    r"|or (?:more|less|higher|lower|above|below|so)\b|and (?:above|more|up)\b|以上|以下|左右以|多(?![一-鿿]))",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:down|fell|fall|falls|falling|fallen|drop(?:s|ped|ping)?|declin(?:e|es|ed|ing)|decreas(?:e|es|ed"
    r"|ing)|los[st]"
    r"|loss|loses|slid|sank|shrank|negative|minus)(?: (?:of|by|to the tune of|was|is))?(?: (?:about"
    r"|approximately|around|roughly))?\s*$"
    r"|(?:下跌|下降|跌|减少|降低|亏损|回落|负)了?约?\s*$",
    re.IGNORECASE,
)
_UP = re.compile(
    r"\b(?:up|rose|rise|rises|rising|risen|gain(?:s|ed|ing)?|increas(?:e|es|ed|ing)|grew|grow(?:s|th|n)?"
    r"|climbed|jumped)"
    r"(?: (?:of|by|was|is))?(?: (?:about|approximately|around|roughly))?\s*$"
    r"|(?:上涨|上升|涨|增加|增长|升|回升)了?约?\s*$",
    re.IGNORECASE,
)
_DOWN_AFTER = re.compile(
    r"\s*(?:drop|declin|decreas|fall|loss|lower\b|跌幅|降幅|的?(?:下跌|下降|跌幅|降幅|减少|亏损))", re.IGNORECASE
)
_RANGE = re.compile(r"\s*(?:-|–|—|~|\bto\b|\bthrough\b|至|到|\+/-|±|\.\.\.?|…)\s*$", re.IGNORECASE)
_MOVED = re.compile(
    r"\b(?:rose|fell|up|down|grew|increased|decreased|climbed|dropped|declined|moved|went|changed)\s+from\s*$"
)
_BETWEEN = re.compile(r"\bbetween\b[^.;\n]{0,40}$|介于[^.;\n]{0,20}$", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|&|和|与)\s*$")
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
_SCALED_BEFORE = re.compile(
    r"(?:\bin|\bUSD|\bEUR|\bCNY|\bRMB|\bHKD|\$|单位[:是为]?)\s*"
    r"(thousands?|millions?|billions?|trillions?|mn|bn|tn|万亿|百万|千万|万|亿)"
    r"(?:\s*(?:of\s+)?(?:U\.?S\.?\s*)?(?:dollars|USD|EUR|CNY|RMB|yuan|美元|港元|元))?\s*[):=,]*\s*$",
    re.IGNORECASE,
)
_POWER = re.compile(r"\s?[×x*]\s?10\^\{?([0-9]{1,2})\}?")
_ONE_UNIT = re.compile(r"\s*(?:[A-Za-z$€£¥]{1,4}|[一-鿿]{1,4})\s*(?:=|≈|等于)")


_LETTERS = re.compile(r"[a-z]+")
_PLAIN = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]{1,20})?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,20})?) ?(%?)")
_PLACES = tuple(Decimal(1).scaleb(-places) for places in range(21))
_NONE: frozenset[str] = frozenset()


class NumberMention(NamedTuple):
    """A number in a text."""

    start: int
    end: int
    value: Decimal
    """As it is written, with its sign, without scale and per cent."""
    place: Decimal
    """How large one of its last place is: 0.01 of 62.57; 0 of a fraction."""
    scale: Decimal | None
    """What a word multiplies it by; None without one. Of a share 0.01, of basis points 0.0001."""
    share: bool
    """Whether it is in per cent, percentage points or basis points."""
    currencies: frozenset[str]
    """ISO codes of the currency that stands beside it; none without one."""
    loose: bool
    """Whether it is an end of a range, or a bound: no number that answers."""
    direction: int
    """-1 where words say that something fell by it, 1 where it rose, 0 without such words or with a sign of its own."""


def numbers_of(text: str) -> list[NumberMention]:
    """The numbers in a text; dates, years, times, numbers of a list, and those in names of forms and indices are none,
    years but where there is no other number.
    """
    if plain := _PLAIN.fullmatch(text):
        return [_plain(plain)]
    hidden = text
    if len(text) > 4:
        hidden = _blanked(hidden, dates_of(text)) if _DATED.search(text) else hidden
        hidden = _NOISE.sub(lambda match: " " * len(match[0]), hidden) if _NOISY.search(hidden) else hidden
        without = _blanked(hidden, list(years_of(hidden)))
        if without != hidden and (found := _mentions(without)):
            return found
    return _mentions(hidden)


def _plain(match: re.Match[str]) -> NumberMention:
    """A text that is a number, perhaps in per cent, and nothing else."""
    digits = match[2].replace(",", "")
    whole, _, rest = digits.partition(".")
    value = Decimal(match[1] + whole + "." + rest if rest else match[1] + whole)
    share = match[3] == "%"
    scale = PERCENT["%"] if share else None
    direction = 1 if match[1] == "+" else 0
    return NumberMention(0, match.end(), value, _PLACES[len(rest)], scale, share, _NONE, False, direction)


def _mentions(text: str) -> list[NumberMention]:
    found: list[NumberMention] = []
    for match in _BODIES.finditer(text):
        if found and match.start() < found[-1].end:
            continue  # the power of ten of the one before
        mention = _read(text, match, found[-1] if found else None)
        if mention is None:
            continue
        if found and (joined := _joined(text, found[-1], mention)):
            found[-1] = joined
            continue
        found.append(mention)
    spelled = [] if text.isascii() else _spelled(text, CHINESE, found)
    spelled += _spelled(text, ENGLISH, found)
    if spelled:
        found = sorted([*found, *spelled])
    return found if len(found) < 2 else _ranges(text, found)


def _read(text: str, match: re.Match[str], last: NumberMention | None) -> NumberMention | None:
    body, start, end = match[0], match.start(), match.end()
    before = _before(text, start, 0 if last is None else last.end)
    if before is None or (body == "1" and _ONE_UNIT.match(text, end)):  # the latter as in 1 USD = 7.1905 CNY
        return None
    lead = before.start()
    value, place = _plain_number(body) if body.isdigit() else _number(body)
    sign = before["sign2"] or before["sign"] or ""
    if sign == "-" and before["sign"] == "-" and lead:
        if text[lead - 1].isascii() and text[lead - 1].isalpha():
            return None  # as in GPT-4
        sign = "" if _dash(text, lead, last) else sign
    scale, share, currencies, end = _suffix(text, end)
    if before["bracket"]:
        closed = text[end : end + 1] == ")"
        alone = closed and (not text[: before.start("bracket")].strip(" $") or text[end + 1 : end + 2] == "%")
        if before["money"] or alone:  # accounting: $(62.57), (0.59)%, or nothing but (62.57)
            sign = "-"
        if alone:
            after = _suffix(text, end + 1)
            scale, share, currencies = (after[0] or scale, after[1] or share, after[2] or currencies)
            end = after[3]
    if money := before["money"]:
        currencies = CURRENCIES.get(money.casefold(), _NONE)
    begin, rest = text[max(0, lead - 48) : lead], text[end : end + 16]
    if scale is None and begin and (unit := _SCALED_BEFORE.search(begin)):
        scale = SCALES[unit[1].casefold()]
    bound = bool(begin and _BOUND.search(begin)) or bool(rest and _BOUND_AFTER.match(rest))
    value = -value if sign == "-" else value
    direction = 1 if sign == "+" else 0 if sign else _direction(begin, rest)
    return NumberMention(lead, end, value, place, scale, share, currencies, bound or sign in {"±", "+/-"}, direction)


def _before(text: str, start: int, floor: int) -> re.Match[str] | None:
    """Sign, currency and bracket before a number, from where the last one ended; None where it is part of a word."""
    if start and (previous := text[start - 1]).isascii() and (previous.isalnum() or previous in "_.'"):
        return None
    before = _BEFORE.search(text, max(floor, start - 10), start)
    assert before is not None
    lead, money = before.start(), before["money"]
    if lead and money and money[0].isalpha() and text[lead - 1].isascii() and text[lead - 1].isalpha():
        return _BEFORE.search(text, start, start)  # the end of a word, not a currency
    return before


def _direction(begin: str, rest: str) -> int:
    """-1 where the words around a number say that something fell by it, 1 where it rose."""
    if not begin and not rest:
        return 0
    if _DOWN.search(begin) or _DOWN_AFTER.match(rest):
        return -1
    return 1 if _UP.search(begin) else 0


def _plain_number(body: str) -> tuple[Decimal, Decimal]:
    return Decimal(body), _PLACES[0]


def _number(body: str) -> tuple[Decimal, Decimal]:
    """The value and how large one of its last place is."""
    whole, point, rest = body.partition(".")
    if point and whole.isdigit() and rest.isdigit() and len(rest) <= 20:
        return Decimal(body), _PLACES[len(rest)]
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
    if re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(",") == 1 and len(digits) - digits.index(",") != 4 and "." not in digits:
        digits = digits.replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    return value, Decimal(1).scaleb(int(value.as_tuple().exponent))


def _suffix(text: str, at: int) -> tuple[Decimal | None, bool, frozenset[str], int]:
    """Scale, whether it is a share, currencies, and the end of the words of the unit after a number."""
    scale: Decimal | None = None
    share, currencies = False, frozenset[str]()
    if power := _POWER.match(text, at):
        scale, at = Decimal(1).scaleb(int(power[1])), power.end()
    for _ in range(4):
        match = _TOKEN.match(text, at)
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
    """Whether the minus before a number is a dash: it follows a number, a letter, or a word and is set off."""
    previous = text[at - 1]
    if before is not None and not text[before.end : at].strip():
        return True
    return (
        (previous.isascii() and previous.isalnum())
        or (previous == " " and text[at + 1 : at + 2] == " ")
        or previous in ")%"
    )


def _joined(text: str, first: NumberMention, second: NumberMention) -> NumberMention | None:
    """12亿3400万 as one number."""
    if first.end != second.start or first.scale is None or second.scale is None or first.share or second.share:
        return None
    if not (second.scale < first.scale and text[second.start].isdigit() and not text[first.end - 1].isascii()):
        return None
    value = first.value * first.scale + second.value * second.scale
    return first._replace(
        end=second.end, value=value, place=second.place * second.scale, scale=Decimal(1), currencies=second.currencies
    )


def _spelled(text: str, pattern: re.Pattern[str], found: list[NumberMention]) -> list[NumberMention]:
    """Numbers in words. Those below ten count alone where there is no other number."""
    if pattern is ENGLISH and NAMED.isdisjoint(_LETTERS.findall(text.casefold())):
        return []
    taken = [(mention.start, mention.end) for mention in found]
    result: list[NumberMention] = []
    small: list[NumberMention] = []
    for match in pattern.finditer(text):
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
            bool(_BOUND.search(begin) or _BOUND_AFTER.match(rest)),
            0 if match["minus"] else direction,
        )
        if place > 1 and scale is None:
            scale = Decimal(1)  # its words say how large it is
        alone = len(match["body"]) == 1 if is_chinese else value < 11 and " " not in match["body"]
        (small if alone and scale is None else result).append(mention)
    return result or ([] if found else small)


def _ranges(text: str, found: list[NumberMention]) -> list[NumberMention]:
    """The same, with both ends of each range loose."""
    for index in range(1, len(found)):
        first, second = found[index - 1], found[index]
        gap = text[first.end : second.start]
        if len(gap) > 12:
            continue
        between = _AND.match(gap) and _BETWEEN.search(text[max(0, first.start - 48) : first.start])
        signed = text[second.start : second.start + 3].startswith(("±", "+/-"))
        dash = not gap.strip() and text[second.start] == "-"
        moved = first.direction or _MOVED.search(text[max(0, first.start - 32) : first.start])
        if between or dash or signed or (_RANGE.fullmatch(gap) and not moved):
            found[index - 1], found[index] = first._replace(loose=True), second._replace(loose=True)
    return found


_DATED = re.compile(r"(?:19|20)[0-9]{2}|[A-Za-z]{3} ?[0-9]|[0-9] ?[A-Za-z]{3}|月|FY|[Ff]iscal")
"""What every date has somewhere."""


def _blanked(text: str, found: list[DateMention]) -> str:
    for mention in found:
        text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text
