"""Currency pairs that are asked about: the ECB's reference rates, and crosses of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from openfingym.suites.finsearch.questions.drawing import CHINA, GLOBAL, Draw

CURRENCIES = {
    "USD": ("US dollar", "美元", ()),
    "EUR": ("euro", "欧元", (("EURUSD", 1),)),
    "GBP": ("pound sterling", "英镑", (("GBPUSD", 1),)),
    "AUD": ("Australian dollar", "澳元", (("AUDUSD", 1),)),
    "NZD": ("New Zealand dollar", "新西兰元", (("NZDUSD", 1),)),
    "CNY": ("yuan (CNY)", "人民币", (("USDCNY", -1),)),
    "HKD": ("Hong Kong dollar", "港元", (("USDHKD", -1),)),
    "JPY": ("Japanese yen", "日元", (("USDJPY", -1),)),
    "CHF": ("Swiss franc", "瑞士法郎", (("USDCHF", -1),)),
    "CAD": ("Canadian dollar", "加元", (("USDCAD", -1),)),
    "SGD": ("Singapore dollar", "新加坡元", (("USDSGD", -1),)),
    "KRW": ("South Korean won", "韩元", (("USDKRW", -1),)),
    "INR": ("Indian rupee", "印度卢比", (("USDINR", -1),)),
    "MXN": ("Mexican peso", "墨西哥比索", (("USDMXN", -1),)),
    "NOK": ("Norwegian krone", "挪威克朗", (("USDNOK", -1),)),
    "SEK": ("Swedish krona", "瑞典克朗", (("USDSEK", -1),)),
    "TRY": ("Turkish lira", "土耳其里拉", (("USDTRY", -1),)),
    "ZAR": ("South African rand", "南非兰特", (("USDZAR", -1),)),
}
"""English and Chinese name by code, and the legs that give its price in US dollars."""
_PAIRS = {
    GLOBAL: "EURUSD GBPUSD AUDUSD NZDUSD USDCAD USDCHF USDJPY USDINR USDKRW USDMXN USDNOK USDSEK USDSGD USDTRY USDZAR "
    "EURGBP EURJPY EURCHF GBPJPY EURSEK EURNOK GBPCHF CADJPY CHFJPY EURCAD",
    CHINA: "USDCNY EURCNY HKDCNY GBPCNY JPYCNY AUDCNY SGDCNY CHFCNY CADCNY NZDCNY CNYKRW CNYINR CNYTRY CNYZAR "
    "USDHKD EURHKD GBPHKD CNYHKD AUDHKD SGDHKD JPYHKD CNYMXN CNYNOK CNYSEK",
}


class Pair(NamedTuple):
    """A pair: how many of the quote currency one of the base is worth."""

    base: str
    quote: str
    amount: float
    """How many of the base: 100 for those of which one is worth little."""

    @property
    def code(self) -> str:
        """As it is written: EUR/USD."""
        return f"{self.base}/{self.quote}"

    @property
    def legs(self) -> list[list[Any]]:
        """The reference rates whose product it is, each to a power of 1 or -1."""
        one: list[list[Any]] = [list(leg) for leg in CURRENCIES[self.base][2]]
        return [*one, *([symbol, -power] for symbol, power in CURRENCIES[self.quote][2])]

    def words(self, d: Draw) -> str:
        """In words, with the amount if it is not 1."""
        if d.zh:
            times = "" if self.amount == 1 else f"每{self.amount:g}"
            return f"{times}{CURRENCIES[self.base][1]}兑{CURRENCIES[self.quote][1]}（{self.code}）"
        return self.code if self.amount == 1 else f"{self.code} (per {self.amount:g} {self.base})"

    @property
    def names(self) -> tuple[str, ...]:
        """What may be called by in a text."""
        found = (self.code, self.base, self.quote)
        return (*found, *(name for code in (self.base, self.quote) for name in CURRENCIES[code][:2]))


def pair_of(d: Draw) -> Pair:
    """A pair of the subset."""
    code = d.one(_PAIRS[d.subset].split())
    return Pair(code[:3], code[3:], 100.0 if code[:3] in ("JPY", "KRW", "INR") else 1.0)


def pairs_of(d: Draw, count: int, quote: str) -> list[Pair]:
    """Several pairs with one quote currency, for comparisons."""
    codes = [code for code in CURRENCIES if code not in (quote, "AUD", "TRY")]
    return [Pair(code, quote, 1.0) for code in d.some(codes, count)]
