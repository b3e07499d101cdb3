"""Questions on the ECB's reference rates over months and years, of tier T3."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    month_after,
    month_end,
    percent,
    shifted,
    template,
)
from openfingym_suites.finsearch.questions.programs import market
from openfingym_suites.finsearch.questions.templates.fx import (
    BOTH,
    COMPUTED,
    FX,
    ONE_SOURCE,
    _basis,
    _days,
    _draft,
    _inverse,
    _params,
)
from openfingym_suites.finsearch.questions.templates.pairs import CURRENCIES, CurrencyPair, draw_pair, draw_pairs


def _span(d: Draw, pair: CurrencyPair, low: int, high: int) -> tuple[str, str, str]:
    """A time, and the first and the last month of a span that ends before it.

    Args:
        d: what the question is drawn with.
        pair: the pair, which has rates in all of the span.
        low: least number of months.
        high: largest number of months.

    Raises:
        SkipError: the span that was drawn is not inside of the series.
    """
    days = _days(d, pair)
    first_month, count = d.one(days)[:7], d.rng.randrange(low, high + 1)
    last_month = month_after(first_month, count - 1)
    if last_month >= days[-1][:7] or first_month <= days[0][:7]:
        raise SkipError("the span is not inside of the series")
    return d.asked_after(month_after(last_month, 1) + "-01", 1500), first_month, last_month


@template("T3", FX, subsets=BOTH, most=6)
def fx_largest_month(d: Draw) -> Draft:
    pair, which = draw_pair(d), d.one(["rise", "fall"])
    as_of, first, last = _span(d, pair, 60, 184)
    # The change of the first month is from the end of the month before it.
    params = _params(pair, first=f"{month_after(first, -1)}-01", last=month_end(last), which=which, percent=True)
    words = {"rise": ("increase", "单月最大涨幅"), "fall": ("decrease", "单月最大跌幅")}[which]
    text = d.say(
        f"From {d.day(first)} to {d.day(last)}, in which month did {pair.words(d)} have its largest "
        f"single-month percentage {words[0]}, from the last fixing of a month to the last of the next, {_basis(d)}? "
        f"Give the month and the change in percent, {d.digits(2)}.",
        f"从{d.day(first)}到{d.day(last)}，{pair.words(d)}的{words[1]}出现在哪个月"
        f"（以每月最后一次定价计算，{_basis(d)}）？"
        f"请给出月份和涨跌幅（%），{d.digits(2)}。",
    )
    return _draft(pair, text, as_of, market.largest_month, params, (AskedValue("month", "date"), percent()), {
        "the runner-up": (market.largest_month, {**params, "rank": 1}),
        "of the other currency": (market.largest_month, _inverse(params)),
        "the largest day": (_month_of_largest_day, params),
    }, why=COMPUTED)  # fmt: skip


def _month_of_largest_day(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    day, move = market.largest_day(w, p)
    return (day[:7], move)


@template("T3", FX, subsets=BOTH, most=5)
def fx_large_days(d: Draw) -> Draft:
    pair, which = draw_pair(d), d.one(["rise", "fall"])
    as_of, first, last = _span(d, pair, 9, 60)
    params = _params(pair, first=f"{first}-01", last=month_end(last), which=which, percent=True, size=0.0)
    moves = sorted((abs(move) for _, move in market.large_days(d.world, params)), reverse=True)
    count = d.rng.randrange(3, 9)
    # The threshold lies between two changes, so far from both that rounding cannot move a day across it.
    if len(moves) <= count or moves[count - 1] - moves[count] < 0.04:
        raise SkipError("no threshold lies between two changes")
    params["size"] = round((moves[count - 1] + moves[count]) / 2, 2)
    words = {"rise": ("rose", "上涨超过"), "fall": ("fell", "下跌超过")}[which]
    text = d.say(
        f"On which dates between {d.day(first)} and {d.day(last)} was {pair.words(d)} fixed "
        f"with a one-day change in which it {words[0]} by more than {params['size']}%, {_basis(d)}? "
        f"List the dates with the changes in percent, {d.digits(2)}, as a table in ascending order of dates. "
        "(Start from the change between the first two fixings of the span.)",
        f"在{d.day(first)}至{d.day(last)}期间，"
        f"{pair.words(d)}单日{words[1]}{params['size']}%的是哪些日期？"
        f"{_basis(d)}，从该期间前两次定价之间的变动算起。"
        f"请按日期升序列表，给出日期和当日涨跌幅（%），{d.digits(2)}。",
    )
    return _draft(pair, text, as_of, market.large_days, params, (AskedValue("date", "date"), percent()), {
        "rises for falls": (market.large_days, {**params, "which": "fall" if which == "rise" else "rise"}),
        "a lower threshold": (market.large_days, {**params, "size": moves[count] - 1e-6}),
    }, why=COMPUTED, table=True)  # fmt: skip


@template("T3", FX, subsets=BOTH, most=5)
def fx_yearly_table(d: Draw) -> Draft:
    pair, which, changes = draw_pair(d), d.one(["mean", "highest", "lowest", "last"]), d.rng.random() < 0.35
    days = _days(d, pair)
    first = d.rng.randrange(int(days[0][:4]) + 1, 2022)
    years = d.rng.randrange(3, 8)
    as_of = d.asked_after(f"{first + years - 1}-12-31", 1200)
    # The change of the first year is from the last fixing of the year before.
    start = first - 1 if changes else first
    params = _params(pair, first=f"{start}-01-01", last=f"{first + years - 1}-12-31", which=which)
    words = {"mean": ("average", "日均"), "highest": ("highest", "最高"), "lowest": ("lowest", "最低"),
             "last": ("last", "年末")}[which]  # fmt: skip
    span = (d.day(str(first)), d.day(str(first + years - 1)))
    if changes:
        params["percent"] = True
        text = d.say(
            f"For each calendar year from {span[0]} to {span[1]}, by how many percent did {pair.words(d)} "
            f"change between the last fixing of the year before and the last of the year, {_basis(d)}? "
            f"A table of years, {d.digits(2)}.",
            f"请列表给出{span[0]}至{span[1]}各年{pair.words(d)}的年度涨跌幅"
            f"（年末定价相对上年末定价，%，{d.digits(2)}），{_basis(d)}。",
        )
        return _draft(pair, text, as_of, market.yearly_changes, params, (AskedValue("year", "date"), percent()), {
            "of the other currency": (market.yearly_changes, _inverse(params)),
        }, why=COMPUTED, table=True)  # fmt: skip
    text = d.say(
        f"Make a table of the {words[0]} {pair.words(d)} rate of each calendar year from {span[0]} to {span[1]}, "
        f"{_basis(d)}, in {pair.quote}, {d.digits(4)}.",
        f"请列表给出{span[0]}至{span[1]}各年{pair.words(d)}的{words[1]}汇率，"
        f"{_basis(d)}，以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    other = "last" if which != "last" else "mean"
    asks = (AskedValue("year", "date"), AskedValue("rate", unit=pair.quote, decimals=4))
    return _draft(pair, text, as_of, market.yearly_table, params, asks, {
        f"the {other} rate": (market.yearly_table, {**params, "which": other}),
    }, table=True)  # fmt: skip


@template("T3", FX, subsets=BOTH, most=5)
def fx_longest_run(d: Draw) -> Draft:
    pair, which, monthly = draw_pair(d), d.one(["rises", "falls"]), d.rng.random() < 0.4
    as_of, first, last = _span(d, pair, *((90, 184) if monthly else (24, 80)))
    params = _params(pair, first=f"{first}-01", last=month_end(last), which=which, monthly=monthly)
    runs = [market.longest_run(d.world, {**params, "rank": rank}) for rank in (0, 1)]
    if runs[0][2] == runs[1][2]:
        raise SkipError("two runs are equally long")
    words = {"rises": ("rising", "连续上涨"), "falls": ("falling", "连续下跌")}[which]
    unit = ("fixings", "定价", "fixings", "次定价")
    if monthly:
        unit = ("month-end fixings", "月末定价", "months", "个月")
    text = d.say(
        f"What was the longest unbroken run of {words[0]} {unit[0]} of {pair.words(d)} within "
        f"{d.day(first)} to {d.day(last)}, {_basis(d)}, each compared with the one before? "
        f"Give the first and the last {'month' if monthly else 'date'} of the run and its length in {unit[2]}.",
        f"在{d.day(first)}至{d.day(last)}期间，"
        f"{pair.words(d)}{unit[1]}{words[1]}（逐次与前一次比较）最长的一段从何时开始、"
        f"到何时结束、共持续多少{unit[3]}？"
        f"{_basis(d)}。",
    )
    asks = (
        AskedValue("first", "date"),
        AskedValue("last", "date"),
        AskedValue("length", decimals=0, rule="exact"),
    )
    return _draft(pair, text, as_of, market.longest_run, params, asks, {
        "the runner-up": (market.longest_run, {**params, "rank": 1}),
        "of the other direction": (market.longest_run, {**params, "which": "falls" if which == "rises" else "rises"}),
    })  # fmt: skip


@template("T3", FX, subsets=BOTH, most=5)
def fx_drawdown(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of, first, last = _span(d, pair, 20, 150)
    params = _params(pair, first=f"{first}-01", last=month_end(last))
    text = d.say(
        f"Between {d.day(first)} and {d.day(last)}, "
        f"what was the maximum drawdown of {pair.words(d)} on daily fixings, {_basis(d)}? "
        f"Name the date of the peak, the date of the trough, and the fall in percent, {d.digits(2)}, negative.",
        f"{d.day(first)}至{d.day(last)}期间，"
        f"{pair.words(d)}（按每日定价，{_basis(d)}）的最大回撤是多少？"
        f"请给出峰值日期、谷值日期和回撤幅度（%，以负数表示，{d.digits(2)}）。",
    )
    asks = (AskedValue("peak", "date"), AskedValue("trough", "date"), percent("fall"))
    return _draft(pair, text, as_of, market.drawdown, params, asks, {
        "of the other currency": (market.drawdown, _inverse(params)),
        "the highest to the lowest of the span": (_high_to_low, params),
    }, why=COMPUTED)  # fmt: skip


def _high_to_low(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    high, low = (market.extreme_day(w, {**p, "which": which}) for which in ("highest", "lowest"))
    return (high[0], low[0], 100.0 * (low[1] / high[1] - 1.0))


@template("T3", FX, subsets=BOTH, most=5)
def fx_extreme_day(d: Draw) -> Draft:
    pair, which = draw_pair(d), d.one(["highest", "lowest"])
    as_of, first, last = _span(d, pair, 30, 184)
    params = _params(pair, first=f"{first}-01", last=month_end(last), which=which)
    if abs(market.extreme_day(d.world, params)[1] / market.extreme_day(d.world, {**params, "rank": 1})[1] - 1) < 2e-4:
        raise SkipError("two days are as good as equal")
    words = {"highest": ("peak", "最高"), "lowest": ("bottom out", "最低")}[which]
    text = d.say(
        f"When did {pair.words(d)} {words[0]} between {d.day(first)} and {d.day(last)}, "
        f"and at which rate, {_basis(d)}? "
        f"Date and rate in {pair.quote}, {d.digits(4)}.",
        f"{d.day(first)}至{d.day(last)}之间，"
        f"{pair.words(d)}在哪一天达到{words[1]}，当日汇率是多少？"
        f"{_basis(d)}，以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    asks = (AskedValue("date", "date"), AskedValue("rate", unit=pair.quote, decimals=4))
    return _draft(pair, text, as_of, market.extreme_day, params, asks, {
        "the runner-up": (market.extreme_day, {**params, "rank": 1}),
        "the other end": (market.extreme_day, {**params, "which": "lowest" if which == "highest" else "highest"}),
    })  # fmt: skip


@template("T3", FX, subsets=BOTH, most=5)
def fx_count_beyond(d: Draw) -> Draft:
    pair, which = draw_pair(d), d.one(["above", "below"])
    as_of, first, last = _span(d, pair, 12, 120)
    params = _params(pair, first=f"{first}-01", last=month_end(last), which=which)
    # A level of three digits within the rates of the span, which no rate is so near to that rounding decides.
    values = sorted(rate for _, rate in market.rates(d.world, params))
    level = float(f"{values[int(len(values) * d.rng.uniform(0.1, 0.9))]:.3g}")
    if min(abs(value / level - 1) for value in values) < 2e-5:
        raise SkipError("a rate is as good as the level")
    params["level"] = level
    text = d.say(
        f"On how many fixings from {d.day(first)} through {d.day(last)} was {pair.words(d)} {which} {level:g}, "
        f"{_basis(d)}, and which date was the first of them?",
        f"自{d.day(first)}至{d.day(last)}，{pair.words(d)}{'高于' if which == 'above' else '低于'}"
        f"{level:g}的定价共有多少次，第一次出现在哪一天？"
        f"{_basis(d)}。",
    )
    asks = (AskedValue("count", decimals=0, rule="exact"), AskedValue("first", "date"))
    return _draft(pair, text, as_of, _count_and_first, params, asks, {
        "on the other side": (_count_and_first, {**params, "which": "below" if which == "above" else "above"}),
    }, why="A count is exact; no rate of the span is within 0.002 % of the level.")  # fmt: skip


def _count_and_first(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """How many days were beyond a level, and the first of them."""
    return (market.count_days(w, p)[0], market.first_day_beyond(w, p)[0])


@template("T3", FX, subsets=BOTH, most=6)
def fx_not_in_unison(d: Draw) -> Draft:
    quote = "CNY" if d.subset == CHINA else d.one(["USD", "GBP", "CHF"])
    # Of these currencies one unit is worth so little that four decimals say nothing.
    pairs = [pair for pair in draw_pairs(d, 4, quote) if pair.base not in ("KRW", "JPY", "INR", "MXN")][:3]
    if len(pairs) < 3:
        raise SkipError("too few pairs")
    as_of, first, _ = _span(d, pairs[0], 2, 3)
    params = {"pairs": [pair.legs for pair in pairs], "start": f"{first}-01",
              "first": f"{shifted(first + '-01', -12)}", "last": month_end(first)}  # fmt: skip
    codes = [pair.code for pair in pairs]
    text = d.say(
        f"During {d.day(first)}, did the daily changes of {', '.join(codes[:-1])} "
        f"and {codes[-1]} always have the same sign {_basis(d)}? "
        "Among the days on which these three rates did not move in unison, find the date of the "
        f"largest one-day increase of {codes[-1]}, and list the three rates of that day, {d.digits(4)}.",
        f"{d.day(first)}，{'、'.join(codes)}三个汇率每日较前一次定价的变动方向是否始终一致"
        f"（{_basis(d)}）？"
        f"在方向不一致的日子里，{codes[-1]}单日升幅最大的是哪一天？"
        f"请给出该日期以及当日三个汇率，{d.digits(4)}。",
    )
    asks = (AskedValue("date", "date"), *(AskedValue(pair.code, unit=pair.quote, decimals=4) for pair in pairs))
    names = tuple(name for pair in pairs for name in pair.names)
    return Draft(text, as_of, market.against_the_others, params, asks, {
        "the runner-up": (market.against_the_others, {**params, "rank": 1}),
    }, names, ("market: ECB reference rates",), ONE_SOURCE)  # fmt: skip


@template("T3", FX, subsets=BOTH, most=6)
def fx_ranked_changes(d: Draw) -> Draft:
    quote = d.one(["CNY", "HKD"]) if d.subset == CHINA else d.one(["USD", "EUR", "GBP"])
    pairs = draw_pairs(d, d.rng.randrange(4, 8), quote)
    days = _days(d, CurrencyPair("GBP", "JPY", 1.0))
    start = d.rng.randrange(950, len(days) - 300)
    to = days[start + d.rng.randrange(60, 1000)] if start + 1000 < len(days) else days[-20]
    as_of, table = d.asked_after(to, 800), d.rng.random() < 0.5
    rose = d.one(["rose", "fell"])
    named = [[pair.base, pair.legs] for pair in pairs]
    params = {"named": named, "to": to, "which": rose, "from": days[start]}
    listed = d.say(", ".join(pair.base for pair in pairs), "、".join(pair.base for pair in pairs))
    span = (d.day(days[start]), d.day(to))
    names = tuple(name for pair in pairs for name in pair.names)
    base = AskedValue(
        "currency", "text", choices=tuple(CURRENCIES), accept={pair.base: CURRENCIES[pair.base][:2] for pair in pairs}
    )
    other_way = {**params, "named": [[name, [[s, -power] for s, power in legs]] for name, legs in named]}
    if table:
        text = d.say(
            f"Rank {listed} by their change in value against the {CURRENCIES[quote][0]} between {span[0]} and "
            f"{span[1]}, {_basis(d)}: a table of currency codes and changes in percent, "
            f"{d.digits(2)}, the largest gain first.",
            f"以{CURRENCIES[quote][1]}计价，"
            f"{listed}在{span[0]}至{span[1]}之间的升贬值幅度分别是多少（{_basis(d)}）？"
            f"请按涨幅从高到低列表，给出货币代码和涨跌幅（%），{d.digits(2)}。",
        )
        return Draft(text, as_of, market.changes_of_several, params, (base, percent()), {
            "quoted the other way round": (market.changes_of_several, other_way),
        }, names, ("market: ECB reference rates",), COMPUTED, table=True)  # fmt: skip
    text = d.say(
        f"Which of {listed} {'gained' if rose == 'rose' else 'lost'} most against the {CURRENCIES[quote][0]} "
        f"from {span[0]} to {span[1]}, {_basis(d)}, and by how many percent ({d.digits(2)}, negative for a loss)?",
        f"{span[0]}至{span[1]}期间，"
        f"{listed}中对{CURRENCIES[quote][1]}{'升值' if rose == 'rose' else '贬值'}最多的是哪种货币，"
        f"幅度是多少（%，贬值为负，{d.digits(2)}）？"
        f"{_basis(d)}。",
    )
    return Draft(text, as_of, market.most_changed, params, (base, percent()), {
        "the runner-up": (market.most_changed, {**params, "rank": 1}),
        "quoted the other way round": (market.most_changed, other_way),
    }, names, ("market: ECB reference rates",), COMPUTED)  # fmt: skip
