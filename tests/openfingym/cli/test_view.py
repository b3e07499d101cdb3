"""Reading what an agent did: every message, call and result, without giving the terminal away."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from openfingym.cli import main
from openfingym.cli.conversation import CHARACTERS, LIVE_LINES, LiveConversation
from openfingym.cli.printable import one_line, printable
from openfingym.cli.streams import lasting
from openfingym.models.messages import Usage
from openfingym.packages.package import BuiltPackage
from openfingym.results.run_folder import RunFiles, write_run
from openfingym.trajectory.record import Generation, StepReward, ToolUse, Turn
from tests.openfingym.reports.made import PLAYED, record_of

HOSTILE = "\x1b[2J\x1b]0;owned\x07"
CODE = "\n".join(f"line_{number} = {number}" for number in range(100))
MADE = Generation(model="m", finish_reason="tool_calls", usage=Usage(10, 5), latency_s=1.25)
MESSAGES = (
    Turn(role="system", content="You are careful."),
    Turn(role="user", content="Forecast."),
    Turn(
        role="assistant",
        content=f"I look {HOSTILE}first.",
        reasoning="What is there?",
        generation=MADE,
        tool_calls=(
            ToolUse(
                id="1",
                name="run_python",
                arguments=json.dumps({"code": CODE, "quick": True}),
                result=f"{HOSTILE}97 rows",
                wall_s=2.5,
            ),
            ToolUse(id="2", name="submit", arguments="{not json", result="no JSON", failed=True),
        ),
    ),
    Turn(role="assistant", content="I am done.", generation=MADE),
)


def rollout(root: Path, *, messages: tuple[Turn, ...] = MESSAGES, **changes: object) -> Path:
    usual = replace(PLAYED, rollout_id="r1", task="fx-forecast", turns=2, wall_s=0.0, started_at="")
    result = replace(usual, **changes)  # type: ignore[arg-type]  # as the caller says
    rewards = (StepReward(episode=0, step=4, reward=-0.5, message=2),) if messages else ()
    record = record_of(result, messages, rewards, datetime.now(UTC))
    written = write_run(
        root, result, RunFiles({}, "print(1)", f"said {HOSTILE}\n".encode(), [], {}, None, record.model_dump_json())
    )
    assert written.path is not None
    return written.path


def view(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["openfingym", "view", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


Show = Callable[..., tuple[int, str, str]]
EXAMPLE = Turn(role="assistant", content="An example of an answer, which no model wrote.")


def test_answers_that_no_model_wrote_are_not_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    messages = (MESSAGES[1], EXAMPLE, MESSAGES[1], MESSAGES[2])
    _, said, _ = view(capsys, monkeypatch, rollout(tmp_path, messages=messages))
    assert "An example" in said
    assert "answer 1 " in said
    assert "answer 2" not in said
    console = Console(record=True, width=120, file=StringIO())
    live = LiveConversation(console)
    for index, turn in enumerate(messages):
        live.heard(index, turn)
    heard = console.export_text()
    assert "answer 1 " in heard
    assert "An example" not in heard


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Show:
    return lambda *arguments: view(capsys, monkeypatch, *arguments)


def test_one_rollout_is_read_from_its_first_message_to_its_score(show: Show, tmp_path: Path) -> None:
    folder = rollout(tmp_path)
    status, said, _ = show(folder)
    assert status == 0
    parts = [
        "my/model, seed 3",
        "You are careful.",
        "Forecast.",
        "answer 1  1.2 s, 10 + 5 tokens",
        "What is there?",
        "first.",
        "→ run_python quick=true",
        "line_0 = 0",
        "more lines",
        "line_99 = 99",
        "← run_python after 2.5 s",
        "97 rows",
        "→ submit",
        "{not json",
        "← submit failed",
        "no JSON",
        "reward of step 4: -0.5",
        "answer 2",
        "I am done.",
        "scored: skill 0.25, total 0.5 (naive 0.6), real data",
        "rmse 0.25 (naive 0.5)",
        "$0.5000",
        "trajectory.json",
    ]
    places = [said.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert "line_50 " not in said
    assert "\x1b" not in said
    assert "\\x1b]0;owned\\x07" in said, "it is told, not done"
    assert "line_50 = 50" in show(folder, "--full")[1]
    (document,) = json.loads(show(folder, "--json")[1])
    assert document["seed"] == 3
    assert document["trajectory"]["messages"][3]["content"] == "I am done."


def test_a_program_is_known_by_what_it_printed_and_a_rejection_by_its_reason(show: Show, tmp_path: Path) -> None:
    folder = rollout(
        tmp_path,
        messages=(),
        state="rejected",
        total=None,
        relative_total=None,
        reason=f"it said {HOSTILE}",
        boundary="agent",
    )
    (folder / "trajectory.json").unlink()
    _, said, _ = show(folder)
    assert "said \\x1b[2J" in said
    assert "rejected (agent): it said \\x1b[2J" in said
    assert json.loads(show(folder, "--json")[1])[0]["trajectory"] is None


def test_many_are_listed_and_what_is_asked_for_leaves_the_one_to_read(show: Show, tmp_path: Path) -> None:
    rollout(tmp_path / "fx-forecast", rollout_id="r1")
    bad: dict[str, object] = {"state": "rejected", "total": None, "relative_total": None, "boundary": "model"}
    rollout(tmp_path / "ou-generation", rollout_id="r2", task="ou-generation", reason="it refused", **bad)
    rollout(tmp_path / ".failed", rollout_id="r3")
    _, said, _ = show(tmp_path)
    assert [line.split()[0] for line in said.splitlines() if " my/model " in line] == ["scored", "rejected"]
    assert "ou-generation react seed 3: rejected: it refused" in said
    assert "/r1" in said
    assert "/r3" not in said
    assert [one["rollout_id"] for one in json.loads(show(tmp_path, "--json")[1])] == ["r1", "r2"]
    rollout(tmp_path / "other", rollout_id="r4", seed=4, model="other", agent="oneshot")
    for chosen in (("--seed", "4"), ("--model", "other"), ("--agent", "oneshot")):
        assert "oneshot with other, seed 4" in show(tmp_path, *chosen)[1]
    for chosen in (("--state", "rejected"), ("--task", "ou-*")):
        assert "rejected (model): it refused" in show(tmp_path, *chosen)[1]
    assert "seed 3" in show(tmp_path / ".failed")[1], "who asks for the evidence gets it"
    status, _, err = show(tmp_path, "--state", "error")
    assert (status, "rollouts there matches the options" in err) == (2, True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "result.json").write_text("{}")
    assert "no finished rollout is there" in show(tmp_path / "empty")[2]
    rollout(tmp_path / "strange", rollout_id="r5", task=f"{HOSTILE}[/red]", reason="none", **bad)
    rollout(tmp_path / "strange", rollout_id="r6", task="b")
    assert "\x1b" not in (said := show(tmp_path / "strange")[1])
    assert said.count("\\x1b[2J\\x1b]0;owned\\x07[/red]") == 2
    (tmp_path / HOSTILE).mkdir()
    assert "\x1b" not in show(tmp_path / HOSTILE)[2]


def test_a_conversation_is_told_as_it_goes_each_thing_once() -> None:
    stream = StringIO()
    talk = LiveConversation(Console(file=stream, highlight=False))
    for index, turn in enumerate(MESSAGES):
        so_far = turn.model_copy(
            update={"tool_calls": tuple(call.model_copy(update={"result": None}) for call in turn.tool_calls)}
        )
        talk.heard(index, so_far)
        for call in turn.tool_calls:
            so_far = so_far.with_result(call.id, call.result or "", failed=call.failed, wall_s=call.wall_s)
            talk.heard(index, so_far)
    said = stream.getvalue()
    assert "You are careful." not in said, "the task is known"
    for once in ("answer 1", "→ run_python", "97 rows", "→ submit", "no JSON", "answer 2", "I am done."):
        assert said.count(once) == 1, once
    assert said.count("line_") == LIVE_LINES
    assert "\x1b" not in said


def test_an_agent_goes_on_when_nobody_reads_any_more() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        talk = LiveConversation(Console(file=lasting(stream, needed=False)))
        heard = [talk.heard(index, turn) for index, turn in enumerate(MESSAGES)]
    assert len(heard) == len(MESSAGES)


def test_a_line_that_goes_on_and_on_is_cut_unless_all_is_asked_for(show: Show, tmp_path: Path) -> None:
    call = ToolUse(
        id="1", name="run_python", arguments=json.dumps({"code": "1", "a\nkey": "\ud800"}), result="x" * 100_000
    )
    folder = rollout(
        tmp_path, messages=(Turn(role="user"), Turn(role="user"), Turn(role="assistant", tool_calls=(call,)))
    )
    said = show(folder)[1]
    assert f"{'x' * CHARACTERS} … {100_000 - CHARACTERS} more characters\n" in said
    assert "a key=\\ud800" in said
    assert "x" * 100_000 in show(folder, "--full")[1]


@pytest.mark.sandbox
def test_whoever_runs_an_agent_sees_what_it_does_and_can_read_it_again(
    show: Show,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    treasury: BuiltPackage,
    tmp_path: Path,
) -> None:  # fmt: skip
    arguments = [
        "treasury-forecast",
        "--agent",
        "react",
        "--model",
        "stand-in/competent",
        "--backend",
        "sandbox",
        "--out",
        str(tmp_path),
    ]
    monkeypatch.setattr("sys.argv", ["openfingym", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr()
    live = [line for line in printed.err.splitlines() if re.match(r"answer \d|  [→←]", line)]
    assert live[0].startswith("answer 1 ")
    assert sum(line.startswith("  → run_python") for line in live) >= 1
    folder = re.search(r"openfingym view (\S+)", printed.out)
    assert folder is not None
    again = [line for line in show(folder[1])[1].splitlines() if re.match(r"answer \d|  [→←]", line)]
    assert again == live


@given(st.text() | st.text(st.characters(categories=["Cs", "Cc", "Lu"])))
def test_what_is_printable_commands_nothing_and_loses_nothing(text: str) -> None:
    shown = printable(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
    assert shown.encode().decode() == shown
    assert printable(shown) == shown
    if not re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text):
        assert shown == text
    assert "\n" not in one_line(text, 20)
    assert len(one_line(text, 20)) <= 20


def test_the_sampling_error_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rollout(tmp_path, relative_interval=(0.5, 1.1), standard_errors={"rmse": 0.0123})
    _, out, _ = view(capsys, monkeypatch, path)
    assert "scored: skill 0.25 [-0.1, 0.5], total 0.5" in out
    assert "not to be told from the baseline on these hidden rows" in out
    assert "rmse 0.25 +- 0.012 (naive 0.5)" in out


def test_a_page_of_one_and_pages_of_many(show, tmp_path):
    one = rollout(tmp_path / "runs")
    bad: dict[str, object] = {"state": "rejected", "total": None, "relative_total": None, "boundary": "agent"}
    rollout(tmp_path / "runs", rollout_id="r2", reason="no", **bad)
    status, said, _ = show(one, "--html", tmp_path / "one.html")
    assert (status, said.strip()) == (0, str(tmp_path / "one.html"))
    assert '<span class="p-n">line_99</span>' in (tmp_path / "one.html").read_text()
    status, said, _ = show(tmp_path / "runs", "--html", tmp_path / "pages")
    assert (status, said.strip()) == (0, str(tmp_path / "pages" / "index.html"))
    assert len(list((tmp_path / "pages").iterdir())) == 3
    # One page holds one rollout; and a folder with a dot in its name is a folder.
    status, _, error = show(tmp_path / "runs", "--html", tmp_path / "many.html")
    assert status == 2
    assert f"2 rollouts; give a folder, such as {tmp_path / 'many'}," in error
    assert not (tmp_path / "many.html").exists()
    status, _, error = show(one, "--html", tmp_path / "one.html", "--json")
    assert status == 2
    assert "--html writes pages" in error
    status, _, error = show(one, "--html", one / "result.json" / "pages")
    assert status == 6
    assert "choose another folder" in error
