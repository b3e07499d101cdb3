"""From a panel to the windows of a task.

::

    rows   0                        a                    a+b                   n
           |-------- train ---------|e|----- public -----|e|----- private -----|
           [inputs|targets]           [inputs|tgt]         [inputs|tgt]
             [inputs|targets]            [inputs|tgt]         [inputs|tgt]
               [inputs|targets]             [inputs|tgt]         [inputs|tgt]
           training windows start     hidden windows start every ``horizon`` rows
           every ``train_stride`` rows

``e`` is the embargo, rows dropped from the start of the later block. Every window lies wholly inside its block, inputs
and targets. Every row of a hidden block after the first look-back is a target once, and is among the inputs of later
windows: they are shown one at a time, each after all before it were answered (:mod:`openfingym.kinds.walk`). A split
may state a larger ``hidden_stride``, for fewer windows. Windows to generate from a context *tile* their blocks instead,
a whole length apart: their contexts are shown at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from openfingym.data.volatility import VOLATILITY_WINDOW, realised_volatility
from openfingym.errors import DataError, TaskError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.panel import Panel
    from openfingym.metrics.semantics import ValueSemantics
    from openfingym.task.model import Split

MEASURES_OF: Mapping[str, tuple[str, ...]] = {
    "log_return": ("price",),
    "price_level": ("price", "mixed"),
    "yield_level": ("yield",),
    "realised_vol": ("price",),
    "mixed": ("mixed",),
}
"""The measures that a dataset may have for a task's value semantics. Of a mixed panel, a task may call the targets
prices, where they are positive; the other channels are inputs only."""

RETURN_DECIMALS = 10
"""Log returns are rounded to this: far below the precision of any price, far above the last
bits in which the logarithm of one machine differs from another's, so that digests agree."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The arrays of a batch task. All are C-contiguous; values are float64, times datetime64[ns]."""

    train_inputs: NDArray[np.float64]
    """[n_train, lookback, d], oldest row first."""
    train_targets: NDArray[np.float64]
    """[n_train, horizon, d], the rows directly after each window's inputs."""
    train_times: NDArray[np.datetime64]
    """[n_train, lookback + horizon], the time of each row of inputs, then of targets."""
    test_inputs: NDArray[np.float64]
    """[n_public + n_private, lookback, d], in time order: the public fold first."""
    test_targets: NDArray[np.float64]
    """[n_public + n_private, horizon, d], hidden."""
    test_times: NDArray[np.datetime64]
    """[n_public + n_private, lookback + horizon], as ``train_times``."""
    n_public: int
    """Number of windows in the public fold."""
    n_private: int
    """Number of windows in the private fold."""
    mean: NDArray[np.float64]
    """[d], what was subtracted from every value; 0 where nothing was."""
    scale: NDArray[np.float64]
    """[d], what every value was divided by after that; 1 where it was not."""
    train_starts: NDArray[np.int64]
    """[n_train], the row of the data at which each window's inputs begin."""
    test_starts: NDArray[np.int64]
    """[n_public + n_private], the row of the data at which each window's inputs begin."""


def block_starts(times: NDArray[np.datetime64], split: Split) -> tuple[int, int]:
    """Rows at which the public and the private block begin, with the embargo that is dropped from their start.

    Args:
        times: datetime64[n], the time of each row, or int64[n], its number where it has no date.
        split: shares of the rows, or first days of the blocks.

    Raises:
        TaskError: the split is by days, and the rows have no dates.
    """
    if split.public_from is None or split.private_from is None:
        train, public, _ = split.shares
        first = train_share(train, len(times))
        return first, first + train_share(public, len(times))
    if times.dtype.kind != "M":
        raise TaskError(
            f"is {split.public_from}, but the rows have no dates; give train, public and private",
            key="split.public_from",
        )
    days = times.astype("datetime64[D]")
    first, second = np.searchsorted(days, np.array([split.public_from, split.private_from], dtype="datetime64[D]"))
    return int(first), int(second)


def train_rows(times: NDArray[np.datetime64], split: Split) -> int:
    """Number of rows, counted from the first, that form the training block; see :func:`block_starts`."""
    return block_starts(times, split)[0]


def train_share(share: float, rows: int) -> int:
    """Number of rows, counted from the first, that make up a share of all rows."""
    # Through the decimal text: 0.29 * 100 is 28.999... in binary, and its floor would be off by one.
    return int(Fraction(str(share)) * rows)


def hidden_stride(split: Split, horizon: int) -> int:
    """Rows from one hidden window to the next.

    Raises:
        TaskError: there are fewer than a window asks for.
    """
    if split.hidden_stride is not None and split.hidden_stride < horizon:
        raise TaskError(
            f"is {split.hidden_stride}; expected at least the {horizon} rows that a window asks for",
            key="split.hidden_stride",
        )
    return split.hidden_stride or horizon


def stamps(times: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """Times as datetime64[ns]. Row numbers, int64, which stand for times in data without dates, stay as they are."""
    return times.astype("datetime64[ns]") if times.dtype.kind == "M" else times


def rows_lost(semantics: ValueSemantics) -> int:
    """How many rows of a panel come before the first value that :func:`to_values` makes of it."""
    return {"log_return": 1, "realised_vol": VOLATILITY_WINDOW}.get(semantics, 0)


def to_values(panel: Panel, semantics: ValueSemantics) -> tuple[NDArray[np.datetime64], NDArray[np.float64]]:
    """The panel as what a task predicts.

    ``log_return``: ln(p_t / p_{t-1}), dimensionless, stamped with the later time, so one row
    fewer; rounded to 10 decimals. ``realised_vol``: the root of the mean squared log return over the last
    21 rows, so 21 rows fewer. The others: the panel as it is.

    Returns:
        (times datetime64[ns][n], values float64[n, d]).

    Raises:
        TaskError: the panel holds yields and the task wants prices or returns, or the reverse.
        DataError: fewer than two rows, so there is no return.
    """
    measures = MEASURES_OF.get(semantics)
    if measures is None:
        raise TaskError(f"unknown {semantics!r}; known: {', '.join(MEASURES_OF)}", key="contract.value_semantics")
    if panel.info.measure not in measures:
        wanted, found = (
            {"price": "prices", "yield": "yields", "mixed": "mixed values"}[measure]
            for measure in (measures[0], panel.info.measure)
        )
        raise TaskError(
            f"{semantics!r} needs a dataset of {wanted}, but {panel.info.name!r} holds {found}",
            key="contract.value_semantics",
        )
    if semantics == "realised_vol":
        return panel.times[VOLATILITY_WINDOW:], realised_volatility(panel.values, VOLATILITY_WINDOW)
    if semantics != "log_return":
        return panel.times, panel.values
    if len(panel.times) < 2:
        raise DataError(f"{panel.info.name}: a return needs two rows, found {len(panel.times)}")
    returns: NDArray[np.float64] = np.log(panel.values[1:] / panel.values[:-1])
    # The logarithm's last bits differ between machines, and the package's digest must not.
    return panel.times[1:], returns.round(RETURN_DECIMALS)


def unknown_values(panel: Panel, semantics: ValueSemantics) -> NDArray[np.bool_] | None:
    """Which of the values of :func:`to_values` rest on a cell that was filled in, bool[n, d]; None where none does.

    A return rests on two prices, and a volatility on all that its returns are made of.
    """
    if panel.filled is None or not panel.filled.any():
        return None
    prices = rows_lost(semantics) + 1
    return np.asarray(sliding_window_view(panel.filled, prices, axis=0).any(axis=-1))


def cut(
    values: NDArray[np.float64],
    times: NDArray[np.datetime64],
    *,
    split: Split,
    lookback: int,
    horizon: int,
    lead: int = 0,
    scaled: NDArray[np.bool_] | None = None,
    tiled: bool = False,
) -> Windows:
    """Cut the rows into training, public and private windows; see the module's picture.

    Of n rows, floor(n * train) form the first block, floor(n * public) the second, the rest the third; or the second
    and the third begin on the days that the split states. Scaling uses the mean and the population standard deviation
    of the first block's rows.

    Args:
        values: float64[n, d], finite; one row a time, one column a channel.
        times: datetime64[ns][n], strictly increasing; the time of each row, or its number where it has no date.
        split: proportions, stride, embargo and scaling.
        lookback: number of input rows of a window.
        horizon: number of target rows of a window, directly after the inputs.
        lead: number of rows before the inputs that a window needs too, because something is computed from them.
        scaled: bool[d], True for the channels that are scaled; None for all.
        tiled: whether hidden windows share no row with each other, since their inputs are shown at once. The rows
            before a window may be the last ones of the window before it, as a return rests on the price before it.

    Raises:
        TaskError: a block is too short for one window; says how many rows would do.
        DataError: the arrays do not fit together, are not finite or not in order, or a channel
            to be scaled is constant, or its mean not positive, in training.
    """
    _check(values, times)
    length = lead + lookback + horizon
    train, public, private = _blocks(times, length, split)
    # Of training rows alone: the mean of all rows would tell of the hidden ones.
    mean, scale = _scaling(values[train.start : train.stop], split, scaled)
    ready = values if split.scaling == "none" else (values - mean) / scale
    # Training windows may overlap. Hidden ones advance by what they ask for where they are shown one after the other.
    train_starts = np.arange(train.start, train.stop - length + 1, split.train_stride) + lead
    stride = lookback + horizon if tiled else hidden_stride(split, horizon)
    public_starts = np.arange(public.start, public.stop - length + 1, stride) + lead
    private_starts = np.arange(private.start, private.stop - length + 1, stride) + lead
    test_starts = np.concatenate([public_starts, private_starts])
    # sliding_window_view puts the window axis last; windows are [row, channel] everywhere else.
    windows = sliding_window_view(ready, lookback + horizon, axis=0).transpose(0, 2, 1)
    spans = sliding_window_view(stamps(times), lookback + horizon)
    return Windows(
        train_inputs=np.ascontiguousarray(windows[train_starts, :lookback]),
        train_targets=np.ascontiguousarray(windows[train_starts, lookback:]),
        train_times=np.ascontiguousarray(spans[train_starts]),
        test_inputs=np.ascontiguousarray(windows[test_starts, :lookback]),
        test_targets=np.ascontiguousarray(windows[test_starts, lookback:]),
        test_times=np.ascontiguousarray(spans[test_starts]),
        n_public=len(public_starts),
        n_private=len(private_starts),
        mean=mean,
        scale=scale,
        train_starts=train_starts,
        test_starts=test_starts,
    )


def _check(values: NDArray[np.float64], times: NDArray[np.datetime64]) -> None:
    if values.ndim != 2 or values.dtype != np.float64 or times.shape != values.shape[:1]:
        raise DataError(
            f"need float64 values [rows, channels] and one time a row, found {values.dtype}{list(values.shape)} and "
            f"{list(times.shape)}"
        )
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise DataError(f"row {row}, channel {column}: the value is not finite")
    if not (times[1:] > times[:-1]).all():
        row = int(np.flatnonzero(~(times[1:] > times[:-1]))[0]) + 1
        raise DataError(f"row {row}: its time {times[row]} is not after the one before")


def _blocks(times: NDArray[np.datetime64], length: int, split: Split) -> tuple[range, range, range]:
    """Rows of the three blocks, embargoes left out."""
    rows = len(times)
    first, second = block_starts(times, split)
    blocks = range(first), range(first + split.embargo, second), range(second + split.embargo, rows)
    for name, block in zip(("train", "public", "private"), blocks, strict=True):
        if len(block) < length and split.dated:
            raise too_short(
                name, times, split, f"{len(block)} rows, but one window needs {length} (lookback + horizon)"
            )
        if len(block) < length:
            train, public, _ = (Fraction(str(share)) for share in split.shares)
            shares = (train, public, 1 - train - public)
            # The embargo comes off the start of both hidden blocks, so they need that many rows more.
            needs = (length, length + split.embargo, length + split.embargo)
            total = max(math.ceil(need / share) for need, share in zip(needs, shares, strict=True))
            raise TaskError(
                f"the {name} block has {len(block)} of {rows} rows, but one window needs {length} (lookback + "
                f"horizon); with these proportions and an embargo of {split.embargo}, {total} rows are enough",
                key=f"split.{name}",
            )
    return blocks


def too_short(name: str, times: NDArray[np.datetime64], split: Split, found: str) -> TaskError:
    """The error for a block of a split by days that is too short.

    Args:
        name: name of the block.
        times: datetime64[n], the time of each row.
        split: the split, by days.
        found: what the block has and what it needs, as a phrase.
    """
    reach = f"of rows from {str(times[0])[:10]} to {str(times[-1])[:10]}" if len(times) else "of no rows"
    return TaskError(
        f"{reach}, the {name} block has {found}; the public block begins on {split.public_from}, the private one on "
        f"{split.private_from}, each after {split.embargo} rows of embargo: choose other days, or data of more years",
        key="split.private_from" if name == "private" else "split.public_from",
    )


def _scaling(
    rows: NDArray[np.float64], split: Split, scaled: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(subtracted, divided by), float64[d] each."""
    none, one = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    # With "start" each path is divided by the row before it, which `kinds/paths.py` does window by window.
    if split.scaling in {"none", "start"}:
        return none, one
    chosen = np.ones(rows.shape[1], dtype=np.bool_) if scaled is None else scaled
    # fsum is exact, so the result does not depend on the order in which a machine adds.
    mean = np.array([math.fsum(column) / len(rows) for column in rows.T.tolist()])
    if split.scaling == "mean":
        _refuse(chosen & (mean <= 0.0), "has no positive mean in the training block, by which it could be divided")
        return none, np.where(chosen, mean, one)
    scale = np.array([math.sqrt(math.fsum(column) / len(rows)) for column in ((rows - mean) ** 2).T.tolist()])
    # The mean of a constant column is rounded, so its deviation can come out as a few units in the last place, not 0.
    _refuse(
        chosen & (scale <= 1e-12 * np.maximum(np.abs(mean), 1.0)),
        "is constant in the training block and cannot be standardised",
    )
    return np.where(chosen, mean, none), np.where(chosen, scale, one)


def _refuse(wrong: NDArray[np.bool_], complaint: str) -> None:
    if wrong.any():
        raise DataError(f"channel {int(wrong.argmax())} {complaint}")
