"""Thousands of trading environments in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numba
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from openfingym.data.bars import Bars
from openfingym.envs.trading_episodes import ActionName, Episodes, RewardName, Start, bound
from openfingym.errors import UsageError
from openfingym.trading.compiled.kernels import KERNELS
from openfingym.trading.compiled.layout import Floats, State
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
    ``final_info``). ``info`` has ``equity`` [N] in cash and ``refusals`` [N], the requests refused so far in each
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
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Make the environments; what is not said here is said at :class:`~openfingym.envs.trading.TradingEnv`.

        Args:
            num_envs: N, the number of accounts.
            bars: the bars that all accounts trade; held in memory once.
            market: costs and limits of trading; free of cost and in whole units if None.
            initial_cash: initial cash of each account.
            lookback: rows that an observation shows.
            steps: most rows of an episode.
            action: form of the action: target weights, ``projected`` onto the admissible ones or, as ``weights``,
                refused where they are not admissible; or a batch of ``orders``.
            reward: reward of a step: ``log-return`` of equity, ``differential-sharpe``, or ``pnl`` in units of
                currency.
            start: where episodes start, the first ones and all later ones.
            decay: weight of the newest return in the moments of the differential Sharpe ratio.
            max_orders: rows of an environment's table of requests.
            autoreset_mode: when an environment starts its next episode.

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
        if autoreset_mode not in {AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP}:
            raise UsageError(f"autoreset_mode is {autoreset_mode}; known: NEXT_STEP and SAME_STEP")
        self._episodes = e = Episodes(bars, market, float(initial_cash), lookback, steps, action, reward, start, decay)
        self.num_envs, self.bars, self.market, self.render_mode = num_envs, bars, market, None
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset_mode}
        self.layout: dict[str, Layout] = e.layout
        weighted, requests = e.weighted, 0 if e.weighted else max_orders
        self.single_action_space = e.weights_space() if weighted else e.table_space(max_orders)
        self.action_space = e.weights_space(num_envs) if weighted else e.table_space(num_envs, max_orders)
        self.single_observation_space = e.observation_space(requests)
        self.observation_space = e.observation_space(requests, num_envs)
        self._shape = self.action_space.shape
        self._same_step = autoreset_mode == AutoresetMode.SAME_STEP
        self._state = State.empty(num_envs, len(bars.symbols), e.open_orders, requests)
        self._over: Flags = np.zeros(num_envs, np.bool_)
        self._final = np.zeros((num_envs, e.size if self._same_step else 0), np.float32)
        self._step: Callable[..., None] | None = None
        self._begun = False
        self._refusals: NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self._warned = False

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observations, Info]:
        """Start an episode in every environment.

        Args:
            seed: seed of random starts, this time and at every later start.
            options: ``start``: where these episodes start: ``random``, ``first``, a row, or N rows.

        Raises:
            UsageError: an unknown option, or no such row.
        """
        super().reset(seed=seed)
        rows = self._starts(self._episodes.start_of(options))
        out = np.empty((self.num_envs, self._episodes.size), np.float32)
        e = self._episodes
        KERNELS.begin(*self._state, e.tape, e.features, e.numbers, np.arange(self.num_envs), rows, e.ends(rows), out)
        self._over[:] = False
        self._draw(np.ones(self.num_envs, np.bool_))
        self._begun = True
        self._refusals[:] = 0
        return out, {"equity": np.full(self.num_envs, e.initial_cash), "refusals": self._refusals.copy()}

    def step(self, actions: Floats) -> tuple[Observations, Floats, Flags, Flags, Info]:
        """Decide in every environment, and let its next bar pass.

        Raises:
            UsageError: called before ``reset``, or the actions have another shape.
        """
        if not self._begun:
            raise UsageError("call reset() first")
        count, e = self.num_envs, self._episodes
        asked = e.weights(actions, count) if e.weighted else np.asarray(actions, np.float64, "C")
        if asked.shape != self._shape:
            raise UsageError(f"actions have the shape {self._shape}; found shape {asked.shape}")
        out, rewards, equity = np.empty((count, e.size), np.float32), np.empty(count), np.empty(count)
        terminated, truncated = np.empty(count, np.bool_), np.empty(count, np.bool_)
        begins = self._over.copy()
        arguments = (
            *self._state,
            e.tape,
            e.features,
            e.numbers,
            asked,
            self._rows,
            self._lasts,
            self._same_step,
            self._over,
            out,
            self._final,
            rewards,
            equity,
            terminated,
            truncated,
            min(numba.get_num_threads(), 1 + count // _WORTH_A_THREAD),
        )
        self._step = self._step or bound(KERNELS.step_many, *arguments)
        self._step(*arguments)
        self._refusals[begins] = 0
        if self._same_step:
            begins = terminated | truncated
        self._count(out, begins if self._same_step else None)
        info: Info = {"equity": equity, "refusals": self._refusals.copy()}
        if self._same_step and begins.any():
            info |= self._ended(begins, info)
        if begins.any():
            self._draw(begins)
        return out, rewards, terminated, truncated, info

    def _count(self, out: Observations, ended: Flags | None) -> None:
        """Count what the market refused in a step, and warn of the first refused weights.

        Args:
            out: observations after the step.
            ended: where they are already those of the next episode; None for nowhere.
        """
        place = self.layout["rejections"].place
        told = out[:, place] if ended is None else np.where(ended[:, None], self._final[:, place], out[:, place])
        refused = told.sum(axis=1).astype(np.int64)
        self._refusals += refused
        if self._episodes.weighted and not self._warned and refused.any():
            self._warned = True
            self._episodes.warn_of_refused_weights()

    def _ended(self, ended: Flags, info: Info) -> Info:
        """What Gymnasium has ``info`` say of episodes that ended within the step; ``info`` becomes that of the new
        ones.
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

    def _starts(self, start: object) -> NDArray[np.int64]:
        if isinstance(start, np.ndarray | Sequence) and not isinstance(start, str):
            if len(start) != self.num_envs:
                raise UsageError(f"start has {len(start)} rows; expected one for each of {self.num_envs} environments")
            return np.concatenate([self._episodes.starts(1, self.np_random, row) for row in start])
        return self._episodes.starts(self.num_envs, self.np_random, start)

    def _draw(self, which: Flags) -> None:
        """Choose where the next episodes of these environments start."""
        if which.all():
            self._rows = self._starts(self._episodes.start)
            self._lasts = self._episodes.ends(self._rows)
        else:
            rows = self._episodes.starts(int(which.sum()), self.np_random, self._episodes.start)
            self._rows[which], self._lasts[which] = rows, self._episodes.ends(rows)
