"""Currency pairs that questions are about: the ECB's reference rates, and cross rates computed from them."""

from __future__ import annotations

from typing import Any, NamedTuple

from openfingym_suites.finsearch.questions.drawing import CHINA, GLOBAL, Draw

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
"""English and Chinese name of each currency by its code, and the legs that give its price in US dollars: reference
rates, each to a power of 1 or -1."""
_PAIRS = {
    GLOBAL: "EURUSD GBPUSD AUDUSD NZDUSD USDCAD USDCHF USDJPY USDINR USDKRW USDMXN USDNOK USDSEK USDSGD USDTRY USDZAR "
    "EURGBP EURJPY EURCHF GBPJPY EURSEK EURNOK GBPCHF CADJPY CHFJPY EURCAD",
    CHINA: "USDCNY EURCNY HKDCNY GBPCNY JPYCNY AUDCNY SGDCNY CHFCNY CADCNY NZDCNY CNYKRW CNYINR CNYTRY CNYZAR "
    "USDHKD EURHKD GBPHKD CNYHKD AUDHKD SGDHKD JPYHKD CNYMXN CNYNOK CNYSEK",
}


class CurrencyPair(NamedTuple):
    """A currency pair: how many units of the quote currency an amount of the base currency is worth."""

    base: str
    quote: str
    amount: float
    """Units of the base currency that are priced: 1, or 100 for a currency of which one unit is worth little."""

    @property
    def code(self) -> str:
        """The pair as it is written, such as ``EUR/USD``."""
        return f"{self.base}/{self.quote}"

    @property
    def legs(self) -> list[list[Any]]:
        """The reference rates whose product is the rate of the pair, each with its power, 1 or -1."""
        # The price of the base currency in dollars, over that of the quote currency; the dollar itself has no leg.
        base: list[list[Any]] = [list(leg) for leg in CURRENCIES[self.base][2]]
        return [*base, *([symbol, -power] for symbol, power in CURRENCIES[self.quote][2])]

    def words(self, d: Draw) -> str:
        """The pair in words of the question's language, with the amount if it is not 1."""
        if d.zh:
            times = "" if self.amount == 1 else f"每{self.amount:g}"
            return f"{times}{CURRENCIES[self.base][1]}兑{CURRENCIES[self.quote][1]}（{self.code}）"
        return self.code if self.amount == 1 else f"{self.code} (per {self.amount:g} {self.base})"

    @property
    def names(self) -> tuple[str, ...]:
        """What the pair and its currencies may be called in a text."""
        codes = (self.code, self.base, self.quote)
        return (*codes, *(name for code in (self.base, self.quote) for name in CURRENCIES[code][:2]))


def draw_pair(d: Draw) -> CurrencyPair:
    """One of the pairs of the question's subset."""
    code = d.one(_PAIRS[d.subset].split())
    return CurrencyPair(code[:3], code[3:], 100.0 if code[:3] in ("JPY", "KRW", "INR") else 1.0)


def draw_pairs(d: Draw, count: int, quote: str) -> list[CurrencyPair]:
    """Several pairs with the same quote currency, to be compared."""
    codes = [code for code in CURRENCIES if code not in (quote, "AUD", "TRY")]
    return [CurrencyPair(code, quote, 1.0) for code in d.some(codes, count)]
