"""The lookups of a rollout are repeated without what came later; a record that was edited certifies nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import openfingym
from openfingym.cli import cli
from openfingym.errors import StoreError
from openfingym.reports.certificate import certify

pytestmark = pytest.mark.sandbox
Entries = list[dict[str, Any]]


@pytest.fixture(scope="module")
def played(store_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a rollout over three questions, in two of which something is looked up."""
    out = tmp_path_factory.mktemp("runs")
    agent = {"agent": "react", "model": "stand-in/competent"}
    result = openfingym.run("finsearch", questions="1-3", out=out, backend="sandbox", **agent)
    assert (result.state, result.submissions_accepted) == ("scored", 3), result.reason
    assert result.path is not None
    return result.path


def edited(folder: Path, edit: Callable[[Entries], Entries]) -> Path:
    path = folder / "actions.jsonl"
    entries = edit([json.loads(line) for line in path.read_text().splitlines()])
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return folder


def test_every_lookup_is_repeated(played: Path) -> None:
    certificate = certify(played)
    assert certificate.holds
    assert (certificate.calls, certificate.questions) == (3, 3)
    said = CliRunner().invoke(cli, ["vault", "certify", str(played)])
    assert (said.exit_code, "every answer was the same" in said.output) == (0, True)


def test_without_lookups_nothing_is_said_of_answers(played: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(played, tmp_path / "run")
    edited(folder, lambda entries: [entry for entry in entries if "tool" not in entry["action"]])
    said = CliRunner().invoke(cli, ["vault", "certify", str(folder)])
    assert "no lookup is in its record" in said.output
    assert "the same" not in said.output


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda entries: [], "the record of actions is of 0 questions, expected one of each of the 3"),
        (lambda entries: [entry for entry in entries if entry["number"] < 2], "of 2 questions"),
        (lambda entries: [{**entry, "number": entry["number"] - 1} for entry in entries], "of 3 questions"),
        (lambda entries: [{**entry, "number": entry["number"] + 7_777_777} for entry in entries], "of 3 questions"),
        (
            lambda entries: [{**entry, "action": {**entry["action"], "arguments": []}} for entry in entries],
            "arguments that are no JSON object",
        ),
    ],
    ids=["empty", "cut", "before", "beyond", "arguments"],
)
def test_an_edited_record_certifies_nothing(
    played: Path, tmp_path: Path, edit: Callable[[Entries], Entries], words: str
) -> None:
    folder = edited(shutil.copytree(played, tmp_path / "run"), edit)
    with pytest.raises(StoreError, match=words):
        certify(folder)
