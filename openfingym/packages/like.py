"""A copy of a known task on an author's own data: its contract, metrics and shares, and the channels of the files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds import kind_of
from openfingym.packages.scaffold import INSTRUCTION_TEXT, own_dataset, require_new, toml_value, write_folder
from openfingym.packages.toml_tables import split_tables, with_values

if TYPE_CHECKING:
    from openfingym.data.dataset import Measure
    from openfingym.kinds.start import Given, Start
    from openfingym.task import Task

OURS = "metadata.openfingym"
FROM_DATA = ("symbols",)
"""Keys of a contract that name what the data hold, and follow it."""


def new_task_like(name: str, parent: Path, known: Task, given: Given) -> Path:
    """Write a task package on an author's data that asks and scores as a known task does.

    Args:
        name: name of the new task, in kebab-case.
        parent: folder to create it in.
        known: the task to copy: its split, contract, scoring, feedback and limits.
        given: the author's files.

    Returns:
        The folder of the new task.

    Raises:
        UsageError: the name is not kebab-case, the folder exists, or the kind has no use for what is given.
        DataError: a file is malformed.
        TaskError: the data do not fit the contract: too few rows, or no channel of a name that it has.
    """
    folder = require_new(name, parent)
    kind = kind_of(known)
    if given.measure is None:
        given = replace(given, measure=_measure(known))
    start = kind.start_from(given)
    assert start.own_data is not None, "of a scaffold from files"
    text = known.config_path.read_text(encoding="utf-8-sig")
    files = {
        "task.toml": _copied(text, name, known, start).encode(),
        "instruction.md": INSTRUCTION_TEXT.format(name=name, asks=start.asks).encode(),
        **start.own_data.content,
    }
    write_folder(folder, files, tried=True)
    return folder


def _measure(known: Task) -> Measure | None:
    """What the known task's data hold, so that its contract fits; None where the kind sees to it, as with graphs."""
    from openfingym.data import datasets

    semantics = getattr(known.spec.contract, "value_semantics", None)
    reference = known.spec.dataset
    if semantics is None or hasattr(known.spec.contract, "symbols"):
        return None
    # What is no panel, such as bundled curves, is not among the datasets, and its kind sees to it.
    return reference.measure or {info.name: info.measure for info in datasets()}.get(str(reference.name))


def _copied(text: str, name: str, known: Task, start: Start) -> str:
    """The text of the known ``task.toml`` with everything about its data replaced."""
    assert start.own_data is not None, "of a scaffold from files"
    out = []
    for table, block in split_tables(text):
        if table == f"{OURS}.dataset":
            out.append(own_dataset(start.own_data))
        elif table.startswith(f"{OURS}.dataset.") or table == f"{OURS}.waivers":
            continue
        else:
            out.append(with_values(block, _changes(table, name, known, start)))
    return "".join(out)


def _changes(table: str, name: str, known: Task, start: Start) -> Mapping[str, str | None]:
    """Keys of a table that differ, as TOML; None for one that goes."""
    if table == "task":
        described = f"Like {known.name}, on the author's own data: {start.panel}."
        return {
            "name": toml_value(f"my-org/{name}"),
            "version": toml_value("0.1.0"),
            "description": toml_value(described),
            "keywords": None,
        }
    if table == OURS:
        return {"frequency": toml_value(start.frequency), "panel": toml_value(start.panel)}
    if table == f"{OURS}.contract":
        lines = {key: re.search(rf"(?m)^{key} = (.*)$", start.contract) for key in FROM_DATA}
        return {key: found[1] for key, found in lines.items() if found is not None}
    if table == f"{OURS}.provenance":
        return {"catalogue_id": None, "note": toml_value(f"contract, metrics and split of {known.name}; other data")}
    return {}


def require_files(given: Given | None) -> Given:
    """The author's files.

    Raises:
        UsageError: there are none.
    """
    if given is None:
        raise UsageError("--like copies a task onto your own data; add --from FILE")
    return given
