"""Deferred rollouts on the real clock: coins, stocks over days, and questions of the ledger; asked once for those that
begin together, and settled by another process.

Attacks: a rollout that begins later than others with the same questions, for the market's moves since the price that
all are shown (the price at each submission is recorded); and made-up questions, named for a rollout on the real clock,
for a score that claims to be of the real world.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import numpy as np
import pytest

from openfingym import store
from openfingym.market.sim.local import local_binance
from openfingym.questions import Question, moment_ns
from openfingym.questions.trading_days import _around
from openfingym.results import read_run
from openfingym.rollouts.syncing import sync
from openfingym_verifier.audit.log import verify_chain
from tests.openfingym.questions.providers.served import serve
from tests.verifier.deferred_runs import ASKED, quick_task, refused, rows, running, shown_of

REAL = {"clock": "real"}
SECOND = 10**9
FORECASTS = (
    "SELECT rollout_id, name, reference FROM forecasts JOIN questions ON questions.id = question WHERE counts = 1"
    " ORDER BY forecasts.id"
)


def test_coins_are_asked_about_from_the_live_buffer_and_settled_by_another_process(tmp_path, monkeypatch):
    symbols = ["BTCUSDT", "ETHUSDT"]
    changes = {"markets": symbols, "horizons": [13, 14, 15, 16], "bar_s": 1, "window_s": 10}
    package = quick_task(tmp_path, "crypto-forecast-live", "quick-coins", changes)
    state = tmp_path / "state"
    with local_binance(symbols, seed=1, before_s=40.0) as venue:
        monkeypatch.setenv("OPENFINGYM_BINANCE_URL", venue.rest_url)
        monkeypatch.setenv("OPENFINGYM_BINANCE_STREAM_URL", venue.stream_url)
        with running(package, state) as client:
            with ThreadPoolExecutor(3) as pool:
                begun = [
                    pool.submit(client.create_rollout, "quick-coins", agent=f"a{n}", questions=REAL) for n in "123"
                ]
            tickets = [one.result() for one in begun]
            shown = [shown_of(client, ticket) for ticket in tickets]
            for one in shown:  # they began together
                np.testing.assert_array_equal(one["inputs"], shown[0]["inputs"])
                np.testing.assert_array_equal(one["times"], shown[0]["times"])
            assert rows(state, "SELECT count(*) FROM questions") == [(ASKED,)]
            values = np.tile(np.linspace(-0.01, 0.01, 5), (ASKED, 1))
            assert "malformed-action" in refused(lambda: client.walk(tickets[0].token, values[:, ::-1])), "they cross"
            for ticket in tickets[:2]:
                client.walk(ticket.token, values)
                assert client.finalize(ticket.rollout_id).state == "deferred"
        kept = [json.loads(one[2]) for one in rows(state, FORECASTS)]
        assert len(kept) == 2 * ASKED
        assert {one["source"] for one in kept} <= {"live buffer of binance"} | {
            f"{venue.rest_url}/api/v3/ticker/price?symbol={symbol}" for symbol in symbols
        }
        assert "live buffer of binance" in {one["source"] for one in kept}
        until = time.monotonic() + 60.0
        with running(package, state) as client:
            while client.finalize(tickets[1].rollout_id).state == "deferred":
                assert time.monotonic() < until, client.questions.status()
                client.questions.resolve(everything=True)
                time.sleep(0.2)
            final = [client.finalize(ticket.rollout_id) for ticket in tickets[:2]]
    assert [one.state for one in final] == ["scored", "scored"]
    assert final[0].total == final[1].total > 0.0
    assert verify_chain(state).entries > 0


SHIFTED = """
import os, pathlib, time
_own = time.time_ns
time.time_ns = lambda: _own() + int(pathlib.Path(os.environ["TEST_SHIFT"]).read_text())
time.time = lambda: time.time_ns() / 1e9
"""
"""Python runs this at the start of every process of the test: the verifier's clock is that of another day."""


@pytest.fixture
def set_clock(tmp_path, monkeypatch):
    """Sets the clock of verifiers that start from then on."""
    shift = tmp_path / "shift"
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(SHIFTED)
    monkeypatch.setenv("TEST_SHIFT", str(shift))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "clock"), prepend=":")
    return lambda now: shift.write_text(str(moment_ns(now) - time.time_ns()))


@pytest.fixture
def yahoo(set_clock, monkeypatch):
    """Yahoo's charts on this machine, by the clock that ``yahoo.set`` sets."""
    with serve() as service:
        monkeypatch.setenv("OPENFINGYM_YAHOO_URL", service.url)

        def set_both(now: str) -> None:
            service.now_ns = moment_ns(now)
            set_clock(now)

        def chart(symbol: str) -> dict[str, Any]:
            known = [day for day in _around("XNYS", date(2026, 11, 1)) if day.opens_ns <= service.now_ns]
            closes = [100.0 + day.day.toordinal() % 7 for day in known]
            columns = dict.fromkeys(("open", "high", "low", "close", "volume"), closes)
            meta = {"currency": "USD", "symbol": symbol, "exchangeTimezoneName": "America/New_York"}
            result = {
                "meta": {**meta, "regularMarketPrice": 100.0, "regularMarketTime": service.now_ns // SECOND},
                "timestamp": [day.opens_ns // SECOND for day in known],
                "indicators": {"quote": [columns], "adjclose": [{"adjclose": closes}]},
            }
            return {"chart": {"result": [result], "error": None}}

        service.set, service.chart = set_both, chart
        yield service


def test_stocks_are_resolved_at_the_closes_of_their_exchange_days_and_restarts_later(yahoo, tmp_path):
    symbols = ["AAPL", "SPY"]
    for symbol in symbols:
        yahoo.answers[f"/v8/finance/chart/{symbol}"] = lambda _, symbol=symbol: yahoo.chart(symbol)
    changes = {"markets": symbols, "horizons": [1, 2, 3, 4], "window_s": 1800}
    package = quick_task(tmp_path, "equity-forecast-live", "quick-stocks", changes)
    state, said = tmp_path / "state", np.array([-0.05, 0.05])
    yahoo.set("2026-11-24T15:00:00Z")
    with running(package, state) as client:
        ticket = client.create_rollout("quick-stocks", agent="tester", questions=REAL)
        assert len(yahoo.asked) == len(symbols)
        client.walk(ticket.token, np.tile(said, (ASKED, 1)))
        first = client.finalize(ticket.rollout_id)
        assert (first.state, first.questions["resolved_from"]) == ("deferred", "2026-12-01T21:00:00Z")
        until = time.monotonic() + 30.0
        while None in (shown := [one[2] for one in rows(state, FORECASTS)]):
            assert time.monotonic() < until, "no price was captured"
            time.sleep(0.1)
        assert {json.loads(one)["price"] for one in shown} == {100.0}
    # The day before Thanksgiving has closed; on the half day after it the close has not settled yet.
    yahoo.set("2026-11-27T18:30:00Z")
    with running(package, state) as client:
        done = client.questions.resolve(everything=True)
        assert (done["resolved"], done["waiting"]) == (2, 2)
        assert client.finalize(ticket.rollout_id).state == "deferred"
    yahoo.set("2026-12-02T15:00:00Z")
    with running(package, state) as client:
        assert client.questions.resolve(everything=True)["resolved"] == ASKED - 2
        final = client.finalize(ticket.rollout_id)
    days = [date(2026, 11, 25), date(2026, 11, 27), date(2026, 11, 30), date(2026, 12, 1)]
    moves = np.array([(day.toordinal() % 7) / 100.0 for day in days for _ in symbols])[:ASKED]
    outside = np.maximum(said[0] - moves, 0.0) + np.maximum(moves - said[1], 0.0)
    assert final.state == "scored"
    assert final.total == pytest.approx((0.1 + 40.0 * outside).mean())


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return quick_task(tmp_path_factory.mktemp("events"), "event-forecast", "quick-events")


def ask(client: Any, names: str, deadline_s: float, evaluation_s: float, **more: Any) -> tuple[str, ...]:
    now = time.time_ns()
    times = {"generated_ns": now - SECOND, "deadline_ns": now + int(deadline_s * SECOND)}
    times["evaluation_ns"] = now + int(evaluation_s * SECOND)
    made = [
        Question(
            **{"id": f"e/{one}", "text": f"Will {one}?", "form": "probability", "provider": "manual", **times, **more}
        )
        for one in names
    ]
    client.questions.ask(made)
    return tuple(one.id for one in made)


def test_a_task_without_a_market_is_asked_the_ledgers_open_questions_or_those_that_are_named(events, tmp_path):
    state = tmp_path / "state"
    with running(events, state) as client:

        def begin(*names: str) -> Any:
            return client.create_rollout("quick-events", agent="tester", questions={**REAL, "names": list(names)})

        assert "0 questions of the form probability take answers" in refused(begin)
        ask(client, "x", 3.0, 100.0)  # which takes answers for too short a time
        assert "0 questions" in refused(begin)
        ask(client, "ab", 1000.0, 2000.0)
        ask(client, "c", 1000.0, 1500.0)
        ask(client, "v", 1000.0, 1500.0, form="value", unit="USD")
        ask(client, "s", 1000.0, 1500.0, provider="simulated", query={"market": "m"})
        one, other = begin(), begin()
        for ticket in (one, other):
            shown = shown_of(client, ticket)
            assert [str(text) for text in shown["texts"][:-4]] == ["Will c?", "Will a?", "Will b?"]
            assert all("Nothing is asked" in str(text) for text in shown["texts"][-4:])
            assert shown["inputs"][0, -1] == pytest.approx(1500.0 / 86_400.0, rel=0.05)
            client.walk(ticket.token, np.linspace(0.1, 0.9, ASKED))
        assert client.finalize(one.rollout_id).questions["asked"] == 3
        found = rows(state, FORECASTS)
        assert [row[1] for row in found] == 2 * ["e/c", "e/a", "e/b"]
        for names, said in (
            (("e/a", "e/none"), "no question 'e/none'"),
            (("e/a", "e/v"), "has the form value"),
            (("e/a", "e/s"), "is SIMULATED"),
            (("e/a",), "1 questions are named"),
            (("e/a", "e/a"), "each once"),
        ):
            assert said in refused(lambda names=names: begin(*names))
        assert "simulated" in refused(
            lambda: client.create_rollout("quick-events", questions={"clock": "simulated", "names": ["e/a"]})
        )


def test_each_question_is_answered_until_its_own_deadline_and_unused_rows_change_no_score(events, set_clock, tmp_path):
    state = tmp_path / "state"
    at = {name: moment_ns(f"2026-11-24T{name}:00:00Z") for name in ("10", "11", "13", "14")}
    set_clock("2026-11-24T10:00:01Z")
    with running(events, state) as client:
        made = [
            Question(f"e/{name}", "Will it?", "probability", at["10"], at[deadline], at["14"], "manual")
            for name, deadline in (("a", "11"), ("b", "11"), ("c", "13"), ("d", "13"))
        ]
        client.questions.ask(made)
        order = {**REAL, "names": [one.id for one in made]}
        tickets = [client.create_rollout("quick-events", agent=f"a{n}", questions=order) for n in range(3)]
        for ticket, unused in zip(tickets[:2], (0.0, 1.0), strict=True):
            client.walk(ticket.token, np.array([0.2, 0.4, 0.6, 0.8, *[unused] * 3]))
        shown_of(client, tickets[2])
    set_clock("2026-11-24T12:00:00Z")
    with running(events, state) as client:
        # What is said of those whose deadline has passed does not count.
        client.walk(tickets[2].token, np.array([1.0, 1.0, 0.3, 0.7, *[0.0] * 3]))
        for ticket in tickets:
            client.finalize(ticket.rollout_id)
    set_clock("2026-11-24T15:00:00Z")
    with running(events, state) as client:
        for one in made:
            client.questions.decide(one.id, 1.0, evidence={"seen": "x"})
        totals = [client.finalize(ticket.rollout_id).total for ticket in tickets]
    losses = [np.array(one) ** 2 for one in ([0.8, 0.6, 0.4, 0.2], [0.8, 0.6, 0.4, 0.2], [0.7, 0.3])]
    assert totals == pytest.approx([one.mean() for one in losses])


def test_a_killed_run_goes_on_and_is_settled_once_its_questions_are_decided(events, set_clock, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    out, state = tmp_path / "out", store.ledger_folder()
    at = [moment_ns(f"2026-11-24T{hour}:00:00Z") for hour in (10, 14, 16)]
    made = [Question(f"e/{name}", "Will it?", "probability", *at, "manual") for name in "abc"]
    set_clock("2026-11-24T11:00:00Z")
    with running(events, state) as client:
        client.questions.ask(made)
    names = ["--agent", "naive", "--agent", "logistic", "--backend", "inline", "--concurrency", "1", "--clock", "real"]
    task = str(events.public.parent / "quick-events")
    command = [
        sys.executable,
        "-m",
        "openfingym",
        "rollout",
        "--tasks",
        task,
        *names,
        "--seeds",
        "2",
        "--out",
        str(out),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not any(out.glob("*/*/result.json")):
            time.sleep(0.02)
        process.kill()
    subprocess.run(command, check=True, capture_output=True)
    results = [read_run(path.parent) for path in out.glob("*/*/result.json")]
    assert sorted((one.agent, one.seed, one.state) for one in results) == [
        (agent, seed, "deferred") for agent in ("logistic", "naive") for seed in (0, 1)
    ]
    kept = {one.rollout_id for one in results}
    asked = rows(state, "SELECT rollout_id, question FROM rollout_questions")
    assert {question for rollout, question in asked if rollout in kept} == {1, 2, 3}
    set_clock("2026-11-24T17:00:00Z")
    with running(events, state) as client:
        # The package as the run built it is the same: its digest is.
        for one in made:
            client.questions.decide(one.id, 1.0, evidence={"seen": "x"})
        assert [one.changed for one in sync(out, client)] == [True] * 4
    assert {read_run(path.parent).state for path in out.glob("*/*/result.json")} == {"scored"}
