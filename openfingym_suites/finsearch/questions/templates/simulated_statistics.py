"""Questions on simulated statistics, most of Greater China."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import CHINA, GLOBAL, AskedValue, Draft, Draw, SkipError, template
from openfingym_suites.finsearch.questions.programs import official
from openfingym_suites.finsearch.questions.templates.simulated_companies import FILED
from openfingym_suites.finsearch.questions.templates.simulated_instruments import BOTH

MACRO = "macroeconomy"
STATISTICS = {
    CHINA: {
        "CN_CPI_YOY": ("China's CPI, change on the year", "中国CPI同比涨幅", "%", 1),
        "CN_PPI_YOY": ("China's PPI, change on the year", "中国PPI同比涨幅", "%", 1),
        "CN_PMI_MFG": ("China's official manufacturing PMI", "中国官方制造业PMI", None, 1),
        "CN_M2_YOY": ("China's M2, change on the year", "中国M2同比增速", "%", 1),
        "CN_RETAIL_YOY": ("China's retail sales, change on the year", "中国社会消费品零售总额同比增速", "%", 1),
        "CN_UNEMP": ("China's surveyed urban unemployment rate", "中国城镇调查失业率", "%", 1),
        "HK_CPI_YOY": ("Hong Kong's composite CPI, change on the year", "香港综合消费物价指数同比", "%", 1),
        "HK_UNEMP": ("Hong Kong's unemployment rate", "香港失业率", "%", 1),
        "TW_CPI_YOY": ("Taiwan's CPI, change on the year", "台湾CPI同比", "%", 1),
        "CN_LPR1Y": ("China's one-year loan prime rate", "中国一年期LPR", "%", 2),
        "CN_CGB10Y": ("the ten-year Chinese government bond yield", "中国十年期国债收益率", "%", 2),
        "CN_SHIBOR_ON": ("the overnight SHIBOR", "隔夜SHIBOR", "%", 2),
        "HK_HIBOR_3M": ("the three-month HIBOR", "三个月HIBOR", "%", 2),
        "MO_GAMING": ("Macau's gross gaming revenue in million MOP", "澳门博彩毛收入（百万澳门元）", None, 0),
        "CN_EXPORTS": ("China's exports of goods in 100 million USD", "中国出口金额（亿美元）", None, 1),
        "CN_IMPORTS": ("China's imports of goods in 100 million USD", "中国进口金额（亿美元）", None, 1),
        "TW_EXPORTS": ("Taiwan's exports of goods in billion USD", "台湾出口金额（十亿美元）", None, 1),
        "CN_RETAIL": ("China's retail sales in 100 million CNY", "中国社会消费品零售总额（亿元）", None, 0),
    },
    GLOBAL: {
        "US_HMI": ("the US housing market index (HMI)", "美国住房市场指数", None, 0),
        "DE_IFO": ("the German business climate index", "德国商业景气指数", None, 1),
        "GB_CPI_YOY": ("UK consumer prices, change on the year", "英国CPI同比", "%", 1),
        "RU_CPI": ("the CPI of Russia (2015 = 100)", "俄罗斯CPI（2015=100）", None, 2),
    },
}
"""Statistics by subset and series: name in English and Chinese, unit of an answer, and decimals asked for."""
DAILY = ("CN_CGB10Y", "CN_SHIBOR_ON", "HK_HIBOR_3M")
"""Series with a figure for each day; the others have one a month."""
NAMES = tuple(word for subset in STATISTICS.values() for stated in subset.values() for word in stated[:2])
"""All names of statistics, which are blotted out where questions are compared."""


def _statistic(d: Draw) -> tuple[str, str, str | None, int]:
    """One of the statistics of the subset: its series, what the text calls it, its unit, and its decimals."""
    key = d.one(list(STATISTICS[d.subset]))
    english, chinese, unit, decimals = STATISTICS[d.subset][key]
    return key, d.say(english, chinese), unit, decimals


def _statistical(text: str, as_of: str, program: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
                 alternatives: dict[str, Any], *, why: str = FILED, table: bool = False) -> Draft:  # fmt: skip
    """A draft of a question on simulated statistics."""
    return Draft(
        text, as_of, program, params, asks, alternatives, NAMES, ("series (simulated)",), why, table, real=False
    )


def _when(d: Draw, key: str, period: str) -> str:
    """The period of a figure in words: a day of daily series, a month of others."""
    return d.day(period if key in DAILY else period[:7])


@template("T1", MACRO, subsets=BOTH, most=8)
def sim_statistic_latest(d: Draw) -> Draft:
    key, words, unit, decimals = _statistic(d)
    periods = [period for period, _ in d.world.points(key, "2009-06-01", "2026-03-01")]
    as_of = d.asked_after(d.one(periods), 70)
    text = d.say(
        d.one(["What is the latest published figure for {}{}, {}?", "The newest reading of {}{}, {}?"]).format(
            words, " in percent" if unit == "%" else "", d.digits(decimals)
        ),
        d.one(["最新公布的{}是多少（{}{}）？", "{}的最新数据是多少？{}{}。"]).format(
            words, "%，" if unit == "%" else "", d.digits(decimals)
        ),
    )
    params = {"series": key}
    ask = AskedValue("value", unit=unit, decimals=decimals)
    return _statistical(text, as_of, official.latest_value, params, (ask,), {
        "the period before": (official.latest_value, {**params, "back": 1}),
        "a year before": (official.latest_value, {**params, "back": 12}),
    })  # fmt: skip


@template("T2", MACRO, subsets=BOTH, most=8)
def sim_statistic_of(d: Draw) -> Draft:
    key, words, unit, decimals = _statistic(d)
    points = [period for period, _ in d.world.points(key, "2009-06-01", "2026-01-01")]
    period = d.one(points[13:])
    vintages = d.world.vintages(key, period)
    revised, vintage = len({each.value for each in vintages}) > 1, d.one(["first", "last"])
    as_of = d.asked_after(vintages[-1].known, 1500)
    params = {"series": key, "period": period, "vintage": vintage if revised else "last"}
    note = {
        "first": (", as first published", "（首次公布值）"),
        "last": (f", as revised by {d.day(vintages[-1].known)}", f"（截至{d.day(vintages[-1].known)}的修订值）"),
    }[vintage]
    text = d.say(
        f"What was {words} for {_when(d, key, period)}{note[0] if revised else ''}"
        f"{' (percent)' if unit == '%' else ''}, {d.digits(decimals)}?",
        f"{_when(d, key, period)}，{words}是多少{note[1] if revised else ''}？"
        f"{'以百分比表示，' if unit == '%' else ''}{d.digits(decimals)}。",
    )
    place, other = points.index(period), "last" if vintage == "first" else "first"
    return _statistical(text, as_of, official.value_of, params, (AskedValue("value", unit=unit, decimals=decimals),), {
        "the period before": (official.value_of, {**params, "period": points[place - 1]}),
        "a year before": (official.value_of, {**params, "period": points[place - 12]}),
        **({"the other vintage": (official.value_of, {**params, "vintage": other})} if revised else {}),
    })  # fmt: skip


@template("T3", MACRO, subsets=BOTH, most=8)
def sim_statistic_extreme(d: Draw) -> Draft:
    (key, words, unit, decimals), which = _statistic(d), d.one(["highest", "lowest"])
    points = d.world.points(key, "2009-06-01", "2026-01-01")
    count = min(len(points) - 2, d.rng.randrange(60, 184))
    place = d.rng.randrange(len(points) - count)
    first, last = points[place][0], points[place + count - 1][0]
    as_of = d.asked_after(d.world.vintages(key, last)[-1].known, 500)
    params = {"series": key, "first": first, "last": last, "which": which}
    if key in DAILY:
        raise SkipError("daily")
    if official.extreme_period(d.world, params)[1] == official.extreme_period(d.world, {**params, "rank": 1})[1]:
        raise SkipError("two periods are equal")
    text = d.say(
        f"Between {d.day(first[:7])} and {d.day(last[:7])}, in which month was {words} {which} (data as of "
        f"{d.day(as_of[:10])}), and what was the value{' in percent' if unit == '%' else ''}, {d.digits(decimals)}?",
        f"{d.day(first[:7])}至{d.day(last[:7])}，"
        f"{words}{'最高' if which == 'highest' else '最低'}出现在哪个月，数值是多少"
        f"（{'%，' if unit == '%' else ''}以{d.day(as_of[:10])}可得数据为准，{d.digits(decimals)}）？",
    )
    asks = (AskedValue("month", "date"), AskedValue("value", unit=unit, decimals=decimals))
    return _statistical(text, as_of, official.extreme_period, params, asks, {
        "the runner-up": (official.extreme_period, {**params, "rank": 1}),
        "the other end": (official.extreme_period, {**params, "which": "lowest" if which == "highest" else "highest"}),
    })  # fmt: skip


@template("T3", MACRO, subsets=BOTH, most=6)
def sim_statistic_count(d: Draw) -> Draft:
    (key, words, unit, _decimals), which = _statistic(d), d.one(["above", "below"])
    if key in DAILY:
        raise SkipError("daily")
    points = d.world.points(key, "2009-06-01", "2026-01-01")
    count = d.rng.randrange(24, 150)
    place = d.rng.randrange(len(points) - count)
    values = sorted(value for _, value in points[place : place + count])
    # A level of three digits within the values of the span.
    level = float(f"{values[int(count * d.rng.uniform(0.15, 0.85))]:.3g}")
    first, last = points[place][0], points[place + count - 1][0]
    as_of = d.asked_after(d.world.vintages(key, last)[-1].known, 500)
    params = {"series": key, "first": first, "last": last, "which": which, "level": level}
    shown = f"{level:g}{'%' if unit == '%' else ''}"
    text = d.say(
        f"Using data as of {d.day(as_of[:10])}: "
        f"in how many months from {d.day(first[:7])} through {d.day(last[:7])} was {words} strictly {which} {shown}?",
        f"以{d.day(as_of[:10])}可得数据为准，{d.day(first[:7])}至{d.day(last[:7])}"
        f"共有多少个月{words}严格{'高于' if which == 'above' else '低于'}{shown}？",
    )
    ask = AskedValue("months", decimals=0, rule="exact")
    return _statistical(text, as_of, official.count_periods, params, (ask,), {
        "on the other side": (official.count_periods, {**params, "which": "below" if which == "above" else "above"}),
    }, why="A count is exact.")  # fmt: skip
