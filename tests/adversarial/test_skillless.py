"""Answers without skill: what they may read, that none beats a task's reference, and that a task that rewards them is
caught.

The attack that once paid: a constant, with some cells at the tails of the training distribution, on 34 tasks that were
ranked by the source paper's F1, gained up to 25 %. Only proper metrics rank now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.adversarial.marks import judged, skill_of
from openfingym.adversarial.pooled import SkilllessOutcome, pooled
from openfingym.adversarial.promise import CRITICAL, Survey, Trial, survey
from openfingym.adversarial.record import (
    RECORD,
    Reached,
    is_current,
    reached_by,
    reached_in,
    reached_on,
    record,
    recorded,
)
from openfingym.catalog import load_task, task_folders
from openfingym.checks.check import check_task
from openfingym.errors import StoreError, SubmissionError
from openfingym.kinds import is_sequential, kind_of, sequential_kind
from openfingym.kinds.material import Array
from openfingym.kinds.skillless import rolling
from openfingym.kinds.trading import skillless as trading
from openfingym.kinds.walk import SHOWN
from openfingym.metrics import METRICS, registry
from openfingym.metrics.record import Metric
from openfingym.packages.build import build, build_key
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.results import RolloutResult
from tests.sweeps import fixed_part

SAMPLE = (
    "crypto-forecast",
    "treasury-forecast-v7",
    "fx-forecast-v3",
    "global-volatility-forecast",
    "stock-ohlcv-forecast",
    "tsfm-forecast",
    "yield-curve-forecast",
    "equity-excess-return-forecast",
    "cert-fraud",
    "ba2motifs-fraud",
    "equity-rolling-forecast",
    "equity-trading",
    "exchange-generation",
)
"""A task of each kind and scoring family; ``openfingym task check --all --adversarial`` does all of them."""


def package_of(name: str) -> BuiltPackage:
    return build(load_task(name))


def answers_of(package: BuiltPackage, seed: int = 0) -> Mapping[str, NDArray[np.float64]]:
    """The set of a task, made by a reader that knows what an agent is shown alone: public arrays, and of a walk what
    its windows show; of a sequential task, its plans."""
    contract, shape = package.task.spec.contract, package.manifest.submission_shape
    make: Callable[..., Mapping[str, NDArray[np.float64]]] = kind_of(package.task).skillless
    if is_sequential(contract):
        make = trading.plans if contract.kind == "trading" else rolling.skillless

    def public(name: str) -> Array:
        if name not in package.contract["arrays"] and name.removeprefix(SHOWN) not in package.contract.get(
            "window", {}
        ):
            raise AssertionError(f"{name} is hidden from whoever has no skill")
        return package.shown_array(name)

    return make(contract, public, shape, np.random.default_rng(seed))


@pytest.mark.parametrize("name", SAMPLE)
def test_the_set_reads_public_arrays_alone_and_is_admissible(name: str) -> None:
    package = package_of(name)
    contract, shape = package.task.spec.contract, package.manifest.submission_shape
    answers = answers_of(package)
    assert len(answers) >= 10
    for values in answers.values():
        if contract.kind == "trading":
            rows = values[~np.isnan(values).any(axis=2)]
            assert values.shape[0] == shape[0]
            assert values.shape[1] == shape[1] - 1
            assert len(rows) > 0
            assert (np.abs(rows).sum(axis=1) <= 1.0 + 1e-12).all()
        else:
            rows = values
            assert values.shape == shape
            assert values.dtype == np.float64
            assert np.isfinite(values).all()
        assert (rows >= contract.low).all()
        assert (rows <= contract.high).all()


@pytest.mark.parametrize("name", fixed_part(SAMPLE, 3, first=1))
def test_the_set_is_a_function_of_its_seed(name: str) -> None:
    package = package_of(name)
    one, same, other = answers_of(package), answers_of(package), answers_of(package, seed=1)
    assert all(np.array_equal(one[key], same[key], equal_nan=True) for key in one)
    assert any(not np.array_equal(one[key], other[key], equal_nan=True) for key in one)


@pytest.mark.parametrize(
    "name", [name for name in SAMPLE if not name.endswith(("trading", "rolling-forecast", "generation", "fraud"))]
)
def test_inputs_do_not_decide_in_what_an_answer_departs_from_the_baseline(name: str) -> None:
    """Other inputs move an answer by as much as the baseline, or not at all: the line that the set is drawn by."""
    package = package_of(name)
    contract, shape, kind = package.task.spec.contract, package.manifest.submission_shape, kind_of(package.task)

    def turned(array: str) -> Array:
        values = package.shown_array(array)
        return values[::-1] if array == "test_inputs" else values

    def made(read: Callable[[str], Array]) -> tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]]:
        return kind.naive(contract, read, shape), kind.skillless(contract, read, shape, np.random.default_rng(0))

    (base, answers), (other_base, others) = made(package.shown_array), made(turned)
    centre = 1 if contract.kind == "curves" else slice(None)
    inside = 1e-6 * (contract.high - contract.low)
    for key, values in answers.items():
        free = (values > contract.low + inside) & (values < contract.high - inside)
        free &= (others[key] > contract.low + inside) & (others[key] < contract.high - inside)
        moved, by = (others[key] - values), (other_base - base)
        alike = np.isclose(moved, by, atol=1e-9) | np.isclose(moved, 0.0, atol=1e-9)
        assert alike[:, centre][free[:, centre]].all() if centre == 1 else alike[free].all(), key


@pytest.mark.parametrize("name", fixed_part(SAMPLE, 3))
def test_no_answer_without_skill_beats_the_reference(name: str) -> None:
    package = package_of(name)
    found = survey(package, package.read_truth())
    assert not found.breaks, [str(trial) for trial in found.breaks]
    assert found.best is not None
    assert found.reached == found.best.relative
    if package.task.spec.contract.kind == "generation":
        refused = {trial.name for trial in found.trials if trial.refusal == "memorised"}
        assert {"training windows", "training windows with noise", "mirrored at the mean path", "spliced"} <= refused


@pytest.mark.parametrize("name", ["crypto-forecast", "commodity-forecast-v5", "crypto-forecast-v6"])
def test_a_total_that_ranks_by_gaps_of_risk_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source paper's F1 as a ranking: closing the gaps of Sharpe ratio, VaR and ES needs tails, and no skill."""
    gaps = {key: replace(METRICS[key], proper=True) for key in ("delta_sharpe", "delta_var", "delta_es")}
    package = package_of(name)
    assert not survey(package, package.read_truth()).breaks
    monkeypatch.setattr(registry, "METRICS", {**METRICS, **gaps})
    breaks = survey(package, package.read_truth()).breaks
    assert "either tail in one cell of 16" in {trial.name for trial in breaks}
    assert all(trial.relative is not None and trial.relative < 0.9 for trial in breaks)


def _sameness(y_true: NDArray[np.float64], y_pred: NDArray[np.float64]) -> float:
    """A planted metric that no forecast of the outcome can win, and any constant that is not zero can."""
    return float(np.mean(np.exp(-np.abs(np.sign(y_pred)))))


def test_a_planted_metric_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_task("planted-forecast", tmp_path, "forecast")
    rows = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "data.csv").write_text("".join(rows[:600]))  # what is found in all of them is found in two fifths
    assert check_task(load_task(folder), adversarial=True).passed
    planted = Metric("sameness", _sameness, "point", "planted", "none", "this test")
    monkeypatch.setattr(registry, "METRICS", {**METRICS, "sameness": planted})
    config = folder / "task.toml"
    config.write_text(config.read_text().replace('name = "rmse"', 'name = "sameness"'))
    report = check_task(load_task(folder), adversarial=True)
    failed = {finding.name: finding.detail for finding in report.findings if not finding.passed}
    assert "answers without skill are better than the baseline" in failed["skill"]


def test_a_plan_is_what_its_actions_lead_to() -> None:
    """The records that are scored are those of the episodes, played step by step."""
    package = package_of("equity-trading")
    hidden, spec, shape = package.read_truth(), package.task.spec, package.manifest.submission_shape
    kind = sequential_kind(spec.contract)
    plans = answers_of(package)

    def read(name: str) -> Array:
        return hidden[name] if name in hidden else package.array(name)

    records = kind.skillless(spec.contract, read, shape, np.random.default_rng(0))
    for key in ("cash", "in and out", "all in aapl"):
        episode = kind.episode(spec, package.array, hidden, 1)
        step = episode.start()
        for weights in plans[key][1]:
            if step.done:
                break
            step = episode.step(None if np.isnan(weights).any() else {"weights": weights.tolist()})
        assert np.array_equal(episode.outcome(), records[key][1])


def test_an_advantage_is_a_break_only_beyond_all_chance() -> None:
    z = -CRITICAL / 1.959964

    def trial(relative: float, factor: float) -> Trial:
        width = abs(math.log(relative)) / (z * factor)
        return Trial("any", relative, (relative * math.exp(-width), relative * math.exp(width)))

    assert trial(0.9, 1.05).breaks
    assert not trial(0.9, 0.95).breaks
    assert not trial(0.9995, 5.0).breaks, "a thousandth is no advantage, however certain"
    assert not Trial("any", 0.5).breaks, "nothing is known of its chance"
    assert not Trial("any", None, refusal="memorised").breaks


def test_luck_does_not_fail_a_catalogue() -> None:
    """1,200 answers that are as good as their baseline, with an interval each: about sixty leave it, and none breaks
    the promise."""
    generator = np.random.default_rng(0)
    error = 0.05
    catalogues = 200
    alarms = outside = 0
    for _ in range(catalogues):
        logs = error * generator.standard_normal(1200)
        trials = [
            Trial("any", math.exp(one), (math.exp(one - 1.96 * error), math.exp(one + 1.96 * error))) for one in logs
        ]
        outside += sum(trial.interval is not None and trial.interval[1] < 1.0 for trial in trials)
        alarms += any(trial.breaks for trial in trials)
    assert outside / catalogues == pytest.approx(30.0, abs=3.0)
    assert alarms / catalogues <= 0.09


def test_small_advantages_add_up() -> None:
    """An advantage of a sixth that no single task can tell from luck, on seven datasets; and none that is luck
    alone."""
    generator = np.random.default_rng(1)

    def outcomes(mean: float) -> list[SkilllessOutcome]:
        return [
            SkilllessOutcome("mae", f"data {n % 7}", "any", math.exp(mean + 0.08 * generator.standard_normal()))
            for n in range(34)
        ]

    (found,) = pooled(outcomes(math.log(0.86)))
    assert found.breaks
    assert (found.tasks, found.datasets) == (34, 7)
    assert found.relative == pytest.approx(0.86, abs=0.03)
    assert sum(one.breaks for _ in range(200) for one in pooled(outcomes(0.0))) <= 20
    few = [replace(one, dataset="the same") for one in outcomes(math.log(0.5))]
    assert pooled(few) == [], "tasks on one dataset are no evidence of more"


ROW = Reached("any-task", "d" * 64, "b" * 16, {"mae": METRICS["mae"].version}, "drift", 0.97, 14, 1)


def result(**changes: object) -> RolloutResult:
    plain = RolloutResult(
        "r", "any-task", ROW.digest, "simulated", "any", "inline", 0, "scored", total=0.1, relative_total=0.9
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # whatever a test changes


def test_what_a_result_shows() -> None:
    assert judged(0.9, None, ROW) == "shown"
    assert judged(0.9, (0.8, 0.96), ROW) == "shown"
    assert judged(0.9, (0.8, 0.99), ROW) == "none shown", "an answer without skill is within its sampling error"
    assert judged(0.9, (0.8, 1.01), ROW) == "none shown"
    assert judged(0.98, (0.96, 0.99), ROW) == "none shown", "an answer without skill has 0.97"
    assert judged(0.97, None, ROW) == "none shown"
    assert judged(1.0, (1.0, 1.0), None) == "none shown"
    assert judged(0.9, (0.8, 0.99), None) == "not recorded"
    assert judged(0.99, None, replace(ROW, best=None, relative=None)) == "shown", (
        "every answer without skill is refused"
    )


def test_a_result_is_held_against_its_own_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "skillless.json"
    record(
        [ROW, replace(ROW, task="other", digest="e" * 64, build="c" * 16, metrics={"mae": METRICS["mae"].version + 1})],
        path,
    )
    from openfingym.adversarial import record as module

    monkeypatch.setattr(module, "recorded", lambda: recorded(path))
    module._rows.cache_clear()
    module.reached_on.cache_clear()
    try:
        assert reached_on(ROW.digest) == ROW
        assert reached_in(ROW.build) == ROW
        assert reached_on("e" * 64) is None, "a metric has changed since"
        assert skill_of(result()) == "shown"
        assert skill_of(result(relative_total=0.98)) == "none shown"
        assert skill_of(result(task_digest="0" * 64)) == "not recorded"
        assert skill_of(result(state="rejected", relative_total=None)) is None
    finally:
        module._rows.cache_clear()
        module.reached_on.cache_clear()


def test_a_record_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "skillless.json"
    with pytest.raises(StoreError, match="--adversarial --record"):
        recorded(path)
    record([replace(ROW, task="b"), replace(ROW, task="a")], path)
    assert [row.task for row in recorded(path)] == ["a", "b"]
    path.write_text('[{"task": 1}]')
    with pytest.raises(StoreError):
        recorded(path)


def test_the_record_that_comes_along_is_of_tasks_that_are_there() -> None:
    rows = {row.task: row for row in recorded(RECORD)}
    assert rows.keys() <= task_folders().keys()
    for name in ("crypto-forecast", "cert-fraud", "equity-trading"):
        assert rows[name].build == build_key(load_task(name))
        assert rows[name].digest == package_of(name).manifest.digest
        assert is_current(rows[name])


def test_a_survey_becomes_a_row() -> None:
    task = load_task("cert-fraud")
    found = Survey((Trial("x", 0.98, (0.9, 1.1)), Trial("y", 1.2), Trial("z", None, refusal="memorised")), 0.98)
    row = reached_by(task, build(task), found)
    assert (row.best, row.relative, row.answers, row.refused) == ("x", 0.98, 3, 1)
    assert set(row.metrics) == {"auroc", "recall_at_k"}


def test_answers_that_a_task_refuses_are_counted_as_such() -> None:
    """A refusal is the task's own word, with its type."""
    package = package_of("yield-curve-forecast")
    values = np.array(next(iter(answers_of(package).values())))
    values[0, 0, 0] = values[0, 2, 0] + 1.0
    kind, counts = kind_of(package.task), (package.manifest.n_public, package.manifest.n_private)
    with pytest.raises(SubmissionError):
        kind.check(
            package.task.spec.contract,
            kind.folds(package.task.spec, package.shown_array, package.read_truth(), counts, 0)[0],
            values,
        )
