"""How long is waited before a request is sent again, and when it is not."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from openfingym.errors import ModelUnavailableError
from openfingym.models.refusals import Refusal
from openfingym.models.retrying import Transient, judge, retrying


def _state(error: Exception, attempt: int = 1, upcoming_s: float = 0.0) -> Any:
    outcome: Future[None] = Future()
    outcome.set_exception(error)
    return SimpleNamespace(outcome=outcome, attempt_number=attempt, upcoming_sleep=upcoming_s)


def test_a_wait_is_random_and_grows_to_a_minute() -> None:
    wait: Any = retrying(lambda: 1e9).wait
    for attempt, most in ((1, 0.5), (4, 4.0), (20, 60.0)):
        found = [wait(_state(Transient("x"), attempt)) for _ in range(200)]
        assert 0.0 <= min(found) < 0.2 * most
        assert 0.8 * most < max(found) <= most


@pytest.mark.parametrize("stated", [0.0, 7.0, 3600.0])
def test_a_stated_wait_is_kept_and_nobody_returns_at_the_same_time(stated: float) -> None:
    wait: Any = retrying(lambda: 1e9).wait
    found = [wait(_state(Transient("x", retry_after_s=stated), 20)) for _ in range(200)]
    assert stated <= min(found) < stated + 0.2 < stated + 0.8 < max(found) <= stated + 1.0


def test_an_attempt_is_made_where_it_would_have_time() -> None:
    stop: Any = retrying(lambda: 5.0).stop
    assert not stop(_state(Transient("x"), upcoming_s=4.89))
    assert stop(_state(Transient("x"), upcoming_s=4.91))


def test_the_log_says_what_failed_and_when_the_next_attempt_is(caplog: pytest.LogCaptureFixture) -> None:
    told: Any = retrying(lambda: 5.0).before_sleep
    with caplog.at_level("INFO", "openfingym.models.retrying"):
        told(_state(Transient("status 503: busy"), attempt=3, upcoming_s=1.24))
    assert caplog.messages == ["attempt 3 failed (status 503: busy); the next in 1.2 s"]


def test_nothing_but_what_passes_is_asked_again() -> None:
    again: Any = retrying(lambda: 5.0).retry
    for error, answer in ((Transient("x"), True), (ModelUnavailableError("x"), False)):
        state = _state(error)
        state.outcome.failed = True
        assert again(state) is answer


@pytest.mark.parametrize(
    ("status", "words"),
    [(402, "no credit left"), (401, "check the key"), (404, "check the model's name and the base URL")],
)
def test_what_stops_a_run_says_what_to_do(status: int, words: str) -> None:
    found = judge(Refusal(status, {"error": {"message": "Sorry."}}))
    assert isinstance(found, ModelUnavailableError)
    assert words in str(found)
    assert f"(status {status}: Sorry.)" in str(found)


def test_what_an_endpoint_is_said_to_have_said() -> None:
    assert Transient("x").connected
    assert Transient("x").retry_after_s is None
    assert not Transient("x", connected=False).connected
    unknown = judge(Refusal(200, {"error": "Xyzzy"}))
    assert (type(unknown), str(unknown)) == (Transient, "status 200: Xyzzy")
