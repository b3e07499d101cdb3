"""``openfingym export``, as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.trajectory import RecordedScore, RolloutRecord, from_atif, from_openai, read_rollout, write_rollout


@pytest.fixture
def runs(tmp_path: Path, spoken: RolloutRecord) -> Path:
    """Two runs, one of them twice, and one in which nothing was said."""
    rejected = {
        "id": "r-2",
        "score": RecordedScore(state="rejected", reward=-100.0, reason="no submission"),
        "failure": "agent",
    }
    found = {
        "one": spoken,
        "again": spoken,
        "two": spoken.model_copy(update=rejected),
        "silent": spoken.model_copy(update={**rejected, "id": "r-3", "messages": ()}),
    }
    for name, rollout in found.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        write_rollout(tmp_path / "runs" / name / "trajectory.json", rollout)
    return tmp_path / "runs"


def _export(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(cli, ["export", "trajectories", *map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.output)
    return found


def test_atif(runs: Path, tmp_path: Path, spoken: RolloutRecord) -> None:
    told = _export(runs, "--format", "atif", "--out", tmp_path / "out.atif")
    assert (told["written"], told["left_out"]) == (2, {"repeated": 1, "other state": 0, "no messages": 1})
    files = sorted(str(path.relative_to(tmp_path / "out.atif")) for path in (tmp_path / "out.atif").rglob("*.json"))
    trials = ("treasury-forecast__r-1", "treasury-forecast__r-2")
    assert files == [f"{trial}/{name}" for trial in trials for name in ("agent/trajectory.json", "result.json")]
    assert from_atif(json.loads((tmp_path / "out.atif" / files[0]).read_text(encoding="utf-8"))) == spoken


def test_a_task_that_is_called_a_path_is_written_inside(tmp_path: Path, spoken: RolloutRecord) -> None:
    (tmp_path / "run").mkdir()
    write_rollout(tmp_path / "run" / "trajectory.json", spoken.model_copy(update={"task": "../../gone"}))
    _export(tmp_path / "run", "--format", "atif", "--out", tmp_path / "deep" / "out")
    assert [path.name for path in (tmp_path / "deep" / "out").iterdir()] == [".._.._gone__r-1"]
    assert not list(tmp_path.glob("gone*"))


def test_openai(runs: Path, tmp_path: Path, spoken: RolloutRecord) -> None:
    told = _export(runs, "--format", "openai", "--out", tmp_path / "data" / "train.jsonl", "--state", "scored")
    assert (told["written"], told["left_out"]) == (1, {"repeated": 1, "other state": 2, "no messages": 0})
    (line,) = (tmp_path / "data" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert from_openai(json.loads(line)).messages == spoken.conversation()
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["train.jsonl"]


def test_native(runs: Path, tmp_path: Path, spoken: RolloutRecord) -> None:
    assert _export(runs / "one", runs / "two", "--format", "native", "--out", tmp_path / "out")["written"] == 2
    assert read_rollout(tmp_path / "out" / "r-1.json") == spoken


def test_what_is_told(runs: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["export", "trajectories", str(runs), "--format", "atif", "--out", str(tmp_path / "out")]
    )
    assert done.output.splitlines() == [
        f"2 trajectories in {tmp_path / 'out'}",
        "left out: 1 (repeated)",
        "left out: 1 (no messages)",
    ]


def test_nothing_to_export(runs: Path, tmp_path: Path) -> None:
    arguments = [
        "export",
        "trajectories",
        str(runs),
        "--format",
        "openai",
        "--out",
        str(tmp_path / "x.jsonl"),
        "--state",
        "void",
    ]
    with pytest.raises(UsageError, match=r"no trajectory to export.*4 other state"):
        CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    assert not (tmp_path / "x.jsonl").exists()
    (tmp_path / "programs").mkdir()
    for form in ("atif", "openai", "native"):
        with pytest.raises(UsageError, match="where a model took part"):
            CliRunner().invoke(
                cli,
                [*arguments[:2], str(tmp_path / "programs"), "--format", form, "--out", str(tmp_path / "o")],
                catch_exceptions=False,
                standalone_mode=False,
            )
        assert not (tmp_path / "o").exists()


def test_the_schema() -> None:
    done = CliRunner().invoke(cli, ["export", "schema"])
    assert json.loads(done.output)["title"] == "RolloutRecord"
