"""TRL's trainers, driven by the model that the example makes, through every form of a spec."""

from __future__ import annotations

import importlib.util
import multiprocessing
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest

from openfingym.training.trl import TrlSpec, environment_rewards

from ..conftest import required

trl = required("trl")
torch = required("torch")
datasets = required("datasets")
pytestmark = pytest.mark.sandbox
TASK = "treasury-forecast"
NAIVE = """import interface, numpy as np
interface.predict_each(lambda x: np.repeat(x[:, -1:], interface.HORIZON, axis=1))"""
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def spec() -> TrlSpec:
    return TrlSpec([TASK], backend="sandbox", rows=8, eval_rows=4, places=4)


@pytest.fixture(scope="module")
def programs() -> TrlSpec:
    return TrlSpec([TASK], backend="sandbox", agent="oneshot", rows=8, places=2)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    found = importlib.util.spec_from_file_location("trl_grpo", ROOT / "examples" / "training" / "trl_grpo.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def trainer(spec: TrlSpec, model: Any, tokenizer: Any, folder: Path, **given: Any) -> Any:
    arguments = trl.GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=300,
        temperature=0.5,
        max_tool_calling_iterations=4,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
    )
    return trl.GRPOTrainer(
        model=model,
        args=arguments,
        processing_class=tokenizer,
        train_dataset=spec.train_dataset,
        **{"environment_factory": spec.environment_factory, "reward_funcs": spec.reward_funcs, **given},
    )


def test_the_tools_are_those_of_an_evaluation(spec: TrlSpec) -> None:
    from transformers.utils import get_json_schema

    environment = spec.environment_factory()  # type: ignore[operator,misc]
    for tool in spec.desk.brief(TASK, 0).tools:
        ours, theirs = tool["function"], get_json_schema(getattr(environment, tool["function"]["name"]))["function"]
        assert theirs["description"] == ours["description"]
        assert set(theirs["parameters"]["properties"]) == set(ours["parameters"]["properties"])
        assert theirs["parameters"]["required"] == ours["parameters"]["required"]


def test_rows_begin_as_an_evaluation_does(spec: TrlSpec, programs: TrlSpec) -> None:
    system, user = spec.desk.brief(TASK, 3).messages
    row = spec.train_dataset[3]
    assert [row["prompt"][0]["content"], row["prompt"][1]["content"]] == [system["content"], ""]
    environment = spec.environment_factory()  # type: ignore[operator,misc]
    assert environment.reset(**row) == user["content"]
    assert programs.train_dataset[3]["prompt"] == list(programs.desk.brief(TASK, 3).messages)
    assert spec.eval_dataset[0]["split"] == "validation"
    held_out = replace(spec.desk, split="validation").brief(TASK, 0).messages[1]["content"]
    assert environment.reset(**spec.eval_dataset[0]) == held_out != user["content"]


def test_a_batch_with_tools(spec: TrlSpec, example: ModuleType, tmp_path: Path) -> None:
    model, tokenizer = example.tiny_model(spec, 300)
    made = trainer(spec, model, tokenizer, tmp_path)
    made.train()
    row = next(one for one in made.state.log_history if "reward" in one)
    # What it knows by heart is played: rollouts call tools, and some are scored above the floor.
    assert row["tools/call_frequency"] > 0
    assert row["reward"] > -1.0


def test_a_batch_of_programs_on_fewer_places(programs: TrlSpec) -> None:
    rows = [programs.train_dataset[0]] * 6
    good = f"```python\n{NAIVE}\n```"
    bad = "```python\nraise SystemExit(3)\n```"
    said = [good, [{"role": "assistant", "content": good}], "no program", "", bad, good]
    columns = {name: [row[name] for row in rows] for name in ("task", "split", "index", "seed")}
    prompts = [row["prompt"] for row in rows]
    found = programs.reward_funcs(prompts=prompts, completions=said, trainer_state=None, **columns)
    assert found == [0.0, 0.0, -1.0, -1.0, -1.0, 0.0]


def some_rewards(completions: list[object], **_: object) -> list[float | None]:
    return [0.5, -0.5, None, 0.25]


def test_a_rollout_that_failed_for_us_is_left_out_of_its_group(
    spec: TrlSpec, example: ModuleType, tmp_path: Path
) -> None:
    late = TrlSpec([TASK], backend="sandbox", rows=8, deadline_s=0.01)
    environment = late.environment_factory()  # type: ignore[operator,misc]
    environment.reset(**late.train_dataset[0])
    environment.run_python("import time; time.sleep(30)")
    assert environment.get_reward() is None
    assert "deadline" in environment.failure
    # Through the trainer: a None of one rollout, and its advantage is 0.
    model, tokenizer = example.tiny_model(spec, 3)
    made = trainer(spec, model, tokenizer, tmp_path, reward_funcs=some_rewards, environment_factory=None)
    made.train()
    row = next(one for one in made.state.log_history if "reward" in one)
    assert row["reward"] == pytest.approx((0.5 - 0.5 + 0.25) / 3)


def test_nothing_said_is_the_floor_that_a_real_rollout_has(spec: TrlSpec) -> None:
    environment = spec.environment_factory()  # type: ignore[operator,misc]
    environment.reset(**spec.train_dataset[0])
    idle = environment_rewards(environments=[environment], completions=[None])
    with spec.desk.open_sync(TASK, 0) as episode:
        pass
    assert idle == [episode.reward] == [-1.0]
    assert environment.get_reward() is None, "the reward function has told it"


def test_sixty_four_rollouts_abreast_on_four_places(spec: TrlSpec) -> None:
    environments = [spec.environment_factory() for _ in range(64)]  # type: ignore[operator,misc]
    for environment in environments:
        environment.reset(**spec.train_dataset[0])
    told = [environment.run_python("print(1)") for environment in environments]
    assert told[:4] == ["1"] * 4
    assert all("places are taken" in one for one in told[4:])
    found = environment_rewards(environments=environments, completions=[None] * 64)
    assert found == [-1.0] * 4 + [None] * 60
    # The places are back: the next batch plays.
    environments[9].reset(**spec.train_dataset[1])
    assert environments[9].run_python("print(2)") == "2"


def test_calls_with_wrong_types_are_told(spec: TrlSpec) -> None:
    environment = spec.environment_factory()  # type: ignore[operator,misc]
    environment.reset(**spec.train_dataset[0])
    assert "is a text, found int" in environment.run_python(7)
    assert "is a text" in environment.read_file({"path": 1})
    assert not hasattr(environment, "submit"), "windows are answered by programs alone"
    assert environment.run_python("print(3)") == "3"
    assert "is a text" in environment.write_file("a", ["b"])
    assert environment.get_reward() == -1.0
    assert "over" in environment.run_python("print(4)")


def test_a_reset_gives_the_place_back(spec: TrlSpec) -> None:
    environments = [spec.environment_factory() for _ in range(4)]  # type: ignore[operator,misc]
    for _ in range(3):
        for environment in environments:
            environment.reset(**spec.train_dataset[2])
            assert environment.run_python("print(5)") == "5"


def child(given: bytes, answers: Any) -> None:
    """What the asynchronous trainer's worker does, in a daemon of its own."""
    factory, rewards, rows = pickle.loads(given)
    with ThreadPoolExecutor(4) as pool:
        environments = [factory() for _ in range(4)]
        list(pool.map(lambda pair: pair[0].reset(**pair[1]), zip(environments, rows, strict=True)))
        told = list(pool.map(lambda one: one.run_python(NAIVE), environments[:2]))
        told += list(pool.map(lambda one: one.run_python("x = 1"), environments[2:]))
        nothing = rewards(completions=[None] * 4, prompts=[None] * 4)
        answers.put((told, nothing, list(pool.map(lambda one: one.get_reward(), environments))))


def test_the_contract_of_the_asynchronous_trainer(spec: TrlSpec) -> None:
    given = pickle.dumps((spec.environment_factory, spec.reward_funcs, list(spec.train_dataset.select(range(4)))))
    assert pickle.loads(pickle.dumps(spec)) == spec
    pickle.dumps((spec.train_dataset, TrlSpec([TASK], agent="oneshot").reward_funcs))
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=child, args=(given, answers), daemon=True)
    process.start()
    told, nothing, rewards = answers.get(timeout=200)
    process.join(30)
    assert process.exitcode == 0
    assert told == ["(it printed nothing)"] * 4
    assert nothing == [None] * 4
    assert rewards == [0.0, 0.0, -1.0, -1.0]


INTERRUPTED = """
from openfingym.training.trl import TrlSpec
spec = TrlSpec(["treasury-forecast"], backend="sandbox", rows=4)
environment = spec.environment_factory()
environment.reset(**spec.train_dataset[0])
print(environment.run_python("print(1)"), flush=True)
environment.run_python("import time; time.sleep(600)")
"""


def test_an_interrupt_in_the_middle_of_a_step_leaves_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    time.sleep(1.0)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    _, alive = psutil.wait_procs(children, 10)
    assert not alive
