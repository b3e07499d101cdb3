"""Thousands of trading environments in one process."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import cast

import numba
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from openfingym.data.bars import Bars
from openfingym.envs.arguments import options_of, real_numbers
from openfingym.envs.indicators import parse
from openfingym.envs.trading_episodes import ActionName, ActionType, Episodes, RewardName, Start, bound
from openfingym.envs.trading_starts import NextStarts
from openfingym.errors import UsageError
from openfingym.trading.compiled.compiling import address_of
from openfingym.trading.compiled.core import CORE, OPEN
from openfingym.trading.compiled.core_table import REFUSED, REQUESTS, SAME_STEP, CoreTable
from openfingym.trading.compiled.kernels import step_many
from openfingym.trading.compiled.layout import ROW, Floats, State
from openfingym.trading.compiled.observing import Layout
from openfingym.trading.market import MarketRules

Observations = NDArray[np.float32]
Flags = NDArray[np.bool_]
Info = dict[str, object]

_WORTH_A_THREAD = 128
"""Fewer environments than this for each thread are quicker on fewer threads."""


class TradingVectorEnv(VectorEnv[Observations, Floats, NDArray[np.generic]]):
    """``num_envs`` accounts on the same bars, each in an episode of its own, in one compiled call a step.

    Each does what a :class:`~openfingym.envs.trading.TradingEnv` with flat observations does, to the last bit, whatever
    the number of threads; Numba's ``set_num_threads`` sets it. The bars are held once. Observations are fresh arrays.
    A process that has made a step must not be forked afterwards (OpenMP forbids it); start workers by ``spawn``.

    ## Action space
    ``action="projected"`` or ``"weights"``: ``Box(-1 or 0, 1, (N, S), float64)``, target shares of equity.

    ``action="orders"``: ``Box((N, max_orders, 8), float64)``, a table of requests for each environment with the columns
    of :mod:`openfingym.trading.compiled.requests`: symbol, side, quantity, type, limit price, stop price, time in
    force, order id. A row with NaN as its type is empty. Prices that a type does not use are ignored.

    ## Observation space
    ``Box((N, size), float32)``; ``layout`` tells what is where.

    ## Reward
    As :class:`~openfingym.envs.trading.TradingEnv`.

    ## Episode end
    ``metadata["autoreset_mode"]`` is what was asked for: in the step after an episode's last one (``NEXT_STEP``, the
    action is ignored and the reward 0), or within the last one (``SAME_STEP``; ``info`` then has ``final_obs`` and
    ``final_info``). With ``DISABLED`` the caller does it: ``reset(options={"reset_mask": bool[N]})``; a step while one
    is over is an error. ``info`` has ``equity`` [N] in cash and ``refusals`` [N], the requests refused so far in each
    environment's episode.

    ## Version history
    v0: first version.
    """

    def __init__(
        self,
        num_envs: int,
        bars: Bars,
        market: MarketRules | None = None,
        *,
        initial_cash: float = 100_000.0,
        lookback: int = 16,
        steps: int | None = None,
        action: ActionName = "projected",
        reward: RewardName = "log-return",
        start: Start = "random",
        decay: float = 0.01,
        max_orders: int = 4,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        action_dtype: ActionType = "float64",
        indicators: Sequence[str] = (),
    ) -> None:
        """Make the environments; what is not said here is said at :class:`~openfingym.envs.trading.TradingEnv`.

        Args:
            num_envs: N, the number of accounts.
            bars: the bars that all accounts trade; held in memory once.
            market: costs and limits of trading; free of cost and in whole units if None.
            initial_cash: cash of each account at the start of an episode, in units of currency.
            lookback: number of rows that an observation shows.
            steps: largest number of rows in an episode; None for all rows to the end of the bars.
            action: form of the action: target weights, ``projected`` onto the admissible ones or, as ``weights``,
                refused where they are not admissible; or a batch of ``orders``.
            reward: reward of a step: ``log-return`` of equity, ``differential-sharpe``, or ``pnl`` in units of
                currency.
            start: where episodes start, the first ones and all later ones: ``random``, ``first``, or the row that is
                seen first.
            decay: weight of the newest return in the moments of the differential Sharpe ratio.
            max_orders: number of rows in the table of requests of each environment.
            autoreset_mode: when an environment starts its next episode: Gymnasium's mode, or its value as a string.
            action_dtype: type of target weights in the action space; they are calculated with in float64.
            indicators: technical indicators that observations show too, such as ``["rsi", "macd:8:21:5"]``; see
                docs/environments.md.

        Raises:
            UsageError: an option is unknown or does not fit the bars.
        """
        market = market or MarketRules()
        if num_envs < 1:
            raise UsageError(f"num_envs is {num_envs}; expected 1 or more")
        if not 1 <= max_orders <= market.max_orders_per_batch:
            raise UsageError(
                f"max_orders is {max_orders}; expected 1 to {market.max_orders_per_batch}, the market's "
                "max_orders_per_batch"
            )
        mode = _autoreset(autoreset_mode)
        self._episodes = e = Episodes(
            bars,
            market,
            initial_cash=float(initial_cash),
            lookback=lookback,
            steps=steps,
            action=action,
            reward=reward,
            start=start,
            decay=decay,
            action_dtype=action_dtype,
            indicators=parse(indicators, len(bars)),
        )
        self.num_envs, self.bars, self.market, self.render_mode = num_envs, bars, market, None
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.layout: dict[str, Layout] = e.layout
        self.indicators = tuple(indicator.label for indicator in e.indicators)
        weighted, requests = e.weighted, 0 if e.weighted else max_orders
        self.single_action_space = e.weights_space() if weighted else e.table_space(max_orders)
        self.action_space = e.weights_space(num_envs) if weighted else e.table_space(num_envs, max_orders)
        # As of single environments, whose accounts take more requests: a policy of one is a policy of the other.
        self.single_observation_space = e.observation_space(market.max_orders_per_batch)
        self.observation_space = e.observation_space(market.max_orders_per_batch, num_envs)
        self._shape = self.action_space.shape
        self._same_step, self._disabled = mode == AutoresetMode.SAME_STEP, mode == AutoresetMode.DISABLED
        self._next = NextStarts(e, num_envs)
        # Kept with DISABLED alone: a reset of some environments shows the others again as they are.
        self._seen = np.zeros((num_envs, e.size if self._disabled else 0), np.float32)
        self._state = State.empty(num_envs, len(bars.symbols), e.open_orders, requests)
        self._over: Flags = np.zeros(num_envs, np.bool_)
        self._final = np.zeros((num_envs, e.size if self._same_step else 0), np.float32)
        self._step: Callable[..., None] | None = None
        self._begun = False
        self._refusals: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self._warned = False
        self._lay_out()

    @property  # type: ignore[misc]  # nobody sets it
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]  # as Gymnasium's SyncVectorEnv
        """The generators from which each environment draws its starts."""
        return tuple(self._next.generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as Gymnasium's SyncVectorEnv
        """The seeds of those generators."""
        return tuple(self._next.seeds)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, object] | None = None
    ) -> tuple[Observations, Info]:
        """Start an episode in every environment.

        Args:
            seed: seeds of random starts, this time and at every later start: ``seed + i`` for environment i, or a list
                of N; None goes on with the present generators. Each environment draws what a single one would.
            options: ``start``: where these episodes start: ``random``, ``first``, a row, or N rows. ``reset_mask``:
                bool[N], the environments that start, with ``autoreset_mode`` ``DISABLED``.

        Raises:
            UsageError: an unknown option, no such row, or not one seed for each environment.
        """
        e, asked = self._episodes, options_of(options)
        which = self._masked(asked.pop("reset_mask", None))
        start = e.start_of(asked)
        self._next.seed(seed, which)
        # The next starts are drawn beforehand, for resets within a step; starts that the caller chooses leave them be.
        own = "start" not in asked
        rows = self._next.rows if own else self._next.rows_of(start)
        out = np.empty((self.num_envs, e.size), np.float32)
        if not which.all():
            out[:] = self._seen
        count = self.num_envs
        self._core_table.lay(
            rows=rows,
            lasts=e.ends(rows),
            over=which.copy(),
            out=out,
            rewards=np.empty(count),
            equity=np.empty(count),
            terminated=np.empty(count, np.bool_),
            truncated=np.empty(count, np.bool_),
        )
        CORE(self._core_table.address, OPEN, 0, self.num_envs)
        # Back to the arrays that steps read and write.
        self._core_table.lay(rows=self._next.rows, lasts=self._next.lasts, over=self._over)
        self._over[which], self._begun = False, True
        if self.indicators:
            e.indicate(out, self._state.cells[:, ROW])
        if own:
            self._next.draw(which)
        if self._disabled:
            self._seen[:] = out
        info: Info = {"equity": np.where(which, e.initial_cash, 0.0), "refusals": np.zeros(self.num_envs, np.int64)}
        return out, info if which.all() else info | {"_equity": which, "_refusals": which.copy()}

    def step(self, actions: Floats) -> tuple[Observations, Floats, Flags, Flags, Info]:
        """Decide in every environment, and let its next bar pass.

        Raises:
            UsageError: called before ``reset`` or after ``close``, or the actions have another shape; or, with
                ``DISABLED``, an episode is over.
        """
        if not self._begun:
            raise UsageError("no episode was begun, or the environment is closed; call reset() first")
        if self._disabled and self._over.any():
            raise UsageError(
                f"the episodes of environments {np.flatnonzero(self._over).tolist()} are over; with autoreset_mode "
                "DISABLED, start their next ones with reset(options={'reset_mask': terminated | truncated})"
            )
        count, e = self.num_envs, self._episodes
        try:
            asked = e.weights(actions, count) if e.weighted else real_numbers(actions)
        except ValueError as error:
            raise UsageError(
                f"actions are real numbers of shape {self._shape}; found {reprlib.repr(actions)}: {error}"
            ) from error
        if asked.shape != self._shape:
            raise UsageError(f"actions have the shape {self._shape}; found shape {asked.shape}")
        # New arrays in every step, since callers keep them.
        out, rewards, equity = np.empty((count, e.size), np.float32), np.empty(count), np.empty(count)
        terminated, truncated = np.empty(count, np.bool_), np.empty(count, np.bool_)
        # With NEXT_STEP, environments whose episodes are over begin their next ones in this step.
        begins = self._over.copy()
        blocks = min(numba.get_num_threads(), 1 + count // _WORTH_A_THREAD)
        # Machine code for these types of arrays, looked up once.
        if self._step is None:
            self._core = address_of(CORE)
            self._step = bound(
                step_many,
                self._core,
                self._core_table.entries,
                asked,
                out,
                rewards,
                equity,
                terminated,
                truncated,
                blocks,
            )
        before = self._state.cells[:, ROW].copy() if self.indicators else None
        self._step(self._core, self._core_table.entries, asked, out, rewards, equity, terminated, truncated, blocks)
        if before is not None:
            e.indicate(out, self._state.cells[:, ROW])
            if self._same_step:
                # The last row of an episode that ended: its account is in the first row of the next one by now.
                e.indicate(self._final, before + 1)
        if self._core_table.entries[REFUSED] and e.weighted and not self._warned:
            self._warned = True
            e.warn_of_refused_weights()
        if self._same_step:
            begins = terminated | truncated
        info: Info = {"equity": equity, "refusals": self._refusals.copy()}
        if begins.any():
            if self._same_step:
                info |= self._ended(begins, info)
            self._next.draw(begins)
        if self._disabled:
            self._seen[:] = out
        return out, rewards, terminated, truncated, info

    def close_extras(self, **_: object) -> None:
        """End the episodes."""
        self._begun = False

    def __getstate__(self) -> dict[str, object]:
        # Machine code and addresses belong to this process; they are made again.
        return {**self.__dict__, "_step": None, "_core": 0, "_core_table": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lay_out()

    def _lay_out(self) -> None:
        """Lay the accounts out for the compiled core."""
        arrays = {"rows": self._next.rows, "lasts": self._next.lasts, "over": self._over, "final": self._final}
        self._core_table = self._episodes.shown(CoreTable(self._state, refusals=self._refusals, **arrays))
        requests = 0 if self._episodes.weighted else self._shape[1]
        self._core_table.entries[[REQUESTS, SAME_STEP]] = requests, self._same_step
        self._step, self._core = None, 0

    def _masked(self, mask: object) -> Flags:
        """The environments that a reset is for, bool[N].

        Raises:
            UsageError: the mask has another form, or is given where environments reset themselves.
        """
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if not self._disabled:
            raise UsageError(
                "reset_mask is for autoreset_mode DISABLED; in the others, environments start by themselves"
            )
        if (
            not isinstance(mask, np.ndarray)
            or mask.dtype != np.bool_
            or mask.shape != (self.num_envs,)
            or not mask.any()
        ):
            raise UsageError(
                f"reset_mask is {mask!r}; expected a bool array of shape ({self.num_envs},), True somewhere"
            )
        if not self._begun and not mask.all():
            raise UsageError("no episode was begun; the first reset is for all environments, without reset_mask")
        return mask.copy()

    def _ended(self, ended: Flags, info: Info) -> Info:
        """The entries of ``info`` that Gymnasium wants for episodes that ended within the step.

        Changes ``info`` itself into that of the episodes which have begun.
        """
        final = np.full(self.num_envs, None, object)
        for place in np.flatnonzero(ended):
            final[place] = self._final[place].copy()
        equity, refusals = cast("Floats", info["equity"]), cast("NDArray[np.int64]", info["refusals"])
        last = {
            "equity": np.where(ended, equity, 0.0),
            "_equity": ended,
            "refusals": np.where(ended, refusals, 0),
            "_refusals": ended,
        }
        equity[ended] = self._episodes.initial_cash
        refusals[ended] = self._refusals[ended] = 0
        return {"final_obs": final, "_final_obs": ended, "final_info": last, "_final_info": ended}


def _autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    """Gymnasium's mode of starting the next episode, from the mode or its value.

    Raises:
        UsageError: there is no such mode.
    """
    for known in AutoresetMode:
        if mode in {known, known.value}:
            return known
    names = ", ".join(f"AutoresetMode.{known.name}" for known in AutoresetMode)
    raise UsageError(f"autoreset_mode is {mode!r}; known: {names}")
