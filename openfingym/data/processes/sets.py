"""The named sets of paths, and how train, public and private ones are drawn.

Every block of 500 paths has a stream of its own, ``SeedSequence(seed, spawn_key=(set, split, block))``:
no path of one split has anything to do with another's, blocks can be made in any order and on any
machine, and fewer paths of a split are a prefix of more.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from openfingym.data.dataset import suggestion
from openfingym.data.processes.book import OrderBookBars
from openfingym.data.processes.draws import stream
from openfingym.data.processes.factor_garch import PAIRS, FactorGarch
from openfingym.data.processes.fractional import FractionalBrownian
from openfingym.data.processes.ohlcv import DailyBars
from openfingym.data.processes.ou import OrnsteinUhlenbeck
from openfingym.data.processes.rough import RoughVolatility
from openfingym.data.processes.tailgan import TailGan
from openfingym.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from openfingym.task import DataKind

Split = Literal["train", "public", "private"]
SPLITS: tuple[Split, ...] = ("train", "public", "private")
BLOCK = 500
"""Paths that share a stream, and the unit of generation."""
DEFAULT_SEED = 20260629


class Process(Protocol):
    """The law that paths are drawn from, with all its parameters."""

    @property
    def steps(self) -> int:
        """Number of points of a path."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels."""

    def paths(self, bits: np.random.PCG64, n: int) -> NDArray[np.float64]:
        """Draw n independent paths, float64[n, steps, channels]."""


@dataclass(frozen=True)
class Counts:
    """Number of paths in each split."""

    train: int
    public: int
    private: int

    def __post_init__(self) -> None:
        for split in SPLITS:
            if self.of(split) < 1:
                raise DataError(f"{split}: need at least one path, found {self.of(split)}")

    def of(self, split: Split) -> int:
        """Number of paths in a split."""
        return {"train": self.train, "public": self.public, "private": self.private}[split]


@dataclass(frozen=True)
class ProcessSet:
    """A named set of paths: its law, its size and where it comes from."""

    name: str
    title: str
    kind: DataKind
    """``specified``: the paper defines the law. ``simulated``: it stands in for data that cannot be bundled."""
    source: str
    calibration: str
    """What the parameters were taken from or fitted to."""
    process: Process
    counts: Counts
    decimals: tuple[int, ...]
    """Decimals kept of each channel, far above the last bits in which machines differ."""

    @property
    def shape(self) -> tuple[int, int]:
        """(steps, channels) of a path."""
        return self.process.steps, len(self.process.channels)


@dataclass(frozen=True, eq=False)
class DrawnSets:
    """Disjoint sets of paths, each float64[n, steps, channels], read-only."""

    train: NDArray[np.float64]
    public: NDArray[np.float64]
    private: NDArray[np.float64]


def process_sets() -> list[ProcessSet]:
    """Every named set, by name."""
    return sorted(_SETS, key=lambda known: known.name)


def process_set(name: str) -> ProcessSet:
    """The set of that name.

    Raises:
        DataError: there is none; near misses are suggested.
    """
    for known in _SETS:
        if known.name == name:
            return known
    raise DataError(f"no process set {name!r}{suggestion(name, [known.name for known in process_sets()])}")


def stream_paths(
    known: ProcessSet, split: Split, seed: int = DEFAULT_SEED, count: int | None = None
) -> Iterator[NDArray[np.float64]]:
    """Yield a split block by block, float64[at most 500, steps, channels], in bounded memory.

    Args:
        known: the set, as :func:`process_set` returned it.
        split: name of the split: ``train``, ``public`` or ``private``.
        seed: seed of the paths, not negative. The default is public: an operator who needs hidden paths hidden passes a
            secret one.
        count: number of paths; None for as many as ``known.counts`` says.

    Raises:
        DataError: ``count`` is below 1, ``seed`` negative or ``split`` unknown.
    """
    total = known.counts.of(split) if count is None and split in SPLITS else count
    if split not in SPLITS or seed < 0 or total is None or total < 1:
        raise DataError(
            f"need a split of {', '.join(SPLITS)}, a seed from 0 and one path at least, found {split!r}, {seed} and "
            f"{total}"
        )
    # The name and not the place in the list, so that another set changes nothing about this one.
    return _blocks(known, (zlib.crc32(known.name.encode()), SPLITS.index(split)), seed, total)


def _blocks(known: ProcessSet, place: tuple[int, int], seed: int, total: int) -> Iterator[NDArray[np.float64]]:
    for start in range(0, total, BLOCK):
        # A whole block even where fewer paths are left: the same path whatever the number asked for.
        paths = known.process.paths(stream(seed, *place, start // BLOCK), BLOCK)
        for channel, decimals in enumerate(known.decimals):
            # Adding zero turns the negative zeros of rounding into plain ones, so that equal values are equal bytes.
            paths[:, :, channel] = np.round(paths[:, :, channel], decimals) + 0.0
        yield paths[: total - start]


def draw_sets(name: str, seed: int = DEFAULT_SEED, counts: Counts | None = None) -> DrawnSets:
    """Draw disjoint train, public and private sets.

    Raises:
        DataError: no such set, or a negative seed.
    """
    known = process_set(name)
    return DrawnSets(*(_collect(known, split, seed, (counts or known.counts).of(split)) for split in SPLITS))


def _collect(known: ProcessSet, split: Split, seed: int, count: int) -> NDArray[np.float64]:
    out = np.empty((count, *known.shape))
    start = 0
    for block in stream_paths(known, split, seed, count):
        out[start : start + len(block)] = block
        start += len(block)
    out.flags.writeable = False
    return out


def paths_digest(blocks: Iterable[NDArray[np.float64]]) -> str:
    """Hex SHA-256 of the paths, little-endian float64 in C order, however they are cut into blocks."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(np.ascontiguousarray(block, dtype="<f8").tobytes())
    return digest.hexdigest()


def parameters(known: ProcessSet) -> dict[str, object]:
    """Every parameter of the set's law by name, to print."""
    process = known.process
    # Every Process here is a dataclass.
    return {field.name: getattr(process, field.name) for field in fields(process)}  # type: ignore[arg-type]


_BY_HAND = "chosen by hand in the range commonly reported for such markets, not fitted"
_OWN = "seeded simulator of OpenFinGym; no market data is used"

_SETS = (
    ProcessSet(
        "ou", "Ornstein-Uhlenbeck paths with growing drift and diffusion", "specified",
        "PCF-GAN (Lou, Li and Ni 2023), datasets/ou.py", "parameters of the paper's data set",
        OrnsteinUhlenbeck(), Counts(8_000, 1_000, 1_000), (6,),
    ),
    ProcessSet(
        "rough-volatility", "Log price and log variance of a rough Bergomi model", "specified",
        "PCF-GAN (Lou, Li and Ni 2023), datasets/rough.py", "parameters of the paper's data set; kernel as its text "
                                                            "defines it",
        RoughVolatility(), Counts(16_000, 2_000, 2_000), (6, 6),
    ),
    ProcessSet(
        "fbm", "Three-dimensional fractional Brownian motion, H = 0.25", "specified",
        "High-Rank PCF-GAN (Tao, Ni and Liu 2024), datasets/fbm_.py", "parameters of the paper's data set",
        FractionalBrownian(), Counts(10_000, 5_000, 5_000), (6,) * 3,
    ),
    ProcessSet(
        "tail-gan", "Five correlated return series: Gaussian, two AR(1), two GARCH", "specified",
        "Tail-GAN (Cont, Cucuringu, Xu and Zhang 2026), gen_synthetic.py", "one fixed draw from the paper's ranges, "
                                                                           "with three corrections",
        TailGan(), Counts(50_000, 5_000, 5_000), (9,) * 5,
    ),
    ProcessSet(
        "lob-bars", "High-frequency bars of a two-level limit order book", "simulated", _OWN, _BY_HAND,
        OrderBookBars(), Counts(1_047, 237, 238), (2,) * 5 + (0,) * 8 + (4,),
    ),
    ProcessSet(
        "crypto-pairs", "Hourly prices of 20 crypto pairs over the price before the path", "simulated", _OWN, _BY_HAND,
        FactorGarch(PAIRS, 60, "prices"), Counts(6_089, 1_317, 1_319), (7,) * 20,
    ),
    ProcessSet(
        "crypto-log-returns", "Hourly log returns of 10 crypto pairs", "simulated", _OWN, _BY_HAND,
        FactorGarch(PAIRS[:10], 24, "log_returns"), Counts(7_004, 875, 876), (8,) * 10,
    ),
    ProcessSet(
        "stock-ohlcv", "Daily open, high, low, close and volume of ten stocks, one a path", "simulated", _OWN,
        "dynamics fitted to AAPL, GOOG, IBM and MSFT, 2004-09 to 2013-03 (Quandl WIKI prices); levels chosen by hand",
        DailyBars(), Counts(900, 110, 120), (4, 4, 4, 4, 0),
    ),
)  # fmt: skip
