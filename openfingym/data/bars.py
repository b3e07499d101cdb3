"""Bars of several symbols on one clock, checked once and never changed.

A symbol is *halted* in a row in which it has no prices or no volume: it cannot be traded there, and its
last close, divided by a split of that row, stands in all four prices, so that a position keeps its value.
Everything else that is wrong with a bar is refused, with row, time and column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.dataset import suggestion
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data.panel import Panel

    Floats = NDArray[np.float64]
    Faults = NDArray[np.bool_]

FIELDS = ("open", "high", "low", "close", "volume")
"""Fields of a bar, in the order of the last axis of every array."""
ACTIONS = ("split", "dividend")
"""Corporate actions beside a bar, which a panel may have as further channels."""
FEATURES = ("close_return", "open_gap", "high_over_close", "low_over_close", "relative_volume")
"""Names of :meth:`Bars.features`, in the order of the last axis."""
ROUNDING = 1e-5
"""Rounding error of prices that were adjusted for splits, relative to the price."""
VOLUME_WINDOW = 20
"""Past bars that a volume is compared with."""


@dataclass(frozen=True, eq=False)
class Bars:
    """Prices and volumes of S symbols in T rows. All arrays are read-only.

    Build one with :meth:`from_arrays`, :meth:`from_array` or :meth:`from_panel`, which check it; the
    constructor and :meth:`restored` do not.
    """

    times: NDArray[np.datetime64]
    """datetime64[ns][T], UTC, strictly increasing."""
    symbols: tuple[str, ...]
    """Names of the S columns."""
    open: Floats
    """First price of each bar, float64[T, S] like the other prices and the volume. All prices are above 0; the arrays
    are C-contiguous unless cut by :meth:`between`."""
    high: Floats
    """Highest price of each bar."""
    low: Floats
    """Lowest price of each bar."""
    close: Floats
    """Last price of each bar."""
    volume: Floats
    """Shares or coins traded in each bar; 0 in a halt."""
    split: Floats
    """New shares per old share, float64[T, S], in force from before the open of the row; 1 where there is no split."""
    dividend: Floats
    """Cash per share, float64[T, S], for whoever held it before the open of the row; 0 where nothing is paid."""
    tradable: Faults
    """bool[T, S]: False in a halt."""

    def __len__(self) -> int:
        return len(self.times)

    def __deepcopy__(self, _: object) -> Bars:
        return self  # read-only

    @classmethod
    def from_arrays(
        cls,
        times: NDArray[np.datetime64],
        symbols: Sequence[str],
        *,
        open: Floats,  # noqa: A002  # the field's own name
        high: Floats,
        low: Floats,
        close: Floats,
        volume: Floats,
        split: Floats | None = None,
        dividend: Floats | None = None,
        name: str = "bars",
    ) -> Bars:
        """Check arrays and hold copies of them.

        Args:
            times: datetime64[T], strictly increasing, UTC; one time a row.
            symbols: S different names of instruments, in the order of the columns.
            open: first price of each bar, float64[T, S], as are the four arguments below; a bar without prices is NaN
                in all four prices.
            high: the highest price of each bar.
            low: the lowest price of each bar.
            close: the last price of each bar.
            volume: units traded in each bar, not negative; 0, or NaN beside NaN prices, where nothing was traded.
            split: new shares per old share, float64[T, S], 1 where there is no split; None for no splits at all.
            dividend: cash per share, float64[T, S], 0 where there is none; None for no dividends at all.
            name: name of the data in error messages.

        Raises:
            DataError: times are not in order, a bar contradicts itself, is half missing or has a price that is not
                positive, or a symbol's first row is a halt. Row, time and column are named.
        """
        stamps = _times(times, name)
        names = tuple(symbols)
        if not names or len(set(names)) < len(names):
            raise DataError(f"{name}: symbols must be different names, at least one, found {list(names)}")
        shape = (len(stamps), len(names))
        ones = np.ones(shape) if split is None else split
        none = np.zeros(shape) if dividend is None else dividend
        arrays = dict(zip((*FIELDS, "split", "dividend"), (open, high, low, close, volume, ones, none), strict=True))
        columns = {key: _copied(key, values, shape, name) for key, values in arrays.items()}
        halted = _checked(columns, stamps, names, name)
        _carry_forward(columns, halted)
        tradable = ~halted
        for array in (stamps, tradable, *columns.values()):
            array.flags.writeable = False
        return cls(stamps, names, tradable=tradable, **columns)

    @classmethod
    def from_array(
        cls,
        times: NDArray[np.datetime64],
        symbols: Sequence[str],
        values: Floats,
        *,
        split: Floats | None = None,
        dividend: Floats | None = None,
        name: str = "bars",
    ) -> Bars:
        """Check an array of bars like :meth:`from_arrays`, from one float64[T, S, 5] as :meth:`to_array` gives it.

        Raises:
            DataError: the bars are refused as by :meth:`from_arrays`, or the array has another shape.
        """
        if values.ndim != 3 or values.shape[2] != len(FIELDS):
            raise DataError(
                f"{name}: values must be [rows, symbols, {len(FIELDS)}] ({', '.join(FIELDS)}), found "
                f"{list(values.shape)}"
            )
        fields = {field: values[:, :, i] for i, field in enumerate(FIELDS)}
        return cls.from_arrays(times, symbols, **fields, split=split, dividend=dividend, name=name)

    @classmethod
    def from_panel(cls, panel: Panel, symbols: Sequence[str] = ()) -> Bars:
        """Bars from the channels ``<symbol>_open`` ... ``<symbol>_volume`` of a panel, with ``<symbol>_split`` and
        ``<symbol>_dividend`` where it has them; other channels are left out.

        Args:
            panel: a panel with five channels for each symbol, or with ``open`` ... ``volume`` of a single one.
            symbols: symbols wanted, in this order; all if empty. The symbol of a single-symbol panel may be given any
                name.

        Raises:
            DataError: a channel is missing (near misses are suggested), or the bars are at fault.
        """
        where, plain = panel.info.name, set(FIELDS) <= set(panel.channels)
        known = [channel.removesuffix("_open") for channel in panel.channels if channel.endswith("_open")]
        names = tuple(symbols) or ((where,) if plain else tuple(known))
        if not names:
            raise DataError(
                f"{where} holds no bars: it has no channel 'open' or '<symbol>_open'; it has "
                f"{', '.join(panel.channels[:12])}"
            )
        # A name that is no prefix of a channel is what the caller wants to call the one symbol of plain channels.
        alone = plain and len(names) == 1 and names[0] not in known
        values = np.empty((len(panel.times), len(names), len(FIELDS)))
        actions = {"split": np.ones(values.shape[:2]), "dividend": np.zeros(values.shape[:2])}
        for s, symbol in enumerate(names):
            for i, field in enumerate(FIELDS):
                channel = field if alone else f"{symbol}_{field}"
                if channel not in panel.channels:
                    raise DataError(
                        f"{where}: no bars of {symbol!r}, channel {channel!r} is not there{suggestion(symbol, known)}"
                    )
                values[:, s, i] = panel.values[:, panel.channels.index(channel)]
            for action, column in actions.items():
                channel = action if alone else f"{symbol}_{action}"
                if channel in panel.channels:
                    column[:, s] = panel.values[:, panel.channels.index(channel)]
        return cls.from_array(panel.times, names, values, name=where, **actions)

    @classmethod
    def restored(cls, times: NDArray[np.datetime64], symbols: tuple[str, ...], values: Floats, actions: Floats) -> Bars:
        """Bars from what :meth:`to_array` made of checked ones: as views, and not checked again; may begin with a halt.

        Args:
            times: datetime64[ns][T], one time a row.
            symbols: names of the columns, in order.
            values: float64[T, S, 5]; a volume of 0 is a halt.
            actions: float64[T, S, 2], the split ratio and the cash dividend of each bar.
        """
        columns = {field: values[:, :, i] for i, field in enumerate(FIELDS)}
        return cls(
            times, symbols, split=actions[:, :, 0], dividend=actions[:, :, 1], tradable=values[:, :, 4] > 0.0, **columns
        )

    def between(self, rows: slice) -> Bars:
        """The bars of some rows, as views without copying anything.

        Args:
            rows: the rows, as a slice with a step of 1 or None.

        Raises:
            DataError: the slice selects no row.
        """
        start, stop, step = rows.indices(len(self))
        if step != 1 or stop <= start:
            raise DataError(f"rows {start} to {stop} in steps of {step} are no stretch of these {len(self)} bars")
        cut = slice(start, stop)
        arrays = {key: getattr(self, key)[cut] for key in (*FIELDS, "split", "dividend", "tradable")}
        return Bars(self.times[cut], self.symbols, **arrays)

    def to_array(self) -> Floats:
        """All bars as one new array, float64[T, S, 5] in the order of :data:`FIELDS`."""
        return np.stack([getattr(self, field) for field in FIELDS], axis=2)

    def features(self) -> NDArray[np.float32]:
        """Features for a policy, of the size of returns: float32[T, S, 5] in the order of :data:`FEATURES`.

        ln(close x split / last close), ln(open x split / last close), ln(high / close), ln(low / close), and ln(volume
        / mean volume of the :data:`VOLUME_WINDOW` bars before, or as many as there are). A row reads no later one; the
        first row and halts are 0.
        """
        out = np.zeros((*self.close.shape, len(FEATURES)))
        if len(self) > 1:
            before, split = self.close[:-1], self.split[1:]
            # In old shares, so that a two-for-one split is no return of minus 50 percent.
            out[1:, :, 0] = np.log(self.close[1:] * split / before)
            out[1:, :, 1] = np.log(self.open[1:] * split / before)
            out[1:, :, 2] = np.log(self.high[1:] / self.close[1:])
            out[1:, :, 3] = np.log(self.low[1:] / self.close[1:])
            mean = _trailing_mean(self.volume)
            known = self.tradable & (mean > 0.0)
            out[:, :, 4] = np.log(np.where(known, self.volume, 1.0) / np.where(known, mean, 1.0))
        out[~self.tradable] = 0.0
        out[0] = 0.0
        return out.astype(np.float32)


def _times(times: NDArray[np.datetime64], name: str) -> NDArray[np.datetime64]:
    if times.ndim != 1 or times.dtype.kind != "M" or not len(times):
        raise DataError(
            f"{name}: times must be a list of datetime64, at least one, found {times.dtype} of shape "
            f"{list(times.shape)}"
        )
    stamps = times.astype("datetime64[ns]")
    late = ~(stamps[1:] > stamps[:-1])
    if late.any():
        row = int(late.argmax()) + 1
        fault = "occurs twice" if stamps[row] == stamps[row - 1] else f"is before the row above ({stamps[row - 1]})"
        raise DataError(
            f"{name}, row {row}, column 'time': {stamps[row]} {fault}; rows must be in strictly increasing order"
        )
    return stamps


def _copied(key: str, values: Floats, shape: tuple[int, int], name: str) -> Floats:
    if values.shape != shape or values.dtype.kind not in "fiu":
        raise DataError(
            f"{name}: {key} must be numbers of shape {list(shape)} (rows, symbols), found "
            f"{values.dtype}{list(values.shape)}"
        )
    return np.array(values, dtype=np.float64, order="C")


def _checked(columns: dict[str, Floats], times: NDArray[np.datetime64], symbols: tuple[str, ...], name: str) -> Faults:
    """Refuse bars that contradict themselves; returns where a symbol is halted, bool[T, S]."""

    def refuse(key: str, wrong: Faults, fault: str) -> None:
        if wrong.any():
            row, s = (int(i) for i in np.argwhere(wrong)[0])
            found = columns[key][row, s]
            raise DataError(
                f"{name}, row {row} ({times[row]}), column '{symbols[s]}_{key}': {found:g} {fault.format(row=row)}"
            )

    prices = {key: columns[key] for key in ("open", "high", "low", "close")}
    volume = columns["volume"]
    absent = np.isnan(prices["open"])
    # NaN compares as False with everything, so that the comparisons below pass over bars without prices.
    for key, values in (*prices.items(), ("volume", volume)):
        refuse(key, np.isinf(values), "is not finite")
    for key, values in prices.items():
        refuse(
            key,
            np.isnan(values) != absent,
            "beside an open that is missing or not: a bar has all four prices, or none in a halt",
        )
        refuse(key, values <= 0.0, "is not a positive price")
    refuse("volume", np.isnan(volume) & ~absent, "is missing beside prices; a halt has neither")
    refuse("volume", volume < 0.0, "is negative")
    refuse("volume", absent & (volume > 0.0), "was traded at no price; a halt has neither")
    refuse("high", prices["high"] < prices["low"], "is below the low")
    for key in ("open", "close"):
        refuse(key, (prices[key] > prices["high"]) | (prices[key] < prices["low"]), "is outside the bar's low and high")
    refuse("split", ~(np.isfinite(columns["split"]) & (columns["split"] > 0.0)), "is no ratio of shares; 1 is none")
    refuse(
        "dividend",
        ~(np.isfinite(columns["dividend"]) & (columns["dividend"] >= 0.0)),
        "is no amount of cash; 0 is none",
    )
    halted: Faults = absent | (volume == 0.0)
    first = np.zeros_like(halted)
    first[0] = halted[0]
    refuse(
        "close",
        first,
        "in a halt: a symbol must trade in the first row, or it has no value; begin later or leave it out",
    )
    return halted


def _carry_forward(columns: dict[str, Floats], halted: Faults) -> None:
    """Fill the prices of halted bars with the symbol's last close, in place."""
    close, split = columns["close"], columns["split"]
    # argwhere goes by row, so the close before a later row of a long halt is filled already.
    for row, s in np.argwhere(halted).tolist():
        last = close[row - 1, s] / split[row, s]
        for key in ("open", "high", "low", "close"):
            columns[key][row, s] = last
        columns["volume"][row, s] = 0.0


def widen(values: Floats) -> None:
    """Let high and low reach open and close where they miss them by the rounding of an adjustment alone; in place.

    Args:
        values: float64[..., fields], open, high, low and close first; a missing price is NaN.
    """
    ends = values[..., [0, 3]]
    top, bottom = ends.max(axis=-1), ends.min(axis=-1)
    high, low = values[..., 1], values[..., 2]
    np.copyto(high, top, where=(high < top) & (high >= top * (1.0 - ROUNDING)))
    np.copyto(low, bottom, where=(low > bottom) & (low <= bottom * (1.0 + ROUNDING)))


def _trailing_mean(volume: Floats) -> Floats:
    """Mean of up to :data:`VOLUME_WINDOW` rows before each row, float64[T, S]; 0 for the first."""
    # Running totals with a zero in front: the sum of any window is the difference of two of them.
    total = np.zeros((len(volume) + 1, volume.shape[1]))
    np.cumsum(volume, axis=0, out=total[1:])
    rows = np.arange(len(volume))
    start = np.maximum(rows - VOLUME_WINDOW, 0)
    mean: Floats = (total[rows] - total[start]) / np.maximum(rows - start, 1)[:, None]
    return mean
