"""Observations of sequential tasks as a few lines of text, for models that read and pay by the word."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.task.episodes import EpisodeStep

FIRST_BARS = 20
"""How many closes are told at the start of an episode; later the newest bar alone."""
SPANS = (1, 5, 20)
"""Numbers of bars over which past returns are told."""
CLOSE = 3
"""Column of the close in a bar: open, high, low, close, volume."""
EVENTS = 12
"""Most fills, most refusals and most orders that are told."""


class StepEvents:
    """The events of all steps since the last observation that was shown: fills, rejections and changes of orders."""

    NAMES = ("fills", "rejections", "changes")

    def __init__(self) -> None:
        self.lists: dict[str, list[object]] = {name: [] for name in self.NAMES}

    def add(self, observation: Mapping[str, object]) -> None:
        """Keep the events of one step."""
        for name, events in self.lists.items():
            latest = observation.get(name)
            events.extend(latest if isinstance(latest, list) else [])


def first_text(at: EpisodeStep, symbols: Sequence[str]) -> str:
    """The start of an episode as text: its last closes, then what :func:`next_text` tells of a step."""
    bars = _bars(at)
    if not bars:
        return next_text(at, symbols)
    # Bars are nested as time, symbol, figure.
    closes = [[_number(symbol[CLOSE]) for symbol in row] for row in bars[-FIRST_BARS:]]
    rows = [
        ["bar", *symbols],
        *([f"{position - len(closes) + 1:+d}".replace("+0", "now"), *row] for position, row in enumerate(closes)),
    ]
    return f"Closes of the last {len(closes)} bars:\n{_table(rows)}\n\n{next_text(at, symbols)}"


def next_text(at: EpisodeStep, symbols: Sequence[str], *, reward: float = 0.0, passed: StepEvents | None = None) -> str:
    """A step's observation as text that fits on one screen.

    Args:
        at: the step that was reached.
        symbols: names of the symbols, in the order of the observation's columns.
        reward: sum of the rewards of all steps since the last one that was told.
        passed: the events of those steps; None where the step's own are all.
    """
    seen = {**at.observation, **(passed.lists if passed else {})}
    left = seen.pop("steps_left", at.info.get("steps_left"))
    # What is always told: the step, the account and the market.
    lines = [
        f"Step {at.step}"
        + ("" if left is None else f", {left} left")
        + (f"; reward since the last {reward:+.5f}" if at.step else "")
    ]
    if "equity" in seen:
        lines.append(
            ", ".join(f"{name.replace('_', ' ')} {_number(seen.get(name))}" for name in ("equity", "cash", "free_cash"))
        )
    bars = _bars(at)
    if bars:
        lines.append(_market(bars, symbols, seen))
    # What happened, where anything did.
    for name in (*StepEvents.NAMES, "open_orders"):
        items = seen.get(name)
        if isinstance(items, list) and items:
            lines.append(f"{name.replace('_', ' ')}:")
            lines += [f"  {_event(item)}" for item in items[:EVENTS]]
            lines += [f"  and {len(items) - EVENTS} more"] if len(items) > EVENTS else []
    for name, usual in (("splits", 1.0), ("dividends", 0.0)):
        values = seen.get(name)
        if isinstance(values, list) and any(value != usual for value in values):
            lines.append(
                f"{name}: "
                + ", ".join(f"{symbol} {_number(value)}" for symbol, value in zip(symbols, values, strict=False))
            )
    # A kind of somebody else's may observe what is not known here: it goes as JSON, cut off before it fills the screen.
    known = {
        "bars",
        "equity",
        "cash",
        "free_cash",
        "positions",
        "fills",
        "rejections",
        "changes",
        "open_orders",
        "splits",
        "dividends",
    }
    other = {name: value for name, value in seen.items() if name not in known and value}
    return "\n".join(lines + ([json.dumps(other)[:4000]] if other else []))


def _market(bars: list[list[list[float]]], symbols: Sequence[str], seen: Mapping[str, object]) -> str:
    """A table with a row for each symbol: the newest bar, past returns and volatility, and what is held of it."""
    spans = [span for span in SPANS if span < len(bars)]
    held, equity = seen.get("positions"), seen.get("equity")
    account = isinstance(held, list) and isinstance(equity, int | float)
    head = ["symbol", "open", "high", "low", "close", "volume", *(f"return {span}" for span in spans), "volatility"]
    rows = [[*head, *(["held", "weight"] if account else [])]]
    for column, symbol in enumerate(symbols):
        newest, closes = bars[-1][column], [row[column][CLOSE] for row in bars]
        returns = [f"{100 * (closes[-1] / closes[-1 - span] - 1):+.2f}%" for span in spans]
        row = [symbol, *(_number(value) for value in newest), *returns, _volatility(closes)]
        if account and isinstance(held, list) and isinstance(equity, int | float):
            # The weight of a position is its value as a share of the equity; without equity there is none.
            row += [_number(held[column]), f"{held[column] * closes[-1] / equity:+.3f}" if equity else "-"]
        rows.append(row)
    return _table(rows)


def _volatility(closes: Sequence[float]) -> str:
    """Sample standard deviation of the log returns from bar to bar, in per cent; ``-`` of fewer than two returns."""
    steps = [math.log(later / earlier) for earlier, later in pairwise(closes) if earlier > 0 and later > 0]
    if len(steps) < 2:
        return "-"
    mean = sum(steps) / len(steps)
    return f"{100 * math.sqrt(sum((step - mean) ** 2 for step in steps) / (len(steps) - 1)):.2f}%"


def _bars(at: EpisodeStep) -> list[list[list[float]]]:
    """The bars of an observation, nested as time, symbol, figure; none where it has no bars."""
    bars = at.observation.get("bars")
    return bars if isinstance(bars, list) else []


def _event(item: object) -> str:
    """An event in one line, without the fields that say nothing."""
    if not isinstance(item, Mapping):
        return str(item)
    return ", ".join(
        f"{name} {_number(value)}"
        for name, value in item.items()
        if value is not None and value is not False and value != ""
    )


def _number(value: object) -> str:
    """A number in seven digits at most, without an exponent where it can do without."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.6g}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
