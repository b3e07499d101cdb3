"""The Gymnasium environment that walks through windows, against a real verifier process and a real sandbox."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openfingym
from openfingym.envs.lease import Lease
from openfingym.envs.walk import WalkEnv
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage
from tests.openfingym.envs.walking import answers_of, last_value, walked


@pytest.fixture(scope="module")
def env() -> Iterator[WalkEnv]:
    env = openfingym.make("treasury-forecast")
    assert isinstance(env, WalkEnv)
    yield env
    env.close()


@pytest.fixture(scope="module")
def few() -> Iterator[WalkEnv]:
    """An instance, which has few windows."""
    env = openfingym.make("treasury-forecast", split="train", index=0)
    assert isinstance(env, WalkEnv)
    yield env
    env.close()


@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # limits of what is hidden are not told
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized space")
def test_it_passes_gymnasiums_own_checker(env: WalkEnv) -> None:
    check_env(env, skip_render_check=True)


def test_gymnasium_make() -> None:
    wrapped = gymnasium.make("openfingym/treasury-forecast-v0")
    steps = walked(wrapped)
    assert len(steps) == 97
    assert {(reward, terminated, truncated) for _, reward, terminated, truncated, _ in steps[:-1]} == {
        (0.0, False, False)
    }
    _, reward, terminated, truncated, _ = steps[-1]
    assert reward < 0
    assert (terminated, truncated) == (True, False)
    inputs, targets = wrapped.unwrapped.load_train()
    assert (inputs.shape[1:], targets.shape[1:]) == ((20, 6), (5, 6))
    assert len(wrapped.unwrapped.load("train_times")) == len(inputs) == len(targets)
    with pytest.raises(UsageError, match="no public array 'test_inputs'; there are train_inputs"):
        wrapped.unwrapped.load("test_inputs")
    wrapped.close()


def test_the_reward_is_the_negated_loss_of_the_private_fold(env: WalkEnv, treasury: BuiltPackage) -> None:
    """Recomputed here from the truth half, which a user of the environment never opens."""
    predictions = []
    steps = walked(env, lambda *shown: predictions.append(last_value(*shown)) or predictions[-1])
    _, reward, _, _, info = steps[-1]
    error = np.array(predictions) - treasury.read_truth()["targets"][treasury.manifest.n_public :]
    mse, mae = float(np.mean(error**2)), float(np.mean(np.abs(error)))
    expected = {"mse": mse, "rmse": mse**0.5, "mae": mae}
    assert info["state"] == "scored"
    assert info["total"] == pytest.approx(sum(expected.values()) / 3.0, rel=1e-8), (
        "the weights are thirds to nine decimals"
    )
    assert info["metrics"] == pytest.approx(expected, rel=1e-12)
    assert reward == -info["total"]
    assert info["baseline"] == "naive"
    assert info["baseline_total"] == pytest.approx(info["total"]), "the naive forecast of levels is the last value"
    assert info["relative_total"] == pytest.approx(1.0)
    assert info["skill"] == pytest.approx(0.0)
    assert info["relative_interval"] == pytest.approx((1.0, 1.0), abs=1e-9)
    assert info["total_interval"][0] < info["total"] < info["total_interval"][1]
    assert info["standard_errors"].keys() == expected.keys()
    assert info["verdict"] == "no difference"


def test_a_window_shows_what_came_of_the_one_before_and_no_later_one(env: WalkEnv, treasury: BuiltPackage) -> None:
    hidden, first = treasury.read_truth(), treasury.manifest.n_public
    observation, info = env.reset(seed=0)
    assert observation.keys() == {"inputs"}
    for number in range(3):
        assert (info["window"], info["windows_left"], info["fold"]) == (number, 97 - number, "private")
        assert np.array_equal(observation["inputs"], hidden["test_inputs"][[first + number]])
        dates = np.array(info["shown"]["times"], dtype="datetime64[ns]")
        assert np.array_equal(dates, hidden["test_times"][[first + number]])
        before = observation["inputs"]
        observation, reward, terminated, _, info = env.step(np.zeros((5, 6)))
        assert (reward, terminated) == (0.0, False)
        assert np.array_equal(observation["inputs"][0, :-5], before[0, 5:])
        assert np.array_equal(observation["inputs"][0, -5:], hidden["targets"][first + number])


def test_practice_has_feedback_and_does_not_move_the_reward(few: WalkEnv) -> None:
    (*_, before), (*_, other) = walked(few), walked(few, answers_of(few_oracle(few)))
    assert before[1] < other[1] == 0.0
    practised = walked(few, fold="public")
    _, reward, terminated, _, info = practised[-1]
    assert (reward, terminated, info["fold"], info["practice_left"]) == (0.0, True, "public", 4)
    assert set(info["feedback"]["metrics"]) == {"mse", "rmse", "mae"}
    *_, after = walked(few)
    assert (after[1], after[4]["state"]) == (before[1], "scored")


def few_oracle(few: WalkEnv) -> np.ndarray:
    """The truth of the private fold of the instance at hand."""
    from openfingym import store
    from openfingym.instances import build_instance

    with store.staging() as folder:
        built = build_instance(few.package, "train", 0, folder)
        return built.read_truth()["targets"][built.manifest.n_public :]


def test_practice_is_part_of_the_rollout_that_is_scored_after_it(few: WalkEnv) -> None:
    walked(few)
    left = [walked(few, fold="public")[-1][4]["practice_left"] for _ in range(5)]
    assert left == [4, 3, 2, 1, 0]
    with pytest.raises(UsageError, match=r"All 5 practice.*reset\(\) without a fold"):
        few.reset(options={"fold": "public"})
    assert few.reset()[1]["fold"] == "private"
    assert few.reset(options={"fold": "public"})[1]["fold"] == "public", "the rollout before was left, this is another"
    with pytest.raises(UsageError, match="fold is 'both'; known: 'private', 'public'"):
        few.reset(options={"fold": "both"})


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_one_with_a_rollout_says_that_it_cannot_be_copied(env: WalkEnv, copied: Callable[[object], WalkEnv]) -> None:
    fresh = copied(openfingym.make("treasury-forecast"))
    assert fresh.reset(seed=0)[0].keys() == env.reset(seed=0)[0].keys()
    fresh.close()
    env.step(last_value(*env.reset(seed=0)))
    with pytest.raises(UsageError, match=r"has a rollout at a verifier.*make another by `openfingym.make`"):
        copied(env)


def test_reset_is_deterministic_and_says_what_is_asked(env: WalkEnv) -> None:
    first, info = env.reset(seed=0)
    second, _ = env.reset(seed=1)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert info["task"] == "treasury-forecast"
    assert info["data_kind"] == "real"
    assert info["submission_shape"] == (193, 5, 6)
    assert info["windows"] == {"public": 96, "private": 97}
    assert info["shape"] == env.action_space.shape == (5, 6)
    assert "hidden" not in info


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        (np.zeros((40, 5, 6)), "wrong-shape: found shape (40, 5, 6); expected (1, 5, 6)"),
        (np.full((5, 6), np.nan), "not-finite"),
        (np.full((5, 6), 1e308), "expected a number in [-5, 30]"),
        (np.zeros((5, 6), dtype=complex), "wrong-dtype"),
    ],
)
@pytest.mark.parametrize("fold", ["private", "public"])
def test_a_refused_window_is_a_failure_reward_with_the_reason(
    env: WalkEnv, predictions: np.ndarray, reason: str, fold: str
) -> None:
    env.step(last_value(*env.reset(seed=0, options={"fold": fold})))
    _, reward, terminated, _, info = env.step(predictions)
    assert reward == -100.0
    assert terminated
    assert info["state"] == "rejected"
    assert reason in str(info["reason"])
    with pytest.raises(UsageError, match=r"call reset\(\) first"):
        env.step(np.zeros((5, 6)))


def test_the_axis_of_a_single_item_may_be_there(env: WalkEnv) -> None:
    env.reset(seed=0)
    for right in (np.zeros((1, 5, 6)), np.zeros((5, 6), np.float32), np.zeros((5, 6), int).tolist()):
        assert env.step(right)[2] is False


def test_grpo_reward() -> None:
    env = openfingym.make("treasury-forecast", reward="grpo", split="train", index=0)
    *_, (_, reward, *_, info) = walked(env, lambda *shown: {"predictions": last_value(*shown)})
    assert reward == -min(float(str(info["total"])), 5.0)
    env.reset()
    _, reward, *_ = env.step(np.zeros(3))
    assert reward == -6.0
    assert walked(env, lambda _, info: np.full(info["shape"], 30.0))[-1][1] == -5.0
    env.close()


@pytest.mark.sandbox
def test_code_actions_run_in_isolation_and_score_the_same() -> None:
    env = openfingym.make("treasury-forecast", action="code", backend="sandbox")
    observation, _ = env.reset(seed=7)
    program = (
        "import interface, numpy as np\n"
        "assert interface.seed == 7\n"
        "interface.predict_each(lambda x: np.repeat(x[:, -1:, :], interface.HORIZON, axis=1))\n"
    )
    _, reward, _, _, info = env.step(program)
    assert info["state"] == "scored", info
    assert info["total"] == pytest.approx(float(str(info["baseline_total"])))
    assert (info["output"], info["traceback"], info["ended_by"], info["exit_code"]) == ("", None, "exit", 0)
    assert 0 < float(str(info["program_s"])) <= float(str(info["wall_s"]))
    env.reset()
    _, _, _, _, info = env.step("print('é', flush=True)\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['x']\n")
    assert (info["state"], info["ended_by"], info["exit_code"]) == ("rejected", "exit", 1)
    assert str(info["output"]).startswith("é\nTraceback")
    assert str(info["traceback"]).startswith("Traceback (most recent call last):")
    assert re.search(r"ZeroDivisionError: .*During handling.*KeyError: 'x'$", str(info["traceback"]), re.DOTALL)
    env.reset()
    _, _, _, _, info = env.step("print(1\n")
    assert str(info["traceback"]).endswith("SyntaxError: '(' was never closed")
    env.reset()
    _, failure, _, _, info = env.step("raise SystemExit('no idea')")
    assert (failure, info["state"]) == (-100.0, "rejected")
    assert "no idea" in str(info["reason"])
    assert (info["output"], info["traceback"]) == ("no idea\n", None)
    assert reward > failure
    assert observation["train_inputs"].dtype == np.float64
    env.close()


def test_misuse_is_an_error_of_ours(env: WalkEnv) -> None:
    env.reset(seed=0)
    env.step(np.zeros(3))
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((5, 6)))
    with pytest.raises(UsageError, match="known: 'predictions', 'code'"):
        openfingym.make("treasury-forecast", action="telepathy")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown reset options: speed"):
        env.reset(options={"speed": 3})
    env.reset()
    with pytest.raises(UsageError, match="'predictions'"):
        env.step({"answers": np.zeros((5, 6))})
    assert env.step(np.zeros((5, 6)))[4]["window"] == 1, "the window was still open"
    env.close()
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((5, 6)))


def test_environments_of_one_task_share_a_verifier(env: WalkEnv) -> None:
    others = [env, *(openfingym.make("treasury-forecast") for _ in range(3))]
    for other in others:
        other.reset(seed=0)
    for other in others:  # each has its own place
        assert other.step(np.zeros((5, 6)))[4]["window"] == 1
    assert len(Lease._open) == 1
    for other in others[1:]:
        other.close()
    assert env.step(np.zeros((5, 6)))[4]["window"] == 2


def test_a_users_own_task(own_task: Path) -> None:
    env = openfingym.make(own_task)
    *_, (_, reward, *_, info) = walked(env, lambda _, info: np.zeros(info["shape"]))
    assert info["data_kind"] == "simulated"
    assert -1.0 < reward < 0.0
    env.close()


@pytest.mark.parametrize(
    "predictions",
    [
        None,
        [10**400],
        [[1.0], [1.0, 2.0]],
        np.zeros((5, 6)).astype(object),
        np.ma.masked_all((5, 6)),
        np.zeros((5, 6), "M8[s]"),
        b"abc",
    ],
)
def test_what_is_no_array_of_numbers_is_a_refused_submission(env: WalkEnv, predictions: object) -> None:
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(predictions)  # type: ignore[arg-type]
    assert (reward, terminated, info["state"]) == (-100.0, True, "rejected")
    assert str(info["reason"]).startswith("wrong-dtype: ")


def test_an_action_of_the_other_form_is_an_error_of_ours(env: WalkEnv) -> None:
    observation, info = env.reset(seed=0)
    before = env.rollout_id
    with pytest.raises(UsageError, match="predictions, an array; found 'print"):
        env.step("print(1)")
    assert env.rollout_id == before
    assert env.step(last_value(observation, info))[4]["window"] == 1, "the episode was still open"
    code = openfingym.make("treasury-forecast", action="code")
    code.reset(seed=0)
    for wrong in (last_value(observation, info), None, b"print(1)"):
        with pytest.raises(UsageError, match="the source of a program; found"):
            code.step(wrong)
    assert code.rollout_id is None
    code.close()


def test_seeds_and_options_that_cannot_be_are_refused_at_reset(env: WalkEnv) -> None:
    with pytest.raises(UsageError, match="whole number from 0 to 2"):
        env.reset(seed=2**70)
    with pytest.raises(UsageError, match="expected a dict"):
        env.reset(options="x")  # type: ignore[arg-type]
    env.reset(seed=2**63 - 1)
    assert env.step(np.zeros((5, 6)))[4]["window"] == 1
