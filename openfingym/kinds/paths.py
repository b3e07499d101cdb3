"""The windows of a generation task: paths of a process set, whose parts share no random number, or cut from a panel,
whose windows do not overlap across the split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds.known_windows import left_of, training_facts
from openfingym.kinds.material import Array, Blocks
from openfingym.kinds.panels import panel_oddities, panel_of, panel_recipe, split_text
from openfingym.kinds.real_forms import split_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo, Panel
    from openfingym.data.processes.sets import ProcessSet
    from openfingym.data.recipe import Windows
    from openfingym.kinds.generation_contract import GenerationContract
    from openfingym.task import Task


@dataclass(frozen=True, eq=False)
class Paths:
    """The windows of a generation task, contexts included, and where they come from."""

    info: DatasetInfo
    """Provenance of the data."""
    digest: str
    """Hex SHA-256 of the data."""
    channels: tuple[str, ...]
    """Names of the channels."""
    train: Blocks | NDArray[np.float64]
    """Training windows, float64[n, rows, channels]."""
    public: NDArray[np.float64]
    """Hidden windows of the public fold, float64[n, rows, channels]."""
    private: NDArray[np.float64]
    """Hidden windows of the private fold, float64[n, rows, channels]."""
    recipe: tuple[str, ...]
    """The steps from the dataset to the windows, as sentences."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What ``contract.json`` says of the training windows beside what it says of every task."""
    times: Mapping[str, Array] = field(default_factory=dict)
    """Times of the rows of windows, ``train_times`` and ``test_times``, both [n, rows]; none of paths without dates."""


def process_of(task: Task) -> ProcessSet | None:
    """The process set that a task is on; None if its dataset is a panel, or if a real panel takes the set's place."""
    from openfingym.data.processes import process_sets

    if task.real:
        return None
    named = {known.name: known for known in process_sets()}
    return named.get(task.spec.dataset.name or "")


def paths_of(task: Task, contract: GenerationContract) -> Paths:
    """The windows of a task: the paths of its process set, or those cut from its panel."""
    known = process_of(task)
    return from_panel(task, contract, panel_of(task)) if known is None else from_process(task, contract, known)


def path_oddities(task: Task) -> tuple[str, ...]:
    """What is odd about the panel that a task's windows are cut from; nothing of a process set."""
    return () if process_of(task) is not None else panel_oddities(task, panel_of(task))


def from_process(task: Task, contract: GenerationContract, known: ProcessSet, seed: int | None = None) -> Paths:
    """The paths of a process set.

    Args:
        task: the task that names the set.
        contract: the contract of the task.
        known: the process set that the task names.
        seed: seed of the paths of both folds; None for the set's own seed. Training paths are always the same.

    Raises:
        TaskError: the task states a split, a period or dated contexts, which a process set does not have.
    """
    from openfingym.data.processes import DEFAULT_SEED, draw_sets, stream_paths
    from openfingym.data.processes.info import process_info
    from openfingym.data.processes.sets import Counts

    # A task that states real data needs a split for these, which is not used here.
    if task.spec.split is not None and task.spec.dataset.pulled is None:
        raise TaskError("a process set has splits of its own; remove the table", path=task.config_path, key="split")
    if task.spec.dataset.first or task.spec.dataset.last:
        raise TaskError("a process set has no dates; remove first and last", path=task.config_path, key="dataset")
    if contract.dated:
        raise TaskError(
            "contexts of a process set are independent of each other and have no dates; remove it",
            path=task.config_path,
            key="contract.dated",
        )
    # One training path, which is not used: those of the task are made block by block, as there can be too many to hold.
    drawn = draw_sets(
        known.name, DEFAULT_SEED if seed is None else seed, Counts(1, known.counts.public, known.counts.private)
    )
    train = Blocks((known.counts.train, *known.shape), partial(stream_paths, known, "train"))
    info = process_info(known)
    return Paths(
        info=info,
        digest=info.sha256,
        channels=known.process.channels,
        train=train,
        public=drawn.public,
        private=drawn.private,
        recipe=(
            f"dataset {info.name}: {info.kind}, {info.source}",
            f"parameters: {known.calibration}",
            "train, public and private paths come from random streams of their own",
            f"paths: {known.counts.train} train, {known.counts.public} public, {known.counts.private} private",
            f"rounded to {', '.join(map(str, sorted(set(known.decimals))))} decimals",
        ),
    )


def from_panel(task: Task, contract: GenerationContract, panel: Panel) -> Paths:
    """The windows of a panel.

    Args:
        task: the generation task that the windows are for.
        contract: the contract of the task.
        panel: the panel that the windows are cut from.

    Raises:
        TaskError: the split is missing, or has keys that are for forecasts; contexts are not said to be dated; or a row
            to divide by is not positive.
    """
    from openfingym.data import recipe

    split = split_of(task)
    if split is None:
        raise TaskError(
            "windows of a panel need the table [metadata.openfingym.split]", path=task.config_path, key="split"
        )
    if split.log1p or split.scaled or split.hidden_stride:
        raise TaskError(
            "log1p, scaled and hidden_stride are for forecasts; a generated window is scaled as a whole, and hidden "
            "ones share no row",
            path=task.config_path,
            key="split",
        )
    if contract.lookback and not contract.dated:
        raise TaskError(
            "contexts that are cut from a panel follow each other in time, and are to be shown in its order; write "
            "dated = true",
            path=task.config_path,
            key="contract.dated",
        )
    times, values = recipe.to_values(panel, contract.value_semantics)
    # Each window is divided by the row before it, which lies in the same block (`lead`): the last one of the window
    # before it, as the first return of a window rests on the last price of the one before.
    anchored = split.scaling == "start"
    windows = recipe.cut(
        values,
        times,
        split=split,
        lookback=contract.lookback,
        horizon=contract.horizon,
        lead=int(anchored),
        tiled=True,
    )
    whole = {}
    for part in ("train", "test"):
        whole[part] = np.concatenate([getattr(windows, f"{part}_inputs"), getattr(windows, f"{part}_targets")], axis=1)
        if anchored:
            before = values[getattr(windows, f"{part}_starts") - 1]
            if not (before > 0.0).all():
                raise TaskError(
                    "a window cannot be divided by the row before it where that is not positive",
                    path=task.config_path,
                    key="split.scaling",
                )
            whole[part] /= before[:, None]
    length = contract.lookback + contract.horizon
    kept, counts, said = _known_alone(task, contract, panel, windows, anchored=anchored)
    whole["test"] = whole["test"][kept]
    scaled = (
        "each window divided by the row before it"
        if anchored
        else f"scaling: {split.scaling}, by the training block alone"
    )
    return Paths(
        info=panel.info,
        digest=panel.digest,
        channels=panel.channels,
        train=whole["train"],
        public=whole["test"][: counts[0]],
        private=whole["test"][counts[0] :],
        recipe=(
            *panel_recipe(panel),
            f"channels: {', '.join(panel.channels)}",
            f"values: {contract.value_semantics.replace('_', ' ')}; {scaled}",
            f"{split_text(split)} rows dropped between",
            f"training windows of {length} rows, one every {split.train_stride} rows",
            f"hidden windows tile their block without overlap: {windows.n_public} public, {windows.n_private} private",
            *said,
        ),
        facts=training_facts(
            recipe.unknown_values(panel, contract.value_semantics), windows.train_starts, length, int(anchored)
        ),
        times={"train_times": windows.train_times, "test_times": windows.test_times[kept]},
    )


def _known_alone(
    task: Task,
    contract: GenerationContract,
    panel: Panel,
    windows: Windows,
    *,
    anchored: bool,
) -> tuple[NDArray[np.bool_], tuple[int, int], tuple[str, ...]]:
    """Which hidden windows do not rest on filled cells: a distribution is of whole windows.

    Args:
        task: the task, for messages.
        contract: the contract of the task.
        panel: the panel that the windows are cut from.
        windows: where they begin.
        anchored: whether each window is divided by the row before it.

    Returns:
        bool[windows], True for those that stay; counts of both folds, and what was done as sentences.

    Raises:
        TaskError: a fold has no window left.
    """
    from openfingym.data.recipe import unknown_values

    cells, counts = unknown_values(panel, contract.value_semantics), (windows.n_public, windows.n_private)
    if cells is None:
        return np.ones(sum(counts), dtype=np.bool_), counts, ()
    # A context may be filled, which is only shown; what is divided by must be known.
    offsets = np.arange(contract.lookback, contract.lookback + contract.horizon)
    rows = windows.test_starts[:, None] + (np.append(offsets, -1) if anchored else offsets)
    kept = np.asarray(~cells[rows].any(axis=(1, 2)))
    left, said = left_of(task, kept, counts, "that hold a value which was filled in")
    return kept, left, said
