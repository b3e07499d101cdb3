"""The kind ``trading``: trade hidden bars. Decide, see the next bar and what became of the orders, decide again.

An agent sees the bars up to the current one and its account. What it decides is live from the next bar on; target
weights are traded at that bar's open. The account's record is scored, which the verifier keeps itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from openfingym.kinds.bars import episodes as bar_episodes
from openfingym.kinds.bars.data import BarSource
from openfingym.kinds.bars.kind import BarsKind, bars_start
from openfingym.kinds.forging import Forging
from openfingym.kinds.material import Array, Brief, Fold, Material, Reader
from openfingym.kinds.pictures import by_step, decided, spread
from openfingym.kinds.trading.contract import TradingContract
from openfingym.kinds.trading.environment import TAIL, TradingEpisode, market_of, open_account
from openfingym.kinds.trading.skillless import plans
from openfingym.kinds.trading.stale import FEWEST, NAME, copied, hunt
from openfingym.kinds.trading.text import brief_of_trading
from openfingym.task.contracts import Contract
from openfingym.task.episodes import SteppedEpisode
from openfingym.trading.actions import parse_decision
from openfingym.trading.oracle import hindsight
from openfingym.trading.redrawn_records import redrawn_record
from openfingym.trading.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.pictures import AgentAnswer, Picture
    from openfingym.task import Spec, Task
    from openfingym.trading.oracle import Played


def session(spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Session:
    """The account of one hidden episode before its first decision, over bars that carry their times.

    Args:
        spec: the specification of the task.
        read: reads a public array, given its name; not used.
        hidden: the hidden arrays of the task, by name.
        number: number of the episode; see :meth:`openfingym.kinds.SequentialKind.episode`.
    """
    contract = contract_of(spec.contract)
    return open_account(contract, bar_episodes.window(contract, hidden, number, TAIL))


def hold_action(spec: Spec) -> object:
    """The only action of the baseline: equal weights, traded at the first open and then held."""
    return _hold(contract_of(spec.contract))


def _hold(contract: TradingContract) -> dict[str, list[float]]:
    return {"weights": [1.0 / len(contract.symbols)] * len(contract.symbols)}


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
    """Bars that are traded, one after the other."""

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
        """Divide bars into training bars and hidden episodes; see :meth:`openfingym.kinds.Kind.shape`."""
        return self.shaped(task, source, bar_episodes.cut(task, source.bars.times, TAIL))

    def shaped(self, task: Task, source: BarSource, cut: bar_episodes.Cut) -> Material:
        """The material of a task with given blocks of rows; see :meth:`BarsKind.shaped`."""
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
        """One of the hidden episodes; see :meth:`openfingym.kinds.SequentialKind.episode`."""
        contract = contract_of(spec.contract)
        return TradingEpisode(contract, bar_episodes.window(contract, hidden, number, TAIL))

    def oracle_actions(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], number: int) -> Iterator[object]:
        """The action of each step with knowledge of all bars; None where nothing changes."""
        for weights in _hindsight(contract_of(spec.contract), hidden, number).weights:
            yield None if weights is None else {"weights": list(weights)}

    def naive(self, contract: Contract, read: Reader, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of equal weights, bought at the first open and held; the reader knows the hidden arrays."""
        own = contract_of(contract)
        hidden = {name: read(name) for name in bar_episodes.HIDDEN}
        return _records(own, hidden, (iter([_hold(own)]) for _ in range(shape[0])))

    def oracle(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of :meth:`oracle_actions`: out of reach of agents, though not proved to be the best possible."""
        return np.stack([_hindsight(contract_of(contract), hidden, number).record for number in range(shape[0])])

    def worst(self, contract: Contract, hidden: Mapping[str, Array], shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The records of hindsight reversed: holding what will lose most."""
        own = contract_of(contract)
        return np.stack([_hindsight(own, hidden, number, worst=True).record for number in range(shape[0])])

    def skillless(
        self, contract: Contract, read: Reader, shape: tuple[int, ...], generator: np.random.Generator
    ) -> dict[str, NDArray[np.float64]]:
        """The records of :func:`openfingym.kinds.trading.skillless.plans`, played on the hidden arrays (which the
        reader knows).
        """
        own = contract_of(contract)
        hidden = {name: read(name) for name in bar_episodes.HIDDEN}
        weights = plans(own, read, shape, generator)
        records = {name: _records(own, hidden, (_planned(rows) for rows in plan)) for name, plan in weights.items()}
        hunted = _hunted(own, hidden, shape[0])
        return records if hunted is None else {**records, NAME: hunted}

    def folds(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], seed: int
    ) -> tuple[Fold, Fold]:
        """The earlier episodes are the public fold, the later ones the private one. A record is judged by itself, so
        there is no truth to compare it with.
        """
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
        """The fold and the records made of the drawn steps, one after the other."""
        return Fold(slice(None), fold.truth), redrawn_record(values, units)

    def known_targets(self, contract: Contract, read: Reader) -> None:
        """None, because the scored record of an account is no forecast."""
        return

    def baselines(self, spec: Spec) -> frozenset[str]:
        """Names of the programs for this kind."""
        return frozenset(
            {"cash", "buy-and-hold", "equal-weight", "momentum", "mean-reversion", "volatility-target", "risk-parity"}
        )

    def pictures(self, contract: Contract, answer: AgentAnswer) -> tuple[Picture, ...]:
        """The decisions in some private episodes, and nothing of what came of them, which would show hidden bars."""
        symbols, steps = contract_of(contract).symbols, contract_of(contract).steps
        return tuple(
            by_step(f"{title}, private episode {number + 1} of {len(answer.actions)}", symbols, values)
            for number in spread(len(answer.actions), 4)
            for title, values in decided(symbols, steps, answer.actions[number])
        )

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task, in numbers."""
        return brief_of_trading(contract_of(task.spec.contract), material)


def _hindsight(contract: TradingContract, hidden: Mapping[str, Array], number: int, *, worst: bool = False) -> Played:
    """An episode played with knowledge of all bars; with ``worst``, so that it loses most."""
    return hindsight(open_account(contract, bar_episodes.window(contract, hidden, number, TAIL)), worst=worst)


def _planned(weights: NDArray[np.float64]) -> Iterator[object]:
    """The actions of a plan for one episode, whose weights are float64[steps, symbols]; a row of NaN does nothing."""
    for row in weights:
        yield None if math.isnan(row[0]) else {"weights": row.tolist()}


def _records(
    contract: TradingContract, hidden: Mapping[str, Array], actions: Iterator[Iterator[object]]
) -> NDArray[np.float64]:
    """Play episodes, and return their records.

    Args:
        contract: the contract of the task.
        hidden: the hidden arrays of the task, by name.
        actions: the actions of each episode, in the order of episodes.
    """
    records = []
    for number, actions_of_episode in enumerate(actions):
        account = open_account(contract, bar_episodes.window(contract, hidden, number, TAIL))
        for action in actions_of_episode:
            if account.done:
                break
            account.decide(parse_decision(action, contract.symbols))
            account.advance()
        records.append(account.outcome())
    return np.stack(records)


def _hunted(contract: TradingContract, hidden: Mapping[str, Array], episodes: int) -> NDArray[np.float64] | None:
    """The records of :func:`openfingym.kinds.trading.stale.hunt`; None where hardly a bar is a copy."""
    accounts = [
        open_account(contract, bar_episodes.window(contract, hidden, number, TAIL)) for number in range(episodes)
    ]
    if sum(int(copied(account.bars).sum()) for account in accounts) < FEWEST:
        return None
    for account in accounts:
        for action in hunt(account, contract):
            account.decide(parse_decision(action, contract.symbols))
            account.advance()
            if account.done:
                break
    return np.stack([account.outcome() for account in accounts])


def contract_of(contract: Contract) -> TradingContract:
    """The contract, narrowed to one about trading."""
    assert isinstance(contract, TradingContract)
    return contract


KIND = TradingKind()
