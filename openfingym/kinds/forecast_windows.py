"""Windows of a panel, as a forecasting task has them: cut, scaled, with what goes along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds.material import Array
from openfingym.kinds.panels import panel_recipe, split_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import Panel
    from openfingym.data.recipe import Windows
    from openfingym.kinds.forecast import ForecastContract
    from openfingym.task import Task

GRAPHS = ("correlation", "spillover")


def cut(task: Task, contract: ForecastContract, panel: Panel) -> Windows:
    """The windows of a task's panel, in its units and scaled as it says.

    Raises:
        TaskError: a channel of which logarithms are taken has values that have none.
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
        # Between a hidden target and the next window, so that volatilities of the two share no return.
        lead = rows_apart(contract.lookback, contract.graph_window or 1)
    return recipe.cut(
        values, times, split=split, lookback=contract.lookback, horizon=contract.horizon, lead=lead, scaled=scaled
    )


def noisy_returns(
    prices: NDArray[np.float64], hidden: NDArray[np.bool_], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Prices whose returns are noise in the hidden rows, and to the last bit the same in all others."""
    # A return belongs to the step between two prices, so the last price of a hidden run also makes the first return
    # after it. Scaling a stretch of prices by a power of two leaves every bit of their ratios as it was.
    begins = hidden & ~np.concatenate([[False], hidden[:-1]])
    stretch = np.cumsum(begins)
    steps = generator.integers(1, 16, (int(stretch[-1]) + 1, prices.shape[1]))
    out: NDArray[np.float64] = prices * np.exp2(np.cumsum(steps, axis=0) % 16)[stretch]
    within = hidden & np.concatenate([hidden[1:], [False]])
    low, high = np.log(prices.min(axis=0)), np.log(prices.max(axis=0))
    out[within] = np.exp(generator.uniform(low, high, (int(within.sum()), prices.shape[1])))
    return out


def require_positive(task: Task, windows: Windows, targets: Mapping[str, int]) -> None:
    """Refuse targets that are no prices, of which no returns can be formed."""
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
    """These steps of these channels of windows [n, rows, channels]."""
    return np.ascontiguousarray(windows[:, steps][:, :, targets])


def graphs(panel: Panel, windows: Windows, contract: ForecastContract) -> dict[str, Array]:
    """Correlation and spillover graphs of the volatilities up to each window's last input row."""
    from openfingym.data.recipe import to_values
    from openfingym.data.volatility import rolling_graphs

    assert contract.graph_window is not None
    _, volatility = to_values(panel, contract.value_semantics)
    out: dict[str, Array] = {}
    for part, starts in (("train", windows.train_starts), ("test", windows.test_starts)):
        ends = starts + contract.lookback - 1
        for name, found in zip(GRAPHS, rolling_graphs(volatility, ends, contract.graph_window), strict=True):
            out[f"{part}_{name}"] = found
    return out


def unpivot(windows: Array) -> Array:
    """[n, rows, d] -> [n * d, rows, 1], window by window."""
    return np.ascontiguousarray(windows.transpose(0, 2, 1).reshape(-1, windows.shape[1], 1))


def pooled(public: dict[str, Array]) -> dict[str, Array]:
    """Public arrays in which every channel of a window is a window of its own, with the number of its series."""
    width = public["test_inputs"].shape[2]
    out: dict[str, Array] = {}
    for part in ("train", "test"):
        times = public[f"{part}_times"]
        out[f"{part}_times"] = np.repeat(times, width, axis=0)
        out[f"{part}_series"] = np.tile(np.arange(width, dtype=np.int64), len(times))
    return {name: unpivot(public[name]) for name in ("train_inputs", "train_targets", "test_inputs")} | out


def scaling(task: Task, channels: Sequence[str]) -> str:
    """What was done to these channels, of which an instance may have less than the task."""
    split = task.spec.rows
    scaled, logs = ([name for name in names if name in channels] for names in (split.scaled, split.log1p))
    which = f" ({', '.join(scaled)})" if scaled else ""
    return {
        "none": "none",
        "standard": f"minus the mean, over the standard deviation, of the training block{which}",
        "mean": f"divided by the mean of the training block{which}",
    }["none" if split.scaled and not scaled else split.scaling] + (f"; {', '.join(logs)} as ln(1 + x)" if logs else "")


def windows_recipe(task: Task, contract: ForecastContract, panel: Panel, windows: Windows) -> tuple[str, ...]:
    """How the windows were made, step by step, for the task's papers."""
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
            f"hidden windows of the same length{graphs}, tiling their block: {windows.n_public} public, "
            f"{windows.n_private} private"
        ),
    ]
    if contract.pooled:
        steps.append(f"every channel a window of its own: {len(panel.channels)} times as many windows")
    return tuple(steps)
