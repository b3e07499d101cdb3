"""``openfingym receipt`` as a user meets it: on a run of one's own, on another machine, and on what was changed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import OpenFinGymError
from openfingym.packages.build import build
from openfingym.receipts import Receipt
from openfingym.reports.report import make_report
from openfingym.reports.runs import find_runs
from openfingym.rollouts.single import run as launch
from openfingym.verifiers import VerifierAddress
from openfingym_verifier.embedded import EmbeddedVerifier

TASK = "treasury-forecast"
ARRAY = "ba2motifs-fraud"  # of what is answered in one array, participants choose what is entered


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    invoke("run", TASK, "--agent", "naive", "--backend", "inline", "--out", folder, "--json")
    (found,) = folder.iterdir()
    return found


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "runs" / original.name))


def test_a_run_is_checked_with_the_key_that_this_machine_knows(run: Path) -> None:
    found = invoke("receipt", "verify", run)
    assert found.exit_code == 0, found.output
    assert "the receipt holds" in found.stdout
    assert [line.split()[0] for line in found.stdout.splitlines()[:4]] == ["signature", "inclusion", "result", "result"]
    assert "nobody vouches" not in found.stderr


def test_elsewhere_the_key_is_not_pinned_unless_it_is_given(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = invoke("receipt", "show", run, "--key").stdout.strip()
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "elsewhere"))
    alone = invoke("receipt", "verify", run)
    assert (alone.exit_code, "which this machine does not know" in alone.stderr) == (7, True)
    content = invoke("receipt", "verify", run, "--unpinned")
    assert (content.exit_code, "nobody vouches for the key" in content.stderr) == (0, True)
    (tmp_path / "log.vkey").write_text(key + "\n")
    for stated in (key, tmp_path / "log.vkey"):
        given = invoke("receipt", "verify", run, "--key", stated)
        assert (given.exit_code, given.stderr) == (0, "")
    other = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    wrong = invoke("receipt", "verify", run, "--key", other)
    assert wrong.exit_code == 7
    assert f"{run}: signature: the receipt is by the key" in wrong.stderr
    assert not (tmp_path / "elsewhere").exists(), "checking writes nothing"


def test_what_was_changed_is_named(run: Path) -> None:
    path = run / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"relative_total": 0.5}))
    found = invoke("receipt", "verify", run, "--json")
    (document,) = json.loads(found.stdout)
    assert found.exit_code == 7
    assert (document["holds"], document["step"], type(document["entry"])) == (False, "result", int)
    assert "result.json says relative_total = 0.5, the verifier 1.0" in document["reason"]


def test_what_cannot_be_read_is_no_forgery(run: Path, tmp_path: Path) -> None:
    (run / "receipt.json").unlink()
    found = invoke("receipt", "verify", run)
    assert (found.exit_code, "no such file" in found.stderr) == (6, True)
    broken = invoke("receipt", "verify", tmp_path / "nothing", "--json")
    assert (broken.exit_code, json.loads(broken.stdout)[0]["step"]) == (6, None)


def test_several_are_checked_each(run: Path, original: Path) -> None:
    (run / "submissions" / "1.npy").write_bytes((run / "submissions" / "1.npy").read_bytes()[:-1] + b"\x01")
    found = invoke("receipt", "verify", original, run, original / "receipt.json", "--json")
    assert (found.exit_code, [one["holds"] for one in json.loads(found.stdout)]) == (7, [True, False, True])


def test_show_prints_what_others_read(run: Path) -> None:
    receipt = Receipt.from_json((run / "receipt.json").read_bytes())
    index = receipt.leaves[-1].index
    assert invoke("receipt", "show", run, "--checkpoint").stdout == receipt.checkpoint
    assert invoke("receipt", "show", run, "--proof", index).stdout.startswith("c2sp.org/tlog-proof@v1\nindex ")
    document = json.loads(invoke("receipt", "show", run / "receipt.json", "--json").stdout)
    assert [entry["event"] for entry in document["entries"]] == ["played", "finalized"]
    assert receipt.key in invoke("receipt", "show", run).stdout
    missing = CliRunner().invoke(cli, ["receipt", "show", str(run), "--proof", "999"], standalone_mode=False).exception
    assert isinstance(missing, OpenFinGymError)


def test_a_checkpoint_that_was_kept(run: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text(invoke("receipt", "show", run, "--checkpoint").stdout)
    for earlier in (kept, run, run / "receipt.json"):
        found = invoke("receipt", "verify", run, "--checkpoint", earlier)
        assert (found.exit_code, "consistency" in found.stdout) == (0, True)
    origin, size, *rest = kept.read_text().split("\n")
    kept.write_text("\n".join([origin, str(int(size) - 1), *rest]))
    assert invoke("receipt", "verify", run, "--checkpoint", kept).exit_code == 7
    kept.write_bytes(b"\xff")
    assert invoke("receipt", "verify", run, "--checkpoint", kept).exit_code == 7


def test_opened_labels_give_the_score_again(run: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.npz"
    opened = invoke("receipt", "open", TASK, "--out", labels)
    assert (opened.exit_code, "prove nothing" in opened.stderr) == (0, True)
    found = invoke("receipt", "verify", run, "--opened", labels)
    assert (found.exit_code, "to the last digit" in found.stdout) == (0, True), found.stderr
    first = labels.read_bytes()
    labels.unlink()
    invoke("receipt", "open", TASK, "--out", labels)
    assert labels.read_bytes() == first
    again = CliRunner().invoke(cli, ["receipt", "open", TASK, "--out", str(labels)], standalone_mode=False).exception
    assert isinstance(again, OpenFinGymError)
    labels.write_bytes(first[:-100])
    assert invoke("receipt", "verify", run, "--opened", labels).exit_code == 6


def test_the_documented_program_checks_a_receipt(run: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "receipts.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    command = [sys.executable, "-c", program, str(run / "receipt.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    leaves = Receipt.from_json((run / "receipt.json").read_bytes()).leaves
    assert [line.split()[0] for line in done.stdout.splitlines()] == [str(leaf.index) for leaf in leaves]
    path = run / "receipt.json"
    path.write_text(path.read_text().replace('submission\\":1', 'submission\\":2'))
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_reports_count_what_is_backed(run: Path, original: Path) -> None:
    report = make_report(find_runs([run.parent]))
    assert (report.backed, report.scored, report.to_dict()["backed"]) == (1, 1, 1)
    assert "1 of 1 scores are backed by a receipt" in invoke("report", run.parent).stdout
    assert "1 of 1 scores are backed by a receipt" in report._repr_html_()
    path = run / "verified.json"
    path.write_text(path.read_text().replace('"total":', '"total":1'))
    assert make_report(find_runs([run.parent])).backed == 0


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_forged_folder_takes_the_place_of_no_run(run: Path, tmp_path: Path, name: str) -> None:
    genuine, forged = tmp_path / "all" / "m" / "run", tmp_path / "all" / name / "run"
    shutil.copytree(run, genuine)
    shutil.copytree(run, forged)
    (forged / "receipt.json").unlink()
    result = json.loads((forged / "result.json").read_text())
    (forged / "result.json").write_text(json.dumps({**result, "relative_total": 0.3, "relative_interval": None}))
    found = find_runs([tmp_path / "all"])
    assert [kept.path for kept in found.results] == [genuine]
    assert (found.copies, make_report(found).backed) == (0, 1)
    assert [damaged.path for damaged in found.damaged] == [forged]
    assert found.damaged[0].reason.startswith(f"{forged}: {genuine}, which has a receipt, states another result")


def test_a_run_whose_time_was_edited_is_no_second_run(run: Path, tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / "all" / f"r{number}" / "run"
        shutil.copytree(run, folder)
        result = json.loads((folder / "result.json").read_text())
        edited = {**result, "started_at": f"2026-01-0{number + 1}T00:00:00Z", "attempt": number}
        (folder / "result.json").write_text(json.dumps(edited))
    found = find_runs([tmp_path / "all"])
    # No receipt says when a run began, so that none of them can be told to be the true one.
    assert (len(found.results), len(found.damaged)) == (0, 3)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def folder(path: Path) -> None:
    path.mkdir()


def deep(path: Path) -> None:
    path.write_text("[" * 100_000)


def long(path: Path) -> None:
    path.write_text(" " * (2 << 20))


def half_a_letter(path: Path) -> None:
    path.write_text('{"format": 1, "key": "\\ud800", "checkpoint": "\\ud800", "leaves": [{}], "disclosure": "full"}')


def terminal_commands(path: Path) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202e"
    leaf = {"index": 0, "entry": evil, "proof": []}
    path.write_text(json.dumps({"format": 1, "key": evil, "checkpoint": evil, "leaves": [leaf], "disclosure": evil}))


@pytest.mark.parametrize("name", ["receipt.json", "verified.json"])
@pytest.mark.parametrize("damage", [pipe, link, folder, deep, long, half_a_letter, terminal_commands])
def test_a_strangers_files_end_in_a_message(run: Path, name: str, damage: Callable[[Path], None]) -> None:
    (run / name).unlink()
    damage(run / name)
    found = invoke("receipt", "verify", run)
    assert found.exit_code in {6, 7}, found.output
    assert found.stderr.startswith("error: ")
    assert "\x1b" not in found.output
    if name == "receipt.json":
        shown = CliRunner().invoke(cli, ["receipt", "show", str(run)], standalone_mode=False)
        assert isinstance(shown.exception, OpenFinGymError)
    assert make_report(find_runs([run.parent])).backed == 0


def test_a_result_that_is_released_gets_its_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = build(load_task(ARRAY))
    with EmbeddedVerifier.start([package], policy="strict") as embedded:
        operator = VerifierAddress(str(embedded.uds), embedded.admin_token)
        with contextlib.closing(operator.connect()) as client:
            key = client.add_participant("somebody")
            mine = VerifierAddress(operator.location, key)
            runs = tmp_path / "runs"
            played = [launch(ARRAY, "naive", backend="inline", verifier=mine, out=runs) for _ in range(4)]
            assert [one.state for one in played] == ["deferred"] * 4
            before = invoke("receipt", "verify", *runs.iterdir(), "--json")
            details = [one["steps"][2]["detail"] for one in json.loads(before.stdout)]
            assert before.exit_code == 0, before.stderr
            assert all("held" in detail for detail in details)
            monkeypatch.setenv("OPENFINGYM_KEY", key)
            for one in played[:3]:
                entered = invoke("verifier", "enter", one.path, "--verifier", operator.location)
                assert entered.exit_code == 0, entered.output
            client.close_season()
            collected = invoke("verifier", "collect", runs, "--verifier", operator.location)
            assert collected.exit_code == 3, "the one that was not entered is held still"
            assert "collected 3 of 4 results; 1 are held still" in collected.stdout
            after = invoke(
                "receipt", "verify", *runs.iterdir(), "--log", operator.location, "--checkpoint", next(runs.iterdir())
            )
            assert after.exit_code == 0, after.stderr
            assert after.stdout.count("rounded as the verifier's policy has it") == 3
            assert after.stdout.count("begin with") == 4
