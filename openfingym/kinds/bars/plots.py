"""Plots of bars that are stepped through: closes with the windows of the episodes, one episode, returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.bars.data import FOLDS
from openfingym.kinds.bars.episodes import window
from openfingym.kinds.plots.plot import MOST_SERIES, Distribution, LinePlot, Plot, PlotCurve, Span, more_of, parts_of

if TYPE_CHECKING:
    from openfingym.kinds.bars.data import BarsContract
    from openfingym.kinds.material import Array, Reader

HIGH, LOW, CLOSE = 1, 2, 3
"""Positions of prices in a bar."""
TONES = {"train": (0, 0), "public": (1, 4), "private": (2, 5)}
"""Numbers of the two colours of each part, which alternate from one episode to the next."""


def bar_plots(
    contract: BarsContract, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int]
) -> Iterator[Plot]:
    """For each symbol: all closes with the episodes, the first episode that counts, and distributions."""
    bars = [read("train_bars"), *(hidden[f"{fold}_bars"] for fold in FOLDS)]
    times = [read("train_times"), *(hidden[f"{fold}_times"] for fold in FOLDS)]
    x = np.concatenate(times).astype("datetime64[ns]")
    spans = (
        Span("train", *_ends(times[0]), TONES["train"][0]),
        *(_episode(contract, hidden, number, counts) for number in range(sum(counts))),
    )
    first = window(contract, hidden, counts[0], contract.horizon)
    shown = contract.lookback - 1
    inside = (
        Span("shown at the start", *_ends(first.times[: shown + 1]), 0),
        Span("steps", *_ends(first.times[shown : shown + contract.steps]), 2),
    )
    note = more_of(len(contract.symbols), "symbols")
    for number, name in enumerate(contract.symbols[:MOST_SERIES]):
        closes = [np.asarray(block[:, number, CLOSE], dtype=np.float64) for block in bars]
        # A line for each block, drawn in its own stretch of the common axis.
        gap = [np.full(len(block), np.nan) for block in closes]
        curves = (
            PlotCurve("known", np.concatenate([closes[0], gap[1], gap[2]]), 0),
            PlotCurve("hidden", np.concatenate([gap[0], closes[1], gap[2]]), 1),
            PlotCurve("hidden", np.concatenate([gap[0], gap[1], closes[2]]), 1),
        )
        yield LinePlot(f"{name}: closes, and the steps of every episode", x, curves, spans, note)
        own = first.bars[:, number]
        yield LinePlot(
            f"{name}: the first episode that counts",
            first.times,
            (
                PlotCurve("high and low", own[:, HIGH], 7),
                PlotCurve("high and low", own[:, LOW], 7),
                PlotCurve("close", own[:, CLOSE], 1),
            ),
            inside,
        )
        train, *folds = (np.diff(np.log(block)) for block in closes)
        yield Distribution(f"{name}: log returns of a bar", parts_of(train, np.concatenate(folds), len(folds[0])))
        volumes = [np.log10(1.0 + np.asarray(block[:, number, -1], dtype=np.float64)) for block in bars]
        yield Distribution(
            f"{name}: volumes",
            parts_of(volumes[0], np.concatenate(volumes[1:]), len(volumes[1])),
            "log10(1 + volume).",
        )
        note = ""


def _episode(contract: BarsContract, hidden: Mapping[str, Array], number: int, counts: tuple[int, int]) -> Span:
    """The origins of an episode as a span; an episode begins where the one before it ends."""
    episode = window(contract, hidden, number, contract.horizon)
    odd = (number if number < counts[0] else number - counts[0]) % 2
    origins = episode.times[contract.lookback - 1 :][: contract.steps]
    return Span(f"{episode.fold} episodes", *_ends(origins), TONES[episode.fold][odd])


def _ends(times: Array) -> tuple[float, float]:
    """The first and the last of some times, in nanoseconds since 1970."""
    moments = np.asarray(times).astype("datetime64[ns]").astype(np.int64)
    return float(moments[0]), float(moments[-1])
