"""An author's own rows of features: loading them from a task's folder, starting a task from them, describing them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import frequency_of
from openfingym.data.dataset import DatasetInfo
from openfingym.data.own.row_gaps import rows_without_gaps
from openfingym.data.own.rows import STORED, read_own_rows, stored_csv
from openfingym.data.recipe import train_share
from openfingym.data.rows import FeatureRows, starts_of
from openfingym.digests import sha256_of
from openfingym.errors import DataError, TaskError, UsageError
from openfingym.kinds.material import Brief
from openfingym.kinds.own_tables import edited, limits_of
from openfingym.kinds.panels import dataset_content, require_past
from openfingym.kinds.start import OwnData
from openfingym.kinds.walk import walk_usage

if TYPE_CHECKING:
    from openfingym.kinds.material import Material
    from openfingym.kinds.start import Given, Start
    from openfingym.task import Task


def own_rows(task: Task) -> FeatureRows:
    """The rows that the task's folder holds.

    Raises:
        TaskError: the file is missing, ``dataset.channels`` or ``dataset.dates`` does not fit it, or the training block
            ends before a value from which a gap was filled.
        DataError: the file is malformed, or a value is missing.
    """
    reference = task.spec.dataset
    if reference.channels:
        raise TaskError(
            "the last column is what is predicted, and all others are features; remove columns from the file instead",
            path=task.config_path,
            key="dataset.channels",
        )
    content = dataset_content(task)
    path = task.folder / str(reference.file)
    # Without `fill`, a gap is an error: whatever was filled was filled when the file was written.
    rows = rows_without_gaps(read_own_rows(path, content=content), None, 1.0).rows
    if (rows.times is not None) != reference.dates:
        raise TaskError(
            f"{reference.file} has {'a column' if rows.times is not None else 'no column'} of dates, and dates = "
            f"{str(reference.dates).lower()}; they must agree",
            path=task.config_path,
            key="dataset.dates",
        )
    starts = starts_of(rows.clock)
    require_past(task, int(starts[train_share(task.spec.rows.shares[0], len(starts) - 1)]))
    features, targets = np.ascontiguousarray(rows.values[:, :-1]), np.ascontiguousarray(rows.values[:, -1])
    for array in (features, targets):
        array.flags.writeable = False
    first, last = rows.clock[[0, -1]].astype("datetime64[D]").tolist() if reference.dates else (None, None)
    assert reference.kind is not None, "a dataset with a file states it"
    steps = () if reference.prepared is None else reference.prepared.steps
    info = DatasetInfo(
        name=task.name,
        title=task.name,
        kind=reference.kind,
        source=str(reference.source),
        provenance="; ".join((f"the task author's file {reference.file}", *steps)),
        licence=str(reference.licence),
        frequency=frequency_of(rows.clock[starts[:-1]]) if reference.dates else "none",
        measure="mixed",
        unit="as the task states",
        calendar="the rows of the author's file" + ("" if reference.dates else ", which have no date"),
        corporate_actions="as in the author's file",
        first=first,
        last=last,
        rows=len(targets),
        channels=rows.columns[:-1],
        missing=0,
        sha256=sha256_of(content),
        prepared=steps,
    )
    return FeatureRows(rows.clock, rows.series, rows.ids, features, rows.columns[:-1], targets, rows.columns[-1], info)


def start_from_rows(start: Start, given: Given) -> Start:
    """The scaffold of a rows task that holds the author's rows.

    Args:
        start: the scaffold of the kind.
        given: the author's file, and how it is to be read.

    Raises:
        UsageError: an option is given that is for other kinds, or there are several files.
        DataError: the file is malformed, has gaps and ``--fill`` is not given, or has too few rows.
    """
    if given.labels is not None or given.features is not None:
        raise UsageError("--labels and --features are for graphs; rows have features and target in one file")
    if given.measure not in {None, "mixed"}:
        raise UsageError(f"--measure {given.measure}: columns of rows are of any measure; leave it out")
    if len(given.files) > 1:
        raise UsageError(f"--from: {len(given.files)} files; rows with their target are in one")
    assert start.split is not None, "rows are split by time"
    filled = rows_without_gaps(read_own_rows(given.files[0], given.target), given.fill, start.split[0])
    rows, target = filled.rows, filled.rows.columns[-1]
    starts, dated = starts_of(rows.clock), rows.times is not None
    known = rows.values[: starts[train_share(start.split[0], len(starts) - 1)], -1]
    if not len(known):
        raise DataError(f"{given.names[0]}: {len(starts) - 1} rows are too few for a training block")
    # Of targets less their mean, as the contract below has them (`centred`).
    low, high = limits_of(float(np.abs(known - known.mean()).max()))
    size = f"{len(rows.values)} rows" + (f" of {len(rows.ids)} ids" if rows.ids else "")
    note = "" if dated else " The rows have no date; they are in order, and known by their number."
    own = OwnData(
        file=STORED,
        content={STORED: stored_csv(rows)},
        measure="mixed",
        names=given.names,
        steps=rows.steps,
        fill=given.fill or "none",
        filled=filled.filled,
        dropped=rows.dropped,
        dates=dated,
        interpolated_to=filled.interpolated_to,
    )
    contract = edited(start.contract, unit='"as in the data; say it here"', low=low, high=high)
    centred = "centred = true               # false where zero is a sensible forecast, as of returns\n"
    return replace(
        start,
        data=given.names[0],
        asset_class="other",
        description=f"Forecast {target} from {len(rows.columns) - 1} features.",
        asks=f"Forecast {target} of every row from its {len(rows.columns) - 1} features.{note}",
        frequency=frequency_of(rows.clock[starts[:-1]]) if dated else "none",
        panel=f"{size}, {len(rows.columns) - 1} features",
        dataset=None,
        contract=contract + centred,
        own_data=own,
    )


def brief_of_own_rows(task: Task, material: Material) -> Brief:
    """What an agent is told of a task on an author's rows."""
    dated = task.spec.dataset.dates
    inputs, targets = (material.public[name].shape for name in ("train_inputs", "train_targets"))
    unit, target = task.spec.contract.unit, material.labels[0]
    centred = f", less the mean of training ({material.facts['centre']:g})" if "centre" in material.facts else ""
    facts = (
        ("value", f"{target}{centred}; {unit}"),
        ("features", ", ".join(map(str, material.facts["channels"]))),  # type: ignore[call-overload]  # a list of names
        ("ids", str(len(material.facts["series"]) or "none")),  # type: ignore[arg-type]  # a list of names
        ("training rows", str(material.n_train)),
        ("rows that count", str(material.n_private)),
        ("rows to practise on", str(material.n_public)),
    )
    order = "Rows are in order of their dates" if dated else "Rows have no date and are in the order of their numbers"
    note = (
        f"{order}. Hidden ones are later than all of training, and are shown\n"
        f"{'date by date' if dated else 'one by one'}: the next when this one is answered."
    )
    times = "datetime64[ns], the date of each row" if dated else "int64, the number of each row"
    usage = f"""features, targets = interface.load_train()  # float64 {inputs}, {targets}
times = interface.load("train_times")  # {times}; which id: train_series
{walk_usage(material, "rows" if dated else "1")}"""
    return Brief(facts, note, usage)
