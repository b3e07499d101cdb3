"""Questions on the ECB's reference rates, one fixing a working day, of tiers T1 and T2."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    month_end,
    percent,
    recent,
    template,
)
from openfingym_suites.finsearch.questions.programs import market
from openfingym_suites.finsearch.questions.templates.pairs import CURRENCIES, CurrencyPair, draw_pair

BOTH = (GLOBAL, CHINA)
FX = "foreign exchange"
ONE_SOURCE = "One authority fixes one rate a day, and crosses are computed from it: rounding alone may differ."
COMPUTED = "Computed from rates that may be rounded before: half a unit of the last asked place more than rounding."


def _basis(d: Draw) -> str:
    """Whose rates are meant, in words of the question's language."""
    return d.say(
        d.one(
            [
                "at the European Central Bank's reference rates",
                "by the ECB's euro foreign exchange reference rates (crosses computed through the euro)",
            ]
        ),
        d.one(["按欧洲央行参考汇率", "以欧洲中央银行公布的欧元参考汇率（交叉汇率由此套算）为准"]),
    )


def _draft(pair: CurrencyPair, text: str, as_of: str, program: Any, params: dict[str, Any],
           asks: tuple[AskedValue, ...], alternatives: dict[str, Any], *, why: str = ONE_SOURCE,
           table: bool = False) -> Draft:  # fmt: skip
    """A draft of a question on one pair."""
    sources = ("market: ECB reference rates",)
    return Draft(text, as_of, program, params, asks, alternatives, pair.names, sources, why, table)


def _days(d: Draw, pair: CurrencyPair) -> list[str]:
    """Days on which all legs of a pair have a rate, oldest first.

    Raises:
        SkipError: there are too few.
    """
    days = [day for day, _ in d.world.closes(pair.legs[0][0])]
    if len(pair.legs) > 1:
        other = {day for day, _ in d.world.closes(pair.legs[1][0])}
        days = [day for day in days if day in other]
    if pair.amount == 1 and len(days) < 300:
        raise SkipError("too little is known of the pair")
    return days


def _params(pair: CurrencyPair, **more: Any) -> dict[str, Any]:
    """Parameters of a program on the rate of a pair."""
    return {"legs": pair.legs, "amount": pair.amount, **more}


def _inverse(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters for the pair quoted the other way round."""
    return {**params, "legs": [[symbol, -power] for symbol, power in params["legs"]]}


@template("T1", FX, subsets=BOTH)
def fx_latest(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of))
    text = d.say(
        f"What is the latest {pair.words(d)} rate {_basis(d)}? Answer in {pair.quote}, {d.digits(4)}.",
        f"{_basis(d)}，{pair.words(d)}的最新汇率是多少？以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    ask = AskedValue("rate", unit=pair.quote, decimals=4)
    return _draft(pair, text, as_of, market.latest_level, params, (ask,), {
        "the fixing before": (market.latest_level, {**params, "back": 1}),
        "quoted the other way round": (market.latest_level, _inverse(params)),
    })  # fmt: skip


@template("T1", FX, subsets=BOTH)
def fx_latest_amount(d: Draw) -> Draft:
    pair = draw_pair(d)
    amount = d.one([2_500, 12_000, 40_000, 175_000, 650_000])
    as_of = d.asked_around(_days(d, pair))
    params = {"legs": pair.legs, "amount": float(amount), "first": recent(as_of)}
    text = d.say(
        f"How many {pair.quote} are {amount:,} {pair.base} worth today {_basis(d)}? Answer in {pair.quote}, "
        f"{d.digits(2)}.",
        f"{_basis(d)}，{amount:,}{CURRENCIES[pair.base][1]}目前可折合多少{CURRENCIES[pair.quote][1]}？{d.digits(2)}。",
    )
    ask = AskedValue("amount", unit=pair.quote, decimals=2, rule="within", tolerance=round(amount * 5e-5, 2))
    return _draft(pair, text, as_of, market.latest_level, params, (ask,), {
        "the fixing before": (market.latest_level, {**params, "back": 1}),
        "converted the other way round": (market.latest_level, _inverse(params)),
    }, why="Rates are commonly shown with four decimals: half of the fourth, times the amount.")  # fmt: skip


@template("T1", FX, subsets=BOTH)
def fx_latest_change(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of), percent=True)
    text = d.say(
        f"By how many percent did {pair.words(d)} change at its latest fixing from the fixing before, {_basis(d)}? "
        f"Answer in percent, negative for a fall, {d.digits(2)}.",
        f"{_basis(d)}，{pair.words(d)}最新定价较前一次定价的涨跌幅是多少？以百分比表示，下跌为负，{d.digits(2)}。",
    )
    return _draft(pair, text, as_of, market.latest_change, params, (percent(),), {
        "over a week": (market.latest_change, {**params, "days": 5}),
        "as a difference": (market.latest_change, {**params, "percent": False, "scale": 10_000.0}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", FX, subsets=BOTH)
def fx_latest_points(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of), scale=10_000.0)
    text = d.say(
        f"The latest {pair.words(d)} fixing: how many pips "
        f"(0.0001 {pair.quote}) above or below the fixing before is it, {_basis(d)}? "
        f"Give a signed number, {d.digits(0)}.",
        f"{pair.words(d)}最近一次定价比上一次定价高"
        f"（或低）多少个基点（1个基点=0.0001{CURRENCIES[pair.quote][1]}）？"
        f"{_basis(d)}，带正负号，{d.digits(0)}。",
    )
    ask = AskedValue("points", decimals=0, rule="within", tolerance=1.0)
    return _draft(pair, text, as_of, market.latest_change, params, (ask,), {
        "in percent": (market.latest_change, {**params, "percent": True}),
        "from the fixing two before": (market.latest_change, {**params, "days": 2}),
    }, why="Rates are commonly shown with four decimals: each may be off by half of the fourth.")  # fmt: skip


@template("T1", FX, subsets=BOTH, most=5)
def fx_latest_day(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of))
    text = d.say(
        f"Of which date is the most recent {pair.words(d)} fixing that is available, "
        f"{_basis(d)}, and what was the rate in {pair.quote}, {d.digits(4)}?",
        f"目前可得的最近一次{pair.words(d)}定价是哪一天的？"
        f"当日汇率是多少（以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}）？"
        f"{_basis(d)}。",
    )
    asks = (AskedValue("date", "date"), AskedValue("rate", unit=pair.quote, decimals=4))
    return _draft(pair, text, as_of, market.latest_date, params, asks, {
        "the fixing before": (_previous_date, params),
    })  # fmt: skip


def _previous_date(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    return market.rates(w, p)[-2]


@template("T1", FX, subsets=BOTH)
def fx_latest_since(d: Draw) -> Draft:
    pair, since = draw_pair(d), d.one(["month", "year"])
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of), since=since, percent=True)
    text = d.say(
        f"Month to date, how did {pair.words(d)} move"
        if since == "month"
        else f"Year to date, what is the move of {pair.words(d)}",
        f"{pair.words(d)}{'本月' if since == 'month' else '今年'}以来的累计涨跌幅是多少",
    )
    text += d.say(
        f" up to its latest fixing, measured from the last fixing of the previous {since}, {_basis(d)}? "
        f"Answer in percent, {d.digits(2)}.",
        f"（最新定价相对{'上月' if since == 'month' else '上年'}最后一次定价）？"
        f"{_basis(d)}，以百分比表示，{d.digits(2)}。",
    )
    return _draft(pair, text, as_of, market.latest_since, params, (percent(),), {
        "since the other": (market.latest_since, {**params, "since": "month" if since == "year" else "year"}),
        "from the fixing before": (market.latest_change, {**params, "days": 1}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", FX, subsets=BOTH)
def fx_latest_of_days(d: Draw) -> Draft:
    pair, count, which = draw_pair(d), d.one([5, 10, 20]), d.one(["mean", "highest", "lowest"])
    as_of = d.asked_around(_days(d, pair))
    params = _params(pair, first=recent(as_of), days=count, which=which)
    words = {"mean": ("average", "平均"), "highest": ("highest", "最高"), "lowest": ("lowest", "最低")}[which]
    text = d.say(
        f"Over the {count} most recent fixings, what is the {words[0]} {pair.words(d)} rate {_basis(d)}? "
        f"In {pair.quote}, {d.digits(4)}.",
        f"{_basis(d)}，最近{count}次定价中，{pair.words(d)}的{words[1]}汇率是多少？"
        f"以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    ask = AskedValue("rate", unit=pair.quote, decimals=4)
    return _draft(pair, text, as_of, market.latest_of_days, params, (ask,), {
        "the latest alone": (market.latest_level, _params(pair, first=recent(as_of))),
        "over twice as many": (market.latest_of_days, {**params, "days": 2 * count}),
    })  # fmt: skip


def _asked_later(d: Draw, pair: CurrencyPair, span: int, most: int = 900) -> tuple[str, list[str]]:
    """A time, and so many consecutive days with a rate that end before it."""
    days = _days(d, pair)
    place = d.rng.randrange(0, max(1, len(days) - span))
    chosen = days[place : place + span]
    return d.asked_after(chosen[-1], most), chosen


@template("T2", FX, subsets=BOTH)
def fx_on_day(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of, days = _asked_later(d, pair, 2)
    params = _params(pair, day=days[1], first=days[0], last=days[1])
    text = d.say(
        f"What was the {pair.words(d)} rate on {d.day(days[1])} {_basis(d)}? In {pair.quote}, {d.digits(4)}.",
        f"{d.day(days[1])}，{pair.words(d)}的汇率是多少？{_basis(d)}，以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    return _draft(pair, text, as_of, market.level_on, params, (AskedValue("rate", unit=pair.quote, decimals=4),), {
        "the day before": (market.level_on, {**params, "day": days[0]}),
        "quoted the other way round": (market.level_on, _inverse(params)),
    })  # fmt: skip


@template("T2", FX, subsets=BOTH)
def fx_between_days(d: Draw) -> Draft:
    pair = draw_pair(d)
    as_of, days = _asked_later(d, pair, d.rng.randrange(15, 260))
    params = _params(pair, percent=True, to=days[-1], first=days[0], last=days[-1], **{"from": days[0]})
    verb = d.one(["appreciate or depreciate", "change"])
    text = d.say(
        f"From {d.day(days[0])} to {d.day(days[-1])}, by how many percent did the "
        f"{CURRENCIES[pair.base][0]} {verb} against the {CURRENCIES[pair.quote][0]} ({pair.code}), {_basis(d)}? "
        f"Negative for a depreciation, {d.digits(2)}.",
        f"从{d.day(days[0])}到{d.day(days[-1])}，{CURRENCIES[pair.base][1]}对"
        f"{CURRENCIES[pair.quote][1]}升值或贬值了百分之几（{pair.code}，{_basis(d)}）？"
        f"贬值为负，{d.digits(2)}。",
    )
    return _draft(pair, text, as_of, market.change_between, params, (percent(),), {
        "of the other currency": (market.change_between, _inverse(params)),
        "from the day after": (market.change_between, {**params, "from": days[1]}),
    }, why=COMPUTED)  # fmt: skip


@template("T2", FX, subsets=BOTH)
def fx_of_month(d: Draw) -> Draft:
    pair, which = draw_pair(d), d.one(["mean", "highest", "lowest", "last"])
    days = _days(d, pair)
    month = d.one(days)[:7]
    as_of = d.asked_after(f"{month}-28", 700)
    if as_of[:7] <= month:
        raise SkipError("the month is not over")
    params = _params(pair, first=f"{month}-01", last=month_end(month), which=which)
    words = {"mean": ("average of the daily", "日均"), "highest": ("highest daily", "最高"),
             "lowest": ("lowest daily", "最低"), "last": ("last", "月末")}[which]  # fmt: skip
    text = d.say(
        f"In {d.day(month)}, what was the {words[0]} {pair.words(d)} rate {_basis(d)}? In {pair.quote}, {d.digits(4)}.",
        f"{d.day(month)}，{pair.words(d)}的{words[1]}汇率是多少？"
        f"{_basis(d)}，以{CURRENCIES[pair.quote][1]}计，{d.digits(4)}。",
    )
    other = "last" if which != "last" else "mean"
    ask = AskedValue("rate", unit=pair.quote, decimals=4)
    return _draft(pair, text, as_of, market.period_statistic, params, (ask,), {
        f"the {other} of the month": (market.period_statistic, {**params, "which": other}),
    })  # fmt: skip


@template("T2", FX, subsets=BOTH)
def fx_converted_on_day(d: Draw) -> Draft:
    pair, millions = draw_pair(d), d.one([3.2, 7.5, 18.0, 45.0, 120.0])
    as_of, days = _asked_later(d, pair, 2)
    # Chinese counts in ten thousands.
    amount, decimals = (100.0 * millions, 1) if d.zh else (millions, 3)
    params = {"legs": pair.legs, "amount": amount, "day": days[1], "first": days[0], "last": days[1]}
    base, quote = CURRENCIES[pair.base][1], CURRENCIES[pair.quote][1]
    text = d.say(
        f"An invoice of {millions:g} million {pair.base} was translated at the reference rates of the ECB of "
        f"{d.day(days[1])}. How many million {pair.quote} was it, {d.digits(3)}?",
        f"一笔{amount:g}万{base}的应收账款，按{d.day(days[1])}欧洲央行参考汇率折算，合多少万{quote}？{d.digits(1)}。",
    )
    tolerance = max(1.5 * 10.0**-decimals, round(amount * 5e-5, 6))
    unit = d.say(f"million {pair.quote}", f"万{quote}")
    ask = AskedValue("amount", unit=unit, decimals=decimals, rule="within", tolerance=tolerance)
    return _draft(pair, text, as_of, market.level_on, params, (ask,), {
        "at the rate of the day before": (market.level_on, {**params, "day": days[0]}),
        "converted the other way round": (market.level_on, _inverse(params)),
    }, why="Rates are commonly shown with four decimals: half of the fourth, times the amount.")  # fmt: skip
