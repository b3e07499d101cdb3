"""What the client sends again, and what it does not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from openfingym.errors import UsageError, VerifierAwayError, VerifierError
from openfingym.verifiers.client import VerifierClient
from openfingym.verifiers.connection import PATIENCE_S


class Rude:
    """A server that takes every request and hangs up."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.twice = threading.Event()
        """Set before the second request is hung up on."""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(connection.recv(65536))
                if len(self.requests) == 2:
                    self.twice.set()

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join()


@pytest.fixture
def rude() -> Iterator[Rude]:
    server = Rude()
    yield server
    server.close()


def test_a_lost_request_is_sent_again_with_the_same_key(rude: Rude) -> None:
    with VerifierClient(base_url=rude.url) as client, pytest.raises(VerifierError, match="cannot be reached") as raised:
        client.patient(600.0, rude.twice).start_episode("a-token")
    assert type(raised.value) is VerifierError
    assert len(rude.requests) == 2
    keys = {
        line
        for request in rude.requests
        for line in request.lower().split(b"\r\n")
        if line.startswith(b"idempotency-key")
    }
    assert len(keys) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "caf\xe9", "a\r\nX: b"])
def test_what_is_no_idempotency_key_is_not_sent(rude: Rude, key: str) -> None:
    with VerifierClient(base_url=rude.url) as client:
        for call in (
            lambda: client.start_episode("a-token", idempotency_key=key),
            lambda: client.submit("a-token", np.zeros(2), idempotency_key=key),
        ):
            with pytest.raises(UsageError, match="1 to 200 visible ASCII"):
                call()
    assert rude.requests == []


def test_a_rollout_that_may_have_been_created_is_not_created_again(rude: Rude) -> None:
    with VerifierClient(base_url=rude.url) as client, pytest.raises(VerifierError, match="cannot be reached"):
        client.create_rollout("my-task")
    assert len(rude.requests) == 1


def test_who_waits_longer_is_told_that_the_verifier_is_away(rude: Rude) -> None:
    with VerifierClient(base_url=rude.url) as client, pytest.raises(VerifierAwayError, match="cannot be reached"):
        client.patient(PATIENCE_S + 0.1, threading.Event()).tasks()


def test_hurry_ends_the_waiting_and_nothing_is_sent_after_it(rude: Rude) -> None:
    hurry = threading.Event()
    hurry.set()
    with VerifierClient(base_url=rude.url) as client, pytest.raises(VerifierError, match="cannot be reached") as raised:
        client.patient(600.0, hurry).tasks()
    assert type(raised.value) is VerifierError
    assert len(rude.requests) == 1
