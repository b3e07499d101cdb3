"""What happened in trading episodes, row by row, as tear sheets draw and describe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from openfingym.errors import UsageError
from openfingym.metrics.performance import RecordColumn, account_record, drawdowns, step_returns
from openfingym.trading.orders import EventKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task.episodes import FoldName
    from openfingym.trading.orders import Event


@dataclass(frozen=True, eq=False)
class EpisodeTrace:
    """One episode of one account. Row 0 is the start, row t the close of the t-th bar after it."""

    times: NDArray[np.datetime64]
    """Time of each row in UTC, datetime64[ns][steps + 1]."""
    symbols: tuple[str, ...]
    """Names of the symbols that can be traded."""
    prices: NDArray[np.float64]
    """Closing prices, float64[steps + 1, symbols]."""
    positions: NDArray[np.float64]
    """Units held at the close, negative for a short position, float64[steps + 1, symbols]."""
    events: tuple[Event, ...]
    """What happened to orders, in order; ``bar`` is the row of the episode."""
    record: NDArray[np.float64]
    """The account record, float64[steps + 1, 7]; see :mod:`openfingym.metrics.performance`."""
    fold: FoldName = "private"
    """The fold that the episode is of."""

    def __post_init__(self) -> None:
        # It raises an error unless these are the records of episodes, here of one.
        account_record(self.record[None])
        shape = (len(self.record), len(self.symbols))
        for name, actual, expected in (
            ("times", self.times.shape, shape[:1]),
            ("prices", self.prices.shape, shape),
            ("positions", self.positions.shape, shape),
        ):
            if actual != expected:
                raise UsageError(
                    f"trace: {name} has shape {actual}, expected {expected}: one row for each of the record's"
                )
        if not (np.isfinite(self.prices).all() and np.isfinite(self.positions).all()):
            raise UsageError("trace: prices and positions must be finite; a halted symbol keeps its last close")
        late = next((event for event in self.events if not 0 <= event.bar < shape[0]), None)
        if late is not None:
            raise UsageError(f"trace: an event is in row {late.bar}, expected 0 to {shape[0] - 1}")


class Chain:
    """Episodes one after the other, as one account that begins each with the equity that the last one left.

    Arrays have a row for every row of every episode, in order.
    """

    def __init__(self, traces: Sequence[EpisodeTrace]) -> None:
        """Join episodes.

        Args:
            traces: the episodes, in order.

        Raises:
            UsageError: there is no episode, or they have different symbols.
        """
        if not traces:
            raise UsageError("there is no episode to show")
        if any(trace.symbols != traces[0].symbols for trace in traces):
            raise UsageError("the episodes trade different symbols; show them apart")
        self.traces = tuple(traces)
        self.symbols = traces[0].symbols
        self.starts = tuple(int(row) for row in np.cumsum([0, *(len(trace.record) for trace in traces[:-1])]))
        """Index of the first row of each episode."""

    @property
    def size(self) -> int:
        """How many rows all episodes have together."""
        return self.starts[-1] + len(self.traces[-1].record)

    @cached_property
    def times(self) -> NDArray[np.datetime64]:
        """Time of each row in UTC, datetime64[ns][size]."""
        return np.concatenate([trace.times for trace in self.traces]).astype("datetime64[ns]")

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """Closing prices, float64[size, symbols]."""
        return np.concatenate([trace.prices for trace in self.traces])

    @cached_property
    def growth(self) -> NDArray[np.float64]:
        """What 1 at the start of the first episode has become at each row, float64[size]."""
        pieces, level = [], 1.0
        for trace in self.traces:
            equity = trace.record[:, RecordColumn.EQUITY]
            pieces.append(level * equity / equity[0])
            level = float(pieces[-1][-1])
        return np.concatenate(pieces)

    @cached_property
    def underwater(self) -> NDArray[np.float64]:
        """Minus the drawdown within the episode, as a fraction, float64[size]."""
        return -np.concatenate([drawdowns(trace.record[None])[0] for trace in self.traces])

    @cached_property
    def returns(self) -> NDArray[np.float64]:
        """Simple return of every step, 0 after bankruptcy, float64[size - episodes]."""
        return np.concatenate([step_returns(trace.record[None])[0] for trace in self.traces])

    def share(self, column: RecordColumn) -> NDArray[np.float64]:
        """A value of the record over equity, 0 after bankruptcy, float64[size]."""
        return _over_equity(np.concatenate([trace.record for trace in self.traces])[:, column], self._equity)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Value of each position over equity, negative for a short one, float64[size, symbols]."""
        positions = np.concatenate([trace.positions for trace in self.traces])
        return _over_equity((positions * self.prices).T, self._equity).T

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """Fees, slippage and borrowing so far, those of each episode over its initial equity, float64[size]."""
        spent = [trace.record[:, RecordColumn.COST] / trace.record[0, RecordColumn.EQUITY] for trace in self.traces]
        return np.cumsum(np.concatenate(spent))

    def events(self) -> Iterator[tuple[int, Event]]:
        """The events of all episodes in order, each with the index of its row."""
        for start, trace in zip(self.starts, self.traces, strict=True):
            for event in trace.events:
                yield start + event.bar, event

    def fills(self) -> Iterator[tuple[int, Event]]:
        """The fills of all episodes in order, each with the index of its row."""
        return ((row, event) for row, event in self.events() if event.kind is EventKind.FILLED)

    def paid(self, what: Literal["fee", "slippage"]) -> NDArray[np.float64]:
        """Fees or slippage of fills so far, those of each episode over its initial equity, float64[size]."""
        spent = np.zeros(self.size)
        for start, trace in zip(self.starts, self.traces, strict=True):
            for event in trace.events:
                if event.kind is EventKind.FILLED:
                    spent[start + event.bar] += (event.fee if what == "fee" else event.slippage) / trace.record[
                        0, RecordColumn.EQUITY
                    ]
        return np.cumsum(spent)

    @cached_property
    def _equity(self) -> NDArray[np.float64]:
        return np.concatenate([trace.record[:, RecordColumn.EQUITY] for trace in self.traces])


def _over_equity(values: NDArray[np.float64], equity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values over equity, and 0 where there is none left."""
    alive = equity > 0.0
    # Divided by 1 where it does not count: a division by 0 would warn.
    return np.asarray(np.where(alive, values / np.where(alive, equity, 1.0), 0.0), dtype=np.float64)
