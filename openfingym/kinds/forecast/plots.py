"""Plots of the windows of a panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.plots.plot import (
    MOST_SERIES,
    Distribution,
    LinePlot,
    Plot,
    in_time,
    listed_names,
    more_of,
    parts_of,
    shown_and_hidden,
    spans_of,
)

if TYPE_CHECKING:
    from openfingym.kinds.forecast.contract import ForecastContract
    from openfingym.kinds.material import Array, Reader

NEAR = 20
"""Most horizons of input that a plot of a single window shows."""


def panel_plots(
    contract: ForecastContract, read: Reader, hidden: Mapping[str, Array], n_public: int, facts: Mapping[str, object]
) -> Iterator[Plot]:
    """For each series: its values over time, the distribution of answers, and of the first one two windows."""
    times, asked = {part: read(f"{part}_times") for part in ("train", "test")}, np.asarray(hidden["targets"])
    ahead = [contract.lookback + step - 1 for step in contract.steps]
    spans = spans_of([times["train"], times["test"][:n_public], times["test"][n_public:]])
    if contract.pooled:
        names = listed_names(facts["series"])
        of = {part: np.asarray(read(f"{part}_series")) for part in times}
    else:
        names = listed_names(facts["targets"])
    columns = np.asarray(read("target_columns")) if contract.targets else np.arange(len(names))
    note = more_of(len(names), "series")
    for number, name in enumerate(names[:MOST_SERIES]):
        # Pooled windows have one channel, and a number that says which series they belong to.
        column, target = (0, 0) if contract.pooled else (int(columns[number]), number)
        train, test = (of[part] == number if contract.pooled else slice(None) for part in times)
        shown = in_time(
            [
                (times["train"][train, : contract.lookback], read("train_inputs")[train, :, column]),
                (times["test"][test, : contract.lookback], read("test_inputs")[test, :, column]),
                (times["train"][train][:, ahead], read("train_targets")[train, :, target]),
            ]
        )
        answers = in_time([(times["test"][test][:, ahead], asked[test, :, target])])
        x, curves = shown_and_hidden(shown, answers)
        first = int(np.count_nonzero(np.arange(len(asked))[test] < n_public))
        yield LinePlot(name, x, curves, spans, note)
        yield Distribution(
            f"{name}: answers", parts_of(read("train_targets")[train, :, target], asked[test, :, target], first)
        )
        if number == 0:
            rows = max(0, contract.lookback - NEAR * contract.horizon)
            for part, window in (("public", 0), ("private", first)):
                near = np.isin(x, times["test"][test][window, rows:])
                close = tuple(replace(curve, values=curve.values[near]) for curve in curves)
                yield LinePlot(f"{name}: the first window of the {part} fold", x[near], close)
        note = ""
