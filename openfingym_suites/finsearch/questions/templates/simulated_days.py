"""Questions on a day or a month of simulated shares, indices, rates, commodities and futures, of tier T2."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    AskedValue,
    Draft,
    Draw,
    month_end,
    percent,
    shifted,
    template,
)
from openfingym_suites.finsearch.questions.programs import market, traded
from openfingym_suites.finsearch.questions.templates.simulated_instruments import (
    ACTIONS,
    BONDS,
    BOTH,
    COMPUTED,
    FIELDS,
    FX,
    INDICES,
    METALS,
    SPOTS,
    STOCKS,
    TRADED,
    currency_names,
    draft,
    draw_commodity,
    draw_field,
    draw_index,
    draw_share,
    mention,
    names_of,
    session_days,
)


def _span(d: Draw, row: dict[str, Any], low: int, high: int, most: int = 1200) -> tuple[str, list[str]]:
    """A time, and consecutive sessions of an instrument that end before it.

    Args:
        d: what the question is drawn with.
        row: row of the instrument.
        low: least number of sessions.
        high: one more than the largest number of sessions.
        most: days after the last of them by which the question is asked.
    """
    days = session_days(d, row)
    count = d.rng.randrange(low, min(high, len(days) - 1))
    place = d.rng.randrange(len(days) - count)
    chosen = days[place : place + count]
    return d.asked_after(chosen[-1], most), chosen


@template("T2", STOCKS, subsets=BOTH, most=8)
def sim_share_on_day(d: Draw) -> Draft:
    row = draw_share(d)
    as_of, days = _span(d, row, 2, 3)
    words, unit, ask, more = draw_field(d, row)
    # From twelve days earlier, so that even over the longest holidays there is a session before the first of the two.
    params = {"symbol": row["symbol"], "first": shifted(days[0], -12), "day": days[1], **more}
    text = d.say(
        f"What was the {words} of {mention(d, row)} on {d.day(days[1])} (unadjusted, {unit}, {d.digits(2)})?",
        d.one(
            [
                "{day}，{name}的{words}是多少（不复权，{unit}，{digits}）？",
                "{name}在{day}的{words}（未复权）是多少？单位：{unit}，{digits}。",
            ]
        ).format(day=d.day(days[1]), name=mention(d, row), words=words, unit=unit, digits=d.digits(2)),
    )
    other = "open" if more["field"] == "close" else "close"
    return draft([row], text, as_of, market.bar_on, params, (ask,), {
        "the session before": (market.bar_on, {**params, "day": days[0]}),
        f"{other} for {more['field']}": (market.bar_on, {**params, "field": other, "scale": 1.0}),
    })  # fmt: skip


@template("T2", INDICES, subsets=BOTH, most=8)
def sim_index_on_day(d: Draw) -> Draft:
    row, field = draw_index(d), d.one(["close", "change", "range", "open"])
    as_of, days = _span(d, row, 2, 3)
    params = {"symbol": row["symbol"], "first": shifted(days[0], -12), "day": days[1], "field": field}
    words = {
        "close": ("closing level", "收盘点位"),
        "open": ("opening level", "开盘点位"),
        "change": ("percentage change on closing levels", "涨跌幅（%，按收盘点位）"),
        "range": ("high-low range as a percentage of the low", "振幅（最高与最低之差除以最低，%）"),
    }[field]
    text = d.say(
        f"On {d.day(days[1])}, what was the {words[0]} of the {mention(d, row)}, {d.digits(2)}?",
        f"{mention(d, row)}在{d.day(days[1])}的{words[1]}是多少？{d.digits(2)}。",
    )
    ask = AskedValue("level", decimals=2) if field in ("close", "open") else percent()
    other = "open" if field != "open" else "close"
    return draft([row], text, as_of, market.bar_on, params, (ask,), {
        "the session before": (market.bar_on, {**params, "day": days[0]}),
        f"{other} for {field}": (market.bar_on, {**params, "field": other}),
    }, why=TRADED if field in ("close", "open") else COMPUTED)  # fmt: skip


@template("T2", FX, subsets=(CHINA,), most=8)
def sim_parity_on_day(d: Draw) -> Draft:
    rows = [*d.world.instruments("fx fixing"), *[row for row in d.world.instruments("fx") if row["symbol"] in SPOTS]]
    row = d.one(rows)
    as_of, days = _span(d, row, 2, 3)
    params = {"legs": [[row["symbol"], 1]], "day": days[1], "first": days[0], "last": days[1]}
    english, chinese = names_of(row)
    close = row["kind"] != "fx fixing"
    text = d.say(
        f"What was the {english}{' at its close' if close else ''} on {d.day(days[1])}, {d.digits(4)}?",
        f"{d.day(days[1])}{chinese}{'收盘价' if close else ''}是多少（{d.digits(4)}）？",
    )
    twin = {
        "USDCNY-ONSHORE": "USDCNH-OFFSHORE",
        "USDCNH-OFFSHORE": "USDCNY-ONSHORE",
        "USDCNY-FIXING": "USDCNY-ONSHORE",
    }.get(row["symbol"])
    alternatives = {"the day before": (market.level_on, {**params, "day": days[0]})}
    if twin:
        alternatives["onshore for offshore, spot for parity"] = (market.level_on, {**params, "legs": [[twin, 1]]})
    ask = AskedValue("rate", decimals=4)
    return draft([row], text, as_of, market.level_on, params, (ask,), alternatives)


@template("T2", ACTIONS, subsets=BOTH, most=8)
def sim_dividends(d: Draw) -> Draft:
    row = draw_share(d)
    paid = [day for day, kind, _ in d.world.actions(row["symbol"]) if kind == "dividend"]
    year = d.one(paid)[:4]
    params = {"symbol": row["symbol"], "first": f"{year}-01-01", "last": f"{year}-12-31"}
    as_of = d.asked_after(f"{year}-12-31", 1500)
    currency = row["currency"]
    text = d.say(
        "How much cash dividend per share (before tax, "
        f"in {currency}) went ex-dividend for {mention(d, row)} in the calendar year {year} in total, {d.digits(2)}?",
        f"{mention(d, row)}在{year}年内除息的每股现金分红（税前）合计多少{currency_names(row)[1]}？{d.digits(2)}。",
    )
    before = {**params, "first": f"{int(year) - 1}-01-01", "last": f"{int(year) - 1}-12-31"}
    ask = AskedValue("dividend", unit=currency, decimals=2)
    return draft([row], text, as_of, traded.dividends, params, (ask,), {
        "the year before": (traded.dividends, before),
        "two years": (traded.dividends, {**params, "first": before["first"]}),
    }, why="The announcement states the amount: rounding alone may differ.")  # fmt: skip


@template("T2", METALS, subsets=BOTH, most=6)
def sim_commodity_on_day(d: Draw) -> Draft:
    row, which = draw_commodity(d), d.one(["day", "mean", "highest"])
    as_of, days = _span(d, row, 50, 51)
    english, chinese = names_of(row)
    per = ("barrel", "桶") if row["symbol"].startswith("CRUDE") else ("ounce", "盎司")
    if which == "day":
        params = {
            "symbol": row["symbol"],
            "first": shifted(days[29], -12),
            "day": days[30],
            "field": d.one(["close", "high", "low"]),
        }
        words = d.say(*FIELDS[params["field"]])
        text = d.say(
            f"{english}: what was the {words} on {d.day(days[30])}, in USD per {per[0]}, {d.digits(2)}?",
            f"{d.day(days[30])}，{chinese}的{words}是多少美元/{per[1]}（{d.digits(2)}）？",
        )
        return draft([row], text, as_of, market.bar_on, params, (AskedValue("price", unit="USD", decimals=2),), {
            "the session before": (market.bar_on, {**params, "day": days[29]}),
            "the open": (market.bar_on, {**params, "field": "open"}),
        })  # fmt: skip
    month = days[25][:7]
    params = {"legs": [[row["symbol"], 1]], "first": f"{month}-01", "last": month_end(month), "which": which}
    called = {"mean": ("average", "平均"), "highest": ("highest", "最高")}[which]
    text = d.say(
        f"What was the {called[0]} daily close of {english} in {d.day(month)} (USD per {per[0]}, {d.digits(2)})?",
        f"{d.day(month)}{chinese}的{called[1]}日收盘价是多少美元/{per[1]}（{d.digits(2)}）？",
    )
    ask = AskedValue("price", unit="USD", decimals=2)
    return draft([row], text, as_of, market.period_statistic, params, (ask,), {
        "the last of the month": (market.period_statistic, {**params, "which": "last"}),
    })  # fmt: skip


@template("T2", BONDS, subsets=(GLOBAL,), most=5)
def sim_note_future_on_day(d: Draw) -> Draft:
    row = d.one([row for row in d.world.instruments("future") if row["symbol"].startswith("TN")])
    as_of, days = _span(d, row, 3, 4)
    params = {"symbol": row["symbol"], "first": days[0], "day": days[2], "field": "close"}
    english, _ = names_of(row)
    text = (
        f"At what price did the {english} ({row['symbol']}) settle on {d.day(days[2])}? "
        "Points as a decimal; the quote in points and 32nds is accepted as well."
    )
    ask = AskedValue("price", rule="within", tolerance=0.0005)
    return draft([row], text, as_of, market.bar_on, params, (ask,), {
        "the session before": (market.bar_on, {**params, "day": days[1]}),
        "32nds taken for hundredths": (_misread, params),
    }, why="The contract is quoted in quarters of a 32nd: exact.")  # fmt: skip


def _misread(w: Any, p: dict[str, Any]) -> tuple[Any, ...]:
    """A quote in points and 32nds read as a decimal."""
    price = market.bar_on(w, p)[0]
    return (int(price) + round((price - int(price)) * 32.0, 2) / 100.0,)
