from __future__ import annotations

import time
from decimal import Decimal
from types import SimpleNamespace

from openfingym.errors import DataError, VenueError
from openfingym.questions import ProviderAnswer, markets, web
from openfingym.questions.markets import answer_together, market_of, midpoint
from openfingym.questions.web import Web
from tests.openfingym.questions.providers.questions import ask
from tests.openfingym.questions.providers.served import serve

WAITING = ProviderAnswer("waiting", reason="not yet")


def test_what_takes_too_long_is_left_for_the_next_time_and_what_was_answered_is_kept(monkeypatch):
    now = iter(range(0, 10_000, 100))
    monkeypatch.setattr(markets, "time", SimpleNamespace(monotonic=lambda: float(next(now))))
    questions = [ask("manifold", {"market": f"m{number}"}, id=f"q{number}") for number in range(4)]
    found = answer_together(questions, market_of, lambda question: WAITING, lambda question, state: WAITING)
    assert found["q0"] == WAITING
    assert isinstance(found["q3"], VenueError)
    assert "not asked yet" in str(found["q3"])


def test_any_failure_is_an_error_of_ours_and_of_that_question_alone():
    questions = [ask("manifold", {"market": market}, id=market) for market in ("fine", "wrong")]

    def state(question):
        return {"fine": 1.0}[question.query["market"]]

    found = answer_together(questions, market_of, state, lambda question, value: ProviderAnswer("resolved", value))
    assert found["fine"].truth == 1.0
    assert isinstance(found["wrong"], DataError)
    nameless = ask("manifold", {"slug": "x"}, id="nameless")
    assert isinstance(
        answer_together([nameless], market_of, state, lambda question, value: value)["nameless"], DataError
    )


def test_there_is_no_middle_of_an_empty_or_crossed_book():
    assert midpoint(Decimal("0.4"), Decimal("0.6"), 7, "here")["probability"] == 0.5
    for bid, offer in ((None, 1), (0, None), (Decimal("0.6"), Decimal("0.4"))):
        assert midpoint(bid, offer, 7, "here") is None


def test_requests_keep_the_distance_that_is_polite(monkeypatch):
    slept = []
    clock = SimpleNamespace(sleep=slept.append, monotonic=lambda: 1000.0, time_ns=time.time_ns)
    monkeypatch.setattr(web, "time", clock)
    with serve() as service:
        service.answers["/x"] = {}
        polite = Web(service.url, per_second=4.0)
        for _ in range(4):
            polite.get("/x")
        polite.close()
    assert slept == [0.25, 0.5, 0.75]
