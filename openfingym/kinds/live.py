"""The kind ``live``: trade on a live market, or on a simulated venue that speaks its protocols.

The package holds simulated bars, on which an agent trains and practises, and on which the task is checked. The private
episode is a session: the verifier keeps the feed, the account and the tape, and the agent sees a bar when it has ended.
The account's record is scored, and the baseline is scored on the bars of the same session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Protocol, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from openfingym.errors import UsageError
from openfingym.kinds.bars import episodes as bar_episodes
from openfingym.kinds.bars.data import BarSource
from openfingym.kinds.material import Array, Brief, Material
from openfingym.kinds.trading.contract import TradingContract
from openfingym.kinds.trading.environment import TAIL, market_of
from openfingym.kinds.trading.kind import TradingKind
from openfingym.market.session.terms import SessionTerms
from openfingym.task.contracts import as_tuple
from openfingym.task.episodes import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.market.session.account import Mark
    from openfingym.task import Spec, Task
    from openfingym.task.contracts import Contract


class LiveContract(TradingContract):
    """An account that trades on a live market: a trading contract with a venue, and bars of a few seconds."""

    kind: Literal["live"]  # type: ignore[assignment]  # one name for each kind
    venue: Literal["alpaca", "binance"]
    """The venue whose protocols are spoken, and whose data a real session has."""
    calendar: Literal["XNYS"] | None = None
    """Code of the exchange in whose regular hours a real session is; None for a market that never closes."""
    instruments: tuple[str, ...]
    """The venue's names of the symbols, in the order of ``symbols``."""
    interval_s: Annotated[int, Field(ge=1, le=60)]
    """Length of a bar in whole seconds; the agent decides after each."""
    orders: Literal["paper", "broker"] = "paper"
    """Whether orders are filled on paper by the verifier, or sent to an account at the venue, which trades on paper
    too."""
    longest_s: Annotated[int, Field(ge=1)]
    """Most seconds that a session may last, if its duration is chosen."""

    _instruments = field_validator("instruments", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.orders == "broker" and self.venue != "alpaca":
            raise ValueError(f"orders can be sent to an account at alpaca alone; of {self.venue} they are on paper")
        if self.tick <= 0.0:
            raise ValueError(
                "tick must be the smallest step of prices at the venue, above 0: queues are told apart by it"
            )
        if len(self.instruments) != len(self.symbols) or len(set(self.instruments)) < len(self.instruments):
            raise ValueError(
                f"instruments must be {len(self.symbols)} different names of the venue, one for each of "
                f"{', '.join(self.symbols)}; found {list(self.instruments)}"
            )
        return self


def live_contract(contract: Contract) -> LiveContract:
    """The contract, narrowed to one of a live market."""
    assert isinstance(contract, LiveContract)
    return contract


def session_terms(contract: LiveContract, duration_s: int | None = None) -> SessionTerms:
    """The terms of a session of the task.

    Args:
        contract: the contract of the task.
        duration_s: duration of the session in seconds, which is divided into the contract's number of steps; None for
            bars of the contract's own length.

    Raises:
        UsageError: the duration cannot be divided into so many bars of whole seconds, or is longer than the task
            allows.
    """
    interval = contract.interval_s
    if duration_s is not None:
        steps = contract.steps
        interval, rest = divmod(duration_s, steps)
        longest = min(contract.longest_s, 60 * steps)
        if rest or not steps <= duration_s <= longest:
            near = {min(max(whole, 1), longest // steps) * steps for whole in (interval, interval + (rest > 0))}
            raise UsageError(
                f"a session cannot last {duration_s} s; expected a multiple of {steps} s, since it has {steps} bars of "
                f"whole seconds, up to {longest} s: such as {' s or '.join(map(str, sorted(near)))} s"
            )
    return SessionTerms(
        contract.symbols,
        contract.instruments,
        interval,
        contract.steps,
        contract.lookback,
        contract.initial_cash,
        # Shorter bars, more of them in a year: the yearly cost of borrowing stays the same.
        replace(market_of(contract), bars_per_year=contract.bars_per_year * contract.interval_s / interval),
        contract.orders,
    )


def on_session(spec: Spec, terms: SessionTerms) -> Spec:
    """The specification of a task for a session: its bars are as long as those of the session's terms."""
    # Contract and scoring table must state the same number; see `TradingContract.agree`.
    year = terms.rules.bars_per_year
    return spec.model_copy(
        update={
            "contract": spec.contract.model_copy(update={"bars_per_year": year, "interval_s": terms.interval_s}),
            "scoring": spec.scoring.model_copy(update={"periods_per_year": year}),
        }
    )


def session_arrays(hidden: Mapping[str, Array], bars: Array, first: int, interval: int) -> dict[str, Array]:
    """The hidden arrays of a task, with those of a session in place of the private ones.

    Args:
        hidden: the hidden arrays of the package, by name.
        bars: the bars of the session, float64[lookback + steps, symbols, 5].
        first: start of the first bar, in nanoseconds since the epoch.
        interval: length of a bar in nanoseconds.
    """
    rows, symbols, _ = bars.shape
    actions = np.zeros((rows, symbols, 2))
    actions[:, :, 0] = 1.0  # no splits, and no dividends
    times = (first + interval * np.arange(rows)).astype("datetime64[ns]")
    return {**hidden, "private_bars": bars, "private_actions": actions, "private_times": times}


class PlayedSession(Protocol):
    """A session that an episode is played on: in real time, or from a tape."""

    def begin(self) -> Mark:
        """Wait for the first mark."""

    def step(self, action: object) -> Mark:
        """Take a decision, and wait for the next mark."""

    def outcome(self) -> NDArray[np.float64]:
        """The account's record so far, float64[steps + 1, 7]."""


class SessionEpisode:
    """A session as an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(self, session: PlayedSession) -> None:
        self.session = session

    def start(self) -> Step:
        """The bars before the session, and an account that holds cash alone."""
        return _step(self.session.begin())

    def step(self, action: object) -> Step:
        """Take a decision, wait for the end of the bar, and show what happened.

        Args:
            action: target weights or orders, as JSON values; see :mod:`openfingym.trading.actions`. None does nothing.

        Raises:
            SubmissionError: the action is not of a form that :mod:`openfingym.trading.actions` reads.
            VenueError: the session has broken off.
        """
        return _step(self.session.step(action))

    def outcome(self) -> NDArray[np.float64]:
        """The account's record, float64[steps + 1, 7]."""
        return self.session.outcome()


def _step(mark: Mark) -> Step:
    return Step(mark.observation, mark.reward, mark.terminated, mark.truncated, mark.info)


class LiveKind(TradingKind):
    """Trading while the market goes on."""

    contract: ClassVar[type[TradingContract]] = LiveContract
    forging = None
    asked = "Trade, while the market goes on,"
    live = True

    def shape(self, task: Task, source: BarSource) -> Material:
        """Divide bars as trading does, with a single private episode, whose place the session takes."""
        contract = live_contract(task.spec.contract)
        cut = bar_episodes.cut(task, source.bars.times, TAIL)
        start = cut.private.start
        single = replace(cut, private=slice(start, start + bar_episodes.rows_of(1, contract, TAIL)), n_private=1)
        return self.shaped(task, source, single)

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on bars alone: it has no session, and its private episodes are played on bars as well."""
        from openfingym.kinds.bars.training import bars_instance

        names = live_contract(data.task.spec.contract).instruments
        return bars_instance(data, TAIL, self.shaped, split, generator, instruments=names)

    def brief(self, task: Task, material: Material) -> Brief:
        """What an agent is told of the task: as for trading, and what differs while a market goes on."""
        contract, brief = live_contract(task.spec.contract), super().brief(task, material)
        note = (
            f"{brief.note}\n"
            f"The private episode is LIVE: a bar of {contract.interval_s} s ends, you decide, and your orders meet the "
            "market's book as it is when\nthey arrive; the next observation comes at the end of the next bar, whether "
            'you have decided or not. `info["missed"]`\ncounts the bars that passed while you thought, `info["gap"]` '
            "names symbols whose data is known to be incomplete."
        )
        if contract.orders == "broker":
            note += "\nThere, orders go to an account at the venue, which refuses pairs (`oco`) and says so."
        return replace(brief, note=note)


KIND = LiveKind()
