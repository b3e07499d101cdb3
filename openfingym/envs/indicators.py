"""Technical indicators that trading environments show: computed from past bars, scaled, and finite from the first row.

docs/environments.md has the table of names, formulas, ranges and warm-ups.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from openfingym.data.bars import Bars
from openfingym.data.indicators import ema, macd, rsi, wilder
from openfingym.errors import UsageError
from openfingym.trading.compiled.layout import Floats
from openfingym.trading.compiled.observing import FEATURE_BOUND

_FLAT = 1e-12
"""A standard deviation of no more than this share of the mean is rounding, and counts as 0."""
_MEMORY = 40
"""After so many times its periods, a recursive mean has forgotten where it began, to the precision of float64."""


class _Prices(NamedTuple):
    """What indicators are computed from, float64[T, S] each; splits are undone, so that units are those of the first
    row.
    """

    close: Floats
    high: Floats
    low: Floats
    volume: Floats

    @classmethod
    def of(cls, bars: Bars) -> _Prices:
        shares = np.cumprod(bars.split, axis=0)
        # Through a halt the price stays exactly what it was, where a division by a split would round it.
        traded = bars.tradable.copy()
        traded[0] = True
        last = np.maximum.accumulate(np.where(traded, np.arange(len(bars))[:, None], 0), axis=0)
        close = np.take_along_axis(bars.close * shares, last, axis=0)
        high, low = (np.where(traded, prices * shares, close) for prices in (bars.high, bars.low))
        return cls(close, high, low, bars.volume / shares)


class _Formula(NamedTuple):
    """How an indicator is computed."""

    values: Callable[..., Floats]
    """Takes the prices of T rows and the periods, and gives the values of the rows from where the indicator is
    defined, float64[T - warm_up + 1, S]."""
    periods: tuple[int, ...]
    """Default periods in bars, for an indicator that is named without any."""
    warm_up: Callable[..., int]
    """Takes the periods, and gives the number of bars that must have been seen."""
    bounds: Callable[..., tuple[float, float]]
    """Takes the periods, and gives the lowest and the highest value, to which the indicator is clipped."""
    least: int = 1
    """The shortest period that is defined."""


class Indicator(NamedTuple):
    """An indicator with its periods, in bars."""

    name: str
    periods: tuple[int, ...]

    @property
    def label(self) -> str:
        """Name of the indicator with all periods, such as ``rsi:14``."""
        return ":".join((self.name, *map(str, self.periods)))

    @property
    def warm_up(self) -> int:
        """Number of bars, the newest included, from which the indicator is defined."""
        return FORMULAS[self.name].warm_up(*self.periods)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that the indicator can have."""
        return FORMULAS[self.name].bounds(*self.periods)


def parse(asked: Sequence[str], rows: int) -> tuple[Indicator, ...]:
    """Read the indicators that a user names.

    Args:
        asked: names of indicators, such as ``["rsi", "macd:8:21:5"]``.
        rows: the most bars that an agent sees.

    Raises:
        UsageError: there is no such indicator, its periods are wrong or too long for the bars, or one is named twice.
    """
    if isinstance(asked, str) or not isinstance(asked, Sequence) or not all(isinstance(text, str) for text in asked):
        raise UsageError(f"indicators is {asked!r}; expected a list of names, such as ['rsi', 'macd']")
    indicators = tuple(_parsed(text) for text in asked)
    twice = sorted({indicator.label for indicator in indicators if indicators.count(indicator) > 1})
    if twice:
        raise UsageError(f"indicators has {', '.join(twice)} more than once; name each once")
    for indicator in indicators:
        if indicator.warm_up >= rows:
            raise UsageError(
                f"indicator {indicator.label!r} is defined from {indicator.warm_up} bars on, and an agent sees {rows} "
                "at most; give it a shorter period"
            )
    return indicators


def _parsed(text: str) -> Indicator:
    name, *named = text.split(":")
    formula = FORMULAS.get(name)
    if formula is None:
        raise UsageError(
            f"{text!r} is no indicator; known: {', '.join(FORMULAS)}, with periods in bars behind a colon, as in "
            "'rsi:21'"
        )
    if not named:
        return Indicator(name, formula.periods)
    example = ":".join((name, *map(str, formula.periods)))
    # At most nine ASCII digits: ``int`` takes other digits, signs and underscores too, and text of any length.
    whole = all(part.isascii() and part.isdigit() and len(part) < 10 for part in named)
    if len(named) != len(formula.periods) or not whole:
        raise UsageError(
            f"indicator {text!r}: expected {len(formula.periods)} period(s), whole numbers of bars, as in {example!r}"
        )
    periods = tuple(map(int, named))
    if min(periods) < formula.least or (name == "macd" and periods[0] >= periods[1]):
        order = " and the first shorter than the second" if name == "macd" else ""
        raise UsageError(
            f"indicator {text!r}: expected periods of {formula.least} or more bars{order}, as in {example!r}"
        )
    return Indicator(name, periods)


def table(bars: Bars, indicators: Sequence[Indicator]) -> Floats:
    """F indicators of each row, float64[T, S, F], which depend on that row and those before; 0 while warming up."""
    out = np.zeros((*bars.close.shape, len(indicators)))
    prices = _Prices.of(bars)
    for place, indicator in enumerate(indicators):
        if len(bars) >= indicator.warm_up:
            values = FORMULAS[indicator.name].values(prices, *indicator.periods)
            np.clip(values, *indicator.bounds, out=out[indicator.warm_up - 1 :, :, place])
    return out


def warm(rows: int, indicators: Sequence[Indicator]) -> Floats:
    """Which indicators are defined in each of the first rows of all bars, float64[T, F]: 1, or 0 while warming up."""
    seen = np.arange(1, rows + 1)[:, None]
    return (seen >= [indicator.warm_up for indicator in indicators]).astype(np.float64)


class SeenBars:
    """Bars that are shown one after the other, as far back as indicators remember them."""

    def __init__(self, symbols: Sequence[str], indicators: Sequence[Indicator]) -> None:
        self._symbols, self._indicators = tuple(symbols), tuple(indicators)
        memory = _MEMORY * max((sum(indicator.periods) for indicator in indicators), default=0)
        self._rows: deque[tuple[Floats, Floats]] = deque(maxlen=memory)

    def clear(self) -> None:
        """Begin an episode."""
        self._rows.clear()

    def show(self, window: Floats, split: Floats) -> tuple[Floats, Floats]:
        """Take the newest bar, or at the beginning of an episode all that are shown, and compute the indicators.

        Args:
            window: the last bars, float64[L, S, 5].
            split: new shares per old share in the newest of them, float64[S].

        Returns:
            The last row of :func:`table`, float64[S, F], and of :func:`warm`, float64[F].
        """
        none = np.ones(len(self._symbols))
        # The verifier does not show splits among the bars before an episode begins; they are taken for none.
        new = window[-1:] if self._rows else window
        self._rows.extend((bar, none) for bar in new[:-1])
        self._rows.append((new[-1], split))
        values, splits = (np.stack(part) for part in zip(*self._rows, strict=True))
        actions = np.stack([splits, np.zeros_like(splits)], axis=2)
        times = np.arange(len(values)).astype("datetime64[ns]")  # hidden rows have no dates
        bars = Bars.restored(times, self._symbols, values, actions)
        return table(bars, self._indicators)[-1], warm(len(bars), self._indicators)[-1]


def _each(function: Callable[..., Floats], values: Floats, *periods: int) -> Floats:
    """A function of one series, for each column."""
    return np.stack([function(column, *periods) for column in np.ascontiguousarray(values.T)], axis=1)


def _moments(values: Floats, period: int) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the last ``period`` rows, float64[T - period + 1, S] each.

    They are sums of their own rows alone: a running sum would carry rounding errors of all rows before.
    """
    rows = len(values) - period + 1
    parts = [values[first : first + rows] for first in range(period)]
    mean = sum(parts[1:], start=parts[0]) / period
    return mean, np.sqrt(sum(((part - mean) ** 2 for part in parts), start=np.zeros_like(mean)) / period)


def _returns(p: _Prices) -> Floats:
    return np.diff(np.log(p.close), axis=0)


def _return(p: _Prices, period: int) -> Floats:
    logs = np.log(p.close)
    change: Floats = logs[period:] - logs[:-period]
    return change


def _over_sma(p: _Prices, period: int) -> Floats:
    return np.log(p.close[period - 1 :] / _moments(p.close, period)[0])


def _over_ema(p: _Prices, period: int) -> Floats:
    return np.log(p.close / _each(ema, p.close, period))[period - 1 :]


def _strength(p: _Prices, period: int) -> Floats:
    return _each(rsi, p.close, period)[period:] / 50.0 - 1.0


def _histogram(p: _Prices, fast: int, slow: int, signal: int) -> Floats:
    line = _each(macd, p.close, fast, slow)[slow - 1 :]
    return ((line - _each(ema, line, signal)) / p.close[slow - 1 :])[signal - 1 :]


def _true_range(p: _Prices, period: int) -> Floats:
    before = p.close[:-1]
    true_range = np.maximum(p.high[1:], before) - np.minimum(p.low[1:], before)
    return (_each(wilder, true_range, period) / p.close[1:])[period - 1 :]


def _z(values: Floats, period: int) -> Floats:
    mean, deviation = _moments(values, period)
    moved = deviation > _FLAT * np.abs(mean)
    return np.where(moved, (values[period - 1 :] - mean) / np.where(moved, deviation, 1.0), 0.0)


def _volatility(p: _Prices, period: int) -> Floats:
    return _moments(_returns(p), period)[1]


def _momentum(p: _Prices, period: int) -> Floats:
    # The sum of returns over the root of the sum of their squares; both follow from mean and deviation of the window.
    mean, deviation = _moments(_returns(p), period)
    size = np.sqrt(mean**2 + deviation**2)
    moved = size > _FLAT
    return np.where(moved, math.sqrt(period) * mean / np.where(moved, size, 1.0), 0.0)


def _within(low: float, high: float) -> Callable[..., tuple[float, float]]:
    return lambda *_: (low, high)


def _root(number: int) -> tuple[float, float]:
    """Bounds of plus and minus the root of a number."""
    return -math.sqrt(number), math.sqrt(number)


_LOGARITHM = _within(-FEATURE_BOUND, FEATURE_BOUND)

FORMULAS: dict[str, _Formula] = {
    "return": _Formula(_return, (1,), lambda k: k + 1, _LOGARITHM),
    "sma": _Formula(_over_sma, (20,), lambda k: k, _LOGARITHM),
    "ema": _Formula(_over_ema, (20,), lambda k: k, _LOGARITHM),
    "rsi": _Formula(_strength, (14,), lambda k: k + 1, _within(-1.0, 1.0)),
    "macd": _Formula(_histogram, (12, 26, 9), lambda _, slow, signal: slow + signal - 1, _within(-1.0, 1.0)),
    "atr": _Formula(_true_range, (14,), lambda k: k + 1, _within(0.0, 1.0)),
    # No value is further from the mean of k values, itself among them, than root (k - 1) standard deviations.
    "bollinger": _Formula(lambda p, k: _z(p.close, k), (20,), lambda k: k, lambda k: _root(k - 1), least=2),
    "volatility": _Formula(_volatility, (20,), lambda k: k + 1, _within(0.0, FEATURE_BOUND), least=2),
    "momentum": _Formula(_momentum, (20,), lambda k: k + 1, _root),
    "volume": _Formula(lambda p, k: _z(p.volume, k), (20,), lambda k: k, lambda k: _root(k - 1), least=2),
}
"""The indicators by name."""
