"""A panel: several channels on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.csvfile import channel_positions, content_digest, parse_csv, read_bytes
from openfingym.data.dataset import SERIES, DatasetInfo, dataset_info, require_simulated
from openfingym.digests import sha256_of
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Panel:
    """Rows of a dataset, complete and in order. The arrays are read-only."""

    times: NDArray[np.datetime64]
    """datetime64[ns][n], UTC, strictly increasing."""
    values: NDArray[np.float64]
    """float64[n, d], finite, in ``info.unit``."""
    channels: tuple[str, ...]
    """Names of the d columns."""
    info: DatasetInfo
    """Provenance of the whole dataset, of which this may be a selection of channels."""
    filled: NDArray[np.bool_] | None = None
    """bool[n, d], True for cells that an author had no value for and gave one; None for none."""

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of the canonical CSV of exactly these times, channels and values."""
        return content_digest(self.times, self.channels, self.values)


@dataclass(frozen=True, eq=False)
class ContinuedPanel(Panel):
    """A simulated panel with another future.

    No package is built from it, so that its digest need not be that of a canonical CSV, which takes long to write.
    """

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 of times and values in memory."""
        return sha256_of(self.times.tobytes() + self.values.tobytes())


def load_panel(name: str, channels: Sequence[str] | None = None) -> Panel:
    """Load a bundled dataset, after checking its digest.

    Args:
        name: name of the dataset, one of those that :func:`openfingym.data.datasets` lists.
        channels: columns wanted, in this order; None for all of them.

    Raises:
        DataError: no such dataset or channel (near misses are suggested), or the data is not
            what its digest says.
    """
    info = dataset_info(name)
    # First, so that a misspelt channel is refused before a dataset is made.
    positions = channel_positions(info.channels, channels, name)
    times, values = _simulated(info) if info.kind == "simulated" else _stored(info)
    chosen = np.ascontiguousarray(values[:, positions])
    times.flags.writeable = chosen.flags.writeable = False
    return Panel(times, chosen, tuple(info.channels[i] for i in positions), info)


def continue_panel(name: str, channels: Sequence[str] | None = None, *, seed: int, kept: int) -> Panel:
    """A simulated dataset with another future: its first rows as they are, those behind them drawn anew.

    Args:
        name: name of a simulated dataset.
        channels: columns wanted, in this order; None for all of them.
        seed: seed of the new rows; not negative, of any size.
        kept: number of rows, counted from the first, that stay as they are to the last bit.

    Raises:
        DataError: no such simulated dataset or channel, or it has fewer rows.
    """
    from openfingym.data.models import read_model
    from openfingym.data.processes.draws import Branch

    info = dataset_info(name)
    positions = channel_positions(info.channels, channels, name)
    if info.kind != "simulated" or not 0 <= kept <= info.rows:
        raise DataError(
            f"{name}: only the rows of a simulator can be drawn anew, {info.rows} of them; found {info.kind} data and "
            f"{kept}"
        )
    # A branch counts the rows that are new, from the end.
    times, values = read_model(SERIES / f"{name}.toml").generate(Branch(seed, info.rows - kept))
    chosen = np.ascontiguousarray(values[:, positions])
    times.flags.writeable = chosen.flags.writeable = False
    return ContinuedPanel(times, chosen, tuple(info.channels[i] for i in positions), info)


@lru_cache(maxsize=32)
def panel_times(name: str) -> NDArray[np.datetime64]:
    """The times of a bundled dataset, datetime64[ns][n], read-only; made once."""
    return load_panel(name).times


def _stored(info: DatasetInfo) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    path = SERIES / f"{info.name}.csv.gz"
    raw = read_bytes(path)
    found = sha256_of(raw)
    if found != info.sha256:
        raise DataError(f"{path}: unpacks to a file with SHA-256 {found}, expected {info.sha256}; reinstall openfingym")
    columns, times, values = parse_csv(raw.decode(), str(path), measure=info.measure)
    if columns != info.channels:
        raise DataError(f"{path}: its columns are not the channels that {info.name}.toml states; reinstall openfingym")
    return times, values


def _simulated(info: DatasetInfo) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    from openfingym.data.models import read_model

    times, values = read_model(SERIES / f"{info.name}.toml").generate()
    found = content_digest(times, info.channels, values)
    require_simulated(info.name, found, info.sha256, "prices")
    return times, values
