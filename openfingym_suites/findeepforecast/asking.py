"""A problem as a question of the ledger, and the other way round: its query, its text, and what is read from them."""

from __future__ import annotations

from datetime import date
from typing import cast

from openfingym.errors import UsageError
from openfingym.questions.question import Question, moment_ns, utc_text
from openfingym_suites.findeepforecast.problem import Figure, ForecastEvent, ForecastProblem, Horizon, Level, Track

MARK = "SIMULATED: "
"""Beginning of the text of each question about a made-up world."""
DETAILS = "\n\nDetails:\n"
"""Text between a question and what is stated beside it."""
STATED = ("vault", "track", "level", "horizon", "subtype", "subject", "expected")
"""Keys of every query; their values are texts."""
FIGURE = ("measure", "period")
"""Further keys of a query about a figure; their values are texts."""
EVENT = ("event", "condition", "by")
"""Further keys of a query about an event; their values are texts."""
EVENT_NUMBERS = ("threshold", "base_rate")
"""Keys of a query about an event whose values are numbers."""


def query_of(problem: ForecastProblem, vault: str) -> dict[str, str | float]:
    """The query of a problem.

    Args:
        problem: the problem that is asked.
        vault: name of the vault of its world, with the digest, such as ``findeepforecast@1f2e...``.
    """
    about = problem.about
    query: dict[str, str | float] = {
        "vault": vault,
        "track": problem.track,
        "level": problem.level,
        "horizon": problem.horizon,
        "subtype": problem.subtype,
        "subject": about.subject,
        "expected": utc_text(problem.settled_ns),
    }
    if isinstance(about, Figure):
        return query | {"measure": about.measure, "period": about.period.isoformat()}
    query |= {"event": about.kind, "condition": about.condition, "threshold": float(about.threshold)}
    query |= {"by": about.by.isoformat()} | ({"story": about.story} if about.story else {})
    return query | ({} if problem.base_rate is None else {"base_rate": float(problem.base_rate)})


def about_of(question: Question) -> Figure | ForecastEvent:
    """The figure or the event that a question is about.

    Raises:
        UsageError: its query is not that of a problem.
    """
    query = question.query
    if "event" not in query:
        return Figure(_text(question, "subject"), _text(question, "measure"), _day(question, "period"))
    return ForecastEvent(
        _text(question, "subject"),
        _text(question, "event"),
        str(query.get("story", "")),
        _text(question, "condition"),
        float(query.get("threshold", 0.0)),
        _day(question, "by"),
    )


def text_of(problem: ForecastProblem, *, simulated: bool) -> str:
    """The text of a question: the problem's, and what is stated beside it.

    Args:
        problem: the problem that is asked.
        simulated: whether its world is made up, which the text then says.
    """
    details = "".join(f"- {name}: {value}\n" for name, value in (problem.details or {}).items())
    return (MARK if simulated else "") + problem.text + (DETAILS + details.removesuffix("\n") if details else "")


def problem_of(question: Question) -> ForecastProblem:
    """The problem that a question was made from.

    Raises:
        UsageError: it was not made from a problem.
    """
    # The ledger keeps the question alone, whose text is taken apart as `text_of` put it together.
    text, _, details = question.text.removeprefix(MARK).partition(DETAILS)
    lines = (line.removeprefix("- ").partition(": ") for line in details.splitlines())
    base_rate = question.query.get("base_rate")
    return ForecastProblem(
        key=question.id.rpartition("/")[2],
        text=text,
        track=cast("Track", _text(question, "track")),
        level=cast("Level", _text(question, "level")),
        market=question.market,
        horizon=cast("Horizon", _text(question, "horizon")),
        subtype=_text(question, "subtype"),
        about=about_of(question),
        generated_ns=question.generated_ns,
        deadline_ns=question.deadline_ns,
        settled_ns=moment_ns(_text(question, "expected")),
        unit=question.unit,
        measure=question.measure,
        details={name: value for name, _, value in lines} or None,
        base_rate=None if base_rate is None else float(base_rate),
    )


def _text(question: Question, key: str) -> str:
    value = question.query.get(key)
    if not isinstance(value, str):
        raise UsageError(f"question {question.id}: {key} of its query is {value!r}; expected a text")
    return value


def _day(question: Question, key: str) -> date:
    value = _text(question, key)
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise UsageError(
            f"question {question.id}: {key} of its query is {value[:40]!r}; expected a day such as 2025-10-31"
        ) from None
