"""Questions on the target range of the Federal Reserve, and on yields on the days of its statements."""

from __future__ import annotations

from typing import Any

from openfingym_suites.finsearch.questions.drawing import AskedValue, Draft, Draw, SkipError, shifted, template
from openfingym_suites.finsearch.questions.programs import official
from openfingym_suites.finsearch.questions.sources import FED_UPPER
from openfingym_suites.finsearch.questions.templates.yields import BOUNDS, POLICY, _draft, _tenor

FED = "fomc_statements"
STATED = "The statement states the range: it is exact."


def _meetings(d: Draw) -> list[str]:
    """Days of statements that give a target range, oldest first."""
    return [day for day, _ in d.world.points(FED_UPPER)]


def _fed(text: str, as_of: str, program: Any, params: dict[str, Any], asks: tuple[AskedValue, ...],
         alternatives: dict[str, Any], *, table: bool = False) -> Draft:  # fmt: skip
    """A draft of a question on the target range, whose bounds are among the parameters of every program."""
    return _draft(text, as_of, program, {"bounds": BOUNDS, **params}, asks, {
        name: (what, {"bounds": BOUNDS, **other}) for name, (what, other) in alternatives.items()
    }, table=table, source=FED, why=STATED)  # fmt: skip


def _between_meetings(d: Draw) -> str:
    """A time after a statement and before the next scheduled one."""
    days = _meetings(d)
    place = d.rng.randrange(3, len(days) - 1)
    # Scheduled meetings are six weeks apart: within 25 days, no other is due.
    return d.at(shifted(days[place], d.rng.randrange(1, 25)))


RANGE = (AskedValue("lower", unit="%", decimals=2), AskedValue("upper", unit="%", decimals=2))


@template("T1", POLICY, most=5)
def fed_range_now(d: Draw) -> Draft:
    as_of = _between_meetings(d)
    text = d.one(
        [
            "What is the current target range for the federal funds rate? Lower and upper bound in percent, {}.",
            "The FOMC's target range for the federal funds rate now: state both bounds in percent, {}.",
            (
                "Between which two rates, in percent, does the Federal Reserve currently want the federal funds rate "
                "to be, {}?"
            ),
            (
                "According to its latest policy statement, which federal funds target range is in force at the Fed "
                "(percent, {})?"
            ),
            "As things stand, what are the floor and the ceiling of the Fed's policy rate target, in percent, {}?",
        ]
    ).format(d.digits(2))
    return _fed(text, as_of, official.target_range, {}, RANGE, {
        "two decisions before": (official.target_range, {"back": 2}),
        "five decisions before": (official.target_range, {"back": 5}),
    })  # fmt: skip


@template("T1", POLICY, most=5)
def fed_last_change(d: Draw) -> Draft:
    as_of = _between_meetings(d)
    text = d.one(
        [
            (
                "When did the FOMC last change its target range for the federal funds rate, "
                "and by how many basis points?"
            ),
            (
                "Which was the most recent date on which the Fed moved its policy rate, "
                "and how large was the move in basis points (signed)?"
            ),
            (
                "Date and size (basis points, negative for a cut) "
                "of the latest change of the federal funds target range?"
            ),
            "The Fed's last rate move so far: of which day is the statement, and how many basis points was it?",
            (
                "How many basis points, and on which date, was the latest hike or cut by the Federal Reserve? "
                "Negative for a cut."
            ),
        ]
    )
    asks = (AskedValue("date", "date"), AskedValue("change", unit="basis points", decimals=0))
    return _fed(text, as_of, official.last_change, {}, asks, {
        "the change before": (official.last_change, {"back": 1}),
    })  # fmt: skip


@template("T2", POLICY)
def fed_range_on(d: Draw) -> Draft:
    days = _meetings(d)
    day = d.one(days[2:])
    # On the day of a statement, or some days later, when its range is still in force.
    when = shifted(day, d.one([0, 0, 9, 16]))
    as_of = d.asked_after(when, 900)
    text = (
        f"After the FOMC's statement of {d.day(day)}, "
        f"what was the federal funds target range, in percent, {d.digits(2)}?"
        if when == day
        else f"Which federal funds target range was in force on {d.day(when)}? Both bounds in percent, {d.digits(2)}."
    )
    return _fed(text, as_of, official.target_range, {"day": when}, RANGE, {
        "two decisions before": (official.target_range, {"day": when, "back": 2}),
        "four decisions before": (official.target_range, {"day": when, "back": 4}),
        "as of now": (official.target_range, {}),
    })  # fmt: skip


@template("T2", POLICY)
def fed_total(d: Draw) -> Draft:
    days = _meetings(d)
    low = d.rng.randrange(2, len(days) - 3)
    high = d.rng.randrange(low + 2, len(days))
    first, last = shifted(days[low], -3), shifted(days[high], 3)
    as_of = d.asked_after(last, 700)
    text = (
        "By how many basis points in total did the FOMC change the upper bound of its target "
        f"range from {d.day(first)} to {d.day(last)}, and how many statements changed it?"
    )
    asks = (
        AskedValue("total", unit="basis points", decimals=0),
        AskedValue("statements", decimals=0, rule="exact"),
    )
    params = {"first": first, "last": last}
    if official.target_total(d.world, {"bounds": BOUNDS, **params})[1] == 0:
        raise SkipError("nothing was changed")
    return _fed(text, as_of, official.target_total, params, asks, {
        "from half a year earlier": (official.target_total, {**params, "first": shifted(first, -180)}),
        "to half a year later": (official.target_total, {**params, "last": shifted(last, 180)}),
    })  # fmt: skip


@template("T3", POLICY)
def fed_changes_table(d: Draw) -> Draft:
    days = _meetings(d)
    low = d.rng.randrange(1, len(days) - 6)
    high = min(len(days) - 1, low + d.rng.randrange(6, 24))
    first, last = days[low], days[high]
    params = {"first": first, "last": last}
    if not 3 <= len(official.target_changes(d.world, {"bounds": BOUNDS, **params})) <= 12:
        raise SkipError("too few or too many")
    as_of = d.asked_after(last, 700)
    text = (
        f"Tabulate every change of the federal funds target range from {d.day(first)} through {d.day(last)}: "
        "the date of the statement, the change in basis points (negative for a cut), "
        f"and the new upper bound in percent ({d.digits(2)}), by date ascending."
    )
    asks = (
        AskedValue("date", "date"),
        AskedValue("change", unit="basis points", decimals=0),
        AskedValue("upper", unit="%", decimals=2),
    )
    return _fed(text, as_of, official.target_changes, params, asks, {
        "from half a year earlier": (official.target_changes, {**params, "first": shifted(first, -180)}),
        "to half a year later": (official.target_changes, {**params, "last": shifted(last, 180)}),
    }, table=True)  # fmt: skip


@template("T3", POLICY)
def yield_on_fed_days(d: Draw) -> Draft:
    symbol, tenor = _tenor(d)
    # The series of yields ends in 2019.
    days = [day for day in _meetings(d) if day < "2019-08"]
    low = d.rng.randrange(0, len(days) - 5)
    high = d.rng.randrange(low + 4, len(days))
    params = {"first": days[low], "last": days[high], "yield": symbol}
    as_of = d.asked_after(days[high], 700)
    text = (
        f"On which FOMC statement day from {d.day(days[low])} to {d.day(days[high])} "
        f"did the {tenor} US Treasury par yield move most (in absolute terms) against the business day before, "
        f"and by how many basis points (signed, {d.digits(0)})?"
    )
    asks = (AskedValue("date", "date"), AskedValue("change", unit="basis points", decimals=0))
    return _fed(text, as_of, official.yields_on_decisions, params, asks, {
        "the runner-up": (official.yields_on_decisions, {**params, "rank": 1}),
    })  # fmt: skip
