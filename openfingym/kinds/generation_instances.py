"""Instances of generation tasks: some of the task's training windows to learn from, and others to compare with.

Windows are those of the task from their first row on, with some of their channels and not always all of their rows.
They keep the task's scaling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.instances import Instance, below, between, first_reserved, origin, some_of, too_little
from openfingym.kinds.material import Array, Material
from openfingym.kinds.real_forms import split_of
from openfingym.kinds.stretches import placed, public_part, public_share

if TYPE_CHECKING:
    from openfingym.kinds.generation import GenerationContract
    from openfingym.kinds.instances import InstanceSplit, TrainingData

AXES = ("window", "row", "channel")
LADDER = ((60, 2), (48, 2), (48, 4), (48, 8), (40, 12))
"""Fewest hidden windows, and which part of the task's horizon a window has at least; the first that fits the data."""
FEWEST_COMPARED = 20
"""Windows of each part at least: fewer do not tell copies, or the windows of two laws apart."""
FEWEST_ROWS = 5
"""Rows that are generated at least, where the task's windows have so many."""
MOST_HIDDEN = 240
MOST_TRAIN = 1000
MOST_NUMBERS = 1 << 18
"""Numbers that the training windows of an instance have at most."""
MOST_FUTURES = 32


@dataclass(frozen=True)
class _Sizes:
    """How long the windows of an instance are and where they lie, as a number of the task's training windows."""

    lookback: int
    horizon: int
    apart: int
    """From a hidden window to the next one that shares no row with it."""
    embargo: int
    n_public: int
    n_private: int


def generation_instance(
    data: TrainingData, contract: GenerationContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a generation task; see :meth:`openfingym.kinds.kind.Kind.instance`.

    Of a panel, hidden windows share no row with each other or with training. The paths of a process are independent.
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
    material = _material(data, contract, arrays, sizes, channels, futures)
    keys: dict[str, object] = {"horizon": sizes.horizon}
    if contract.lookback:
        keys |= {"lookback": sizes.lookback, "futures": futures}
    return Instance(material, keys)


def _reserved(data: TrainingData, count: int) -> int:
    """The first reserved window. Of a panel it is the last third, since hidden windows that share no row are few."""
    return first_reserved(count) if split_of(data.task) is None else count - count // 3


def _sizes(data: TrainingData, contract: GenerationContract, count: int, generator: np.random.Generator) -> _Sizes:
    """How long windows are, how far apart, and how many are hidden; the same for both splits.

    Raises:
        UsageError: there are too few.
    """
    table = split_of(data.task)
    space = count - _reserved(data, count)
    lookback = between(generator, -(-contract.lookback // 2), contract.lookback)

    def apart(horizon: int) -> int:
        """Of a window that is divided by the row before it, that row as well."""
        return 1 if table is None else -(-(lookback + horizon + (table.scaling == "start")) // table.train_stride)

    def embargo(horizon: int) -> int:
        """The task's, as much shorter as the horizon."""
        return 0 if table is None else -(-table.embargo * horizon // (contract.horizon * table.train_stride))

    for fewest, part in LADDER:
        shortest = min(max(-(-contract.horizon // part), FEWEST_ROWS), contract.horizon)
        horizons = [one for one in range(shortest, contract.horizon + 1) if fewest * apart(one) + embargo(one) <= space]
        if not horizons:
            continue
        horizon = horizons[below(generator, len(horizons))]
        most = min((space - embargo(horizon)) // apart(horizon), MOST_HIDDEN)
        asked = between(generator, max(fewest, most // 2), most)
        n_public = max(public_part(asked, 1 / 3 if table is None else public_share(table)), FEWEST_COMPARED)
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
    """What the package of the instance holds."""
    lookback, width = sizes.lookback, len(channels)
    samples = sizes.n_private + (sizes.n_public if lookback else 0)
    public: dict[str, Array] = {
        "train_inputs": np.ascontiguousarray(arrays["train"][:, :lookback]),
        "train_targets": np.ascontiguousarray(arrays["train"][:, lookback:]),
        "test_inputs": np.ascontiguousarray(arrays["test"][:, :lookback]),
    }
    if not lookback:
        public["test_inputs"] = np.empty((samples, 0, width))
    one = (sizes.horizon, width)
    return Material(
        info=data.info,
        dataset_digest=data.digest,
        public=public,
        axes=dict.fromkeys(public, AXES),
        hidden={"real": np.ascontiguousarray(arrays["test"][:, lookback:])},
        n_train=len(arrays["train"]),
        n_public=sizes.n_public,
        n_private=sizes.n_private,
        shape=(samples, futures, *one) if lookback else (samples, *one),
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
