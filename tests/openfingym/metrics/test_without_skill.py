"""Answers without skill on tasks as they are built, scored by the verifier's own grader: none gains more than the
drift.

Each is one that once beat every recorded baseline, because a metric that ranked could be bought with volatility,
with the sign of nothing, or with a thousandth of the position.

What they gained: a thousandth of the account in one coin 25 %, until trading was ranked by growth; a constant 1e-9
where directions count 21 %, now 0.9 %, the drift, since a forecast of zero is half right.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from openfingym.catalog import load_task, task_folders
from openfingym.kinds import is_live
from openfingym.metrics.aggregation import relative_loss, relative_weight
from openfingym.metrics.registry import find_metric
from openfingym.packages.build import build
from openfingym.results.baselines import recorded
from openfingym_verifier.scoring.truth import HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden


@cache
def hidden(name: str) -> HiddenTask:
    return load_hidden(build(load_task(name)))


@cache
def past(name: str) -> np.ndarray:
    return np.asarray(build(load_task(name)).array("train_targets")).ravel()


def scored(name: str, values: np.ndarray) -> tuple[float, dict[str, float]]:
    """(relative total, metrics) on the private fold."""
    task = hidden(name)
    score = task.grader.private_score(values)
    return task.relative_total(score, task.grader.baseline_score()), score.metrics


def tails(name: str, constant: float) -> np.ndarray:
    """A constant, and one cell in twenty at the Expected Shortfall of training."""
    shape, returns = hidden(name).shape, past(name)
    shortfall = returns[returns <= np.quantile(returns, 0.05)].mean()
    return np.where(np.random.default_rng(0).random(shape) < 0.05, shortfall, constant)


@pytest.mark.parametrize("name", ["equity-forecast", "fx-forecast", "tsfm-forecast"])
def test_volatility_is_not_for_sale(name: str) -> None:
    generator = np.random.default_rng(1)
    size = past(name).std()
    for answer in (
        *(tails(name, constant * size) for constant in (0.0, 0.01, 0.1)),
        generator.choice(past(name), hidden(name).shape),
        0.3 * generator.choice(past(name), hidden(name).shape),
    ):
        assert scored(name, answer)[0] > 1.005


@pytest.mark.parametrize("name", ["equity-forecast", "fx-forecast"])
def test_and_yet_it_closes_the_gaps_of_risk(name: str) -> None:
    """Which is why those are reported and do not rank."""
    naive = hidden(name).grader.baseline_score().metrics
    drawn = scored(name, np.random.default_rng(1).choice(past(name), hidden(name).shape))[1]
    assert drawn["delta_var"] < 0.6 * naive["delta_var"]
    assert drawn["delta_es"] < 0.6 * naive["delta_es"]


def test_a_sign_of_nothing_gains_the_drift_alone() -> None:
    task = hidden("tsfm-forecast")
    assert task.grader.baseline_score().metrics["directional_accuracy"] == 0.5
    for constant in (1e-9, -1e-9):
        total, metrics = scored(task.name, np.full(task.shape, constant))
        assert total == pytest.approx((2.0 * (1.0 - metrics["directional_accuracy"])) ** 0.4, rel=1e-4)
        assert 0.985 < total < 1.015
        assert metrics["long_short_sharpe"] == 0.0
    signs = np.random.default_rng(0).choice([-1e-9, 1e-9], task.shape)
    assert 0.985 < scored(task.name, signs)[0] < 1.015


def played(name: str, weights: list[float]) -> np.ndarray:
    """Records of all hidden episodes, the weights asked for at every step."""
    task = hidden(name)
    assert task.open_episode is not None
    records = []
    for number in range(task.manifest.n_public + task.manifest.n_private):
        episode = task.open_episode(number)
        step = episode.start()
        while not step.done:
            step = episode.step({"weights": weights})
        records.append(episode.outcome())
    return np.stack(records)


def test_a_thousandth_of_the_position_is_cash() -> None:
    holding = hidden("crypto-trading").grader.baseline_score().metrics
    cash, tiny, equal = (
        scored("crypto-trading", played("crypto-trading", weights))
        for weights in ([0.0] * 3, [0.001, 0.0, 0.0], [1 / 3] * 3)
    )
    assert tiny[1]["sharpe_ratio"] > 0.5 * holding["sharpe_ratio"], "a ratio does not see the size"
    assert cash[0] == pytest.approx(math.exp(holding["log_growth"]))
    assert tiny[0] == pytest.approx(cash[0], abs=1e-4)
    # Here the basket rose, so cash lost to it; the same weights again and again are the basket but for costs and drift.
    assert cash[0] > 1.005
    assert equal[0] == pytest.approx(1.0, abs=0.002)


LIVE = {"crypto-trading-live", "equity-trading-live", "equity-trading-live-alpaca"}
"""Tasks whose market is another each time; by name, since each process that collects tests would load all tasks."""


@pytest.mark.parametrize("name", sorted(task_folders().keys() - LIVE))
def test_what_ranks_has_a_baseline_with_a_loss(name: str) -> None:
    """A baseline that is perfect by construction, or at a clip, makes every other answer equally bad."""
    task = load_task(name)
    assert not is_live(task.spec.contract), f"{name} belongs to LIVE"
    scoring = task.spec.scoring
    [baseline] = [row for row in recorded() if row.task == name and row.agent == "naive"]
    ranking = [
        entry.name
        for entry in scoring.metrics
        if relative_weight(find_metric(entry.name), entry.weight, entry.relative_weight) > 0.0
    ]
    assert ranking
    for metric in set(ranking) & set(baseline.metrics):
        value, clip = baseline.metrics[metric], find_metric(metric).clip
        assert relative_loss(metric, value) > 0.0
        assert clip is None or clip[0] < value < clip[1]


def test_what_is_left_out_as_live_is_live() -> None:
    assert [name for name in sorted(LIVE) if not is_live(load_task(name).spec.contract)] == []
