"""Patterns of numbers in a text, and of the words and signs around them that say what they mean."""

from __future__ import annotations

import re

from openfingym.answers.units import CURRENCIES, PERCENT, SCALES

# Of several alternatives the first that fits is taken, so the forms with more signs come before the plain one.
_BODY = (
    r"[0-9]{2,3}'[0-3][0-9](?:(?:'|\.)?[0-9+])?(?![0-9'])"  # 113'08'5, 113'085, 113'08+: points and 32nds
    r"|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9]|,[0-9])"
    r"|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+(?![0-9])"  # 1.234,56
    r"|[0-9]{1,3}(?:\.[0-9]{3}){2,}(?![0-9]|[.,'][0-9])"  # 1.234.567
    r"|[0-9]{1,3}(?:[ '][0-9]{3})+(?:\.[0-9]+|,[0-9]{1,2}(?![0-9]))?(?![0-9])"
    r"|[0-9]+ [0-9]{1,2}/[0-9]{1,3}(?![0-9/:])"  # 3 1/2
    r"|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?(?![0-9])"  # 12,34,567
    r"|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})(?![0-9,])"  # 62,57
    r"|[0-9]+(?:/|:|-for-| for )[0-9]+(?![0-9/:])"  # a fraction, 4:1, 4-for-1
    r"|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2}(?![0-9]))?"
    r"|\.[0-9]+"
)
"""A number without sign and unit, in any of the forms in which numbers are written."""
_SIGNS = "$€£¥￥₹₩₽₺₪₱₫₴₦฿₿"
_CODES = "|".join(sorted(word.upper() for word in CURRENCIES if word.isascii() and len(word) == 3 and word.isalpha()))
_MONEY = (
    rf"(?:US|HK|NT|NZ|AU|CA|U\.S\.|[ACSR])?\$|[{_SIGNS}]"
    rf"|(?:{_CODES}|euros?|Kč|zł|RM|Rp|Rs|kr)(?![^\W\d_])\.?"
)
BODIES = re.compile(_BODY, re.IGNORECASE)
BEFORE = re.compile(
    rf"(?P<outer>\( ?)?(?:(?P<sign>\+/-|±|[+-])\s?)?(?:(?P<money>{_MONEY})\s?)?(?P<bracket>\( ?)?(?P<sign2>[+-])?$",
    re.IGNORECASE,
)
"""What belongs to a number and stands before it; it fits the empty text too."""


def _longest_first(words: set[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


_FOREIGN = {word for word in {*SCALES, *PERCENT, *CURRENCIES} if not word.isascii()}
# Words of scripts with spaces between words end where no other letter follows; signs and other words, anywhere.
_SPACED = re.compile(r"[À-ʯЀ-ӿऀ-ॿḀ-ỿ]")
_SPACELESS = {word for word in _FOREIGN if not _SPACED.search(word)}
TOKEN = re.compile(
    r"(?:[,;:]? ?[(\[]?in |[ -]? ?[(\[]?)"
    r"(percentage[ -]points?|percent points?|% ?-?points?|%p(?![a-z])|per cent|basis[ -]points?"
    rf"|(?:US|HK|NT|NZ|AU|CA|U\.S\.|[ACSR])\$|u\.?s\.?[ -]dollars?|{_longest_first(_SPACELESS)}"
    rf"|(?:{_longest_first(_FOREIGN - _SPACELESS)})(?![^\W\d_])"
    rf"|[A-Za-z]+(?![^\W\d_](?<![\u3040-\u9fff가-힣]))|[%$])",
    re.IGNORECASE,
)
"""One word of the unit after a number."""
ABBREVIATED = frozenset(
    [
        "mrd",
        "mio",
        "mln",
        "mld",
        "mds",
        "md",
        "mdr",
        "bn",
        "bil",
        "bill",
        "mn",
        "tn",
        "trn",
        "tril",
        "trill",
        "tsd",
        "tys",
        "rs",
        "pct",
        "cr",
        "lac",
        "руб",
        "млн",
        "млрд",
        "трлн",
        "тыс",
    ]
)
"""Words of a unit that are written with a full stop, which ends no sentence."""
NOISE = re.compile(
    r"(?<![0-9:])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9])?(?![0-9:])|\b(?:10-[KQ]|8-K|20-F|6-K)\b"
    r"|\b(?:S&P|Nasdaq|NDX|CSI|Russell|Nikkei|FTSE|Stoxx|DAX|CAC|KOSPI|Topix|Top|Fortune)[ -]?[0-9]+"
    r"|(?:沪深|中证|上证|科创|恒生)\s?[0-9]+"
    r"|\b(?:pages?|note|item|section|table|step|line|figure|form|rule|q|h|fy)\.? ?[0-9]+(?![0-9]*[.,%][0-9]*)"
    r"|(?:^|\n)[ ]*(?:[0-9]{1,2}[.)]|\([0-9]{1,2}\))[ ]+(?=[^\s%])(?!bps?\b|basis|percent|pp)"
    r"|第?(?<![0-9])[0-9]+(?:页|季度|月份|条|款)",
    re.IGNORECASE,
)
"""Digits that are no number of the answer: times, names of forms and indices, pages and sections, numbers of a list."""
CITED = re.compile(r"(?<=[\w%.$€)])(?: ?\[[0-9]{1,2}\])+(?=[\s.,;)]|$)")
"""Numbers of sources, as of "62.57 million [1]"."""
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
RANGE = re.compile(r"\s*(?:-|–|—|~|\bto\b|\bthrough\b|至|到|\+/-|±|\.\.\.?|…)\s*$", re.IGNORECASE)
MOVED = re.compile(
    r"\b(?:rose|fell|up|down|grew|increased|decreased|climbed|dropped|declined|moved|went|changed)\s+from\s*$"
)
BETWEEN = re.compile(r"\bbetween\b[^.;\n]{0,40}$|介于[^.;\n]{0,20}$", re.IGNORECASE)
AND = re.compile(r"\s*(?:and|&|和|与)\s*$")
_SCALE_WORDS = _longest_first(
    {word for word in SCALES if len(word) > 1 or not word.isascii()} - {"百", "千", "十", "仟", "dozen", "12"}
)
_MONEY_WORDS = _longest_first({word for word in CURRENCIES if len(word) > 2 or not word.isascii()})
SCALED_BEFORE = re.compile(
    rf"(?:(?:^|[\s(:,/]|\bin |单位[:是为]? ?)(?P<first>{_MONEY_WORDS})?[ ]?|(?P<sign>[{_SIGNS}]) ?)"
    rf"(?P<scale>(?<=[A-Z] )[kmbt](?![A-Za-z])|(?:{_SCALE_WORDS})(?![A-Za-zÀ-ɏ])|(?<=[{_SIGNS}])[kmbt](?![^\W\d_]))\.?"
    rf"(?:\s*(?:of\s+)?(?:U\.?S\.?\s*)?(?P<money>{_MONEY_WORDS})(?![A-Za-z]))?\s*[\]):=,]*\s*$",
    re.IGNORECASE,
)
"""A scale that is stated before the number, as in "in millions of USD: 62.57" or "$m 62.57"."""
MONEY_BEFORE = re.compile(
    rf"(?:\b(?:in|unit:?)\s|[(\[\n]|^\s*)(?:U\.?S\.?\s*)?(?P<money>{_MONEY_WORDS})\s*[\]):=,]*\s*$", re.IGNORECASE
)
"""A currency that is stated before the number, as in "in euros: 62.57" or "Revenue (EUR): 62.57"."""
STRANGE_UNIT = re.compile(r"\b(?:in|units?:?|单位:?)\s(?:of\s)?([^\W\d_]+)\.?\s*[\])]*\s*[:=]\s*$")
"""A unit that is stated before the number, which may be one that no table knows."""
_LETTER = "A-Za-zÀ-ɏЀ-ӿऀ-ॿ"
STRANGE_CODE = re.compile(
    rf"(?<![A-Za-z.])([A-Z]{{3}}|[A-Za-z]*[a-z][A-Z]{{2,}}) ?$|([{_LETTER}]*[À-ɏЀ-ӿऀ-ॿ][{_LETTER}]*) ?$"
)
"""Three capitals, or letters of another script, right before the number: they may be a currency."""
CUT_OFF = re.compile(rf"(?:{_MONEY}) ?([^\W\d_][^\s\d]*) ?$")
"""A word between a currency and its number."""
STATED_SCALE = re.compile(
    r"\bin (?:[A-Za-z$€£.]+ ){0,2}?(thousands|millions|billions|trillions|crores|lakhs|hundreds|mn|bn|mln"
    r"|bln|mrd|mio)\b"
    rf"|(?:[{_SIGNS}]|\b[A-Z]{{3}}) ?(thousands|millions|billions|trillions)\b|单位[:是为]? ?({_SCALE_WORDS})",
    re.IGNORECASE,
)
"""Words that say in what other numbers of a text are."""
POWER = re.compile(r" ?[×x*·⋅] ?10 ?\^ ?[{(]? ?([+-]?[0-9]{1,2}) ?[)}]?(?![0-9.])")
"""A power of ten behind a number, as in 6.257 × 10^7."""
OWN_POWER = re.compile(r"\^[{(]? ?([+-]?[0-9]{1,2}) ?[)}]?(?![0-9.])")
"""The exponent of a 10."""
ONE_UNIT = re.compile(r"\s*(?:[A-Za-z$€£¥]{1,4}|[一-鿿]{1,4})\s*(?:=|≈|等于)")
"""What follows the 1 of a rate, as in "1 USD = 7.1905 CNY"."""
PLAIN = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]{1,20})?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,20})?) ?(%?)")
SHORT = re.compile(
    r"([+-]?)([$€£¥]?)([0-9]+(?:\.[0-9]{1,20})?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,20})?)"
    r"( ?[A-Za-z%$€£一-鿿][A-Za-z%$€£一-鿿 ]{0,23})?\.?"
)
"""A number and the words of its unit, and nothing else."""
DATED = re.compile(r"(?:19|20)[0-9]{2}|[A-Za-z]{3} ?[0-9]|[0-9] ?[A-Za-z]{3}|月|FY|[Ff]iscal")
"""A cheap test that every text with a date passes."""
