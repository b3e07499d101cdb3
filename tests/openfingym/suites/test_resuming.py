"""A run whose launcher is killed while questions are open goes on at the next one, and pays for none twice."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openfingym import store
from openfingym.models.meter import Spent
from openfingym.rollouts.resuming import RolloutNote
from tests.openfingym.models.scripted import Scripted, completion
from tests.openfingym.rollouts.driving import Cli
from tests.warm_verifiers import WarmVerifiers

pytestmark = pytest.mark.sandbox
FIRST = 36
"""Day that the first question is about."""


@pytest.fixture
def jar_cli(jar_task: Path, store_home: Path, jar_verifiers: WarmVerifiers) -> Iterator[Cli]:
    """The command line, with the suite of the task installed."""
    command = Cli(store_home, jar_verifiers)
    command.environment["OPENFINGYM_MODEL_KEY"] = "none"
    yield command
    command.end()
    shutil.rmtree(command.temporary)


def arguments(task: Path, out: Path, endpoint: Scripted) -> list[str]:
    model = ["--agent", "react", "--model", "scripted", "--base-url", endpoint.base_url]
    return ["--tasks", str(task), *model, "--questions", "1-6", "--backend", "sandbox", "--out", str(out), "--quiet"]


def day(body: dict[str, Any]) -> int:
    found = re.search(r"on day (\d+)\?", body["messages"][1]["content"])
    assert found is not None
    return int(found[1])


def test_a_broken_off_rollout_goes_on_at_the_next_question(jar_task: Path, jar_cli: Cli, tmp_path: Path) -> None:
    """It is killed at the third question, interrupted by Ctrl-C at the fifth, and left alone then."""
    out, asked = tmp_path / "run", list[int]()
    endings = {FIRST + 2: signal.SIGKILL, FIRST + 4: signal.SIGINT}

    def answer(body: dict[str, Any], _: int) -> Any:
        asked.append(day(body))
        if (sign := endings.pop(asked[-1], None)) is not None:
            jar_cli.started[-1].send_signal(sign)
            jar_cli.started[-1].wait(timeout=60)
        return completion({"role": "assistant", "content": "Final Answer: 0.5"})

    with Scripted(answer) as endpoint:
        words = arguments(jar_task, out, endpoint)
        for _ in range(2):
            jar_cli.start(*words).communicate(timeout=120)
            assert not list(out.glob("*/*/result.json"))
            assert len(list((out / ".open").iterdir())) == 1
            assert store.run_ledger_folder(out).is_dir()
        done = jar_cli.start(*words)
        said = done.communicate(timeout=120)
    assert done.returncode == 0, said
    assert asked == [FIRST + number for number in range(6)], "each question was put to the model once"
    (folder,) = (path.parent for path in out.glob("*/*/result.json"))
    result = json.loads((folder / "result.json").read_text())
    assert (result["state"], result["resumed"], result["questions"]) == ("scored", 2, "1-6")
    assert (result["submissions_accepted"], result["budget"]) == (6, 6)
    assert result["turns"] == 4, "what was spent before is counted; the answers that nobody waited for are not"
    assert (result["prompt_tokens"], result["completion_tokens"]) == (40, 20)
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    shown = "not_answered"  # those that were open were shown, and count as they stand
    assert [row["state"] for row in rows] == ["answered", "answered", shown, "answered", shown, "answered"]
    assert all(row["begun"] for row in rows)
    events = [json.loads(line)["entry"]["event"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert events.count("extended") == 2
    assert not list((out / ".open").iterdir())
    assert not store.run_ledger_folder(out).exists(), "nothing is left to go on with"


def test_a_note_is_only_a_file(tmp_path: Path) -> None:
    """What is damaged, or leads elsewhere, is no note."""
    path = tmp_path / ".open" / "x.json"
    note = RolloutNote(path)
    assert (note.resumed, note.spent) == (0, Spent())
    note.begin("r1")
    kept = json.loads(path.read_text())
    for wrong in (
        "",
        "[]",
        json.dumps({**kept, "rollout_id": "../v1/season/close"}),
        json.dumps({**kept, "spent": {"turns": 3}}),
        json.dumps({**kept, "resumed": "many", "spent": {**kept["spent"], "turns": 3}}),
    ):
        path.write_text(wrong)
        found = RolloutNote(path)
        assert found._rollout_id == "", wrong
        assert (found.resumed, found.spent) == (0, Spent()), "a rollout that begins anew is charged for nothing"
