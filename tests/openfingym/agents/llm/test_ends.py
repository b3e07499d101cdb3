"""Every way a rollout can go wrong ends in one state, with the reason, on the side whose fault it was."""

from __future__ import annotations

import gc
import json
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from openfingym.agents import resolve
from openfingym.agents.llm import Conversation, React, Sampling
from openfingym.catalog import load_task
from openfingym.errors import UsageError
from openfingym.models import Allowance, ModelSpec, ToolCall
from openfingym.models.testing import StandIn
from openfingym.models.text_tools import HOW_TO_CALL
from openfingym.packages.build import build
from openfingym.rollouts.launcher import Launcher
from openfingym.trajectory.record import ToolUse
from openfingym_runtime.job import Job, Outcome
from openfingym_runtime.sandbox import SandboxBackend
from openfingym_runtime.sandbox.inside import landlock
from tests.warm_verifiers import is_verifier

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
        boundary = "model" if how == "refused" else "protocol"
        assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", boundary, how), agent
        assert left.record.failure == boundary
        assert str(left.result.reason).startswith("3 answers in a row ") == (agent != "oneshot" and how != "refused")
        assert left.result.turns == (1 if agent == "oneshot" or how == "refused" else 3)


def test_what_was_of_no_use_is_told_of_each_of_the_answers(play: Play) -> None:
    left = play("react", "broken")  # rubbish of another sort every turn
    each = "1 empty; 1 without a program or a call; 1 cut off for length"
    assert str(left.result.reason).startswith(
        f"3 useless answers in a row: {each}; no window of the private fold was asked for"
    )


def test_programs_that_never_run_spend_the_turns(play: Play) -> None:
    left = play("react", "broken-syntax-error", allowance=Allowance(turns=5, useless=9))
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", "turns")
    assert "its 5 turns were used up" in str(left.result.reason)
    assert "1 turn, your last" in left.told
    assert "SyntaxError" in left.told
    once = play("oneshot", "broken-syntax-error")
    assert (once.result.state, once.result.boundary, once.result.ended_by, once.result.exit_code) == (
        "rejected",
        "agent",
        "exit",
        1,
    )


@pytest.mark.parametrize("fault", ["rate-limit:1", "error-500:1", "error-503:1", "cut:1", "garbage:1", "renamed"])
def test_faults_that_pass_are_waited_out(fault: str, play: Play) -> None:
    left = play("react", f"competent+{fault}")
    assert left.result.state == "scored"
    attempts = [turn.generation.attempts for turn in left.record.messages if turn.generation]
    assert max(attempts) > 1


@pytest.mark.parametrize(
    "fault", ["rate-limit", "error-500", "error-503", "cut", "garbage", "unauthorized", "not-found", "no-credit"]
)
def test_an_endpoint_that_is_away_is_no_score(fault: str, play: Play) -> None:
    left = play("react", f"competent+{fault}")
    assert (left.result.state, left.result.boundary, left.result.total) == ("error", "model", None)
    assert left.record.failure == "model"
    assert left.record.score.reward is None
    assert left.result.reason


@pytest.mark.parametrize(
    ("fault", "form"),
    [
        ("no-tools", "text"),
        ("no-tools-llama.cpp", "text"),
        ("written-hermes", "written"),
        ("written-json", "written"),
    ],
)
def test_a_model_whose_calls_are_text_is_understood(fault: str, form: str, play: Play) -> None:
    left = play("react", f"competent+{fault}")
    assert (left.result.state, left.result.ended_by) == ("scored", "finished"), left.result.reason
    answers = [turn for turn in left.record.messages if turn.generation]
    calls = [call.name for turn in answers for call in turn.tool_calls]
    assert calls == ["run_python"] * 3
    assert {turn.generation.call_form for turn in answers if turn.generation and turn.tool_calls} == {form}


def test_a_model_that_is_not_understood_is_told_how_to_call(play: Play) -> None:
    left = play("react", "competent+written-unreadably:1")
    assert (left.result.state, left.told.count(HOW_TO_CALL)) == ("scored", 1)
    never = play("react", "competent+written-unreadably")
    assert (never.result.state, never.result.ended_by, never.told.count(HOW_TO_CALL)) == ("rejected", "no-program", 2)


def test_a_model_that_writes_code_and_calls_nothing_has_its_code_run(play: Play) -> None:
    left = play("react", "competent+only-blocks")
    assert (left.result.state, left.result.ended_by) == ("scored", "finished"), left.result.reason
    forms = [turn.generation.call_form for turn in left.record.messages if turn.generation]
    assert forms == ["native", "block"], "told how to call once, then run"
    assert left.told.count(HOW_TO_CALL) == left.told.count("You call no tool. From now on") == 1
    assert "Output:" in left.told
    assert "interface.iter_test()" in left.record.messages[4].content, "the program stays where the model wrote it"


def test_who_calls_tools_may_show_code(play: Play) -> None:
    left = play("react", "competent+only-blocks:1")
    assert left.result.state == "scored"
    assert "You call no tool. From now on" not in left.told


def test_code_takes_no_steps(play: Play) -> None:
    left = play("react", "competent+only-blocks", kind="trading")
    assert (left.result.state, left.result.ended_by) == ("rejected", "no-program")


def test_calls_that_the_endpoint_cannot_read(play: Play) -> None:
    left = play("react", "competent+bad-call:2")
    assert (left.result.state, left.told.count("Your call could not be read")) == ("scored", 2)
    never = play("react", "competent+bad-call")
    assert (never.result.state, never.result.boundary, never.result.ended_by) == ("rejected", "protocol", "bad-calls")


def test_tools_that_were_insisted_on_and_are_not_taken(play: Play) -> None:
    left = play(React(sampling=Sampling(text_tools=False)), ModelSpec.parse("stand-in/competent+no-tools"))
    assert (left.result.state, left.result.boundary) == ("error", "model")
    assert "--native-tools" in str(left.result.reason)


@pytest.mark.parametrize(
    ("fault", "state"), [("context-too-long", "rejected"), ("content-filter", "rejected"), ("bad-request", "error")]
)
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
    left = play("react", "competent", "fraud", allowance=Allowance(turns=3))
    assert (left.result.state, left.result.ended_by, left.result.turns) == ("scored", "turns", 3)


def test_a_limit_on_cost_needs_a_price(play: Play) -> None:
    with StandIn() as stand_in, pytest.raises(UsageError, match="no price is known"):
        play("react", ModelSpec.parse("some-model", base_url=stand_in.base_url), allowance=Allowance(cost_usd=1.0))


@dataclass(frozen=True)
class Sleeper:
    """Runs one program and waits for it."""

    program: str = "import time\nprint('asleep', flush=True)\ntime.sleep(60)"
    takes_steps = False

    async def act(self, session: Conversation) -> None:
        await session.tools.run(self.program)


def test_time_is_limited_whatever_it_is_spent_on(play: Play) -> None:
    started = time.monotonic()
    left = play(Sleeper(), allowance=Allowance(wall_s=1.0))
    assert (left.result.state, left.result.ended_by, left.result.boundary) == ("rejected", "wall", "agent")
    assert time.monotonic() - started < 40


@dataclass(frozen=True)
class Once:
    """Runs the one program of its rollout."""

    program: str
    takes_steps = False

    async def act(self, session: Conversation) -> None:
        await session.run_once(self.program)


@pytest.mark.parametrize("kind", [Sleeper, Once])
def test_our_slowness_in_starting_is_not_the_agents(
    kind: type[Sleeper | Once], play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SandboxBackend.run

    def late(backend: SandboxBackend, job: Job) -> Outcome:
        time.sleep(3.0)
        return run(backend, job)

    monkeypatch.setattr(SandboxBackend, "run", late)
    left = play(kind("print('ran')"), allowance=Allowance(wall_s=2.5))
    assert left.result.ended_by != "wall"
    assert "ran" in (left.folder / "output.log").read_text(encoding="utf-8")


def test_cancelling_ends_it_and_leaves_nothing(play: Play) -> None:
    cancel = threading.Event()
    threading.Timer(1.0, cancel.set).start()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    left = play(Sleeper(), cancel=cancel)
    assert (left.result.state, left.result.ended_by) == ("rejected", "cancelled")
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before


def test_a_program_that_would_end_its_workspace(play: Play) -> None:
    left = play(Sleeper("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"))
    # From Linux 6.12 on, it cannot.
    kept = landlock.abi_version() >= 6
    assert (left.result.state, left.result.ended_by, left.result.boundary) == (
        "rejected",
        "finished" if kept else "workspace",
        "agent",
    )
    assert ("PermissionError" in (left.folder / "output.log").read_text(encoding="utf-8")) == kept


@dataclass(frozen=True)
class Rehearser:
    """Plays a practice episode to its end, and perhaps begins one that counts, in which it takes no step."""

    begins: bool
    takes_steps = True

    async def act(self, session: Conversation) -> None:
        calls = [
            ("start_episode", '{"practice": true}'),
            ("step", '{"action": null, "wait": 100000}'),
            ("step", '{"action": null}'),
        ]
        for number, (name, arguments) in enumerate(calls + [("start_episode", "{}")] * self.begins):
            found = await session.tools.use(ToolCall(str(number), name, arguments), message=0)
            session.note(
                ToolUse(id=str(number), name=name, arguments=arguments, result=found.text, failed=found.failed)
            )


def test_what_was_begun_counts_and_nothing_else_does(play: Play, sandboxed: Launcher) -> None:
    rehearsed = play(Rehearser(begins=False), kind="trading")
    assert (rehearsed.result.state, rehearsed.result.boundary, rehearsed.record.rewards) == ("rejected", "agent", ())
    assert "no private episode was begun" in str(rehearsed.result.reason)
    for said in ("A practice episode begins", "It does not count", "No episode is under way"):
        assert said in rehearsed.told
    # As a program that begins and does nothing: the verifier scores both.
    begun = play(Rehearser(begins=True), kind="trading").result
    package = next(package for package in sandboxed.packages if package.manifest.name == begun.task)
    cash = sandboxed.run(package, resolve("cash"))
    assert (begun.state, begun.total, begun.submissions_accepted) == ("scored", cash.total, 1)


@dataclass(frozen=True)
class Regicide:
    """Submits after the verifier is gone."""

    spared: tuple[int, ...]
    takes_steps = False

    async def act(self, session: Conversation) -> None:
        for process in psutil.Process().children(recursive=True):
            if process.pid not in self.spared and is_verifier(process):
                process.kill()
        await session.tools.run("import interface\nfor window in interface.iter_test(): window.predict(0)\n")


# httpcore leaves a socket to the garbage collector whose connection was refused.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_verifier_that_dies_is_no_score(tmp_path: Path) -> None:
    spared = tuple(process.pid for process in psutil.Process().children(recursive=True))
    with Launcher([build(load_task("treasury-forecast"))], backend="sandbox") as launcher:
        # All of it is waited for, mostly for the verifier; by then the program has submitted, on a busy machine too.
        left = player(launcher, tmp_path)(Regicide(spared), allowance=Allowance(wall_s=12))
    gc.collect()
    assert (left.result.state, left.result.boundary, left.record.failure) == ("error", "verifier", "verifier")


def test_no_key_is_written_anywhere(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
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
        monkeypatch.setenv("OPENAI_BASE_URL", where)
        left = play("react", ModelSpec.parse("my-model"), allowance=Allowance(turns=1))
        config = (left.folder / "config.json").read_text()
        assert json.loads(config)["base_url"] == stand_in.base_url
        assert "hunter22" not in config
    assert key not in caplog.text
