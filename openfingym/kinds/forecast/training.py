"""Instances of forecast tasks: some of the training rows and channels, with other look-backs and horizons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.volatility import LAGS
from openfingym.kinds.forecast.data import without_unknown
from openfingym.kinds.instances import Instance, between, origin, some_of
from openfingym.kinds.known_windows import training_cells
from openfingym.kinds.material import Array, Material
from openfingym.kinds.stretches import Lengths, known_rows, lengths, no_lead, placed, public_share
from openfingym.kinds.walk import hidden_until_due
from openfingym.kinds.window_instances import MOST_WINDOWS, Cutting, ShownWindows, cutting, rescaled, windows_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.kinds.instances import InstanceSplit, TrainingData

FEWEST_SERIES = 12
"""Fewest series of a pooled instance, since a metric forms portfolios of them."""
MOST_GRAPHS = 160
"""Most training windows of an instance with graphs."""
GRAPHS = ("correlation", "spillover")
"""Names of the two graphs of a window."""


def forecast_instance(
    data: TrainingData, contract: ForecastContract, split: InstanceSplit, generator: np.random.Generator
) -> Instance:
    """An instance of a forecast task; see :meth:`openfingym.kinds.kind.Kind.instance`.

    Hidden windows advance by the horizon, as those of the task. An instance is scaled by its own training rows, if the
    task scales.
    """
    task, table = data.task, data.task.spec.rows
    names = [str(name) for name in data.facts["series" if contract.pooled else "channels"]]
    shown = _shown(data, contract, len(names))
    graph, lead = _graph(contract, len(names), generator)
    sizes = lengths(
        task,
        len(shown),
        (contract.lookback, contract.horizon),
        generator,
        embargo=table.embargo,
        share=public_share(table),
        lead=lead,
        longest=None if shown.gapless else shown.run,
    )
    stretch = placed(
        task, len(shown), sizes.hidden, known_rows(len(shown), table.embargo), split, generator, embargo=table.embargo
    )
    places, targets = _channels(contract, names, graph, generator)
    cut = cutting(task, shown, stretch, sizes, len(places), MOST_WINDOWS if graph is None else MOST_GRAPHS)
    values = shown.values(cut.rows)
    values, scaling = _scaled(data, contract, places, targets, values, cut)
    chosen = _Chosen([names[place] for place in places], targets, _steps(contract, sizes.horizon, generator), scaling)
    public, answers = _arrays(values, shown.times_of(cut.rows), cut, sizes.lookback, chosen, pooled=contract.pooled)
    if graph is not None:
        public |= _graphs(values[:, 0], cut, sizes.lookback, graph)
    width = len(chosen.names) if contract.pooled else 1
    counts = (cut.n_public * width, cut.n_private * width)
    said: tuple[str, ...] = ()
    numbers = shown.numbers(cut.rows)
    filled = training_cells(data.facts, int(numbers[-1]) + 1, len(names))
    if filled is not None:
        cells = filled[numbers][:, places]
        # Of pooled series each is a window of its own, with one channel.
        cells = cells[:, :, None] if contract.pooled else cells[:, None]
        unknown = _answers(cells, cut.test, sizes.lookback, chosen)
        if unknown.any():
            public, answers, counts, said = without_unknown(task, public, answers, counts, unknown)
    if contract.targets:
        public["target_columns"] = np.array(targets, dtype=np.int64)
    keys: dict[str, object] = {"lookback": sizes.lookback, "horizon": chosen.steps[-1]}
    if contract.horizons:
        keys["horizons"] = chosen.steps
    if contract.targets:
        keys["targets"] = [chosen.names[place] for place in targets]
    if graph is not None:
        keys["graph_window"] = graph
    material = _material(data, contract, chosen, public, answers, cut, sizes)
    material = replace(material, n_public=counts[0], n_private=counts[1], recipe=(*material.recipe, *said))
    return Instance(hidden_until_due(material), keys)


@dataclass(frozen=True)
class _Chosen:
    """What an instance is about."""

    names: list[str]
    """Names of the channels, or of the series of a pooled task."""
    targets: list[int]
    """Positions of the predicted channels among the instance's channels."""
    steps: list[int]
    """Steps ahead that are predicted, from 1."""
    scaling: dict[str, Any]
    """The entry ``scaling`` of ``contract.json``."""


def _shown(data: TrainingData, contract: ForecastContract, width: int) -> ShownWindows:
    """The rows of the task's training windows, of ``width`` channels or pooled series."""
    inputs, targets, times = (data.read(f"train_{name}") for name in ("inputs", "targets", "times"))
    series = width if contract.pooled else 1
    # Targets show whole rows only if every step and every channel is predicted.
    full = not contract.horizons and not contract.targets
    return ShownWindows(
        inputs.reshape(-1, series, *inputs.shape[1:]),
        targets.reshape(-1, series, *targets.shape[1:]) if full else None,
        times[::series],
        data.task.spec.rows.train_stride,
    )


def _graph(contract: ForecastContract, width: int, generator: np.random.Generator) -> tuple[int | None, Any]:
    """Rows from which a graph is computed, None without graphs; and a function from look-back to lead of a window."""
    from openfingym.data.volatility import VOLATILITY_WINDOW, rows_apart

    if contract.value_semantics != "realised_vol":
        return None, no_lead
    if contract.graph_window is None:
        return None, partial(rows_apart, window=1, volatility_window=VOLATILITY_WINDOW)
    # At least twice as many rows as the regression behind a spillover graph of three channels has coefficients.
    fewest = min(max(2 * (1 + LAGS * min(width, 3)), -(-contract.graph_window // 3)), contract.graph_window)
    graph = between(generator, fewest, contract.graph_window)
    return graph, partial(rows_apart, window=graph, volatility_window=VOLATILITY_WINDOW)


def _channels(
    contract: ForecastContract, names: Sequence[str], graph: int | None, generator: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Positions of the instance's channels among those of the task, and of its targets among its own channels."""
    if contract.pooled:
        return some_of(generator, names, max(FEWEST_SERIES, len(names) // 3))[0], [0]
    if not contract.targets:
        # With graphs, so few channels that their regression has at most half as many coefficients as rows.
        fewest, most = (len(names) // 3, None) if graph is None else (2, max((graph // 2 - 1) // LAGS, 2))
        places = some_of(generator, names, fewest, most)[0]
        return places, list(range(len(places)))
    # Some of the task's targets, and some of the channels that are inputs only.
    predicted = some_of(generator, contract.targets, 1)[1]
    others = [name for name in names if name not in predicted]
    beside = some_of(generator, others, 1)[1] if others else []
    places = [place for place, name in enumerate(names) if name in predicted or name in beside]
    return places, [places.index(names.index(name)) for name in predicted]


def _steps(contract: ForecastContract, horizon: int, generator: np.random.Generator) -> list[int]:
    """Steps ahead that are predicted; if the task names some, the nearer ones of those within ``horizon``."""
    if not contract.horizons:
        return list(range(1, horizon + 1))
    near = [step for step in contract.horizons if step <= horizon]
    return near[: between(generator, -(-len(near) // 2), len(near))] if near else [horizon]


def _scaled(
    data: TrainingData,
    contract: ForecastContract,
    places: list[int],
    targets: list[int],
    values: NDArray[np.float64],
    cut: Cutting,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """The chosen channels on the instance's own scale, and the entry ``scaling`` of its ``contract.json``.

    Args:
        data: the training data of the task.
        contract: the contract of the task.
        places: positions of the instance's channels among those of the task.
        targets: positions of the predicted channels among the instance's channels.
        values: float64[rows, series, channels], all channels on the task's scale.
        cut: where the windows begin.
    """
    table, known = data.task.spec.rows, data.facts["scaling"]
    if contract.pooled:
        # Each series is a channel of the panel, and is scaled by itself.
        values, targets = values.transpose(0, 2, 1), list(range(len(places)))
    values = values[:, :, places]
    names = [str(data.facts["series" if contract.pooled else "channels"][place]) for place in places]
    chosen = np.array([not table.scaled or name in table.scaled for name in names])
    mean, scale = rescaled(values, cut.n_rows, table.scaling, chosen)
    ready = (values - mean) / scale
    answers = ready[:, :, targets]
    if answers.min() < contract.low or answers.max() > contract.high:
        # The limits of an answer were chosen for the task's scale, which is then kept.
        ready, mean, scale = values, np.zeros_like(mean), np.ones_like(scale)
    # From the raw data to the instance's values, both scalings in one.
    before = np.array(known["mean"])[places], np.array(known["scale"])[places]
    facts = {
        "method": table.scaling,
        "mean": (before[0] + before[1] * mean).tolist(),
        "scale": (before[1] * scale).tolist(),
        "log1p": [name for name in table.log1p if name in names],
    }
    return (ready.transpose(0, 2, 1) if contract.pooled else ready), facts


def _arrays(
    values: NDArray[np.float64], times: Array, cut: Cutting, lookback: int, chosen: _Chosen, *, pooled: bool
) -> tuple[dict[str, Array], Array]:
    """The public arrays of windows by name, and the hidden targets.

    Args:
        values: float64[rows, series, channels], the instance's channels, scaled.
        times: time of each row.
        cut: where the windows begin.
        lookback: rows of input of a window.
        chosen: channels, targets and steps of the instance.
        pooled: whether every series of a window is a window of its own.
    """
    length, series = lookback + chosen.steps[-1], values.shape[1]
    public: dict[str, Array] = {}
    answers = {}
    for part, starts in (("train", cut.train), ("test", cut.test)):
        whole = windows_at(values, starts, lookback).reshape(-1, lookback, values.shape[2])
        public[f"{part}_inputs"] = np.ascontiguousarray(whole)
        answers[part] = _answers(values, starts, lookback, chosen)
        public[f"{part}_times"] = np.repeat(windows_at(times, starts, length), series, axis=0)
        if pooled:
            public[f"{part}_series"] = np.tile(np.arange(series, dtype=np.int64), len(starts))
    public["train_targets"] = answers["train"]
    return public, answers["test"]


def _answers(values: Array, starts: NDArray[np.int64], lookback: int, chosen: _Chosen) -> Array:
    """What is predicted of windows, [windows of all series, steps, targets].

    Args:
        values: [rows, series, channels], values or whether they are known.
        starts: first input row of each window.
        lookback: rows of input of a window.
        chosen: channels, targets and steps of the instance.
    """
    length = lookback + chosen.steps[-1]
    whole = windows_at(values, starts, length).reshape(-1, length, values.shape[2])
    columns = [lookback + step - 1 for step in chosen.steps]
    return np.ascontiguousarray(whole[:, columns][:, :, chosen.targets])


def _graphs(volatility: NDArray[np.float64], cut: Cutting, lookback: int, graph: int) -> dict[str, Array]:
    """Correlation and spillover graphs of the volatilities up to each window's last input row, by array name."""
    from openfingym.data.volatility import rolling_graphs

    out: dict[str, Array] = {}
    volatility = np.ascontiguousarray(volatility)
    for part, starts in (("train", cut.train), ("test", cut.test)):
        for name, graphs in zip(GRAPHS, rolling_graphs(volatility, starts + lookback - 1, graph), strict=True):
            out[f"{part}_{name}"] = graphs
    return out


def _material(
    data: TrainingData,
    contract: ForecastContract,
    chosen: _Chosen,
    public: dict[str, Array],
    answers: Array,
    cut: Cutting,
    sizes: Lengths,
) -> Material:
    """The arrays of the instance's package, and the facts about them."""
    width = len(chosen.names) if contract.pooled else 1
    labels = ["value"] if contract.pooled else [chosen.names[place] for place in chosen.targets]
    axes = {
        "inputs": ("window", "row", "channel"),
        "targets": ("window", "step", "channel"),
        "times": ("window", "row"),
        "series": ("window",),
        "columns": ("target",),
        **dict.fromkeys(GRAPHS, ("window", "from", "to")),
    }
    return Material(
        info=data.info,
        dataset_digest=data.digest,
        public=public,
        axes={name: axes[name.partition("_")[2]] for name in public},
        hidden={"targets": answers},
        n_train=len(cut.train) * width,
        n_public=cut.n_public * width,
        n_private=cut.n_private * width,
        shape=tuple(answers.shape),
        submission_axes=("window", "step", "channel"),
        labels=tuple(labels),
        recipe=(
            *origin(data, f"rows {cut.rows.start} to {cut.rows.stop - 1} of its training rows"),
            f"channels: {', '.join(chosen.names)}",
            f"{data.task.spec.rows.embargo} rows dropped between the parts",
            f"training windows of {sizes.lookback} + {chosen.steps[-1]} rows, one every {cut.stride} rows",
            f"hidden windows, one every {sizes.horizon} rows: {cut.n_public} public, {cut.n_private} private",
        ),
        facts={
            "lookback": sizes.lookback,
            "horizon": chosen.steps[-1],
            "steps": chosen.steps,
            "channels": ["value"] if contract.pooled else chosen.names,
            "targets": labels,
            **({"series": chosen.names} if contract.pooled else {}),
            "scaling": chosen.scaling,
        },
    )
