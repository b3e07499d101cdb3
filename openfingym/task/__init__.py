"""A task as its author writes it: ``task.toml`` with its contract and scoring table, and the files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
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

__getattr__, __dir__ = names_of(__name__, {name: "contracts" if name == "Family" else "model" for name in __all__})
