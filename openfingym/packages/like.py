"""``openfingym task new --like``: a task on an author's own data, with contract, metrics and split of a known task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.kinds import kind_of
from openfingym.packages.scaffold import INSTRUCTION_TEXT, own_dataset, require_new, toml_value, write_folder
from openfingym.packages.toml_tables import split_tables, toml_of, with_values
from openfingym.task.model import SHARES, STARTS

if TYPE_CHECKING:
    from openfingym.data.dataset import Measure
    from openfingym.kinds.start import Given, Start
    from openfingym.task import Task

OURS = "metadata.openfingym"
FROM_DATA = ("symbols",)
"""Keys of a contract that name columns of the data, and so are taken from the author's files."""


def new_task_like(name: str, parent: Path, known: Task, given: Given, *, start: Start | None = None) -> Path:
    """Write a task package on an author's data that asks and scores as a known task does.

    Args:
        name: name of the new task, in kebab-case.
        parent: folder to create it in.
        known: the task whose split, contract, scoring, feedback and limits are copied.
        given: the author's files, and how they are to be read.
        start: what :func:`start_like` gave for them; None to read them here.

    Returns:
        The folder of the new task.

    Raises:
        UsageError: the name is not kebab-case, the folder exists, or the kind cannot use files of this form.
        DataError: a file is malformed.
        TaskError: the data do not fit the contract: there are too few rows, or a channel that it names is missing.
    """
    folder = require_new(name, parent)
    start = start or start_like(known, given)
    assert start.own_data is not None, "a scaffold from files holds them"
    text = known.config_path.read_text(encoding="utf-8-sig")
    files = {
        "task.toml": _copied(text, name, known, start).encode(),
        "instruction.md": INSTRUCTION_TEXT.format(name=name, asks=start.asks).encode(),
        **start.own_data.content,
    }
    write_folder(folder, files, tried=True)
    return folder


def start_like(known: Task, given: Given) -> Start:
    """The scaffold of a known task's kind with the author's files read; nothing is written.

    Raises:
        UsageError: the kind cannot use files of this form.
        DataError: a file is malformed.
    """
    if given.measure is None:
        given = replace(given, measure=_measure(known))
    return kind_of(known).start_from(given)


def _measure(known: Task) -> Measure | None:
    """What the known task's data hold (prices, yields), so that its contract fits; None where the kind decides."""
    from openfingym.data import datasets

    semantics = getattr(known.spec.contract, "value_semantics", None)
    reference = known.spec.dataset
    if semantics is None or hasattr(known.spec.contract, "symbols"):
        return None
    # Only panels are among the datasets; for bundled curves, say, this finds nothing, and their kind decides.
    return reference.measure or {info.name: info.measure for info in datasets()}.get(str(reference.name))


def _copied(text: str, name: str, known: Task, start: Start) -> str:
    """The text of the known ``task.toml`` with everything about its data replaced."""
    assert start.own_data is not None, "a scaffold from files holds them"
    out = []
    for table, block in split_tables(text):
        if table == f"{OURS}.dataset":
            out.append(own_dataset(start.own_data))
        elif table.startswith(f"{OURS}.dataset.") or table == f"{OURS}.waivers":
            # How the known data were prepared or pulled, and what was found harmless in them, says nothing of others.
            continue
        else:
            out.append(with_values(block, _changes(table, name, known, start), add=table == f"{OURS}.split"))
    return "".join(out)


def _changes(table: str, name: str, known: Task, start: Start) -> Mapping[str, str | None]:
    """New values, as TOML, for keys of a table; None for a key that is removed."""
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
        return {key: line[1] for key, line in lines.items() if line is not None}
    if table == f"{OURS}.split" and known.spec.rows.dated:
        return {**dict.fromkeys(STARTS), **_shares(known)}
    if table == f"{OURS}.provenance":
        return {"catalogue_id": None, "note": toml_value(f"contract, metrics and split of {known.name}; other data")}
    return {}


def _shares(known: Task) -> Mapping[str, str]:
    """The shares of rows that the blocks of a split by days have, as TOML by key, last one first: the author's rows are
    of other days.
    """
    from openfingym.data.recipe import block_starts
    from openfingym.kinds.panels import panel_of

    times = panel_of(known).times
    first, second = (round(start / len(times), 2) for start in block_starts(times, known.spec.rows))
    shares = (first, round(second - first, 2), round(1.0 - second, 2))
    # A key that is added stands before all others.
    return {key: toml_of(share) for key, share in reversed([*zip(SHARES, shares, strict=True)])}


def require_files(given: Given | None) -> Given:
    """The author's files, which ``--like`` cannot do without.

    Raises:
        UsageError: no files are given.
    """
    if given is None:
        raise UsageError("--like copies a task onto your own data; add --from FILE")
    return given
