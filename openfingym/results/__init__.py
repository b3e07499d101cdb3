"""The result of a rollout, in memory and in its folder."""

from __future__ import annotations

from openfingym.results.result import (
    EVEN,
    FORMAT,
    GRPO_FAILURE,
    GRPO_LOSS_CAP,
    INTERVALS,
    LOSS_CAP,
    LOSS_FAILURE,
    Boundary,
    Disclosure,
    PolicyName,
    RewardName,
    RolloutResult,
    State,
    TapeKind,
    TapePolicy,
    Verdict,
)  # fmt: skip
from openfingym.results.run_folder import RESULT, RESULT_LIMIT, RunFiles, read_run, rewrite_result, write_run

__all__ = [
    "EVEN",
    "FORMAT",
    "GRPO_FAILURE",
    "GRPO_LOSS_CAP",
    "INTERVALS",
    "LOSS_CAP",
    "LOSS_FAILURE",
    "RESULT",
    "RESULT_LIMIT",
    "Boundary",
    "Disclosure",
    "PolicyName",
    "RewardName",
    "RolloutResult",
    "RunFiles",
    "State",
    "TapeKind",
    "TapePolicy",
    "Verdict",
    "read_run",
    "rewrite_result",
    "write_run",
]
