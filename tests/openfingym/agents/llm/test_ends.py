"""Every way a rollout can go wrong ends in one state, with the reason, on the side whose fault it was."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from openfingym.agents.llm import Session
from openfingym.agents.testing import StandIn
from openfingym.build import build
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.models import Allowance, ModelSpec
from openfingym.rollout import Launcher

from .conftest import Play, player

pytestmark = pytest.mark.sandbox

BROKEN = {
    "empty": {"oneshot": "silent", "react": "silent", "codeblock": "silent"},
    "garbage-text": {"oneshot": "no-program", "react": "no-program", "codeblock": "no-program"},
    "endless": {"oneshot": "endless", "react": "endless", "codeblock": "endless"},
    "invalid-json": {"oneshot": "no-program", "react": "bad-calls", "codeblock": "no-program"},
    "unknown-tool": {"oneshot": "no-program", "react": "bad-calls", "codeblock": "no-program"},
    "wrong-arguments": {"oneshot": "no-program", "react": "bad-calls", "codeblock": "no-program"},
    "refusal": {"oneshot": "refused", "react": "refused", "codeblock": "refused"},
    "prose": {"oneshot": "no-program", "react": "no-program", "codeblock": "no-program"},
}


@pytest.mark.parametrize("sort", BROKEN)
def test_every_sort_of_rubbish(sort: str, play: Play) -> None:
    for agent, how in BROKEN[sort].items():
        left = play(agent, f"broken-{sort}")
        assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "model", how), agent
        assert left.result.reason
        assert left.result.turns == (1 if agent == "oneshot" or how == "refused" else 3)


def test_programs_that_never_run_spend_the_turns(play: Play) -> None:
    left = play("react", "broken-syntax-error", allowance=Allowance(turns=5))
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", "turns")
    assert "its 5 turns were used up" in str(left.result.reason)
    assert "1 turn, your last" in left.told
    assert "SyntaxError" in left.told
    once = play("oneshot", "broken-syntax-error")
    assert (once.result.state, once.result.boundary, once.result.ended_by, once.result.exit_code) == ("rejected", "agent", "exit", 1)


@pytest.mark.parametrize("fault", ["rate-limit:1", "error-500:1", "error-503:1", "cut:1", "garbage:1", "renamed"])
def test_faults_that_pass_are_waited_out(fault: str, play: Play) -> None:
    left = play("react", f"competent+{fault}")
    assert left.result.state == "scored"
    attempts = [turn.generation.attempts for turn in left.record.messages if turn.generation]
    assert max(attempts) > 1


@pytest.mark.parametrize("fault", ["rate-limit", "error-500", "error-503", "cut", "garbage", "unauthorized", "not-found", "no-credit"])
def test_an_endpoint_that_is_away_is_no_score(fault: str, play: Play) -> None:
    left = play("react", f"competent+{fault}")
    assert (left.result.state, left.result.boundary, left.result.total) == ("error", "model", None)
    assert left.record.failure == "model"
    assert left.record.score.reward is None
    assert left.result.reason


@pytest.mark.parametrize(("fault", "state"), [("context-too-long", "rejected"), ("content-filter", "rejected"), ("bad-request", "error")])
def test_refused_requests(fault: str, state: str, play: Play) -> None:
    left = play("codeblock", f"competent+{fault}")
    assert (left.result.state, left.result.boundary) == (state, "model")
    assert left.result.turns == 0
    assert left.result.cost_usd is None


def test_an_endpoint_that_never_answers_is_not_the_agents_fault(play: Play) -> None:
    left = play("react", "competent+hang", allowance=Allowance(wall_s=0.7))
    assert (left.result.state, left.result.boundary) == ("error", "model")


def test_tokens_are_limited_and_the_agent_is_told(play: Play) -> None:
    left = play("react", "competent", allowance=Allowance(tokens=1500))
    assert (left.result.ended_by, left.result.boundary) == ("tokens", "agent")
    assert "1500 tokens, input and output together" in left.told
    assert "Left:" in left.told
    spent = left.result.prompt_tokens + left.result.completion_tokens
    assert 1500 <= spent < 3500


def test_what_was_submitted_before_a_limit_counts(play: Play) -> None:
    left = play("react", "competent", allowance=Allowance(turns=3))
    assert (left.result.state, left.result.ended_by, left.result.turns) == ("scored", "turns", 3)


def test_a_limit_on_cost_needs_a_price(play: Play) -> None:
    with StandIn() as stand_in, pytest.raises(UsageError, match="no price is known"):
        play("react", ModelSpec.parse("some-model", base_url=stand_in.base_url), allowance=Allowance(cost_usd=1.0))


@dataclass(frozen=True)
class Sleeper:
    """Runs one program and waits for it."""

    program: str = "import time\nprint('asleep', flush=True)\ntime.sleep(60)"
    takes_steps = False

    async def act(self, session: Session) -> None:
        await session.tools.run(self.program)


def test_time_is_limited_whatever_it_is_spent_on(play: Play) -> None:
    started = time.monotonic()
    left = play(Sleeper(), allowance=Allowance(wall_s=1.0))
    assert (left.result.state, left.result.ended_by, left.result.boundary) == ("rejected", "wall", "agent")
    assert time.monotonic() - started < 15


def test_cancelling_ends_it_and_leaves_nothing(play: Play) -> None:
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    left = play(Sleeper(), cancel=cancel)
    assert (left.result.state, left.result.ended_by) == ("rejected", "cancelled")
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


def test_a_workspace_that_is_ended_by_its_programs(play: Play) -> None:
    left = play(Sleeper("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"))
    assert (left.result.state, left.result.ended_by, left.result.boundary) == ("rejected", "workspace", "agent")


@dataclass(frozen=True)
class Regicide:
    """Submits after the verifier is gone."""

    spared: tuple[int, ...]
    takes_steps = False

    async def act(self, session: Session) -> None:
        for process in psutil.Process().children(recursive=True):
            if process.pid not in self.spared and any("openfingym_verifier" in word for word in process.cmdline()):
                process.kill()
        await session.tools.run("import interface, numpy\ninterface.submit(numpy.zeros(interface.SUBMISSION_SHAPE))\n")


# httpcore leaves a socket to the garbage collector whose connection was refused.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_verifier_that_dies_is_no_score(tmp_path: Path) -> None:
    spared = tuple(process.pid for process in psutil.Process().children(recursive=True))
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as launcher:
        left = player(launcher, tmp_path)(Regicide(spared), allowance=Allowance(wall_s=4))
    gc.collect()
    assert (left.result.state, left.result.boundary, left.record.failure) == ("error", "verifier", "verifier")


def test_no_key_is_written_anywhere(play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    caplog.set_level("DEBUG")
    with StandIn() as stand_in:
        where = stand_in.base_url.replace("http://", "http://user:hunter22@")
        for model in ("stand-in/competent", "stand-in/competent+unauthorized"):
            left = play("react", ModelSpec.parse(model, base_url=where))
            for path in left.folder.rglob("*"):
                if path.is_file():
                    content = path.read_bytes()
                    assert key.encode() not in content, path
                    assert b"hunter22" not in content, path
    assert left.result.state == "error"
    assert key not in caplog.text
