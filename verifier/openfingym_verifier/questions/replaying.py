"""Forecasts of a past season, made again many at a time by a clock that is moved. Belongs to the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import Acknowledgement, ForecastReceived

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openfingym_verifier.principals import Caller
    from openfingym_verifier.questions.service import QuestionService


LIGHT = 50
"""Largest number of forecasts that are prepared before others have their turn on the event loop."""


async def receive_together(service: QuestionService, caller: Caller, documents: Sequence[Mapping[str, Any]]) -> int:
    """Receive forecasts, each of which counts as one that was sent by itself; returns how many were new.

    Args:
        service: the questions of the verifier.
        caller: the operator.
        documents: one mapping for each forecast, with ``question``, ``answer``, ``agent``, ``version`` and
            ``idempotency_key``.

    Raises:
        Problem: one of them is refused, and what was recorded of the others counts; ``malformed-request`` for a
            question by the real clock, by which forecasts are received one at a time, when they are made.
    """
    await service.load([document["question"] for document in documents])
    asked = [await service.find(name, caller) for name in dict.fromkeys(one["question"] for one in documents)]
    for known in asked:
        if known.question.clock == REAL_CLOCK:
            raise Problem("malformed-request", f"{known.question.id} is asked by the real clock, which nobody replays.")
    await service.look_together(asked)
    events = []
    for place, document in enumerate(documents, 1):
        event = await _prepared(service, caller, document)
        if event is not None:
            events.append(event)
        # What is known by now waits for nothing, and would keep the event loop from all others.
        if place % LIGHT == 0:
            await asyncio.sleep(0)
    acknowledged = await service.resolver.write([event.apply for event in events])
    refused = next((one for one in acknowledged if isinstance(one, Problem)), None)
    if refused is not None:
        raise refused
    return sum(isinstance(one, Acknowledgement) and one.new for one in acknowledged)


async def _prepared(service: QuestionService, caller: Caller, document: Mapping[str, Any]) -> ForecastReceived | None:
    """The event of a forecast; None if it was received before, and its question takes no more."""
    known = await service.find(document["question"], caller)
    forecaster = caller.name, document["agent"], document["version"]
    key, received_ns = document["idempotency_key"], service.clocks.now(known.question.clock)
    try:
        event, _ = await service.prepare(known, forecaster, document["answer"], received_ns, idempotency_key=key)
    except Problem as problem:
        if problem.slug not in {"deadline-passed", "truth-known"}:
            raise
        await service.acknowledged(known, forecaster, document["answer"], key, problem)
        return None
    return event
