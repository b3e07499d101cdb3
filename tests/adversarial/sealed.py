"""Sealed seasons without any skill, as the verifier scores them: the hidden residuals of a forecast get random signs,
so that nobody can know them, and keep their sizes, their order and how they go together.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from openfingym.metrics import Score
from openfingym.reports.entries import SIGNIFICANT, p_value, verdicts_of
from openfingym.reports.statistics import quantile
from openfingym_verifier.scoring.truth import HiddenTask

Values = NDArray[np.float64]
KINDS = ("walk", "level", "slope", "one slope", "cells")
"""How blind answers differ from the baseline."""


@dataclass(frozen=True, eq=False)
class SealedSeason:
    """A season on other hidden values than the task's own."""

    task: HiddenTask
    signal: Values
    """What honest parties know of the hidden values: float64 of the private fold's shape."""

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedSeason:
        """A season with residuals of random signs, one for each window.

        Args:
            task: a forecasting task on its given tape.
            rng: gives the signs.
            signal: size of a part of the residuals that honest parties know, in usual residuals.
        """
        private = task.grader.private
        base = task.grader.baseline[private.rows]
        residuals = np.asarray(private.truth.arrays["y_true"]) - base
        known = signal * residuals.std() * np.abs(rng.standard_normal((len(base), 1, 1))) * np.sign(residuals)
        known *= rng.choice([-1.0, 1.0], (len(base), 1, 1))
        signs = rng.choice([-1.0, 1.0], (len(base), 1, 1))
        truth = {**private.truth.arrays, "y_true": base + signs * residuals + known}
        grader = replace(task.grader, private=replace(private, truth=replace(private.truth, arrays=truth)))
        return cls(replace(task, grader=grader), known)

    def blind(self, rng: np.random.Generator, kind: str) -> Values:
        """An answer without skill, as it deviates from the baseline: from a hundredth of a residual to all of it."""
        shape = self.signal.shape
        size = self._size * 10.0 ** rng.uniform(-2.0, 0.0)
        steps = np.arange(1.0, shape[1] + 1.0)[None, :, None] / shape[1]
        if kind == "walk":
            return size * rng.standard_normal(shape).cumsum(axis=1) / np.sqrt(shape[1])
        if kind == "level":
            return size * np.ones(shape) * rng.standard_normal((shape[0], 1, shape[2]))
        if kind == "slope":
            return size * steps * rng.standard_normal((shape[0], 1, shape[2]))
        if kind == "one slope":
            return size * steps * np.ones(shape) * rng.standard_normal((shape[0], 1, 1))
        return size * rng.standard_normal(shape)

    @functools.cached_property
    def _baseline(self) -> Score:
        return self.task.grader.baseline_score()

    @functools.cached_property
    def _size(self) -> float:
        grader = self.task.grader
        return float((np.asarray(grader.private.truth.arrays["y_true"]) - grader.baseline[grader.private.rows]).std())

    def tested(self, deviation: Values) -> tuple[float, float]:
        """Logarithm of an answer's relative total, and its p-value, as the verifier and its board compute them."""
        task = self.task
        values = task.grader.baseline.copy()
        values[task.grader.private.rows] += deviation
        score, baseline = task.grader.private_score(values), self._baseline
        relative, error = task.relative_total(score, baseline), task.sampling_error(score, baseline)
        sample = error.relative_sample
        if sample is None or error.relative_standard_error is None:
            return float(np.log(relative)), 1.0
        return float(np.log(relative)), p_value(relative, error.relative_standard_error, sample.freedom, sample.units)


def false_finds(task: HiddenTask, seed: int, *, entries: int) -> int:
    """How many of so many blind primary entries of a season are called better."""
    rng = np.random.default_rng(seed)
    season = SealedSeason.drawn(task, rng)
    p_values = [season.tested(season.blind(rng, KINDS[n % len(KINDS)]))[1] for n in range(entries)]
    return sum(test.verdict == "better" for test in verdicts_of(p_values))


@dataclass(frozen=True, eq=False)
class Pilot:
    """What an honest entrant's result was in some simulated seasons."""

    gains: Values
    """Logarithm of the baseline's loss over the entrant's, by season."""
    p_values: Values
    freedom: float
    """Degrees of freedom of the standard error of the gain."""

    @classmethod
    def of(cls, task: HiddenTask, seeds: range, signal: float) -> Pilot:
        """The results of a party that knows its signal, of so many usual residuals."""
        found = []
        for seed in seeds:
            season = SealedSeason.drawn(task, np.random.default_rng(seed), signal)
            found.append(season.tested(season.signal))
        logs, p_values = np.array(found).T
        replicates = task.grader.baseline_score().replicates
        assert replicates is not None
        return cls(-logs, p_values, replicates.freedom)

    def found(self, entries: int) -> float:
        """In what share of the seasons the entrant is called better among so many entries, the others without skill."""
        return float((self.p_values < SIGNIFICANT / entries).mean())

    def stated(self, entries: int) -> float:
        """The same by a formula: the chance that a gain exceeds its standard error so many times, where the difference
        of the two is normal. The error varies and goes with the gain, so that Student's non-central law, which takes it
        to be independent, promises up to 13 points too much.
        """
        reach = quantile(self.freedom, 1.0 - 0.5 * SIGNIFICANT / entries)
        # Of a result that is not better no error is told; it is taken to be a usual one.
        tested = self.p_values < 1.0
        own = [quantile(self.freedom, 1.0 - 0.5 * p) for p in self.p_values[tested]]
        errors = np.full(len(self.gains), (self.gains[tested] / own).mean())
        errors[tested] = self.gains[tested] / own
        margins = self.gains - reach * errors
        return float(ndtr(margins.mean() / margins.std(ddof=1)))
