"""``interface.make()`` through a real gate to a real verifier, and its WebSocket client against a server that is not
ours."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.server import ServerConnection, unix_serve

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import MAX_ACTION_BYTES
from openfingym.verifiers.client import VerifierClient
from openfingym_agent import EpisodesExhausted, Interface, SubmissionRefused, VerifierUnavailable
from openfingym_agent.environment import _value
from openfingym_agent.websocket import HandshakeRefused, WebSocket
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.embedded import EmbeddedVerifier

TASK = "equity-rolling-forecast"
STEPS, EPISODES = 100, 11
TRANSPORTS = ["http", "websocket"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task(TASK))


@pytest.fixture(scope="module")
def verifier(package: BuiltPackage) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([package]) as running:
        yield running


@pytest.fixture(scope="module")
def client(verifier: EmbeddedVerifier) -> Iterator[VerifierClient]:
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as found:
        yield found


@pytest.fixture
def begin(
    verifier: EmbeddedVerifier, client: VerifierClient, package: BuiltPackage
) -> Iterator[Callable[[], tuple[str, Interface]]]:
    """Begins rollouts: the id, and what the agent's program imports."""
    with GateKeeper(verifier.uds) as keeper, contextlib.ExitStack() as stack:

        def make() -> tuple[str, Interface]:
            ticket = client.create_rollout(TASK)
            gate = stack.enter_context(
                keeper.open(rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=MAX_ACTION_BYTES)
            )
            interface = Interface(package.data.parent, gate=str(gate.socket))
            stack.callback(interface.close)
            return ticket.rollout_id, interface

        yield make


def predict(observation: dict[str, Any]) -> np.ndarray:
    """Something that depends on what was seen."""
    closes = observation["bars"][:, :, 3]
    return np.clip(np.log(closes[-1] / closes[-6]), -0.5, 0.5).round(9)


def play(interface: Interface, transport: Any, episodes: int = 5) -> list[Any]:
    """What was seen, step by step."""
    env, seen = interface.make(transport=transport), []
    while env.episodes_left > EPISODES - episodes:
        observation, info = env.reset(seed=1)
        seen.append((observation["bars"].tobytes(), info))
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step({"predictions": predict(observation)})
            seen.append((observation["bars"].tobytes(), reward, terminated, truncated, info))
            done = terminated or truncated
    env.close()
    return seen


def test_both_transports_see_and_score_the_same(begin: Any, client: VerifierClient) -> None:
    rollouts = {transport: begin() for transport in TRANSPORTS}
    seen = {transport: play(interface, transport) for transport, (_, interface) in rollouts.items()}
    assert len(seen["http"]) == 5 * (STEPS + 1)
    assert seen["http"] == seen["websocket"]
    results = [client.finalize(rollout_id) for rollout_id, _ in rollouts.values()]
    assert results[0].metrics == results[1].metrics
    assert results[0].submissions_accepted == 5
    for rollout_id, _ in rollouts.values():
        assert len(client.actions(rollout_id)) == 5 * STEPS


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_methods_of_a_gymnasium_environment(begin: Any, transport: Any) -> None:
    _, interface = begin()
    env = interface.make("public", transport)
    assert (env.episodes_left, env.contract["kind"]) == (EPISODES, "rolling")
    with pytest.raises(SubmissionRefused, match=r"reset\(\) first"):
        env.step(None)
    observation, info = env.reset()
    assert observation["bars"].shape == (60, 3, 5)
    assert observation["bars"].dtype == np.float64
    assert (info["fold"], info["number"], info["step"], info["episode"]) == ("public", 0, 0, 1)
    for wrong in (
        {"predictions": [1.0]},
        {"predictions": [0.0, 0.0, np.nan]},
        {"predictions": np.zeros((3, 3))},
        {1, 2},
        "x" * MAX_ACTION_BYTES,
    ):
        with pytest.raises(SubmissionRefused) as refused:
            env.step(wrong)
        assert refused.value.problem in {"malformed-action", "payload-too-large"}
    for right in ({"predictions": np.zeros(3, np.float32)}, {"predictions": (np.float64(0.5), np.int64(0), 1)}, None):
        *_, info = env.step(right)
    assert info["step"] == 3
    for number in range(EPISODES):
        _, info = env.reset(options={"fold": "private"})
        assert (info["number"], env.episodes_left) == (number, EPISODES - 1 - number)
    with pytest.raises(EpisodesExhausted) as exhausted:
        env.reset(options={"fold": "private"})
    assert exhausted.value.problem == "episodes-exhausted"
    with pytest.raises(SubmissionRefused) as refused:
        env.reset(options={"fold": "mine"})
    assert refused.value.problem == "malformed-request"
    env.close()
    _, info = env.reset()
    assert (info["fold"], info["episode"]) == ("public", EPISODES + 2)
    while info["steps_left"] != 0:
        *_, info = env.step(None)
    with pytest.raises(SubmissionRefused) as refused:
        env.step(None)
    assert refused.value.problem == "episode-over"
    env.close()


def test_the_other_interface_is_named(begin: Any, treasury: BuiltPackage) -> None:
    _, interface = begin()
    with pytest.raises(SubmissionRefused, match="make") as refused:
        interface.submit(np.zeros(3))
    assert refused.value.problem == "wrong-interface"
    with pytest.raises(ValueError, match="make"):
        interface.load_test_inputs()
    with pytest.raises(ValueError, match="transport"):
        interface.make(transport="carrier pigeon")
    with pytest.raises(ValueError, match="iter_test"):
        Interface(treasury.data.parent).make()


class Verifier:
    """A verifier process on a state of its own, to be killed and started again at the same address."""

    def __init__(self, package: BuiltPackage, folder: Path) -> None:
        self.uds, self.state, self._package = folder / "v.sock", folder / "state", package
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "openfingym_verifier", "--state", str(self.state), "--uds", str(self.uds)]
        command += ["--package", str(self._package.public), str(self._package.truth)]
        path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier"))
        environment = {**os.environ, "PYTHONPATH": path, "OPENFINGYM_ADMIN_TOKEN": "an-admin-token-for-tests"}
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def client(self) -> VerifierClient:
        return VerifierClient(uds=self.uds, admin_token="an-admin-token-for-tests")


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_verifier_killed_in_the_middle_is_not_noticed(
    package: BuiltPackage, begin: Any, client: VerifierClient, transport: Any, tmp_path: Path
) -> None:
    undisturbed_id, undisturbed = begin()
    expected = play(undisturbed, transport, episodes=2)
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        verifier = Verifier(package, Path(folder))
        with verifier.client() as own:
            ticket = own.create_rollout(TASK)
        done, kills = threading.Event(), 0

        def disturb() -> None:
            nonlocal kills
            while not done.wait(0.05):
                verifier.kill()
                verifier.start()
                kills += 1
                if kills == 2:
                    return

        thread = threading.Thread(target=disturb)
        with (
            GateKeeper(verifier.uds) as keeper,
            keeper.open(rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=MAX_ACTION_BYTES) as gate,
        ):
            thread.start()
            try:
                with contextlib.closing(Interface(package.data.parent, gate=str(gate.socket))) as interface:
                    seen = play(interface, transport, episodes=2)
            finally:
                done.set()
                thread.join()
        with verifier.client() as own:
            result, taken = own.finalize(ticket.rollout_id), own.actions(ticket.rollout_id)
        verifier.kill()
        verify_chain(verifier.state)
    assert kills >= 1
    assert seen == expected
    assert taken == client.actions(undisturbed_id)
    assert result.metrics == client.finalize(undisturbed_id).metrics
    assert result.submissions_rejected == 0


def test_no_gate_is_said_clearly(package: BuiltPackage) -> None:
    for transport in TRANSPORTS:
        interface = Interface(package.data.parent, gate="/nowhere/gate.sock")
        with pytest.raises(VerifierUnavailable, match="nowhere"):
            interface.make(transport=transport).reset()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ([1, 2.5, None], np.array([1, 2.5, np.nan])),
        ([[1, 2], [3, None]], np.array([[1, 2], [3, np.nan]])),
        ([None], np.array([np.nan])),
        ([], []), ([[]], [[]]), ([[1], []], [[1], []]), ([[1], [2, 3]], [[1], [2, 3]]), ([True, False], [True, False]),
        (["1", "2"], ["1", "2"]), ([1, "2"], [1, "2"]), ([{"a": 1}], [{"a": 1}]), (3, 3), (None, None), ("x", "x"),
    ],
)  # fmt: skip
def test_lists_of_numbers_become_arrays(given_value: Any, expected: Any) -> None:
    found = _value(given_value)
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected, strict=True)
    else:
        assert found == expected


@contextlib.contextmanager
def serving(handler: Callable[[ServerConnection], None], **options: Any) -> Iterator[str]:
    """A WebSocket server of another make."""
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        path = str(Path(folder) / "s.sock")
        with unix_serve(handler, path, **options) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


def echo(connection: ServerConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            connection.send(connection.recv())


@settings(max_examples=25)
@given(
    texts=st.lists(
        st.text(max_size=300) | st.integers(0, 200_000).map(lambda n: "aé€" * (n // 3)), min_size=1, max_size=5
    )
)
def test_any_text_comes_back(texts: list[str]) -> None:
    with serving(echo, compression=None, max_size=None) as path:
        socket = WebSocket(path, "/", timeout_s=10)
        for text in texts:
            with contextlib.suppress(UnicodeEncodeError):
                socket.send(text)
                assert socket.receive() == text
        socket.close()


def test_pieces_pings_and_goodbyes() -> None:
    pongs = []

    def handler(connection: ServerConnection) -> None:
        connection.send(iter(["a", "b" * 200, "c" * 70_000]))
        pongs.append(connection.ping().wait(5))
        connection.send("after the ping")
        connection.close(4000, "enough")

    with serving(handler) as path:
        socket = WebSocket(path, "/", timeout_s=10)
        assert socket.receive() == "a" + "b" * 200 + "c" * 70_000
        assert socket.receive() == "after the ping"
        with pytest.raises(ConnectionError, match="code 4000"):
            socket.receive()
        socket.close()
    assert pongs == [True]


def test_another_answer_than_101_is_passed_on() -> None:
    def refuse(connection: ServerConnection, _: Any) -> Any:
        response = connection.respond(503, '{"detail": "busy"}')
        response.headers["Retry-After"] = "3"
        return response

    with serving(echo, process_request=refuse) as path, pytest.raises(HandshakeRefused) as refused:
        WebSocket(path, "/", timeout_s=10)
    assert (refused.value.status, refused.value.retry_after, json.loads(refused.value.content)) == (
        503,
        "3",
        {"detail": "busy"},
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x82\x01\x02\x03\x04" + bytes([ord("h") ^ 1, ord("i") ^ 2]),  # masked, as only a client may
        b"\xc1\x02hi",
        Frame(Opcode.BINARY, b"hi").serialize(mask=False),
        Frame(Opcode.CONT, b"hi").serialize(mask=False),
        Frame(Opcode.TEXT, b"hi", fin=False).serialize(mask=False) + Frame(Opcode.TEXT, b"hi").serialize(mask=False),
        b"\x81\x7f" + struct.pack("!Q", 1 << 40),
        b"\x81\x7e\x00",
        b"",
    ],
)
def test_what_is_no_text_message_is_an_error(data: bytes) -> None:
    def handler(connection: ServerConnection) -> None:
        connection.socket.sendall(data)
        connection.socket.shutdown(1)
        time.sleep(0.05)

    with serving(handler) as path:
        socket = WebSocket(path, "/", timeout_s=5)
        with pytest.raises(OSError):
            socket.receive()
        socket.close()
