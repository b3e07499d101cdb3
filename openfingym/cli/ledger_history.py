"""Replaying a past season: its questions are asked and its forecasts are made again, while a simulated clock moves
through it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_json
from openfingym.questions.provider import RECORDED

if TYPE_CHECKING:
    from openfingym.questions.history import PastForecast, PastSeason
    from openfingym.verifiers.questions import QuestionClient


def replay(client: QuestionClient, history: PastSeason, clock: str) -> dict[str, Any]:
    """Ask the questions of a past season; where it has forecasts, make them, and resolve all questions.

    A replay that was interrupted goes on where it was, because doing again what was done before changes nothing.

    Args:
        client: speaks to the verifier, as its operator.
        history: the past season.
        clock: name of the simulated clock on which it is replayed.

    Returns:
        The numbers of questions, forecasts, scored and void questions, those that wait for a truth which the files do
        not have yet, resolutions that were left out, and the clock with its time afterwards.

    Raises:
        VerifierError: the verifier refuses something, such as where another season has these questions or this clock.
    """
    first = min(question.generated_ns for question in history.questions)
    known = {row["question"]["id"] for row in client.list()}
    now = client.status()["clocks"].get(clock) or client.advance(clock, first)
    if not {question.id for question in history.questions} <= known:
        client.ask(history.questions)
    # Kept by the verifier until the clock comes to them, so that no agent can see them before.
    if history.truths:
        client.record(history.truths)
    counts = {"questions": len(history.questions), "forecasts": 0, "scored": 0, "void": 0}
    # Without forecasts the questions wait for those of an agent, and the clock for whoever moves it.
    if history.forecasts:
        for moment, forecasts in _timeline(history):
            # A clock never goes back: after an interruption, moments that it has passed are only done again.
            now = client.advance(clock, moment) if not _is_past(now, moment) else now
            client.forecast_together([_dated(made, clock) for made in forecasts])
            counts["forecasts"] += len(forecasts)
            if not forecasts:
                done = client.resolve()
                counts["scored"] += done["scored"]
                counts["void"] += done["void"]
    return {**counts, "waiting": history.waiting, "unasked": history.unasked, "clock": clock, "now": now}


def _dated(made: PastForecast, clock: str) -> dict[str, Any]:
    """A past forecast as it is made again: with the same key in every replay, so that it is received once."""
    key = sha256_of_json([clock, made.question, made.agent, made.version, made.at_ns, dict(made.answer)])
    stated = {"question": made.question, "answer": dict(made.answer), "agent": made.agent, "version": made.version}
    return {**stated, "idempotency_key": key}


def _timeline(history: PastSeason) -> Iterator[tuple[int, list[PastForecast]]]:
    """Moments in order, in nanoseconds since the epoch, each with its forecasts; at those without forecasts, questions
    are resolved.
    """
    by_time: dict[int, list[PastForecast]] = {}
    for forecast in history.forecasts:
        by_time.setdefault(forecast.at_ns, []).append(forecast)
    # Not beyond the last truth: a question that waits for one would be void for want of it.
    known = {truth["available_ns"] for truth in history.truths}
    known |= {question.evaluation_ns for question in history.questions if question.provider != RECORDED}
    for moment in sorted(by_time.keys() | known):
        # Forecasts come first: one made at the moment of a truth was made without it.
        if moment in by_time:
            yield moment, by_time[moment]
        if moment in known:
            yield moment, []


def _is_past(now: str, moment: int) -> bool:
    """Whether a clock has reached a moment, in nanoseconds since the epoch."""
    from openfingym.questions import moment_ns

    return moment_ns(now) >= moment
