"""What the commands of the ledger show people."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import ReceiptError
from openfingym.verifiers.forecast_check import check_forecast

QUESTION = {
    "id": "elections/which-coalition-is-formed-after-the-vote", "text": "Which coalition is formed? " * 9,
    "form": "probabilities", "outcomes": ["left", "right"], "generated": "2025-10-01T00:00:00Z",
    "deadline": "2025-10-05T15:59:00Z", "evaluation": "2025-10-06T00:00:00Z", "truth": [1, 0],
}  # fmt: skip
FORECAST = {
    "question": QUESTION["id"], "answer": {"probabilities": {"left": 0.75, "right": 0.25}}, "agent": "a",
    "version": "1", "at": "2025-10-02T00:00:00Z",
}  # fmt: skip


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with one question that is scored."""
    folder = tmp_path_factory.mktemp("ledger")
    (folder / "season.jsonl").write_text(f"{json.dumps(QUESTION)}\n{json.dumps(FORECAST)}\n")
    _said("import", str(folder / "season.jsonl"), "--state-folder", str(folder / "state"))
    return folder / "state"


def test_a_list_fits_a_terminal_of_120_columns(state: Path) -> None:
    command = [sys.executable, "-m", "openfingym", "ledger", "list", "--state-folder", str(state)]
    lines = _on_terminal(command, columns=120)
    assert max(map(len, lines)) <= 120
    assert any(line.split()[:1] == ["question"] and "deadline (UTC)" in line for line in lines), "not a table"
    assert any("scored" in line and "2025-10-05 15:59" in line and "REPLAYED" in line for line in lines)


def test_a_list_of_nothing_says_so(state: Path) -> None:
    assert _said("list", "--state", "void", "--state-folder", str(state)) == "no such questions\n"
    assert json.loads(_said("list", "--state", "void", "--json", "--state-folder", str(state))) == []


def test_answers_and_truths_are_shown_as_they_are_sent(state: Path) -> None:
    shown = _said("show", QUESTION["id"], "--state-folder", str(state))
    assert '{"probabilities": {"left": 0.75, "right": 0.25}}' in shown
    assert "truth [1" in shown


def test_a_scored_forecast_is_checked_offline_and_any_change_of_it_is_found(state: Path, tmp_path: Path) -> None:
    _said("show", QUESTION["id"], "--receipts", str(tmp_path / "kept"), "--state-folder", str(state))
    (kept,) = (tmp_path / "kept").iterdir()
    found = CliRunner().invoke(cli, ["receipt", "verify", str(kept), "--json"])
    assert [one["step"] for one in json.loads(found.stdout)[0]["steps"]] == [
        "signature",
        "inclusion",
        "result",
        "score",
    ]
    document = json.loads(kept.read_text())
    assert (found.exit_code, document["forecast"]["loss"]) == (0, 0.0625)
    for part, place, value in (
        ("forecast", ("answer", "probabilities", "left"), 0.8),
        ("forecast", ("agent",), "b"),
        ("forecast", ("received_at",), "2025-10-01T00:00:00Z"),
        ("forecast", ("loss",), 0.05),
        ("resolution", ("truth",), [0, 1]),
        ("resolution", ("evidence",), {}),
        ("forecast", ("note",), "more"),
        ("question", ("text",), "Which?"),
        (
            "receipts",
            (3, "leaves", 0, "entry"),
            document["receipts"][3]["leaves"][0]["entry"].replace("0.0625", "0.05"),
        ),
        ("receipts", (1,), document["receipts"][0]),
    ):
        changed = json.loads(json.dumps(document))
        inner = changed[part]
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(changed))
        (said,) = json.loads(CliRunner().invoke(cli, ["receipt", "verify", str(path), "--json"]).stdout)
        assert not said["holds"], place


def test_any_sign_changed_in_a_scored_forecast_is_found(state: Path, tmp_path: Path) -> None:
    _said("show", QUESTION["id"], "--receipts", str(tmp_path), "--state-folder", str(state))
    (kept,) = tmp_path.iterdir()
    text, document = kept.read_text(), json.loads(kept.read_text())
    generator, changes = random.Random(0), 0
    while changes < 1000:
        place = generator.randrange(len(text))
        changed = text[:place] + chr(generator.randrange(0x20, 0x7F)) + text[place + 1 :]
        try:
            if (found := json.loads(changed)) == document:
                continue
        except ValueError:
            continue
        changes += 1
        with pytest.raises(ReceiptError):
            pytest.fail(f"{text[max(0, place - 60) : place + 20]!r} {changed[place]!r} {check_forecast(found).steps}")


def _said(*arguments: str) -> str:
    found = CliRunner().invoke(cli, ["ledger", *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def _on_terminal(command: list[str], columns: int) -> list[str]:
    """Lines that a command prints on a terminal."""
    host, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen(command, stdout=terminal, stdin=terminal, stderr=subprocess.PIPE, env=environment) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                part = os.read(host, 65536)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            said += part
    os.close(host)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
