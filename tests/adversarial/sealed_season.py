"""A sealed season on hidden values that nobody can know, whatever its kind of task: results of a thousand entries are
computed together, and are those of the verifier and its board to the last digits, as a test checks.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from openfingym.metrics.aggregation import log_ratios, relative_losses
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.resampling import Resampling
from openfingym.metrics.sampling_error import SamplingError
from openfingym.metrics.scoring import relative_weights
from openfingym_verifier.disclosure.ladder import surely_reached
from openfingym_verifier.scoring.truth import HiddenTask

Values = NDArray[np.float64]
SCREENED = 24
"""Replicates by which most answers are judged where replicates are slow; only what looks better is judged by all."""
PROMISING = 2.0
"""Standard errors by these replicates from which on it looks better: far below the four that are asked for."""

Metrics = dict[str, Values]


class SealedSeason(abc.ABC):
    """A season on other hidden values than the task's own; answers are those of one private fold, [entries, ...]."""

    slow = False
    """Whether results on replicates take so long that most answers are screened by a few."""

    def __init__(self, task: HiddenTask, design: Resampling) -> None:
        self.task = task
        self.design = design
        self.counts = _counts_of(design)
        self._known_baseline: dict[int, Metrics] = {}
        self.weights = {name: weight for name, weight in relative_weights(task.spec.scoring).items() if weight > 0.0}

    @classmethod
    @abc.abstractmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedSeason:
        """A season on new hidden values.

        Args:
            task: the task on its given tape.
            rng: draws them.
            signal: how much honest parties know of them.
        """

    @classmethod
    @abc.abstractmethod
    def given(cls, task: HiddenTask) -> SealedSeason:
        """The season on the task's own hidden values."""

    @property
    @abc.abstractmethod
    def baseline(self) -> Values:
        """The baseline's answer, as one entry."""

    @property
    @abc.abstractmethod
    def honest(self) -> Values:
        """The answer of a party that uses what it knows, as one entry."""

    @abc.abstractmethod
    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Answers without skill: they deviate from the baseline in several ways, from hardly to wholly."""

    @abc.abstractmethod
    def measured(self, answers: Values, counts: Values) -> Metrics:
        """The metrics that rank: float64[entries, 1 + replicates] by name, of the whole fold and of each replicate.

        Args:
            answers: the entries.
            counts: how often each unit is in each replicate, float64[replicates, units].
        """

    def dealt(self, answers: Values) -> Metrics:
        """The metrics that rank where entries are dealt to other truths: float64[entries, deals] by name."""
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def hidden_task(self) -> HiddenTask:
        """The task with this season's hidden values, as a verifier would hold it."""

    def whole(self, answer: Values) -> Values:
        """An entry as it is submitted."""
        return placed(self.task, answer)

    def submitted(self, entries: Values) -> Values:
        """What of entries is scored: of an account, its records."""
        return entries

    def tested(self, entries: Values) -> tuple[Values, Values]:
        """Logarithms of the relative totals of entries, and their p-values, as the verifier and its board have them."""
        answers = self.submitted(entries)
        if not self.slow or len(answers) == 1:
            return self._tested(answers, self.counts)
        logs, p_values = self._tested(answers, self.counts[:SCREENED])
        better = p_values < 2.0 * float(stdtr(SCREENED - 1.0, -PROMISING))
        if better.any():
            logs[better], p_values[better] = self._tested(answers[better], self.counts)
        return logs, p_values

    def surely(self, values: Values) -> float | None:
        """What a whole submission has surely reached, as a ladder asks."""
        logs, errors = self.compared(self.part(values)[None], self.counts)
        if not np.isfinite(errors[0]):
            return None
        sample = RelativeSample(np.zeros(0), self.design.scale, self.design.freedom, self.design.units)
        error = SamplingError(relative_standard_error=float(errors[0]), relative_sample=sample)
        return surely_reached(math.exp(float(logs[0])), error)

    def part(self, values: Values) -> Values:
        """What of a whole submission is scored."""
        return values[self.task.grader.private.rows]

    def _tested(self, answers: Values, counts: Values) -> tuple[Values, Values]:
        logs, errors = self.compared(answers, counts)
        # Student's two-sided test, never below that of signs, and 1 of what is not better: `reports.entries.p_value`.
        better, least = logs < 0.0, 2.0 ** (1 - self.design.units)
        reach = np.divide(logs, errors, out=np.full(len(logs), -np.inf), where=errors > 0.0)
        return logs, np.where(better, np.maximum(2.0 * stdtr(self.design.freedom, reach), least), 1.0)

    def compared(self, answers: Values, counts: Values) -> tuple[Values, Values]:
        """Logarithms of the relative totals of answers, and their standard errors.

        Args:
            answers: what was submitted, of the private fold.
            counts: how often each unit is in each replicate.
        """
        own, base = self.measured(answers, counts), self._of_baseline(len(counts))
        total = sum(self.weights.values())
        logs = np.sum(
            [
                weight * log_ratios(*(relative_losses(name, side[name]) for side in (own, base)))
                for name, weight in self.weights.items()
            ],
            axis=0,
        )
        logs /= total
        spread = logs[:, 1:].std(axis=1, ddof=1)
        if self.design.deals:
            dealt, idle = self.dealt(answers), self._idle
            gained = [
                weight * (relative_losses(name, dealt[name]) - relative_losses(name, idle[name])) / whole
                for name, weight in self.weights.items()
                for whole in [relative_losses(name, base[name])[:, :1]]
            ]
            spread = np.maximum(spread, np.sum(gained, axis=0).std(axis=1, ddof=1) / total)
        return logs[:, 0], self.design.scale * spread

    def _of_baseline(self, replicates: int) -> Metrics:
        if replicates not in self._known_baseline:
            answers = self.submitted(self.baseline)
            self._known_baseline[replicates] = self.measured(answers, self.counts[:replicates])
        return self._known_baseline[replicates]

    @functools.cached_property
    def _idle(self) -> Metrics:
        return self.dealt(self.submitted(self.baseline))


@functools.lru_cache(maxsize=4)
def _counts_of(design: Resampling) -> Values:
    """How often each unit is in each replicate."""
    return design.counts(design.units)


@functools.lru_cache(maxsize=4)
def columns_of(design: Resampling, replicates: int) -> Values:
    """How often each unit is in the fold, once, and in the first replicates: float64[units, 1 + replicates]."""
    counts = _counts_of(design)[:replicates]
    return np.ascontiguousarray(np.vstack([np.ones(counts.shape[1]), counts]).T)


def placed(task: HiddenTask, answer: Values) -> Values:
    """A submission that is the baseline's but for the private fold."""
    values = task.grader.baseline.copy()
    values[task.grader.private.rows] = answer
    return values


def holding(task: HiddenTask, **truth: NDArray[np.generic]) -> HiddenTask:
    """The task with other hidden values of the private fold."""
    private = task.grader.private
    arrays = {**private.truth.arrays, **truth}
    return replace(
        task, grader=replace(task.grader, private=replace(private, truth=replace(private.truth, arrays=arrays)))
    )


def means(rows: Values, counts: Values) -> Values:
    """Means of numbers by unit, over the fold and over each replicate: float64[entries, 1 + replicates]."""
    weights = np.vstack([np.ones(rows.shape[1]), counts])
    return rows @ (weights / weights.sum(axis=1, keepdims=True)).T


def sizes(rng: np.random.Generator, entries: int, axes: int) -> Values:
    """How far entries deviate: from a hundredth to all of a usual error."""
    return 10.0 ** rng.uniform(-2.0, 0.0, (entries, *[1] * axes))
