"""Plots of series in time: curves of countries, and rows of many stocks a month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds.plots.plot import (
    MOST_SERIES,
    PARTS,
    Distribution,
    LinePlot,
    Plot,
    PlotCurve,
    in_time,
    listed_names,
    more_of,
    parts_of,
    shown_and_hidden,
    spans_of,
)

if TYPE_CHECKING:
    from openfingym.kinds.material import Array, Reader

RANGE = (10, 90)
"""Percentiles of a month's rows that are drawn around their mean."""
DATES = 3
"""Number of curves that are plotted of the training data and of each fold."""


def curve_plots(
    read: Reader, hidden: Mapping[str, Array], n_public: int, facts: Mapping[str, object]
) -> Iterator[Plot]:
    """For each country: curves at a few dates, and one yield over time; and distributions of all."""
    train, asked = np.asarray(read("train_targets")), np.asarray(hidden["targets"])
    countries, maturities = listed_names(facts["series"]), facts["maturities"]
    assert isinstance(maturities, list)
    years = np.array(maturities, dtype=np.float64)
    # The maturity that is closest to 10 years, a usual benchmark.
    middle = int(np.abs(years - 10.0).argmin())
    times = {part: np.asarray(read(f"{part}_times")) for part in ("train", "test")}
    series = {part: np.asarray(read(f"{part}_series")) for part in ("train", "test")}
    parts = [("train", train, 0, len(train)), ("test", asked, 0, n_public), ("test", asked, n_public, len(asked))]
    spans = spans_of([times[part][first:last] for part, _, first, last in parts])
    note = more_of(len(countries), "curves")
    for number, country in enumerate(countries[:MOST_SERIES]):
        curves: list[PlotCurve] = []
        for tone, (part, values, first, last) in enumerate(parts):
            rows = first + np.flatnonzero(series[part][first:last] == number)
            curves += [
                PlotCurve(f"{PARTS[tone]} {_moment(times[part][row, -1])}", values[row], tone)
                for row in rows[np.linspace(0, len(rows) - 1, min(DATES, len(rows))).astype(int)]
            ]
        yield LinePlot(f"{country}: yields by maturity in years", years, tuple(curves), note=note)
        own = {part: series[part] == number for part in series}
        shown = in_time(
            [
                (times["train"][own["train"], -1], train[own["train"], middle]),
                *((times[part][own[part], :-1], read(f"{part}_inputs")[own[part], :, middle]) for part in own),
            ]
        )
        answers = in_time([(times["test"][own["test"], -1], asked[own["test"], middle])])
        x, lines = shown_and_hidden(shown, answers)
        yield LinePlot(f"{country}: yield of {years[middle]:g} years", x, lines, spans)
        note = ""
    changes = {part: read(f"{part}_inputs")[:, -1] - read(f"{part}_inputs")[:, -2] for part in ("train", "test")}
    yield Distribution("Yields, all curves and maturities", parts_of(train, asked, n_public))
    yield Distribution(
        "Change in the last row that is shown",
        parts_of(changes["train"], changes["test"], n_public),
        "Public in all three parts.",
    )


def row_plots(read: Reader, hidden: Mapping[str, Array], n_public: int, facts: Mapping[str, object]) -> Iterator[Plot]:
    """The targets of each month, their distribution, and the distributions of some features."""
    train, asked = np.asarray(read("train_targets")), np.asarray(hidden["targets"])
    times = {part: np.asarray(read(f"{part}_times")) for part in ("train", "test")}
    spans = spans_of([times["train"], times["test"][:n_public], times["test"][n_public:]])
    months, place = np.unique(np.concatenate([times["train"], times["test"]]), return_inverse=True)
    values, known = np.concatenate([train, asked]), len(train)
    by_month = [values[place == month] for month in range(len(months))]
    is_hidden = np.isin(np.arange(len(months)), place[known:])
    low, high = (np.array([np.percentile(rows, share) for rows in by_month]) for share in RANGE)
    mean = np.array([rows.mean() for rows in by_month])
    curves = [
        PlotCurve(name, np.where(is_hidden == part, line, np.nan), part)
        for part, name in enumerate(("known", "hidden"))
        for line in (low, mean, high)
    ]
    yield LinePlot(
        "Targets by date", months, tuple(curves), spans, f"Mean, and the {RANGE[0]}th and {RANGE[1]}th percentile."
    )
    yield Distribution("Targets", parts_of(train, asked, n_public))
    names = listed_names(facts["channels"])
    note = more_of(len(names), "features")
    for number, name in enumerate(names[:MOST_SERIES]):
        samples = parts_of(read("train_inputs")[:, number], read("test_inputs")[:, number], n_public)
        yield Distribution(f"Feature {name}", samples, f"Public in all three parts. {note}".rstrip())
        note = ""


def _moment(time: np.datetime64 | np.int64) -> str:
    """The day of a row, or its number where it has no date."""
    return str(time.astype("datetime64[D]")) if time.dtype.kind == "M" else f"row {time}"
