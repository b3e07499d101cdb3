"""Drawings of a review page: the data with their split, and the relative totals of baselines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import OpenFinGymError
from openfingym.kinds.plots.plot import MOST_SERIES, PARTS, LinePlot, PlotCurve, Span
from openfingym.reports.plots import drawing
from openfingym_forge.data.provenance import ForgeProvenance

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

    from openfingym_forge.blueprint import Blueprint

MOST_POINTS = 1500
"""Most rows that are drawn: as many as a page has pixels across."""


def data_drawings(folder: Path, provenance: ForgeProvenance | None, blueprint: Blueprint | None) -> list[Markup]:
    """Plots of a candidate's data, with the parts of the split shaded.

    Args:
        folder: folder of the candidate.
        provenance: where the data are from; None where there are none.
        blueprint: the blueprint, whose shares are shaded; None where there is none.

    Returns:
        A plot for each of the first series; empty where there is nothing to plot.
    """
    frame = _frame(folder, provenance)
    if frame is None or len(frame) < 2 or not frame.shape[1]:
        return []
    times = frame.index.to_numpy()
    timed = np.issubdtype(times.dtype, np.datetime64)
    x = times.astype("datetime64[ns]") if timed else np.arange(len(frame), dtype=np.float64)
    # Places on the axis as numbers: nanoseconds, or numbers of rows.
    ends = x.astype(np.int64).astype(np.float64) if timed else x
    spans = _spans(ends, blueprint)
    keep = np.unique(np.linspace(0, len(frame) - 1, MOST_POINTS).astype(int))
    note = "" if len(keep) == len(frame) else f"{len(keep)} of {len(frame)} rows are drawn."
    more = frame.shape[1] - MOST_SERIES
    note += f" {more} more series are not drawn." if more > 0 else ""
    return [
        drawing(
            LinePlot(
                str(name),
                x[keep],
                (PlotCurve(str(name), frame[name].to_numpy(np.float64)[keep], 0),),
                spans,
                note if number == 0 else "",
            )
        )
        for number, name in enumerate(frame.columns[:MOST_SERIES])
    ]


def _spans(ends: np.ndarray, blueprint: Blueprint | None) -> tuple[Span, ...]:
    """The parts of the split on the axis; empty where the blueprint does not say them.

    Args:
        ends: the place of each row on the axis.
        blueprint: the blueprint, or None.
    """
    shares = [blueprint.value(f"split.{part}") if blueprint is not None else None for part in PARTS]
    if not all(isinstance(share, int | float) and share > 0 for share in shares):
        share = blueprint.value("protocol.train_share") if blueprint is not None else None
        if not isinstance(share, int | float) or not 0 < share < 1:
            return ()
        shares = [share, (1 - share) / 2, (1 - share) / 2]
    edges = np.cumsum([0.0, *(float(share) for share in shares if isinstance(share, int | float))])
    rows = [round(edge * (len(ends) - 1)) for edge in np.clip(edges / edges[-1], 0, 1)]
    # Every part but the first begins behind its embargo.
    embargo = blueprint.value("split.embargo") if blueprint is not None else 0
    gap = embargo if isinstance(embargo, int) else 0
    last = len(ends) - 1
    return tuple(
        Span(part, float(ends[min(rows[place] + (gap if place else 0), last)]), float(ends[rows[place + 1]]), place + 1)
        for place, part in enumerate(PARTS)
    )


def _frame(folder: Path, provenance: ForgeProvenance | None) -> pd.DataFrame | None:
    """The data as a table; None where there are none, or they cannot be read."""
    if provenance is None:
        return None
    from openfingym.data import datasets
    from openfingym_forge.data.stage import between, library_frame
    from openfingym_forge.data.tables import read_table

    dataset = provenance.dataset
    try:
        if isinstance(dataset.get("file"), str):
            return read_table((folder / "data" / str(dataset["file"])).read_bytes())
        if dataset.get("name") in {info.name for info in datasets()}:
            channels = dataset.get("channels")
            frame = library_frame(str(dataset["name"]), channels if isinstance(channels, list) else None)
            return between(frame, dataset.get("first"), dataset.get("last"))
    # The page is about the candidate and not about its data, of which it says what is known.
    except (OSError, OpenFinGymError):
        return None
    return None


def totals_drawing(trials: Mapping[str, object]) -> list[dict[str, object]]:
    """Relative totals as rows of a dot plot, the best first.

    Args:
        trials: the trials of a proof as plain values, from :meth:`openfingym_forge.proving.trials.Trials.to_dict`.

    Returns:
        For each agent ``name``, ``value`` and ``interval`` as text; ``at``, ``one`` and ``span``, the places of the
        total, of the baseline and of the interval's ends in percent of the width; and whether it is ``better`` than
        noise.
    """
    totals, noise = trials.get("relative_totals"), trials.get("noise")
    intervals = trials.get("intervals")
    intervals = intervals if isinstance(intervals, Mapping) else {}
    rows = dict(totals) if isinstance(totals, Mapping) else {}
    if isinstance(noise, int | float):
        rows["noise"] = noise
    rows = {name: float(value) for name, value in rows.items() if isinstance(value, int | float)}
    if not rows:
        return []
    spans = {
        name: (float(ends[0]), float(ends[1]))
        for name, ends in intervals.items()
        if isinstance(ends, list | tuple) and len(ends) == 2
    }
    # Up to three times the baseline: one very bad total must not press all others together.
    top: float = min(max([1.2, *rows.values(), *(span[1] for span in spans.values())]), 3.0)

    def place(value: float) -> float:
        return round(100 * min(max(value, 0.0), top) / top, 2)

    better = trials.get("better_than_noise")
    return [
        {
            "name": name,
            "value": f"{value:.4g}",
            "at": place(value),
            "one": place(1.0),
            "span": tuple(place(end) for end in spans[name]) if name in spans else None,
            "interval": f"{spans[name][0]:.4g} to {spans[name][1]:.4g}" if name in spans else "",
            "better": isinstance(better, list) and name in better,
        }
        for name, value in sorted(rows.items(), key=lambda row: row[1])
    ]
