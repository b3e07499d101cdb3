"""Sessions in simulated time that cannot go on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.errors import SubmissionError, UsageError, VenueError
from openfingym.market.session.account import Agent
from openfingym.market.session.simulated import simulated_session
from openfingym.market.session.terms import SessionTerms
from openfingym.market.session.tournament import tournament
from openfingym.market.sim.binance import BinanceVenue
from openfingym.market.sim.faults import Faults, VenueFault
from openfingym.market.sim.local import crowded_exchange
from openfingym.market.tape import RecordKind
from openfingym.market.tape_reader import TapeReader
from tests.openfingym.market.simulated_weeks import RULES, SECOND, START

TERMS = SessionTerms(("btc",), ("BTCUSDT",), 60, 5, 2, 1000.0, RULES)


def begun(tape: Path, agent: Agent, *faults: VenueFault, pass_s: float = 1.0) -> None:
    exchange = crowded_exchange(["BTCUSDT"], seed=0, now=START, before_s=300.0, rate=0.2)
    simulated_session(BinanceVenue(exchange, Faults(faults)), TERMS, tape, agent, pass_s=pass_s)


def test_a_malformed_action_ends_it_and_names_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match="weights"):
        begun(tmp_path / "a.tape", lambda _: {"weights": [0.1, 0.2]})


def test_a_venue_that_never_answers_is_told(tmp_path: Path) -> None:
    with pytest.raises(VenueError, match="no mark came within 720 s of simulated time"):
        begun(tmp_path / "a.tape", lambda _: None, VenueFault("abort"))


def test_an_agent_is_told_that_the_venue_has_gone_and_the_session_goes_on(tmp_path: Path) -> None:
    seen = []
    begun(tmp_path / "a.tape", lambda mark: seen.append(mark.info["gap"]), VenueFault("abort", START + 200 * SECOND))
    assert [bool(gap) for gap in seen] == [False, False, False, True, True]


@pytest.mark.parametrize("pass_s", [0.0, -1.0, float("nan")])
def test_time_that_is_never_looked_at(tmp_path: Path, pass_s: float) -> None:
    with pytest.raises(UsageError, match="the machine cannot look at the time each"):
        begun(tmp_path / "a.tape", lambda _: None, pass_s=pass_s)


def test_an_agent_of_a_tournament_that_sends_nonsense(tmp_path: Path) -> None:
    begun(tmp_path / "a.tape", lambda _: None)
    with pytest.raises(SubmissionError, match="weights"):
        tournament(tmp_path / "a.tape", [lambda _: {"weights": "all"}])


def test_a_session_whose_books_are_cut_off_gets_no_better_prices_and_asks_for_more_of_them(tmp_path: Path) -> None:
    """Orders that each agent gives alone, so that none of them takes another one's liquidity."""
    terms = SessionTerms(("btc",), ("BTCUSDT",), 4, 7, 2, 1e6, replace(RULES, lot=0.00001))
    fills: dict[int, list[float]] = {}
    for levels in (10, 5000):
        exchange = crowded_exchange(["BTCUSDT"], seed=3, now=START, before_s=10.0, rate=10.0)
        tape = tmp_path / f"{levels}.tape"
        simulated_session(BinanceVenue(exchange), terms, tape, lambda _: None, levels=levels)
        with TapeReader(tape) as reader:
            asked = sum(record.kind is RecordKind.ASKED and b"/depth" in bytes(record.payload) for record in reader)
        assert (asked > 2) if levels == 10 else (asked == 1), asked
        agents = [_buyer(number, quantity) for number in range(0, 7, 3) for quantity in (0.01, 2.0)]
        accounts = tournament(tape, agents)
        fills[levels] = [(1e6 - account.executor.cash, account.executor.position[0]) for account in accounts]
    for (paid, bought), (true_paid, true_bought) in zip(fills[10], fills[5000], strict=True):
        assert bought <= true_bought
        assert paid == true_paid or bought < true_bought


def _buyer(number: int, quantity: float) -> Agent:
    order = {"symbol": "btc", "side": "buy", "quantity": quantity, "time_in_force": "ioc"}
    return lambda mark: {"orders": [order]} if mark.number == number else None
