"""Who is let in by a server of this machine."""

from __future__ import annotations

import pytest

from openfingym.listener.guard import Guard, is_loopback, name_of

LOCAL = Guard(loopback=True)


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.9.1"])
def test_a_loopback_server_is_reached_by_loopback_names(host: str) -> None:
    assert LOCAL.refusal(host, None, None) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "", "[::1", "10.0.0.1"]
)
def test_a_name_that_was_rebound_to_loopback_is_refused(host: str) -> None:
    refusal = LOCAL.refusal(host, None, None)
    assert refusal is not None
    assert refusal.status == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://[", ""])
def test_pages_of_other_origins_are_refused(origin: str) -> None:
    assert LOCAL.refusal("localhost:8000", origin, None) is not None


def test_pages_of_this_machine_are_let_in() -> None:
    assert LOCAL.refusal("localhost:8000", "http://127.0.0.1:6274", None) is None


@pytest.mark.parametrize("guard", [Guard(loopback=False, knows_callers=True), Guard(loopback=False, token="t" * 16)])
def test_beyond_loopback_pages_are_of_the_host_itself(guard: Guard) -> None:
    right = f"Bearer {guard.token}"
    assert guard.refusal("box.example:8000", None, right) is None
    assert guard.refusal("box.example:8000", "http://box.example:8000", right) is None
    assert guard.refusal("box.example:8000", "http://evil.example", right) is not None


def test_a_page_whose_name_was_rebound_to_a_server_without_a_token_is_refused() -> None:
    guard = Guard(loopback=False)
    assert guard.refusal("evil.example:8000", "http://evil.example:8000", None) is not None
    assert guard.refusal("192.0.2.1:8000", "http://192.0.2.1:8000", None) is None
    assert guard.refusal("evil.example:8000", None, None) is None  # no page, and whoever reaches it may play


def test_a_token_is_asked_for() -> None:
    token = "s3cret" * 4
    guard = Guard(loopback=False, token=token)
    for wrong in (None, "Bearer wrong", f"Basic {token}", f"Bearer {token}x", "Bearer \u00e9", "Bearer", ""):
        refusal = guard.refusal("box", None, wrong)
        assert refusal is not None
        assert refusal.status == 401
        assert refusal.headers["WWW-Authenticate"] == "Bearer"
        assert token.encode() not in refusal.body
    assert guard.refusal("box", None, f"bearer {token}") is None
    assert token not in repr(guard)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    guard = Guard(loopback=False, token="right-and-long-enough")
    assert guard.refusal("box", None, "Bearer right-and-long-enough") is None
    assert guard.refusal("box", None, "Bearer right-and-long-enougH") is not None
    assert len(compared) == 2


def test_names() -> None:
    assert name_of("[::1]:80") == "::1"
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("::")
