"""Rows of features with one number to predict each, in time: simulated ones, or an author's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.characteristics import Characteristics
    from openfingym.data.dataset import DatasetInfo


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Rows in order of time; those of one time are together, and no two of them are of one series."""

    times: NDArray[np.datetime64]
    """datetime64[ns][n], UTC; int64, the numbers of the rows, where they have no date."""
    series: NDArray[np.int64]
    """int64[n], which of ``series_names`` a row belongs to; without names, its place among the rows of its date."""
    series_names: tuple[str, ...]
    """Names of what the rows describe, such as stocks; empty where nothing says what they describe."""
    features: NDArray[np.float64]
    """float64[n, features], known at the time of their row."""
    names: tuple[str, ...]
    """Names of the features."""
    targets: NDArray[np.float64]
    """float64[n], known only after the features of their row."""
    target: str
    """Name of the targets."""
    info: DatasetInfo

    @cached_property
    def moments(self) -> NDArray[np.int64]:
        """int64[m + 1]: where the rows of each of the m different times begin, and the number of rows."""
        return starts_of(self.times)


def starts_of(times: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Where each different time begins among times in order, and their number; int64[m + 1]."""
    # A time begins at the first row, and wherever a row's time differs from that of the row above.
    return np.append(np.flatnonzero(np.append(True, times[1:] != times[:-1])), len(times)).astype(np.int64)


def rows_of(source: Characteristics) -> FeatureRows:
    """The simulated stocks as rows: month after month, and within a month one row for each stock."""
    months, stocks = len(source.months), len(source.stocks)
    return FeatureRows(
        times=np.repeat(source.months.astype("datetime64[ns]"), stocks),
        series=np.tile(np.arange(stocks, dtype=np.int64), months),
        series_names=source.stocks,
        features=source.features.reshape(months * stocks, -1),
        names=source.names,
        targets=source.excess_return.reshape(-1),
        target="excess_return",
        info=source.info,
    )
