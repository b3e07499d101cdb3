"""A problem as the query of a question, and the other way round: what a provider, an agent or a report reads of it."""

from __future__ import annotations

from datetime import date
from typing import cast

from openfingym.errors import UsageError
from openfingym.questions.question import Question, moment_ns, utc_text
from openfingym.suites.findeepforecast.problem import Event, Figure, ForecastProblem, Horizon, Level, Track

MARK = "SIMULATED: "
"""What the text of each question about a made-up world begins with."""
DETAILS = "\n\nDetails:\n"
TOLD = ("vault", "track", "level", "horizon", "subtype", "subject", "expected")
"""Keys of any query; texts."""
FIGURE = ("measure", "period")
EVENT = ("event", "condition", "by")
EVENT_NUMBERS = ("threshold", "base_rate")


def query_of(problem: ForecastProblem, vault: str) -> dict[str, str | float]:
    """The query of a problem.

    Args:
        problem: the problem.
        vault: name of its world's vault, with the digest.
    """
    about = problem.about
    found: dict[str, str | float] = {
        "vault": vault,
        "track": problem.track,
        "level": problem.level,
        "horizon": problem.horizon,
        "subtype": problem.subtype,
        "subject": about.subject,
        "expected": utc_text(problem.settled_ns),
    }
    if isinstance(about, Figure):
        return found | {"measure": about.measure, "period": about.period.isoformat()}
    found |= {"event": about.kind, "condition": about.condition, "threshold": float(about.threshold)}
    found |= {"by": about.by.isoformat()} | ({"story": about.story} if about.story else {})
    return found | ({} if problem.base_rate is None else {"base_rate": float(problem.base_rate)})


def about_of(question: Question) -> Figure | Event:
    """What a question is about.

    Raises:
        UsageError: its query is none of a world's.
    """
    query = question.query
    if "event" not in query:
        return Figure(_text(question, "subject"), _text(question, "measure"), _day(question, "period"))
    return Event(
        _text(question, "subject"),
        _text(question, "event"),
        str(query.get("story", "")),
        _text(question, "condition"),
        float(query.get("threshold", 0.0)),
        _day(question, "by"),
    )


def text_of(problem: ForecastProblem, *, simulated: bool) -> str:
    """The text of a question: the problem's, and what is told beside it."""
    told = "".join(f"- {name}: {said}\n" for name, said in (problem.details or {}).items())
    return (MARK if simulated else "") + problem.text + (DETAILS + told.removesuffix("\n") if told else "")


def problem_of(question: Question) -> ForecastProblem:
    """The problem that a question was made from.

    Raises:
        UsageError: it was made from none.
    """
    text, _, told = question.text.removeprefix(MARK).partition(DETAILS)
    lines = (line.removeprefix("- ").partition(": ") for line in told.splitlines())
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
        details={name: said for name, _, said in lines} or None,
        base_rate=None if base_rate is None else float(base_rate),
    )


def _text(question: Question, key: str) -> str:
    found = question.query.get(key)
    if not isinstance(found, str):
        raise UsageError(f"question {question.id}: {key} of its query is {found!r}; expected a text")
    return found


def _day(question: Question, key: str) -> date:
    found = _text(question, key)
    try:
        return date.fromisoformat(found)
    except ValueError:
        raise UsageError(
            f"question {question.id}: {key} of its query is {found[:40]!r}; expected a day such as 2025-10-31"
        ) from None
