"""External agents: on this machine by JSON lines, and inside the container."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from openfingym.agents import resolve
from openfingym.agents.llm.command import Command, _completion
from openfingym.errors import UsageError
from openfingym.models import Allowance, Usage

from .conftest import Play

pytestmark = pytest.mark.sandbox

TALK = """
import json, os, sys

def hear():
    return json.loads(sys.stdin.readline())

def say(**message):
    print(json.dumps(message), flush=True)

def call(tool, **arguments):
    say(type="call", id="1", tool=tool, arguments=arguments)
    return hear()

task = hear()
"""
WALKS = """
say(type="message", content="The last value again.", model="mine", prompt_tokens=10, completion_tokens=5, cost_usd=0.25)
code = '''
import interface, numpy
def again(inputs): return numpy.repeat(inputs[:, -1:], interface.HORIZON, axis=1)
print(interface.predict_each(again, practice=True), interface.predict_each(again))
'''
assert call("submit", path="p.npy")["failed"]
found = call("run_python", code=code)
assert found["complete"]
admin = "admin" if "OPENFINGYM_ADMIN_TOKEN" in os.environ else ""
print("heard", found["text"], os.environ["MY_API_KEY"], admin, file=sys.stderr)
say(type="end")
"""


def _command(program: str) -> Command:
    return Command((sys.executable, "-c", TALK + program))


def test_it_is_told_and_tells(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "a-key-of-my-own")
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "nobody-is-told")
    left = play(_command(WALKS))
    assert (left.result.state, left.result.boundary, left.result.model) == ("scored", None, None)
    assert left.result.relative_total == pytest.approx(1.0)
    assert (left.result.turns, left.result.prompt_tokens, left.result.cost_usd) == (1, 10, 0.25)
    assert [call.name for turn in left.record.messages for call in turn.tool_calls] == ["submit", "run_python"]
    log = (left.folder / "output.log").read_text(encoding="utf-8")
    assert "heard submission 1: public loss" in log
    assert "a-key-of-my-own" not in log
    assert "admin" not in log


def test_half_a_character_that_it_says_can_be_kept(play: Play) -> None:
    half = r"'\ud83d'"
    left = play(
        _command(
            f"say(type='message', content={half}, model={half})\nsay(type='call', id={half}, tool={half}, "
            "arguments={})"
        )
    )
    assert (left.result.state, left.result.boundary) == ("rejected", "agent")
    assert left.record.messages[0].content == "?"


def test_it_steps(play: Play) -> None:
    program = (
        'assert "Episode 1 of 5" in call("start_episode")["text"]\nwhile not call("step", action=None, '
        'wait=500)["complete"]: pass\n'
    )
    left = play(_command(program), kind="trading")
    assert left.result.state == "scored", left.result.reason
    assert len(left.record.rewards) == 1000


@pytest.mark.parametrize(
    ("program", "how", "reason"),
    [
        ("sys.exit(3)", "failed", "ended with status 3"),
        ("{}['a key']", "failed", "ended with status 1 (KeyError: 'a key')"),
        ("sys.exit('é' * 2_000_000 + '\\nat the\\x1b[31m end')", "failed", "ended with status 1 (at the[31m end)"),
        ("for _ in range(5): print('hello', flush=True)\nsys.stdin.read()", "failed", "not understood"),
        ("print('x' * 9_000_000, flush=True)\nsys.stdin.read()", "failed", "a line of more than"),
        ("say(type='end')", "finished", "no window of the private fold was asked for"),
        ("import time\ntime.sleep(60)", "wall", "2 seconds were over"),
    ],
)
def test_it_fails(program: str, how: str, reason: str, play: Play) -> None:
    left = play(_command(program), allowance=Allowance(wall_s=2.0))
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", how)
    assert reason in str(left.result.reason)


@pytest.mark.parametrize(
    "program",
    [
        "print('hello \\x1b[31m' + 'x' * 500)",
        "print('hello \\x1b[31m' + 'x' * 500); sys.exit(3)",
        "for _ in range(5): print('hello \\x1b[31m' + 'x' * 500, flush=True)\nsys.stdin.read()",
    ],
    ids=["once", "status", "again"],
)
def test_what_it_prints_that_is_no_json_is_quoted(program: str, play: Play) -> None:
    left = play(_command(program))
    assert (left.result.state, left.result.ended_by) == ("rejected", "failed")
    assert r"'hello \x1b[31mxxx" in str(left.result.reason), left.result.reason
    assert "one JSON object a line" in str(left.result.reason)
    assert "x" * 100 not in str(left.result.reason)
    assert "\x1b" not in str(left.result.reason)


def test_what_goes_into_the_container(tmp_path: Path) -> None:
    (tmp_path / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "main.py").write_text("import lib.a")
    (tmp_path / "lib" / "a.py").write_text("é = 1")
    (tmp_path / "lib" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"\xa7\r\r\n\xff")
    found = resolve("command", command=["python3", "main.py"], files=tmp_path).acts
    assert isinstance(found, Command)
    assert dict(found.files) == {"main.py": "import lib.a", "lib/a.py": "é = 1"}
    (tmp_path / "lib" / "weights.bin").write_bytes(b"\xff\xff")
    with pytest.raises(UsageError, match=r"weights.bin: cannot be read as UTF-8 text"):
        resolve("command", command=["python3", "main.py"], files=tmp_path)


def test_what_it_started_ends_with_it(play: Play, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    play(
        _command(
            f"import subprocess\nprocess = subprocess.Popen(['sleep', '300'])\nopen({str(pid)!r}, "
            "'w').write(str(process.pid))\n"
        )
    )
    number = int(pid.read_text())
    assert not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE


def test_inside_the_container(play: Play, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    program = "import interface, numpy\nfor one in interface.iter_test(): one.predict(numpy.zeros(one.shape))\n"
    (files / "agent.py").write_text(program, encoding="utf-8")
    agent = resolve("command", command=["python3", "agent.py"], files=files)
    left = play(agent)
    assert left.result.state == "scored", left.result.reason
    assert left.result.submissions_accepted == 1
    failing = play(resolve("command", command=["no-such-program"], files=files))
    assert (failing.result.state, failing.result.ended_by) == ("rejected", "failed")


def test_what_cannot_be_started_is_the_users_mistake(play: Play) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        play(Command(("/no/such/program",)))
    with pytest.raises(UsageError, match="--command"):
        resolve("command")
    with pytest.raises(UsageError, match="--agent command"):
        resolve("ridge", command=["x"])
    assert os.environ.get("OPENFINGYM_ADMIN_TOKEN") is None


@pytest.mark.parametrize(
    ("stated", "usage", "counted"),
    [
        ({}, Usage(0, 10), False),
        ({"prompt_tokens": 7}, Usage(7, 10), False),
        ({"prompt_tokens": None, "completion_tokens": 3}, Usage(0, 3), False),
        ({"prompt_tokens": 7, "completion_tokens": 3}, Usage(7, 3), True),
        ({"prompt_tokens": 0, "completion_tokens": 0}, Usage(0, 0), True),
    ],
)
def test_tokens_that_a_command_does_not_state_are_estimated(
    stated: dict[str, int | None], usage: Usage, counted: bool
) -> None:
    found = _completion({"content": "x" * 40, **stated}, costs=False)
    assert (found.usage, found.counted) == (usage, counted)
