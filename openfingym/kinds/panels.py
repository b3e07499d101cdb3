"""A base class for kinds whose data is a panel, and functions that load and describe the panel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import channel_positions, unpacked
from openfingym.data.own.filled import read_filled
from openfingym.data.plausibility import oddities
from openfingym.digests import sha256_of
from openfingym.errors import TaskError
from openfingym.kinds.kind import Kind
from openfingym.kinds.real_forms import required_form
from openfingym.task.files import DATASET_LIMIT, read_task_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.data.curves import Curves
    from openfingym.data.rows import FeatureRows
    from openfingym.kinds.start import Given, Start
    from openfingym.task import DataKind, Task
    from openfingym.task.model import Split


class PanelKind(Kind):
    """A kind whose data is a panel: rows in time of one or more series."""

    def data_kind(self, task: Task) -> DataKind:
        """The kind of data of the task's panel, without loading it."""
        return panel_kind(task)

    def source_key(self, task: Task) -> str:
        """A value that changes with the panel."""
        return panel_key(task)

    def load(self, task: Task) -> Panel:
        """The task's panel, restricted to its channels and its period."""
        return panel_of(task)

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's table, with the kind's own contract."""
        from openfingym.kinds.own_tables import start_from_panel

        return start_from_panel(self.start, given)

    def renewable(self, task: Task) -> bool:
        """Whether the task's panel comes from a simulator of ours."""
        return panel_renewable(task)

    def channels(self, task: Task) -> int | None:
        """Series of the panel."""
        return panel_width(task)

    def oddities(self, task: Task) -> tuple[str, ...]:
        """What is odd about the panel."""
        return panel_oddities(task, panel_of(task))


def panel_of(task: Task) -> Panel:
    """The task's panel, restricted to its channels and its period.

    Raises:
        TaskError: no row of the panel is in the period.
    """
    return _restricted(task, _whole_panel(task))


def times_of(task: Task) -> NDArray[np.datetime64]:
    """The times of the rows that lie in the task's period, of a task on a bundled dataset; loads a dataset once."""
    from openfingym.data.panel import panel_times

    times = panel_times(str(task.spec.dataset.name))
    return times[_inside(task, times)]


def panel_renewable(task: Task) -> bool:
    """Whether the task's panel comes from a simulator of ours."""
    from openfingym import data

    reference = task.spec.dataset
    return not task.real and reference.file is None and data.dataset_info(str(reference.name)).kind == "simulated"


def renewed_panel(task: Task, seed: int, train: Callable[[NDArray[np.datetime64]], int]) -> Panel:
    """The task's panel with every row after its training block drawn anew.

    Args:
        task: the task whose panel is drawn anew; :func:`panel_renewable` must hold for it.
        seed: seed from which the new rows are drawn.
        train: given the times of the rows in the task's period, returns how many of them the training block has.
    """
    from openfingym.data.panel import continue_panel, panel_times

    reference, name = task.spec.dataset, str(task.spec.dataset.name)
    times = panel_times(name)
    inside = _inside(task, times)
    kept = int(inside.argmax()) + train(times[inside])
    return _restricted(task, continue_panel(name, reference.channels or None, seed=seed, kept=kept))


def _inside(task: Task, times: NDArray[np.datetime64]) -> NDArray[np.bool_]:
    """A mask of the rows that lie in the task's period, bool[rows]."""
    reference, days = task.spec.dataset, times.astype("datetime64[D]")
    inside = np.ones(len(days), dtype=np.bool_)
    if reference.first is not None:
        inside &= days >= np.datetime64(reference.first, "D")
    if reference.last is not None:
        inside &= days <= np.datetime64(reference.last, "D")
    return inside


def _restricted(task: Task, panel: Panel) -> Panel:
    """The rows of a panel that lie in the task's period."""
    reference = task.spec.dataset
    if reference.first is None and reference.last is None:
        _require_past_of(task, 0, panel.times)
        return panel
    inside, days = _inside(task, panel.times), panel.times.astype("datetime64[D]")
    if not inside.any():
        wanted = f"{reference.first or 'the first row'} to {reference.last or 'the last'}"
        raise TaskError(
            f"no row of {panel.info.name!r} is in {wanted}; its rows are from {days[0]} to {days[-1]}",
            path=task.config_path,
            key="dataset.first" if reference.first is not None else "dataset.last",
        )
    _require_past_of(task, int(inside.argmax()), panel.times[inside])
    times, values = panel.times[inside], panel.values[inside]
    times.flags.writeable = values.flags.writeable = False
    return replace(panel, times=times, values=values, filled=None if panel.filled is None else panel.filled[inside])


def _require_past_of(task: Task, first: int, times: NDArray[np.datetime64]) -> None:
    """Call :func:`require_past` with the end of the training block, where rows of some times from ``first`` on are
    used.
    """
    from openfingym.data.recipe import train_rows

    if task.spec.split is not None:
        require_past(task, first + train_rows(times, task.spec.split))


def require_past(task: Task, train: int) -> None:
    """Refuse a training block that ends before a value from which one inside the block was interpolated.

    Args:
        task: the task whose data an author prepared.
        train: number of rows of the file before the end of the training block.

    Raises:
        TaskError: such a value would be hidden, and the interpolated values next to it would show it.
    """
    prepared = task.spec.dataset.prepared
    if prepared is None or prepared.interpolated_to is None or prepared.interpolated_to < train:
        return
    raise TaskError(
        f"the training block ends before row {prepared.interpolated_to}, up to whose value gaps were interpolated; "
        "it would be hidden, and what was filled from it shows it. Make train larger, or start again with --fill "
        "forward",
        path=task.config_path,
        key="split.train",
    )


def _whole_panel(task: Task) -> Panel:
    """The task's panel with all its rows, restricted to its channels."""
    from openfingym import data
    from openfingym.data.csvfile import read_csv_panel

    reference = task.spec.dataset
    if task.real:
        return _real_panel(task)
    if reference.file is None:
        assert reference.name is not None
        return data.load_panel(reference.name, reference.channels or None)
    assert reference.measure is not None
    assert reference.kind is not None
    assert reference.source is not None
    assert reference.licence is not None
    panel = read_csv_panel(
        task.folder / reference.file,
        content=dataset_content(task),
        measure=reference.measure,
        kind=reference.kind,
        source=reference.source,
        licence=reference.licence,
        channels=reference.channels or None,
        name=task.name,
        dates=reference.dates,
        prepared=() if reference.prepared is None else reference.prepared.steps,
    )
    file = _filled_file(task)
    if file is None:
        return panel
    return replace(panel, filled=read_filled(file[1], panel.channels, len(panel.times), file[0]))


def _filled_file(task: Task) -> tuple[str, bytes] | None:
    """Path and content of the file that says which cells were given a value; None where there is none.

    Raises:
        TaskError: the file is missing, is a link, is no regular file, or is too large.
    """
    prepared = task.spec.dataset.prepared
    if prepared is None or prepared.filled_cells is None:
        return None
    key = "metadata.openfingym.dataset.prepared.filled_cells"
    return str(task.folder / prepared.filled_cells), read_task_file(task.folder, prepared.filled_cells, key=key)


def _real_panel(task: Task) -> Panel:
    """The panel that was pulled, with the names of the task's channels, so that the contract stays the same.

    Raises:
        TaskError: no real data is known, or the number of its columns is not that of the task's channels.
        DataError: the data have not been pulled; the message is the command that pulls them.
    """
    from openfingym.data.indicators import with_indicators
    from openfingym.data.pulled import pulled_panel

    reference = task.spec.dataset
    form, pulled = required_form(task)
    panel = pulled_panel(
        pulled.source,
        pulled.symbols,
        interval=pulled.interval,
        start=reference.first,
        end=reference.last,
        measure="mixed" if form.indicators else None,
    )
    names = form.names or reference.channels or panel.channels
    # Before the columns are counted: the names cover the indicators too.
    if form.indicators:
        panel = with_indicators(panel)
    if len(names) != len(panel.channels):
        raise TaskError(
            f"{len(panel.channels)} columns of {pulled.source} for the {len(names)} of dataset.channels; name one for "
            "each",
            path=task.config_path,
            key="dataset.pulled.symbols",
        )
    panel = replace(panel, channels=names)
    if not reference.channels:
        return panel
    kept = channel_positions(names, reference.channels, pulled.source)
    values = np.ascontiguousarray(panel.values[:, kept])
    values.flags.writeable = False
    return replace(panel, values=values, channels=reference.channels)


def panel_kind(task: Task) -> DataKind:
    """The kind of data of the task's panel, without loading it."""
    from openfingym import data

    reference = task.spec.dataset
    if task.real:
        return "real"
    return reference.kind or data.dataset_info(str(reference.name)).kind


def panel_oddities(task: Task, panel: Panel) -> tuple[str, ...]:
    """What is odd about a task's panel, hidden rows included; see :func:`openfingym.data.plausibility.oddities`."""
    from openfingym.data.recipe import train_rows

    prepared, split = task.spec.dataset.prepared, task.spec.split
    times = panel.times if panel.times.dtype.kind == "M" else None
    hidden_from = None if split is None else train_rows(panel.times, split)
    found = oddities(times, panel.channels, panel.values, hidden_from=hidden_from, filled=panel.filled)
    if prepared is None or not prepared.filled or panel.filled is not None or task.real:
        return found
    unknown = f"{prepared.filled} cells were given a value, and nobody has kept which: hidden ones are scored like any"
    return (*found, f"{unknown}; make the task again from the author's files")


def panel_width(task: Task) -> int | None:
    """Number of series in the task's panel, without loading it; None if that is known only once it is loaded."""
    from openfingym import data

    reference = task.spec.dataset
    if reference.channels:
        return len(reference.channels)
    if task.real:
        form, pulled = required_form(task)
        return len(form.names or pulled.symbols) or None
    if reference.file is not None:
        # The header has a comma before each series: its first column is the date, or the number of the row.
        return dataset_content(task).partition(b"\n")[0].count(b",")
    return len(data.dataset_info(str(reference.name)).channels)


def panel_key(task: Task) -> str:
    """A value that changes whenever the panel does."""
    from openfingym import data

    reference = task.spec.dataset
    if task.real:
        # Loads the panel: what was pulled can change without any file of the task changing.
        return panel_of(task).digest
    if reference.file is None:
        return data.dataset_info(str(reference.name)).sha256
    cells = _filled_file(task)
    return sha256_of(_packed(task) + (cells[1] if cells is not None else b""))


def panel_recipe(panel: Panel | Curves | FeatureRows) -> tuple[str, ...]:
    """The steps by which a panel was made, up to where windows are cut from it, as sentences."""
    info, dated = panel.info, panel.times.dtype.kind == "M"
    days = panel.times.astype("datetime64[D]") if dated else panel.times
    reach = f"from {'' if dated else 'number '}{days[0]} to {days[-1]}"
    part = "" if len(days) == info.rows else f" of its {info.rows}"
    return (
        f"dataset {info.name}: {info.kind}, {len(days)}{part} rows, {reach}, {info.source}",
        f"calendar: {info.calendar}",
        f"corporate actions: {info.corporate_actions}",
        *(info.prepared or (f"missing values: {info.missing or 'none'}; nothing is filled",)),
    )


def split_text(split: Split) -> str:
    """How rows are divided, as a phrase that ends with the number of rows dropped between blocks."""
    if split.dated:
        return f"split by time: public from {split.public_from}, private from {split.private_from}; {split.embargo}"
    train, public, private = split.shares
    return f"split by time: {train:g} train, {public:g} public, {private:g} private; {split.embargo}"


def dataset_content(task: Task) -> bytes:
    """The author's CSV, decompressed if its name ends in ``.gz``.

    Raises:
        TaskError: the file is missing, is a link, is no regular file, or is too large.
        DataError: the file cannot be decompressed.
    """
    name = str(task.spec.dataset.file)
    content = _packed(task)
    if not name.endswith(".gz"):
        return content
    return unpacked(content, task.folder / name, DATASET_LIMIT)


def _packed(task: Task) -> bytes:
    """The author's file as it is, compressed or not."""
    return read_task_file(task.folder, str(task.spec.dataset.file), key="metadata.openfingym.dataset.file")
