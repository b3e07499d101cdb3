"""Questions on the latest prices of simulated shares, indices, rates, commodities and futures, of tier T1."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    AskedValue,
    Draft,
    Draw,
    SkipError,
    percent,
    recent,
    template,
)
from openfingym_suites.finsearch.questions.programs import market, traded
from openfingym_suites.finsearch.questions.templates.simulated_instruments import (
    BOTH,
    COMPUTED,
    FX,
    IN_RANGE,
    INDICES,
    METALS,
    QUOTED,
    SPOTS,
    STOCKS,
    TRADED,
    draft,
    draw_commodity,
    draw_dual_listing,
    draw_field,
    draw_index,
    draw_share,
    mention,
    names_of,
    session_days,
)


@template("T1", STOCKS, subsets=BOTH, most=10)
def sim_share_latest(d: Draw) -> Draft:
    row = draw_share(d)
    as_of = d.asked_around(session_days(d, row))
    words, unit, ask, more = draw_field(d, row)
    params = {"symbol": row["symbol"], "first": recent(as_of, 40), **more}
    text = d.say(
        d.one(
            [
                "Latest {words} of {name}, in {unit}, {digits}?",
                "What is the most recent {words} of {name} ({unit}, {digits})?",
            ]
        ),
        d.one(
            [
                "{name}最新{words}是多少（{unit}，{digits}）？",
                "请问{name}最近一个交易日的{words}是多少？以{unit}计，{digits}。",
            ]
        ),
    ).format(words=words, name=mention(d, row), unit=unit, digits=d.digits(2))
    other = "open" if more["field"] == "close" else "close"
    return draft([row], text, as_of, market.latest_bar, params, (ask,), {
        "the session before": (market.latest_bar, {**params, "back": 1}),
        f"{other} for {more['field']}": (market.latest_bar, {**params, "field": other, "scale": 1.0}),
    })  # fmt: skip


MOVES = {
    "change": ("from the close before to the latest close", "最新收盘价相对前一交易日收盘价的涨跌幅"),
    "intraday": ("from the open to the close of the latest session", "最近一个交易日收盘价相对当日开盘价的涨跌幅"),
    "gap": ("from the close before to the open of the latest session", "最近一个交易日开盘价相对前收盘价的跳空幅度"),
    "range": (
        "between the low and the high of the latest session (as a percentage of the low)",
        "最近一个交易日最高价与最低价之差占最低价的比例",
    ),
}


@template("T1", STOCKS, subsets=BOTH, most=8)
def sim_share_latest_move(d: Draw) -> Draft:
    row, field = draw_share(d), d.one(list(MOVES))
    as_of = d.asked_around(session_days(d, row))
    params = {"symbol": row["symbol"], "first": recent(as_of, 40), "field": field}
    text = d.say(
        f"By how many percent did {mention(d, row)} move {MOVES[field][0]}, {d.digits(2)}?",
        f"{mention(d, row)}{MOVES[field][1]}是多少（%，{d.digits(2)}）？",
    )
    other = "intraday" if field in ("change", "gap") else "change"
    return draft([row], text, as_of, market.latest_bar, params, (percent(),), {
        "the session before": (market.latest_bar, {**params, "back": 1}),
        f"{other} for {field}": (market.latest_bar, {**params, "field": other}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", INDICES, subsets=BOTH, most=8)
def sim_index_latest(d: Draw) -> Draft:
    row = draw_index(d)
    as_of = d.asked_around(session_days(d, row))
    params = {"symbol": row["symbol"], "first": recent(as_of, 40)}
    main = row["symbol"] == "C500.IDX"
    text = d.say(
        d.one(
            [
                "Latest price of the {}, {}?",
                "At how many points does the {} stand, {}?",
                "What is the newest closing level of the {} ({})?",
            ]
        ),
        d.one(["{}最新点位是多少（{}）？", "请查询{}的最新收盘点位，{}。", "{}现在是多少点？{}。"]),
    ).format(mention(d, row), d.digits(2))
    # Of an index of the US the close is asked for; of others any level of the day is right.
    program = market.latest_bar if main else market.latest_bar_between
    params |= {"field": "close"} if main else {}
    ask = AskedValue("level", decimals=2, rule="rounding" if main else "between")
    return draft([row], text, as_of, program, params, (ask,), {
        "five sessions before": (program, {**params, "back": 5}),
        "the level of another index": (_shifted_level, {**params, "by": 1.1}),
    }, why=TRADED if main else IN_RANGE)  # fmt: skip


def _shifted_level(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The level of another index: a tenth above."""
    return (w.bars(p["symbol"], p["first"])[-1].close * p["by"],)


@template("T1", INDICES, subsets=BOTH, most=6)
def sim_index_latest_since(d: Draw) -> Draft:
    row, since = draw_index(d), d.one(["month", "year", "day"])
    as_of = d.asked_around(session_days(d, row))
    base = {"legs": [[row["symbol"], 1]], "first": recent(as_of), "percent": True}
    program, params = (
        (market.latest_change, {**base, "days": 1})
        if since == "day"
        else (market.latest_since, {**base, "since": since})
    )
    text = d.say(
        f"What is the {'latest daily' if since == 'day' else since + '-to-date'} "
        f"percentage change of the {mention(d, row)} on closing levels, {d.digits(2)}?",
        f"{mention(d, row)}"
        f"{ {'day': '最近一个交易日的', 'month': '本月以来的', 'year': '今年以来的'}[since] }"
        f"涨跌幅是多少（按收盘点位，%，{d.digits(2)}）？",
    )
    return draft([row], text, as_of, program, params, (percent(),), {
        "over five sessions": (market.latest_change, {**base, "days": 5}),
        "over twenty sessions": (market.latest_change, {**base, "days": 20}),
    }, why=COMPUTED)  # fmt: skip


@template("T1", FX, subsets=(CHINA,), most=8)
def sim_spot_latest(d: Draw) -> Draft:
    row = d.one([row for row in d.world.instruments("fx") if row["symbol"] in SPOTS])
    as_of = d.asked_around(session_days(d, row))
    english, chinese = names_of(row)
    params = {"symbol": row["symbol"], "first": recent(as_of, 40), "back": 0}
    text = d.say(
        d.one(["What is the {} rate today, {}?", "Latest {} exchange rate, please ({})."]),
        d.one(["{}最新汇率是多少（{}）？", "今天{}的汇率是多少？{}。", "请查一下{}的最新价，{}。"]),
    ).format(d.say(english, chinese), d.digits(4))
    ask = AskedValue("rate", decimals=4, rule="widened", tolerance=0.002)
    return draft([row], text, as_of, market.latest_bar_between, params, (ask,), {
        "sixty sessions before": (market.latest_bar_between, {**params, "back": 60, "first": recent(as_of, 400)}),
        "the inverse": (_inverse, params),
    }, why=QUOTED)  # fmt: skip


def _inverse(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The rate the other way round."""
    return (1.0 / w.bars(p["symbol"], p["first"])[-1].close,)


@template("T1", FX, subsets=(CHINA,), most=8)
def sim_parity_latest(d: Draw) -> Draft:
    row = d.one(d.world.instruments("fx fixing"))
    as_of = d.asked_around(session_days(d, row))
    english, chinese = names_of(row)
    kind = d.one(["level", "points"])
    base: dict[str, Any] = {"legs": [[row["symbol"], 1]], "first": recent(as_of, 60)}
    if kind == "level":
        program, params, ask = market.latest_level, base, AskedValue("rate", decimals=4, unit="CNY")
        text = d.say(f"What is the latest {english}, {d.digits(4)}?", f"最新公布的{chinese}是多少（{d.digits(4)}）？")
        alternatives = {"the day before": (program, {**base, "back": 1})}
    else:
        program, params = market.latest_change, {**base, "scale": 10_000.0}
        ask = AskedValue("points", decimals=0)
        text = d.say(
            f"By how many pips (0.0001) was the latest {english} "
            f"set above or below the day before (signed, {d.digits(0)})?",
            f"最新{chinese}较上一交易日上调或下调了多少个基点（1个基点=0.0001，上调为正，{d.digits(0)}）？",
        )
        alternatives = {"over two days": (program, {**params, "days": 2})}
    onshore = {**params, "legs": [["USDCNY-ONSHORE", 1]]}
    return draft([row], text, as_of, program, params, (ask,), {
        **alternatives, "the spot rate for the parity": (program, onshore),
    })  # fmt: skip


@template("T1", FX, subsets=(CHINA,), most=6)
def sim_offshore_gap(d: Draw) -> Draft:
    symbols = d.one([["USDCNH-OFFSHORE", "USDCNY-ONSHORE"], ["USDCNY-ONSHORE", "USDCNY-FIXING"]])
    rows = [row for kind in ("fx", "fx fixing") for row in d.world.instruments(kind) if row["symbol"] in symbols]
    # In the order of the symbols: the first is compared with the second.
    rows.sort(key=lambda row: symbols.index(row["symbol"]))
    as_of = d.asked_around(session_days(d, rows[0]))
    params = {"symbols": symbols, "first": recent(as_of, 60), "scale": 10_000.0}
    (first, first_zh), (second, second_zh) = map(names_of, rows)
    text = d.say(
        d.one(
            [
                "At the last common close, by how many pips (0.0001) was {} above {}? Signed, {}.",
                "How wide is the gap {} minus {} in pips at the latest closes ({})?",
            ]
        ),
        d.one(
            [
                "按最近一个共同交易日收盘，{}比{}高多少个基点（1个基点=0.0001，可为负，{}）？",
                "最新收盘价下，{}与{}之差是多少基点（0.0001，{}）？",
            ]
        ),
    ).format(d.say(first, first_zh), d.say(second, second_zh), d.digits(0))
    ask = AskedValue("gap", decimals=0, rule="within", tolerance=1.0)
    return draft(rows, text, as_of, traded.latest_gap, params, (ask,), {
        "the day before": (traded.latest_gap, {**params, "back": 1}),
        "the other way round": (traded.latest_gap, {**params, "symbols": symbols[::-1]}),
    }, why="Rates are shown with four decimals: each may be off by half of the fourth.")  # fmt: skip


@template("T1", METALS, subsets=BOTH, most=7)
def sim_commodity_latest(d: Draw) -> Draft:
    row = draw_commodity(d)
    as_of = d.asked_around(session_days(d, row))
    english, chinese = names_of(row)
    params = {"symbol": row["symbol"], "first": recent(as_of, 40), "back": 0}
    per = ("barrel", "桶") if row["symbol"].startswith("CRUDE") else ("ounce", "盎司")
    text = d.say(
        d.one(["{} price now, in USD per {}, {}?", "What does {} cost at the latest close (USD per {}, {})?"]).format(
            english, per[0], d.digits(2)
        ),
        d.one(["{}现价是多少（美元/{}，{}）？", "{}最新收盘价是多少（美元/{}，{}）？"]).format(
            chinese, per[1], d.digits(2)
        ),
    )
    ask = AskedValue("price", unit="USD", decimals=2, rule="widened", tolerance=0.1)
    return draft([row], text, as_of, market.latest_bar_between, params, (ask,), {
        "thirty sessions before": (market.latest_bar_between, {**params, "back": 30, "first": recent(as_of, 200)}),
        "in yuan": (_shifted_level, {**params, "by": 7.1}),
    }, why=QUOTED)  # fmt: skip


@template("T1", METALS, subsets=BOTH, most=6)
def sim_future_latest(d: Draw) -> Draft:
    row = d.one(d.world.instruments("future"))
    # A contract trades for eight months, which may all be outside of the days in which questions are asked.
    if str(row["expires"])[:10] < d.first or str(row["listed"])[:10] > d.last:
        raise SkipError("not traded then")
    as_of = d.asked_around(session_days(d, row))
    note = row["symbol"].startswith("TN")
    english, chinese = names_of(row)
    params = {"symbol": row["symbol"], "first": recent(as_of, 40), "field": "close"}
    if note:
        text = d.say(
            f"What is the latest settlement of the {english} ({row['symbol']}), "
            "in points (decimal, or points and 32nds as quoted)?",
            f"{chinese}（{row['symbol']}）最新结算价是多少点（小数或按32分之一报价均可）？",
        )
        ask = AskedValue("price", decimals=None, rule="within", tolerance=0.0005)
    else:
        text = d.say(
            f"{english} ({row['symbol']}): what is the latest settlement price in USD per ounce, {d.digits(1)}?",
            f"{chinese}（{row['symbol']}）的最新结算价是多少美元/盎司？{d.digits(1)}。",
        )
        ask = AskedValue("price", unit="USD", decimals=1)
    return draft([row], text, as_of, market.latest_bar, params, (ask,), {
        "the session before": (market.latest_bar, {**params, "back": 1}),
        "open for settlement": (market.latest_bar, {**params, "field": "open"}),
    }, why="A future has one settlement price a day; in 32nds it is exact to a quarter of one.")  # fmt: skip


@template("T1", STOCKS, subsets=(CHINA,), most=6)
def sim_premium_latest(d: Draw) -> Draft:
    a_row, h_row = draw_dual_listing(d)
    days = set(session_days(d, h_row)) & {day for day, _ in d.world.closes("HKDCNY-FIXING")}
    as_of = d.asked_around([day for day in session_days(d, a_row) if day in days])
    params = {"a": a_row["symbol"], "h": h_row["symbol"], "rate": "HKDCNY-FIXING", "first": recent(as_of, 40)}
    english, chinese = names_of(a_row)
    text = d.say(
        d.one(
            [
                (
                    "{} is listed as {} and {}. By how many percent is the A share dearer than the H share "
                    "at their latest closes, with the latest HKD/CNY central parity rate ({})?"
                ),
                (
                    "A-over-H premium of {} ({} against {}), latest closes, "
                    "H price in yuan at the latest HKD/CNY central parity: how many percent, {}?"
                ),
            ]
        ),
        d.one(
            [
                (
                    "{}同时在A股（{}）和H股（{}）上市。"
                    "按各自最新收盘价及最新港元兑人民币中间价，A股相对H股的溢价率是多少（%，{}）？"
                ),
                "请计算{}的A/H溢价率：A股{}，H股{}，均取最新收盘价，汇率取最新港元兑人民币中间价（%，{}）。",
            ]
        ),
    ).format(d.say(english, chinese), a_row["symbol"], h_row["symbol"], d.digits(2))
    return draft([a_row, h_row], text, as_of, traded.premium, params, (percent("premium"),), {
        "the H share over the A share": (_discount, params),
        "without the exchange rate": (traded.premium, {**params, "rate": h_row["symbol"], "h": "HKDCNY-FIXING"}),
        "without any rate": (_no_rate, params),
    }, why=COMPUTED)  # fmt: skip


def _discount(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """By how many percent the H share is dearer than the A share."""
    return (100.0 * (1.0 / (traded.premium(w, p)[0] / 100.0 + 1.0) - 1.0),)


def _no_rate(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """The premium with Hong Kong dollars taken for yuan."""
    return (100.0 * (traded.last_close(w, p["a"], p) / traded.last_close(w, p["h"], p) - 1.0),)
