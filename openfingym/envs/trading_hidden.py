"""The trading environment on hidden bars: the verifier keeps the account, and shows one bar more at each step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from openfingym.data.bars import VOLUME_WINDOW, Bars
from openfingym.envs.arguments import options_of
from openfingym.envs.hidden import HiddenEpisodes
from openfingym.envs.indicators import SeenBars, parse
from openfingym.envs.trading_account import AccountEnv, Action
from openfingym.envs.trading_episodes import ActionName, ActionType, Episodes
from openfingym.envs.trading_forms import OrdersAction, order_space, read
from openfingym.envs.trading_screen import RenderMode
from openfingym.errors import SubmissionError, UsageError
from openfingym.kinds.trading.environment import market_of
from openfingym.kinds.trading.kind import contract_of
from openfingym.trading.actions import Decision, Replacement, decision_json
from openfingym.trading.compiled.observing import BOUND
from openfingym.trading.compiled.requests import ask
from openfingym.trading.orders import Order

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult
    from openfingym.task.episodes import EpisodeStep, FoldName
    from openfingym.trading.executor import Executor

Observation = NDArray[np.float32]
Info = dict[str, object]


class HiddenTradingEnv(AccountEnv[Observation]):
    """Trading hidden bars, with the spaces of :class:`~openfingym.envs.trading.TradingEnv`, so that one policy fits
    both.

    ## Action space
    As there: target weights, or orders (which may have client ids here). Weights that are not admissible are refused
    by default; ``action="projected"`` trades the nearest admissible ones.

    ## Observation space
    As there, flat. What the verifier shows beside it, such as fills, rejections with their reasons and open orders, is
    in ``info`` under ``shown`` (see :mod:`openfingym.kinds.trading.kind`).

    ## Reward
    The log return of equity, as the verifier computes it.

    ## Episode end
    Terminated at ruin, truncated after the task's number of steps. ``reset`` begins the next episode, in order of time;
    each private one is played once, and :meth:`result` then gives the verified score.

    ## Version history
    v0: first version.
    """

    def __init__(
        self,
        package: BuiltPackage,
        *,
        fold: FoldName = "private",
        lookback: int = 16,
        action: ActionName = "weights",
        fresh: bool = False,
        action_dtype: ActionType = "float64",
        render_mode: RenderMode | None = None,
        indicators: Sequence[str] = (),
    ) -> None:
        """Make an environment; the verifier is started with the first episode.

        Args:
            package: built package of a trading task.
            fold: fold whose episodes are played: ``private``, which is scored, or ``public``, for practice.
            lookback: number of rows that an observation shows.
            fresh: whether each rollout gets hidden bars of its own instead of the package's (docs/serving.md).
            action: form of the action: target ``weights``, which are refused where they are not admissible;
                ``projected``, of which the nearest admissible ones are traded; or a batch of ``orders``.
            action_dtype: type of target weights in the action space; they are calculated with in float64.
            render_mode: what :meth:`render` gives: ``ansi``, a line of text, or ``rgb_array``, a picture (which needs
                Pillow: the extra ``render``).
            indicators: technical indicators that observations show too, such as ``["rsi", "macd:8:21:5"]``; see
                docs/environments.md.

        Raises:
            UsageError: the task does not show enough bars for this lookback.
        """
        contract = contract_of(package.task.spec.contract)
        # The verifier shows ``contract.lookback`` bars, and the relative volume of the first row shown looks back by a
        # window of its own.
        most = contract.lookback - VOLUME_WINDOW
        if not 1 <= lookback <= most:
            raise UsageError(
                f"lookback is {lookback}; {package.manifest.name!r} shows {contract.lookback} bars, enough for 1 to "
                f"{most}"
            )
        bars = training_bars(package)
        market = market_of(contract)
        self._hidden = HiddenEpisodes(package, fold=fold, fresh=fresh)
        self._contract, self._lookback = contract, lookback
        # For spaces, layout and actions alone: the account and its rewards are the verifier's.
        episodes = Episodes(
            bars,
            market,
            initial_cash=contract.initial_cash,
            lookback=lookback,
            steps=contract.steps,
            action=action,
            reward="log-return",
            start="random",
            decay=0.01,
            action_dtype=action_dtype,
            indicators=parse(indicators, contract.lookback + contract.steps),
        )
        super().__init__(episodes, render_mode)
        self.package, self.market, self.layout = package, market, episodes.layout
        self.indicators = tuple(indicator.label for indicator in episodes.indicators)
        self._bars_seen = SeenBars(bars.symbols, episodes.indicators)
        self._size = episodes.size
        self._weights = np.zeros(len(bars.symbols))
        """The present positions as shares of equity, float64[S]."""
        self._open_orders: list[_Open] = []
        self._splits: deque[NDArray[np.float64]] = deque(maxlen=contract.lookback)
        """New shares per old share in each bar that is shown, float64[S] each."""
        # Gymnasium's Env is generic in what a space holds, its spaces are not.
        observed = episodes.observation_space(self.market.max_orders_per_batch)
        acted = episodes.weights_space() if episodes.weighted else order_space(len(bars.symbols))
        self.observation_space = observed  # type: ignore[assignment]
        self.action_space = acted  # type: ignore[assignment]

    def reset(self, *, seed: int | None = None, options: dict[str, object] | None = None) -> tuple[Observation, Info]:
        """Begin the next episode.

        Args:
            seed: seed that is recorded with the rollout; it changes nothing else.
            options: must be empty; no options are known.

        Raises:
            UsageError: every episode of this rollout was played, and :meth:`result` ends the rollout; or the seed is
                too large to be recorded.
        """
        super().reset(seed=seed)
        if unknown := options_of(options):
            raise UsageError(
                f"unknown reset options: {', '.join(map(str, unknown))}; hidden episodes come in order of time"
            )
        shown = self._hidden.start(seed)
        self._follow_reset(0, _equity(shown))
        self._bars_seen.clear()
        self._splits.clear()
        # The verifier does not show splits among the bars before an episode begins; they are taken for none.
        self._splits.extend([np.ones(len(self._contract.symbols))] * (self._contract.lookback - 1))
        return self._observed(shown), self._info(shown)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Decide at this row's close, and see the next bar.

        Raises:
            UsageError: called before ``reset`` or after the end, or the action is not of the action space's form.
        """
        try:
            shown = self._hidden.step(self._message(action))
        except SubmissionError as error:
            raise UsageError(str(error)) from None
        refused = len(cast("Sequence[object]", shown.observation["rejections"]))
        self._follow_step(shown.step, _equity(shown), refused)
        return self._observed(shown), shown.reward, shown.terminated, shown.truncated, self._info(shown)

    def _position_shares(self) -> NDArray[np.float64]:
        return self._weights

    def result(self) -> RolloutResult:
        """End the rollout and get its verified score.

        Raises:
            UsageError: no episode was begun, so there is nothing to score.
        """
        return self._hidden.finish()

    def close(self) -> None:
        """Release the verifier."""
        self._hidden.close()

    def _message(self, action: Action) -> dict[str, object]:
        """An action as the JSON value that the verifier takes."""
        if not self._episodes.weighted:
            return decision_json(_decision(action, self._open_orders), self._contract.symbols)
        weights = self._episodes.weights(action)
        # JSON has no NaN: like null, which stands for it, it is rejected by the market.
        return {"weights": [weight if math.isfinite(weight) else None for weight in weights.tolist()]}

    def _observed(self, shown: EpisodeStep) -> Observation:
        """The flat observation, as :func:`openfingym.trading.compiled.observing.observe` writes it."""
        seen = shown.observation
        window = np.array(seen["bars"], np.float64)
        self._splits.append(np.array(seen["splits"], np.float64))
        out = np.zeros(self._size, np.float32)
        parts = {name: out[part.place] for name, part in self.layout.items()}
        parts["features"][:] = self._features(window).reshape(-1)
        if self.indicators:
            values, warm = self._bars_seen.show(window, self._splits[-1])
            parts["indicators"][:], parts["warm"][:] = values.reshape(-1), warm
        equity = cast("float", seen["equity"])
        scale = 1.0 / equity if equity > 0.0 else 0.0
        closes = window[-1, :, 3]
        self._weights = np.array(seen["positions"]) * closes * scale
        parts["weights"][:] = np.clip(self._weights, -BOUND, BOUND)
        parts["cash"][:] = np.clip(cast("float", seen["cash"]) * scale, -BOUND, BOUND)
        symbols = self._contract.symbols
        self._open_orders = []
        for order in cast("Sequence[Mapping[str, object]]", seen["open_orders"]):
            place = symbols.index(cast("str", order["symbol"]))
            self._open_orders.append(
                _Open(cast("int", order["order"]), place, cast("int", order.get("other_order", 0)))
            )
            # An order is worth its limit or else its stop; a market order, which has neither, the last close.
            price = next(
                (order[name] for name in ("limit_price", "stop_price") if order[name] is not None), closes[place]
            )
            side = parts["open_buys" if order["side"] == "buy" else "open_sells"]
            side[place] = min(side[place] + cast("float", order["remaining"]) * cast("float", price) * scale, BOUND)
        for refused in cast("Sequence[Mapping[str, object]]", seen["rejections"]):
            known = refused["symbol"] in symbols
            parts["rejections"][symbols.index(cast("str", refused["symbol"])) if known else len(symbols)] += 1.0
        parts["steps_left"][:] = cast("int", seen["steps_left"]) / self._contract.steps
        return out

    def _features(self, window: NDArray[np.float64]) -> NDArray[np.float32]:
        """Features of the last rows of a window of bars, float32[lookback, S, 5]."""
        rows = len(window)
        actions = np.zeros((rows, window.shape[1], 2))
        actions[:, :, 0] = np.stack(self._splits)
        times = np.arange(rows).astype("datetime64[ns]")  # hidden rows have no dates
        return Bars.restored(times, self._contract.symbols, window, actions).features()[-self._lookback :]

    def _info(self, shown: EpisodeStep) -> Info:
        manifest, seen = self.package.manifest, shown.observation
        return {
            "equity": seen["equity"],
            "prices": np.array(seen["bars"])[-1, :, 3],
            "shown": seen,
            "refusals": self._refusals,
            "episodes_left": shown.episodes_left,
            **shown.info,
            "task": manifest.name,
            "task_digest": manifest.digest,
            "data_kind": manifest.data_kind,
        }


def training_bars(package: BuiltPackage) -> Bars:
    """The bars of a trading task that everybody has."""
    contract = contract_of(package.task.spec.contract)
    return Bars.from_array(
        np.asarray(package.array("train_times")),
        contract.symbols,
        np.asarray(package.array("train_bars")),
        name=package.manifest.name,
    )


def _equity(shown: EpisodeStep) -> float:
    return cast("float", shown.observation["equity"])


class _Open(NamedTuple):
    """An open order, as far as a request to cancel several needs it."""

    id: int
    symbol: int
    other: int
    """Number of the other order of its pair; 0 for none."""


class _Recorder:
    """Collects requests into a decision; it has the part of an executor that a table of requests needs."""

    def __init__(self, open_orders: Sequence[_Open]) -> None:
        self.decision = Decision()
        self._open_orders = tuple(open_orders)

    def open_orders(self) -> tuple[_Open, ...]:
        """The open orders, among which a table may cancel several together."""
        return self._open_orders

    def submit(self, orders: Sequence[Order]) -> list[int]:
        """Add new orders to the decision."""
        self.decision = replace(self.decision, orders=(*self.decision.orders, *orders))
        return [0] * len(orders)

    def cancel(self, order_id: int) -> None:
        """Add a cancellation to the decision."""
        self.decision = replace(self.decision, cancels=(*self.decision.cancels, order_id))
        # Gone, so that a row that cancels several together does not cancel it once more.
        self._open_orders = tuple(order for order in self._open_orders if order.id != order_id)

    def replace(
        self,
        order_id: int,
        *,
        quantity: float | None = None,
        limit_price: float | None = None,
        stop_price: float | None = None,
    ) -> None:
        """Add the change of an order to the decision."""
        change = Replacement(order_id, quantity, limit_price, stop_price)
        self.decision = replace(self.decision, replaces=(*self.decision.replaces, change))


def _decision(action: OrdersAction, open_orders: Sequence[_Open]) -> Decision:
    """Orders of any form as a decision.

    Args:
        action: the action as the agent gave it.
        open_orders: the account's open orders, which a request to cancel all of them means.

    Raises:
        UsageError: the action has none of the forms that :class:`~openfingym.envs.trading.TradingEnv` takes.
    """
    requests = read(action)
    if isinstance(requests, Decision):
        return requests
    recorder = _Recorder(open_orders)
    ask(cast("Executor", recorder), requests)
    return recorder.decision
