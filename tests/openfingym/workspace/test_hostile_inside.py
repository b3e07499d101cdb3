"""An inside that lies: whatever arrives instead of an answer costs the agent its workspace, and the host nothing."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import RuntimeFailureError
from openfingym.workspace import WorkspaceError, answers, frames, starting, workspace

from .conftest import SANDBOX, Open

GREETING = {"id": 0, "protocol": 1}
RUN = {"id": 1, "ended_by": "exit", "exit_code": 0, "output": ""}
SERVER = """
import base64, os, socket, time
link = socket.socket(socket.AF_UNIX)
link.connect("/run/openfingym/workspace.sock")
link.sendall(base64.b64decode({greeting!r}))
link.recv(4)
try:
    link.sendall(base64.b64decode({answer!r}) * {times})
except OSError:
    pass
time.sleep(60)
"""


def frame(message: object) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def impostor(answer: bytes, *, greeting: bytes | None = None, times: int = 1) -> str:
    first = frame(GREETING) if greeting is None else greeting
    return SERVER.format(
        greeting=base64.b64encode(first).decode(), answer=base64.b64encode(answer).decode(), times=times
    )


LIES = {
    "no JSON": frame(b"{\xff"),
    "deep": frame(b"[" * 100_000),
    "a list": frame([1]),
    "long": frame({**RUN, "output": base64.b64encode(bytes(100_001)).decode()}),
    "endless": struct.pack(">I", 0xFFFFFFFF) + bytes(1 << 16),
    "another number": frame({**RUN, "id": 2}),
    "a true number": frame({**RUN, "id": True}),
    "an unknown end": frame({**RUN, "ended_by": "scored"}),
    "a huge code": frame({**RUN, "exit_code": 10**400}),
    "no code": frame({"id": 1, "ended_by": "exit", "output": ""}),
    "no base64": frame({**RUN, "output": "é!"}),
    "an unknown refusal": frame({"id": 1, "refused": "ended", "detail": ""}),
    "a novel": frame({"id": 1, "refused": "failed", "detail": "x" * 20_000}),
    "nothing": b"",
}


@SANDBOX
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_ends_the_workspace(opened: Open, monkeypatch: pytest.MonkeyPatch, lie: str) -> None:
    monkeypatch.setattr(workspace, "ANSWER_S", 1.0)
    monkeypatch.setattr(starting, "PROGRAM", impostor(LIES[lie]))

    async def scenario() -> None:
        async with opened() as space:
            done = await space.run_python("", timeout_s=0.2)
            assert (done.ended_by, done.exit_code, done.output) == ("killed", None, "")
            assert not space.alive
            with pytest.raises(WorkspaceError, match=r"has ended: it (sent|did not answer)"):
                await space.read_file("x")

    asyncio.run(scenario())


def test_a_flood_of_answers_is_not_stored(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "PROGRAM", impostor(frame(RUN) * 1000, times=1000))

    async def scenario() -> None:
        async with opened() as space:
            assert (await space.run_python("", timeout_s=5)).ended_by == "exit"  # as good a lie as any
            tracemalloc.start()
            await asyncio.sleep(0.5)
            assert tracemalloc.get_traced_memory()[1] < 2 << 20
            tracemalloc.stop()
            assert (await space.run_python("", timeout_s=5)).ended_by == "killed"

    asyncio.run(scenario())


@SANDBOX
@pytest.mark.parametrize(
    ("program", "said"),
    [
        (impostor(b"", greeting=frame({"id": 0, "protocol": 2})), "protocol 1"),
        (impostor(b"", greeting=b"GET / HTTP/1.1\r\n\r\n"), "protocol 1"),
        ("raise RuntimeError('no luck')", "no luck"),
        ("import time; time.sleep(60)", "did not start"),
    ],
)
def test_what_does_not_greet_was_not_started(
    opened: Open, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    monkeypatch.setattr(starting, "START_S", 2.0)
    monkeypatch.setattr(starting, "PROGRAM", program)

    async def scenario() -> None:
        async with opened():
            pytest.fail("it was opened")

    with pytest.raises(RuntimeFailureError, match=said):
        asyncio.run(scenario())


async def parse(content: bytes) -> object:
    reader = asyncio.StreamReader()
    reader.feed_data(content)
    reader.feed_eof()
    found = await frames.receive(reader, 10_000)
    if "refused" in found:
        return answers.refusal(found)
    return answers.entries(found) if "entries" in found else answers.execution(found, 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4),
)
FIELDS = st.sampled_from(["id", "ended_by", "exit_code", "output", "refused", "detail", "entries", "content"])
ENDS = st.sampled_from(["exit", "timeout", "memory", "output", "killed", "QUJD", "failed"])


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.dictionaries(FIELDS, JSON | ENDS).map(frame))
def test_whatever_arrives_is_an_answer_or_a_known_error(content: bytes) -> None:
    try:
        found = asyncio.run(parse(content))
    except (frames.WorkspaceFrameError, EOFError):
        return
    if isinstance(found, answers.Execution):
        assert found.ended_by in {"exit", "timeout", "memory", "output"}
        assert len(found.output) <= 100
        found.output.encode()
        assert (found.exit_code is not None) == (found.ended_by == "exit")


def test_names_can_be_shown() -> None:
    listing = frames.Fields({"entries": [["b\udcff", "file", 3], ["a\ud800", "link", 0]]})
    assert [entry.name for entry in answers.entries(listing)] == ["a?", "b?"]
