"""``openfingym export``, as a user has it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.trajectory import RolloutRecord, from_atif, messages_schema, read_rollout
from openfingym.trajectory.files import write_rollout
from openfingym.trajectory.finetuning import from_openai
from openfingym.trajectory.record import RecordedScore, Turn


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


def _kept(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def many(tmp_path: Path, spoken: RolloutRecord) -> Path:
    """Eight rollouts of different talk: rewards 0 to -3 on a task and on its variant, by turns of two agents."""
    for number in range(8):
        total = float(number // 2)
        changes = {
            "id": f"r-{number}",
            "task": ("fx-forecast", "treasury-forecast-v2")[number % 2],
            "agent": ("react", "codeblock")[number // 4],
            "split": ("train", "test")[number == 7],
            "instance": None if number == 7 else number,
            "score": RecordedScore(state="scored", total=total, relative_total=1.0, reward=-total),
            "messages": (
                *spoken.messages,
                Turn(role="user", content="Well?"),
                spoken.messages[-1].model_copy(update={"content": f"Bye {number}."}),
            ),
        }
        (tmp_path / "many" / f"r-{number}").mkdir(parents=True)
        write_rollout(tmp_path / "many" / f"r-{number}" / "trajectory.json", spoken.model_copy(update=changes))
    return tmp_path / "many"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--min-reward", "-1"], [0, 1, 2, 3]),
        (["--top-quantile", "0.3"], [0, 1, 2, 3]),
        (["--top-quantile", "0.01", "--agent", "codeblock"], [4, 5]),
        (["--task", "fx-forecast", "--agent", "react", "--agent", "nobody"], [0, 2]),
        (["--split", "test"], [7]),
        (["--distinct"], list(range(8))),
    ],
)
def test_filters(many: Path, tmp_path: Path, options: list[str], kept: list[int]) -> None:
    told = _export(many, "--format", "messages", "--out", tmp_path / "x.jsonl", *options)
    assert _kept(tmp_path / "x.jsonl") == [f"r-{number}" for number in kept]
    left_out = told["left_out"]
    assert isinstance(left_out, dict)
    assert sum(left_out.values()) == 8 - len(kept)


def test_equal_conversations_are_written_once(many: Path, tmp_path: Path, spoken: RolloutRecord) -> None:
    for name in ("r-8", "r-9"):
        (many / name).mkdir()
        write_rollout(many / name / "trajectory.json", spoken.model_copy(update={"id": name}))
    told = _export(many, "--format", "messages", "--out", tmp_path / "x.jsonl", "--distinct")
    assert _kept(tmp_path / "x.jsonl")[-1] == "r-8"
    assert told["left_out"] == {"repeated": 0, "other state": 0, "no messages": 0, "same conversation": 1}


@pytest.mark.parametrize("form", ["messages", "sharegpt"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_tasks_are_held_out_with_those_that_share_their_data(many: Path, tmp_path: Path, name: str, form: str) -> None:
    arguments = ["export", "trajectories", str(many), "--format", form, "--out", str(tmp_path / name)]
    done = CliRunner().invoke(cli, [*arguments, "--hold-out", "treasury-forecast"], catch_exceptions=False)
    apart = tmp_path / name.replace("x.", "x.held-out.")
    assert done.output.splitlines() == [
        f"4 trajectories in {tmp_path / name}: 4 of split train",
        f"4 trajectories in {apart}: 1 of split test, 3 of split train",
    ]
    assert sorted(path.name for path in tmp_path.glob("x.*")) == sorted([name, apart.name])
    if name == "x.parquet":
        assert set(pq.read_table(apart)["task"].to_pylist()) == {"treasury-forecast-v2"}
        assert pq.read_schema(apart) == pq.read_schema(tmp_path / name) == messages_schema(sharegpt=form == "sharegpt")
    told = _export(*arguments[2:], "--hold-out", "paper")
    assert told["files"] == [{"out": str(apart), "written": 8, "splits": {"train": 7, "test": 1}}]


def test_the_test_split_is_told(many: Path, tmp_path: Path) -> None:
    arguments = ["export", "trajectories", str(many), "--format", "messages", "--out", str(tmp_path / "x.jsonl")]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.output.splitlines() == [
        f"8 trajectories in {tmp_path / 'x.jsonl'}: 1 of split test, 7 of split train",
        "some are of split test: do not score on their tasks what was trained on them",
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--format", "openai", "--out", "x.parquet"], "not written as Parquet"),
        (["--format", "atif", "--out", "x", "--hold-out", "fx-forecast"], "--hold-out is for files of conversations"),
        (["--format", "messages", "--out", "x.parquet"], r"pip install 'openfingym\[arrow\]'"),
    ],
)
def test_what_cannot_be_written(many: Path, options: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=says):
        CliRunner().invoke(
            cli, ["export", "trajectories", str(many), *options], catch_exceptions=False, standalone_mode=False
        )
    assert not list(many.glob("*x*"))


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
