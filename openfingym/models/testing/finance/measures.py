"""What the stand-in makes of dated values: the latest, a change, an extreme, the largest move of a month."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from datetime import date
from statistics import fmean

from openfingym.models.testing.finance.reading import ReadQuestion, holds

Points = Sequence[tuple[str, float]]
"""Days and values, the oldest first."""
_LAST = re.compile(
    r"(?:over the|the) (?:last )?(\d+)(?: most recent)? (?:fixings|sessions)|最近(\d+)次|最近(\d+)个交易日"
)
_LIMIT = re.compile(r"(?:above|below) ([\d.]+)|[高低]于([\d.]+)")
HIGH = ("highest", "peak", "largest", "最高")
LOW = ("lowest", "bottom", "最低")


def span_of(asked: ReadQuestion) -> tuple[str, str]:
    """First and last day that are needed to answer."""
    year = str(date(asked.today.year - 1, 12, 10))
    if asked.months and asked.days:
        return str(min(*asked.months, *asked.days)), str(max(asked.days))
    if len(asked.months) > 1:
        first, last = asked.months[0], asked.months[-1]
        before = date(first.year - (first.month == 1), (first.month - 2) % 12 + 1, 1)
        return str(before), str(_end(last))
    if asked.months:
        return str(asked.months[0]), str(_end(asked.months[0]))
    if asked.days:
        first = min(asked.days)
        return str(date.fromordinal(first.toordinal() - 12)), str(max(asked.days))
    if holds(asked.text, "year", "今年", "month", "本月", "date"):
        return year, str(asked.today)
    return asked.before(60), str(asked.today)


def measured(asked: ReadQuestion, points: Points, *, bp: bool = False) -> str | None:
    """The answer from the values of the days that are needed.

    Args:
        asked: the question.
        points: values; in percent where changes are in basis points.
        bp: whether changes are in basis points, as of yields.
    """
    if not points:
        return None
    text = asked.text
    if len(asked.months) > 1:
        return _over_months(asked, points, bp=bp)
    if asked.months:
        values = [value for _, value in points]
        return asked.shown(_chosen(text, values))
    if asked.days:
        return _on_days(asked, points, bp=bp)
    last_day, last = points[-1]
    if found := _LAST.search(text):
        count = int(next(filter(None, found.groups())))
        return asked.shown(_chosen(text, [value for _, value in points[-count:]]))
    if holds(text, "business day before"):
        return asked.shown((last - points[-2][1]) * 100)
    if holds(text, "twenty business days"):
        return asked.shown((last - points[-21][1]) * 100)
    if holds(text, "year to date", "year-to-date", "今年以来", "end of the previous year"):
        return asked.shown(_move(_before(points, f"{asked.today.year}-01-01"), last, bp=bp))
    if holds(text, "month to date", "month-to-date", "本月以来", "end of the previous month"):
        return asked.shown(_move(_before(points, f"{asked.today:%Y-%m}-01"), last, bp=bp))
    if holds(text, "pips", "个基点"):
        return asked.shown((last - points[-2][1]) * 10_000)
    if holds(text, "percent", "change", "涨跌幅") and not bp:
        return asked.shown(_move(points[-2][1], last))
    if holds(text, "which date", "哪一天"):
        return json.dumps({"date": last_day, "value": float(asked.shown(last))})
    return asked.shown(last)


def _on_days(asked: ReadQuestion, points: Points, *, bp: bool) -> str | None:
    days, text = [str(day) for day in asked.days], asked.text
    at = [next((value for day, value in points if day == one), None) for one in days]
    if at[0] is None or at[-1] is None:
        return None
    if len(days) > 1:
        return asked.shown(_move(at[0], at[-1], bp=bp))
    if holds(text, "change", "涨跌幅"):
        return asked.shown(_move(_before(points, days[0]), at[0], bp=bp))
    return asked.shown(at[0])


def _over_months(asked: ReadQuestion, points: Points, *, bp: bool) -> str | None:
    text = asked.text
    inside = [(day, value) for day, value in points if day >= str(asked.months[0])]
    if holds(text, "in which month", "which month", "哪个月"):
        ends = {day[:7]: value for day, value in points}
        names = sorted(ends)
        moves = [(_move(ends[a], ends[b], bp=bp), b) for a, b in itertools.pairwise(names)]
        fall = holds(text, "decrease", "fall", "跌幅最大", "最大跌幅")
        value, month = min(moves) if fall else max(moves)
        return json.dumps({"month": month, "change": float(asked.shown(value))})
    if holds(text, "unison", "list", "run of", "consecutive", "列出", "连续") or not inside:
        return None
    if found := _LIMIT.search(text):
        over = holds(text, "above", "高于")
        limit = float(found[1] or found[2])
        days = [day for day, value in inside if (value > limit if over else value < limit)]
        return json.dumps({"count": len(days), "first": days[0] if days else None})
    if holds(text, "drawdown", "回撤"):
        return _drawdown(asked, inside)
    day, value = (min if holds(text, *LOW) else max)(inside, key=lambda point: point[1])
    return json.dumps({"date": day, "value": float(asked.shown(value))})


def _drawdown(asked: ReadQuestion, points: Points) -> str:
    fall, peak, best = 0.0, points[0], (points[0][0], points[0][0])
    for day, value in points:
        peak = (day, value) if value > peak[1] else peak
        if value / peak[1] - 1 < fall:
            fall, best = value / peak[1] - 1, (peak[0], day)
    return json.dumps({"peak": best[0], "trough": best[1], "fall": float(asked.shown(100 * fall))})


def _chosen(text: str, values: Sequence[float]) -> float:
    if holds(text, *HIGH):
        return max(values)
    if holds(text, *LOW):
        return min(values)
    return fmean(values) if holds(text, "average", "mean", "平均") else values[-1]


def _move(before: float, after: float, *, bp: bool = False) -> float:
    return (after - before) * 100 if bp else (after / before - 1) * 100


def _before(points: Points, day: str) -> float:
    """The last value before a day; the first one there is, where that is none."""
    return next((value for at, value in reversed(points) if at < day), points[0][1])


def _end(month: date) -> date:
    return date.fromordinal(date(month.year + month.month // 12, month.month % 12 + 1, 1).toordinal() - 1)
