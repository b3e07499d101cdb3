"""Instances of tasks about curves: some of the curves, months and maturities; of simulated curves, new months."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.kinds.instances import Instance, between, fresh_seed, origin, some_of
from openfingym.kinds.known_windows import left_of, training_cells
from openfingym.kinds.material import Array, Material
from openfingym.kinds.real_forms import split_of
from openfingym.kinds.stretches import known_rows, lengths, placed, public_part, public_share
from openfingym.kinds.walk import hidden_until_due
from openfingym.kinds.window_instances import ShownWindows, cutting, windows_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.curves.contract import CurvesContract
    from openfingym.kinds.instances import InstanceSplit, TrainingData

FEWEST_SERIES = 6
"""Fewest curves of an instance, where the task has so many."""
MATURITIES = (12, 40)
"""Fewest and most maturities of an instance, where the task has so many."""
FRESH_HIDDEN = (12, 16)
"""Fewest and most hidden windows of each curve in an instance of simulated curves."""
FRESH_TRAIN = (40, 72)
"""Fewest and most training windows of each curve in an instance of simulated curves."""


@dataclass(frozen=True, eq=False)
class _Months:
    """Curves in time, and where the windows of an instance begin in them."""

    values: NDArray[np.float64]
    """Yields, float64[rows, series, maturities]."""
    times: Array
    """Time of each row."""
    train: NDArray[np.int64]
    """First input row of each training window, int64[windows]."""
    test: NDArray[np.int64]
    """First input row of each hidden window, int64[windows]; the public fold first."""
    n_public: int
    """Hidden windows of each curve in the public fold."""
    lookback: int
    """Rows of input of a window."""
    part: str
    """Which part of the training data the curves are, as a phrase."""
    filled: NDArray[np.bool_] | None = None
    """Which yields an author's file did not have, bool[rows, series, maturities]; None for none."""


def curves_instance(
    data: TrainingData,
    contract: CurvesContract,
    split: InstanceSplit,
    generator: np.random.Generator,
    *,
    fresh: bool,
) -> Instance:
    """An instance of a curves task; see :meth:`openfingym.kinds.kind.Kind.instance`.

    The bundled dataset has too few training months to be divided again: its instances are drawn anew by the simulator,
    with seeds that differ between the splits. Other instances are cut from the training rows.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        split: split of the instance.
        generator: random generator that everything about the instance is drawn from.
        fresh: whether the data is the bundled dataset, which is simulated.
    """
    known = [str(name) for name in data.facts["series"]]
    places, names = some_of(generator, known, FEWEST_SERIES)
    points, maturities = some_of(generator, data.facts["maturities"], *MATURITIES)
    months = (_drawn if fresh else _cut)(data, contract, points, split, generator)
    values, lookback = months.values[:, places], months.lookback
    public: dict[str, Array] = {}
    hidden: dict[str, Array] = {}
    for part, starts in (("train", months.train), ("test", months.test)):
        windows = windows_at(values, starts, lookback + 1).reshape(-1, lookback + 1, values.shape[2])
        public[f"{part}_inputs"] = np.ascontiguousarray(windows[:, :lookback])
        hidden[part] = np.ascontiguousarray(windows[:, lookback])
        public[f"{part}_times"] = np.repeat(windows_at(months.times, starts, lookback + 1), len(names), axis=0)
        public[f"{part}_series"] = np.tile(np.arange(len(names), dtype=np.int64), len(starts))
    public["train_targets"] = hidden["train"]
    counts = (months.n_public * len(names), (len(months.test) - months.n_public) * len(names))
    said: tuple[str, ...] = ()
    if months.filled is not None:
        unknown = windows_at(months.filled[:, places], months.test + lookback, 1)
        kept = ~unknown.any(axis=(2, 3)).reshape(-1)
        counts, said = left_of(data.task, kept, counts, "in whose curve a value was filled in")
        public = {name: array[kept] if name.startswith("test_") else array for name, array in public.items()}
        hidden["test"] = hidden["test"][kept]
    labels = tuple(str(data.facts["channels"][point]) for point in points)
    facts = {
        "lookback": lookback,
        "horizon": 1,
        "bounds": data.facts["bounds"],
        "coverage": contract.coverage,
        "maturities": maturities,
        "series": names,
        "channels": list(labels),
    }
    material = _material(data, months, public, hidden, labels, facts)
    material = replace(material, n_public=counts[0], n_private=counts[1], recipe=(*material.recipe, *said))
    return Instance(hidden_until_due(material), {"lookback": lookback})


def _material(
    data: TrainingData,
    months: _Months,
    public: dict[str, Array],
    targets: dict[str, Array],
    labels: tuple[str, ...],
    facts: dict[str, Any],
) -> Material:
    """The arrays of the instance's package, and the facts about them.

    Args:
        data: the training data of the task.
        months: the curves, and where the windows begin.
        public: the public arrays by name.
        targets: the target curves of the training windows (``train``) and of the hidden ones (``test``).
        labels: names of the maturities.
        facts: what ``contract.json`` says beside what it says of every task.
    """
    axes = {
        "inputs": ("window", "row", "maturity"),
        "targets": ("window", "maturity"),
        "times": ("window", "row"),
        "series": ("window",),
    }
    names = facts["series"]
    n_public, count = months.n_public * len(names), len(targets["test"])
    return Material(
        info=data.info,
        dataset_digest=data.digest,
        public=public,
        axes={name: axes[name.partition("_")[2]] for name in public},
        hidden={"targets": targets["test"]},
        n_train=len(targets["train"]),
        n_public=n_public,
        n_private=count - n_public,
        shape=(count, 3, len(labels)),
        submission_axes=("window", "bound", "maturity"),
        labels=labels,
        recipe=(
            *origin(data, months.part),
            f"curves: {', '.join(names)}",
            f"windows of {months.lookback} + 1 rows a curve, hidden ones one every row",
        ),
        facts=facts,
    )


def _drawn(
    data: TrainingData,
    contract: CurvesContract,
    points: list[int],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> _Months:
    """Months that the simulator draws anew: training windows, then the hidden windows of both folds."""
    from openfingym.data.curves import FIRST, drawn_curves
    from openfingym.data.months import month_ends

    table = data.task.spec.rows
    lookback = between(generator, -(-contract.lookback // 4), contract.lookback)
    count, train = between(generator, *FRESH_HIDDEN), between(generator, *FRESH_TRAIN)
    n_public = public_part(count, public_share(table))
    # First rows of the public and of the private fold. So many training windows, one a month, reach over
    # train + lookback months.
    first = train + lookback + table.embargo
    second = first + lookback + n_public + table.embargo
    months = second + lookback + count - n_public
    starts = [*range(first, first + n_public), *range(second, second + count - n_public)]
    maturities = np.array(data.facts["maturities"], dtype=np.float64)[points]
    return _Months(
        drawn_curves(fresh_seed(split, generator), months, maturities),
        month_ends(FIRST, months),
        np.arange(train),
        np.array(starts),
        n_public,
        lookback,
        f"{months} months drawn anew",
    )


def _cut(
    data: TrainingData,
    contract: CurvesContract,
    points: list[int],
    split: InstanceSplit,
    generator: np.random.Generator,
) -> _Months:
    """Some of the months that the task's training windows show."""
    task, table = data.task, split_of(data.task)
    assert table is not None, "a curves task needs one"
    series = len(data.facts["series"])
    inputs, targets, times = (data.read(f"train_{name}") for name in ("inputs", "targets", "times"))
    shown = ShownWindows(
        inputs.reshape(-1, series, *inputs.shape[1:]),
        targets.reshape(-1, series, 1, targets.shape[1]),
        times[::series],
        table.train_stride,
    )
    sizes = lengths(
        task,
        len(shown),
        (contract.lookback, 1),
        generator,
        embargo=table.embargo,
        share=public_share(table),
        longest=None if shown.gapless else shown.run,
    )
    stretch = placed(
        task, len(shown), sizes.hidden, known_rows(len(shown), table.embargo), split, generator, embargo=table.embargo
    )
    cut = cutting(task, shown, stretch, sizes, series * len(points))
    numbers = shown.numbers(cut.rows)
    filled = training_cells(data.facts, int(numbers[-1]) + 1, series * targets.shape[1])
    return _Months(
        shown.values(cut.rows, points),
        shown.times_of(cut.rows),
        cut.train,
        cut.test,
        cut.n_public,
        sizes.lookback,
        f"rows {cut.rows.start} to {cut.rows.stop - 1} of its training rows",
        None if filled is None else filled.reshape(len(filled), series, -1)[numbers][:, :, points],
    )
