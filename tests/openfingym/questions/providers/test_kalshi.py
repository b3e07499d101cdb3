"""Kalshi in its wire format, from before the market opens until it is in the archive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import DataError, UsageError, VenueError
from openfingym.questions import moment_ns
from openfingym.questions.providers.kalshi import Kalshi
from openfingym.questions.web import WebReply
from tests.openfingym.questions.providers.questions import END, ask
from tests.openfingym.questions.providers.served import Raw

TICKER = "KXBTCD-26NOV2017-T95000"
FINAL = {
    "ticker": TICKER,
    "event_ticker": "KXBTCD-26NOV2017",
    "market_type": "binary",
    "close_time": "2026-11-20T22:00:00Z",
    "status": "finalized",
    "result": "yes",
    "settlement_value_dollars": "1.0000",
    "settlement_ts": "2026-11-20T22:07:31Z",
    "expiration_value": "95321.44",
    "settlement_timer_seconds": 60,
    "yes_bid_dollars": "0.9900",
    "yes_ask_dollars": "1.0000",
    "last_price_dollars": "0.9900",
    "strike_type": "greater",
    "floor_strike": 95000,
    "cap_strike": None,
}


def resolve(service, form="probability", **query):
    kalshi = Kalshi(service.web)
    question = ask("kalshi", {"market": TICKER, **query}, form)
    kalshi.check(question)
    found = kalshi.answers([question], END)[question.id]
    kalshi.close()
    if isinstance(found, Exception):
        raise found
    return found


def show(service, tier="", **changes):
    service.answers[f"{tier}/markets/{TICKER}"] = {"market": {**FINAL, **changes}}


def test_a_finalized_market_pays_its_settlement_value(service):
    show(service)
    found = resolve(service)
    assert (found.status, found.truth) == ("resolved", 1.0)
    assert found.provider_ns == moment_ns("2026-11-20T22:00:00Z"), "it closed before it was settled"
    assert found.evidence["expiration_value"] == "95321.44"
    assert resolve(service, outcome="No").truth == 0.0
    assert resolve(service, "choice").truth == (1.0, 0.0)


@pytest.mark.parametrize("status", ["initialized", "inactive", "active", "closed", "determined", "disputed", "amended"])
def test_no_other_status_is_final(service, status):
    show(service, status=status)
    found = resolve(service)
    assert (found.status, found.truth, found.reason) == ("waiting", None, f"its status is '{status}', not final")


def test_determined_then_disputed_then_amended_to_another_result(service):
    for status in ("determined", "disputed"):
        show(service, status=status)
        assert resolve(service).status == "waiting"
    show(service, status="amended", result="no", settlement_value_dollars="0.0000")
    assert resolve(service).status == "waiting"
    show(service, result="no", settlement_value_dollars="0.0000")
    assert resolve(service).truth == 0.0


@pytest.mark.parametrize(
    ("changes", "truth"),
    [
        ({"result": "scalar", "settlement_value_dollars": "0.372500"}, 0.3725),
        ({"result": "yes", "settlement_value_dollars": "0.5000"}, 0.5),
        ({"result": "no", "settlement_value_dollars": None, "settlement_value": 0}, 0.0),
        ({"result": "scalar", "settlement_value_dollars": "", "settlement_value": 37}, 0.37),
        ({"result": "all_no", "settlement_value_dollars": None}, 0.0),
        ({"result": "all_yes", "settlement_value_dollars": None}, 1.0),
    ],
)
def test_scalar_partial_and_older_settlements(service, changes, truth):
    show(service, **changes)
    assert resolve(service).truth == truth


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"result": "", "settlement_value_dollars": None}, "without a settlement value"),
        ({"result": "scalar", "settlement_value_dollars": None}, "without a settlement value"),
        ({"result": "no"}, "contradicts itself"),
    ],
)
def test_what_is_finalized_without_a_clear_value_waits(service, changes, why):
    show(service, **changes)
    found = resolve(service)
    assert found.status == "waiting"
    assert why in found.reason


def test_a_void_market_has_no_truth(service):
    show(service, result="void", settlement_value_dollars=None)
    assert resolve(service).status == "void"


def test_what_was_settled_months_ago_is_in_the_historical_part(service):
    show(service, "/historical")
    assert resolve(service).truth == 1.0
    assert service.asked == [f"/markets/{TICKER}", f"/historical/markets/{TICKER}"]


def test_a_market_that_is_in_neither_part_waits_as_an_orphan(service):
    assert resolve(service).reason.startswith("orphaned")


def test_many_markets_are_asked_for_together_and_the_missing_ones_alone(service):
    tickers = [f"KX-{number}" for number in range(150)]
    listed = {ticker: {**FINAL, "ticker": ticker, "result": "yes"} for ticker in tickers[1:]}

    def markets(query):
        asked = query["tickers"].split(",")
        return {"markets": [listed[one] for one in asked if one in listed] + [{**FINAL, "ticker": "KX-OTHER"}]}

    service.answers["/markets"] = markets
    service.answers["/historical/markets/KX-0"] = {"market": {**FINAL, "ticker": "KX-0"}}
    questions = [ask("kalshi", {"market": ticker}, id=f"{ticker}/{copy}") for ticker in tickers for copy in range(2)]
    found = Kalshi(service.web).answers(questions, END)
    assert {answer.truth for answer in found.values()} == {1.0}
    assert len(found) == 300
    assert len(service.asked) == 4


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"market": {**FINAL, "ticker": "KXOTHER"}}, DataError),
        ({"market": {**FINAL, "settlement_value_dollars": "1.2"}}, DataError),
        ({"market": {**FINAL, "settlement_value_dollars": "one"}}, DataError),
        ({"market": {**FINAL, "settlement_value_dollars": True}}, DataError),
        ({"market": None}, DataError),
        ([], DataError),
        (Raw(b"<html>blocked</html>"), DataError),
        (Raw(b"{}", 429, {"Retry-After": "7"}), VenueError),
        (Raw(b"{}", 301, {"Location": "https://demo-api.example/markets"}), VenueError),
        (Raw(b'{"market": {"ticker"', stated=4000), VenueError),
    ],
)
def test_what_is_no_answer_about_this_market_is_an_error(service, answer, error):
    service.answers[f"/markets/{TICKER}"] = answer
    with pytest.raises(error):
        resolve(service)


def test_the_reference_is_the_middle_of_what_is_bid_and_asked(service):
    kalshi, question = Kalshi(service.web), ask("kalshi", {"market": TICKER})
    show(service, status="active", result="", yes_bid_dollars="0.6000", yes_ask_dollars="0.6400")
    assert kalshi.reference(question, END)["probability"] == 0.62
    assert kalshi.reference(ask("kalshi", {"market": TICKER, "outcome": "No"}), END)["probability"] == 0.38
    named = ask("kalshi", {"market": TICKER}, "choice", outcomes=("No", "Yes"))
    assert kalshi.reference(named, END)["probabilities"] == pytest.approx([0.38, 0.62])
    older = {"yes_bid_dollars": None, "yes_ask_dollars": None, "yes_bid": 60, "yes_ask": 64}
    show(service, status="active", **older)
    assert kalshi.reference(question, END)["probability"] == 0.62
    for over in ("closed", "determined", "disputed", "amended", "finalized"):
        show(service, status=over)
        assert kalshi.reference(question, END)["closed"] is True
    for nothing in (
        {"status": "inactive"},
        {"yes_bid_dollars": "0", "yes_ask_dollars": "1"},
        {"yes_bid_dollars": None},
    ):
        show(service, **{"status": "active", **nothing})
        assert kalshi.reference(question, END) is None


@pytest.mark.parametrize(
    ("query", "form"),
    [({}, "probability"), ({"market": "kx/../x"}, "probability"), ({"market": "KX"}, "value"),
     ({"market": "KX", "outcome": "Maybe"}, "probability")],
)  # fmt: skip
def test_a_query_that_it_does_not_know_is_refused(query, form):
    with pytest.raises(UsageError):
        Kalshi().check(ask("kalshi", query, form))


@given(
    status=st.sampled_from(
        [
            "initialized",
            "inactive",
            "active",
            "closed",
            "determined",
            "disputed",
            "amended",
            "finalized",
            "settled",
            None,
        ]
    ),
    result=st.sampled_from(["", "yes", "no", "scalar", "void", "all_yes", None]),
    value=st.sampled_from([None, "", "0", "1.0000", "0.5", "0.9999"]),
)
def test_no_state_but_a_final_one_gives_a_truth(status, result, value):
    market = {**FINAL, "status": status, "result": result, "settlement_value_dollars": value}

    class Answered:
        url = "http://kalshi"

        def get(self, path, query=None):
            return WebReply(path, json.dumps({"market": market}).encode(), END)

    question = ask("kalshi", {"market": TICKER})
    found = Kalshi(Answered()).answers([question], END)[question.id]
    if found.status == "waiting":
        assert found.truth is None
        return
    assert status == "finalized"
    assert found.status == ("void" if result == "void" else "resolved")
    if found.status == "resolved":
        assert found.truth == (float(value) if value else float(result in {"yes", "all_yes"}))
