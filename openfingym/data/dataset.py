"""The description of a dataset: kind, source, licence, units, known defects.

::

    series/<name>.toml       one a dataset, read here
    series/<name>.csv.gz     its rows, unless it is simulated and generated at load
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.task import DataKind
    from openfingym.task.model import Frequency

SERIES = Path(__file__).with_name("series")
"""Folder of the bundled datasets."""

Measure = Literal["price", "yield", "mixed"]


@dataclass(frozen=True)
class DatasetInfo:
    """Provenance of a dataset. Every field is stated; none is guessed."""

    name: str
    title: str
    kind: DataKind
    """``real``, ``simulated`` (a seeded simulator stands in) or ``specified`` (the paper defines it so)."""
    source: str
    """Who published the original numbers, or which simulator makes them."""
    provenance: str
    """How the rows here came from the source, step by step."""
    licence: str
    frequency: Frequency
    measure: Measure
    """``price``: positive, has returns. ``yield``: a rate, has differences only. ``mixed``: columns of
    unlike units, finite, of any sign; levels only."""
    unit: str
    calendar: str
    """Which days or hours have a row, and why the others have none."""
    corporate_actions: str
    """What splits, dividends, contract rolls and the like did to the numbers, or ``none: ...``."""
    first: date | None
    """Day of the first row; None where rows have no time, as in a graph."""
    last: date | None
    """Day of the last row; None where ``first`` is."""
    rows: int
    channels: tuple[str, ...]
    """Names of the columns, in order."""
    missing: int
    """Cells without a value; a bundled dataset has none."""
    sha256: str
    """Hex digest of the canonical CSV (see :func:`openfingym.data.canonical_csv`), which is what the ``.csv.gz``
    unpacks to."""
    instruments: tuple[str, ...] = ()
    """The real series that each channel is of, by a name that all datasets share, or one name for all channels where
    one tells of the others, as yields of one curve do; empty for data that are not real, or not of this library."""
    units: tuple[str, ...] = ()
    """Unit of each channel where they differ (``mixed``); empty where ``unit`` says it for all."""
    notes: tuple[str, ...] = ()
    """Known defects and peculiarities."""
    prepared: tuple[str, ...] = ()
    """What was done to an author's own data before it became the rows, step by step."""
    originals: tuple[tuple[str, str], ...] = ()
    """(file name, hex SHA-256) of each file the rows were derived from."""

    def instruments_of(self, channels: Iterable[str]) -> frozenset[str]:
        """The real series that some channels are of; those of all channels for none."""
        if len(self.instruments) == 1:
            return frozenset(self.instruments)
        of = dict(zip(self.channels, self.instruments, strict=True))
        return frozenset(of[name] for name in tuple(channels) or self.channels)


def datasets() -> list[DatasetInfo]:
    """Every bundled dataset, by name.

    Raises:
        DataError: a provenance file is damaged.
    """
    return [_read(path) for path in sorted(SERIES.glob("*.toml"))]


def dataset_info(name: str) -> DatasetInfo:
    """The bundled dataset of that name.

    Raises:
        DataError: there is none; near misses are suggested.
    """
    known = [path.stem for path in sorted(SERIES.glob("*.toml"))]
    if name not in known:
        raise DataError(f"no dataset {name!r}{suggestion(name, known)}; see `openfingym data list`")
    return _read(SERIES / f"{name}.toml")


def suggestion(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?``, or the list of what is known."""
    known = list(known)
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"


def require_simulated(name: str, found: str, expected: str, rounded: str) -> None:
    """Refuse simulated data that is not to the last bit what the dataset's digest stands for.

    Args:
        name: name of the dataset.
        found: hex SHA-256 of the data that this machine made.
        expected: hex SHA-256 of the dataset as it is released.
        rounded: what the rounded values are, such as ``prices``, for the message; rounding should have hidden every
            difference between machines.

    Raises:
        DataError: the digests differ.
    """
    if found == expected:
        return
    from numpy import __version__

    raise DataError(
        f"{name}: the simulator made data with SHA-256 {found}, expected {expected}; this machine's arithmetic "
        f"(NumPy {__version__}) differs beyond the rounding of {rounded}, please report it"
    )


def _read(path: Path) -> DatasetInfo:
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
        # The simulator's parameters are no part of the description; `models.read_model` reads them from the same file.
        stated.pop("simulator", None)
        originals = tuple(sorted(stated.pop("originals", {}).items()))
        # TOML has lists alone, where the fields are tuples.
        lists = {key: tuple(value) for key, value in stated.items() if isinstance(value, list)}
        info = DatasetInfo(**{**stated, **lists}, originals=originals)
    except (OSError, ValueError, TypeError) as error:
        names = ", ".join(field.name for field in fields(DatasetInfo))
        raise DataError(
            f"{path}: not a readable provenance file ({error}); its keys are {names}; reinstall openfingym"
        ) from error
    if len(info.units) != (len(info.channels) if info.measure == "mixed" else 0):
        raise DataError(
            f"{path}: states {len(info.units)} units for {len(info.channels)} channels of measure {info.measure!r}; "
            "reinstall openfingym"
        )
    if len(info.instruments) not in ({1, len(info.channels)} if info.kind == "real" else {0}):
        raise DataError(
            f"{path}: states {len(info.instruments)} instruments for {len(info.channels)} channels of {info.kind} "
            "data; reinstall openfingym"
        )
    if info.name != path.stem:
        raise DataError(f"{path}: names itself {info.name!r}; reinstall openfingym")
    return info
