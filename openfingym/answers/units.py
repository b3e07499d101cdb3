"""Units in words, such as ``million USD``: their scale, their currency, and whether they measure a share."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

SCALES = MappingProxyType(
    {
        word: Decimal(size)
        for size, words in {
            "1E2": "hundred 百",
            "1E3": "thousand thousands k 千 仟",
            "1E4": "万 萬",
            "1E6": "million millions mn mln mm m 百万 百萬",
            "1E7": "千万 千萬 crore",
            "1E5": "lakh 十万 十萬",
            "1E8": "亿 億",
            "1E9": "billion billions bn bln b 十亿 十億",
            "1E10": "百亿 百億",
            "1E12": "trillion trillions tn trn t 万亿 萬億 兆",
        }.items()
        for word in words.split()
    }
)
"""What a number is multiplied by, for each scale word in lower case."""
PERCENT = MappingProxyType(
    {
        "%": Decimal("0.01"),
        "％": Decimal("0.01"),
        "percent": Decimal("0.01"),
        "per cent": Decimal("0.01"),
        "pct": Decimal("0.01"),
        "percentage point": Decimal("0.01"),
        "percentage points": Decimal("0.01"),
        "pp": Decimal("0.01"),
        "ppt": Decimal("0.01"),
        "ppts": Decimal("0.01"),
        "个百分点": Decimal("0.01"),
        "個百分點": Decimal("0.01"),
        "百分点": Decimal("0.01"),
        "bp": Decimal("0.0001"),
        "bps": Decimal("0.0001"),
        "basis point": Decimal("0.0001"),
        "basis points": Decimal("0.0001"),
        "个基点": Decimal("0.0001"),
        "基点": Decimal("0.0001"),
        "‰": Decimal("0.001"),
    }
)
"""What a number is multiplied by, for each word or sign of a share: 0.01 for per cent, 0.0001 for basis points."""
_DOLLARS = frozenset({"USD", "HKD", "TWD", "AUD", "CAD", "SGD", "NZD"})
_YUAN = frozenset({"CNY"})
CURRENCIES = MappingProxyType(
    {
        word: codes
        for codes, words in (
            (_DOLLARS, "$ dollar dollars"),
            (frozenset({"USD"}), "usd us$ u.s.$ 美元 美金"),
            (frozenset({"HKD"}), "hkd hk$ 港元 港币 港幣"),
            (frozenset({"TWD"}), "twd nt$ ntd 新台币 新臺幣 台币"),
            (frozenset({"AUD"}), "aud a$ 澳元"),
            (frozenset({"CAD"}), "cad c$ 加元"),
            (frozenset({"SGD"}), "sgd s$ 新加坡元"),
            (frozenset({"NZD"}), "nzd nz$"),
            (_YUAN, "cny rmb yuan renminbi 元 人民币 人民幣 元人民币"),
            (frozenset({"CNH"}), "cnh 离岸人民币 離岸人民幣"),
            (frozenset({"CNY", "JPY"}), "¥ ￥"),
            (frozenset({"JPY"}), "jpy yen 日元 日圆 日圓"),
            (frozenset({"EUR"}), "€ eur euro euros 欧元 歐元"),
            (frozenset({"GBP"}), "£ gbp pound pounds 英镑 英鎊"),
            (frozenset({"CHF"}), "chf 瑞郎 瑞士法郎"),
            (frozenset({"INR"}), "₹ inr rupee rupees 卢比"),
            (frozenset({"KRW"}), "₩ krw won 韩元"),
            (frozenset({"RUB"}), "₽ rub rouble ruble roubles rubles 卢布"),
            (frozenset({"BRL"}), "brl r$"),
            (frozenset({"SEK"}), "sek"),
            (frozenset({"NOK"}), "nok"),
            (frozenset({"DKK"}), "dkk"),
            (frozenset({"MXN"}), "mxn"),
            (frozenset({"ZAR"}), "zar"),
            (frozenset({"TRY"}), "₺"),
        )
        for word in words.split()
    }
)
"""The ISO codes that each sign or word in lower case may stand for: ``$`` any dollar, ``¥`` yuan or yen."""
_WORD = re.compile(r"[a-z]+\$|[a-z.]+|[$€£¥￥₹₩₽₺%％‰]|[一-鿿]+", re.IGNORECASE)
# The longer ones come first, since of several alternatives the first that fits is taken.
_CHINESE_SCALE = re.compile(
    r"(万亿|萬億|千万|千萬|百万|百萬|十万|十萬|十亿|十億"
    r"|百亿|百億|万|萬|亿|億|千|百|兆)"
)


@dataclass(frozen=True)
class Unit:
    """The unit of a number."""

    scale: Decimal
    """How many of the basic unit one of this unit is: 1,000,000 for million USD, 0.01 for %."""
    share: bool
    """Whether the unit measures a share: per cent, percentage points, basis points."""
    currencies: frozenset[str]
    """ISO codes of the currencies that the unit may be in; empty if it is not money, or if its words name currencies
    that exclude each other, as ``USD to CNY`` does."""


@functools.lru_cache(maxsize=4096)
def unit_of(text: str | None) -> Unit:
    """Read the words of a unit, such as ``million USD``, ``%``, ``亿元`` or ``USD per ounce``.

    Args:
        text: the words; those that are not known are ignored. None or an empty text is the basic unit without a
            currency.
    """
    lowered = (text or "").strip().casefold()
    # Names of several words, such as "basis points", are known as a whole only.
    if lowered in PERCENT:
        return Unit(PERCENT[lowered], True, frozenset())
    scale, share = Decimal(1), False
    currencies: list[frozenset[str]] = []
    # What stands below the line says what the number is per, not what it is in: USD per ounce is USD.
    for word in _WORD.findall(lowered.split(" per ")[0].split("/")[0]):
        if word in PERCENT:
            scale, share = PERCENT[word], True
        # In a unit, unlike beside a number, a single letter is no scale: "m" is metres, and "t" tonnes.
        elif word in SCALES and (len(word) > 1 or not word.isascii()):
            scale *= SCALES[word]
        elif word in CURRENCIES:
            currencies.append(CURRENCIES[word])
        # Chinese has no spaces between scale and currency, as in 亿美元.
        elif not word.isascii():
            rest = word
            if match := _CHINESE_SCALE.match(word):
                scale, rest = scale * SCALES[match[1]], word[match.end() :]
            if rest in CURRENCIES:
                currencies.append(CURRENCIES[rest])
    # A sign that stands for several currencies is settled by a word beside it: "$" and "usd" together are USD.
    return Unit(scale, share, frozenset.intersection(*currencies) if currencies else frozenset())
