"""What is true of instruments that are listed twice, pay dividends, or are quoted beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.sources import Sources

Params = dict[str, Any]


def last_close(w: Sources, symbol: str, p: Params) -> float:
    """The close of a day, or the last one before it."""
    return w.closes(symbol, p.get("first", "0000-01-01"), p.get("day", "9999-12-31"))[-1 - p.get("back", 0)][1]


def premium(w: Sources, p: Params) -> tuple[Any, ...]:
    """The premium in percent of the A share over the H share, whose price is turned into yuan at a rate."""
    a_share, h_share, rate = (last_close(w, symbol, p) for symbol in (p["a"], p["h"], p["rate"]))
    return (100.0 * (a_share / (h_share * rate) - 1.0),)


def premiums(w: Sources, p: Params) -> list[tuple[str, float]]:
    """(day, premium of the A share in percent) on the days on which all three were quoted."""
    a_share, h_share, rate = (dict(w.closes(symbol, p["first"], p["last"])) for symbol in (p["a"], p["h"], p["rate"]))
    days = sorted(a_share.keys() & h_share.keys() & rate.keys())
    return [(day, 100.0 * (a_share[day] / (h_share[day] * rate[day]) - 1.0)) for day in days]


def extreme_premium(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day of the highest or lowest premium of the A share, and the premium."""
    sign = -1.0 if p["which"] == "lowest" else 1.0
    return sorted(premiums(w, p), key=lambda row: -sign * row[1])[p.get("rank", 0)]


def dual_value(w: Sources, p: Params) -> tuple[Any, ...]:
    """A-share price times A shares plus H-share price times H shares in yuan, as of the end of a fiscal year."""
    shares = [
        next(fact.value for fact in w.facts(p["company"], "Shares outstanding", p["end"], part, "CAS"))
        for part in ("A shares", "H shares")
    ]
    a_share, h_share, rate = (last_close(w, symbol, p) for symbol in (p["a"], p["h"], p["rate"]))
    if p.get("all_at_a"):
        return (sum(shares) * a_share / p["scale"],)
    return ((shares[0] * a_share + shares[1] * h_share * rate) / p["scale"],)


def dividends(w: Sources, p: Params) -> tuple[Any, ...]:
    """The sum of the dividends a share whose ex-dividend days are in a span."""
    return (sum(amount for _, amount in dividend_table(w, p)),)


def total_return(w: Sources, p: Params) -> tuple[Any, ...]:
    """What an owner of one share gained between two closes, in percent; no dividend is reinvested."""
    closes = dict(w.closes(p["symbol"], p["from"], p["to"]))
    shares, cash = 1.0, 0.0
    for day, kind, value in w.actions(p["symbol"]):
        if p["from"] < day <= p["to"]:
            if kind == "split" and p.get("splits", True):
                shares *= value
            elif kind == "dividend" and p.get("cash", True):
                # A dividend is per share as of its day: after a split, one share of the beginning gets several.
                cash += shares * value
    return (100.0 * ((shares * closes[p["to"]] + cash) / closes[p["from"]] - 1.0),)


def dividend_table(w: Sources, p: Params) -> list[tuple[Any, ...]]:
    """(ex-dividend day, dividend a share) of a span of days."""
    return [
        (day, amount)
        for day, kind, amount in w.actions(p["symbol"])
        if kind == "dividend" and p["first"] <= day <= p["last"]
    ]


def latest_gap(w: Sources, p: Params) -> tuple[Any, ...]:
    """The difference of the first of two rates over the second, on the last day that has both."""
    first, second = (dict(w.closes(symbol, p["first"])) for symbol in p["symbols"])
    day = sorted(first.keys() & second.keys())[-1 - p.get("back", 0)]
    return ((first[day] - second[day]) * p["scale"],)


def extreme_gap(w: Sources, p: Params) -> tuple[Any, ...]:
    """The day on which the first of two rates was above the second most, or least, and by how much."""
    first, second = (dict(w.closes(symbol, p["first"], p["last"])) for symbol in p["symbols"])
    sign = -1.0 if p["which"] == "least" else 1.0
    gaps = [(day, (first[day] - second[day]) * p["scale"]) for day in sorted(first.keys() & second.keys())]
    return sorted(gaps, key=lambda row: -sign * row[1])[p.get("rank", 0)]


def constituent_best(w: Sources, p: Params) -> tuple[Any, ...]:
    """The share with the largest change of several between two days, in percent, splits counted, and the change."""
    returns = []
    for name, symbol in p["named"]:
        own = {"symbol": symbol, "from": p["from"], "to": p["to"], "cash": False, "splits": p.get("splits", True)}
        returns.append((name, total_return(w, own)[0]))
    return sorted(returns, key=lambda row: -row[1])[p.get("rank", 0)]
