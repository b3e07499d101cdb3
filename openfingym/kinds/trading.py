"""Trading of hidden bars: decide, see the next bar and what became of the orders, decide again.

An agent sees the bars up to the current one and its account. What it decides is live from the next bar
on; target weights are traded at that bar's open. What is scored is the account's record, which the
verifier keeps itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from openfingym.data.bars import FIELDS, Bars
from openfingym.kinds import bar_episodes
from openfingym.kinds.bar_data import BarsContract, BarSource
from openfingym.kinds.bars import BarsKind, bars_start
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.pictures import by_step, decided, spread
from openfingym.kinds.skillless.trading import plans
from openfingym.task.contracts import Contract, Family, NotNegative
from openfingym.task.episodes import Step, SteppedEpisode
from openfingym.trading.actions import parse_decision
from openfingym.trading.hindsight import hindsight_weights
from openfingym.trading.market import MarketRules
from openfingym.trading.orders import Event
from openfingym.trading.redrawn_records import redrawn_record
from openfingym.trading.session import Session
from openfingym.trading.shown import shown_account

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.task import Spec, Task

TAIL = 1
"""The last decision needs one more bar."""
RUIN = 1e-6
"""Share of the initial cash that equity counts as at least in a reward, so that ruin has a finite one."""
ORDER_OPTIONS = (
    "`type` market, limit, stop or stop-limit",
    "`limit_price`, `stop_price`",
    "`time_in_force` gtc or ioc",
    "`client_id` of your own",
)


class TradingEpisode:
    """One account over hidden bars; an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(self, contract: TradingContract, window: bar_episodes.Window) -> None:
        """Open the account at the first origin.

        Args:
            contract: the contract of the task.
            window: the hidden rows of the episode.
        """
        self._contract = contract
        self._window = window
        self._session = _session(contract, window)
        self._floor = RUIN * contract.initial_cash

    def start(self) -> Step:
        """The bars up to the first origin, and an account of cash."""
        return self._shown(0.0, [])

    def step(self, action: object) -> Step:
        """Decide, let the next bar pass, and show what happened. The reward is the log return of equity.

        Raises:
            SubmissionError: the action has not the form of :mod:`openfingym.trading.actions`.
        """
        decision = parse_decision(action, self._contract.symbols)
        before = self._session.simulator.equity
        self._session.decide(decision)
        events = self._session.advance()
        after = self._session.simulator.equity
        return self._shown(math.log(max(after, self._floor) / max(before, self._floor)), events)

    def outcome(self) -> NDArray[np.float64]:
        """The account's record if nothing more is done, float64[steps + 1, 7]."""
        return self._session.outcome()

    def _shown(self, reward: float, events: list[Event]) -> Step:
        contract, session, window = self._contract, self._session, self._window
        done, row = session.rows, session.row
        account = shown_account(session.simulator, session.simulator.account(), events, contract.symbols)
        observation = {
            "bars": window.bars[done : done + contract.lookback].tolist(),
            "splits": window.actions[row, :, 0].tolist(),
            "dividends": window.actions[row, :, 1].tolist(),
            **account,
            "steps_left": contract.steps - done,
        }
        ruined = session.simulator.bankrupt
        info = {"time_index": window.first + row}
        return Step(observation, reward, terminated=ruined, truncated=done == contract.steps and not ruined, info=info)


def market_of(contract: TradingContract) -> MarketRules:
    """The costs and limits that a contract states."""
    return MarketRules(
        fee_bps=contract.fee_bps,
        fee_per_trade=contract.fee_per_trade,
        slippage_bps=contract.slippage_bps,
        half_spread_bps=contract.half_spread_bps,
        impact=contract.impact,
        max_participation=contract.max_participation,
        lot=contract.lot,
        tick=contract.tick,
        max_short=contract.max_short,
        borrow_bps_per_year=contract.borrow_bps_per_year,
        bars_per_year=contract.bars_per_year,
        max_open_orders=contract.max_open_orders,
        max_orders_per_batch=contract.max_orders_per_step,
    )


def session(spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Session:
    """The account of one hidden episode before its first decision, over bars that carry their times."""
    contract = contract_of(spec.contract)
    return _session(contract, bar_episodes.window(contract, hidden, number, TAIL))


def hold_action(spec: Spec) -> object:
    """The one action of the baseline: equal weights, traded at the first open and left alone."""
    return _hold(contract_of(spec.contract))


def _hold(contract: TradingContract) -> dict[str, list[float]]:
    return {"weights": [1.0 / len(contract.symbols)] * len(contract.symbols)}


def _session(contract: TradingContract, window: bar_episodes.Window) -> Session:
    bars = Bars.restored(window.times, contract.symbols, window.bars, window.actions)
    return Session(
        bars, market_of(contract), cash=contract.initial_cash, first=contract.lookback - 1, steps=contract.steps
    )


class TradingContract(BarsContract):
    """An account that trades hidden bars: after each, an agent states target weights or sends orders.

    What is scored is the account's own record, [episodes, steps + 1, columns]. The costs and rules are those of
    :class:`openfingym.trading.market.MarketRules`, which says what each of them is.
    """

    family: ClassVar[Family] = "trading"
    baseline: ClassVar[str] = "buy-and-hold"

    kind: Literal["trading"]
    horizon: Literal[1] = 1
    """Bars from a decision to the bar in which it is live."""
    initial_cash: Annotated[float, Field(gt=0.0)] = 100_000.0
    """Cash in the account at the start of each episode, in units of currency."""
    bars_per_year: Annotated[float, Field(gt=0.0)] = 252.0
    """Number of bars in a year, by which a year's cost of borrowing is divided and metrics are annualised."""
    fee_bps: NotNegative = 0.0
    fee_per_trade: NotNegative = 0.0
    slippage_bps: NotNegative = 0.0
    half_spread_bps: NotNegative = 0.0
    impact: NotNegative = 0.0
    max_participation: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    lot: NotNegative = 1.0
    tick: NotNegative = 0.0
    max_short: NotNegative = 1.0
    borrow_bps_per_year: NotNegative = 0.0
    max_open_orders: Annotated[int, Field(ge=1, le=4096)] = 64
    max_orders_per_step: Annotated[int, Field(ge=1, le=4096)] = 256
    """Orders that one action may submit; a larger batch is rejected as a whole."""
    unit: str = "share of equity"
    """Unit of a target weight."""
    low: float = -1.0
    """Smallest target weight."""
    high: float = 1.0
    """Largest target weight."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        lowest = 0.0 - self.max_short
        if self.low != lowest or self.high != 1.0:
            raise ValueError(f"low and high are those of a target weight: expected {lowest:g} (minus max_short) and 1")
        return self

    def agree(self, spec: Spec) -> None:
        """Check like contracts about bars, and that all name one number of bars a year."""
        if self.bars_per_year != spec.scoring.periods_per_year:
            raise ValueError(
                f"contract.bars_per_year is {self.bars_per_year:g} and scoring.periods_per_year "
                f"{spec.scoring.periods_per_year:g}; "
                "both are the bars in a year, and must agree"
            )
        super().agree(spec)


START = bars_start(
    description="Trade two stocks, day after day.",
    asks="Trade AAPL and MSFT, day after day.",
    contract="""symbols = ["aapl", "msft"]
lookback = 20                # bars that an observation shows
steps = 100                  # of an episode
initial_cash = 100000.0
bars_per_year = 252.0
fee_bps = 1.0                # of every fill; docs/tasks.md names the other costs and limits
slippage_bps = 2.0           # of market and stop orders
lot = 1.0                    # 0 for any quantity
max_short = 1.0              # times equity; 0 forbids short positions, and then low = 0.0
""",
    metrics=(("log_growth", 0.5), ("sharpe_ratio", 0.5)),
    periods_per_year=252.0,
)


class TradingKind(BarsKind):
    """Bars to trade, one after the other."""

    contract: ClassVar[type[TradingContract]] = TradingContract
    start = START
    forging: ClassVar[Forging | None] = Forging(
        stated=(
            *("fee_bps", "slippage_bps", "max_participation"),
            *("lot", "tick", "max_short", "borrow_bps_per_year"),
        ),
        assumed={
            "lookback": (60, "bars that are shown at the start"),
            "steps": (200, "steps of an episode"),
            "initial_cash": (100_000.0, "money at the start"),
            "fee_bps": (1.0, "fee"),
            "slippage_bps": (2.0, "slippage"),
            "max_participation": (0.1, "largest share of a bar's volume"),
            "max_short": (1.0, "largest short position"),
            "borrow_bps_per_year": (50.0, "cost of borrowing"),
        },
    )
    asked = "Trade the bars"
    environment = "openfingym.envs.making:trading_environment"
    vector_environment = "openfingym.envs.making:trading_vector"
    is_record = True
    bounded = "weight"

    def shape(self, task: Task, source: BarSource) -> Material:
        """Training bars, and hidden ones in episodes; see :class:`openfingym.kinds.Kind`."""
        return self.shaped(task, source, bar_episodes.cut(task, len(source.bars), TAIL))

    def shaped(self, task: Task, source: BarSource, cut: bar_episodes.Cut) -> Material:
        """:meth:`shape` with given blocks of rows."""
        from openfingym.metrics.performance import RECORD

        contract = contract_of(task.spec.contract)
        return bar_episodes.material(
            task,
            source,
            cut,
            episode=(contract.steps + 1, len(RECORD)),
            axes=("row", "column"),
            labels=RECORD,
            initial_cash=contract.initial_cash,
            market=market_of(contract).describe(),
        )

    def episode(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> SteppedEpisode:
        """One of the hidden episodes: public ones first, then the private ones, each in the order of time."""
        contract = contract_of(spec.contract)
        return TradingEpisode(contract, bar_episodes.window(contract, hidden, number, TAIL))

    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterator[object]:
        """The action of each step of an episode by whoever knows all opens: None where nothing changes."""
        yield from _hindsight(contract_of(spec.contract), hidden, number)

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of equal weights, bought at the first open and held; the reader knows the hidden arrays."""
        own = contract_of(contract)
        hidden = {name: read(name) for name in bar_episodes.HIDDEN}
        return _records(own, hidden, (iter([_hold(own)]) for _ in range(shape[0])))

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of :func:`oracle_actions`. Nobody reaches them; nobody proves that nothing is better, either."""
        own = contract_of(contract)
        return _records(own, hidden, (_hindsight(own, hidden, number) for number in range(shape[0])))

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of hindsight turned around, which holds what will lose most."""
        own = contract_of(contract)
        return _records(own, hidden, (_hindsight(own, hidden, number, worst=True) for number in range(shape[0])))

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """The records of :func:`openfingym.kinds.skillless.trading.plans`; the reader knows the hidden arrays, on which
        they are played.
        """
        own = contract_of(contract)
        hidden = {name: read(name) for name in bar_episodes.HIDDEN}
        found = plans(own, read, shape, generator)
        return {name: _records(own, hidden, (_planned(weights) for weights in plan)) for name, plan in found.items()}

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier and the later episodes; a record is judged by itself, so there is nothing to compare with."""
        from openfingym.metrics import Truth

        options = {"periods_per_year": spec.scoring.periods_per_year}
        rows = slice(counts[0]), slice(counts[0], sum(counts))
        return Fold(rows[0], Truth({}, options, seed)), Fold(rows[1], Truth({}, options, seed))

    def answer(self, contract: Contract, fold: Fold, values: NDArray[np.float64]) -> Mapping[str, Array]:
        """The account records of the fold's episodes."""
        return {"record": values}

    def resampled(
        self, contract: Contract, fold: Fold, values: NDArray[np.float64], units: NDArray[np.int64]
    ) -> tuple[Fold, NDArray[np.float64]]:
        """The record of these steps, put one after the other."""
        return Fold(slice(None), fold.truth), redrawn_record(values, units)

    def known_targets(self, contract: Contract, read: Reader) -> None:
        """None: what is scored is an account."""
        return

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Programs for this kind."""
        return frozenset(
            {"cash", "buy-and-hold", "equal-weight", "momentum", "mean-reversion", "volatility-target", "risk-parity"}
        )

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """What was decided in some private episodes, and nothing of what came of it."""
        symbols, steps = contract_of(contract).symbols, contract_of(contract).steps
        return tuple(
            by_step(f"{title}, private episode {number + 1} of {len(answer.actions)}", symbols, values)
            for number in spread(len(answer.actions), 4)
            for title, values in decided(symbols, steps, answer.actions[number])
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What is asked, in numbers."""
        contract = contract_of(task.spec.contract)
        width = len(contract.symbols)
        note = (
            "What you decide is live from the next bar on, never at a price you have seen: target weights trade at the "
            "next open,\n"
            "orders inside the next bar. What the market refuses costs nothing and is named, with its reason, in the "
            "next observation.\n"
            "Hidden bars are later than all of training, carry a running number (`time_index`) and no date, and come "
            "in the order of time."
        )
        usage = f"""\
bars, times = interface.load_train()  # float64 {material.public["train_bars"].shape}: row, symbol, field; datetime64[ns]
env = interface.make()
while env.episodes_left:
    observation, info = env.reset()  # observation["bars"]: float64 ({contract.lookback}, {width}, 5), the last row is now
    done = False
    while not done:
        action = {{"weights": [{", ".join([f"{1 / width:.3g}"] * width)}]}}  # shares of equity, negative for short; None to hold
        # or: {{"orders": [{{"symbol": "{contract.symbols[0]}", "side": "buy", "quantity": 10, "type": "limit", "limit_price": 99.5}}],
        #      "cancels": [order, ...], "replaces": [{{"order": 3, "quantity": 5}}, ...]}}
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated"""  # noqa: E501
        return Brief(_facts(contract, material), note, usage)


def _hindsight(
    contract: TradingContract, hidden: Mapping[str, Array], number: int, *, worst: bool = False
) -> Iterator[object]:
    market, window = market_of(contract), bar_episodes.window(contract, hidden, number, TAIL)
    live = window.bars[contract.lookback :]
    cost = (market.fee_bps + market.slippage_bps + market.half_spread_bps) * 1e-4
    before: list[float] | None = None
    short = min(market.max_short, 1.0)
    for weights in hindsight_weights(live[:, :, 0], live[-1, :, 3], cost=cost, short=short, worst=worst).tolist():
        yield None if weights == before else {"weights": weights}
        before = weights


def _planned(weights: NDArray[np.float64]) -> Iterator[object]:
    """The actions of a plan for one episode."""
    for row in weights:
        yield None if math.isnan(row[0]) else {"weights": row.tolist()}


def _records(
    contract: TradingContract, hidden: Mapping[str, Array], actions: Iterator[Iterator[object]]
) -> NDArray[np.float64]:
    """The record of each episode, played with these actions."""
    records = []
    for number, given in enumerate(actions):
        account = _session(contract, bar_episodes.window(contract, hidden, number, TAIL))
        for action in given:
            if account.done:
                break
            account.decide(parse_decision(action, contract.symbols))
            account.advance()
        records.append(account.outcome())
    return np.stack(records)


def _facts(contract: TradingContract, material: Material) -> tuple[tuple[str, str], ...]:
    """The table of facts of an instruction."""
    short = contract.max_short
    costs = ", ".join(
        f"{value:g} {unit}"
        for value, unit in (
            (contract.fee_bps, "bps fee"),
            (contract.fee_per_trade, "in cash a fill"),
            (contract.slippage_bps, "bps slippage"),
            (contract.half_spread_bps, "bps half spread"),
            (contract.borrow_bps_per_year, "bps a year for borrowing"),
        )
        if value
    )
    return (
        ("symbols", ", ".join(contract.symbols)),
        (
            "`bars` of an observation",
            f"the last {contract.lookback}: {', '.join(FIELDS)}; `splits` and `dividends` of the last one",
        ),
        ("the account in it", "`cash`, `free_cash`, `equity`, `positions`, `open_orders`, `steps_left`"),
        ("what the last bar did", "`fills`, `rejections` (with a reason), `changes` of orders"),
        ("an order", "`symbol`, `side`, `quantity`; " + "; ".join(ORDER_OPTIONS)),
        ("cash at the start", f"{contract.initial_cash:,.0f}"),
        ("costs", costs or "none"),
        ("short positions", f"up to {short:g} times equity" if short else "none"),
        ("limits", _limits(contract)),
        ("training bars", str(material.n_train)),
        ("episodes that count", f"{material.n_private} of {contract.steps} steps"),
        ("episodes to practise on", str(material.n_public)),
    )


def _limits(contract: TradingContract) -> str:
    """Of quantities, prices and orders, in words."""
    said = [f"quantities in multiples of {contract.lot:g}" if contract.lot else "any quantity"]
    said += [f"prices of {contract.tick:g}"] if contract.tick else []
    said += (
        [f"fills of a bar up to {contract.max_participation:.0%} of its volume"] if contract.max_participation else []
    )
    said += [f"{contract.max_orders_per_step} orders a step", f"{contract.max_open_orders} open"]
    return "; ".join(said)


def contract_of(contract: Contract) -> TradingContract:
    """A contract about trading as one."""
    assert isinstance(contract, TradingContract)
    return contract


KIND = TradingKind()
