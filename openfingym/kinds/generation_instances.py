"""Instances of generation tasks: some of the task's training windows to learn from, and others to compare with.

The windows of an instance are the task's own, cut short to their first rows and to some of their channels. They keep
the task's scaling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.instances import Instance, below, between, first_reserved, origin, some_of, too_little
from openfingym.kinds.known_windows import left_of, training_cells
from openfingym.kinds.material import Array, Material
from openfingym.kinds.real_forms import split_of
from openfingym.kinds.stretches import placed, public_part, public_share
from openfingym.kinds.walk import hidden_until_due

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.generation_contract import GenerationContract
    from openfingym.kinds.instances import InstanceSplit, TrainingData

AXES = ("window", "row", "channel")
LADDER = ((60, 2), (48, 2), (48, 4), (48, 8), (40, 12))
"""What an instance demands, from the most to the least; the first entry that the data can satisfy is taken. An entry
``(n, a)`` means at least ``n`` hidden windows, with at least 1/a of the task's horizon."""
FEWEST_COMPARED = 20
"""Fewest windows of each part: with fewer, neither copies nor two distributions can be told apart."""
SPARE = 10
"""Most windows that the public fold has beyond these where training rows were filled in, as some will be left out."""
FEWEST_ROWS = 5
"""Fewest rows to generate, where the task's windows have so many."""
MOST_HIDDEN = 240
"""Most hidden windows of an instance."""
MOST_TRAIN = 1000
"""Most training windows of an instance."""
MOST_NUMBERS = 1 << 18
"""Most numbers that the training windows of an instance have together."""
MOST_FUTURES = 32
"""Most futures that an instance asks for each context."""


@dataclass(frozen=True)
class _Sizes:
    """How long the windows of an instance are, and how far apart."""

    lookback: int
    """Rows of context."""
    horizon: int
    """Rows to generate."""
    apart: int
    """Training windows of the task from a hidden window to the next one that shares no row with it."""
    embargo: int
    """Training windows of the task that are dropped before each fold."""
    n_public: int
    """Hidden windows of the public fold."""
    n_private: int
    """Hidden windows of the private fold."""


def generation_instance(
    data: TrainingData, contract: GenerationContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a generation task; see :meth:`openfingym.kinds.kind.Kind.instance`.

    Hidden windows of a panel share no row with each other or with training windows. Paths of a process are independent,
    and need no distance.
    """
    inputs, targets = data.read("train_inputs"), data.read("train_targets")
    count = len(targets)
    sizes = _sizes(data, contract, count, generator)
    hidden = sizes.n_public * sizes.apart, sizes.n_private * sizes.apart
    most = (min(sum(hidden), count // 4), count)
    stretch = placed(
        data.task, count, hidden, most, split, generator, embargo=sizes.embargo, reserved=_reserved(data, count)
    )
    places, channels = some_of(generator, [str(name) for name in data.facts["channels"]], 2)
    limit = max(min(MOST_TRAIN, MOST_NUMBERS // ((sizes.lookback + sizes.horizon) * len(channels))), FEWEST_COMPARED)
    # A window that begins among the last ones of the training part would reach into the embargo, or beyond.
    train = np.arange(stretch.train.start, stretch.train.stop - sizes.apart + 1)
    train = train[:: max(-(-len(train) // limit), 1)]
    if len(train) < FEWEST_COMPARED:
        raise too_little(data.task, f"{count} training windows", f"{FEWEST_COMPARED} to learn from")
    test = np.concatenate([np.arange(part.start, part.stop, sizes.apart) for part in (stretch.public, stretch.private)])
    arrays = {
        name: np.concatenate([inputs[chosen], targets[chosen]], axis=1)[:, : sizes.lookback + sizes.horizon, places]
        for name, chosen in (("train", train), ("test", test))
    }
    futures = contract.futures
    if futures > MOST_FUTURES:
        futures = between(generator, MOST_FUTURES // 2, MOST_FUTURES)
    times = {}
    if contract.dated:
        own = data.read("train_times")
        times = {
            name: own[chosen][:, : sizes.lookback + sizes.horizon]
            for name, chosen in (("train", train), ("test", test))
        }
    kept = _known(data, contract, sizes, test, places, count)
    counts, said = left_of(data.task, kept, (sizes.n_public, sizes.n_private), "that hold a value which was filled in")
    if min(counts) < FEWEST_COMPARED:
        found = f"{counts[0]} and {counts[1]} hidden windows without a value that was filled in"
        raise too_little(data.task, found, f"{FEWEST_COMPARED} of each fold")
    arrays["test"], sizes = arrays["test"][kept], replace(sizes, n_public=counts[0], n_private=counts[1])
    material = _material(data, contract, arrays, sizes, channels, futures)
    material = replace(material, recipe=(*material.recipe, *said))
    if contract.dated:
        material = hidden_until_due(_with_times(material, times["train"], times["test"][kept]))
    keys: dict[str, object] = {"horizon": sizes.horizon}
    if contract.lookback:
        keys |= {"lookback": sizes.lookback, "futures": futures}
    return Instance(material, keys)


def _with_times(material: Material, train: Array, test: Array) -> Material:
    """The material with the times of the rows of its windows, [windows, rows] each."""
    times = {"train_times": np.ascontiguousarray(train), "test_times": np.ascontiguousarray(test)}
    axes = {**material.axes, **dict.fromkeys(times, AXES[:2])}
    return replace(material, public={**material.public, **times}, axes=axes)


def _known(
    data: TrainingData,
    contract: GenerationContract,
    sizes: _Sizes,
    windows: NDArray[np.int64],
    places: list[int],
    count: int,
) -> NDArray[np.bool_]:
    """Which of some training windows of the task hold no value that was filled in, in what is generated of them.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        sizes: how long the windows of the instance are.
        windows: numbers of the windows, int64[n].
        places: positions of the channels.
        count: number of the task's training windows.
    """
    table = split_of(data.task)
    if table is None:
        return np.ones(len(windows), dtype=np.bool_)
    # A window is divided by the row before it, if it is; that row must be known too.
    lead = int(table.scaling == "start")
    rows = lead + (count - 1) * table.train_stride + contract.lookback + contract.horizon
    cells = training_cells(data.facts, rows, len(data.facts["channels"]))
    if cells is None:
        return np.ones(len(windows), dtype=np.bool_)
    offsets = lead + np.arange(sizes.lookback, sizes.lookback + sizes.horizon)
    within = np.append(offsets, 0) if lead else offsets
    return np.asarray(~cells[windows[:, None] * table.train_stride + within][:, :, places].any(axis=(1, 2)))


def _reserved(data: TrainingData, count: int) -> int:
    """Position of the first reserved window. Of a panel a third is reserved, as windows that share no row are few."""
    return first_reserved(count) if split_of(data.task) is None else count - count // 3


def _sizes(data: TrainingData, contract: GenerationContract, count: int, generator: np.random.Generator) -> _Sizes:
    """How long windows are, how far apart, and how many are hidden; drawn in the same way for both splits.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        count: number of the task's training windows.
        generator: random generator that the sizes are drawn from.

    Raises:
        UsageError: the task has too few training windows.
    """
    table = split_of(data.task)
    space = count - _reserved(data, count)
    lookback = between(generator, -(-contract.lookback // 2), contract.lookback)

    def apart(horizon: int) -> int:
        """Windows from one to the next that shares no row with it, nor the row that it is divided by, if it is."""
        # Rows over the stride, rounded up.
        return 1 if table is None else -(-(lookback + horizon + (table.scaling == "start")) // table.train_stride)

    def embargo(horizon: int) -> int:
        """The task's embargo as a number of windows, shorter in proportion to the horizon."""
        return 0 if table is None else -(-table.embargo * horizon // (contract.horizon * table.train_stride))

    for fewest, part in LADDER:
        shortest = min(max(-(-contract.horizon // part), FEWEST_ROWS), contract.horizon)
        horizons = [
            horizon
            for horizon in range(shortest, contract.horizon + 1)
            if fewest * apart(horizon) + embargo(horizon) <= space
        ]
        if not horizons:
            continue
        horizon = horizons[below(generator, len(horizons))]
        most = min((space - embargo(horizon)) // apart(horizon), MOST_HIDDEN)
        asked = between(generator, max(fewest, most // 2), most)
        spare = min(SPARE, asked // 2 - FEWEST_COMPARED) if data.facts.get("filled") else 0
        n_public = max(public_part(asked, 1 / 3 if table is None else public_share(table)), FEWEST_COMPARED + spare)
        return _Sizes(lookback, horizon, apart(horizon), embargo(horizon), n_public, asked - n_public)
    raise too_little(data.task, f"{count} training windows", f"{LADDER[-1][0]} hidden windows in a third of them")


def _material(
    data: TrainingData,
    contract: GenerationContract,
    arrays: dict[str, Array],
    sizes: _Sizes,
    channels: list[str],
    futures: int,
) -> Material:
    """The arrays of the instance's package, and the facts about them.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        arrays: whole windows, float64[windows, rows, channels]: those to learn from (``train``) and hidden ones
            (``test``).
        sizes: how long windows are, and how many are hidden.
        channels: names of the channels.
        futures: futures to generate for each context.
    """
    lookback, width = sizes.lookback, len(channels)
    samples = sizes.n_private + (sizes.n_public if lookback else 0)
    public: dict[str, Array] = {
        "train_inputs": np.ascontiguousarray(arrays["train"][:, :lookback]),
        "train_targets": np.ascontiguousarray(arrays["train"][:, lookback:]),
        "test_inputs": np.ascontiguousarray(arrays["test"][:, :lookback]),
    }
    if not lookback:
        # Without contexts, all samples are compared with either fold, and only their number is told.
        public["test_inputs"] = np.empty((samples, 0, width))
    window = (sizes.horizon, width)
    return Material(
        info=data.info,
        dataset_digest=data.digest,
        public=public,
        axes=dict.fromkeys(public, AXES),
        hidden={"real": np.ascontiguousarray(arrays["test"][:, lookback:])},
        n_train=len(arrays["train"]),
        n_public=sizes.n_public,
        n_private=sizes.n_private,
        shape=(samples, futures, *window) if lookback else (samples, *window),
        submission_axes=("context", "future", "row", "channel") if lookback else AXES,
        labels=tuple(channels),
        recipe=(
            *origin(data, "some of its training windows, and others to compare with"),
            f"channels: {', '.join(channels)}",
            f"the first {lookback + sizes.horizon} rows of a window, scaled as in the task",
            f"hidden windows share no row with others: {sizes.n_public} public, {sizes.n_private} private",
        ),
        facts={
            "lookback": lookback,
            "horizon": sizes.horizon,
            "futures": futures,
            "channels": channels,
            "max_memorised": contract.max_memorised,
        },
    )
