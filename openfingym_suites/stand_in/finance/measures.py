"""Measures that the stand-in computes from dated values: the latest, a change, an extreme, a month's largest move."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from datetime import date
from statistics import fmean

from openfingym_suites.stand_in.finance.reading import ReadQuestion, holds

Points = Sequence[tuple[str, float]]
"""Days (ISO 8601) and values, the oldest first."""
_LAST = re.compile(
    r"(?:over the|the) (?:last )?(\d+)(?: most recent)? (?:fixings|sessions)|最近(\d+)次|最近(\d+)个交易日"
)
_LIMIT = re.compile(r"(?:above|below) ([\d.]+)|[高低]于([\d.]+)")
HIGH = ("highest", "peak", "largest", "最高")
LOW = ("lowest", "bottom", "最低")


def span_of(question: ReadQuestion) -> tuple[str, str]:
    """First and last day (ISO 8601) of the values that are needed for an answer."""
    # From before the turn of the year: a change since then begins at the year's last close.
    year = str(date(question.today.year - 1, 12, 10))
    if question.months and question.days:
        return str(min(*question.months, *question.days)), str(max(question.days))
    if len(question.months) > 1:
        first, last = question.months[0], question.months[-1]
        before = date(first.year - (first.month == 1), (first.month - 2) % 12 + 1, 1)
        return str(before), str(_end(last))
    if question.months:
        return str(question.months[0]), str(_end(question.months[0]))
    if question.days:
        first = min(question.days)
        # Twelve days earlier, so that there is a value before the day, whatever holidays lie between.
        return str(date.fromordinal(first.toordinal() - 12)), str(max(question.days))
    if holds(question.text, "year", "今年", "month", "本月", "date"):
        return year, str(question.today)
    return question.before(60), str(question.today)


def measured(question: ReadQuestion, points: Points, *, bp: bool = False) -> str | None:
    """The answer from the values of the days that are needed.

    Args:
        question: the question, as the stand-in reads it.
        points: values of the days; in percent where changes are in basis points.
        bp: whether changes are in basis points, as those of yields are.

    Returns:
        The answer as a text; None where the question asks for a measure that is not known here.
    """
    if not points:
        return None
    text = question.text
    if len(question.months) > 1:
        return _over_months(question, points, bp=bp)
    if question.months:
        values = [value for _, value in points]
        return question.shown(_chosen(text, values))
    if question.days:
        return _on_days(question, points, bp=bp)
    last_day, last = points[-1]
    if match := _LAST.search(text):
        count = int(next(filter(None, match.groups())))
        return question.shown(_chosen(text, [value for _, value in points[-count:]]))
    if holds(text, "business day before"):
        return question.shown((last - points[-2][1]) * 100)
    if holds(text, "twenty business days"):
        return question.shown((last - points[-21][1]) * 100)
    if holds(text, "year to date", "year-to-date", "今年以来", "end of the previous year"):
        return question.shown(_move(_before(points, f"{question.today.year}-01-01"), last, bp=bp))
    if holds(text, "month to date", "month-to-date", "本月以来", "end of the previous month"):
        return question.shown(_move(_before(points, f"{question.today:%Y-%m}-01"), last, bp=bp))
    if holds(text, "pips", "个基点"):
        return question.shown((last - points[-2][1]) * 10_000)
    if holds(text, "percent", "change", "涨跌幅") and not bp:
        return question.shown(_move(points[-2][1], last))
    if holds(text, "which date", "哪一天"):
        return json.dumps({"date": last_day, "value": float(question.shown(last))})
    return question.shown(last)


def _on_days(question: ReadQuestion, points: Points, *, bp: bool) -> str | None:
    """The answer about one day that is named, or the change between two."""
    days, text = [str(day) for day in question.days], question.text
    at = [next((value for day, value in points if day == wanted), None) for wanted in days]
    if at[0] is None or at[-1] is None:
        return None
    if len(days) > 1:
        return question.shown(_move(at[0], at[-1], bp=bp))
    if holds(text, "change", "涨跌幅"):
        return question.shown(_move(_before(points, days[0]), at[0], bp=bp))
    return question.shown(at[0])


def _over_months(question: ReadQuestion, points: Points, *, bp: bool) -> str | None:
    """The answer about a stretch of months: a month's move, days beyond a limit, a drawdown, or an extreme."""
    text = question.text
    inside = [(day, value) for day, value in points if day >= str(question.months[0])]
    if holds(text, "in which month", "which month", "哪个月"):
        ends = {day[:7]: value for day, value in points}
        names = sorted(ends)
        moves = [(_move(ends[a], ends[b], bp=bp), b) for a, b in itertools.pairwise(names)]
        fall = holds(text, "decrease", "fall", "跌幅最大", "最大跌幅")
        value, month = min(moves) if fall else max(moves)
        return json.dumps({"month": month, "change": float(question.shown(value))})
    if holds(text, "unison", "list", "run of", "consecutive", "列出", "连续") or not inside:
        return None
    if match := _LIMIT.search(text):
        over = holds(text, "above", "高于")
        limit = float(match[1] or match[2])
        days = [day for day, value in inside if (value > limit if over else value < limit)]
        return json.dumps({"count": len(days), "first": days[0] if days else None})
    if holds(text, "drawdown", "回撤"):
        return _drawdown(question, inside)
    day, value = (min if holds(text, *LOW) else max)(inside, key=lambda point: point[1])
    return json.dumps({"date": day, "value": float(question.shown(value))})


def _drawdown(question: ReadQuestion, points: Points) -> str:
    """The largest fall from a peak to a later trough, in percent, with the days of both."""
    fall, peak, best = 0.0, points[0], (points[0][0], points[0][0])
    for day, value in points:
        peak = (day, value) if value > peak[1] else peak
        if value / peak[1] - 1 < fall:
            fall, best = value / peak[1] - 1, (peak[0], day)
    return json.dumps({"peak": best[0], "trough": best[1], "fall": float(question.shown(100 * fall))})


def _chosen(text: str, values: Sequence[float]) -> float:
    """The highest, lowest, mean or last of some values, as a text asks for it."""
    if holds(text, *HIGH):
        return max(values)
    if holds(text, *LOW):
        return min(values)
    return fmean(values) if holds(text, "average", "mean", "平均") else values[-1]


def _move(before: float, after: float, *, bp: bool = False) -> float:
    """A change in percent; in basis points of values in percent, where ``bp``."""
    return (after - before) * 100 if bp else (after / before - 1) * 100


def _before(points: Points, day: str) -> float:
    """The last value before a day; the first value of all, where there is none before it."""
    return next((value for at, value in reversed(points) if at < day), points[0][1])


def _end(month: date) -> date:
    return date.fromordinal(date(month.year + month.month // 12, month.month % 12 + 1, 1).toordinal() - 1)
