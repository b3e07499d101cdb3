"""Assembling the files of a task package from a blueprint that has every key."""

from __future__ import annotations

from collections.abc import Mapping

from openfingym.task.files import CONFIG, INSTRUCTION
from openfingym_forge.assembly.document import OURS, AuthorWords, Table, document
from openfingym_forge.assembly.wording import instruction_of
from openfingym_forge.blueprint import Blueprint

HEAD = ("family", "asset_class", "frequency", "panel")
"""Fields that stand beside the tables of ``[metadata.openfingym]``."""
OWN_TABLES = ("dataset", "split", "contract", "scoring", "verification", "provenance")
"""Tables below ``[metadata.openfingym]``."""
HARBOR_TABLES = ("task", "agent", "verifier", "environment")
"""Tables of the file's own schema, Harbor's."""
ORGANISATION = "forge"
"""First half of the name of a task that was forged."""


def assemble(
    blueprint: Blueprint, data: Mapping[str, bytes] | None = None, words: AuthorWords | None = None
) -> dict[str, bytes]:
    """The bytes of the files of a task package, by name.

    They follow from the arguments alone. Values become values of TOML, whatever text they hold.

    Args:
        blueprint: the blueprint, in which every key of ``task.toml`` is a field.
        data: bytes of the files that the task holds, by name.
        words: what an author wrote by hand; None to have the instruction composed.
    """
    tables = _tables(blueprint)
    own = words or AuthorWords()
    instruction = own.instruction or instruction_of(blueprint)
    return {
        CONFIG: document(tables, _metrics(blueprint), own).encode(),
        INSTRUCTION: instruction.encode(),
        **(data or {}),
    }


def _tables(blueprint: Blueprint) -> dict[str, dict[str, object]]:
    """The tables of ``task.toml`` by name, but for the metrics."""
    organisation = blueprint.value("task.organisation", ORGANISATION)
    tables: dict[str, dict[str, object]] = {
        "task": {"name": f"{organisation}/{blueprint.name}", "description": blueprint.value("description")},
        OURS: {"format": 1} | {key: blueprint.value(key) for key in HEAD},
        f"{OURS}.contract": {"kind": blueprint.value("kind")},
    }
    for name, stated in blueprint.fields.items():
        table, _, key = name.rpartition(".")
        root = table.partition(".")[0]
        # TOML has no null; the organisation is a part of the name; metrics are tables of their own.
        if stated.value is None or name == "task.organisation" or table.startswith("scoring.metrics"):
            continue
        if root in OWN_TABLES:
            tables.setdefault(f"{OURS}.{table}", {})[key] = stated.value
        elif root in HARBOR_TABLES:
            tables.setdefault(table, {})[key] = stated.value
    return tables


def _metrics(blueprint: Blueprint) -> list[Table]:
    """The tables of the metrics, in the blueprint's order."""
    rows: list[Table] = []
    for metric in blueprint.metrics:
        row: dict[str, object] = {"name": metric.bank, "weight": metric.weight.value}
        for key in ("relative_weight", "on"):
            value = blueprint.value(f"scoring.metrics.{metric.bank}.{key}")
            if value is not None:
                row[key] = value
        rows.append(row)
    return rows
