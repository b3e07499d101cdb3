"""Simulated statistics, most of Greater China: levels with revisions, and rates that follow from them as then known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from openfingym.suites.finsearch.world.calendars import NEW_YORK, SHANGHAI, Hours, sessions
from openfingym.suites.finsearch.world.draws import stream
from openfingym.suites.finsearch.world.paths import Paths
from openfingym.suites.finsearch.world.rates import note_yields
from openfingym.suites.finsearch.world.roster import WorldSize

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_ZONES = {
    "CN": "Asia/Shanghai", "HK": "Asia/Hong_Kong", "TW": "Asia/Taipei", "MO": "Asia/Macau", "US": "America/New_York",
    "RU": "Europe/Moscow", "GB": "Europe/London", "DE": "Europe/Berlin",
}  # fmt: skip


@dataclass(frozen=True)
class Statistic:
    """A statistic, and how its numbers come about.

    Attributes:
        id: name of the series.
        name: in English.
        name_zh: in Chinese.
        units: unit.
        country: code of two letters.
        topic: what it is about.
        form: ``level`` (grows, is revised), ``rate`` (comes back to a mean, is not), or ``change`` of another one.
        start: first value.
        drift: growth a year of a level, or the mean of a rate.
        noise: of a period.
        decimals: of a value.
        lag: days from the end of the period to the release.
        hour: of the release, in the country.
        quarterly: whether it is of quarters.
        revised: noise of the first figure, as a share of the level; 0 for none.
        of: the level that a change is of.
        definition: how it is defined.
    """

    id: str
    name: str
    name_zh: str
    units: str
    country: str
    topic: str
    form: str
    start: float
    drift: float
    noise: float
    decimals: int
    lag: int
    hour: str
    quarterly: bool = False
    revised: float = 0.0
    of: str = ""
    definition: str = ""


def _s(*values: object, **more: object) -> Statistic:
    return Statistic(*values, **more)  # type: ignore[arg-type]


STATISTICS = (
    _s(
        "CN_CPI",
        "China: consumer price index",
        "中国居民消费价格指数",
        "index, 2015 = 100",
        "CN",
        "prices",
        "level",
        88.0,
        0.021,
        0.0035,
        1,
        10,
        "09:30",
    ),
    _s(
        "CN_CPI_YOY",
        "China: consumer prices, change on the year",
        "中国CPI同比",
        "%",
        "CN",
        "prices",
        "change",
        0,
        0,
        0,
        1,
        10,
        "09:30",
        of="CN_CPI",
        definition="from the index as published, 12 months before",
    ),
    _s(
        "CN_CPI_MOM",
        "China: consumer prices, change on the month",
        "中国CPI环比",
        "%",
        "CN",
        "prices",
        "change month",
        0,
        0,
        0,
        1,
        10,
        "09:30",
        of="CN_CPI",
        definition="from the index as published, the month before",
    ),
    _s(
        "CN_PPI_YOY",
        "China: producer prices, change on the year",
        "中国PPI同比",
        "%",
        "CN",
        "prices",
        "rate",
        -3.0,
        1.0,
        0.7,
        1,
        10,
        "09:30",
    ),
    _s(
        "CN_PMI_MFG",
        "China: manufacturing PMI (official)",
        "中国制造业采购经理指数(官方)",
        "index, 50 = no change",
        "CN",
        "activity",
        "rate",
        50.2,
        50.3,
        0.5,
        1,
        0,
        "09:30",
        definition="of the statistics bureau; a private one differs",
    ),
    _s(
        "CN_PMI_MFG_PRIVATE",
        "China: manufacturing PMI (private survey)",
        "中国制造业采购经理指数(民间)",
        "index, 50 = no change",
        "CN",
        "activity",
        "rate",
        50.0,
        50.4,
        0.6,
        1,
        1,
        "09:45",
        definition="of a private survey; the official one differs",
    ),
    _s(
        "CN_RETAIL",
        "China: retail sales of consumer goods",
        "中国社会消费品零售总额",
        "100 million CNY",
        "CN",
        "activity",
        "level",
        10400.0,
        0.085,
        0.02,
        1,
        16,
        "10:00",
        revised=0.004,
    ),
    _s(
        "CN_RETAIL_YOY",
        "China: retail sales, change on the year",
        "中国社会消费品零售总额同比",
        "%",
        "CN",
        "activity",
        "change",
        0,
        0,
        0,
        1,
        16,
        "10:00",
        of="CN_RETAIL",
        definition="from the levels as known at the release",
    ),
    _s(
        "CN_EXPORTS",
        "China: exports of goods",
        "中国出口金额",
        "100 million USD",
        "CN",
        "trade",
        "level",
        1000.0,
        0.06,
        0.03,
        1,
        9,
        "11:00",
        revised=0.003,
    ),
    _s(
        "CN_IMPORTS",
        "China: imports of goods",
        "中国进口金额",
        "100 million USD",
        "CN",
        "trade",
        "level",
        880.0,
        0.055,
        0.03,
        1,
        9,
        "11:00",
        revised=0.003,
    ),
    _s(
        "CN_M2",
        "China: money supply M2",
        "中国货币供应量M2",
        "trillion CNY",
        "CN",
        "money",
        "level",
        49.6,
        0.1,
        0.004,
        2,
        12,
        "16:00",
    ),
    _s(
        "CN_M2_YOY",
        "China: M2, change on the year",
        "中国M2同比",
        "%",
        "CN",
        "money",
        "change",
        0,
        0,
        0,
        1,
        12,
        "16:00",
        of="CN_M2",
    ),
    _s(
        "CN_RESERVES",
        "China: foreign exchange reserves",
        "中国外汇储备",
        "100 million USD",
        "CN",
        "money",
        "level",
        19400.0,
        0.025,
        0.008,
        0,
        7,
        "16:00",
    ),
    _s(
        "CN_GDP",
        "China: gross domestic product, quarter",
        "中国国内生产总值(当季)",
        "100 million CNY",
        "CN",
        "national accounts",
        "level",
        74000.0,
        0.088,
        0.01,
        0,
        17,
        "10:00",
        quarterly=True,
        revised=0.006,
        definition="at current prices, of one quarter; figures of the year to date differ",
    ),
    _s(
        "CN_GDP_YOY",
        "China: gross domestic product at current prices, change on the year",
        "中国名义GDP同比",
        "%",
        "CN",
        "national accounts",
        "change",
        0,
        0,
        0,
        1,
        17,
        "10:00",
        quarterly=True,
        of="CN_GDP",
        definition="at current prices, not in real terms",
    ),
    _s(
        "CN_UNEMP",
        "China: surveyed urban unemployment rate",
        "中国城镇调查失业率",
        "%",
        "CN",
        "labour",
        "rate",
        4.9,
        5.2,
        0.08,
        1,
        16,
        "10:00",
    ),
    _s(
        "CN_LPR1Y",
        "China: loan prime rate, one year",
        "中国一年期LPR",
        "%",
        "CN",
        "rates",
        "steps",
        4.9,
        3.4,
        0.05,
        2,
        -10,
        "09:15",
    ),
    _s(
        "HK_CPI_YOY",
        "Hong Kong: composite consumer prices, change on the year",
        "香港综合消费物价指数同比",
        "%",
        "HK",
        "prices",
        "rate",
        2.4,
        2.3,
        0.35,
        1,
        22,
        "16:30",
    ),
    _s(
        "HK_RETAIL",
        "Hong Kong: value of retail sales",
        "香港零售业总销货价值",
        "million HKD",
        "HK",
        "activity",
        "level",
        22800.0,
        0.022,
        0.04,
        0,
        31,
        "16:30",
        revised=0.005,
    ),
    _s(
        "HK_UNEMP",
        "Hong Kong: unemployment rate, three months",
        "香港失业率",
        "%",
        "HK",
        "labour",
        "rate",
        5.2,
        3.4,
        0.12,
        1,
        18,
        "16:30",
    ),
    _s(
        "HK_RESERVES",
        "Hong Kong: official reserve assets",
        "香港官方外汇储备资产",
        "billion USD",
        "HK",
        "money",
        "level",
        187.0,
        0.05,
        0.008,
        1,
        7,
        "16:30",
    ),
    _s(
        "TW_EXPORTS",
        "Taiwan: exports of goods",
        "台湾出口金额",
        "billion USD",
        "TW",
        "trade",
        "level",
        14.8,
        0.065,
        0.04,
        2,
        8,
        "16:00",
        revised=0.004,
    ),
    _s(
        "TW_CPI_YOY",
        "Taiwan: consumer prices, change on the year",
        "台湾CPI同比",
        "%",
        "TW",
        "prices",
        "rate",
        1.2,
        1.4,
        0.35,
        2,
        6,
        "16:00",
    ),
    _s(
        "MO_GAMING",
        "Macau: gross gaming revenue",
        "澳门博彩毛收入",
        "million MOP",
        "MO",
        "activity",
        "level",
        9500.0,
        0.05,
        0.06,
        0,
        1,
        "12:00",
    ),
    _s(
        "US_HMI",
        "United States: housing market index",
        "美国住房市场指数",
        "index, 50 = as many good as poor",
        "US",
        "activity",
        "rate",
        20.0,
        55.0,
        2.6,
        0,
        -14,
        "10:00",
    ),
    _s(
        "RU_CPI",
        "Russia: consumer price index",
        "俄罗斯消费者价格指数",
        "index, 2015 = 100",
        "RU",
        "prices",
        "level",
        60.0,
        0.065,
        0.004,
        2,
        8,
        "19:00",
    ),
    _s(
        "GB_CPI_YOY",
        "United Kingdom: consumer prices, change on the year",
        "英国CPI同比",
        "%",
        "GB",
        "prices",
        "rate",
        3.0,
        2.4,
        0.25,
        1,
        18,
        "07:00",
    ),
    _s(
        "DE_IFO",
        "Germany: business climate",
        "德国商业景气指数",
        "index, 2015 = 100",
        "DE",
        "activity",
        "rate",
        85.0,
        95.0,
        1.4,
        1,
        -6,
        "10:00",
    ),
)
DAILY = (
    ("CN_CGB10Y", "China: government bond yield, ten years", "中国十年期国债收益率", "%", "CN", 3.3, 4),
    ("CN_CGB1Y", "China: government bond yield, one year", "中国一年期国债收益率", "%", "CN", 2.3, 4),
    ("CN_SHIBOR_ON", "China: interbank offered rate, overnight", "上海银行间同业拆放利率(隔夜)", "%", "CN", 2.0, 3),
    ("HK_HIBOR_3M", "Hong Kong: interbank offered rate, three months", "香港银行同业拆息(三个月)", "%", "HK", 1.9, 5),
    (
        "US_NOTE10Y",
        "United States: yield of the simulated ten-year note",
        "美国十年期模拟国债收益率",
        "%",
        "US",
        3.0,
        2,
    ),
)
SOURCE = "simulated; no office published it"


@dataclass(frozen=True, slots=True)
class Point:
    """A figure as released."""

    series: str
    reference_date: date
    value: float
    release: str
    known_at: datetime


def points(size: WorldSize, seed: int, paths: Paths) -> list[Point]:
    """All figures with their vintages."""
    found: list[Point] = []
    levels: dict[str, list[Point]] = {}
    for statistic in STATISTICS:
        if statistic.form.startswith("change"):
            found += _changes(statistic, levels[statistic.of])
        else:
            own = list(_released(size, seed, statistic))
            levels[statistic.id] = own
            found += own
    balance = list(_balance(levels["CN_EXPORTS"], levels["CN_IMPORTS"]))
    return [*found, *balance, *_daily(size, seed, paths)]


BALANCE = _s("CN_TRADE_BALANCE", "China: balance of trade in goods", "中国贸易差额", "100 million USD", "CN", "trade",
             "difference", 0, 0, 0, 1, 9, "11:00", definition="exports less imports, as known at the release")  # fmt: skip


def _periods(size: WorldSize, *, quarterly: bool) -> list[tuple[date, date]]:
    """First and last day of each period, from a year before the first day."""
    step = 3 if quarterly else 1
    found = []
    for year in range(size.first_day.year - 1, size.last_day.year + 1):
        for month in range(1, 13, step):
            after = date(year + (month + step > 12), (month + step - 1) % 12 + 1, 1)
            found.append((date(year, month, 1), after - timedelta(days=1)))
    return found


def _known(statistic: Statistic, day: date) -> datetime:
    clock = time.fromisoformat(statistic.hour)
    return datetime.combine(day, clock, ZoneInfo(_ZONES[statistic.country])).astimezone(UTC)


def _released(size: WorldSize, seed: int, statistic: Statistic) -> Iterator[Point]:
    periods = _periods(size, quarterly=statistic.quarterly)
    rng = stream(seed, "statistic", statistic.id)
    final = _path(statistic, rng, len(periods))
    errors = statistic.revised * rng.standard_normal((len(periods), 2))
    benchmark = np.exp(0.003 * rng.standard_normal(size.last_day.year - size.first_day.year + 3))
    for place, ((first, last), value) in enumerate(zip(periods, final.tolist(), strict=True)):
        out = last + timedelta(days=statistic.lag)
        given = round(value * float(np.exp(errors[place, 0])), statistic.decimals) + 0.0
        vintages = [(out, given, "first")]
        if statistic.revised:
            given = round(value * float(np.exp(errors[place, 1] / 3)), statistic.decimals)
            vintages.append((out + timedelta(days=92 if statistic.quarterly else 31), given, "revised"))
            # Every year's figures are drawn anew from the census, in the November after it.
            given = round(value * float(benchmark[first.year - size.first_day.year + 1]), statistic.decimals)
            vintages.append((date(first.year + 1, 11, 28), given, "benchmark"))
        for number, (day, shown, release) in enumerate(vintages):
            if day <= size.last_day and (number == 0 or shown != vintages[number - 1][1]):
                yield Point(statistic.id, first, shown, release, _known(statistic, day))


def _path(statistic: Statistic, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    shocks = rng.standard_normal(count)
    a_year = 4 if statistic.quarterly else 12
    if statistic.form == "level":
        season = 1 + statistic.noise * rng.standard_normal(a_year)
        steps = np.cumsum(statistic.drift / a_year + 0.5 * statistic.noise * shocks)
        path: NDArray[np.float64] = statistic.start * np.exp(steps) * season[np.arange(count) % a_year]
        return path
    level, found = statistic.start, np.empty(count)
    for place, shock in enumerate(shocks.tolist()):
        if statistic.form == "steps":
            move = -statistic.noise if level > statistic.drift and shock > 1.1 else 0.0
            level = round(level + move, 2)
        else:
            level += 0.08 * (statistic.drift - level) + statistic.noise * shock
        found[place] = level
    return found


def _changes(statistic: Statistic, levels: list[Point]) -> Iterator[Point]:
    """Changes of a level that follow from its figures as known at the release; they are not revised."""
    first = {point.reference_date: point for point in levels if point.release == "first"}
    by_day: dict[date, list[Point]] = {}
    for point in levels:
        by_day.setdefault(point.reference_date, []).append(point)
    for day, point in first.items():
        if statistic.form == "change month":
            before = (day - timedelta(days=1)).replace(day=1)
        else:
            before = day.replace(year=day.year - 1)
        known = [each for each in by_day.get(before, ()) if each.known_at <= point.known_at]
        if known:
            base = max(known, key=lambda each: each.known_at).value
            value = round((point.value / base - 1) * 100, statistic.decimals) + 0.0
            yield Point(statistic.id, day, value, "first", _known(statistic, point.known_at.date()))


def _balance(exports: list[Point], imports: list[Point]) -> Iterator[Point]:
    """Exports less imports, anew whenever either is."""
    both: dict[date, list[tuple[datetime, int, Point]]] = {}
    for side, points_of in enumerate((exports, imports)):
        for point in points_of:
            both.setdefault(point.reference_date, []).append((point.known_at, side, point))
    for day, given in both.items():
        latest: dict[int, float] = {}
        for place, (known_at, side, point) in enumerate(sorted(given, key=lambda each: each[:2])):
            latest[side] = point.value
            later = [each for each in given if each[0] == known_at and each[1] > side]
            if len(latest) == 2 and not later:  # both sides
                value = round(latest[0] - latest[1], 1) + 0.0
                yield Point(BALANCE.id, day, value, point.release if place > 1 else "first", known_at)


def _daily(size: WorldSize, seed: int, paths: Paths) -> Iterator[Point]:
    notes = note_yields(seed, paths)
    for series, _, _, _, country, mean, decimals in DAILY:
        hours: Hours = NEW_YORK if country == "US" else SHANGHAI
        times = sessions(hours, size.first_day, size.last_day)
        shocks = stream(seed, "daily", series).standard_normal(len(times.days)) * (0.12 if "SHIBOR" in series else 0.03)
        level, values = mean, []
        for shock in shocks.tolist():
            level = max(level + 0.004 * (mean - level) + shock, 0.05)
            values.append(round(level, decimals))
        if series == "US_NOTE10Y":
            values = [round(value, 2) for value in notes[paths.at(times.days)].tolist()]
        known = (times.close_at + timedelta(hours=2)).to_pydatetime()
        for day, value, at in zip(times.days, values, known, strict=True):
            yield Point(series, day.date(), value, "first", at)


def info(found: list[Point]) -> pd.DataFrame:
    """What each simulated series is, known with its first value."""
    import pandas as pd

    first: dict[str, datetime] = {}
    for point in found:
        first[point.series] = min(first.get(point.series, point.known_at), point.known_at)
    rows: list[dict[str, object]] = []
    for one in (*STATISTICS, BALANCE):
        frequency = "quarterly" if one.quarterly else "monthly"
        adjustment = "" if one.form in {"rate", "steps"} else "not seasonally adjusted"
        rows.append(_row(one.id, one.name, one.name_zh, one.units, frequency, one.country, one.topic,
                         adjustment, one.definition))  # fmt: skip
    for series, name, name_zh, units, country, _, _ in DAILY:
        rows.append(_row(series, name, name_zh, units, "daily", country, "rates", "", "at the close"))
    return pd.DataFrame([{**row, "known_at": first[str(row["series"])]} for row in rows if row["series"] in first])


def _row(
    series: str, name: str, name_zh: str, units: str, frequency: str, country: str, topic: str, adjustment: str,
    definition: str,
) -> dict[str, object]:  # fmt: skip
    return {
        "series": series, "name": f"{name} (simulated)", "name_zh": f"{name_zh}(模拟)", "units": units,
        "frequency": frequency, "adjustment": adjustment, "country": country, "topic": topic,
        "definition": definition, "source": SOURCE, "held_in": "series", "dataset": "", "channel": series,
        "simulated": True,
    }  # fmt: skip
