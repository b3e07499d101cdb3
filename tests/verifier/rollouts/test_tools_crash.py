"""``kill -9`` of a verifier in the middle of a question's lookups: nothing is lost, and nothing is counted twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import SubmissionError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from tests.marks import SOCKETS_DROPPED

pytestmark = SOCKETS_DROPPED
CALL = {"tool": "level", "arguments": {"day": 7}}


@pytest.fixture
def package(jar_task: Path) -> BuiltPackage:
    return build(Task.read(jar_task))


def test_a_killed_verifier_goes_on_within_a_question(
    package: BuiltPackage, launch: Callable[..., Any], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    first = launch([package], state)
    with first.client() as client:
        ticket = client.create_rollout("jar-forecast")
        at = client.start_episode(ticket.token)
        seen = client.step(ticket.token, at.episode, 1, CALL)
        refused = client.step(ticket.token, at.episode, 2, {"tool": "level", "arguments": {"day": 10**6}})
        # It dies while calls come in as fast as they can.
        stop = threading.Event()

        def flood() -> None:
            while not stop.is_set():
                try:
                    client.step(ticket.token, at.episode, 3, CALL)
                except Exception:
                    return

        flooding = threading.Thread(target=flood)
        flooding.start()
        first.kill()
        flooding.join()
    second = launch([package], state)
    with second.client() as client:
        again = client.step(ticket.token, at.episode, 3, CALL)  # taken before, or now: once
        assert "The same call was made before: 2 times now" in again.observation["text"]
        assert again.observation["value"] == seen.observation["value"]
        assert client.step(ticket.token, at.episode, 3, CALL).observation == again.observation
        assert not refused.observation["valid"]
        with pytest.raises(SubmissionError, match="with another action"):
            client.step(ticket.token, at.episode, 3, {"answer": 0.5})
        client.step(ticket.token, at.episode, 4, CALL)
        over = client.step(ticket.token, at.episode, 5, CALL)
        assert over.terminated
        assert "The same call was made 4 times." in over.observation["text"]
        assert client.start_episode(ticket.token).number == at.number + 1
