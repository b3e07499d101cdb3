"""Patterns of numbers in a text, and of the words and signs around them that say what they mean."""

from __future__ import annotations

import re

# Of several alternatives the first that fits is taken, so the forms with more signs come before the plain one.
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
"""A number without sign and unit, in any of the forms in which numbers are written."""
_MONEY = (
    r"(?:US|HK|NT|U\.S\.|[ACSR])?\$|[€£¥￥₹₩₽₺]"
    r"|(?:USD|HKD|TWD|CNY|CNH|RMB|EUR|GBP|JPY|CHF|AUD|CAD|SGD|INR|KRW)(?![A-Za-z])"
)
BODIES = re.compile(_BODY, re.IGNORECASE)
BEFORE = re.compile(
    rf"(?:(?P<sign>\+/-|±|[+-])\s?)?(?:(?P<money>{_MONEY})\s?)?(?P<bracket>\()?(?P<sign2>[+-])?$",
    re.IGNORECASE,
)
"""What belongs to a number and stands before it; it fits the empty text too."""
TOKEN = re.compile(
    r"(?: ?\(?in |[ -])?(percentage points?|per cent|basis points?|[A-Za-z]+\$|[A-Za-z]+|[%‰$€£¥￥₹₩₽₺]"
    r"|个百分点|個百分點|百分点|个?基点|万亿|萬億|[千百十][万萬亿億]"
    r"|[万萬千百亿億兆]|人民币|美元|美金|港元|港币|日元|欧元|英镑|新台币|元)",
    re.IGNORECASE,
)
"""One word of the unit after a number."""
NOISE = re.compile(
    r"(?<![0-9:])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![0-9:])|\b(?:10-[KQ]|8-K|20-F|6-K)\b"
    r"|\b(?:S&P|Nasdaq|NDX|CSI|Russell|Nikkei|FTSE|Stoxx|DAX|CAC|KOSPI|Topix|Top|Fortune)[ -]?[0-9]+"
    r"|(?:沪深|中证|上证|科创|恒生)\s?[0-9]+"
    r"|\b(?:pages?|note|item|section|table|step|line|figure|form|rule|q|h|fy)\.? ?[0-9]+(?![0-9]*[.,%][0-9]*)"
    r"|(?:^|\n)[ ]*(?:[0-9]{1,2}[.)]|\([0-9]{1,2}\))[ ]+(?=[^\s])|第?[0-9]+(?:页|季度|月份|条|款)",
    re.IGNORECASE,
)
"""Digits that are no number of the answer: times, names of forms and indices, pages and sections, numbers of a list."""
NOISY = re.compile(r"[A-Za-z.][ -]?[0-9]|[0-9]:[0-9]|[0-9][.)][ ]|[0-9]-[KQFkqf]|[数深证创生第页份条款]")
"""A cheap test that every text with such digits passes."""
BOUND = re.compile(
    r"(?:\b(?:more|less|greater|fewer|higher|lower|larger|smaller) than"
    r"|\b(?:over|under|above|below|exceed(?:s|ed|ing)?|at least|at most|up to|minimum of|maximum of"
    r"|no (?:more|less) than|nearly|almost)|[<>≤≥]=?"
    r"|超过|高于|大于|低于|小于|不到|不足|至少|至多|最多|最少|近)"
    r"\s*$",
    re.IGNORECASE,
)
"""Words before a number that make it a bound, such as "more than"."""
BOUND_AFTER = re.compile(
    r"\s*(?:\+(?![0-9])|\(?\s*(?:or|/|或)\s*(?:thousand|million|billion|trillion|percent|%|bps?|basis"
    r"|千|百万|万|亿|per ?cent)"
    r"|or (?:more|less|higher|lower|above|below|so)\b|and (?:above|more|up)\b"
    r"|以上|以下|左右以|多(?![一-鿿]))",
    re.IGNORECASE,
)
"""Words after a number that make it a bound, such as "or more", or leave its unit open, such as "or billion"."""
DOWN = re.compile(
    r"\b(?:down|fell|fall|falls|falling|fallen|drop(?:s|ped|ping)?|declin(?:e|es|ed|ing)|decreas(?:e|es|ed"
    r"|ing)|los[st]"
    r"|loss|loses|slid|sank|shrank|negative|minus)(?: (?:of|by|to the tune of|was|is))?(?: (?:about"
    r"|approximately|around|roughly))?\s*$"
    r"|(?:下跌|下降|跌|减少|降低|亏损|回落|负)了?约?\s*$",
    re.IGNORECASE,
)
UP = re.compile(
    r"\b(?:up|rose|rise|rises|rising|risen|gain(?:s|ed|ing)?|increas(?:e|es|ed|ing)|grew|grow(?:s|th|n)?"
    r"|climbed|jumped)"
    r"(?: (?:of|by|was|is))?(?: (?:about|approximately|around|roughly))?\s*$"
    r"|(?:上涨|上升|涨|增加|增长|升|回升)了?约?\s*$",
    re.IGNORECASE,
)
DOWN_AFTER = re.compile(
    r"\s*(?:drop|declin|decreas|fall|loss|lower\b"
    r"|跌幅|降幅|的?(?:下跌|下降|跌幅|降幅|减少|亏损))",
    re.IGNORECASE,
)
RANGE = re.compile(r"\s*(?:-|–|—|~|\bto\b|\bthrough\b|至|到|\+/-|±|\.\.\.?|…)\s*$", re.IGNORECASE)
MOVED = re.compile(
    r"\b(?:rose|fell|up|down|grew|increased|decreased|climbed|dropped|declined|moved|went|changed)\s+from\s*$"
)
BETWEEN = re.compile(r"\bbetween\b[^.;\n]{0,40}$|介于[^.;\n]{0,20}$", re.IGNORECASE)
AND = re.compile(r"\s*(?:and|&|和|与)\s*$")
SCALED_BEFORE = re.compile(
    r"(?:\bin|\bUSD|\bEUR|\bCNY|\bRMB|\bHKD|\$|单位[:是为]?)\s*"
    r"(thousands?|millions?|billions?|trillions?|mn|bn|tn|万亿|百万|千万|万|亿)"
    r"(?:\s*(?:of\s+)?(?:U\.?S\.?\s*)?(?:dollars|USD|EUR|CNY|RMB|yuan|美元|港元|元))?\s*[):=,]*\s*$",
    re.IGNORECASE,
)
"""A scale that is stated before the number, as in "in millions of USD: 62.57"."""
POWER = re.compile(r"\s?[×x*]\s?10\^\{?([0-9]{1,2})\}?")
ONE_UNIT = re.compile(r"\s*(?:[A-Za-z$€£¥]{1,4}|[一-鿿]{1,4})\s*(?:=|≈|等于)")
"""What follows the 1 of a rate, as in "1 USD = 7.1905 CNY"."""
PLAIN = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]{1,20})?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,20})?) ?(%?)")
DATED = re.compile(r"(?:19|20)[0-9]{2}|[A-Za-z]{3} ?[0-9]|[0-9] ?[A-Za-z]{3}|月|FY|[Ff]iscal")
"""A cheap test that every text with a date passes."""
