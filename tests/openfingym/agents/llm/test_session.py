"""The conversation itself: what a model is sent, told and charged."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from openfingym.agents import Agent
from openfingym.agents.llm import React, Sampling
from openfingym.agents.llm.conversation_runner import ConversationRunner
from openfingym.agents.llm.ending import OF_THE_PROTOCOL, EndName
from openfingym.agents.llm.playing import PlayedConversation
from openfingym.agents.llm.prompts import for_task
from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.models import Completion, Message, Tool, ToolCall, Usage
from openfingym.models.prices import PriceTable

from .conftest import Play

pytestmark = pytest.mark.sandbox
Talk = Callable[..., PlayedConversation]


class Script:
    """A model that says what it was given to say, and checks what it is sent as endpoints do."""

    name = "script"

    def __init__(
        self, *answers: Sequence[tuple[str, object]] | str, cost_usd: float | None = 0.0, forever: bool = False
    ) -> None:
        self.sent: list[tuple[Message, ...]] = []
        self._answers = answers
        self._cost_usd = cost_usd
        self._forever = forever

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), **_: object) -> Completion:
        _check(messages)
        number = len(self.sent)
        self.sent.append(tuple(messages))
        answer = self._answers[number % len(self._answers) if self._forever else min(number, len(self._answers) - 1)]
        calls = () if isinstance(answer, str) else answer
        made = tuple(
            ToolCall(f"c{number}_{index}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for index, (name, arguments) in enumerate(calls)
        )
        message = Message("assistant", answer if isinstance(answer, str) else "", made)
        return Completion(message, "tool_calls" if made else "stop", Usage(100, 10), self.name, cost_usd=self._cost_usd)


def _check(messages: Sequence[Message]) -> None:
    """Every call has exactly one result, right after its message; nobody is silent."""
    assert messages[0].role == "system"
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            waiting.remove(str(message.tool_call_id))
            continue
        assert not waiting
        assert message.content or message.tool_calls
        waiting = [call.id for call in message.tool_calls]
    assert not waiting


def test_several_calls_in_one_message(talk: Talk) -> None:
    model = Script(
        [("step", {"action": None}), ("start_episode", ""), ("start_episode", "{}")],
        [
            ("step", {"action": None}),
            ("fly", {}),
            ("step", "{"),
            ("step", {"action": '{"weights": [0, 0, 0]}', "wait": 3}),
        ],
        [("step", {"action": {"weights": [9]}}), ("step", {"action": None, "wait": "long"})],
        [("step", {"action": None, "wait": 10_000})] * 5,
    )
    played = talk("react", model)
    assert (played.ending.how, len(played.rewards), played.failure) == ("finished", 1000, None)
    begun, first, refused, _ = (turn for turn in played.turns if turn.role == "assistant")
    assert [call.failed for call in begun.tool_calls] == [True, False, True]
    assert "Episode 1 of 5 begins" in str(begun.tool_calls[1].result)
    assert "under way" in str(begun.tool_calls[2].result)
    assert [call.failed for call in first.tool_calls] == [False, True, True, False]
    assert "There is no tool 'fly'" in str(first.tool_calls[1].result)
    assert "not valid JSON" in str(first.tool_calls[2].result)
    assert "Step 5" in str(first.tool_calls[3].result)
    assert "malformed-action" in str(refused.tool_calls[0].result)
    assert "'wait' of step is a whole number, found str" in str(refused.tool_calls[1].result)


def test_programs_see_the_latest_observation(talk: Talk) -> None:
    program = (
        "import json\nseen = json.load(open('observation.json'))\nprint(seen['bars'][-1][0][3], len(seen['bars']))\n"
    )
    model = Script(
        [("run_python", {"code": program}), ("start_episode", {}), ("run_python", {"code": program})],
        [("step", {"action": None, "wait": 4}), ("run_python", {"code": program}), ("run_python", {"code": program})],
        "I am done.",
    )
    played = talk("react", model)
    results = [str(call.result) for turn in played.turns for call in turn.tool_calls]
    assert "No such file" in results[0]
    first, later, again = (results[index].split() for index in (2, 4, 5))
    assert (first[1], later) == (later[1], again)
    for (close, _), told in ((first, results[1]), (later, results[3])):
        assert close.rstrip("0").rstrip(".") in told.split("volatility")[1], "as the model was told"
    assert first[0] != later[0]


def test_too_many_calls_in_one_message(talk: Talk) -> None:
    played = talk("react", Script([("start_episode", {})], [("step", {"action": None})] * 20, "", "", ""))
    results = [call.result for turn in played.turns for call in turn.tool_calls][1:]
    assert len(played.rewards) == 16
    assert results[16:] == ["This was not done: at most 16 calls of one message are made."] * 4
    assert played.ending.how == "silent"


def test_old_answers_are_not_shown_again(talk: Talk) -> None:
    model = Script([("start_episode", {}), ("step", {"action": None})], "Let me think.", forever=True)
    talk("react", model, turns=60)
    shown = [sum(message.role == "assistant" for message in sent) for sent in model.sent]
    assert max(shown) == 12
    assert all(sent[:2] == model.sent[0][:2] for sent in model.sent), "the task stays in sight"


def test_cost_is_limited_and_announced(talk: Talk) -> None:
    played = talk(
        "react", Script([("start_episode", {}), ("step", {"action": None})], cost_usd=0.9), turns=50, cost_usd=4.0
    )
    assert (played.ending.how, played.spent.turns) == ("cost", 5)
    assert played.spent.cost_usd == pytest.approx(4.5)
    told = [str(turn.tool_calls[-1].result) for turn in played.turns if turn.tool_calls]
    assert ["Left: $" in text for text in told] == [False, False, False, True, True]


def test_an_endpoint_that_does_not_count_breaks_a_limit_on_cost(talk: Talk) -> None:
    played = talk("react", Script("Hm.", cost_usd=None), cost_usd=1.0)
    assert "did not count" in str(played.failure)


def test_files_of_the_workspace(talk: Talk) -> None:
    program = "print(open('notes/a.txt').read().upper())"
    model = Script(
        [("write_file", {"path": "notes/a.txt", "content": "a note"}), ("read_file", {"path": "notes/a.txt"})],
        [
            ("run_python", {"code": program}),
            ("read_file", {"path": "nothing"}),
            ("write_file", {"path": "../x", "content": ""}),
        ],
        [("submit", {"path": "notes/a.txt"}), ("submit", {"path": "not'hing\".npy"})],
        [("run_python", {"code": "print('x' * 50_000)"})],
        "I am done.",
    )
    played = talk("react", model, kind="fraud")
    results = [str(call.result) for turn in played.turns for call in turn.tool_calls]
    assert results[1:3] == ["a note", "A NOTE"]
    assert "there is no file nothing" in results[3]
    assert "not below /work" in results[4]
    assert "no array saved by numpy.save" in results[5]
    assert "No such file" in results[6]
    assert len(results[7]) < 13_000
    assert "characters left out" in results[7]
    assert (played.ending.how, played.ending.boundary) == ("stopped", "agent")
    assert played.program == "print('x' * 50_000)"


def test_half_a_walk_is_no_answer(talk: Talk) -> None:
    program = (
        "import interface, numpy\nfor window in interface.iter_test():\n    window.predict(numpy.zeros(window.shape))\n"
    )
    half, rest = (f"```python\n{program}{end}\n```" for end in ("    break", ""))
    model = Script(half, "I am done.", rest, "I was not asked.")
    played = talk("codeblock", model, kind="forecast")
    assert (played.ending.how, len(model.sent)) == ("finished", 3), "it ends with the last window"
    told = [turn.content for turn in played.turns if turn.role == "user"]
    assert ["the private walk, `interface.iter_test()`, is not at its end" in text for text in told] == [
        False,
        False,
        True,
        False,
    ]


def test_tools_as_text(play: Play) -> None:
    for policy, kind in (("competent", "forecast"), ("careless", "trading")):
        agent = Agent("react", "model", acts=React(sampling=Sampling(text_tools=True)))
        left = play(agent, policy, kind)
        assert (left.result.state, left.result.ended_by) == ("scored", "finished"), left.result.reason
        called = [call.name for turn in left.record.messages for call in turn.tool_calls]
        assert called == ["run_python"] * 3 or len(left.record.rewards) == 1000


def test_the_example_runs_as_it_stands(tmp_path: Path, store_home: Path) -> None:
    example = Path(__file__).resolve().parents[4] / "examples" / "llm_agent.py"
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("scored: loss 0.0")
    assert len(list(tmp_path.glob("runs/*/trajectory.json"))) == 1


def test_the_page_names_every_end() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "agents.md").read_text(encoding="utf-8")
    for name in get_args(EndName):
        assert f"`{name}`" in page, name
    assert set(get_args(EndName)) >= OF_THE_PROTOCOL


def test_the_command_line(tmp_path: Path) -> None:
    arguments = ["run", "treasury-forecast", "--backend", "sandbox", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(
        cli,
        [
            *arguments,
            "--agent",
            "react",
            "--model",
            "stand-in/competent",
            "--max-turns",
            "9",
            "--temperature",
            "0",
            "--text-tools",
        ],
    )
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.output)
    assert (found["state"], found["model"], found["turns"]) == ("scored", "stand-in/competent", 3)
    config = json.loads((Path(found["path"]) / "config.json").read_text(encoding="utf-8"))
    assert (config["model"], config["allowance"]["turns"]) == ("stand-in/competent", 9)
    sampling = {"temperature": 0.0, "reply_tokens": 16_384, "text_tools": True, "append_only": False}
    assert config["sampling"] == sampling
    assert config["prices"] == PriceTable.load().describe("stand-in/competent")
    record = json.loads((Path(found["path"]) / "trajectory.json").read_text(encoding="utf-8"))
    assert (
        config["prompt_sha256"]
        == record["provenance"]["prompt_sha256"]
        == hashlib.sha256(for_task(React().system, None, walks=True).encode()).hexdigest()
    )
    for wrong, said in (
        (["--agent", "react"], "needs a model"),
        (["--agent", "ridge", "--model", "stand-in/competent"], "asks no model"),
        (["--agent", "ridge", "--temperature", "1"], "asks no model"),
        (["--agent", "ridge", "--command", "x"], "--agent command"),
        (["--agent", "ridge", "--files", str(tmp_path)], "--agent command"),
    ):
        refused = CliRunner().invoke(cli, [*arguments, *wrong])
        assert said in str(refused.exception or refused.output)


def test_an_agent_that_would_end_the_program_ends_alone() -> None:
    async def leaves() -> None:
        sys.exit(3)

    async def stays() -> int:
        return 1

    with ConversationRunner() as host:
        with pytest.raises(UsageError, match=r"sys\.exit"):
            host.run(leaves())
        assert host.run(stays()) == 1
