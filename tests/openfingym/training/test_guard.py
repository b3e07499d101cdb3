"""Who is let in by a server of this machine."""

from __future__ import annotations

import pytest

from openfingym.training.guard import Guard, is_loopback, name_of

LOCAL = Guard("127.0.0.1")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.9.1"])
def test_a_loopback_server_is_reached_by_loopback_names(host: str) -> None:
    assert LOCAL.refusal({"Host": host}) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "", "[::1", "10.0.0.1"]
)
def test_a_name_that_was_rebound_to_loopback_is_refused(host: str) -> None:
    refusal = LOCAL.refusal({"Host": host})
    assert refusal is not None
    assert refusal[0] == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[", ""])
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    assert LOCAL.refusal({"Host": "localhost:8000", "Origin": origin}) is not None


def test_pages_of_this_machine_are_let_in() -> None:
    assert LOCAL.refusal({"Host": "localhost:8000", "Origin": "http://127.0.0.1:6274"}) is None


def test_beyond_loopback_pages_are_of_the_host_itself() -> None:
    guard = Guard("0.0.0.0")
    assert guard.refusal({"Host": "box.example:8000"}) is None
    assert guard.refusal({"Host": "box.example:8000", "Origin": "http://box.example:8000"}) is None
    assert guard.refusal({"Host": "box.example:8000", "Origin": "http://evil.example"}) is not None


def test_a_token_is_asked_for() -> None:
    guard = Guard("0.0.0.0", token="s3cret" * 4)
    assert guard.refusal({"Host": "box"}) is not None
    assert guard.refusal({"Host": "box", "Authorization": "Bearer wrong"}) is not None
    assert guard.refusal({"Host": "box", "Authorization": "Basic " + "s3cret" * 4}) is not None
    assert guard.refusal({"Host": "box", "Authorization": "bearer " + "s3cret" * 4}) is None
    assert guard.refusal({"Host": "box", "Authorization": "Bearer \u00e9"}) is not None


def test_names() -> None:
    assert name_of("[::1]:80") == "::1"
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("::")
