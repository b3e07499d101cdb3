"""Trajectories: one record for each rollout, and the formats of others that it is exported to.

- the native one: :class:`RolloutRecord`, one JSON document, complete;
- ATIF 1.8 of Harbor, written and read back without loss, and the trial in which Harbor looks for it;
- OpenAI's fine-tuning lines, which hold the conversation alone;
- rows for supervised fine-tuning by other trainers, with columns to select by, in JSON lines and Parquet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.trajectory.atif import from_atif, to_atif
    from openfingym.trajectory.files import find_rollouts, read_rollout, rollout_schema
    from openfingym.trajectory.finetuning import to_openai
    from openfingym.trajectory.record import RolloutRecord
    from openfingym.trajectory.rows import messages_schema
    from openfingym.trajectory.sft import to_messages, to_sharegpt

__all__ = [
    "RolloutRecord",
    "find_rollouts",
    "from_atif",
    "messages_schema",
    "read_rollout",
    "rollout_schema",
    "to_atif",
    "to_messages",
    "to_openai",
    "to_sharegpt",
]

_HOMES = {
    "RolloutRecord": "record",
    "find_rollouts": "files",
    "from_atif": "atif",
    "messages_schema": "rows",
    "read_rollout": "files",
    "rollout_schema": "files",
    "to_atif": "atif",
    "to_messages": "sft",
    "to_openai": "finetuning",
    "to_sharegpt": "sft",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
