"""The record of a rollout, put together from its conversation and its result."""

from __future__ import annotations

import contextlib
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
        played: the conversation, and what the agent's programs did.
        result: the rollout's result, complete but for its folder.
    """
    return RolloutRecord(
        id=result.rollout_id,
        task=result.task,
        task_digest=result.task_digest,
        data_kind=result.data_kind,
        split=result.split,
        instance=result.instance,
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

    versions = {"openfingym": __version__, "python": platform.python_version()}
    # The client of the models, which is an extra: agents may run without it, with a model that is an object.
    with contextlib.suppress(metadata.PackageNotFoundError):
        versions["openai"] = metadata.version("openai")
    return versions
