"""Questions as of one day share its news, so intervals over questions are those of so many days."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from openfingym.kinds import KINDS, Fold, score_with_replicates
from openfingym.kinds.qa import QaKind
from openfingym.kinds.resampled import drawn_by_period
from openfingym.metrics import Truth, relative
from openfingym.metrics.resampling import REPLICATES, block_bootstrap
from openfingym.metrics.sampling_error import SamplingError, sampling_error
from openfingym.suites.suite import UNDATED, SuiteQuestion
from tests.openfingym.metrics.rules import Entry, Rules

ERRORS: Any = Rules((Entry("mae"),))
CONTRACT: Any = SimpleNamespace(kind="qa")
"""What else a task states has no part in how its questions are drawn."""
SIZES = (29, 30, 26, 10, 8, 7, 7, 8, 7, 6)
"""Questions of ten weeks, in the proportions of FinDeepForecast's season."""
FINSEARCH = np.sort(np.concatenate([np.arange(589), np.arange(0, 46)]))
"""The days of 635 questions, nearly all of which have one of their own."""


def qa() -> QaKind:
    kind = KINDS["qa"]
    assert isinstance(kind, QaKind)
    return kind


def fold_of(period: np.ndarray, seed: int = 1) -> Fold:
    n = len(period)
    return Fold(slice(0, n), Truth({"y_true": np.zeros((n, 1)), "period": period}, {}, seed))


def judged(fold: Fold, losses: np.ndarray, baseline: np.ndarray) -> tuple[SamplingError, float]:
    """The sampling error of an answer with these losses beside a baseline with those, and its relative total."""
    design = qa().resampling(CONTRACT, fold)
    answers = (np.column_stack([np.ones(len(one)), one]) for one in (losses, baseline))
    scores = [score_with_replicates(CONTRACT, ERRORS, fold, one, design) for one in answers]
    return sampling_error(ERRORS, *scores), relative(ERRORS, scores[0].metrics, scores[1].metrics)


def asked(times: list[str]) -> tuple[Fold, Fold]:
    """The folds of questions as of some times, the first two of them public."""
    texts = np.array([SuiteQuestion(str(place), "?", time, {}).to_json() for place, time in enumerate(times)])
    hidden = {"targets": np.zeros((len(times), 1))}
    return qa().folds(CONTRACT, {"test_questions": texts}.__getitem__, hidden, (2, len(times) - 2), 0)


class TestDays:
    def test_questions_as_of_one_day_are_one_period_in_order_of_time(self) -> None:
        early, late = "2025-11-02T00:00:00+00:00", "2025-11-09T23:59:00+00:00"
        public, private = asked([late, early, "2025-11-09T01:00:00+00:00", "2025-10-26", "2025-11-02"])
        assert public.truth.arrays["period"].tolist() == [2, 1]  # type: ignore[union-attr]
        assert private.truth.arrays["period"].tolist() == [2, 0, 1]  # type: ignore[union-attr]

    def test_a_question_without_a_time_is_a_period_of_its_own(self) -> None:
        _, private = asked([UNDATED, "2025-11-02", UNDATED, "2025-11-02", UNDATED, "2025-11-02"])
        assert private.truth.arrays["period"].tolist() == [2, 0, 3, 0]  # type: ignore[union-attr]

    def test_all_questions_of_a_day_are_drawn_together(self) -> None:
        period = np.random.default_rng(1).permutation(np.repeat(np.arange(10), SIZES))
        design = qa().resampling(CONTRACT, fold_of(period))
        assert design is not None
        of_days = block_bootstrap(10, 1)
        assert of_days is not None
        for draw, days in zip(design.draws, of_days.draws, strict=True):
            # Each question is there as often as its day.
            assert np.bincount(draw, minlength=len(period)).tolist() == np.bincount(days, minlength=10)[period].tolist()
        assert (design.scale, design.freedom, design.reach) == (of_days.scale, of_days.freedom, of_days.reach)

    def test_questions_are_counted_as_questions(self) -> None:
        period = np.repeat(np.arange(10), SIZES)
        error, _ = judged(fold_of(period), np.linspace(1.0, 2.0, len(period)), np.ones(len(period)))
        assert error.relative_sample is not None
        assert error.relative_sample.units == len(period) == sum(SIZES)

    @pytest.mark.parametrize("days", [1, 3, 5])
    def test_of_fewer_than_six_days_nothing_can_be_told(self, days: int) -> None:
        period = np.arange(60) % days
        assert judged(fold_of(period), np.linspace(1.0, 2.0, 60), np.ones(60))[0] == SamplingError()
        assert drawn_by_period(np.arange(60) % 6, 1) is not None


class TestIntervals:
    @pytest.mark.parametrize(("shock", "widest"), [(0.3, 1.5), (0.0, 1.7)])
    def test_ten_days_hold_the_truth_with_a_shock_in_common_and_without(self, shock: float, widest: float) -> None:
        """The news of a day moves all losses of an agent on it; the ratio to the baseline is 0.9 by law."""
        period = np.random.default_rng(2).permutation(np.repeat(np.arange(10), SIZES))
        fold, generator = fold_of(period), np.random.default_rng(3)
        logs, halves, naive = [], [], []
        for _ in range(200):
            news = np.exp(shock * generator.standard_normal(10) - 0.5 * shock**2)[period]
            level = generator.exponential(size=len(period))
            losses = 0.9 * news * level * np.exp(0.5 * generator.standard_normal(len(period)) - 0.125)
            error, rank = judged(fold, losses, level)
            assert error.relative_interval is not None
            logs.append(math.log(rank / 0.9))
            halves.append(0.5 * math.log(error.relative_interval[1] / error.relative_interval[0]))
            ratios = losses / losses.mean() - level / level.mean()
            naive.append(1.96 * ratios.std(ddof=1) / math.sqrt(len(period)))
        found = np.abs(logs) <= halves
        assert found.mean() >= 0.93
        # Over that of one who knows the variance.
        assert np.median(halves) / (1.96 * np.std(logs)) <= widest
        if shock:
            # What independent questions would give.
            assert (np.abs(logs) <= naive).mean() < 0.75

    def test_days_of_their_own_give_what_independence_gives(self) -> None:
        generator = np.random.default_rng(4)
        level = generator.exponential(size=(2, len(FINSEARCH)))
        by_day, by_question = fold_of(generator.permutation(FINSEARCH)), fold_of(np.arange(len(FINSEARCH)))
        halves = []
        for fold in (by_day, by_question):
            error, _ = judged(fold, level[0], level[1])
            assert error.relative_interval is not None
            halves.append(math.log(error.relative_interval[1] / error.relative_interval[0]))
        assert halves[0] == pytest.approx(halves[1], rel=3.0 / math.sqrt(REPLICATES))
        ratios = level[0] / level[0].mean() - level[1] / level[1].mean()
        law = 2.0 * stats.norm.ppf(0.975) * ratios.std(ddof=1) / math.sqrt(len(FINSEARCH))
        assert halves[0] == pytest.approx(law, rel=0.2)
