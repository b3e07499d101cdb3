"""ATIF and fine-tuning lines, out and back; Harbor and OpenAI say what is valid."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

from openfingym.errors import DataError
from openfingym.models import Message
from openfingym.trajectory import RolloutRecord, from_atif, to_atif, to_openai
from openfingym.trajectory.finetuning import from_openai
from openfingym.trajectory.harbor import to_trial
from openfingym.trajectory.record import RecordedScore, ToolUse, Turn

from .conftest import rollouts

CHECK = """
import json, sys, warnings
from pathlib import Path
warnings.simplefilter("error")
from harbor.models.trajectories import Trajectory
from harbor.models.trial.result import TrialResult
from harbor.utils.traces_utils import collect_conversations_from_trial, iter_trial_dirs, load_run_metadata

trials = {}
for trial in iter_trial_dirs(Path(sys.argv[1])):
    document = json.loads((trial / "agent" / "trajectory.json").read_text())
    read = Trajectory.model_validate(document)
    assert read.schema_version == "ATIF-v1.8"
    assert read.model_dump(mode="json", exclude_unset=True) == document, trial
    result = TrialResult.model_validate_json((trial / "result.json").read_text())
    # Harbor knows no agent without a name.
    rows = collect_conversations_from_trial(trial, load_run_metadata(trial)) if document["agent"]["name"] else []
    reward = result.verifier_result and result.verifier_result.rewards["reward"]
    trials[trial.name] = [result.task_name, reward, result.exception_info and result.exception_info.exception_type,
                          len(rows), rows[-1]["result"] if rows else None]
print(json.dumps(trials))
"""


@settings(max_examples=150)
@given(rollout=rollouts(least=1))
def test_atif_loses_nothing(rollout: RolloutRecord) -> None:
    document = json.loads(json.dumps(to_atif(rollout), allow_nan=False))
    assert from_atif(document) == rollout


def test_a_call_with_half_a_character_can_be_written_to_a_file(spoken: RolloutRecord) -> None:
    call = ToolUse(id="1", name="run_python", arguments=json.dumps({"code": "print('\ud83d')"}))
    rollout = spoken.model_copy(update={"messages": (Turn(role="assistant", tool_calls=(call,)),), "rewards": ()})
    document = json.dumps(to_atif(rollout), ensure_ascii=False).encode()
    assert from_atif(json.loads(document)) == rollout


def test_atif_of_a_real_conversation(spoken: RolloutRecord) -> None:
    document = to_atif(spoken)
    assert from_atif(json.loads(json.dumps(document))) == spoken
    assert (document["schema_version"], document["session_id"]) == ("ATIF-v1.8", "r-1")
    steps = document["steps"]
    assert isinstance(steps, list)
    assert [step["source"] for step in steps] == ["system", "user", "agent", "agent", "agent", "agent"]
    assert steps[2]["tool_calls"][0]["arguments"]["code"].startswith("import interface")
    assert steps[2]["observation"]["results"][0]["content"] == "result of run_python"


@pytest.mark.harbor
@pytest.mark.timeout(600)
def test_harbor_takes_it(harbor_python: Path, tmp_path: Path, spoken: RolloutRecord) -> None:
    """Harbor's own models read what was exported and keep every key of it, and its tools find the conversations and
    rewards."""
    job = tmp_path / "job"

    def write(name: str, rollout: RolloutRecord) -> None:
        (job / name / "agent").mkdir(parents=True)
        (job / name / "agent" / "trajectory.json").write_text(json.dumps(to_atif(rollout)), encoding="utf-8")
        (job / name / "result.json").write_text(json.dumps(to_trial(rollout)), encoding="utf-8")

    @settings(max_examples=60, database=None)
    @given(rollout=rollouts(least=1))
    def export(rollout: RolloutRecord) -> None:
        write(f"any-{len(list(job.iterdir())) if job.exists() else 0}", rollout)

    export()
    write("scored", spoken)
    rejected = RecordedScore(state="rejected", reward=-100.0, reason="no submission")
    write("rejected", spoken.model_copy(update={"score": rejected, "failure": "agent"}))
    write(
        "error",
        spoken.model_copy(update={"score": RecordedScore(state="error", reason="no disk"), "failure": "verifier"}),
    )
    done = subprocess.run([harbor_python, "-c", CHECK, str(job)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    answers = sum(turn.role == "assistant" for turn in spoken.messages)
    assert found["scored"] == ["treasury-forecast", -0.1, None, answers, "-0.1"]
    assert found["rejected"][1] == -6.0
    assert found["error"][1:3] == [None, "VerifierFailure"]
    assert len(found) == len(list(job.iterdir()))


def test_the_reward_of_a_trial_is_the_tasks_own_under_harbor(spoken: RolloutRecord) -> None:
    far, rejected = (
        RecordedScore(state="scored", total=7.5, reward=-7.5),
        RecordedScore(state="rejected", reward=-100.0),
    )
    scores = {
        "none": (spoken.score, far),
        "agent": (rejected,),
        "verifier": (RecordedScore(state="error", reason="no disk"),),
    }
    trials = [
        to_trial(spoken.model_copy(update={"score": score, "failure": at}))
        for at, some in scores.items()
        for score in some
    ]
    rewards = [trial.get("verifier_result") for trial in trials]
    assert rewards == [
        {"rewards": {"mse": 0.01, "reward": -0.1}},
        {"rewards": {"reward": -5.0}},
        {"rewards": {"reward": -6.0}},
        None,
    ]
    assert ["exception_info" in trial for trial in trials] == [False, False, False, True]


def test_no_messages_no_trajectory(spoken: RolloutRecord) -> None:
    with pytest.raises(DataError, match="at least one step"):
        to_atif(spoken.model_copy(update={"messages": ()}))


@pytest.mark.parametrize("key", ["agent", "steps", "extra", "trajectory_id"])
def test_a_trajectory_of_other_origin(spoken: RolloutRecord, key: str) -> None:
    document = json.loads(json.dumps(to_atif(spoken)))
    del document[key]
    with pytest.raises(DataError, match=r"has no|not an ATIF"):
        from_atif(document)


@settings(max_examples=100)
@given(rollout=rollouts())
def test_fine_tuning_keeps_the_conversation(rollout: RolloutRecord) -> None:
    said = [index for index, turn in enumerate(rollout.messages) if turn.role == "assistant"]
    if not said:
        with pytest.raises(DataError, match="nothing to learn"):
            to_openai(rollout)
        return
    line = json.loads(json.dumps(to_openai(rollout), allow_nan=False))
    back = from_openai(line)
    assert back.tools == rollout.tools
    # What is lost: reasoning, what follows the last answer, and the difference between no result and an empty one.
    kept = rollout.messages[: said[-1] + 1]
    filled = [
        turn.model_copy(
            update={
                "reasoning": None,
                "tool_calls": tuple(call.model_copy(update={"result": call.result or ""}) for call in turn.tool_calls),
            }
        )
        for turn in kept
    ]
    whole = rollout.model_copy(update={"messages": tuple(filled)}).conversation()
    assert back.messages == whole[: len(whole) - len(filled[-1].tool_calls)]
    masked = []
    for turn in kept:
        if turn.role == "assistant":
            tokens = turn.generation.tokens if turn.generation else None
            hidden = tokens is not None and len(tokens.loss_mask) > 0 and 1 not in tokens.loss_mask
            masked.append(hidden or (turn.content, turn.tool_calls) == ("", ()))
    assert [message.get("weight") == 0 for message in line["messages"] if message["role"] == "assistant"] == masked


def test_fine_tuning_lines_are_what_the_client_sends(spoken: RolloutRecord) -> None:
    """Judged by the client's own types of a request."""
    line = to_openai(spoken)
    messages = TypeAdapter(list[ChatCompletionMessageParam]).validate_python(line["messages"])
    assert len(messages) == len(spoken.conversation())
    TypeAdapter(list[ChatCompletionToolParam]).validate_python(line["tools"])
    assert set(line) == {"messages", "tools"}


@pytest.mark.parametrize(
    "line", [{}, {"messages": 3}, {"messages": [{"content": "x"}]}, {"messages": [{"role": "boss"}]}, {"messages": [3]}]
)
def test_what_is_no_line(line: dict[str, object]) -> None:
    with pytest.raises(DataError, match="not a line"):
        from_openai(line)


def test_a_conversation_that_ends_with_calls(spoken: RolloutRecord) -> None:
    """Fine-tuning ends with the model's word, which may be a call without its result."""
    use = ToolUse(id="a", name="submit", arguments="{}", result="fine")
    rollout = spoken.model_copy(
        update={
            "messages": (Turn(role="user", content="go"), Turn(role="assistant", tool_calls=(use,)), Turn(role="user"))
        }
    )
    assert [message.role for message in from_openai(to_openai(rollout)).messages] == ["user", "assistant"]
    assert rollout.conversation()[-2] == Message("tool", "fine", tool_call_id="a")
