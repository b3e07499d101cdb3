"""The record of a rollout from what was said, done and scored."""

from __future__ import annotations

import platform
from datetime import datetime
from importlib import metadata
from typing import TYPE_CHECKING

from openfingym.agents.llm.playing import PlayedConversation
from openfingym.digests import sha256_of_text
from openfingym.trajectory.record import RecordedScore, RolloutRecord, RunProvenance, RunTiming

if TYPE_CHECKING:
    from openfingym.results import RolloutResult


def rollout_record(played: PlayedConversation, result: RolloutResult) -> RolloutRecord:
    """The record that goes into ``trajectory.json``.

    Args:
        played: what was said and done.
        result: how it ended, complete but for its folder.
    """
    return RolloutRecord(
        id=result.rollout_id,
        task=result.task,
        task_digest=result.task_digest,
        data_kind=result.data_kind,
        # Results that are of no split are of the task as it is.
        split=getattr(result, "split", "test"),
        instance=getattr(result, "instance", None),
        seed=result.seed,
        agent=result.agent,
        model=result.model,
        tools=played.tools,
        messages=played.turns,
        rewritten=played.rewritten,
        rewards=played.rewards,
        score=RecordedScore.from_result(result),
        failure="none" if result.boundary is None else result.boundary,
        timing=RunTiming(
            started_at=datetime.fromisoformat(result.started_at),
            wall_s=result.wall_s,
            verifier_s=result.verifier_s,
            model_s=played.spent.model_s,
            execution_s=played.execution_s,
        ),
        usage=played.spent.usage,
        cost_usd=result.cost_usd,
        provenance=RunProvenance(
            prompt_sha256=played.prompt_sha256,
            code_sha256=sha256_of_text(played.program) if played.program else None,
            backend=result.backend,
            versions=_versions(),
        ),
    )


def _versions() -> dict[str, str]:
    from openfingym.version import __version__

    found = {"openfingym": __version__, "python": platform.python_version()}
    try:
        found["openai"] = metadata.version("openai")
    except metadata.PackageNotFoundError:
        return found
    return found
