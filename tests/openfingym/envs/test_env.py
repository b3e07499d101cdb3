"""The Gymnasium environment, against a real verifier process and a real sandbox."""

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
from openfingym.envs.batch import BatchEnv
from openfingym.envs.lease import Lease
from openfingym.errors import UsageError
from openfingym.packages.package import BuiltPackage


@pytest.fixture(scope="module")
def env() -> Iterator[BatchEnv]:
    env = openfingym.make("treasury-forecast")
    yield env
    env.close()


def last_value(observation: dict[str, np.ndarray]) -> np.ndarray:  # type: ignore[type-arg]
    return np.repeat(observation["test_inputs"][:, -1:, :], 5, axis=1)


def test_it_passes_gymnasiums_own_checker(env: BatchEnv) -> None:
    check_env(env, skip_render_check=True)


def test_gymnasium_make() -> None:
    wrapped = gymnasium.make("openfingym/treasury-forecast-v0")
    observation, _ = wrapped.reset(seed=0)
    _, reward, terminated, truncated, _ = wrapped.step(last_value(observation))
    assert reward < 0
    assert (terminated, truncated) == (True, False)
    wrapped.close()


def test_the_reward_is_the_negated_loss_of_the_private_fold(env: BatchEnv, treasury: BuiltPackage) -> None:
    """Recomputed here from the truth half, which a user of the environment never opens."""
    observation, _ = env.reset(seed=0)
    predictions = last_value(observation)
    _, reward, _, _, info = env.step(predictions)
    private = slice(treasury.manifest.n_public, None)
    error = predictions[private] - treasury.read_truth()["targets"][private]
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


def test_public_fold_predictions_do_not_move_the_reward(env: BatchEnv, treasury: BuiltPackage) -> None:
    observation, _ = env.reset(seed=0)
    predictions = last_value(observation)
    _, before, *_ = env.step(predictions)
    predictions[: treasury.manifest.n_public] += 1.0
    env.reset(seed=0)
    _, after, *_ = env.step(predictions)
    assert before == after


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_one_with_a_rollout_says_that_it_cannot_be_copied(env: BatchEnv, copied: Callable[[object], BatchEnv]) -> None:
    fresh = copied(openfingym.make("treasury-forecast"))
    assert fresh.reset(seed=0)[0].keys() == env.reset(seed=0)[0].keys()
    env.step(last_value(env.reset(seed=0)[0]))
    with pytest.raises(UsageError, match=r"has a rollout at a verifier.*make another by `openfingym.make`"):
        copied(env)


def test_reset_is_deterministic_and_says_what_is_asked(env: BatchEnv) -> None:
    first, info = env.reset(seed=0)
    second, _ = env.reset(seed=1)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert info["task"] == "treasury-forecast"
    assert info["data_kind"] == "real"
    assert info["submission_shape"] == (40, 5, 6)
    assert "hidden" not in info


@pytest.mark.parametrize(
    ("predictions", "reason"),
    [
        (np.zeros((1, 5, 6)), "shape"),
        (np.full((40, 5, 6), np.nan), "finite"),
        (np.full((40, 5, 6), 1e308), "range"),
        (np.zeros((40, 5, 6), dtype=complex), "dtype"),
    ],
)
def test_a_refused_submission_is_a_failure_reward_with_the_reason(
    env: BatchEnv, predictions: np.ndarray, reason: str
) -> None:  # type: ignore[type-arg]
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(predictions)
    assert reward == -100.0
    assert terminated
    assert info["state"] == "rejected"
    assert reason in str(info["reason"]) or reason in str(info["reason"]).replace("between", "range")


def test_grpo_reward() -> None:
    env = openfingym.make("treasury-forecast", reward="grpo")
    observation, _ = env.reset()
    _, reward, *_, info = env.step({"predictions": last_value(observation)})
    assert reward == -min(float(str(info["total"])), 5.0)
    env.reset()
    _, reward, *_ = env.step(np.zeros(3))
    assert reward == -6.0
    env.reset()
    _, reward, *_ = env.step(np.full((40, 5, 6), 30.0))
    assert reward == -5.0
    env.close()


@pytest.mark.sandbox
def test_code_actions_run_in_isolation_and_score_the_same() -> None:
    env = openfingym.make("treasury-forecast", action="code", backend="sandbox")
    observation, _ = env.reset(seed=7)
    program = (
        "import interface, numpy as np\n"
        "assert interface.seed == 7\n"
        "interface.submit(np.repeat(interface.load_test_inputs()[:, -1:, :], interface.HORIZON, axis=1))\n"
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


def test_misuse_is_an_error_of_ours(env: BatchEnv) -> None:
    env.reset(seed=0)
    env.step(np.zeros((40, 5, 6)))
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((40, 5, 6)))
    with pytest.raises(UsageError, match="known: 'predictions', 'code'"):
        openfingym.make("treasury-forecast", action="telepathy")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown reset options: speed"):
        env.reset(options={"speed": 3})
    env.reset()
    with pytest.raises(UsageError, match="'predictions'"):
        env.step({"answers": np.zeros((40, 5, 6))})
    env.reset()
    env.close()
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros((40, 5, 6)))


def test_environments_of_one_task_share_a_verifier(env: BatchEnv) -> None:
    env.reset(seed=0)
    env.step(np.zeros((40, 5, 6)))
    others = [openfingym.make("treasury-forecast") for _ in range(3)]
    for other in others:
        other.reset(seed=0)
        other.step(np.zeros((40, 5, 6)))
    assert len(Lease._open) == 1
    for other in others:
        other.close()
    env.reset(seed=0)
    env.step(np.zeros((40, 5, 6)))


def test_a_users_own_task(own_task: Path) -> None:
    env = openfingym.make(own_task)
    _, info = env.reset(seed=0)
    shape = info["submission_shape"]
    assert isinstance(shape, tuple)
    _, reward, *_, step_info = env.step(np.zeros(shape))
    assert step_info["data_kind"] == "simulated"
    assert -1.0 < reward < 0.0
    env.close()


@pytest.mark.parametrize(
    "predictions",
    [
        None,
        [10**400],
        [[1.0], [1.0, 2.0]],
        np.zeros((40, 5, 6)).astype(object),
        np.ma.masked_all((40, 5, 6)),
        np.zeros((40, 5, 6), "M8[s]"),
        b"abc",
    ],
)
def test_what_is_no_array_of_numbers_is_a_refused_submission(env: BatchEnv, predictions: object) -> None:
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(predictions)  # type: ignore[arg-type]
    assert (reward, terminated, info["state"]) == (-100.0, True, "rejected")
    assert str(info["reason"]).startswith("wrong-dtype: ")


def test_an_action_of_the_other_form_is_an_error_of_ours(env: BatchEnv) -> None:
    observation, _ = env.reset(seed=0)
    before = env.rollout_id
    with pytest.raises(UsageError, match="predictions, an array; found 'print"):
        env.step("print(1)")
    assert env.rollout_id == before
    assert env.step(last_value(observation))[4]["state"] == "scored", "the episode was still open"
    code = openfingym.make("treasury-forecast", action="code")
    code.reset(seed=0)
    for wrong in (last_value(observation), None, b"print(1)"):
        with pytest.raises(UsageError, match="the source of a program; found"):
            code.step(wrong)
    assert code.rollout_id is None
    code.close()


def test_seeds_and_options_that_cannot_be_are_refused_at_reset(env: BatchEnv) -> None:
    with pytest.raises(UsageError, match="whole number from 0 to 2"):
        env.reset(seed=2**70)
    with pytest.raises(UsageError, match="expected a dict"):
        env.reset(options="x")  # type: ignore[arg-type]
    env.reset(seed=2**63 - 1)
    assert env.step(np.zeros((40, 5, 6)))[4]["state"] == "scored"
