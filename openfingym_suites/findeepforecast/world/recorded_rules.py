"""Events of the real past that a rule decides: when they happened, what became of one, and how often similar ones did.

The condition of a :class:`~openfingym_suites.findeepforecast.problem.ForecastEvent` names its rule and what the rule
looks at, with colons between them. Its story says from which day on it counts (``since 2016-07-11``):

- ``8-K:5.02``: the company filed a Form 8-K with that item. The threshold is how many of them it filed at least.
- ``form:10-Q``: it filed that form; ``form:NT`` stands for any notice of a late report. The threshold is how many.
- ``target:any``, ``target:up``, ``target:down``: the Federal Reserve moved the upper bound of its target range. The
  threshold is by how many basis points at least.
- ``week:JP:FX_RATE``: the series was away from where it was five figures before. The threshold is how far at least, in
  percent, or in basis points for a yield.
- ``rise:US:HOUST:2016-09-30``, ``fall:...``: the first print of that period is above, or below, the first print of the
  period before. The threshold is by how much at least, in percent, or in points for a rate or a diffusion index.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from openfingym.errors import UsageError
from openfingym_suites.findeepforecast.problem import ForecastEvent
from openfingym_suites.findeepforecast.world.known import Published, Ruling
from openfingym_suites.findeepforecast.world.recorded_rows import Filing, VaultRows
from openfingym_suites.findeepforecast.world.recorded_series import SeriesPrints
from openfingym_suites.findeepforecast.world.recorded_tables import cik_of, series_lines

SINCE = "since "
"""Beginning of the story of an event that a rule decides, before a day."""
COUNTED = ("8-K", "form")
"""Rules whose threshold is a number of times."""
WEEK_FIGURES = 5
"""Figures from one day of a market to the same weekday of the next week."""
HISTORY = 1600
"""The most figures of a market that are looked at, which are some six years of them."""
POINTS = ("percent", "points of the diffusion index")
"""Units of series whose changes are in points, and not in percent."""
WINDOWS, LEAST_WINDOWS = 60, 8
"""The most and the fewest stretches of the past in which a base rate is counted."""
PRINTS, LEAST_PRINTS = 120, 12
"""The most figures, and the fewest changes from one to the next, in which the base rate of a change is counted."""
_EPSILON = 1e-9
"""How far below its threshold a change may be: rounding errors of a difference must not decide an event."""
_ITEMS_SINCE = date(2004, 9, 1)
"""The first day on which items of Form 8-K are sure to have today's numbers, which they have had since 2004-08-23."""


class Occurrence(NamedTuple):
    """A time at which something happened."""

    day: date
    """Day on which it happened."""
    known_at: datetime
    """The time since when it is known, in UTC."""
    source: str
    """Whose record says so, and which."""


class RecordedRules:
    """The rules, applied to what was known at a time.

    Args:
        rows: the rows of the vault.
        as_of: the time, in UTC.
        prints: gives a series, by its id, as it was known at that time.
    """

    def __init__(self, rows: VaultRows, as_of: datetime, prints: Callable[[str], SeriesPrints]) -> None:
        self._rows = rows
        self._as_of = as_of
        self._prints = prints
        # Kept, since a week of a season asks about the same rules by many days and thresholds.
        self._occurrences: dict[tuple[str, str, float], list[Occurrence]] = {}
        self._occurrence_days: dict[tuple[str, str, float], list[date]] = {}
        self._moves: dict[str, list[tuple[float, Published]]] = {}
        self._first_days: dict[tuple[str, str], date | None] = {}

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event; None as long as it is open.

        Raises:
            UsageError: the condition of the event names no rule, or its story names no day.
        """
        name = event.condition.partition(":")[0]
        if name in {"rise", "fall"}:
            return self._ruling_of_prints(event)
        since = _since(event)
        wanted = int(event.threshold) if name in COUNTED else 1
        counting = [occurrence for occurrence in self.occurrences(event) if since <= occurrence.day <= event.by]
        counting.sort(key=lambda occurrence: occurrence.known_at)
        # It has happened with the last one that is needed, as soon as that is known.
        if len(counting) >= wanted:
            return Ruling(True, counting[wanted - 1].known_at, counting[wanted - 1].source)
        over = known_after(event.by)
        if self._as_of < over:
            return None
        return Ruling(False, over, f"{self._authority(name)}: no more by the end of the day")

    def base_rate(self, event: ForecastEvent) -> float | None:
        """The share of past stretches of days, as long as the event's own, in which something similar happened; for a
        change between two prints, the share of past changes. None if the record has too few of them.

        Raises:
            UsageError: the condition of the event names no rule, or its story names no day.
        """
        name = event.condition.partition(":")[0]
        if name in {"rise", "fall"}:
            _, series, _ = _change_of(event)
            values = [published.value for published in self._prints(series).history(PRINTS)]
            changes = [_change(series, *pair) for pair in itertools.pairwise(values)]
            if len(changes) < LEAST_PRINTS:
                return None
            return sum(_reached(name, change, event.threshold) for change in changes) / len(changes)
        # First the days, which refuse an event that names no rule.
        days, begin = self._days(event), self._first_day(event)
        if begin is None:
            return None
        wanted = int(event.threshold) if name in COUNTED else 1
        length = timedelta(days=(event.by - _since(event)).days + 1)
        # Stretches follow one another from now back to the beginning of the record; [end - length, end) is the next.
        end, happened, count = self._as_of.date(), 0, 0
        after = bisect.bisect_left(days, end)
        while count < WINDOWS and end - length >= begin:
            end, count = end - length, count + 1
            before = bisect.bisect_left(days, end, 0, after)
            happened += after - before >= wanted
            after = before
        return happened / count if count >= LEAST_WINDOWS else None

    def occurrences(self, event: ForecastEvent) -> list[Occurrence]:
        """The times at which what an event asks for happened, as far as they are known.

        Args:
            event: the event; its own days do not matter.

        Raises:
            UsageError: the condition of the event names no rule that looks at days.
        """
        name, _, rest = event.condition.partition(":")
        key = self._key(event)
        if key not in self._occurrences:
            if name in COUNTED:
                self._occurrences[key] = self._filings(event.subject, name, rest)
            elif name == "target":
                self._occurrences[key] = self._target_moves(rest, event.threshold)
            elif name == "week" and rest in series_lines():
                self._occurrences[key] = self._market_moves(rest, event.threshold)
            else:
                raise _no_rule(event)
        return self._occurrences[key]

    def _days(self, event: ForecastEvent) -> list[date]:
        """The days of an event's occurrences, in order."""
        key = self._key(event)
        if key not in self._occurrence_days:
            self._occurrence_days[key] = sorted(occurrence.day for occurrence in self.occurrences(event))
        return self._occurrence_days[key]

    def _key(self, event: ForecastEvent) -> tuple[str, str, float]:
        """What an event's occurrences depend on. The threshold of a rule that counts says how many, and not which."""
        counted = event.condition.partition(":")[0] in COUNTED
        return event.subject, event.condition, 1.0 if counted else event.threshold

    def _filings(self, symbol: str, name: str, what: str) -> list[Occurrence]:
        """Filings of a company.

        Args:
            symbol: symbol of the company.
            name: the rule: ``8-K`` or ``form``.
            what: the item of Form 8-K, or the form.
        """
        occurrences = []
        for filing in self._known_filings(symbol):
            # An amendment, 8-K/A, reports nothing that happened anew.
            is_wanted = filing.form == "8-K" and what in filing.items if name == "8-K" else _is_form(filing.form, what)
            if is_wanted:
                occurrences.append(Occurrence(filing.filed, filing.known_at, f"SEC: {filing.form} {filing.accession}"))
        return occurrences

    def _known_filings(self, symbol: str) -> Sequence[Filing]:
        cik = cik_of(symbol)
        return () if cik is None else self._rows.filings(cik).until(self._as_of)

    def _target_moves(self, direction: str, points: float) -> list[Occurrence]:
        """Moves of the upper bound of the target range for the federal funds rate.

        Args:
            direction: ``up``, ``down`` or ``any``.
            points: by how many basis points at least.
        """
        occurrences, before = [], None
        for statement in self._rows.statements().until(self._as_of):
            if statement.upper is None:
                continue
            # The bounds are in percent.
            change = 0.0 if before is None else 100.0 * (statement.upper - before)
            before = statement.upper
            up, down = change >= points - _EPSILON, change <= _EPSILON - points
            if (up and direction != "down") or (down and direction != "up"):
                source = f"Federal Reserve: {statement.kind} of {statement.day}"
                occurrences.append(Occurrence(statement.day, statement.known_at, source))
        return occurrences

    def _market_moves(self, series: str, size: float) -> list[Occurrence]:
        """Days on which a series was away from where it was five figures before.

        Args:
            series: id of the series.
            size: how far at least, in percent, or in basis points for a yield.
        """
        if series not in self._moves:
            history = self._prints(series).history(HISTORY)
            self._moves[series] = [
                (abs(_change(series, before.value, figure.value, basis=True)), figure)
                for before, figure in zip(history, history[WEEK_FIGURES:], strict=False)
            ]
        return [
            Occurrence(figure.period, figure.at, f"{figure.source} of {figure.period}")
            for move, figure in self._moves[series]
            if move >= size - _EPSILON
        ]

    def _ruling_of_prints(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event about the change between two first prints; None if one of them is not known."""
        name, series, period = _change_of(event)
        prints = self._prints(series)
        first = prints.first(period)
        earlier = [known for known in prints.periods if known < period]
        if first is None or not earlier or (before := prints.first(earlier[-1])) is None:
            return None
        change = _change(series, before.value, first.value)
        return Ruling(_reached(name, change, event.threshold), first.at, f"{first.source} of {period}")

    def _first_day(self, event: ForecastEvent) -> date | None:
        """The first day on which the record would have what an event asks for; None if it has nothing of the kind."""
        key = (event.subject, event.condition)
        if key not in self._first_days:
            self._first_days[key] = self._find_first_day(event)
        return self._first_days[key]

    def _find_first_day(self, event: ForecastEvent) -> date | None:
        name, _, rest = event.condition.partition(":")
        if name in COUNTED:
            days = [filing.filed for filing in self._known_filings(event.subject)]
            return min((day for day in days if name != "8-K" or day >= _ITEMS_SINCE), default=None)
        if name == "target":
            return next((statement.day for statement in self._rows.statements().until(self._as_of)), None)
        periods = self._prints(rest).periods[-HISTORY:]
        return periods[0] if periods else None

    def _authority(self, name: str) -> str:
        return {"8-K": "SEC", "form": "SEC", "target": "Federal Reserve"}.get(name, "market")


def since_text(day: date) -> str:
    """The story of an event that counts from a day on, such as ``since 2016-07-11``."""
    return f"{SINCE}{day.isoformat()}"


def _since(event: ForecastEvent) -> date:
    """The day from which on an event counts, which its story names."""
    try:
        return date.fromisoformat(event.story.removeprefix(SINCE))
    except ValueError:
        raise UsageError(f"the story of a recorded event is {SINCE!r} and a day; found {event.story[:60]!r}") from None


def _change_of(event: ForecastEvent) -> tuple[str, str, date]:
    """The rule (``rise`` or ``fall``), the series and the period that an event about a change between prints names."""
    name, _, rest = event.condition.partition(":")
    series, _, day = rest.rpartition(":")
    try:
        period = date.fromisoformat(day)
    except ValueError:
        raise _no_rule(event) from None
    if series not in series_lines():
        raise _no_rule(event)
    return name, series, period


def _no_rule(event: ForecastEvent) -> UsageError:
    return UsageError(
        f"{event.condition[:80]!r} names no rule of the recorded world; expected one such as 8-K:5.02, "
        "form:10-Q, target:any, week:JP:FX_RATE or rise:US:HOUST:2016-09-30"
    )


def known_after(day: date) -> datetime:
    """When everything is known that happened on a day: at 05:00 UTC of the next one, which is midnight in New York in
    winter, and an hour after it in summer.
    """
    return datetime.combine(day + timedelta(days=1), time(5), UTC)


def _is_form(form: str, wanted: str) -> bool:
    """Whether a form is the wanted one; ``NT`` stands for all notices of late reports, such as ``NT 10-Q``."""
    return form.startswith("NT ") if wanted == "NT" else form == wanted


def _change(series: str, before: float, after: float, *, basis: bool = False) -> float:
    """How far a series moved: in percent, but in points if its unit is one of :data:`POINTS`.

    Args:
        series: id of the series.
        before: the value before.
        after: the value after.
        basis: whether points are counted in hundredths: of a percentage, in basis points.
    """
    if series_lines()[series].unit in POINTS:
        return (after - before) * (100.0 if basis else 1.0)
    return 100.0 * (after / before - 1.0) if before else 0.0


def _reached(name: str, change: float, threshold: float) -> bool:
    """Whether a change reaches a threshold: upwards by the rule ``rise``, and downwards by ``fall``."""
    return (change if name == "rise" else -change) >= threshold - _EPSILON
