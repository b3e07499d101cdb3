"""Runs with known results, written as rollouts write them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from openfingym.reports.runs import FoundRuns
from openfingym.results import RolloutResult
from openfingym.results.run_folder import RunFiles, write_run
from openfingym.trajectory.record import RecordedScore, RolloutRecord, RunTiming, StepReward, Turn

RESULT = RolloutResult(
    rollout_id="r",
    task="treasury-forecast",
    task_digest="d" * 64,
    data_kind="real",
    agent="ridge",
    backend="sandbox",
    isolation="inside",
    seed=0,
    state="scored",
    total=0.05,
    relative_total=0.5,
    metrics={"mae": 0.05},
    baseline="naive",
    baseline_total=0.1,
    wall_s=10.0,
    started_at="2026-01-01T00:00:00.000+00:00",
)
PLAYED = replace(
    RESULT,
    agent="react",
    seed=3,
    total=0.5,
    relative_total=0.75,
    model="my/model",
    metrics={"rmse": 0.25},
    baseline_total=0.6,
    baseline_metrics={"rmse": 0.5},
    prompt_tokens=20,
    completion_tokens=10,
    cost_usd=0.5,
    ended_by="finished",
)
"""Of an agent with a model."""
OWN_DATA = (
    "commodity-forecast",
    "crypto-forecast",
    "equity-forecast-v1",
    "fx-forecast-v2",
    "lob-forecast",
    "treasury-forecast-v2",
)
"""Six tasks on data of their own, so that a report on them may speak of other tasks."""
APART = (
    *("fx-forecast", "treasury-forecast", "equity-forecast", "crypto-forecast", "commodity-forecast", "lob-forecast"),
    *("event-forecast", "polymarket-forecast"),
)
"""Tasks of forecasting that share no data."""
HOSTILE = "</script></style><img src=x onerror=alert(1)>\"'&amp;<b>[/red]"


def scored(relative: float, **changes: object) -> RolloutResult:
    """A run with this loss relative to the baseline's."""
    return made(relative_total=relative, total=0.1 * relative, **changes)


def three_agents(tasks: tuple[str, ...] = APART, **changes: object) -> list[RolloutResult]:
    """A run of each task by three agents, two of which are about as good and the third is worse."""
    losses = {"good": 0.5, "equal": 0.51, "bad": 2.0}
    return [
        scored(loss + 0.02 * n * (-1) ** (n * len(agent)), agent=agent, task=task, **changes)
        for agent, loss in losses.items()
        for n, task in enumerate(tasks)
    ]


def failed(state: str, **changes: object) -> RolloutResult:
    """A run without a score."""
    fields = {"boundary": "agent" if state == "rejected" else "verifier", "reason": f"why it is {state}"} | changes
    return made(state=state, total=None, relative_total=None, metrics={}, **fields)


def made(**changes: object) -> RolloutResult:
    """A run whose id says all that tells it from others."""
    run = replace(RESULT, **changes)  # type: ignore[arg-type]
    identity = (run.task, run.task_digest[:4], run.data_kind, run.agent, run.model, run.seed, run.attempt, run.state)
    return replace(run, rollout_id=hashlib.sha256(repr(identity).encode()).hexdigest()[:20])


def runs(*results: RolloutResult) -> FoundRuns:
    """Runs as they would have been read."""
    return FoundRuns(results)


def write(root: Path, *results: RolloutResult) -> list[Path]:
    """Folders of the runs."""
    written = []
    for result in results:
        path = write_run(root, result, RunFiles({"task": result.task}, "print()", b"", [], {})).path
        assert path is not None
        written.append(path)
    return written


def record_of(
    result: RolloutResult, messages: tuple[Turn, ...], rewards: tuple[StepReward, ...], started_at: datetime
) -> RolloutRecord:
    """The record of what was said in a run."""
    return RolloutRecord(
        id=result.rollout_id,
        task=result.task,
        task_digest=result.task_digest,
        data_kind=result.data_kind,
        seed=result.seed,
        agent=result.agent,
        model=result.model,
        messages=messages,
        rewards=rewards,
        score=RecordedScore.from_result(result),
        failure=result.boundary or "none",
        timing=RunTiming(started_at=started_at, wall_s=9.0),
    )
