"""Replaying a past season: its questions are asked, its forecasts are made again, and time passes on its clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openfingym.digests import sha256_of_json

if TYPE_CHECKING:
    from openfingym.questions.history import PastForecast, PastSeason
    from openfingym.verifiers.questions import QuestionClient


def replay(client: QuestionClient, history: PastSeason, clock: str) -> dict[str, Any]:
    """Ask what is asked; where there are forecasts, make them, and let time pass until everything is resolved.

    A replay that broke off goes on where it was: what was done before is the same again.

    Raises:
        VerifierError: the verifier refuses it, such as where another season has these questions or this clock.
    """
    first = min(one.generated_ns for one in history.questions)
    known = {row["question"]["id"] for row in client.list()}
    now = client.status()["clocks"].get(clock) or client.advance(clock, first)
    if not {one.id for one in history.questions} <= known:
        client.ask(history.questions)
    if history.truths:
        client.record(history.truths)
    found = {"questions": len(history.questions), "forecasts": 0, "scored": 0, "void": 0}
    if history.forecasts:
        for moment, forecasts in _timeline(history):
            now = client.advance(clock, moment) if not _is_past(now, moment) else now
            for one in forecasts:
                key = sha256_of_json([clock, one.question, one.agent, one.version, one.at_ns, dict(one.answer)])
                client.forecast(one.question, one.answer, agent=one.agent, version=one.version, idempotency_key=key)
            found["forecasts"] += len(forecasts)
            if not forecasts:
                done = client.resolve()
                found["scored"] += done["scored"]
                found["void"] += done["void"]
    return {**found, "clock": clock, "now": now}


def _timeline(history: PastSeason) -> Iterator[tuple[int, list[PastForecast]]]:
    """Moments in order, each with its forecasts; one without any is when questions are resolved."""
    by_time: dict[int, list[PastForecast]] = {}
    for one in history.forecasts:
        by_time.setdefault(one.at_ns, []).append(one)
    known = {one["available_ns"] for one in history.truths} | {one.evaluation_ns for one in history.questions}
    for moment in sorted(by_time.keys() | known):
        if moment in by_time:
            yield moment, by_time[moment]
        if moment in known:
            yield moment, []


def _is_past(now: str, moment: int) -> bool:
    from openfingym.questions import moment_ns

    return moment_ns(now) >= moment
