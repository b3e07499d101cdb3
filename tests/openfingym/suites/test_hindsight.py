"""Tasks whose tools look ahead: what they see, and that nothing mistakes their results for others.

The attack: a result of tools that look ahead, with a score near perfect, shown as another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym import catalog
from openfingym.agents import Agent
from openfingym.cli import cli
from openfingym.errors import TaskError
from openfingym.kinds import looks_ahead
from openfingym.kinds.hindsight import with_hindsight
from openfingym.reports.certificate import certify
from openfingym.reports.html import render
from openfingym.reports.report import make_report
from openfingym.reports.runs import find_runs
from openfingym.results import RolloutResult
from openfingym.rollouts.launcher import Launcher
from openfingym.verifiers.receipt_check import check_run

HALF = Agent(
    "script",
    "program",
    "import interface\nenv = interface.make()\nwhile env.episodes_left: env.reset(); env.step({'answer': 0.5})",
    trusted=True,
)
KIND = "simulated with hindsight"


@pytest.fixture
def both(jar_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[RolloutResult]:
    """The same agent on a task and on its twin."""
    monkeypatch.setenv("OPENFINGYM_TASKS", str(jar_task.parent))
    tasks = [catalog.load_task(name) for name in ("jar-forecast", "jar-forecast-hindsight")]
    with Launcher.for_tasks(tasks, backend="inline") as launcher:
        return [launcher.run(package, HALF, out=tmp_path / "runs") for package in launcher.packages]


def test_everything_says_so(both: list[RolloutResult], tmp_path: Path) -> None:
    known, ahead = both
    assert (known.data_kind, ahead.data_kind, ahead.task) == ("simulated", KIND, "jar-forecast-hindsight")
    assert known.total == ahead.total
    assert known.task_digest != ahead.task_digest
    assert ahead.path is not None
    assert check_run(ahead.path).verified["data_kind"] == KIND
    certificate = certify(ahead.path)
    assert certificate.hindsight
    assert not certificate.holds
    shown = CliRunner().invoke(cli, ["vault", "certify", str(ahead.path)])
    assert shown.exit_code == 1
    assert "WITH HINDSIGHT" in shown.output
    # No figure holds both, and nothing compares them.
    report = make_report(find_runs([tmp_path / "runs"]))
    assert {(cell.data_kind, cell.counts.scored) for cell in report.cells} == {("simulated", 1), (KIND, 1)}
    assert report.comparisons == ()
    assert "HINDSIGHT, an experiment" in render(report)
    listed = CliRunner().invoke(cli, ["report", str(tmp_path / "runs")])
    assert "SIMULATED WITH HINDSIGHT data" in listed.output
    # Whoever takes the mark off leaves it in what the verifier wrote.
    path = ahead.path / "result.json"
    path.write_text(path.read_text().replace(KIND, "simulated"))
    (damaged,) = find_runs([tmp_path / "runs"]).damaged
    assert "one was changed" in damaged.reason
    config = ahead.path / "config.json"
    config.write_text(config.read_text().replace(KIND, "simulated"))
    (damaged,) = find_runs([tmp_path / "runs"]).damaged
    assert "verified.json" in damaged.reason


def test_other_tasks_have_no_twin(jar_task: Path) -> None:
    with pytest.raises(TaskError, match="no task is named"):
        catalog.load_task("treasury-forecast-hindsight")
    with pytest.raises(TaskError, match="no twin"):
        with_hindsight(catalog.load_task("treasury-forecast"))
    twin = with_hindsight(catalog.load_task(jar_task))
    assert looks_ahead(twin.spec.contract)
    assert twin.file.task.description.startswith("WITH HINDSIGHT")
    with pytest.raises(TaskError, match="no twin"):
        with_hindsight(twin)
    assert with_hindsight(catalog.load_task(jar_task)).folder == twin.folder
