"""Trajectories: one record a rollout, and the formats others read.

- native: :class:`Rollout`, one JSON document, complete;
- ATIF 1.8 of Harbor, out and back without loss, and the trial that it is found in;
- OpenAI's fine-tuning lines, which hold the conversation alone.
"""

from __future__ import annotations

from openfingym.trajectory.atif import from_atif, to_atif
from openfingym.trajectory.files import NAME, find_rollouts, read_rollout, rollout_schema, write_rollout
from openfingym.trajectory.finetuning import Conversation, from_openai, to_openai
from openfingym.trajectory.harbor import to_trial, trial_name
from openfingym.trajectory.record import (
    FORMAT,
    Failure,
    Generation,
    Provenance,
    Rollout,
    Score,
    StepReward,
    Timing,
    TokenTrace,
    ToolUse,
    Turn,
)

__all__ = [
    "FORMAT",
    "NAME",
    "Conversation",
    "Failure",
    "Generation",
    "Provenance",
    "Rollout",
    "Score",
    "StepReward",
    "Timing",
    "TokenTrace",
    "ToolUse",
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
