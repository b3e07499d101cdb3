"""A weak model that only repeats what failed is ended early; one that waits, or repeats with reason, is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.agents.llm.playing import PlayedConversation
from openfingym.agents.llm.session import AGAIN
from openfingym.cli import cli
from openfingym.models import Allowance

from .conftest import Play
from .test_session import Script

pytestmark = pytest.mark.sandbox
Talk = Callable[..., PlayedConversation]
Answer = Sequence[tuple[str, object]] | str

MISSING: Answer = [("read_file", {"path": "missing.txt"})]
CRASHES: Answer = [("run_python", {"code": "raise SystemExit(f'failed at {object()}')"})]
WRITES: Answer = [("write_file", {"path": "a.txt", "content": "a"})]
WRONG: Answer = [
    ("run_python", {"code": "import numpy\nnumpy.save('p.npy', numpy.zeros(3))"}),
    ("submit", {"path": "p.npy"}),
]
TWICE: Answer = [("run_python", {"code": "print('no news')"})]


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        ([MISSING], "read_file"),
        ([CRASHES], "run_python"),
        ([WRITES, CRASHES], "run_python"),
        ([MISSING, CRASHES], "read_file"),
        ([WRONG], "submit"),
    ],
    ids=["the-same-call", "the-same-error", "between-the-same-file", "two-in-turn", "the-same-answer"],
)
def test_who_repeats_what_failed_is_ended(answers: Sequence[Answer], name: str, talk: Talk) -> None:
    # Only a task that is answered in one array has a tool that submits one.
    played = talk("react", Script(*answers, forever=True), kind="fraud" if name == "submit" else "forecast")
    assert (played.ending.how, played.ending.boundary, played.failure) == ("no-progress", "agent", None)
    assert played.ending.detail.startswith("no progress in 3 answers in a row: the same call of ")
    assert name in played.ending.detail or len(answers) > 1
    assert played.spent.turns <= 8
    assert any(AGAIN in turn.content for turn in played.turns), "it was told first"


def test_the_same_program_in_blocks(talk: Talk) -> None:
    block = "```python\nimport nothing_of_the_kind\n```"
    played = talk("codeblock", Script(block), kind="forecast")
    assert (played.ending.how, played.spent.turns) == ("no-progress", 4)
    assert played.ending.detail.endswith("the same call of run_python failed 4 times")
    _, *told = [turn.content for turn in played.turns if turn.role == "user"]
    assert [AGAIN in text for text in told] == [False, True, True, True]
    assert talk("codeblock", Script(block), kind="forecast", useless=6).spent.turns == 7


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([MISSING, MISSING, MISSING, TWICE, MISSING, WRITES, "", ""], id="something-new-between"),
        pytest.param([TWICE] * 8, id="the-same-that-succeeds"),
        pytest.param(
            [[("run_python", {"code": "import time\nraise SystemExit(f'step {time.time_ns()}')"})]] * 8,
            id="the-same-that-fails-otherwise",
        ),
        pytest.param(
            [[("run_python", {"code": "raise SystemExit('At most 60 submissions a minute; wait 0.9 s.')"})]] * 8,
            id="a-rate-limit",
        ),
    ],
)
def test_who_waits_or_tries_something_else_is_not(answers: Sequence[Answer], talk: Talk) -> None:
    played = talk("react", Script(*answers), kind="forecast", turns=8)
    assert (played.ending.how, played.spent.turns) == ("turns", 8)


def test_what_was_accepted_before_is_scored_and_the_reason_kept(play: Play, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, sys\n"
        "sys.stdin.readline()\n"
        "def call(tool, arguments):\n"
        "    print(json.dumps({'type': 'call', 'id': '1', 'tool': tool, 'arguments': arguments}), flush=True)\n"
        "    return sys.stdin.readline()\n"
        "call('run_python', {'code': 'import interface, numpy\\n"
        "interface.submit(numpy.zeros(interface.SUBMISSION_SHAPE))'})\n"
        "while call('submit', {'path': 'missing.npy'}):\n    pass\n",
        encoding="utf-8",
    )
    arguments = ["run", "ba2motifs-fraud", "--backend", "sandbox", "--agent", "command", "--out", str(tmp_path)]
    done = CliRunner().invoke(cli, [*arguments, "--command", f"python3 {script}", "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    assert (found["state"], found["ended_by"], found["submissions_accepted"]) == ("scored", "no-progress", 1)
    assert found["reason"] == "no progress in 3 answers in a row: the same call of submit failed 4 times"
    left = play("react", "broken-syntax-error", allowance=Allowance(useless=2))
    assert (left.result.state, left.result.boundary, left.result.ended_by) == ("rejected", "agent", "no-progress")
    assert str(left.result.reason).startswith("no progress in 2 answers in a row")
