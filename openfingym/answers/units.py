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
            "1E1": "십",
            "12": "dozen dozens",
            "1E2": "hundred hundreds 百 백",
            "1E3": "thousand thousands k 千 仟 천 ths tsd tausend tys тыс тысяч тысяча тысячи ribu nghìn ngàn",
            "1E4": "万 萬 만",
            "1E6": "million millions mn mln mio mm m 百万 百萬 백만 millionen millones millón milioni milione milhões "
            "milhão miljoen miljon miljoner millioner milion milionów milyon juta triệu млн миллион "
            "миллиона миллионов",
            "1E7": "千万 千萬 crore crores 천만 करोड़",
            "1E5": "lakh lakhs lac lacs 十万 十萬 십만 लाख",
            "1E8": "亿 億 억",
            "1E9": "billion billions bn bln bil bill b 十亿 十億 십억 mrd mrds mld mldr mdr md mds milliard milliards "
            "milliarde milliarden milliarder miljard miljarder miliard miliardów miliardi miliardo bilhões "
            "bilhão milyar miliar tỷ млрд миллиард миллиарда миллиардов",
            "1E10": "百亿 百億 백억",
            "1E11": "千亿 千億 천억",
            "1E12": "trillion trillions tn trn tril trill trln t 万亿 萬億 兆 조 billionen billones bilioni trilhões "
            "trilhão trilyon triliun трлн триллион триллиона триллионов",
        }.items()
        for word in words.split()
    }
)
"""What a number is multiplied by, for each scale word in lower case.

Words that mean different scales to different readers are none of them: ``mil`` is a thousand in Spanish and a million
elsewhere, ``tr`` a million in Vietnamese, and ``bi`` a billion in Brazil."""
PERCENT = MappingProxyType(
    {
        "%": Decimal("0.01"),
        "％": Decimal("0.01"),
        "percent": Decimal("0.01"),
        "per cent": Decimal("0.01"),
        "pct": Decimal("0.01"),
        "prozent": Decimal("0.01"),
        "процентов": Decimal("0.01"),
        "퍼센트": Decimal("0.01"),
        "パーセント": Decimal("0.01"),
        "percentage point": Decimal("0.01"),
        "percentage points": Decimal("0.01"),
        "pp": Decimal("0.01"),
        "ppt": Decimal("0.01"),
        "ppts": Decimal("0.01"),
        "%-points": Decimal("0.01"),
        "%-point": Decimal("0.01"),
        "% points": Decimal("0.01"),
        "percent points": Decimal("0.01"),
        "퍼센트포인트": Decimal("0.01"),
        "%p": Decimal("0.01"),
        "个百分点": Decimal("0.01"),
        "個百分點": Decimal("0.01"),
        "百分点": Decimal("0.01"),
        "bp": Decimal("0.0001"),
        "bps": Decimal("0.0001"),
        "basis point": Decimal("0.0001"),
        "basis points": Decimal("0.0001"),
        "个基点": Decimal("0.0001"),
        "基点": Decimal("0.0001"),
        "bips": Decimal("0.0001"),
        "个bp": Decimal("0.0001"),
        "베이시스포인트": Decimal("0.0001"),
        "‰": Decimal("0.001"),
        "‱": Decimal("0.0001"),
    }
)
"""What a number is multiplied by, for each word or sign of a share: 0.01 for per cent, 0.0001 for basis points."""
_DOLLARS = frozenset({"USD", "HKD", "TWD", "AUD", "CAD", "SGD", "NZD"})
_YUAN = frozenset({"CNY"})
_KRONER = frozenset({"SEK", "NOK", "DKK", "ISK"})
_RUPEES = frozenset({"INR", "PKR", "LKR", "NPR"})
_OTHERS = (
    "aed ars bdt bgn bhd clp cop czk egp huf idr ils jod kes kwd kzt lkr mad mop myr ngn npr omr pen php pkr pln "
    "qar ron rsd sar thb tnd try uah uyu vnd xaf xau zmw btc eth usdt "
)
CURRENCIES = MappingProxyType(
    {word: frozenset({word.upper()}) for word in _OTHERS.split()}
    | {
        word: codes
        for codes, words in (
            (_DOLLARS, "$ dollar dollars dólares dollari доллар доллара долларов ドル"),
            (frozenset({"USD"}), "usd us$ u.s.$ us-dollar us-dollars 美元 美金 달러 米ドル डॉलर"),
            (frozenset({"HKD"}), "hkd hk$ 港元 港币 港幣"),
            (frozenset({"TWD"}), "twd nt$ ntd 新台币 新臺幣 台币"),
            (frozenset({"AUD"}), "aud a$ au$ 澳元"),
            (frozenset({"CAD"}), "cad c$ ca$ 加元"),
            (frozenset({"SGD"}), "sgd s$ 新加坡元"),
            (frozenset({"NZD"}), "nzd nz$ 新西兰元"),
            (_YUAN, "cny rmb yuan renminbi 元 人民币 人民幣 元人民币 위안"),
            (frozenset({"CNH"}), "cnh 离岸人民币 離岸人民幣"),
            (frozenset({"CNY", "JPY"}), "¥ ￥"),
            (frozenset({"JPY"}), "jpy yen 日元 日圆 日圓 円 엔"),
            (frozenset({"EUR"}), "€ eur euro euros 欧元 歐元 유로 евро ユーロ"),
            (frozenset({"GBP"}), "£ gbp pound pounds sterling 英镑 英鎊 파운드 ポンド"),
            (frozenset({"CHF"}), "chf sfr 瑞郎 瑞士法郎"),
            (frozenset({"INR"}), "₹ inr 印度卢比 रुपये"),
            (_RUPEES, "rupee rupees rs 卢比"),
            (frozenset({"KRW"}), "₩ krw won 韩元 원"),
            (frozenset({"RUB"}), "₽ rub rouble ruble roubles rubles 卢布 руб рубль рубля рублей"),
            (frozenset({"BRL"}), "brl r$ reais"),
            (frozenset({"SEK"}), "sek 瑞典克朗"),
            (frozenset({"NOK"}), "nok 挪威克朗"),
            (frozenset({"DKK"}), "dkk 丹麦克朗"),
            (_KRONER, "kr krona kronor krone kroner 克朗"),
            (frozenset({"MXN"}), "mxn 墨西哥比索"),
            (frozenset({"ZAR"}), "zar rand 兰特"),
            (frozenset({"TRY"}), "₺ try tl 里拉"),
            (frozenset({"PLN"}), "zł złoty złotych"),
            (frozenset({"ILS"}), "₪"),
            (frozenset({"PHP"}), "₱"),
            (frozenset({"VND"}), "₫ đồng"),
            (frozenset({"UAH"}), "₴"),
            (frozenset({"NGN"}), "₦"),
            (frozenset({"THB"}), "฿ baht"),
            (frozenset({"CZK"}), "kč"),
            (frozenset({"IDR"}), "rp rupiah"),
            (frozenset({"MYR"}), "rm ringgit"),
            (frozenset({"BTC"}), "₿ bitcoin bitcoins"),
        )
        for word in words.split()
    }
)
"""The ISO codes that each sign or word in lower case may stand for: ``$`` any dollar, ``¥`` yuan or yen."""
_WORD = re.compile(r"[a-z]+\$|[a-z.]+|[$€£¥￥₹₩₽₺₪₱₫₴₦฿₿%％‰]|[一-鿿]+|[가-힣]+|[^\W\d_]+", re.IGNORECASE)
# The longer ones come first, since of several alternatives the first that fits is taken.
_CHINESE_SCALE = re.compile(
    r"(万亿|萬億|千万|千萬|百万|百萬|十万|十萬|十亿|十億"
    r"|百亿|百億|千亿|千億|万|萬|亿|億|千|百|兆|조|천억|백억|십억|억|천만|백만|십만|만|천)"
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
    for found in _WORD.findall(lowered.split(" per ")[0].split("/")[0]):
        word = found.rstrip(".")
        if word in PERCENT:
            scale, share = PERCENT[word], True
        # In a unit, unlike beside a number, a single letter is no scale: "m" is metres, and "t" tonnes.
        elif word in SCALES and (len(word) > 1 or not word.isascii()):
            scale *= SCALES[word]
        # Chinese has no spaces between scale and currency, as in 亿美元.
        else:
            rest = word
            if match := _CHINESE_SCALE.match(word):
                scale, rest = scale * SCALES[match[1]], word[match.end() :]
            if rest in CURRENCIES:
                currencies.append(CURRENCIES[rest])
    # A sign that stands for several currencies is settled by a word beside it: "$" and "usd" together are USD.
    return Unit(scale, share, frozenset.intersection(*currencies) if currencies else frozenset())
