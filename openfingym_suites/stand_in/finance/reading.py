"""What the stand-in reads from a financial question: days, months, currencies, instruments, how to round.

It reads as a hurried analyst does, by the words that usually say it, in English and Chinese. Whatever is worded
otherwise is misread, and answered wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

CURRENCIES = {
    "人民币": "CNY", "美元": "USD", "欧元": "EUR", "港元": "HKD", "日元": "JPY", "英镑": "GBP", "澳元": "AUD", "加元":
    "CAD", "瑞士法郎": "CHF", "新加坡元": "SGD", "韩元": "KRW", "新西兰元": "NZD", "挪威克朗": "NOK", "瑞典克朗": "SEK",
    "墨西哥比索": "MXN", "南非兰特": "ZAR", "土耳其里拉": "TRY", "印度卢比": "INR",
}  # fmt: skip
"""Codes of currencies by their Chinese names."""
_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_EN = "|".join(_MONTHS)
_DATE = re.compile(rf"({_EN}) (\d{{1,2}}), (\d{{4}})|(\d{{4}})年(\d{{1,2}})月(\d{{1,2}})日|(\d{{4}})-(\d\d)-(\d\d)")
_MONTH = re.compile(rf"({_EN}) (\d{{4}})|(\d{{4}})年(\d{{1,2}})月(?!\d)")
_PAIR = re.compile(r"\b([A-Z]{3})/([A-Z]{3})\b")
_SYMBOL = re.compile(r"[A-Z]{4}\.US|\d{6}\.S[HZ]|\d{5}\.HK|[A-Z0-9]+\.IDX|[A-Z]{2}\d{4}\.FUT")
_SHARE = re.compile(r"\b(AAPL|IBM|MSFT|GOOG)\b|\b(Apple|Microsoft|Google)\b|(苹果|微软|谷歌)")
_SHARES = {"Apple": "AAPL", "Microsoft": "MSFT", "Google": "GOOG", "苹果": "AAPL", "微软": "MSFT", "谷歌": "GOOG"}
_FIXING = re.compile(r"central parity|中间价")
_PLACES = {"one": 1, "two": 2, "three": 3, "four": 4, "一": 1, "两": 2, "三": 3, "四": 4, "六": 6}
_ROUNDED = re.compile(r"rounded to (\w+) decimal|保留(\S)位小数")
_WHOLE = re.compile(r"nearest integer|whole number|取整数|整数")
_TENOR = re.compile(r"(\d+)-(year|month)")


def holds(text: str, *words: str) -> bool:
    """Whether a text has one of some words, whatever their case."""
    folded = text.casefold()
    return any(word.casefold() in folded for word in words)


@dataclass(frozen=True)
class ReadQuestion:
    """A question, and what is read from its text."""

    text: str
    as_of: str
    """Time as of which the question is asked; UTC, ISO 8601."""

    @property
    def today(self) -> date:
        """The day on which the question is asked."""
        return date.fromisoformat(self.as_of[:10])

    @cached_property
    def days(self) -> tuple[date, ...]:
        """Days that the question names, in their order."""
        days = []
        for name, day, year, *other in _DATE.findall(self.text):
            parts = (year, _MONTHS.index(name) + 1, day) if name else other[:3] if other[0] else other[3:]
            days.append(date(*map(int, parts)))
        return tuple(days)

    @cached_property
    def months(self) -> tuple[date, ...]:
        """First days of the months that the question names, without those of its days."""
        rest = _DATE.sub(" ", self.text)
        return tuple(
            date(int(year or zh_year), _MONTHS.index(name) + 1 if name else int(zh_month), 1)
            for name, year, zh_year, zh_month in _MONTH.findall(rest)
        )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of currencies such as EUR/USD, each once."""
        return tuple(dict.fromkeys(_PAIR.findall(self.text)))

    @property
    def tenors(self) -> tuple[str, ...]:
        """Terms of bonds such as 10Y."""
        return tuple(f"{count}{unit[0].upper()}" for count, unit in _TENOR.findall(self.text))

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Symbols of the instruments that the question names, in their order, each once."""
        symbols = _SYMBOL.findall(self.text)
        symbols += [code or _SHARES[name or zh] for code, name, zh in _SHARE.findall(self.text)]
        return tuple(dict.fromkeys(symbols or self._named))

    @property
    def _named(self) -> list[str]:
        """Symbols of commodities and exchange rates that the question calls by their names."""
        text = self.text
        for words, symbol in (
            (("gold", "伦敦金"), "XAUUSD-LONDON"),
            (("silver", "伦敦银"), "XAGUSD-LONDON"),
            (("crude", "原油"), "CRUDE-SPOT"),
        ):
            if holds(text, *words):
                return [symbol]
        # The renminbi has three rates against the dollar: the fixing, the one traded onshore and the one offshore. A
        # question about two of them asks for the first less the second.
        symbols = []
        if _FIXING.search(text):
            names = {"美元": "USD", "欧元": "EUR", "港元": "HKD", "日元": "JPY", "英镑": "GBP"}
            base = next((code for name, code in names.items() if f"{name}兑人民币中间价" in text), None)
            base = base or next((pair[0] for pair in self.pairs), "USD")
            symbols.append(f"{base}CNY-FIXING")
        if holds(text, "USD/CNH", "离岸人民币"):
            symbols.insert(0, "USDCNH-OFFSHORE")
        elif holds(text, "在岸人民币") or (holds(text, "USD/CNY") and not symbols):
            symbols.insert(0, "USDCNY-ONSHORE")
        elif holds(text, "USD/HKD", "美元兑港元"):
            symbols.insert(0, "USDHKD-SPOT")
        if symbols == ["USDCNH-OFFSHORE"] and holds(text, "above USD/CNY"):
            symbols.append("USDCNY-ONSHORE")
        return symbols

    @property
    def field(self) -> str:
        """The figure of a bar that is asked for: ``open``, ``high``, ``low``, ``volume`` or ``close``."""
        for words, name in (
            (("opening", "opened", "开盘"), "open"),
            (("intraday high", "最高价"), "high"),
            (("intraday low", "最低价"), "low"),
            (("volume", "shares", "成交量"), "volume"),
        ):
            if holds(self.text, *words):
                return name
        return "close"

    @property
    def decimals(self) -> int | None:
        """Decimals of the answer; None where nothing is said."""
        if _WHOLE.search(self.text):
            return 0
        match = _ROUNDED.search(self.text)
        return _PLACES.get(match[1] or match[2]) if match else None

    def shown(self, value: float) -> str:
        """A number with as many decimals as are asked for."""
        return repr(value) if self.decimals is None else f"{value:.{self.decimals}f}"

    def before(self, days: int) -> str:
        """The day so many days before the question's (ISO 8601)."""
        return str(self.today - timedelta(days=days))


def month_end(month: date) -> date:
    """The last day of a month."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1) - timedelta(days=1)
