"""A task as its author writes it: ``task.toml`` with its contract and scoring table, and the files beside it."""

from __future__ import annotations

from openfingym.task.contracts import Family
from openfingym.task.model import (
    TASK_NAME,
    AssetClass,
    DataKind,
    Frequency,
    Spec,
    Split,
    Task,
    Verification,
    parse_task_file,
)

__all__ = [
    "TASK_NAME",
    "AssetClass",
    "DataKind",
    "Family",
    "Frequency",
    "Spec",
    "Split",
    "Task",
    "Verification",
    "parse_task_file",
]
