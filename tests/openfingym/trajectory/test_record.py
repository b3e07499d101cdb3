"""The record itself, on disk and by its schema."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from openfingym.errors import StoreError, UsageError
from openfingym.models import Message, ToolCall
from openfingym.results import RolloutResult, State
from openfingym.trajectory import RolloutRecord, find_rollouts, read_rollout, rollout_schema
from openfingym.trajectory.files import write_rollout
from openfingym.trajectory.record import RecordedScore, ToolUse, Turn

from .conftest import rollouts

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "rollout.schema.json"


@settings(max_examples=60)
@given(rollout=rollouts())
def test_what_is_written_is_read(rollout: RolloutRecord, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("record") / "trajectory.json"
    write_rollout(path, rollout)
    assert read_rollout(path) == rollout
    assert [item.name for item in path.parent.iterdir()] == ["trajectory.json"]


def test_the_schema_in_the_documentation_is_current() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == rollout_schema(), (
        "openfingym export schema > docs/rollout.schema.json"
    )


def test_the_documentation(spoken: RolloutRecord, tmp_path: Path) -> None:
    """Its example runs as it stands, and it names every part of the record."""
    text = SCHEMA.with_name("trajectories.md").read_text(encoding="utf-8")
    (tmp_path / "runs" / "r-1").mkdir(parents=True)
    write_rollout(tmp_path / "runs" / "r-1" / "trajectory.json", spoken)
    example = text.partition("```python\n")[2].partition("```")[0]
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("treasury-forecast scored -0.1 none\n")
    assert [name for name in RolloutRecord.model_fields if f"`{name}`" not in text and name != "id"] == []


def test_the_conversation_as_a_model_had_it(spoken: RolloutRecord) -> None:
    flat = spoken.conversation()
    assert [message.role for message in flat] == ["system", "user", *["assistant", "tool"] * 3, "assistant"]
    assert flat[2].tool_calls[0].name == "run_python"
    assert flat[3] == Message("tool", "result of run_python", tool_call_id=flat[2].tool_calls[0].id)
    assert isinstance(flat[2].tool_calls[0], ToolCall)


def test_tokens_are_those_of_the_completion(spoken: RolloutRecord) -> None:
    for turn in spoken.messages[2:]:
        assert turn.generation is not None
        assert turn.generation.tokens is not None
        assert len(turn.generation.tokens.completion_ids) == len(turn.generation.tokens.logprobs)
    assert spoken.usage.total == sum(turn.generation.usage.total for turn in spoken.messages if turn.generation)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("format",), 3, "format"),
        (("split",), "train", "a rollout of split 'train' has instance None"),
        (("instance",), 3, "a rollout of split 'test' has instance 3"),
        (("id",), "../escape", "id"),
        (("surprise",), 1, "surprise"),
        (("failure",), "agent", "failure is 'agent' for a rollout that is scored"),
        (("score", "total"), None, "has a total"),
        (("score", "reward"), None, "have a reward"),
        (("score", "total"), float("nan"), "total"),
        (("timing", "started_at"), "2026-01-01T00:00:00", "started_at"),
        (("timing", "wall_s"), -1, "wall_s"),
        (("rewards",), [{"episode": 0, "step": 1, "reward": 1.0, "message": 99}], "not there"),
        (("messages", 0, "reasoning"), "hm", "only the assistant"),
        (("messages", 2, "generation", "tokens", "loss_mask"), [1], "one length"),
    ],
)
def test_what_does_not_hold_together(
    spoken: RolloutRecord, path: tuple[str | int, ...], value: object, says: str
) -> None:
    document = json.loads(spoken.model_dump_json())
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ValidationError, match=says):
        RolloutRecord.model_validate_json(json.dumps(document))


@pytest.mark.parametrize(
    ("state", "total", "reward"), [("scored", 0.25, -0.25), ("rejected", None, -100.0), ("error", None, None)]
)
def test_the_score_of_a_result(state: State, total: float | None, reward: float | None) -> None:
    result = RolloutResult(
        "r", "t", "d", "real", "a", "sandbox", 0, state, reason="why", total=total, metrics={"mse": 0.5}
    )
    score = RecordedScore.from_result(result)
    assert (score.state, score.total, score.reward, score.reason, score.metrics) == (
        state,
        total,
        reward,
        "why",
        {"mse": 0.5},
    )


def test_ids_of_calls_are_their_own() -> None:
    with pytest.raises(ValidationError, match="same id"):
        Turn(role="assistant", tool_calls=(ToolUse(id="a", name="f", arguments=""),) * 2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not a trajectory"),
        ("{}", "Field required"),
        ('{"format": 7}', "format 7, this version knows up to 2; update"),
        ("[]", "not a trajectory"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "trajectory.json"
    path.write_text(content)
    with pytest.raises(StoreError, match=says):
        read_rollout(path)


def test_a_record_of_the_first_format_is_of_the_test_split(tmp_path: Path, spoken: RolloutRecord) -> None:
    document = json.loads(spoken.model_dump_json()) | {"format": 1}
    del document["split"], document["instance"]
    (tmp_path / "trajectory.json").write_text(json.dumps(document))
    assert read_rollout(tmp_path / "trajectory.json") == spoken
    (tmp_path / "trajectory.json").write_text(json.dumps(document | {"split": "train", "instance": 1}))
    with pytest.raises(StoreError, match="not a trajectory"):
        read_rollout(tmp_path / "trajectory.json")


def test_missing_and_unwritable(tmp_path: Path, spoken: RolloutRecord) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read_rollout(tmp_path / "none.json")
    with pytest.raises(StoreError, match="cannot be written"):
        write_rollout(tmp_path / "missing" / "trajectory.json", spoken)


def test_runs_are_found_at_any_depth_but_not_while_they_are_written(tmp_path: Path, spoken: RolloutRecord) -> None:
    for name in ("b/r-1", "a/x/r-2", ".r-3.partial"):
        (tmp_path / name).mkdir(parents=True)
        write_rollout(tmp_path / name / "trajectory.json", spoken)
    (tmp_path / "built-in").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in find_rollouts([tmp_path])]
    assert found == ["a/x/r-2/trajectory.json", "b/r-1/trajectory.json"]
    assert list(find_rollouts([tmp_path / "b" / "r-1" / "trajectory.json"])) == [
        tmp_path / "b" / "r-1" / "trajectory.json"
    ]
    with pytest.raises(UsageError, match="no such run"):
        list(find_rollouts([tmp_path / "none"]))
