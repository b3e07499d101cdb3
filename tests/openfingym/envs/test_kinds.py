"""The environment of a task of each kind that comes with the package."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import openfingym
from openfingym.kinds import kind_of
from tests.openfingym.envs.walking import answers_of, walked
from tests.sweeps import fixed_part

ONE_OF_EACH = {
    "forecast": "fx-forecast",
    "curves": "yield-curve-forecast",
    "rows": "equity-excess-return-forecast",
    "generation": "stock-return-generation",
    "nodes": "cert-fraud",
    "graphs": "ba2motifs-fraud",
    "questions": "event-forecast",
}


@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized space")  # a score may be any number
@pytest.mark.filterwarnings("ignore:.*A Box observation space")  # limits of what is hidden are not told
@pytest.mark.parametrize("kind", fixed_part(ONE_OF_EACH, 3))
def test_it_passes_gymnasiums_checker_and_rewards_the_relative_total(kind: str) -> None:
    env = openfingym.make(ONE_OF_EACH[kind], reward="relative")
    try:
        if env.package.manifest.submission_shape[0] < 2_000:
            check_env(env, skip_render_check=True)
        _, info = env.reset(seed=0)
        assert info["kind"] == kind
        spec, shape = env.task.spec, env.package.manifest.submission_shape
        module = kind_of(env.task)
        rewards = {}
        for name, answer in (
            ("baseline", module.naive(spec.contract, env.package.shown_array, shape)),
            ("oracle", module.oracle(spec.contract, env.package.read_truth(), shape)),
        ):
            if module.walks(spec.contract):
                *_, (_, rewards[name], terminated, _, info) = walked(
                    env, answers_of(answer[env.package.manifest.n_public :])
                )
            else:
                env.reset(seed=0)
                _, rewards[name], terminated, _, info = env.step(answer)
            assert terminated
            assert info["state"] == "scored", info["reason"]
            assert rewards[name] == -float(str(info["relative_total"]))
        assert rewards["baseline"] == pytest.approx(-1.0)
        assert rewards["oracle"] > rewards["baseline"]
        env.reset(seed=0)
        _, refused, _, _, info = env.step(np.zeros(3))
        assert (refused, info["state"], info["relative_total"]) == (-100.0, "rejected", None)
    finally:
        env.close()


def test_what_reset_says_belongs_to_the_caller() -> None:
    env = openfingym.make("cert-fraud")
    _, first = env.reset(seed=0)
    first["arrays"].clear()  # type: ignore[attr-defined]  # a dict
    _, second = env.reset(seed=0)
    assert second["arrays"]
    env.close()


def test_what_is_asked_in_words_is_in_info_and_an_answer_that_uses_it_is_scored() -> None:
    env = openfingym.make("polymarket-forecast", fresh=True)
    try:
        observation, info = env.reset(seed=0)
        texts = info["shown"]["texts"]  # type: ignore[index]  # a dict
        assert len(texts) == len(observation["inputs"]) == env.package.manifest.n_private
        assert all("market" in text for text in texts)
        assert set(info["texts"]) == {"train_texts"}, "no hidden question is told with the task"  # type: ignore[call-overload]
        assert set(observation) == {"inputs"}
        again, info = env.reset(seed=0)
        assert not np.array_equal(again["inputs"], observation["inputs"]), "a fresh rollout has other questions"
        assert env.step(again["inputs"][:, 0])[4]["state"] == "scored"
    finally:
        env.close()
