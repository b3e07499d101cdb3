"""Intervals of verified results: from real verifiers, of every kind, the same for whoever asks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from openfingym.kinds import kind_of
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.rollouts.results import compare_with_baseline, scored_fields
from openfingym_verifier.scoring.truth import load_task
from tests.answering import give

KINDS = ("curves", "rows", "nodes", "graphs", "windows", "futures")


def naive(package: BuiltPackage) -> np.ndarray:
    kind, contract = kind_of(package.task), package.task.spec.contract
    return kind.naive(contract, package.shown_array, package.manifest.submission_shape)


def finalized(server: Any, package: BuiltPackage, values: np.ndarray) -> Any:
    ticket = server.client.create_rollout(package.manifest.name)
    give(server.client, ticket.token, package, values)
    return server.client.finalize(ticket.rollout_id)


@pytest.mark.parametrize("name", KINDS)
def test_results_of_every_kind_have_them(kinds_server: Any, kinds: dict[str, BuiltPackage], name: str) -> None:
    package = kinds[name]
    baseline = naive(package)
    itself = finalized(kinds_server, package, baseline)
    assert (itself.relative_total, itself.relative_interval) == (1.0, (1.0, 1.0))
    low, high = itself.total_interval
    assert low <= itself.total <= high
    noise = 0.2 * max(float(baseline.std()), 0.01) * np.random.default_rng(1).standard_normal(baseline.shape)
    # Bounds of curves stay in order: the same noise for all three.
    values = baseline + (noise[:, :1] if name == "curves" else noise)
    other = finalized(
        kinds_server, package, np.clip(values, package.task.spec.contract.low, package.task.spec.contract.high)
    )
    assert set(other.standard_errors) == set(other.metrics)
    assert all(math.isfinite(error) and error >= 0.0 for error in other.standard_errors.values())
    low, high = other.relative_interval
    assert low < other.relative_total < high
    assert math.sqrt(low * high) == pytest.approx(other.relative_total)
    again = finalized(
        kinds_server, package, np.clip(values, package.task.spec.contract.low, package.task.spec.contract.high)
    )
    assert (again.relative_interval, again.total_interval, again.standard_errors) == (
        other.relative_interval,
        other.total_interval,
        other.standard_errors,
    )


def test_errors_of_a_forecast_are_those_of_its_windows(server: Any, packages: dict[str, BuiltPackage]) -> None:
    """The standard error of MAE beside that of a mean of windows, which a random walk makes independent."""
    package = packages["wide"]
    truth, n = package.read_truth()["targets"], package.manifest.n_public
    values = np.zeros_like(truth)
    result = finalized(server, package, values)
    windows = np.abs(truth[n:]).mean(axis=(1, 2))
    assert result.standard_errors["mae"] == pytest.approx(windows.std(ddof=1) / math.sqrt(len(windows)), rel=0.35)
    assert result.total_interval[0] < result.total < result.total_interval[1]


def test_what_is_rejected_has_none(server: Any) -> None:
    ticket = server.client.create_rollout("tiny")
    result = server.client.finalize(ticket.rollout_id)
    assert (result.state, result.relative_interval, result.total_interval, result.standard_errors) == (
        "rejected",
        None,
        None,
        {},
    )


def test_a_worker_draws_what_the_verifier_draws(kinds: dict[str, BuiltPackage]) -> None:
    """Replicates of baseline and answer may come from two processes, and are compared one by one."""
    import pickle

    for name in ("nodes", "windows"):
        task = load_task(kinds[name])
        task.grader.baseline_score()
        copy = pickle.loads(pickle.dumps(task.grader))  # our own
        assert "design" not in vars(copy), "draws are made again, not sent"
        ours, theirs = task.grader.design, copy.design
        assert ours is not None
        assert all(np.array_equal(a, b) for a, b in zip(ours.draws, theirs.draws, strict=True))
        own, sent = task.grader.baseline_score().replicates, copy.baseline_score().replicates
        assert own is not None
        assert all(np.array_equal(values, sent.metrics[metric]) for metric, values in own.metrics.items())


def test_the_operator_has_the_standard_error_of_the_logarithm(packages: dict[str, BuiltPackage]) -> None:
    task = load_task(packages["tiny"])
    values = 0.001 * np.random.default_rng(2).standard_normal(task.shape)
    score, baseline = task.grader.private_score(values), task.grader.baseline_score()
    error = task.sampling_error(score, baseline)
    assert error.relative_standard_error is not None
    assert error.relative_interval is not None
    assert score.replicates is not None
    reach = score.replicates.reach * error.relative_standard_error
    assert math.log(error.relative_interval[1] / error.relative_interval[0]) == pytest.approx(2.0 * reach)


def test_two_answers_have_their_relative_totals_on_the_same_replicates(packages: dict[str, BuiltPackage]) -> None:
    """The error of a difference, replicate by replicate, against that of one answer with the other as its baseline."""
    task = load_task(packages["tiny"])
    generator = np.random.default_rng(3)
    common = 0.001 * generator.standard_normal(task.shape)
    scores = [task.grader.private_score(common + 1e-4 * generator.standard_normal(task.shape)) for _ in range(2)]
    one, other = (scored_fields(compare_with_baseline(task, score, task.grader.baseline_score())) for score in scores)
    samples = [RelativeSample.from_dict(fields["relative_sample"]) for fields in (one, other)]
    assert samples[0] is not None
    assert samples[1] is not None
    together = samples[0].minus(samples[1])
    assert together is not None
    expected = task.sampling_error(scores[0], scores[1]).relative_standard_error
    assert together.error == pytest.approx(expected, rel=1e-4)
    assert samples[0].error == pytest.approx(one["relative_standard_error"], rel=1e-4)
    assert together.error < samples[0].error
    # Each window is dated by what is public: from the last time of its inputs, a row before the first that it predicts.
    assert together.calendar is not None
    package = packages["tiny"]
    times = package.array("test_times")[package.manifest.n_public :].astype("datetime64[s]").astype(np.int64)
    lookback = package.task.spec.contract.lookback  # type: ignore[attr-defined]
    assert np.array_equal(together.calendar.ends, times[:, -1])
    assert np.array_equal(together.calendar.begins, times[:, lookback - 1])
    found = together.influence
    assert found is not None
    assert found.explained > 0.9
    # On a tape of its own, a rollout has items that no other has.
    assert load_task(package, identity="tiny/r1").unit_times is None
