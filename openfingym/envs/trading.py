"""The trading environment: one account on bars that are here, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from openfingym.data.bars import Bars
from openfingym.envs.indicators import parse
from openfingym.envs.trading_account import AccountEnv, Action
from openfingym.envs.trading_episodes import ActionName, ActionType, Episodes, RewardName, Start, bound
from openfingym.envs.trading_forms import EventList, account_space, describe, order_space, read
from openfingym.envs.trading_screen import RenderMode
from openfingym.errors import UsageError
from openfingym.trading.actions import Decision, carry_out
from openfingym.trading.compiled.compiling import address_of
from openfingym.trading.compiled.core import CORE, OPEN, SETTLE, STEP
from openfingym.trading.compiled.core_table import CoreTable
from openfingym.trading.compiled.kernels import Stepped, step
from openfingym.trading.compiled.layout import EQUITY, MARK, POSITION, REQUEST, ROW, Floats, State, events_of_a_step
from openfingym.trading.compiled.mirror import mirror
from openfingym.trading.compiled.observing import Layout
from openfingym.trading.compiled.requests import ask, table
from openfingym.trading.market import MarketRules
from openfingym.trading.session import walk
from openfingym.trading.simulator import Simulator

Observation = NDArray[np.float32] | dict[str, NDArray[np.generic]]
Info = dict[str, object]
_FLOAT32: np.dtype[np.float32] = np.dtype(np.float32)  # NumPy would make it from the type at every step


class TradingEnv(AccountEnv[Observation]):
    """A trading account on bars of one or more instruments.

    At row t the agent has seen the bars up to t and its close. What it decides is live from bar t + 1 on: orders trade
    inside that bar, target weights at its open. The account is then valued at the close of t + 1, and the observation
    shows bars up to there. Nothing fills at a price that was seen. docs/trading.md has the rules.

    ## Action space
    ``action="projected"``: ``Box(-1 or 0, 1, (S,), float64)``, target shares of equity, negative for short. The long
    ones may add up to 1 and the short ones to ``market.max_short``; of others, the nearest that do are traded (see
    :func:`openfingym.trading.projection.project`).

    ``action="weights"``: the same, but weights that are not admissible are refused, and positions stay.

    ``action="orders"``: ``Dict`` of ``orders`` and ``cancels``. ``orders`` is a ``Sequence`` of ``Dict`` with
    ``symbol`` (its position), ``side`` (0 buy, 1 sell), ``quantity`` (units), ``type`` (0 market, 1 limit, 2 stop, 3
    stop-limit), ``limit_price`` and ``stop_price`` (cash a unit; ignored where the type does not use it) and
    ``time_in_force`` (0 good till cancelled, 1 immediate or cancel); ``cancels`` is a ``Sequence`` of order ids.
    Instead of it, a step also takes a sequence of :class:`~openfingym.trading.orders.Order`, a
    :class:`~openfingym.trading.actions.Decision`, or a table float64[K, 8] as in
    :mod:`openfingym.trading.compiled.requests`, which is the fastest. What the market refuses never raises: it is in
    the next observation.

    ## Observation space
    ``observation="flat"``: ``Box`` float32. The attribute ``layout`` maps names to place and shape: ``features``
    [lookback, S, 5] (see :meth:`~openfingym.data.bars.Bars.features`, without unit), ``weights`` [S] of positions and
    ``cash`` as shares of equity, ``open_buys`` and ``open_sells`` [S] (value of open orders as shares of equity),
    ``rejections`` [S + 1] of the last step by symbol, the last for those of none, and ``steps_left`` (share of the
    episode). Shares are clipped to a million. With ``indicators``, ``indicators`` [S, F] and ``warm`` [F] (1 where
    enough bars have been seen) are behind them, and in the ``dict`` under these names.

    ``observation="dict"``: ``bars`` [lookback, S, 5] (open, high, low, close in cash, volume in units),
    ``account`` [5] (cash, equity, free cash, value of longs and of shorts, in cash), ``positions`` [S] (units),
    ``orders`` [max_open_orders, 9] (id, symbol, side, type, time in force, remaining units, limit price, stop price,
    triggered; zeros where there is none), ``rejections`` [S + 1, reasons] (counts of the last step by symbol and
    :class:`~openfingym.trading.orders.Reason`) and ``steps_left`` [1].

    ## Reward
    ``log-return``: ln(equity / equity a bar before), at least ln(1e-6). ``pnl``: change of equity in cash, all costs
    deducted. ``differential-sharpe``: D = (B dA - A dB / 2) / (B - A^2)^(3/2) with dA = R - A, dB = R^2 - B and R the
    simple return (Moody and Saffell 2001, equation 8); A and B then move by ``decay`` of dA and dB. It is 0 while
    B - A^2 is 0.

    ## Episode end
    Terminated when equity reaches 0; truncated after ``steps`` bars or with the last bar. ``info`` has ``equity``
    (cash), ``row``, ``prices`` [S] (closes), ``refusals`` (how many requests of this episode the market has refused so
    far; a warning tells of the first refused weights) and, if there were any, ``events``
    (:class:`~openfingym.envs.trading_forms.EventList`).

    ## Version history
    v0: first version.
    """

    def __init__(
        self,
        bars: Bars,
        market: MarketRules | None = None,
        *,
        initial_cash: float = 100_000.0,
        lookback: int = 16,
        steps: int | None = None,
        action: ActionName = "projected",
        observation: Literal["flat", "dict"] = "flat",
        reward: RewardName = "log-return",
        start: Start = "random",
        decay: float = 0.01,
        engine: Literal["compiled", "python"] = "compiled",
        action_dtype: ActionType = "float64",
        render_mode: RenderMode | None = None,
        indicators: Sequence[str] = (),
    ) -> None:
        """Make an environment.

        Args:
            bars: T rows of S instruments; shared, never copied.
            market: costs and limits; free of cost and in whole units if None.
            initial_cash: cash of the account at the start of an episode, in units of currency.
            lookback: number of rows that an observation shows.
            steps: largest number of rows in an episode; None for all rows to the end of the bars.
            action: form of the action: target weights, ``projected`` onto the admissible ones or, as ``weights``,
                refused where they are not admissible; or a batch of ``orders``.
            observation: form of the observation: one ``flat`` array, or a ``dict`` of arrays.
            reward: reward of a step: ``log-return`` of equity, ``differential-sharpe``, or ``pnl`` in units of
                currency.
            start: where episodes start: ``random``, ``first``, or the row seen first. ``reset`` takes it as an option
                too.
            decay: weight of the newest return in the moments of the differential Sharpe ratio.
            engine: ``compiled``, or the readable simulator, which does the same to the last bit, slower, and takes
                orders with client ids.
            action_dtype: type of target weights in the action space; they are calculated with in float64.
            render_mode: what :meth:`render` gives: ``ansi``, a line of text, or ``rgb_array``, a picture (which needs
                Pillow: the extra ``render``).
            indicators: technical indicators that observations show too, such as ``["rsi", "macd:8:21:5"]``; see
                docs/environments.md.

        Raises:
            UsageError: an option is unknown or does not fit the bars.
        """
        for name, value, known in (
            ("observation", observation, ("flat", "dict")),
            ("engine", engine, ("compiled", "python")),
        ):
            if value not in known:
                raise UsageError(f"{name} is {value!r}; known: {known[0]!r}, {known[1]!r}")
        episodes = Episodes(
            bars,
            market or MarketRules(),
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
        super().__init__(episodes, render_mode)
        self.bars, self.market = bars, episodes.market
        self.layout: dict[str, Layout] = episodes.layout
        self.indicators = tuple(indicator.label for indicator in episodes.indicators)
        # What every step reads is looked up here once: a step is so short that attributes of attributes would be felt.
        self._flat, self._size = observation == "flat", episodes.size
        self._whole = self._flat and not self.indicators
        self._weighted, self._symbols = episodes.weighted, len(bars.symbols)
        self._closes, self._most = bars.close, self.market.max_orders_per_batch
        self._state = State.empty(1, self._symbols, episodes.open_orders, self._most)
        self._readable, self._strict = engine == "python", False
        self._simulator: Simulator | None = None
        self._over = True
        self._lay_out()
        self.action_space, self.observation_space = self._spaces()

    def _spaces(self) -> tuple[spaces.Space[Action], spaces.Space[Observation]]:
        """The spaces of actions and of observations."""
        episodes = self._episodes
        acted = episodes.weights_space() if self._weighted else order_space(self._symbols)
        observed = (
            episodes.observation_space(self._most)
            if self._flat
            else account_space(episodes.lookback, self._symbols, episodes.open_orders, episodes.indicators)
        )
        # Gymnasium's Env is generic in what a space holds, its spaces are not.
        return cast("spaces.Space[Action]", acted), cast("spaces.Space[Observation]", observed)

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Start an episode.

        Args:
            seed: seed from which random starts are drawn; None continues the present generator.
            options: ``start``: where this episode starts, instead of the environment's ``start``.

        Raises:
            UsageError: an unknown option, or no such row.
        """
        super().reset(seed=seed)
        rows = self._episodes.starts(1, self.np_random, self._episodes.start_of(options))
        # A new array for each observation, since the caller may keep it.
        out = np.empty(self._size, np.float32)
        self._core_table.lay(rows=rows, lasts=self._episodes.ends(rows), over=np.ones(1, np.bool_), out=out)
        CORE(self._core_table.address, OPEN, 0, 1)
        row = int(rows[0])
        if self._readable:
            closes, volumes = self.bars.close[row].tolist(), self.bars.volume[row].tolist()
            self._simulator = Simulator(
                self.market, cash=self._episodes.initial_cash, closes=closes, volumes=volumes, row=row
            )
        self._over = False
        self._follow_reset(row, self._episodes.initial_cash)
        return self._seen(out), {
            "equity": self._episodes.initial_cash,
            "row": row,
            "prices": self._closes[row].copy(),
            "refusals": 0,
        }

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Decide at this row's close, and let the next bar pass.

        Raises:
            UsageError: the episode is over, or the action is not of the action space's form.
        """
        if self._over:
            raise UsageError("the episode is over, none was begun, or the environment is closed; call reset() first")
        # Read the action, and make room for the events that it may cause.
        strict = False  # whether orders must not have a price that they do not use
        asked: Floats | Decision
        if self._weighted:
            asked = self._episodes.weights(action)
        else:
            asked = read(action)
            if isinstance(asked, Decision):
                self._make_room(len(asked.cancels) + len(asked.replaces) + len(asked.orders))
                if not self._readable:
                    asked, strict = table(asked), True
            else:
                self._make_room(len(asked))
        # Carry it out, and let the next bar pass.
        out = np.empty(self._size, _FLOAT32)
        client_ids: Sequence[str | None] = ()
        if self._simulator is not None or isinstance(asked, Decision):
            stepped, client_ids = self._step_readable(asked, out)
        else:
            if strict != self._strict:
                self._strict = strict
                self._core_table.lay(numbers=self._episodes.strict_numbers if strict else self._episodes.numbers)
            # The rest of a step takes so little that a method around this call would be felt.
            stepped = (self._step or self._bind(asked, out))(self._core, self._table, STEP, asked, out)
        reward, equity, row, last, bankrupt, happened, refusals = stepped
        info: Info = {"equity": equity, "row": row, "prices": self._closes[row].copy(), "refusals": refusals}
        self._over = bankrupt or last
        if happened:
            info["events"] = EventList(self._events[:happened].copy(), client_ids)
        if refusals != self._refusals or self._screen is not None:
            self._follow_step(row, equity, refusals - self._refusals)
        return out if self._whole else self._seen(out), reward, bankrupt, last and not bankrupt, info

    def close(self) -> None:
        """End the episode."""
        self._over = True

    def _position_shares(self) -> Floats:
        book = self._state.book[0]
        # A bankrupt account has an equity of 0.
        shares: Floats = book[:, POSITION] * book[:, MARK] / max(self._state.cells[0, EQUITY], 1e-9)
        return shares

    def __getstate__(self) -> dict[str, object]:
        # Machine code and addresses belong to this process, and views must be of the copied arrays: all are made again.
        return {
            **self.__dict__,
            "_step": None,
            "_core": 0,
            "_core_table": None,
            "_table": None,
            "_events": None,
            "_closes": None,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lay_out()

    def _lay_out(self) -> None:
        """Lay the account out for the compiled core."""
        self._closes, self._events, self._strict = self.bars.close, self._state.events[0], False
        self._core_table: CoreTable = self._episodes.shown(CoreTable.of_one(self._state, refusals=self._refusals))
        self._table = self._core_table.entries
        self._step: Callable[..., Stepped] | None = None
        self._core = 0

    def _bind(self, asked: Floats, out: NDArray[np.float32]) -> Callable[..., Stepped]:
        """Make a step of the compiled core for actions of this type; see :mod:`openfingym.trading.compiled.kernels`."""
        self._core = address_of(CORE)
        self._step = bound(step, self._core, self._table, STEP, asked, out)
        return self._step

    def _step_readable(self, asked: Floats | Decision, out: NDArray[np.float32]) -> tuple[Stepped, list[str | None]]:
        """A step of the readable simulator, and the client ids of its events."""
        simulator = cast("Simulator", self._simulator)
        if isinstance(asked, Decision):
            carry_out(asked, simulator)
        elif self._weighted:
            simulator.target(asked.tolist())
        else:
            ask(simulator, asked)
        walk(simulator, self.bars, simulator.row + 1)
        events = simulator.events()
        mirror(simulator, events, self._state)
        nothing = np.zeros((0, REQUEST))
        stepped = (self._step or self._bind(nothing, out))(self._core, self._table, SETTLE, nothing, out)
        return stepped, [event.client_id for event in events]

    def _seen(self, out: NDArray[np.float32]) -> Observation:
        """The observation in its form; ``out`` is the flat one, to which the core does not write indicators."""
        row = int(self._state.cells[0, ROW])
        if self._flat:
            if self.indicators:
                self._episodes.indicate(out, row)
            return out
        account = describe(
            self._state,
            self._episodes.tape,
            self._episodes.lookback,
            proceeds_fund_longs=self.market.short_proceeds_fund_longs,
        )
        return account | self._episodes.named_indicators(row)

    def _make_room(self, requests: int) -> None:
        """Have room for the events of a step with so many requests."""
        if requests <= self._most:
            return
        needed = events_of_a_step(self._symbols, self._episodes.open_orders, requests)
        self._state = self._state._replace(events=np.zeros((1, needed, self._state.events.shape[2])))
        self._core_table.lay(events=self._state.events)
        self._events, self._most = self._state.events[0], requests
