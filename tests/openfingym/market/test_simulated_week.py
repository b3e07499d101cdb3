"""A local venue for half a day while all sorts of things go wrong; with OPENFINGYM_ALL=1, three of them for a week."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import TapeError
from openfingym.market.buffer import Budgets
from openfingym.market.session.account import Agent, Mark
from openfingym.market.session.taped import TapedSession, replayed
from openfingym.market.session.tournament import tournament
from openfingym.market.tape import RecordKind
from openfingym.market.tape_reader import TapeReader
from tests.openfingym.market import simulated_weeks as weeks
from tests.openfingym.market.skill import better_than_cash_and_basket, skillless
from tests.sweeps import ALL

pytestmark = pytest.mark.timeout(1800)
HOURS = 7 * 24.0 if ALL else 12.0
VENUES = range(len(weeks.SYMBOLS) if ALL else 1)
AGENTS = 67 if ALL else 40
"""Of each session."""
PATIENT = Budgets(price_s=600.0, quote_s=600.0, book_s=600.0)
"""For a crowd that acts twice a minute: else agents could hardly trade, and would be like cash for that."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[int, weeks.SimulatedSession]:
    folder = tmp_path_factory.mktemp("weeks")
    return {number: weeks.session(number, HOURS, folder / f"{number}.tape") for number in VENUES}


@pytest.mark.parametrize("number", VENUES)
def test_a_bar_is_the_venues_own_or_is_flagged(sessions: dict[int, weeks.SimulatedSession], number: int) -> None:
    one = sessions[number]
    machine, terms = one.machine, one.machine.terms
    [symbol] = terms.instruments
    listing = one.exchange.listings[symbol]
    # Of the last bar nobody can know yet that its last trade was lost.
    edges = [machine.first_bar + row * terms.interval for row in range(terms.lookback + terms.steps - 1)]
    trades: dict[int, list[tuple[float, float]]] = {edge: [] for edge in edges}
    for trade in one.exchange.trades[symbol]:
        edge = trade.time - trade.time % terms.interval
        if edge in trades:
            trades[edge].append((float(trade.price * listing.tick), float(trade.quantity * listing.lot)))
    found = Counter[str]()
    for row, edge in enumerate(edges):
        prices = [price for price, _ in trades[edge]]
        size = math.fsum(size for _, size in trades[edge])
        bar = machine.bars[row, 0].tolist()
        if prices:
            true = bar == pytest.approx([prices[0], max(prices), min(prices), prices[-1], size], rel=1e-9)
        else:
            true = bar[4] == 0.0
        complete = machine.complete(row, 0)
        assert true or not complete, f"bar {row} is {bar} and lacks trades, and nothing says so"
        found["true" if true else "wrong"] += 1
        found["flagged"] += not complete
    assert found["wrong"] >= HOURS / 12  # what went wrong is not made good everywhere
    assert found["flagged"] == machine.incomplete <= 0.15 * len(edges)
    assert any(mark.info["amended"] for mark in one.marks)
    assert sum(bool(mark.info["incomplete"]) for mark in one.marks) > machine.incomplete  # what was filled in since


def test_what_went_wrong_was_noticed(sessions: dict[int, weeks.SimulatedSession]) -> None:
    with TapeReader(sessions[0].tape) as reader:
        told = Counter(record.json()["kind"] for record in reader if record.kind is RecordKind.TOLD)
    halves = int(HOURS / 12)
    assert told["clock"] == 1
    assert told["lost"] >= 5 * halves
    assert told["silent"] >= halves
    assert told["refused"] >= halves
    assert told["lagging"] >= halves


@pytest.mark.parametrize("number", VENUES)
def test_a_replay_gives_the_same_states_fills_and_marks(
    sessions: dict[int, weeks.SimulatedSession], number: int
) -> None:
    one = sessions[number]
    machine, found = replayed(one.tape)
    assert found.difference is None
    assert found.checkpoints >= HOURS
    assert machine.digest() == one.machine.digest()
    assert machine.record.tobytes() == one.machine.record.tobytes()
    assert machine.bars.tobytes() == one.machine.bars.tobytes()
    with TapedSession(one.tape) as taped:
        marks = [taped.begin(), *(taped.step(action) for action in one.actions)]
    assert marks == one.marks
    assert sum(len(mark.observation["fills"]) for mark in marks) > HOURS  # type: ignore[arg-type]


def test_another_agent_on_the_same_tape(sessions: dict[int, weeks.SimulatedSession]) -> None:
    one = sessions[0]

    def actions() -> Agent:
        return lambda mark: one.actions[mark.number]

    def other(mark: Mark) -> object:
        return {"weights": [0.5 if mark.number % 2 else -0.5]}

    own, same, cash, another = tournament(one.tape, [actions(), actions(), lambda _: None, other])
    # Each as if it were alone, and the tape's own agent as it was.
    assert own.record.tobytes() == same.record.tobytes() == one.machine.record.tobytes()
    assert (cash.record[:, 0] == weeks.CASH).all()
    with TapedSession(one.tape) as taped:
        mark = taped.begin()
        while not mark.done:
            mark = taped.step(other(mark))
        assert taped.outcome().tobytes() == another.record.tobytes() != own.record.tobytes()


def test_agents_without_skill_are_not_called_better(sessions: dict[int, weeks.SimulatedSession]) -> None:
    called, knowing = Counter[str](), Counter[str]()
    traded = 0
    for number, one in sessions.items():
        agents = [skillless(number + 3 * agent if ALL else agent) for agent in range(AGENTS)]
        accounts = tournament(one.tape, [*agents, _hindsight(one)], budgets=PATIENT)
        *verdicts, oracle = better_than_cash_and_basket(one.machine, [account.record for account in accounts], number)
        traded += sum(account.record[:, 1].any() for account in accounts[:-1])
        for names, counts in [*((found, called) for found in verdicts), (oracle, knowing)]:
            counts.update(names)
    assert traded >= 0.9 * AGENTS * len(sessions)
    assert knowing["cash"] == len(sessions)  # the test does tell skill
    assert max(called["cash"], called["basket"]) <= 0.05 * AGENTS * len(sessions), called


def _hindsight(one: weeks.SimulatedSession) -> Agent:
    """Knows the next closes, and trades where they pay for it."""
    closes = one.machine.bars[one.machine.terms.lookback - 1 :, 0, 3]

    def act(mark: Mark) -> object:
        ahead = closes[min(mark.number + 12, len(closes) - 1)] / closes[mark.number] - 1.0
        return {"weights": [float(np.sign(ahead))]} if abs(ahead) > (0.005 if ALL else 0.003) else None

    return act


def test_the_same_session_twice_is_the_same_tape(tmp_path: Path) -> None:
    digests = set()
    for name in ("a.tape", "b.tape"):
        one = weeks.session(1, 3.0, tmp_path / name)
        with TapeReader(one.tape) as reader:
            records = [(record.kind, record.at, record.connection, record.payload) for record in reader]
        digests.add(hash(tuple(records)))
    assert len(digests) == 1


def test_the_tape_of_a_killed_session_is_readable(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, pathlib, time\n"
        "from tests.openfingym.market import simulated_weeks as weeks\n"
        "def agent(mark):\n"
        "    if mark.number == 20:\n"
        "        time.sleep(0.05)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return {'weights': [0.5]}\n"
        "weeks.session(2, 3.0, pathlib.Path(sys.argv[1]), agent)\n"
    )
    tape = tmp_path / "killed.tape"
    root = Path(weeks.__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program, tape], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    count = Counter[RecordKind]()
    with TapeReader(tape) as reader, pytest.raises(TapeError, match="killed"):
        count.update(record.kind for record in reader)
    assert count[RecordKind.DECIDED] >= 10
    assert count[RecordKind.CHECKPOINT] >= 1
