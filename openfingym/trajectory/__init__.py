"""Trajectories: one record a rollout, and the formats others read.

- native: :class:`RolloutRecord`, one JSON document, complete;
- ATIF 1.8 of Harbor, out and back without loss, and the trial that it is found in;
- OpenAI's fine-tuning lines, which hold the conversation alone.
"""

from __future__ import annotations

from openfingym.trajectory.atif import from_atif, to_atif
from openfingym.trajectory.files import find_rollouts, read_rollout, rollout_schema, write_rollout
from openfingym.trajectory.finetuning import TrainingConversation, from_openai, to_openai
from openfingym.trajectory.harbor import to_trial, trial_name
from openfingym.trajectory.record import (
    FORMAT,
    Failure,
    Generation,
    RecordedScore,
    RolloutRecord,
    RunProvenance,
    RunTiming,
    StepReward,
    TokenTrace,
    ToolUse,
    Turn,
)

__all__ = [
    "FORMAT",
    "Failure",
    "Generation",
    "RecordedScore",
    "RolloutRecord",
    "RunProvenance",
    "RunTiming",
    "StepReward",
    "TokenTrace",
    "ToolUse",
    "TrainingConversation",
    "Turn",
    "find_rollouts",
    "from_atif",
    "from_openai",
    "read_rollout",
    "rollout_schema",
    "to_atif",
    "to_openai",
    "to_trial",
    "trial_name",
    "write_rollout",
]
