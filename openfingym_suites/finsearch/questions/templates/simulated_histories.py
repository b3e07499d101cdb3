"""Questions on months and years of simulated shares, indices, rates and commodities, of tier T3."""

from __future__ import annotations

from dataclasses import replace
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
from openfingym_suites.finsearch.questions.programs import market, traded
from openfingym_suites.finsearch.questions.templates.simulated_instruments import (
    ACTIONS,
    BOTH,
    COMPUTED,
    FX,
    INDICES,
    METALS,
    STOCKS,
    draft,
    draw_commodity,
    draw_dual_listing,
    draw_index,
    mention,
    names_of,
    session_days,
)


def _months(d: Draw, row: dict[str, Any], low: int, high: int) -> tuple[str, str, str]:
    """A time, and the first and the last month of a span that ends before it.

    Args:
        d: what the question is drawn with.
        row: row of the instrument, which has prices in all of the span.
        low: least number of months.
        high: one more than the largest number of months.

    Raises:
        SkipError: the span that was drawn is not inside of the series.
    """
    days = session_days(d, row)
    first = d.one(days)[:7]
    last = month_after(first, d.rng.randrange(low, high) - 1)
    if last >= days[-1][:7] or first <= days[0][:7]:
        raise SkipError("the span is not inside of the series")
    return d.asked_after(month_after(last, 1) + "-01", 900), first, last


@template("T3", INDICES, subsets=BOTH, most=8)
def sim_index_largest_month(d: Draw) -> Draft:
    row, which = draw_index(d), d.one(["rise", "fall"])
    as_of, first, last = _months(d, row, 60, 185)
    params = {
        "legs": [[row["symbol"], 1]],
        "first": f"{month_after(first, -1)}-01",
        "last": month_end(last),
        "which": which,
        "percent": True,
    }
    text = d.say(
        f"From {d.day(first)} to {d.day(last)}, in which month did the {mention(d, row)} experience the largest "
        f"single-month {'increase' if which == 'rise' else 'decrease'}, and of how many percent ({d.digits(2)})?",
        f"从{d.day(first)}到{d.day(last)}，"
        f"{mention(d, row)}单月{'涨幅' if which == 'rise' else '跌幅'}最大的是哪个月？"
        f"涨跌幅是多少（%，{d.digits(2)}）？",
    )
    return draft([row], text, as_of, market.largest_month, params, (AskedValue("month", "date"), percent()), {
        "the runner-up": (market.largest_month, {**params, "rank": 1}),
        "the other direction": (market.largest_month, {**params, "which": "rise" if which == "fall" else "fall"}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", METALS, subsets=BOTH, most=8)
def sim_commodity_large_days(d: Draw) -> Draft:
    row, which = draw_commodity(d), d.one(["rise", "fall"])
    as_of, first, last = _months(d, row, 12, 60)
    params = {
        "legs": [[row["symbol"], 1]],
        "first": f"{first}-01",
        "last": month_end(last),
        "which": which,
        "scale": 1.0,
        "size": 0.0,
    }
    moves = sorted((abs(move) for _, move in market.large_days(d.world, params)), reverse=True)
    count = d.rng.randrange(3, 8)
    # The threshold lies between two changes, so far from both that rounding cannot move a day across it.
    if moves[count - 1] - moves[count] < 0.3:
        raise SkipError("no threshold lies between two changes")
    params["size"] = float(round((moves[count - 1] + moves[count]) / 2, 1))
    english, chinese = names_of(row)
    text = d.say(
        f"What were the specific dates from {d.day(first)} to {d.day(last)} when {english} "
        f"{'rose' if which == 'rise' else 'dropped'} by more than ${params['size']:g} in a single day "
        "(close to close within that span)? "
        f"List the dates with the change in USD ({d.digits(1)}, signed), by date ascending.",
        f"{d.day(first)}至{d.day(last)}期间，{chinese}单日{'上涨' if which == 'rise' else '下跌'}超过"
        f"{params['size']:g}美元（收盘价对前一收盘价，均在该期间内）的具体日期有哪些？"
        f"请按日期升序列表，并给出当日涨跌额（美元，带正负号，{d.digits(1)}）。",
    )
    ask = AskedValue("change", unit="USD", decimals=1, rule="within", tolerance=0.11)
    return draft([row], text, as_of, market.large_days, params, (AskedValue("date", "date"), ask), {
        "the other direction": (market.large_days, {**params, "which": "rise" if which == "fall" else "fall"}),
        "a lower threshold": (market.large_days, {**params, "size": moves[count] - 1e-6}),
    }, why=COMPUTED, table=True)  # fmt: skip


@template("T3", FX, subsets=(CHINA,), most=8)
def sim_parities_not_in_unison(d: Draw) -> Draft:
    rows = d.some([row for row in d.world.instruments("fx fixing") if row["symbol"] != "USDCNY-FIXING"], 2)
    rows.append(next(row for row in d.world.instruments("fx fixing") if row["symbol"] == "USDCNY-FIXING"))
    as_of, first, _ = _months(d, rows[0], 2, 4)
    params = {
        "pairs": [[[row["symbol"], 1]] for row in rows],
        "start": f"{first}-01",
        "first": shifted(f"{first}-01", -15),
        "last": month_end(first),
    }
    codes = [row["symbol"].split("-")[0] for row in rows]
    codes = [f"{code[:3]}/{code[3:]}" for code in codes]
    text = d.say(
        f"During {d.day(first)}, did the daily changes in the central parity rates of {codes[0]}, "
        f"{codes[1]} and {codes[2]} always have the same direction? "
        f"Among the days when they did not, find the date of the greatest single increase of {codes[2]}, "
        f"and list the three central parity rates of that day ({d.digits(4)}).",
        f"{d.day(first)}期间，{'、'.join(codes)}三个人民币汇率中间价每日"
        "（较前一交易日）的变动方向是否始终一致？"
        f"在方向不一致的日子中，请找出{codes[2]}中间价单日上调幅度最大的日期，"
        f"并列出当日三个中间价，{d.digits(4)}。",
    )
    asks = (AskedValue("date", "date"), *(AskedValue(code, unit="CNY", decimals=4) for code in codes))
    drafted = draft(rows, text, as_of, market.against_the_others, params, asks, {
        "the runner-up": (market.against_the_others, {**params, "rank": 1}),
    })  # fmt: skip
    return replace(drafted, names=(*drafted.names, *codes))


@template("T3", STOCKS, subsets=(CHINA,), most=6)
def sim_extreme_premium(d: Draw) -> Draft:
    (a_row, h_row), which = draw_dual_listing(d), d.one(["highest", "lowest"])
    as_of, first, last = _months(d, h_row, 10, 70)
    params = {
        "a": a_row["symbol"],
        "h": h_row["symbol"],
        "rate": "HKDCNY-FIXING",
        "first": f"{first}-01",
        "last": month_end(last),
        "which": which,
    }
    english, chinese = names_of(a_row)
    text = d.say(
        f"On which day from {d.day(first)} to {d.day(last)} was the premium of {english}'s A share "
        f"({a_row['symbol']}) over its H share ({h_row['symbol']}) {which}, with closes of the same "
        f"day and that day's HKD/CNY central parity rate, and how many percent was it ({d.digits(2)})?",
        f"{d.day(first)}至{d.day(last)}，{chinese}A股（{a_row['symbol']}）相对H股"
        f"（{h_row['symbol']}）的溢价率（同日收盘价，"
        f"按当日港元兑人民币中间价折算）{'最高' if which == 'highest' else '最低'}"
        f"的是哪一天，溢价率是多少（%，{d.digits(2)}）？",
    )
    other = {**params, "which": "lowest" if which == "highest" else "highest"}
    asks = (AskedValue("date", "date"), percent("premium"))
    return draft([a_row, h_row], text, as_of, traded.extreme_premium, params, asks, {
        "the runner-up": (traded.extreme_premium, {**params, "rank": 1}),
        "the other end": (traded.extreme_premium, other),
    }, why=COMPUTED)  # fmt: skip


@template("T3", STOCKS, subsets=(CHINA,), most=6)
def sim_dual_value(d: Draw) -> Draft:
    a_row, h_row = draw_dual_listing(d)
    year = d.rng.randrange(2013, 2025)
    end = f"{year}-12-31"
    facts = d.world.facts(a_row["company"], "Shares outstanding", end, "A shares", "CAS")
    params = {
        "company": a_row["company"],
        "a": a_row["symbol"],
        "h": h_row["symbol"],
        "rate": "HKDCNY-FIXING",
        "end": end,
        "first": shifted(end, -30),
        "day": end,
        "scale": 1e8 if d.zh else 1e6,
    }
    english, chinese = names_of(a_row)
    text = d.say(
        f"What was the market value of {english} (A: {a_row['symbol']}, H: {h_row['symbol']}) at the end of {year}, "
        "as A-share close × A shares + H-share close × H shares, with the last closes and the last "
        f"HKD/CNY central parity of the year and the share counts at year-end, in million CNY, {d.digits(2)}?",
        f"按“A股收盘价×A股股数+H股收盘价×H股股数”计算，{chinese}（A股{a_row['symbol']}，"
        f"H股{h_row['symbol']}）{year}年末总市值是多少亿元人民币？"
        "收盘价与港元兑人民币中间价均取当年最后一个交易日，"
        f"股数取年末数，{d.digits(2)}。",
    )
    amount = traded.dual_value(d.world, params)[0]
    ask = AskedValue(
        "value",
        unit="亿元" if d.zh else "million CNY",
        decimals=2,
        rule="within",
        tolerance=round(max(0.02, amount * 5e-5), 3),
    )
    # Asked once the report that states the shares is out.
    return draft([a_row, h_row], text, d.asked_after(facts[0].filed, 700), traded.dual_value, params, (ask,), {
        "all shares at the A price": (traded.dual_value, {**params, "all_at_a": True}),
    }, why="The parity rate may be used with four digits: 5e-5 of the amount.")  # fmt: skip


@template("T3", ACTIONS, subsets=BOTH, most=6)
def sim_total_return(d: Draw) -> Draft:
    shares = [row for row in d.world.instruments("stock") if row["symbol"].endswith(".US") != (d.subset == CHINA)]
    splits = {row["symbol"]: [day for day, kind, _ in d.world.actions(row["symbol"]) if kind == "split"]
              for row in shares}  # fmt: skip
    row = d.one([row for row in shares if splits[row["symbol"]]])
    split = d.one(splits[row["symbol"]])
    # Bought before the split and sold after it.
    days = session_days(d, row)
    place = next(i for i, day in enumerate(days) if day >= split)
    low, high = max(0, place - d.rng.randrange(10, 400)), min(len(days) - 1, place + d.rng.randrange(5, 300))
    cash = d.rng.random() < 0.5
    params = {"symbol": row["symbol"], "from": days[low], "to": days[high], "cash": cash}
    text = d.say(
        f"Bought at the close of {d.day(days[low])} and sold at the close of {d.day(days[high])}, "
        f"what did one share of {mention(d, row)} return in percent, stock splits and bonus shares counted and "
        f"{'cash dividends added without reinvestment' if cash else 'cash dividends left out'} ({d.digits(2)})? "
        "Prices are as traded.",
        f"以{d.day(days[low])}收盘价买入、{d.day(days[high])}收盘价卖出{mention(d, row)}，"
        f"考虑送转股或拆股，{'并计入现金分红（不再投资）' if cash else '不计现金分红'}，"
        f"期间收益率是多少（%，{d.digits(2)}）？"
        "行情为不复权价格。",
    )
    return draft([row], text, d.asked_after(days[high], 900), traded.total_return, params, (percent("return"),), {
        "without the split": (traded.total_return, {**params, "splits": False}),
    }, why=COMPUTED)  # fmt: skip


@template("T3", FX, subsets=(CHINA,), most=6)
def sim_extreme_gap(d: Draw) -> Draft:
    which = d.one(["most", "least"])
    symbols = d.one([["USDCNH-OFFSHORE", "USDCNY-ONSHORE"], ["USDCNY-ONSHORE", "USDCNY-FIXING"]])
    rows = [row for kind in ("fx", "fx fixing") for row in d.world.instruments(kind) if row["symbol"] in symbols]
    rows.sort(key=lambda row: symbols.index(row["symbol"]))
    as_of, first, last = _months(d, rows[0], 8, 60)
    params = {"symbols": symbols, "first": f"{first}-01", "last": month_end(last), "which": which, "scale": 10_000.0}
    (name, name_zh), (other, other_zh) = map(names_of, rows)
    text = d.say(
        f"When, from {d.day(first)} to {d.day(last)}, "
        f"was {name} {'furthest above' if which == 'most' else 'lowest relative to'} {other} on closing "
        f"rates of the same day, and by how many pips (first minus second, 0.0001, {d.digits(0)})?",
        f"在{d.day(first)}至{d.day(last)}期间，"
        f"{name_zh}相对{other_zh}（同日收盘）{'高出最多' if which == 'most' else '差值最低'}"
        f"的是哪一天，差值（前者减后者）为多少基点（0.0001，{d.digits(0)}）？",
    )
    asks = (AskedValue("date", "date"), AskedValue("gap", decimals=0, rule="within", tolerance=1.0))
    return draft(rows, text, as_of, traded.extreme_gap, params, asks, {
        "the runner-up": (traded.extreme_gap, {**params, "rank": 1}),
        "the other way round": (traded.extreme_gap, {**params, "symbols": symbols[::-1]}),
    }, why="Rates are shown with four decimals: each may be off by half of the fourth.")  # fmt: skip


@template("T3", STOCKS, subsets=BOTH, most=6)
def sim_best_of_industry(d: Draw) -> Draft:
    china = d.subset == CHINA
    rows = [
        row
        for row in d.world.instruments("stock")
        if row["delisted"] is None and (row["symbol"][-2:] in ("SH", "SZ") if china else row["symbol"].endswith("US"))
    ]
    industry = d.one(sorted({row["industry"] for row in rows}))
    chosen = [row for row in rows if row["industry"] == industry]
    chosen = d.some(chosen, min(4, len(chosen)))
    days = sorted(set.intersection(*(set(session_days(d, row)) for row in chosen)))
    if len(days) < 300 or len(chosen) < 3:
        raise SkipError("too little")
    low = d.rng.randrange(0, len(days) - 130)
    high = d.rng.randrange(low + 60, min(len(days), low + 800))
    params = {"named": [[row["symbol"], row["symbol"]] for row in chosen], "from": days[low], "to": days[high]}
    listed = d.say(", ", "、").join(
        f"{names_of(row)[1 if d.zh else 0]}{d.say(' (', '（')}{row['symbol']}{d.say(')', '）')}" for row in chosen
    )
    text = d.say(
        f"Which of {listed} had the best price return from the close of {d.day(days[low])} to that of "
        f"{d.day(days[high])}, splits counted and dividends not, and of how many percent ({d.digits(2)})? "
        "Name its symbol.",
        f"{d.day(days[low])}收盘至{d.day(days[high])}收盘，{listed}中涨幅最高"
        f"（考虑送转拆股，不计分红）的是哪一只，涨幅多少（%，{d.digits(2)}）？"
        "请给出证券代码。",
    )
    ask = AskedValue(
        "symbol",
        "text",
        choices=tuple(row["symbol"] for row in chosen),
        accept={row["symbol"]: names_of(row) for row in chosen},
    )
    asks = (ask, percent("return"))
    return draft(chosen, text, d.asked_after(days[high], 900), traded.constituent_best, params, asks, {
        "the runner-up": (traded.constituent_best, {**params, "rank": 1}),
    }, why=COMPUTED)  # fmt: skip
