"""Deferred rollouts: asked, answered, ended, and settled once what was asked is resolved, across restarts."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from openfingym.packages.package import BuiltPackage
from openfingym_verifier.audit.log import verify_chain
from tests.openfingym.questions.providers.served import serve
from tests.verifier.deferred_runs import ASKED, begin, quick_markets, refused, rows, running, shown_of, truths_of

PAID = (1.0, 0.0, 0.5, 0.0, 1.0, 0.0)
"""What its real markets pay, but for the last one, which is never decided."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    return quick_markets(tmp_path_factory.mktemp("deferred"))


def test_a_simulated_rollout_is_deferred_and_settled_across_restarts(package, tmp_path):
    state = tmp_path / "state"
    said = np.linspace(0.1, 0.9, ASKED)
    with running(package, state) as client:
        ticket = begin(client)
        # The stored questions are practised on; what is shown of the others is theirs.
        practised = client.walk(ticket.token, np.full(package.manifest.n_public, 0.5), "public")
        assert practised.info["feedback"]["total"] > 0.0
        assert not client.data(ticket.rollout_id), "no hidden question is in a file"
        shown = shown_of(client, ticket)
        assert shown["inputs"].shape == (ASKED, 7)
        assert all("SIMULATED" in str(text) for text in shown["texts"])
    with running(package, state) as client:
        np.testing.assert_array_equal(shown_of(client, ticket)["inputs"], shown["inputs"])
        assert rows(state, "SELECT count(*) FROM forecasts") == [(0,)], "nothing is answered yet"
        client.walk(ticket.token, said)
        assert rows(state, "SELECT count(*) FROM forecasts") == [(ASKED,)]
    with running(package, state) as client:
        again = client.step(ticket.token, 2, 1, {"predictions": said.tolist()})
        assert (again.done, again.info["windows_left"]) == (True, 0), "a repetition is answered the same"
        assert rows(state, "SELECT count(*) FROM forecasts") == [(ASKED,)]
        assert "episodes-exhausted" in refused(lambda: client.start_episode(ticket.token)), "an answer stays"
        first = client.finalize(ticket.rollout_id)
        assert (first.state, first.total, first.questions["open"]) == ("deferred", None, ASKED)
        assert client.finalize(ticket.rollout_id) == first
        assert client.rollout_status(ticket.rollout_id).state == "deferred"
    with running(package, state) as client:
        final = client.settle(ticket.rollout_id)
        assert client.finalize(ticket.rollout_id) == final == client.settled(ticket.rollout_id)
        events = [row.entry["event"] for row in client.log(ticket.rollout_id)]
    assert events.count("settled") == events.count("finalized") == 1
    assert events.count("forecast") == ASKED
    assert events.count("played") == events.count("practised") == 1
    truths = truths_of(state, ticket.rollout_id)
    price = shown["inputs"][:, 0]
    assert final.state == "scored"
    assert final.total == pytest.approx(((said - truths) ** 2).mean(), rel=1e-12)
    assert final.baseline_total == pytest.approx(((price - truths) ** 2).mean(), rel=1e-12)
    assert final.questions == {**first.questions, "scored": ASKED, "open": 0}
    # The deferred result stays beside the final one, and the ledger says the same of each answer.
    ((kept,),) = rows(state, "SELECT json_extract(result, '$.state') FROM rollouts")
    assert kept == "deferred"
    losses = rows(state, "SELECT loss, market_loss FROM forecasts WHERE counts = 1 ORDER BY question")
    np.testing.assert_allclose([row[0] for row in losses], (said - truths) ** 2)
    np.testing.assert_allclose([row[1] for row in losses], (price - truths) ** 2)
    assert verify_chain(state).entries > 0


def market(number: int, ends: datetime) -> dict[str, Any]:
    return {
        "id": str(number),
        "question": f"Will {number} happen?",
        "description": "By the official source.",
        "conditionId": f"0x{number:064x}",
        "endDate": ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "outcomes": '["Yes", "No"]',
        "outcomePrices": '["0.35", "0.65"]',
        "clobTokenIds": f'["{number}1", "{number}2"]',
        "active": True,
        "closed": False,
        "acceptingOrders": True,
        "bestBid": 0.34,
        "bestAsk": 0.36,
        "oneDayPriceChange": 0.01,
        "volume24hr": 1234.5,
    }


@pytest.fixture
def polymarket(monkeypatch):
    """Polymarket's services on this machine, with markets that end eight seconds later than they must: a busy machine
    may need them to list those."""
    with serve() as service:
        for name in ("POLYMARKET", "POLYMARKET_DATA", "POLYMARKET_CLOB"):
            monkeypatch.setenv(f"OPENFINGYM_{name}_URL", service.url)
        service.ends = datetime.now(UTC)
        shown = {number: market(number, service.ends) for number in range(100, 100 + ASKED + 1)}
        shown[100] |= {"bestBid": 0, "outcomes": None}  # which cannot be asked about

        def listed(query: dict[str, str]) -> list[dict[str, Any]]:
            service.ends = datetime.fromisoformat(query["end_date_min"]) + timedelta(seconds=8)
            ends = service.ends.strftime("%Y-%m-%dT%H:%M:%SZ")
            return [one | {"endDate": ends} for one in shown.values()] if query["offset"] == "0" else []

        service.answers["/markets"] = listed
        for number, one in shown.items():
            service.answers[f"/markets/{number}"] = one
            for outcome in "12":
                book = {"bids": [{"price": "0.34", "size": "5"}], "asks": [{"price": "0.36", "size": "5"}]}
                service.answers["/book"] = {**book, "asset_id": f"{number}{outcome}", "timestamp": "1730000000123"}
        service.shown = shown
        yield service


def decide(service: Any, number: int, paid: float) -> None:
    one = service.shown[number]
    text = f'["{paid:g}", "{1 - paid:g}"]'
    one |= {"closed": True, "acceptingOrders": False, "umaResolutionStatus": "resolved", "outcomePrices": text}
    condition = one["conditionId"]
    row = {"condition_id": condition, "status": "resolved", "payouts": [int(paid * 1e6), int((1 - paid) * 1e6)]}
    resolutions = service.answers.setdefault("resolutions", {})
    resolutions[condition] = {**row, "resolved_at": service.ends.strftime("%Y-%m-%dT%H:%M:%SZ")}
    service.answers["/v2/resolutions"] = lambda query: {
        "data": [resolutions[query["condition_id"]]] if query["condition_id"] in resolutions else []
    }


def test_a_rollout_on_the_real_clock_is_settled_by_another_process_when_its_markets_are_resolved(
    package, polymarket, tmp_path
):
    state = tmp_path / "state"
    with running(package, state) as client:
        ticket = begin(client, "real")
        doomed = begin(client, "real", "doomed")
        shown = shown_of(client, ticket)
        assert "Will 101 happen?" in str(shown["texts"][0])
        np.testing.assert_allclose(shown["inputs"][:, :3], np.tile([0.35, 0.34, 0.36], (ASKED, 1)))
        np.testing.assert_array_equal(shown_of(client, doomed)["texts"], shown["texts"])
        client.walk(ticket.token, np.full(ASKED, 0.2))
        assert client.finalize(ticket.rollout_id).state == "deferred"
        assert "simulated clock" in refused(lambda: client.settle(ticket.rollout_id))
        assert client.questions.resolve()["resolved"] == 0
    time.sleep(max(0.0, (polymarket.ends - datetime.now(UTC)).total_seconds() + 0.2))
    for number, paid in zip(range(101, 100 + ASKED), PAID, strict=True):
        decide(polymarket, number, paid)
    with running(package, state) as client:
        assert "deadline-passed" in refused(lambda: client.walk(doomed.token, np.ones(ASKED)))
        late = client.finalize(doomed.rollout_id)
        assert (late.state, late.reason) == ("rejected", "1 of 1 windows of the private fold were left unanswered")
        done = client.questions.resolve()
        # Both were asked the same, as they began together.
        assert (done["resolved"], done["waiting"]) == (ASKED - 1, 1)
        assert client.finalize(ticket.rollout_id).state == "deferred"  # one is still open
    with running(package, state) as client:
        # After two weeks, here none, the last one is void; the score is on the others.
        (name,) = rows(
            state, "SELECT name FROM questions WHERE state = 'resolvable' AND name LIKE ?", f"{ticket.rollout_id}%"
        )[0]
        client.questions.decide(name, None, evidence={"seen": "nothing"}, reason="nobody decided it")
        final = client.finalize(ticket.rollout_id)
    truths = np.array(PAID)
    assert (final.state, final.questions["void"], final.questions["simulated"]) == ("scored", 1, False)
    assert final.total == pytest.approx(((0.2 - truths) ** 2).mean(), rel=1e-12)
    assert final.baseline_total == pytest.approx(((0.35 - truths) ** 2).mean(), rel=1e-12)
    with running(package, state) as client:
        assert client.finalize(ticket.rollout_id) == final


def test_too_few_truths_make_a_rollout_void(package, tmp_path):
    state = tmp_path / "state"
    with running(package, state) as client:
        ticket = begin(client)
        client.walk(ticket.token, np.full(ASKED, 0.5))
        client.finalize(ticket.rollout_id)
        client.questions.advance(f"rollout/{ticket.rollout_id}", 2 * 10**18)
        for row in range(ASKED // 2 + 1):
            name = f"{ticket.rollout_id}/{row}"
            client.questions.decide(name, None, evidence={"seen": "x"}, reason="cancelled")
        client.questions.resolve()
        final = client.finalize(ticket.rollout_id)
    assert (final.state, final.total, final.baseline_total) == ("void", None, None)
    assert final.questions["void"] == ASKED // 2 + 1


def test_without_an_answer_there_is_nothing_to_wait_for(package, tmp_path):
    with running(package, tmp_path / "state") as client:
        ticket = begin(client)
        result = client.finalize(ticket.rollout_id)
    assert (result.state, result.baseline_total) == ("rejected", None)
