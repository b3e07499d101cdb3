"""Manifold in its wire format: all kinds of resolutions, and what only looks like one."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.digests import canonical_json
from openfingym.errors import DataError, UsageError
from openfingym.questions.providers.manifold import Manifold
from openfingym.questions.web import WebReply
from tests.openfingym.questions.providers.questions import END, ask
from tests.openfingym.questions.providers.served import Raw

BINARY = {
    "id": "5CuA1234",
    "slug": "will-it",
    "question": "Will it?",
    "outcomeType": "BINARY",
    "mechanism": "cpmm-1",
    "token": "MANA",
    "probability": 0.97,
    "createdTime": 1700000000000,
    "closeTime": 1735689600000,
    "isResolved": True,
    "resolution": "YES",
    "resolutionProbability": 0.97,
    "resolutionTime": 1735700000000,
    "resolverId": "abc",
}
NUMERIC = {**BINARY, "outcomeType": "PSEUDO_NUMERIC", "resolution": "MKT", "resolutionProbability": 0.25, "min": 100,
           "max": 300, "isLogScale": False}  # fmt: skip
SEVERAL = {
    **{key: value for key, value in BINARY.items() if "robability" not in key},
    "outcomeType": "MULTIPLE_CHOICE",
    "mechanism": "cpmm-multi-1",
    "shouldAnswersSumToOne": True,
    "resolution": "a2",
    "answers": [
        {"id": "a1", "text": "Red", "probability": 0.2, "resolution": "NO"},
        {"id": "a2", "text": "Blue", "probability": 0.5, "resolution": "YES"},
        {"id": "a3", "text": "Other", "probability": 0.3, "resolution": "NO"},
    ],
}
COLOURS = {"outcomes": ("Red", "Blue", "Other")}


def resolve(service, market, form="probability", *, outcomes=None, **query):
    service.answers["/market/5CuA1234"] = market
    manifold = Manifold(service.web)
    question = ask("manifold", {"market": "5CuA1234", **query}, form, **({"outcomes": outcomes} if outcomes else {}))
    manifold.check(question)
    found = manifold.answers([question], END)[question.id]
    manifold.close()
    if isinstance(found, Exception):
        raise found
    return found


def several(*resolutions, **changes):
    """The market with these resolutions of its answers: one, or one and its probability."""
    answers = [
        {**{key: value for key, value in answer.items() if key != "resolution"}, **resolution}
        for answer, resolution in zip(SEVERAL["answers"], resolutions, strict=True)
    ]
    return {**SEVERAL, "answers": answers, **changes}


@pytest.mark.parametrize(
    ("changes", "truth"),
    [
        ({}, 1.0),
        ({"resolution": "NO"}, 0.0),  # whatever the probability was when it was resolved
        ({"resolution": "MKT", "resolutionProbability": 0.42}, 0.42),
    ],
)
def test_yes_no_and_a_probability(service, changes, truth):
    found = resolve(service, {**BINARY, **changes})
    assert (found.status, found.truth, found.provider_ns) == ("resolved", truth, 1735700000000 * 10**6)
    assert resolve(service, {**BINARY, **changes}, outcome="No").truth == pytest.approx(1.0 - truth)


def test_cancelled_is_void(service):
    assert resolve(service, {**BINARY, "resolution": "CANCEL"}).status == "void"
    assert resolve(service, {**SEVERAL, "resolution": "CANCEL"}, "choice", **COLOURS).status == "void"


@pytest.mark.parametrize(
    "changes",
    [{"isResolved": False}, {"isResolved": None}, {"isResolved": "true"}, {"resolution": None},
     {"resolution": "MKT", "resolutionProbability": None}, {"resolution": "something"}],
)  # fmt: skip
def test_what_is_not_resolved_waits(service, changes):
    found = resolve(service, {**BINARY, **changes})
    assert (found.status, found.truth) == ("waiting", None)


def test_numbers(service):
    assert resolve(service, NUMERIC, "value").truth == 150.0
    log = {**NUMERIC, "isLogScale": True, "min": 0, "max": 999, "resolutionProbability": 0.5}
    assert resolve(service, log, "interval").truth == pytest.approx(math.sqrt(1000) - 1)
    assert resolve(service, {**NUMERIC, "resolution": "CANCEL"}, "value").status == "void"
    with pytest.raises(DataError, match="has the form probability, and its market is PSEUDO_NUMERIC"):
        resolve(service, NUMERIC)
    with pytest.raises(DataError, match="has the form value, and its market is BINARY"):
        resolve(service, BINARY, "value")
    with pytest.raises(DataError, match="goes from 300"):
        resolve(service, {**NUMERIC, "min": 300}, "value")


def test_one_of_several_answers_wins(service):
    assert resolve(service, SEVERAL, "probabilities", **COLOURS).truth == (0.0, 1.0, 0.0)
    assert resolve(service, SEVERAL, outcome="Blue").truth == 1.0
    assert resolve(service, SEVERAL, outcome="a1").truth == 0.0
    assert resolve(service, SEVERAL, "choice", outcomes=("Red", "Other")).status == "void"


def test_several_answers_share(service):
    shared = several(
        {"resolution": "MKT", "resolutionProbability": 0.25},
        {"resolution": "MKT", "resolutionProbability": 0.75},
        {"resolution": "NO"},
        resolution="CHOOSE_MULTIPLE",
    )
    assert resolve(service, shared, "choice", **COLOURS).truth == (0.25, 0.75, 0.0)


@pytest.mark.parametrize(
    ("weights", "truth"),
    [
        ({"a1": 50, "a2": 50}, (0.5, 0.5, 0.0)),
        ({"a1": 1, "a3": 3}, (0.25, 0.0, 0.75)),
        ({"a2": 100, "a1": 0}, (0.0, 1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("resolution", ["CHOOSE_MULTIPLE", "MKT"])
def test_weights_of_a_market_are_what_its_answers_pay(service, weights, truth, resolution):
    # What an answer showed when the market was resolved is beside them, and is no payout.
    said = ({"resolutionProbability": 0.2}, {"resolutionProbability": 0.7}, {"resolutionProbability": 0.1})
    market = several(*said, resolution=resolution, resolutions=weights)
    assert resolve(service, market, "probabilities", **COLOURS).truth == truth
    assert resolve(service, market, outcome="Blue").truth == truth[1]


@pytest.mark.parametrize("weights", [{"a9": 100}, {"a1": 0}, {"a1": -1, "a2": 2}, {"a1": "half"}, {"a1": None}])
def test_weights_that_are_not_understood_are_an_error(service, weights):
    market = several({}, {}, {}, resolution="CHOOSE_MULTIPLE", resolutions=weights)
    with pytest.raises(DataError):
        resolve(service, market, "choice", **COLOURS)


def test_weights_that_contradict_an_answer_are_none(service):
    market = several({"resolution": "NO"}, {}, {}, resolution="CHOOSE_MULTIPLE", resolutions={"a1": 50, "a2": 50})
    assert resolve(service, market, outcome="Red").status == "waiting"
    assert resolve(service, market, outcome="Blue").truth == 0.5
    for nothing in (None, {}, []):
        silent = several({}, {}, {}, resolution="CHOOSE_MULTIPLE", resolutions=nothing)
        assert resolve(service, silent, outcome="Blue").status == "waiting"


def test_answers_that_resolve_each_for_itself(service):
    alone = several({"resolution": "YES"}, {}, {}, isResolved=False, resolution=None, shouldAnswersSumToOne=False)
    assert resolve(service, alone, outcome="Red").truth == 1.0
    assert resolve(service, alone, outcome="Blue").status == "waiting"
    together = {**alone, "shouldAnswersSumToOne": True}
    assert resolve(service, together, outcome="Red").status == "waiting"
    both = several({"resolution": "YES"}, {"resolution": "YES"}, {"resolution": "NO"}, resolution="CHOOSE_MULTIPLE")
    with pytest.raises(DataError, match="pay 2 together, expected 1"):
        resolve(service, both, "choice", **COLOURS)


def test_an_answer_that_contradicts_its_market_waits(service):
    wrong = several({"resolution": "YES"}, {"resolution": "NO"}, {"resolution": "NO"})
    assert resolve(service, wrong, outcome="Red").status == "waiting"


def test_two_answers_of_one_text_are_not_guessed_between(service):
    double = several({"text": "Blue", "resolution": "NO"}, {"resolution": "YES"}, {"resolution": "NO"})
    with pytest.raises(DataError, match="about the outcome 'Blue'"):
        resolve(service, double, outcome="Blue")
    assert resolve(service, double, outcome="a2").truth == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        {**BINARY, "id": "other"},
        {**BINARY, "outcomeType": "POLL"},
        {**BINARY, "resolution": "MKT", "resolutionProbability": 1.5},
        {**SEVERAL, "answers": None},
        {**SEVERAL, "answers": [{"text": "x"}]},
        {**SEVERAL, "answers": [{"id": str(number)} for number in range(300)]},
        Raw(b"<!doctype html>"),
    ],
)
def test_what_is_no_answer_about_this_market_is_an_error(service, answer):
    with pytest.raises(DataError):
        resolve(service, answer)


def test_a_market_that_is_gone_waits_as_an_orphan(service):
    assert resolve(service, Raw(b"{}", 404)).reason.startswith("orphaned")


def test_the_reference_is_the_probability_of_an_open_market(service):
    manifold = Manifold(service.web)

    def shown(market, form="probability", **more):
        service.answers["/market/5CuA1234"] = {**market, "closeTime": 4e12}
        query = {"market": "5CuA1234", **more.pop("query", {})}
        return manifold.reference(ask("manifold", query, form, **more), END)

    assert shown(BINARY)["closed"] is True, "its outcome is known"
    opened = {"isResolved": False, "resolution": None}
    assert shown({**BINARY, **opened})["probability"] == 0.97
    assert shown({**BINARY, **opened}, query={"outcome": "No"})["probability"] == pytest.approx(0.03)
    assert shown({**NUMERIC, **opened, "probability": 0.5}, "value")["price"] == 200.0
    assert shown({**SEVERAL, **opened}, "choice", **COLOURS)["probabilities"] == pytest.approx([0.2, 0.5, 0.3])
    service.answers["/market/5CuA1234"] = {**BINARY, **opened}
    assert manifold.reference(ask("manifold", {"market": "5CuA1234"}), END)["closed"] is True, "its time is over"


def test_what_strangers_write_into_their_markets_keeps_no_question_from_its_truth(service):
    hostile = {"question": "長" * 100_000, "url": "\ud800", "max": float("nan"), "resolverId": [["x" * 90] * 5] * 50}
    answers = [
        {"id": f"a{at}", "text": f"{at} " + "長" * 5000, "resolution": "YES" if at == 2 else "NO"} for at in range(60)
    ]
    market = {**SEVERAL, **hostile, "answers": answers, "resolution": "a2"}
    texts = tuple(one["text"][:3900] for one in answers)
    for one, text in zip(answers, texts, strict=True):
        one["text"] = text
    found = resolve(service, market, "choice", outcomes=texts)
    assert found.truth[2] == 1.0
    assert len(canonical_json(found.evidence)) <= 16_000


@pytest.mark.parametrize("query", [{}, {"market": "a b c d"}, {"market": "../me"}, {"market": "5CuA1234", "slug": "x"}])
def test_a_query_that_it_does_not_know_is_refused(query):
    with pytest.raises(UsageError):
        Manifold().check(ask("manifold", query))


@given(
    resolved=st.sampled_from([True, False, None]),
    resolution=st.sampled_from([None, "YES", "NO", "MKT", "CANCEL", "a1", ""]),
    probability=st.sampled_from([None, 0.0, 0.3, 1.0]),
    shown=st.sampled_from([0.0, 0.001, 0.999, 1.0]),
)
def test_no_state_but_a_final_one_gives_a_truth(resolved, resolution, probability, shown):
    market = {**BINARY, "isResolved": resolved, "resolution": resolution, "resolutionProbability": probability,
              "probability": shown}  # fmt: skip

    class Answered:
        def get(self, path, query=None):
            return WebReply(path, json.dumps(market).encode(), END)

    question = ask("manifold", {"market": "5CuA1234"})
    found = Manifold(Answered()).answers([question], END)[question.id]
    if found.status == "waiting":
        assert found.truth is None
        return
    assert resolved is True
    assert (found.status == "void") == (resolution == "CANCEL")
    if found.status == "resolved":
        assert found.truth == {"YES": 1.0, "NO": 0.0, "MKT": probability}[resolution]
