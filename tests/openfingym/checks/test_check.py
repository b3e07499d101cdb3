"""``task check``: a sound task passes, and each planted defect is caught."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.checks.check import check_task
from openfingym.checks.finding import run
from openfingym.checks.hidden import leak_search
from openfingym.cli import main
from openfingym.errors import TaskError
from openfingym.packages.build import build, write_package
from openfingym.packages.package import BuiltPackage
from tests.openfingym.kinds.stepping import rolling_task
from tests.sweeps import fixed_part

FIVE = ["commodity-forecast", "crypto-forecast", "equity-forecast", "fx-forecast", "treasury-forecast"]


@pytest.mark.parametrize("name", fixed_part(FIVE, 5))
def test_every_built_in_task_passes(name: str) -> None:
    report = check_task(load_task(name))
    assert report.passed, report


def test_a_scaffolded_task_passes_at_once(own_task: Path) -> None:
    report = check_task(load_task(own_task))
    assert report.passed, report
    assert [finding.name for finding in report.findings] == [
        "build", "structure", "contract", "determinism", "time", "calendar", "hidden values", "leak", "features",
        "ordering",
    ]  # fmt: skip


def test_the_check_of_one_task_says_what_it_is_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rolling_task(tmp_path).folder
    monkeypatch.setattr("openfingym.cli.render.LINE_S", -1.0)
    monkeypatch.setattr("sys.argv", ["openfingym", "task", "check", str(folder)])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr()
    told = shown.err.splitlines()
    assert told[0] == f"{folder.name}: build"
    assert f"{folder.name}: time: episode 6 of 6: its best actions" in told
    assert told[-1] == f"{folder.name}: ordering: scores"
    assert "its best actions" not in shown.out


def test_an_unbuildable_task_is_a_finding(own_task: Path) -> None:
    (own_task / "data.csv").write_text("date,alpha,beta\n2020-01-01,1,2\n")
    report = check_task(load_task(own_task))
    assert not report.passed
    assert report.findings[-1].name == "build"


def test_a_range_no_answer_can_meet_is_a_finding(short_task: Path) -> None:
    path = short_task / "task.toml"
    path.write_text(path.read_text().replace("high = 1.0", "high = 0.001"))
    failed = {
        finding.name: finding.detail for finding in check_task(load_task(short_task)).findings if not finding.passed
    }
    assert "no answer could match" in failed["contract"]


def test_an_interface_that_carries_the_labels_is_caught(short_task: Path) -> None:
    """The defect a careless author would really make: labels pasted into the task's own module."""
    truth = build(load_task(short_task)).read_truth()["targets"]
    (short_task / "interface.py").write_text(f"ANSWERS = {np.round(truth[2:4], 6).tolist()}\n")
    failed = {
        finding.name: finding.detail for finding in check_task(load_task(short_task)).findings if not finding.passed
    }
    assert "interface.py" in failed["leak"]


@pytest.fixture
def short_task(own_task: Path) -> Path:
    """The scaffolded task over a quarter of its rows: what is looked for is as well found in fewer."""
    rows = (own_task / "data.csv").read_text().splitlines(keepends=True)
    (own_task / "data.csv").write_text("".join(rows[:380]))
    return own_task


def _with_a_blob(folder: Path) -> None:
    """An instruction with an image in base64, which may be anything."""
    path = folder / "instruction.md"
    image = base64.b64encode(np.random.default_rng(0).bytes(300)).decode()
    path.write_text(f"{path.read_text()}\n![a chart](data:image/png;base64,{image})\n")


def _waive(
    folder: Path, finding: str, file: str = "instruction.md", reason: str = "the image is a chart of the training data"
) -> None:
    path = folder / "task.toml"
    waiver = f'[[metadata.openfingym.waivers]]\nfile = "{file}"\nfinding = "{finding}"\nreason = "{reason}"\n\n'
    path.write_text(
        path.read_text().replace("[metadata.openfingym.provenance]", f"{waiver}[metadata.openfingym.provenance]", 1)
    )


def _leak(folder: Path) -> tuple[bool, str]:
    """What the search for leaks says of a task as it is now; the other checks are left out."""
    with tempfile.TemporaryDirectory() as built:
        package = BuiltPackage(Path(built) / "public", Path(built) / "truth")
        write_package(load_task(folder), package.public, package.truth)
        found = run("leak", lambda: leak_search(package, package.read_truth()))
    return found.passed, found.detail


def test_a_finding_can_be_waived_with_a_reason(short_task: Path) -> None:
    _with_a_blob(short_task)
    passed, detail = _leak(short_task)
    assert not passed
    assert "instruction.md: text of unexplained entropy (characters" in detail
    assert "[[metadata.openfingym.waivers]]" in detail
    _waive(short_task, "text of unexplained entropy")
    assert _leak(short_task) == (
        True,
        (
            "no hidden values in any public file, in any common encoding, rounding, order or transform; "
            "waived: text of unexplained entropy in instruction.md (the image is a chart of the training data)"
        ),
    )


def test_a_waiver_holds_for_its_own_file_and_finding_only(short_task: Path) -> None:
    _with_a_blob(short_task)
    _waive(short_task, "text of unexplained entropy", file="interface.py")
    assert not _leak(short_task)[0]
    truth = build(load_task(short_task)).read_truth()["targets"]
    (short_task / "task.toml").write_text(
        (short_task / "task.toml").read_text().replace('"interface.py"', '"instruction.md"')
    )
    assert _leak(short_task)[0]
    path = short_task / "instruction.md"
    path.write_text(f"{path.read_text()}\n{' '.join(f'{value:.8f}' for value in truth[3].ravel())}\n")
    passed, detail = _leak(short_task)
    assert not passed
    assert "targets" in detail
    assert "hidden row 3" in detail


def test_a_waiver_of_what_is_not_there_is_reported(short_task: Path) -> None:
    _waive(short_task, "text of unexplained entropy")
    passed, detail = _leak(short_task)
    assert not passed
    assert "'text of unexplained entropy' in instruction.md" in detail
    assert "remove" in detail


def test_a_waiver_without_a_reason_is_refused(own_task: Path) -> None:
    _waive(own_task, "text of unexplained entropy", reason="")
    with pytest.raises(TaskError, match="reason"):
        load_task(own_task)


def test_waivers_are_shown(own_task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _with_a_blob(own_task)
    _waive(own_task, "text of unexplained entropy")
    monkeypatch.setattr("sys.argv", ["openfingym", "task", "show", str(own_task)])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "waiver  text of unexplained entropy in instruction.md: the image is a chart of the training data" in shown


def test_real_data_that_were_not_pulled_are_no_defect_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["openfingym", "task", "check", "--real", "commodity-forecast"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 6
    assert "Run this once, with a network: openfingym data pull yahoo-futures" in capsys.readouterr().err
