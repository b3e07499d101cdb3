"""Events of the real past that a rule decides: when they happened, what became of one, and how often the like did.

The condition of a :class:`~openfingym.suites.findeepforecast.problem.ForecastEvent` names its rule and what that looks
at, with colons between; its story says from which day on it counts (``since 2016-07-11``):

- ``8-K:5.02``: the company filed a Form 8-K with that item; the threshold is how often.
- ``form:10-Q``: it filed a form of that name; ``form:NT`` any notice of a late report.
- ``target:any``, ``target:up``, ``target:down``: the Federal Reserve moved the upper bound of its target range by so
  many basis points at least.
- ``week:JP:FX_RATE``: the series was so many percent, or of a yield basis points, away from where it was five figures
  before.
- ``rise:US:HOUST:2016-09-30``, ``fall:...``: the first print of that period is above, or below, the first print of the
  one before by so much at least, in percent of it or, of a rate or diffusion index, in points.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from openfingym.errors import UsageError
from openfingym.suites.findeepforecast.problem import ForecastEvent
from openfingym.suites.findeepforecast.world.known import Published, Ruling
from openfingym.suites.findeepforecast.world.recorded_rows import VaultRows
from openfingym.suites.findeepforecast.world.recorded_series import SeriesPrints
from openfingym.suites.findeepforecast.world.recorded_tables import cik_of, series_lines

SINCE = "since "
COUNTED = ("8-K", "form")
"""Rules whose threshold is a number of times."""
WEEK_FIGURES = 5
HISTORY = 1600
"""Figures of a market, some six years of them, that are looked at."""
POINTS = ("percent", "points of the diffusion index")
"""Units of series whose changes are in points, not in percent of them."""
WINDOWS, LEAST_WINDOWS = 60, 8
"""Stretches of the past that a base rate is counted in, at most and at least."""
PRINTS, LEAST_PRINTS = 120, 12
"""Figures that the base rate of a change between two is counted in, at most and at least."""
_EPSILON = 1e-9


class Occurrence(NamedTuple):
    """A day on which something happened."""

    day: date
    known_at: datetime
    source: str


class RecordedRules:
    """The rules as of a time.

    Args:
        rows: the rows of the vault.
        as_of: the time.
        prints: gives a series by its id, as of that time.
    """

    def __init__(self, rows: VaultRows, as_of: datetime, prints: Callable[[str], SeriesPrints]) -> None:
        self._rows = rows
        self._as_of = as_of
        self._prints = prints
        self._found: dict[tuple[str, str, float], list[Occurrence]] = {}
        self._sorted: dict[tuple[str, str, float], list[date]] = {}
        self._moves: dict[str, list[tuple[float, Published]]] = {}
        self._begins: dict[tuple[str, str], date | None] = {}

    def ruling(self, event: ForecastEvent) -> Ruling | None:
        """What became of an event; None as long as it is open.

        Raises:
            UsageError: its condition names no rule, or its story no day.
        """
        name, _, rest = event.condition.partition(":")
        if name in {"rise", "fall"}:
            return self._printed(event, name, rest)
        since = _since(event)
        wanted = int(event.threshold) if name in COUNTED else 1
        found = [one for one in self.occurrences(event) if since <= one.day <= event.by]
        found.sort(key=lambda one: one.known_at)
        if len(found) >= wanted:
            return Ruling(True, found[wanted - 1].known_at, found[wanted - 1].source)
        over = _over(event.by)
        if self._as_of < over:
            return None
        return Ruling(False, over, f"{self._authority(name)}: no more by the end of the day")

    def base_rate(self, event: ForecastEvent) -> float | None:
        """In what share of past stretches as long as the event's own it happened, or of past prints; None where the
        record has too few of them.
        """
        name, _, rest = event.condition.partition(":")
        if name in {"rise", "fall"}:
            series = rest.rpartition(":")[0]
            values = [one.value for one in self._prints(series).history(PRINTS)]
            changes = [_change(series, *pair) for pair in itertools.pairwise(values)]
            if len(changes) < LEAST_PRINTS:
                return None
            return sum(_reached(name, change, event.threshold) for change in changes) / len(changes)
        begin = self._begin(event)
        if begin is None:
            return None
        wanted = int(event.threshold) if name in COUNTED else 1
        length = timedelta(days=(event.by - _since(event)).days + 1)
        days = self._days(event)
        end, happened, count = self._as_of.date(), 0, 0
        after = bisect.bisect_left(days, end)
        while count < WINDOWS and end - length >= begin:
            end, count = end - length, count + 1
            before = bisect.bisect_left(days, end, 0, after)
            happened += after - before >= wanted
            after = before
        return happened / count if count >= LEAST_WINDOWS else None

    def occurrences(self, event: ForecastEvent) -> list[Occurrence]:
        """The days on which what an event asks for happened, as far as that is known."""
        name, _, rest = event.condition.partition(":")
        key = self._key(event)
        if key not in self._found:
            if name in COUNTED:
                self._found[key] = self._filed(event.subject, name, rest)
            elif name == "target":
                self._found[key] = self._moved(rest, event.threshold)
            elif name == "week" and rest in series_lines():
                self._found[key] = self._week(rest, event.threshold)
            else:
                raise UsageError(
                    f"{event.condition[:80]!r} names no rule of the recorded world; expected one such as 8-K:5.02, "
                    "form:10-Q, target:any, week:JP:FX_RATE or rise:US:HOUST:2016-09-30"
                )
        return self._found[key]

    def _days(self, event: ForecastEvent) -> list[date]:
        """The days of occurrences, in order."""
        key = self._key(event)
        if key not in self._sorted:
            self._sorted[key] = sorted(one.day for one in self.occurrences(event))
        return self._sorted[key]

    def _key(self, event: ForecastEvent) -> tuple[str, str, float]:
        counted = event.condition.partition(":")[0] in COUNTED
        return event.subject, event.condition, 1.0 if counted else event.threshold

    def _filed(self, symbol: str, name: str, what: str) -> list[Occurrence]:
        cik = cik_of(symbol)
        rows = () if cik is None else self._rows.filings(cik).until(self._as_of)
        found = []
        for one in rows:
            fits = one.form == "8-K" and what in one.items if name == "8-K" else _is_form(one.form, what)
            if fits:
                found.append(Occurrence(one.filed, one.known_at, f"SEC: {one.form} {one.accession}"))
        return found

    def _moved(self, direction: str, points: float) -> list[Occurrence]:
        found, before = [], None
        for one in self._rows.statements().until(self._as_of):
            if one.upper is None:
                continue
            change = 0.0 if before is None else 100.0 * (one.upper - before)
            before = one.upper
            up, down = change >= points - _EPSILON, change <= _EPSILON - points
            if (up and direction != "down") or (down and direction != "up"):
                found.append(Occurrence(one.day, one.known_at, f"Federal Reserve: {one.kind} of {one.day}"))
        return found

    def _week(self, series: str, size: float) -> list[Occurrence]:
        if series not in self._moves:
            history = self._prints(series).history(HISTORY)
            self._moves[series] = [
                (abs(_change(series, before.value, one.value, basis=True)), one)
                for before, one in zip(history, history[WEEK_FIGURES:], strict=False)
            ]
        return [
            Occurrence(one.period, one.at, f"{one.source} of {one.period}")
            for moved, one in self._moves[series]
            if moved >= size - _EPSILON
        ]

    def _printed(self, event: ForecastEvent, name: str, rest: str) -> Ruling | None:
        series, _, day = rest.rpartition(":")
        prints, period = self._prints(series), date.fromisoformat(day)
        first = prints.first(period)
        earlier = [one for one in prints.periods if one < period]
        if first is None or not earlier or (before := prints.first(earlier[-1])) is None:
            return None
        change = _change(series, before.value, first.value)
        return Ruling(_reached(name, change, event.threshold), first.at, f"{first.source} of {period}")

    def _begin(self, event: ForecastEvent) -> date | None:
        """The first day that the record covers of what an event asks for."""
        key = (event.subject, event.condition)
        if key not in self._begins:
            self._begins[key] = self._first_day(event)
        return self._begins[key]

    def _first_day(self, event: ForecastEvent) -> date | None:
        name, _, rest = event.condition.partition(":")
        if name in COUNTED:
            cik = cik_of(event.subject)
            rows = () if cik is None else self._rows.filings(cik).until(self._as_of)
            if name == "8-K":  # items have these names since 2004-08-23
                rows = [one for one in rows if one.filed >= date(2004, 9, 1)]
            return min((one.filed for one in rows), default=None)
        if name == "target":
            return next((one.day for one in self._rows.statements().until(self._as_of)), None)
        periods = self._prints(rest).periods[-HISTORY:]
        return periods[0] if periods else None

    def _authority(self, name: str) -> str:
        return {"8-K": "SEC", "form": "SEC", "target": "Federal Reserve"}.get(name, "market")


def since_text(day: date) -> str:
    """The story of an event that counts from a day on."""
    return f"{SINCE}{day.isoformat()}"


def _since(event: ForecastEvent) -> date:
    try:
        return date.fromisoformat(event.story.removeprefix(SINCE))
    except ValueError:
        raise UsageError(f"the story of a recorded event is {SINCE!r} and a day; found {event.story[:60]!r}") from None


def _over(day: date) -> datetime:
    """The end of a day in New York, by which everything filed on it is known."""
    return datetime.combine(day + timedelta(days=1), time(5), UTC)


def _is_form(form: str, wanted: str) -> bool:
    return form.startswith("NT ") if wanted == "NT" else form == wanted


def _change(series: str, before: float, after: float, *, basis: bool = False) -> float:
    """How far a series moved: in percent of it; of rates and the like in points, or with ``basis`` in hundredths."""
    if series_lines()[series].unit in POINTS:
        return (after - before) * (100.0 if basis else 1.0)
    return 100.0 * (after / before - 1.0) if before else 0.0


def _reached(name: str, change: float, threshold: float) -> bool:
    return (change if name == "rise" else -change) >= threshold - _EPSILON
