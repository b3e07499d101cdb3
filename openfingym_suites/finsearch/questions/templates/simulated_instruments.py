"""The simulated instruments: what questions call them and how their figures are asked for, to draw questions from."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import CHINA, GLOBAL, AskedValue, Draft, Draw

BOTH = (GLOBAL, CHINA)
STOCKS, INDICES, METALS = "equities", "indices", "commodities and futures"
BONDS, FX, ACTIONS = "fixed income", "foreign exchange", "disclosure and corporate actions"
TRADED = "One exchange gives one price, as traded and never adjusted: rounding alone may differ."
COMPUTED = "Computed from prices that may be rounded before: half a unit of the last asked place more than rounding."
IN_RANGE = "Sources of a regional index differ by when they look: anything between the low and the high of the day."
QUOTED = "Quotes of banks differ: the low and the high of the day, widened by a buffer."
SUFFIXES = ("(simulated)", "（模拟）", "(模拟)")
"""Marks of simulated instruments in their names, which no question repeats."""
SPOTS = ("USDCNY-ONSHORE", "USDCNH-OFFSHORE", "USDHKD-SPOT")
"""Spot exchange rates of the yuan and the Hong Kong dollar."""
FIELDS = {
    "open": ("opening price", "开盘价"),
    "high": ("intraday high", "最高价"),
    "low": ("intraday low", "最低价"),
    "close": ("closing price", "收盘价"),
    "volume": ("trading volume", "成交量"),
}
"""Figures of a bar, with what questions call them in English and Chinese."""


def _clean(name: str) -> str:
    """A name as a person would say it: without what marks it as simulated, or as a spot rate."""
    for suffix in SUFFIXES:
        name = name.replace(suffix, "")
    return name.strip().removesuffix(", spot").removesuffix(", offshore spot").removesuffix(", onshore spot")


def names_of(row: dict[str, Any]) -> tuple[str, str]:
    """The English and the Chinese name of an instrument; the English one twice where it has no other."""
    english = _clean(row["name"])
    return english, _clean(row["name_zh"] or "") or english


def draft(rows: list[dict[str, Any]], text: str, as_of: str, program: Any, params: dict[str, Any],
          asks: tuple[AskedValue, ...], alternatives: dict[str, Any], *, why: str = TRADED,
          table: bool = False) -> Draft:  # fmt: skip
    """A draft of a question on simulated instruments, whose rows are given."""
    names = tuple(name for row in rows for name in (row["symbol"], *names_of(row)))
    return Draft(text, as_of, program, params, asks, alternatives, names, ("bars (simulated)",), why, table, real=False)


def draw_share(d: Draw) -> dict[str, Any]:
    """A share of the subset that has not been delisted."""
    china = d.subset == CHINA
    rows = [row for row in d.world.instruments("stock") if row["symbol"].endswith(".US") != china]
    return d.one([row for row in rows if row["delisted"] is None])


def mention(d: Draw, row: dict[str, Any]) -> str:
    """What a text calls an instrument: by name and symbol, or in English now and then by its symbol alone."""
    english, chinese = names_of(row)
    return d.say(
        d.one([f"{english} ({row['symbol']})", f"{english} ({row['symbol']})", row["symbol"]]),
        d.one([f"{chinese}（{row['symbol']}）", f"{row['symbol']} {chinese}"]),
    )


def session_days(d: Draw, row: dict[str, Any]) -> list[str]:
    """Days of the sessions of an instrument, oldest first."""
    return [day for day, _ in d.world.closes(row["symbol"])]


def currency_names(row: dict[str, Any]) -> tuple[str, str]:
    """The currency of an instrument, as its code and in Chinese."""
    return row["currency"], {"CNY": "元", "HKD": "港元", "USD": "美元"}.get(row["currency"], row["currency"])


def draw_field(d: Draw, row: dict[str, Any]) -> tuple[str, str, AskedValue, dict[str, Any]]:
    """How a figure of a bar is asked for: in words, its unit in words, as an asked value, and as parameters."""
    # The close and the open are asked for twice as often as other figures.
    field = d.one([*FIELDS, "close", "open"])
    words = d.say(*FIELDS[field])
    if field == "volume":
        scale, unit, unit_words = (1e4, "万", "万股") if d.zh else (1e6, "million", "million shares")
        return words, unit_words, AskedValue("volume", unit=unit, decimals=2), {"field": field, "scale": scale}
    currency, chinese = currency_names(row)
    return words, d.say(currency, chinese), AskedValue(field, unit=currency, decimals=2), {"field": field}


def draw_index(d: Draw) -> dict[str, Any]:
    """One of the indices of the subset."""
    mine = ("SHC.IDX", "HK60.IDX") if d.subset == CHINA else ("C500.IDX", "TEN.IDX")
    return d.one([row for row in d.world.instruments("index") if row["symbol"] in mine])


def draw_commodity(d: Draw) -> dict[str, Any]:
    """One of the commodities: gold, silver or crude oil."""
    return d.one(d.world.instruments("commodity"))


def draw_dual_listing(d: Draw) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rows of the A share and the H share of a company that has both."""
    rows = d.world.instruments("stock")
    lines = [
        (a_row, h_row)
        for a_row in rows
        for h_row in rows
        if a_row["company"] == h_row["company"]
        and a_row["symbol"][-2:] in ("SH", "SZ")
        and h_row["symbol"].endswith("HK")
    ]
    return d.one(lines)
