"""Contexts with dates are shown to a real program one by one, each once the futures of those before it are drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from gymnasium.utils.env_checker import check_env

import openfingym
from openfingym.agents import Agent, resolve
from openfingym.cli import cli
from openfingym.instances import build_instance
from openfingym.kinds import kind_of
from openfingym.models.spec import ModelSpec
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.rollouts.launcher import Launcher
from openfingym.rollouts.order import RolloutOrder
from openfingym.task import Task
from openfingym.verifiers.scorecard import score_files
from openfingym_verifier.scoring.truth import load_task
from tests.openfingym.envs.walking import answers_of, walked
from tests.openfingym.kinds.materials import edited, walk

pytestmark = pytest.mark.sandbox
FUTURES = 3
LOOKS_AHEAD = """
import json, pathlib
import interface, numpy as np

before = b"".join(path.read_bytes() for path in pathlib.Path("/task").rglob("*") if path.is_file())
seen, refused = [], []


def tried(what, call):
    try:
        call()
        refused.append([what, "nothing"])
    except Exception as error:
        refused.append([what, str(error)])


gate, rng = interface._task._gate, np.random.default_rng(interface.seed)
for part in (5, None):
    for window in interface.iter_test():  # begun a second time, it goes on at the first window without an answer
        again = next(iter(interface.iter_test()))  # another walk, before this window is answered
        seen.append({
            "number": window.number,
            "left": window.left,
            "context": window.inputs[0].tolist(),
            "times": window.arrays["times"][0].astype(str).tolist(),
            "same": bool((again.inputs == window.inputs).all() and again.number == window.number),
        })
        if window.number == 0:
            answer = {"predictions": np.zeros(window.shape).tolist()}
            ahead = json.dumps({"episode": 1, "step": 2, "action": answer}).encode()
            headers = {"Content-Type": "application/json"}
            tried("contexts at once", interface.load_test_inputs)
            tried("their array", lambda: interface.load("test_inputs"))
            tried("their times", lambda: interface.load("test_times"))
            tried("an answer for all", lambda: interface.submit(np.zeros(interface.SUBMISSION_SHAPE)))
            tried("the answer after the next", lambda: gate.call("POST", "/v1/steps", headers, ahead, None))
            tried("futures of two contexts", lambda: window.predict(np.zeros((2, *window.shape[1:]))))
        window.predict(0.01 * rng.standard_normal(window.shape))
        tried("another answer", lambda: window.predict(np.zeros(window.shape)))
        if part == window.number:
            break
found = [one["number"] for one in seen if np.array(one["context"]).tobytes() in before]
print(json.dumps({"seen": seen, "refused": refused, "found": found}))
"""
DRAWS = """
import interface, numpy as np

contexts, windows = interface.load_train()
rng = np.random.default_rng(interface.seed)


def futures(known):
    width = np.sqrt((known**2).mean(axis=1, keepdims=True))[:, None]
    return 0.5 * width * rng.standard_normal((len(known), *interface.SUBMISSION_SHAPE[1:]))


print(interface.predict_each(futures, practice=True).total)
interface.predict_each(futures)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three futures of five days after each of some forty contexts of eight days."""
    folder = new_task("futures", tmp_path_factory.mktemp("tasks"), "generation")
    text = (folder / "task.toml").read_text()
    for key, value in {"lookback": "8", "futures": str(FUTURES), "dated": "true"}.items():
        text = edited(text, key, value)
    (folder / "task.toml").write_text(text)
    columns = {"alpha": walk(1, 3000), "beta": walk(2, 3000)}
    days = np.datetime64("2001-01-01") + np.arange(3000)
    rows = zip(days, *(values.tolist() for values in columns.values()), strict=True)
    (folder / "data.csv").write_text("\n".join(["date,alpha,beta", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return folder


@pytest.fixture(scope="module")
def launcher(folder: Path) -> Iterator[Launcher]:
    with Launcher.for_tasks([Task.read(folder)], backend="sandbox") as running:
        yield running


@pytest.fixture(scope="module")
def package(launcher: Launcher) -> BuiltPackage:
    return launcher.packages[0]


def test_no_context_is_seen_before_the_futures_of_those_before_it_are_drawn(
    launcher: Launcher, package: BuiltPackage, tmp_path: Path
) -> None:
    result = launcher.run(package, Agent("test", "program", LOOKS_AHEAD), out=tmp_path)
    assert result.path is not None
    said = json.loads((result.path / "output.log").read_text().splitlines()[-1])
    hidden, n_public = package.read_truth(), package.manifest.n_public
    seen = said["seen"]
    assert result.state == "scored", result.reason
    assert [one["number"] for one in seen] == list(range(package.manifest.n_private)), "each once, none left out"
    assert [one["left"] for one in seen] == list(range(package.manifest.n_private, 0, -1))
    assert all(one["same"] for one in seen), "a walk begun anew shows what is to be answered, and nothing later"
    np.testing.assert_array_equal([one["context"] for one in seen], hidden["test_inputs"][n_public:])
    times = np.array([one["times"] for one in seen], "datetime64[ns]")
    np.testing.assert_array_equal(times, hidden["test_times"][n_public:])
    assert (np.diff(times[:, 7]) > np.timedelta64(0)).all()
    assert said["found"] == [], "no context was in a file that the program could read"
    refused = dict(said["refused"])
    assert "nothing" not in refused.values()
    assert "window.predict(model(window.inputs))" in refused["contexts at once"]
    assert "window.predict(model(window.inputs))" in refused["an answer for all"]
    assert "no array 'test_inputs'" in refused["their array"]
    assert "no array 'test_times'" in refused["their times"]
    assert "expected 1" in refused["the answer after the next"]
    assert "an answer stays" in refused["another answer"]


def test_a_program_has_the_score_of_its_whole_array(
    launcher: Launcher, package: BuiltPackage, folder: Path, tmp_path: Path
) -> None:
    """What the verifier scores of a walk, ``openfingym score`` and the metrics of the task give of the array."""
    result = launcher.run(package, Agent("test", "program", DRAWS), out=tmp_path)
    assert result.path is not None
    whole = result.path / "submissions" / "2.npy"
    values = np.load(whole)
    assert values.shape == (package.manifest.n_public + package.manifest.n_private, FUTURES, 5, 2)
    card = score_files(package, whole, package.truth / "real.npy")
    assert result.metrics == pytest.approx(dict(card.private.metrics), rel=1e-12)
    assert (result.total, result.relative_total) == pytest.approx((card.private.total, card.private.relative_total))
    assert result.total == load_task(package).grader.private_score(values).total
    told = float((result.path / "output.log").read_text())
    assert told == pytest.approx(card.public.total, rel=5e-3), "practice is told of the public fold, rounded"
    called = [
        "score",
        "--task",
        str(folder),
        "--submission",
        str(whole),
        "--truth",
        str(package.truth),
        "--json",
    ]
    shown = CliRunner().invoke(cli, called, catch_exceptions=False)
    assert json.loads(shown.stdout)["private"]["total"] == pytest.approx(result.total)


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # limits of what is hidden are not told
def test_its_environment_walks(folder: Path) -> None:
    env = openfingym.make(folder, reward="relative", backend="inline")
    try:
        check_env(env, skip_render_check=True)
        manifest, contract = env.package.manifest, env.task.spec.contract
        assert env.action_space.shape == (FUTURES, 5, 2)
        answer = kind_of(env.task).naive(contract, env.package.shown_array, manifest.submission_shape)
        *steps, (_, reward, terminated, _, info) = walked(env, answers_of(answer[manifest.n_public :]))
        assert [step[4]["windows_left"] for step in steps] == list(range(manifest.n_private - 1, 0, -1))
        assert (terminated, info["state"], reward) == (True, "scored", pytest.approx(-1.0))
    finally:
        env.close()


@pytest.mark.parametrize("agent", ["naive", "bootstrap", "copula", "garch-sim"])
def test_built_in_agents_walk(agent: str, launcher: Launcher, package: BuiltPackage) -> None:
    result = launcher.run(package, resolve(agent))
    assert result.state == "scored", result.reason
    assert result.relative_total == pytest.approx(1.0, abs=0.1) if agent == "naive" else result.relative_total < 1.3


def test_a_model_walks(launcher: Launcher, package: BuiltPackage) -> None:
    result = launcher.run(package, resolve("react"), model=ModelSpec.parse("stand-in/competent"))
    assert (result.state, result.ended_by) == ("scored", "finished"), result.reason


def test_an_instance_is_walked_through_too(launcher: Launcher, package: BuiltPackage, tmp_path: Path) -> None:
    built = build_instance(package, "train", 0, tmp_path)
    assert not any(name.startswith("test_") for name in built.contract["arrays"])
    assert set(built.contract["window"]) == {"inputs", "times"}
    assert built.contract["windows"] == {"public": built.manifest.n_public, "private": built.manifest.n_private}
    hidden, train = built.read_truth(), built.array("train_times")
    assert train.shape == (built.manifest.n_train, built.contract["lookback"] + built.contract["horizon"])
    assert train.max() < hidden["test_times"].min()
    assert (np.diff(hidden["test_times"].ravel().astype(np.int64)) > 0).all()
    result = launcher.run(package, Agent("test", "program", DRAWS), RolloutOrder(split="train", instance=0))
    assert result.state == "scored", result.reason


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("interface.load_test_inputs()", "window.predict(model(window.inputs))"),
        ("for window in interface.iter_test(): pass", "windows of the private fold were left unanswered"),
    ],
)
def test_what_is_not_a_walk_is_no_answer(source: str, said: str, launcher: Launcher, package: BuiltPackage) -> None:
    result = launcher.run(package, Agent("test", "program", f"import interface\n{source}"))
    assert result.state == "rejected"
    assert said in str(result.reason)
