"""Polymarket's services in their wire format, in every state that a market goes through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import DataError, OpenFinGymError, UsageError, VenueError
from openfingym.questions import moment_ns
from openfingym.questions.providers.polymarket import Polymarket
from tests.openfingym.questions.providers.questions import END, ask
from tests.openfingym.questions.providers.served import Raw

CONDITION = "0x" + "9f" * 32
RESOLVED_NO = {
    "id": "604489",
    "question": "Will it happen?",
    "conditionId": CONDITION,
    "endDate": "2025-10-31T12:00:00Z",
    "outcomes": '["Yes", "No"]',
    "outcomePrices": '["0", "1"]',
    "clobTokenIds": '["6158", "8923"]',
    "active": True,
    "closed": True,
    "acceptingOrders": False,
    "closedTime": "2025-11-01 06:28:08+00",
    "umaEndDate": "2025-11-01T06:28:08Z",
    "umaResolutionStatus": "resolved",
    "umaResolutionStatuses": '["proposed"]',
    "automaticallyResolved": True,
    "lastTradePrice": 1,
    "bestBid": 0,
    "bestAsk": 1,
}
RESOLUTION = {
    "question_id": "0xaa",
    "condition_id": CONDITION,
    "status": "resolved",
    "price": "0",
    "proposed_price": "69",
    "payouts": [0, 1000000],
    "resolved_at": "2025-11-01T06:30:00Z",
    "last_update_timestamp": 1761978600,
    "was_disputed": False,
    "reporter": "UMA_OO",
}
WINNER = {
    "condition_id": CONDITION,
    "closed": True,
    "tokens": [
        {"token_id": "6158", "outcome": "Yes", "price": 0, "winner": False},
        {"token_id": "8923", "outcome": "No", "price": 1, "winner": True},
    ],
}


def show(service, resolutions=(RESOLUTION,), winner=WINNER, **changes):
    market = {**RESOLVED_NO, **changes}
    service.answers["/markets/604489"] = market
    service.answers["/markets"] = [market]
    service.answers["/v2/resolutions"] = {"data": list(resolutions), "has_more": False}
    if winner is None:
        service.answers.pop(f"/markets/{CONDITION}", None)
    else:
        service.answers[f"/markets/{CONDITION}"] = winner


def resolve(service, form="probability", **query):
    provider = Polymarket(service.web, service.web, service.web)
    outcomes = {"outcomes": query.pop("outcomes")} if "outcomes" in query else {}
    question = ask("polymarket", {"market": "604489", **query}, form, **outcomes)
    provider.check(question)
    found = provider.answers([question], END)[question.id]
    provider.close()
    if isinstance(found, Exception):
        raise found
    return found


def test_a_resolved_market_pays_what_both_services_say(service):
    show(service)
    found = resolve(service)
    assert (found.status, found.truth) == ("resolved", 0.0)
    assert found.provider_ns == moment_ns("2025-11-01T06:28:08Z"), "it closed two minutes before it was resolved"
    assert found.source.endswith("/markets/604489")
    assert found.evidence["resolution"]["payouts"] == [0, 1000000]
    assert resolve(service, outcome="No").truth == 1.0
    assert resolve(service, "probabilities", outcomes=("No", "Yes")).truth == (1.0, 0.0)


def test_the_order_books_record_confirms_where_there_is_no_list_of_resolutions(service):
    show(service, resolutions=())
    found = resolve(service)
    assert (found.truth, found.provider_ns) == (0.0, moment_ns("2025-11-01T06:28:08Z"))


def test_a_market_by_its_condition_id(service):
    show(service)
    assert resolve(service, market=CONDITION).truth == 0.0
    assert service.asked[0] == f"/markets?condition_ids={CONDITION}&closed=true"


def test_labels_other_than_yes_and_no_are_kept_in_their_order(service):
    labels = {"outcomes": '["Up", "Down"]', "umaResolutionStatus": None, "umaResolutionStatuses": None}
    show(service, **labels)
    assert resolve(service, outcome="Down").truth == 1.0
    with pytest.raises(DataError, match="about the outcome 'Yes', the market's are 'Up', 'Down'"):
        resolve(service)


def test_fifty_fifty_is_half_for_everybody_once_the_payouts_say_so(service):
    show(service, [{**RESOLUTION, "payouts": [500000, 500000]}], outcomePrices='["0.5", "0.5"]')
    assert resolve(service).truth == 0.5
    neither = {**WINNER, "tokens": [{**token, "winner": False} for token in WINNER["tokens"]]}
    show(service, (), neither, outcomePrices='["0.5", "0.5"]')
    assert resolve(service).status == "waiting"


def test_a_fractional_payout_is_the_truth(service):
    show(service, [{**RESOLUTION, "payouts": [250000, 750000]}], outcomePrices='["0.25", "0.75"]')
    assert resolve(service).truth == 0.25


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"closed": False}, "open"),
        ({"closed": None}, "open"),
        ({"umaResolutionStatus": "proposed"}, "proposed"),
        ({"umaResolutionStatus": "disputed"}, "disputed"),
        ({"umaResolutionStatus": "requested"}, "requested"),
        ({"umaResolutionStatus": "something new"}, "something new"),
        ({"umaResolutionStatus": None, "automaticallyResolved": False}, "proposed"),
        ({"resolutionStatus": "active"}, "active"),
        ({"outcomePrices": '["0", "0"]'}, "not final"),
        ({"outcomePrices": None}, "no prices"),
        ({"outcomePrices": ""}, "no prices"),
        ({"outcomePrices": '["0.0005", "0.9995"]'}, "the second service 0/1"),
        ({"outcomePrices": '["0.58", "0.42"]'}, "the second service 0/1"),
        ({"outcomePrices": '["1", "0"]'}, "Gamma shows 1/0, and the second service 0/1"),
        ({"outcomes": None, "outcomePrices": None}, "not final"),
        ({"conditionId": None}, "no condition id"),
    ],
)
def test_what_is_not_final_waits_whatever_the_prices_are(service, changes, why):
    show(service, **changes)
    found = resolve(service)
    assert (found.status, found.truth) == ("waiting", None)
    assert why in found.reason


@pytest.mark.parametrize(
    "status", ["initialized", "posed", "proposed", "challenged", "reproposed", "disputed", "active", "arbitration"]
)
def test_what_gamma_shows_too_early_waits_for_the_list_of_resolutions(service, status):
    show(service, [{**RESOLUTION, "status": status}])
    assert resolve(service).reason == f"its resolution is '{status}'"


def test_proposed_then_disputed_then_another_winner(service):
    pinned = {"outcomePrices": '["1", "0"]'}
    show(service, [{**RESOLUTION, "status": "proposed", "payouts": [1000000, 0]}], **pinned)
    assert resolve(service).status == "waiting"
    show(service, [{**RESOLUTION, "status": "disputed", "payouts": []}], umaResolutionStatus="disputed", **pinned)
    assert resolve(service).status == "waiting"
    show(service, [{**RESOLUTION, "was_disputed": True}])
    found = resolve(service)
    assert (found.truth, found.evidence["resolution"]["was_disputed"]) == (0.0, True)


@pytest.mark.parametrize(
    "row", [{"payouts": []}, {"payouts": None}, {"payouts": [0, 0]}, {"payouts": [0, 1]}, {"payouts": [1000000]}]
)
def test_payouts_that_are_not_populated_wait(service, row):
    show(service, [{**RESOLUTION, **row}])
    assert resolve(service).status == "waiting"


def test_nobody_confirms(service):
    show(service, (), None)
    assert resolve(service).reason == "no second service confirms it yet"


def test_a_market_that_is_gone_waits_as_an_orphan(service):
    assert resolve(service).reason.startswith("orphaned")
    service.answers["/markets"] = []
    assert resolve(service, market=CONDITION).reason.startswith("orphaned")


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        ("/markets/604489", {**RESOLVED_NO, "id": "604490"}),
        ("/v2/resolutions", [{**RESOLUTION, "condition_id": "0x" + "00" * 32}]),
        ("/v2/resolutions", Raw(b"<html><body>maintenance</body></html>")),
        ("/v2/resolutions", {"rows": 3}),
        ("/markets/604489", Raw(b"<html></html>", headers={"Content-Type": "text/html"})),
        ("/markets/604489", {**RESOLVED_NO, "outcomePrices": "[0, "}),
        ("/markets/604489", {**RESOLVED_NO, "outcomePrices": '["0", "NaN"]'}),
        ("/markets/604489", {**RESOLVED_NO, "outcomePrices": '["-1", "2"]'}),
        ("/markets/604489", {**RESOLVED_NO, "outcomes": "[1, 2]"}),
    ],
)
def test_an_answer_about_something_else_or_none_is_an_error(service, place, answer):
    show(service)
    service.answers[place] = answer
    with pytest.raises(DataError):
        resolve(service)


def test_another_market_in_the_order_books_record_is_an_error(service):
    show(service, (), {**WINNER, "condition_id": "0x" + "00" * 32})
    with pytest.raises(DataError, match="the answer is about"):
        resolve(service)


def test_one_question_that_fails_leaves_the_others_alone(service):
    show(service)
    service.answers["/markets/7"] = Raw(b"", 302, {"Location": "https://elsewhere.example/"})
    provider = Polymarket(service.web, service.web, service.web)
    fine, wrong = (ask("polymarket", {"market": market}, id=market) for market in ("604489", "7"))
    found = provider.answers([wrong, fine], END)
    assert isinstance(found["7"], VenueError)
    assert found["604489"].truth == 0.0


def book(bids, asks):
    levels = {side: [{"price": one, "size": "9"} for one in found] for side, found in (("bids", bids), ("asks", asks))}
    return {"market": CONDITION, "asset_id": "6158", "timestamp": "1730000000123", **levels, "last_trade_price": "0.9"}


def test_the_reference_is_the_middle_of_the_book_and_of_its_time(service):
    show(service, closed=False, acceptingOrders=True)
    service.answers["/book"] = book(["0.45", "0.48"], ["0.55", "0.52"])
    provider = Polymarket(service.web, service.web, service.web)
    question = ask("polymarket", {"market": "604489"})
    shown = provider.reference(question, END)
    assert (shown["probability"], shown["bid"], shown["ask"]) == (0.5, 0.48, 0.52)
    assert shown["at_ns"] == 1730000000123 * 10**6
    for empty in (book([], ["0.5"]), book(["0.6"], ["0.5"]), Raw(b"{}", 404)):
        service.answers["/book"] = empty
        assert provider.reference(question, END) is None
    service.answers["/book"] = {**book(["0.4"], ["0.5"]), "asset_id": "8923"}
    with pytest.raises(DataError, match="the answer is about '8923'"):
        provider.reference(question, END)
    show(service)
    assert provider.reference(question, END)["closed"] is True, "its outcome may be known"
    show(service, closed=False, acceptingOrders=False)
    assert provider.reference(question, END) is None


def market_named(number, **changes):
    tokens = json.dumps([f"{number}1", f"{number}2"])
    return {
        **RESOLVED_NO,
        "id": str(number),
        "closed": False,
        "acceptingOrders": True,
        "clobTokenIds": tokens,
        **changes,
    }


def serve_many(service, markets):
    """The lists of markets and of order books, as the services give them."""

    def listed(query):
        wanted = query["id"] if isinstance(query["id"], list) else [query["id"]]
        return [one for one in markets if one["id"] in wanted and one["closed"] is (query["closed"] == "true")]

    def books(_query):
        asked = [one["token_id"] for one in service.posted[-1]]
        return [{**book(["0.4"], ["0.5"]), "asset_id": token} for token in reversed(asked) if token != "1051"]

    service.answers["/markets"], service.answers["/books"] = listed, books
    return Polymarket(service.web, service.web, service.web)


def test_the_references_of_a_whole_rollout_take_a_handful_of_requests(service):
    markets = [market_named(number) for number in range(100, 159)]
    markets[3] = market_named(103, closed=True)
    markets[4] = market_named(104, acceptingOrders=False)
    provider = serve_many(service, markets)
    questions = [ask("polymarket", {"market": one["id"]}, id=f"q/{one['id']}") for one in markets]
    questions.append(ask("polymarket", {"market": "999"}, id="q/999"))
    found = provider.references(questions, END)
    assert len(service.asked) == 4, "open markets, closed ones, one that nobody has, and order books"
    assert set(found) == {one.id for one in questions}
    assert found["q/103"]["closed"] is True
    assert found["q/104"] is None
    assert found["q/105"] is None
    assert isinstance(found["q/999"], DataError)
    rest = [one for name, one in found.items() if name not in {"q/103", "q/104", "q/105", "q/999"}]
    assert {one["probability"] for one in rest} == {0.45}
    assert {one["source"][-4:] for one in rest} >= {"1001", "1581"}, "each its own book"


@pytest.mark.parametrize("answer", [Raw(b"<html>", 200), Raw(b"", 500), {"a": 1}, [3], [{"asset_id": ["x"]}]])
def test_order_books_that_are_none_are_an_error_of_each_question_and_a_closed_market_is_still_closed(service, answer):
    provider = serve_many(service, [market_named(100), market_named(101), market_named(102, closed=True)])
    service.answers |= {"/books": answer, "/markets/102": market_named(102, closed=True)}
    questions = [ask("polymarket", {"market": str(number)}, id=str(number)) for number in (100, 101, 102)]
    found = provider.references(questions, END)
    assert isinstance(found["100"], OpenFinGymError)
    assert isinstance(found["101"], OpenFinGymError)
    assert found["102"]["closed"] is True


@pytest.mark.parametrize(
    ("query", "form"),
    [({}, "probability"), ({"market": "../events/1"}, "probability"), ({"market": "0x12"}, "probability"),
     ({"market": "1"}, "value"), ({"market": "1", "outcome": "A"}, "choice")],
)  # fmt: skip
def test_a_query_that_it_does_not_know_is_refused(query, form):
    with pytest.raises(UsageError):
        Polymarket().check(ask("polymarket", query, form))


_PRICES = st.sampled_from(['["0","1"]', '["1","0"]', '["0.5","0.5"]', '["0","0"]', '["0.9995","0.0005"]', None, "[]"])
_STATUS = st.sampled_from([None, "requested", "proposed", "disputed", "settled", "resolved", "new word"])
_ROW = st.sampled_from([None, "initialized", "posed", "proposed", "challenged", "disputed", "arbitration", "resolved"])


@given(
    closed=st.sampled_from([True, False, None, "true"]),
    status=_STATUS,
    newer=st.sampled_from([None, "inactive", "active", "resolved"]),
    automatic=st.booleans(),
    prices=_PRICES,
    row=_ROW,
    payouts=st.sampled_from([[0, 1000000], [1000000, 0], [500000, 500000], [0, 0], []]),
    winner=st.sampled_from([None, 0, 1]),
)
def test_no_state_but_a_final_one_gives_a_truth(closed, status, newer, automatic, prices, row, payouts, winner):
    tokens = [{"outcome": name, "winner": at == winner} for at, name in enumerate(("Yes", "No"))]
    market = {
        **RESOLVED_NO, "closed": closed, "umaResolutionStatus": status, "resolutionStatus": newer,
        "automaticallyResolved": automatic, "outcomePrices": prices,
    }  # fmt: skip
    answers = {
        "/markets/604489": market,
        "/v2/resolutions": [] if row is None else [{**RESOLUTION, "status": row, "payouts": payouts}],
        f"/markets/{CONDITION}": {"condition_id": CONDITION, "closed": True, "tokens": tokens},
    }
    web = Answered(answers)
    question = ask("polymarket", {"market": "604489"})
    found = Polymarket(web, web, web).answers([question], END)[question.id]
    if isinstance(found, Exception) or found.status != "resolved":
        return
    shown = [float(price) for price in json.loads(prices)]
    assert closed is True
    assert status in {"settled", "resolved"} or (status is None and automatic)
    assert newer in {None, "resolved"}
    assert sum(shown) == 1
    if row is None:
        assert shown == [float(winner == at) for at in range(2)]
    else:
        assert row == "resolved"
        assert [one * 1e6 for one in shown] == payouts
    assert found.truth == shown[0]


class Answered:
    """Stands for an address, without a network: for thousands of states."""

    def __init__(self, answers):
        self.answers = answers

    def get(self, path, query=None):
        from openfingym.questions.web import WebReply

        return WebReply(path, json.dumps(self.answers[path]).encode(), END)
