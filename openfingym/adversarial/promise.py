"""The promise that no answer without skill is better than a task's baseline, and whether a task keeps it.

With some fifteen answers to each of seventy tasks, about fifty would lie outside of their 95 % interval by luck alone.
An answer therefore breaks the promise only if its advantage is larger than any of :data:`COMPARISONS` answers would
have by chance with a probability of :data:`FALSE_ALARM`: Bonferroni's bound, which is the first step of Holm's. The
advantage is measured in standard errors of the log relative total, taken from the interval that goes with every score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError
from openfingym.kinds import is_sequential, kind_of, score_fold, score_with_replicates, walks
from openfingym.kinds.trading.stale import NAME as COPIED_BARS
from openfingym.metrics import find_metric, relative
from openfingym.metrics.sampling_error import sampling_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds import Fold
    from openfingym.kinds.material import Array, Reader
    from openfingym.metrics import Score
    from openfingym.metrics.resampling import Resampling
    from openfingym.packages.package import BuiltPackage

    Cut = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SEED = 20261122
"""Seed of the answers that are drawn at random."""
FALSE_ALARM = 0.05
"""Largest probability that a catalogue fails in which no task is at fault."""
COMPARISONS = 1200
"""Number of answers without skill to all tasks that come with this library, roughly; an author's own task is judged as
if it were one of them."""
CRITICAL = NormalDist().inv_cdf(FALSE_ALARM / COMPARISONS)
"""Log relative total, in standard errors and so below 0, that an answer must undercut to break the promise."""
EXPLOITS: Mapping[str, str] = {
    COPIED_BARS: "Bars with the prices of the bar before can be traded, which nobody quoted: leave their rows out of "
    "the data, which makes halts of them"
}
"""Answers that use a fault of the data, by name, and the fault. They are tried only where the data show it."""
EXPLOITED = 0.99
"""Relative total below which one of :data:`EXPLOITS` breaks the promise. Its gain comes from the fault, and is not told
from chance by an interval: of one long run of copied bars, resamples hold anything from none to twice as many."""
MATERIAL = 0.999
"""Relative total from which on an answer is no better than the baseline, however certain the difference is."""
SAMPLE = 300
"""Number of private windows, evenly spread, on which answers are compared if a metric is heavy."""
_NORMAL_WIDTH = 2.0 * NormalDist().inv_cdf(0.975)
"""Width of a normal 95 % interval, in standard errors."""


@dataclass(frozen=True)
class Trial:
    """The score of one answer without skill."""

    name: str
    relative: float | None
    """Relative total on the private fold; None where the task refuses the answer."""
    interval: tuple[float, float] | None = None
    """95 % interval of ``relative``; None if the answer is no better than the baseline, so that none was computed, or
    if the fold is too small for one."""
    refusal: str | None = None
    """Type of the problem for which the task refuses the answer, such as ``memorised``; None if it does not."""

    @property
    def deviates(self) -> float | None:
        """Log relative total in standard errors; None without an interval."""
        if self.relative is None or self.interval is None:
            return None
        low, high = map(math.log, self.interval)
        # An interval without width: however the rows are drawn again, the difference is the same, and so no chance.
        return math.log(self.relative) * _NORMAL_WIDTH / (high - low) if high > low else -math.inf

    @property
    def breaks(self) -> bool:
        """Whether the answer is better than the baseline beyond chance, or by a fault of the data, which breaks the
        promise.
        """
        if self.name in EXPLOITS:
            return self.relative is not None and self.relative < EXPLOITED
        return (
            self.relative is not None
            and self.relative < MATERIAL
            and self.deviates is not None
            and self.deviates < CRITICAL
        )

    def __str__(self) -> str:
        if self.relative is None:
            return f"{self.name!r} refused as {self.refusal}"
        ends = "" if self.interval is None else f" [{self.interval[0]:.3g}, {self.interval[1]:.3g}]"
        return f"{self.name!r} {self.relative:.4g}{ends}"


@dataclass(frozen=True)
class Survey:
    """The scores of the standing set of answers without skill on a task."""

    trials: tuple[Trial, ...]
    """One for each answer, on the private fold; if a metric is heavy, on a sample of it."""
    reached: float | None = None
    """Relative total of the best answer, on the whole private fold if that was asked for; None if the task refuses
    all."""

    @property
    def best(self) -> Trial | None:
        """The best answer that the task does not refuse; None if it refuses all."""
        # With the number, so that the first of two equal answers wins, and trials are never compared with each other.
        scored = [(trial.relative, number) for number, trial in enumerate(self.trials) if trial.relative is not None]
        return self.trials[min(scored)[1]] if scored else None

    @property
    def breaks(self) -> tuple[Trial, ...]:
        """Answers that break the promise, the best first."""
        return tuple(sorted((trial for trial in self.trials if trial.breaks), key=lambda trial: trial.relative or 0.0))

    @property
    def refused(self) -> int:
        """Number of answers that the task refuses."""
        return sum(trial.relative is None for trial in self.trials)


def survey(
    package: BuiltPackage,
    hidden: Mapping[str, Array],
    *,
    seed: int = SEED,
    on_all: bool = False,
    answers: Mapping[str, NDArray[np.float64]] | None = None,
) -> Survey:
    """Score every answer without skill on the private fold.

    Args:
        package: the built package of the task.
        hidden: the task's hidden arrays, by name.
        seed: seed of the answers that are drawn at random.
        answers: submissions to score, by name; None for the answers without skill of the task's kind.
        on_all: whether to score the best answer on every row of the private fold too, if it was found on a sample.

    Raises:
        DataError: the truth makes a metric undefined.
    """
    manifest, spec = package.manifest, package.task.spec
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    read = reader_of(package, hidden)
    public, private = kind.folds(spec, read, hidden, (manifest.n_public, manifest.n_private), 0)
    whole = _Judge(package, private, kind.naive(contract, read, shape))
    heavy = any(find_metric(entry.name).heavy for entry in spec.scoring.metrics)
    judge = whole.on_sample(SAMPLE) if heavy else whole
    trials: dict[str, Trial] = {}
    best: NDArray[np.float64] | None = None
    tried = kind.skillless(contract, read, shape, np.random.default_rng(seed)) if answers is None else answers
    for name, values in tried.items():
        try:
            kind.check(contract, public, values)
            trials[name] = judge.trial(name, values)
        except SubmissionError as error:
            trials[name] = Trial(name, None, refusal=error.problem)
        if Survey(tuple(trials.values())).best is trials[name]:
            best = values
    scores = Survey(tuple(trials.values()))
    if best is None or scores.best is None:
        return scores
    return replace(scores, reached=whole.relative(best) if on_all and judge is not whole else scores.best.relative)


def reader_of(package: BuiltPackage, hidden: Mapping[str, Array]) -> Reader:
    """A reader of public arrays by name; of a task that is stepped or walked through also of the hidden ones, to which
    its baseline answers.
    """
    contract = package.task.spec.contract
    if not (is_sequential(contract) or walks(contract)):
        return package.array
    return lambda name: hidden[name] if name in hidden else package.array(name)


class _Judge:
    """Scores submissions on a fold, relative to the baseline."""

    def __init__(
        self, package: BuiltPackage, fold: Fold, baseline: NDArray[np.float64], cut: Cut = lambda values: values
    ) -> None:
        """Score the baseline.

        Args:
            package: the built package of the task.
            fold: the fold to score on.
            baseline: the submission of the task's baseline, for the whole task.
            cut: takes the part for this fold out of a submission for the whole task.
        """
        spec = package.task.spec
        self._contract, self._scoring, self._fold, self._cut = spec.contract, spec.scoring, fold, cut
        self._kind = kind_of(package.task)
        self._package, self._baseline = package, baseline
        self._base = score_fold(self._contract, self._scoring, fold, cut(baseline))

    def on_sample(self, size: int) -> _Judge:
        """A judge on some of this fold's windows, evenly spread; this one if the fold has no more windows.

        Args:
            size: number of windows of the sample.
        """
        # Heavy metrics are those of generated windows, whose truth is the array "real".
        windows = len(np.asarray(self._fold.truth.arrays["real"]))
        if windows <= size:
            return self
        units = np.linspace(0, windows - 1, size).astype(np.int64)

        def sample(values: NDArray[np.float64]) -> tuple[Fold, NDArray[np.float64]]:
            return self._kind.resampled(self._contract, self._fold, values[self._fold.rows], units)

        return _Judge(self._package, sample(self._baseline)[0], self._baseline, lambda values: sample(values)[1])

    def relative(self, values: NDArray[np.float64]) -> float:
        """Relative total of a submission.

        Raises:
            SubmissionError: the submission cannot be scored.
        """
        score = score_fold(self._contract, self._scoring, self._fold, self._cut(values))
        return relative(self._scoring, score.metrics, self._base.metrics)

    def trial(self, name: str, values: NDArray[np.float64]) -> Trial:
        """A submission's score, with an interval if it is better than the baseline.

        Raises:
            SubmissionError: the submission cannot be scored.
        """
        total = self.relative(values)
        if total >= MATERIAL:
            return Trial(name, total)
        # An interval takes hundreds of scores, and is of interest only where the answer may break the promise.
        return Trial(
            name, total, sampling_error(self._scoring, self._replicated(values), self._reference).relative_interval
        )

    @cached_property
    def _reference(self) -> Score:
        return self._replicated(self._baseline)

    @cached_property
    def _design(self) -> Resampling | None:
        return self._kind.resampling(self._contract, self._fold)

    def _replicated(self, values: NDArray[np.float64]) -> Score:
        return score_with_replicates(self._contract, self._scoring, self._fold, self._cut(values), self._design)
