"""Live sessions behind a verifier, in real time: what an agent may do in one, and what becomes of one that breaks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym.market.session.taped import replayed
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.audit.log import verify_chain
from tests.marks import SOCKETS_DROPPED

TASK = "quick-live"
LIVE: dict[str, object] = {"venue": "simulated"}
BUY = {"weights": [0.4, 0.3, 0.3]}
Scenario = Callable[[Any, Path], None]

pytestmark = SOCKETS_DROPPED


def refusal(action: Callable[[], object]) -> str | None:
    with pytest.raises(SubmissionError) as caught:
        action()
    return caught.value.problem


def in_order(server: Any, folder: Path) -> None:
    """What is sent twice happens once, what is out of order is refused, and the score is the tape's."""
    client = server.client
    ticket = client.create_rollout(TASK, session={"duration_s": 4})
    assert refusal(lambda: client.step(ticket.token, 1, 1, None)) == "out-of-step"
    begun = client.start_episode(ticket.token, idempotency_key="once")
    assert client.start_episode(ticket.token, idempotency_key="once") == begun
    assert refusal(lambda: client.start_episode(ticket.token, "public", idempotency_key="once")) is not None
    assert refusal(lambda: client.start_episode(ticket.token)) == "episodes-exhausted"
    first = client.step(ticket.token, 1, 1, BUY)
    assert client.step(ticket.token, 1, 1, BUY) == first
    assert refusal(lambda: client.step(ticket.token, 1, 1, None)) == "idempotency-conflict"
    for wrong in (
        {"weights": [1.0]},
        {"weights": [True, 0, 0]},
        {"orders": [{"symbol": "btc", "side": "buy"}]},
        {"orders": [{"symbol": 10**17, "side": "buy", "quantity": 1, "type": "none"}]},
        {"cancels": [0.5]},
        {"seen": 1},
        "buy",
    ):
        assert refusal(lambda wrong=wrong: client.step(ticket.token, 1, 2, wrong)) == "malformed-action"
    begin = b'{"episode": 1, "step": 2, "action": '
    nested = [begin + b"[" * depth + b"]" * depth + b"}" for depth in (100, 300, 900, 990, 3000)]
    within = [begin + b'{"orders": [' + b"[" * depth + b"]" * depth + b"]}}" for depth in (300, 900, 985)]
    for body in (begin + b'{"weights": [NaN, 0, 0]}}', b"[" * 100_000, *nested, *within):
        answer = server.http.post("/v1/steps", content=body, headers={"Authorization": f"Bearer {ticket.token}"} | JSON)
        assert 400 <= answer.status_code < 500, answer.text
    while not first.done:
        first = client.step(ticket.token, 1, first.step + 1, None)
    assert refusal(lambda: client.step(ticket.token, 1, first.step + 1, None)) == "episode-over"
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: client.finalize(ticket.rollout_id), range(3)))
    assert results[0] == results[1] == results[2]
    result = results[0]
    assert (result.state, result.session["simulated"], result.session["left_early"]) == ("scored", True, False)
    assert refusal(lambda: client.step(ticket.token, 1, 1, None)) is not None
    tape = folder / "tape"
    tape.write_bytes(client.tape(ticket.rollout_id))
    machine, found = replayed(tape)
    assert found.difference is None
    np.testing.assert_array_equal(client.submission(ticket.rollout_id, 1)[-1], machine.record)
    assert machine.record[:, 1].sum() > 0
    events = [row.entry["event"] for row in client.log(ticket.rollout_id)]
    assert events[0] == "rollout-created"
    assert events[-1] == "finalized"
    assert events.count("episode-started") == 1
    assert client.log(ticket.rollout_id)[0].entry["session"] == {"venue": "simulated", "duration_s": 4, "tape": None}
    # Once more on the same tape, by another agent, after which both baselines are the same one.
    again = client.create_rollout(TASK, session={"tape": str(tape)})
    at = client.start_episode(again.token)
    while not at.done:
        at = client.step(again.token, 1, at.step + 1, None)
    repeated = client.finalize(again.rollout_id)
    assert repeated.baseline_total == result.baseline_total
    assert repeated.total != result.total
    assert client.tape(again.rollout_id) is None


JSON = {"Content-Type": "application/json"}


def late(server: Any, _: Path) -> None:
    """Who thinks for long is told how many bars went by, and what happened to its orders in all of them."""
    client = server.client
    with pytest.raises(VerifierError, match="a multiple of 2 s"):
        client.create_rollout(TASK, session={"duration_s": 7})
    with pytest.raises(VerifierError, match=r"malformed-request.*lasts as long as the tape"):
        client.create_rollout(TASK, session={"duration_s": 4, "tape": "some.tape"})
    # Bars of five seconds: on a busy machine too, the orders come before the second one is over.
    ticket = client.create_rollout(TASK, session={"duration_s": 10})
    begun = client.start_episode(ticket.token)
    assert begun.info["missed"] == 0
    time.sleep(5.3)
    over = client.step(ticket.token, 1, 1, BUY)
    assert over.done
    assert (over.info["time_index"], over.info["missed"]) == (2, 1)
    assert over.observation["fills"]
    assert client.finalize(ticket.rollout_id).state == "scored"


def too_late(server: Any, _: Path) -> None:
    """A decision after the end changes nothing."""
    client = server.client
    ticket = client.create_rollout(TASK, session=LIVE)
    client.start_episode(ticket.token)
    time.sleep(2.6)
    over = client.step(ticket.token, 1, 1, BUY)
    assert over.done
    assert over.observation["cash"] == 100_000.0
    assert client.finalize(ticket.rollout_id).state == "scored"
    assert (client.submission(ticket.rollout_id, 1)[-1][:, 1] == 0.0).all()


def abandoned(server: Any, _: Path) -> None:
    """Who leaves has its positions sold, and finalize waits for the rest without standing in anybody's way."""
    client = server.client
    ticket = client.create_rollout(TASK, session={"duration_s": 6})
    client.start_episode(ticket.token)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(client.finalize, ticket.rollout_id) for _ in range(2)]
        began = time.monotonic()
        while not all(future.done() for future in waiting):
            assert client.rollout_status(ticket.rollout_id).state in {"open", "finished", "scored"}
            with contextlib.suppress(SubmissionError):
                client.start_episode(client.create_rollout(TASK).token, "public")
            time.sleep(0.05)
        assert waiting[0].result() == waiting[1].result()
        assert time.monotonic() - began > 2.0, "it did not wait, so that nothing was tested"
    assert waiting[0].result().session["left_early"]


def practising(server: Any, _: Path) -> None:
    """A practice episode ends the session; the private one is not begun again."""
    client = server.client
    ticket = client.create_rollout(TASK, session=LIVE)
    client.start_episode(ticket.token)
    practice = client.start_episode(ticket.token, "public")
    assert practice.fold == "public"
    assert client.step(ticket.token, practice.episode, 1, None).step == 1
    assert refusal(lambda: client.start_episode(ticket.token)) == "episodes-exhausted"
    result = client.finalize(ticket.rollout_id)
    assert (result.state, result.session["left_early"]) == ("scored", True)


def both_at_once(server: Any, _: Path) -> None:
    """Two connections that step at once take one step."""
    client = server.client
    ticket = client.create_rollout(TASK, session=LIVE)
    client.start_episode(ticket.token)
    with ThreadPoolExecutor(2) as pool:
        same = [pool.submit(client.step, ticket.token, 1, 1, BUY) for _ in range(2)]
        assert same[0].result() == same[1].result()
    assert [one.step for one in client.actions(ticket.rollout_id)] == [1]
    client.finalize(ticket.rollout_id)


def never_begun(server: Any, _: Path) -> None:
    """Without a private episode there is nothing to score, and no tape."""
    client = server.client
    ticket = client.create_rollout(TASK, session=LIVE)
    client.start_episode(ticket.token, "public")
    result = client.finalize(ticket.rollout_id)
    assert result.state != "scored"
    assert result.session is None
    assert client.tape(ticket.rollout_id) is None


SCENARIOS: list[Scenario] = [in_order, late, too_late, abandoned, practising, both_at_once, never_begun]


@pytest.fixture(scope="module")
def played(
    quick_live: BuiltPackage, serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Scenario, Future[None]]]:
    """All of them at once, since what they do most is wait."""
    with serve([quick_live]) as server, ThreadPoolExecutor(len(SCENARIOS)) as pool:
        yield {one: pool.submit(one, server, tmp_path_factory.mktemp(one.__name__)) for one in SCENARIOS}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__.replace("_", "-"))
def test_in_a_session(played: dict[Scenario, Future[None]], scenario: Scenario) -> None:
    played[scenario].result()


def test_killed_or_stopped_in_a_session(
    launch: Callable[..., Any], quick_live: BuiltPackage, in_session_tape: Path, tmp_path: Path
) -> None:
    """Whatever ends the verifier, a session does not go on after it, and never has a score."""
    state = tmp_path / "state"
    process = launch([quick_live], state)
    with process.client() as client:
        killed = client.create_rollout(TASK, session={"duration_s": 4})
        taped = client.create_rollout(TASK, session={"tape": str(in_session_tape)})
        client.start_episode(taped.token)
        client.start_episode(killed.token)
    process.kill()
    process = launch([quick_live], state)
    with process.client() as client:
        for ticket in (killed, taped):
            for ask in (
                lambda ticket=ticket: client.step(ticket.token, 1, 1, None),
                *2 * [lambda ticket=ticket: client.finalize(ticket.rollout_id)],
            ):
                with pytest.raises(VerifierError, match="503"):
                    ask()
            assert client.rollout_status(ticket.rollout_id).state == "open"
        stopped = client.create_rollout(TASK, session={"duration_s": 4})
        client.start_episode(stopped.token)
        with ThreadPoolExecutor(1) as pool:
            stepping = pool.submit(client.step, stopped.token, 1, 1, None)
            time.sleep(0.2)
            assert process.stop() == 0
            with contextlib.suppress(VerifierError, SubmissionError):  # or it was waited for
                stepping.result()
    process = launch([quick_live], state)
    with process.client() as client, pytest.raises(VerifierError, match="503"):
        client.finalize(stopped.rollout_id)
    assert process.stop() == 0
    verify_chain(state)


@pytest.fixture(scope="module")
def in_session_tape(quick_live: BuiltPackage, serve: Callable[..., Any], tmp_path_factory: Any) -> Path:
    """The tape of a session."""
    path = tmp_path_factory.mktemp("tape") / "tape"
    with serve([quick_live]) as server:
        ticket = server.client.create_rollout(TASK, session=LIVE)
        server.client.start_episode(ticket.token)
        server.client.finalize(ticket.rollout_id)
        path.write_bytes(server.client.tape(ticket.rollout_id))
    return path
