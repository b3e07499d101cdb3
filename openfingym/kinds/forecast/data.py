"""The windows of a forecasting task: cut from a panel, scaled, with graphs, and described in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds.known_windows import left_of, training_facts
from openfingym.kinds.material import Array
from openfingym.kinds.panels import panel_recipe, split_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.data.recipe import Windows
    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.task import Task

GRAPHS = ("correlation", "spillover")
"""Names of the two graphs of a window."""


def cut(task: Task, contract: ForecastContract, panel: Panel) -> Windows:
    """The windows of a task's panel, in the task's units and scaled as its split states.

    Raises:
        TaskError: ln(1 + x) is to be taken of a channel that has values of -1 or less.
    """
    from openfingym.data import recipe
    from openfingym.data.volatility import rows_apart

    split = task.spec.rows
    times, values = recipe.to_values(panel, contract.value_semantics)
    if split.log1p:
        columns = [panel.channels.index(name) for name in split.log1p]
        if (values[:, columns] <= -1.0).any():
            raise TaskError("log1p needs values above -1", path=task.config_path, key="split.log1p")
        values = values.copy()
        values[:, columns] = np.log1p(values[:, columns]).round(recipe.RETURN_DECIMALS)
    scaled = np.array([not split.scaled or name in split.scaled for name in panel.channels])
    lead = 0
    if contract.value_semantics == "realised_vol":
        # Rows left out before the first window of a block, which its first volatility and graph are made of.
        lead = rows_apart(contract.lookback, contract.graph_window or 1)
    return recipe.cut(
        values, times, split=split, lookback=contract.lookback, horizon=contract.horizon, lead=lead, scaled=scaled
    )


def noisy_returns(
    prices: NDArray[np.float64], hidden: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Prices whose returns are noise in the hidden rows, and to the last bit the same in all other rows.

    Args:
        prices: float64[rows, channels], positive.
        hidden: bool[rows], the rows whose returns are hidden.
        generator: random generator that the noise is drawn from.
    """
    # A return is the ratio of two prices, so the last price of a hidden run also makes the first return after it. All
    # prices from the start of a run to that of the next are scaled by a power of two, which changes the hidden return
    # into the run and leaves every bit of the ratios after the run as it was.
    begins = hidden & ~np.concatenate([[False], hidden[:-1]])
    stretch = np.cumsum(begins)
    # Exponents that differ from one stretch to the next, and stay below 16, so that nothing overflows.
    steps = generator.integers(1, 16, (int(stretch[-1]) + 1, prices.shape[1]))
    out: NDArray[np.float64] = prices * np.exp2(np.cumsum(steps, axis=0) % 16)[stretch]
    # The other prices of a run make hidden returns alone, and are replaced.
    within = hidden & np.concatenate([hidden[1:], [False]])
    low, high = np.log(prices.min(axis=0)), np.log(prices.max(axis=0))
    out[within] = np.exp(generator.uniform(low, high, (int(within.sum()), prices.shape[1])))
    return out


def require_positive(task: Task, windows: Windows, targets: Mapping[str, int]) -> None:
    """Refuse targets of 0 or less, from which no returns can be formed.

    Args:
        task: the task that predicts prices, for the message.
        windows: the task's windows, scaled.
        targets: positions of the predicted channels among all channels, by name.

    Raises:
        TaskError: a predicted channel has a value of 0 or less; the message names it.
    """
    arrays = windows.train_inputs, windows.train_targets, windows.test_inputs, windows.test_targets
    wrong = [name for name, column in targets.items() if any((array[:, :, column] <= 0.0).any() for array in arrays)]
    if wrong:
        raise TaskError(
            f"price_level needs targets above 0 everywhere, as scaled; {', '.join(wrong)} is not. "
            "Leave it out of contract.targets, or do not standardise it",
            path=task.config_path,
            key="contract.value_semantics",
        )


def select(windows: NDArray[np.float64], steps: list[int], targets: list[int]) -> NDArray[np.float64]:
    """Some steps and channels of windows, float64[n, steps, targets].

    Args:
        windows: float64[n, rows, channels].
        steps: rows to take, from 0.
        targets: channels to take, from 0.
    """
    return np.ascontiguousarray(windows[:, steps][:, :, targets])


def graphs(panel: Panel, windows: Windows, contract: ForecastContract) -> dict[str, Array]:
    """Correlation and spillover graphs of the volatilities up to each window's last input row, by array name."""
    from openfingym.data.recipe import to_values
    from openfingym.data.volatility import rolling_graphs

    assert contract.graph_window is not None
    _, volatility = to_values(panel, contract.value_semantics)
    out: dict[str, Array] = {}
    for part, starts in (("train", windows.train_starts), ("test", windows.test_starts)):
        ends = starts + contract.lookback - 1
        for name, matrices in zip(GRAPHS, rolling_graphs(volatility, ends, contract.graph_window), strict=True):
            out[f"{part}_{name}"] = matrices
    return out


def unknown_targets(
    contract: ForecastContract, panel: Panel, windows: Windows, steps: list[int], targets: list[int]
) -> NDArray[np.bool_] | None:
    """Hidden targets that were filled in, or are made of values that were; None where there is none.

    Args:
        contract: the contract of the task.
        panel: the panel that the task is about.
        windows: the windows that were cut from the panel.
        steps: steps ahead that are predicted, counted from 0.
        targets: positions of the predicted channels in the panel.

    Returns:
        bool[windows, steps, targets].
    """
    from openfingym.data.recipe import unknown_values

    cells = unknown_values(panel, contract.value_semantics)
    if cells is None:
        return None
    rows = windows.test_starts[:, None] + contract.lookback + np.array(steps)
    found: NDArray[np.bool_] = cells[rows][:, :, targets]
    return found if found.any() else None


def filled_in_training(contract: ForecastContract, panel: Panel, windows: Windows) -> dict[str, list[list[int]]]:
    """What ``contract.json`` says of filled training rows; see :mod:`openfingym.kinds.known_windows`."""
    from openfingym.data.recipe import unknown_values

    cells = unknown_values(panel, contract.value_semantics)
    return training_facts(cells, windows.train_starts, contract.lookback + contract.horizon)


def without_unknown(
    task: Task, public: Mapping[str, Array], targets: Array, counts: tuple[int, int], unknown: NDArray[np.bool_]
) -> tuple[dict[str, Array], Array, tuple[int, int], tuple[str, ...]]:
    """The arrays of a task without the hidden windows of which no target is known; other unknown targets become NaN.

    Args:
        task: the task, whose metrics must be defined by what is left.
        public: public arrays by name; those of hidden windows begin with ``test_``.
        targets: hidden targets, float64[windows, steps, targets].
        counts: hidden windows of the public and of the private fold.
        unknown: bool of the shape of the targets, True where nobody knows the value.

    Returns:
        Public arrays, targets, counts, and what was done as sentences.

    Raises:
        TaskError: no window of a fold is left, or too few that a metric of whole windows could be computed from.
    """
    from openfingym.metrics import find_metric

    kept, whole = (np.asarray(~some(unknown, axis=(1, 2))) for some in (np.all, np.any))
    left, gone = left_of(task, kept, counts, "of which no value is known")
    for entry in task.spec.scoring.metrics:
        metric = find_metric(entry.name)
        for fold, rows in (("public", slice(counts[0])), ("private", slice(counts[0], None))):
            found = int(whole[rows].sum())
            if not metric.pools and found < max(metric.minimum_rows, 1):
                raise TaskError(
                    f"{entry.name} needs windows of which every value is known, and the {fold} fold has {found}, since "
                    "what was filled in is not scored; take a metric such as mae, leave out the column with most gaps, "
                    "or give --fill drop",
                    path=task.config_path,
                    key="dataset.prepared",
                )
    own = {name: array[kept] if name.startswith("test_") else array for name, array in public.items()}
    count = int(unknown[kept].sum())
    said = (f"{count} of {unknown[kept].size} hidden values rest on filled cells, and are not scored",) if count else ()
    return own, np.where(unknown, np.nan, targets)[kept], left, (*gone, *said)


def public_arrays(
    contract: ForecastContract, source: Panel, windows: Windows, steps: list[int], targets: list[int]
) -> tuple[dict[str, Array], dict[str, tuple[str, ...]]]:
    """The public arrays of a task by name, and the meaning of their axes, before series are pooled.

    Args:
        contract: the contract of the task.
        source: the panel that the task is about.
        windows: the windows that were cut from the panel.
        steps: steps ahead that are predicted, counted from 0.
        targets: positions of the predicted channels in the panel.
    """
    public: dict[str, Array] = {
        "train_inputs": windows.train_inputs,
        "train_targets": select(windows.train_targets, steps, targets),
        "test_inputs": windows.test_inputs,
        "train_times": windows.train_times,
        "test_times": windows.test_times,
    }
    axes = {
        "train_inputs": ("window", "row", "channel"),
        "train_targets": ("window", "step", "channel"),
        "test_inputs": ("window", "row", "channel"),
        "train_times": ("window", "row"),
        "test_times": ("window", "row"),
    }
    if contract.targets:
        public["target_columns"], axes["target_columns"] = np.array(targets, dtype=np.int64), ("target",)
    if contract.graph_window is not None:
        public |= graphs(source, windows, contract)
        axes |= dict.fromkeys(
            (f"{part}_{name}" for part in ("train", "test") for name in GRAPHS), ("window", "from", "to")
        )
    return public, axes


def unpivot(windows: Array) -> Array:
    """Make every channel of a window a window of its own: [n, rows, d] to [n * d, rows, 1], window by window."""
    return np.ascontiguousarray(windows.transpose(0, 2, 1).reshape(-1, windows.shape[1], 1))


def pooled(public: dict[str, Array]) -> dict[str, Array]:
    """Public arrays in which every channel of a window is a window of its own, with the number of its series.

    Args:
        public: inputs, targets and times of the windows of a panel, by name.
    """
    width = public["test_inputs"].shape[2]
    out: dict[str, Array] = {}
    for part in ("train", "test"):
        times = public[f"{part}_times"]
        out[f"{part}_times"] = np.repeat(times, width, axis=0)
        out[f"{part}_series"] = np.tile(np.arange(width, dtype=np.int64), len(times))
    return {name: unpivot(public[name]) for name in ("train_inputs", "train_targets", "test_inputs")} | out


def scaling(task: Task, channels: Sequence[str]) -> str:
    """How some channels are scaled, in words.

    Args:
        task: the task whose split states the scaling.
        channels: names of the channels; an instance may have fewer than the task.
    """
    split = task.spec.rows
    scaled, logs = ([name for name in names if name in channels] for names in (split.scaled, split.log1p))
    which = f" ({', '.join(scaled)})" if scaled else ""
    return {
        "none": "none",
        "standard": f"minus the mean, over the standard deviation, of the training block{which}",
        "mean": f"divided by the mean of the training block{which}",
    }["none" if split.scaled and not scaled else split.scaling] + (f"; {', '.join(logs)} as ln(1 + x)" if logs else "")


def windows_recipe(task: Task, contract: ForecastContract, panel: Panel, windows: Windows) -> tuple[str, ...]:
    """How the windows were made from the dataset, step by step, as sentences; see :attr:`Material.recipe`."""
    from openfingym.data.recipe import hidden_stride

    split = task.spec.rows
    value = {
        "log_return": "log returns ln(p_t / p_(t-1)), stamped with the later time, 10 decimals",
        "realised_vol": "root of the mean squared log return over the last 21 rows, 10 decimals",
    }.get(contract.value_semantics, "values as they are")
    graphs = (
        ", after the rows that their first volatility and graph are made of"
        if contract.value_semantics == "realised_vol"
        else ""
    )
    steps = [
        *panel_recipe(panel),
        f"channels: {', '.join(panel.channels)}",
        f"values: {value}",
        f"scaling: {scaling(task, panel.channels)}",
        f"{split_text(split)} rows dropped between",
        (
            f"training windows of {contract.lookback} + {contract.horizon} rows{graphs}, one every "
            f"{split.train_stride} "
            "rows"
        ),
        (
            f"hidden windows of the same length{graphs}, one every {hidden_stride(split, contract.horizon)} rows: "
            f"{windows.n_public} public, {windows.n_private} private"
        ),
    ]
    if contract.pooled:
        steps.append(f"every channel a window of its own: {len(panel.channels)} times as many windows")
    return tuple(steps)
