"""Trajectories: one record for each rollout, and the formats of others that it is exported to.

- the native one: :class:`RolloutRecord`, one JSON document, complete;
- ATIF 1.8 of Harbor, written and read back without loss, and the trial in which Harbor looks for it;
- OpenAI's fine-tuning lines, which hold the conversation alone;
- rows for supervised fine-tuning by other trainers, with columns to select by, in JSON lines and Parquet.
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
    Split,
    StepReward,
    TokenTrace,
    ToolUse,
    Turn,
)
from openfingym.trajectory.rows import messages_schema, row_writer
from openfingym.trajectory.selection import HELD_OUT_SETS, ExportSelection, Selected, held_out_tasks
from openfingym.trajectory.sft import Unlearnable, conversation_digest, to_messages, to_sharegpt

__all__ = [
    "FORMAT",
    "HELD_OUT_SETS",
    "ExportSelection",
    "Failure",
    "Generation",
    "RecordedScore",
    "RolloutRecord",
    "RunProvenance",
    "RunTiming",
    "Selected",
    "Split",
    "StepReward",
    "TokenTrace",
    "ToolUse",
    "TrainingConversation",
    "Turn",
    "Unlearnable",
    "conversation_digest",
    "find_rollouts",
    "from_atif",
    "from_openai",
    "held_out_tasks",
    "messages_schema",
    "read_rollout",
    "rollout_schema",
    "row_writer",
    "to_atif",
    "to_messages",
    "to_openai",
    "to_sharegpt",
    "to_trial",
    "trial_name",
    "write_rollout",
]
