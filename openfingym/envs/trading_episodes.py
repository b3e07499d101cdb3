"""Options, starts of episodes and spaces that single and vectorised trading environments have in common."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, TypeVar, cast, get_args

import numba
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from openfingym.data.bars import Bars
from openfingym.envs.arguments import FLOAT64, options_of, real_numbers
from openfingym.envs.indicators import Indicator, table, warm
from openfingym.errors import UsageError
from openfingym.trading.compiled.core_table import SIZE, TARGETS, CoreTable
from openfingym.trading.compiled.layout import REQUEST, Floats, market_numbers, tape
from openfingym.trading.compiled.observing import Layout, bounds, layout
from openfingym.trading.market import MarketRules
from openfingym.trading.projection import project

Kernel = TypeVar("Kernel", bound=Callable[..., object])
ActionName = Literal["projected", "weights", "orders"]
ActionType = Literal["float64", "float32"]
RewardName = Literal["log-return", "differential-sharpe", "pnl"]
Start = Literal["random", "first"] | int


def bound(kernel: Kernel, *arguments: object) -> Kernel:
    """The machine code of a kernel for arguments of these types.

    Unlike the kernel, it does not look at types at every call, which is quicker; and it takes a read-only array, for
    which the kernel would be compiled once more.
    """
    function, type_of = cast("Any", kernel), cast("Any", numba.typeof)
    signature = tuple(type_of(argument) for argument in arguments)
    function.compile(signature)
    return cast("Kernel", function.get_overload(signature))


@dataclass(frozen=True, eq=False)
class Episodes:
    """The checked options of a trading environment; see :class:`openfingym.envs.trading.TradingEnv`."""

    bars: Bars
    market: MarketRules
    initial_cash: float
    lookback: int
    steps: int | None
    action: ActionName
    reward: RewardName
    start: Start
    decay: float
    action_dtype: ActionType = "float64"
    indicators: tuple[Indicator, ...] = ()

    def __post_init__(self) -> None:
        rows = len(self.bars)
        if not (np.isfinite(self.initial_cash) and self.initial_cash > 0.0):
            raise UsageError(f"initial_cash is {self.initial_cash}; expected an amount above 0")
        if not 1 <= self.lookback < rows:
            raise UsageError(
                f"lookback is {self.lookback}; expected 1 to {rows - 1}, as there are {rows} bars and one must be left "
                "to trade"
            )
        if self.steps is not None and not 1 <= self.steps <= rows - self.lookback:
            raise UsageError(
                f"steps is {self.steps}; expected 1 to {rows - self.lookback}: {rows} bars less a lookback of "
                f"{self.lookback}"
            )
        if not 0.0 < self.decay < 1.0:
            raise UsageError(f"decay is {self.decay}; expected a share above 0 and below 1")
        for name, known in (("action", ActionName), ("reward", RewardName), ("action_dtype", ActionType)):
            if getattr(self, name) not in get_args(known):
                raise UsageError(f"{name} is {getattr(self, name)!r}; known: {', '.join(map(repr, get_args(known)))}")
        # Draws one start, only to refuse an impossible one here and not at the first reset.
        self.starts(1, np.random.default_rng(0), self.start)

    def __reduce__(self) -> tuple[type[Episodes], tuple[object, ...]]:
        # Fields alone: cached arrays are made again, with the flags on which the compiled core depends.
        return Episodes, tuple(getattr(self, item.name) for item in fields(self))

    @cached_property
    def layout(self) -> dict[str, Layout]:
        """The parts of a flat observation by name: those of the compiled core, then the indicators."""
        symbols, count = len(self.bars.symbols), len(self.indicators)
        parts = layout(self.lookback, symbols)
        if count:
            first = parts["steps_left"].place.stop
            last = first + symbols * count
            parts["indicators"] = Layout(slice(first, last), (symbols, count))
            parts["warm"] = Layout(slice(last, last + count), (count,))
        return parts

    @cached_property
    def size(self) -> int:
        """Number of entries of a flat observation."""
        return int(max(part.place.stop for part in self.layout.values()))

    @cached_property
    def numbers(self) -> Floats:
        """Market and episode as the compiled core reads them, float64[19]."""
        return self._numbers(forgiving=True)

    @cached_property
    def strict_numbers(self) -> Floats:
        """The same numbers for orders that are refused if they have a price that their type does not use."""
        return self._numbers(forgiving=False)

    @cached_property
    def tape(self) -> Floats:
        """The bars as the compiled core reads them, float64[T, S, 8]."""
        return tape(self.bars)

    @cached_property
    def features(self) -> NDArray[np.float32]:
        """Features of all rows in one dimension, float32[T * S * 5]."""
        return self.bars.features().reshape(-1)

    def shown(self, table: CoreTable) -> CoreTable:
        """Put into the core's table what is the same in all steps: bars, features, numbers and sizes.

        The number of requests is put there by who makes them.
        """
        table.lay(bars=self.tape, features=self.features, numbers=self.numbers)
        table.entries[[SIZE, TARGETS]] = self.size, self.weighted
        return table

    @cached_property
    def _named(self) -> tuple[Floats, Floats]:
        """Indicators of all rows, float64[T, S, F], and which of them are warm, float64[T, F]."""
        return table(self.bars, self.indicators), warm(len(self.bars), self.indicators)

    @cached_property
    def _tail(self) -> NDArray[np.float32]:
        """Indicators, and which are warm, as the end of each row's flat observation, float32[T, S * F + F]."""
        rows = len(self.bars)
        parts = table(self.bars, self.indicators).reshape(rows, -1), warm(rows, self.indicators)
        return np.hstack([part.astype(np.float32) for part in parts])

    def indicate(self, out: NDArray[np.float32], rows: object) -> None:
        """Write the indicators of rows, one or N, to the end of their flat observations."""
        out[..., -self._tail.shape[1] :] = self._tail[np.asarray(rows, np.int64)]

    def named_indicators(self, row: int) -> dict[str, NDArray[np.generic]]:
        """The indicators of a row by name, as observations of the form ``dict`` have them; none if none were chosen."""
        if not self.indicators:
            return {}
        values, known = self._named
        return {"indicators": values[row].copy(), "warm": known[row].copy()}

    @property
    def open_orders(self) -> int:
        """Number of orders that an account can have open; target weights leave none, and get room for one."""
        return self.market.max_open_orders if self.action == "orders" else 1

    def _numbers(self, *, forgiving: bool) -> Floats:
        reward = get_args(RewardName).index(self.reward)
        return np.append(
            market_numbers(self.market, forgiving=forgiving), (self.initial_cash, self.lookback, reward, self.decay)
        )

    @property
    def weighted(self) -> bool:
        """Whether an action is target weights, and not orders."""
        return self.action != "orders"

    @cached_property
    def _symbols(self) -> tuple[int]:
        """Shape of the target weights of one account."""
        return (len(self.bars.symbols),)

    @cached_property
    def _projected(self) -> bool:
        """Whether weights that are not admissible become the nearest that are."""
        return self.action == "projected"

    def weights(self, action: object, *leading: int) -> Floats:
        """The target weights of an action, projected where the environment was made so.

        Args:
            action: target weights as the agent gives them: an array, or anything that NumPy makes one of.
            leading: number of environments of a vector; none for a single environment.

        Returns:
            float64[S], or float64[N, S], C-contiguous.

        Raises:
            UsageError: the action is no array of real numbers, or has another shape.
        """
        shape = (*leading, *self._symbols) if leading else self._symbols
        try:
            # The usual case without a call: a step is so short that it would be felt.
            usual = type(action) is np.ndarray and action.dtype is FLOAT64
            asked = np.asarray(action, FLOAT64, "C") if usual else real_numbers(action)
        except ValueError as error:
            raise UsageError(
                f"an action is target weights of shape {shape}, real numbers; found {reprlib.repr(action)}: {error}"
            ) from error
        # Refused here and not by the market: a wrong shape is an error in a program, a weight of 2 a decision.
        if asked.shape != shape:
            raise UsageError(f"an action is target weights of shape {shape}; found shape {asked.shape}")
        return project(asked, self.market.max_short) if self._projected else asked

    def warn_of_refused_weights(self) -> None:
        """Warn the user that the market refused target weights."""
        warnings.warn(
            "target weights were refused (BAD_WEIGHTS), and positions stay as they are: weights must be finite, the "
            f"long ones add up to at most 1 and the short ones to at most max_short, {self.market.max_short:g}. "
            "action='projected' trades the nearest admissible weights instead. info['refusals'] counts refusals; this "
            "is said once for each environment",
            stacklevel=3,
        )

    def start_of(self, options: dict[str, object] | None) -> object:
        """Where the next episode starts, from the options of ``reset``.

        Raises:
            UsageError: there is an unknown option, or the options are no dict.
        """
        given = options_of(options)
        start = given.pop("start", self.start)
        if given:
            raise UsageError(f"unknown reset options: {', '.join(map(str, given))}; known: start")
        return start

    def starts(self, count: int, random: np.random.Generator, start: object) -> NDArray[np.int64]:
        """Rows at whose close episodes start, int64[count].

        Args:
            count: number of episodes.
            random: the generator from which random starts are drawn.
            start: ``random``, ``first`` or a row.

        Raises:
            UsageError: ``start`` is none of these, or a row that leaves no room for look-back and steps.
        """
        # The first observation shows ``lookback`` rows, and after the last start the bars hold ``steps`` rows, or one.
        first, last = self.lookback - 1, len(self.bars) - 1 - (self.steps or 1)
        # Compared as texts alone: NumPy would compare each entry of an array.
        named = start if isinstance(start, str) else None
        if named == "random":
            return random.integers(first, last, count, endpoint=True)
        if named == "first":
            return np.full(count, first)
        if isinstance(start, bool) or not isinstance(start, int | np.integer):
            raise UsageError(f"start is {start!r}; expected 'random', 'first' or a row")
        if not first <= start <= last:
            raise UsageError(
                f"start is row {start}; expected {first} to {last}, so that lookback and steps fit into the bars"
            )
        return np.full(count, int(start))

    def ends(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The last rows of episodes that start in these rows, int64[N]."""
        final = len(self.bars) - 1
        return np.full(len(starts), final) if self.steps is None else np.minimum(starts + self.steps, final)

    def weights_space(self, *leading: int) -> spaces.Box:
        """The space of target weights, (S,) behind the leading axes."""
        low = 0.0 if self.market.max_short == 0.0 else -1.0
        return spaces.Box(low, 1.0, (*leading, len(self.bars.symbols)), np.dtype(self.action_dtype).type)

    def observation_space(self, requests: int, *leading: int) -> spaces.Box:
        """The space of flat observations.

        Args:
            requests: the most requests that an agent makes in a step.
            leading: number of environments of a vector; none for a single environment.
        """
        low, high = bounds(self.layout, requests + 2 * self.open_orders + 1)
        if self.indicators:
            ends = np.array([item.bounds for item in self.indicators] * len(self.bars.symbols), np.float32)
            count = len(self.indicators)
            low = np.concatenate([low, ends[:, 0], np.zeros(count, np.float32)])
            high = np.concatenate([high, ends[:, 1], np.ones(count, np.float32)])
        shape = (*leading, self.size)
        return spaces.Box(np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy(), shape, np.float32)

    def table_space(self, *leading: int) -> spaces.Box:
        """The space of tables of requests; see :mod:`openfingym.trading.compiled.requests`."""
        low = np.array([0, -1, 0, 0, 0, 0, 0, 0], np.float64)
        high = np.array([len(self.bars.symbols) - 1, 1, np.inf, 5, np.inf, np.inf, 1, np.inf])
        shape = (*leading, REQUEST)
        return spaces.Box(np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy(), shape, np.float64)
