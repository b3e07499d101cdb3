"""The promise that no answer without skill is better than a task's reference, and whether it is kept.

With some fifteen answers to each of seventy tasks, fifty are better than their reference in a 95 % interval by luck
alone. An answer therefore breaks the promise only if its advantage is beyond what any of :data:`COMPARISONS` would
reach by chance with a probability of :data:`FALSE_ALARM`: Bonferroni's bound, which is the first step of Holm's. The
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
from openfingym.kinds import is_sequential, kind_of, score_fold, score_with_replicates
from openfingym.metrics import find_metric, relative
from openfingym.metrics.sampling_error import sampling_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds import Array, Fold
    from openfingym.kinds.material import Reader
    from openfingym.metrics import Score
    from openfingym.metrics.resampling import Resampling
    from openfingym.packages.package import BuiltPackage

    Cut = Callable[[NDArray[np.float64]], NDArray[np.float64]]

SEED = 20261122
"""Seed of the answers that are drawn at random."""
FALSE_ALARM = 0.05
"""Probability that a catalogue without a break fails, at most."""
COMPARISONS = 1200
"""Answers without skill to all tasks that come with this library, about; a task of one's own is judged as one of
them."""
CRITICAL = NormalDist().inv_cdf(FALSE_ALARM / COMPARISONS)
"""Standard errors below 0 that the log relative total of a break lies at least."""
MATERIAL = 0.999
"""A relative total above is no better than the reference, however certain."""
SAMPLE = 300
"""Private windows, evenly spread, on which answers are compared where a metric is heavy."""
_NORMAL_WIDTH = 2.0 * NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Trial:
    """The score of one answer without skill."""

    name: str
    relative: float | None
    """Relative total on the private fold; None where the task refuses the answer."""
    interval: tuple[float, float] | None = None
    """95 % interval; None where it was not asked for, since the answer is no better, or the fold is too small for
    one."""
    refusal: str | None = None
    """Type of the problem, such as ``memorised``."""

    @property
    def deviates(self) -> float | None:
        """Log relative total in its standard errors; None without an interval."""
        if self.relative is None or self.interval is None:
            return None
        low, high = map(math.log, self.interval)
        # An interval of no width is that of a difference no other draw of rows would change.
        return math.log(self.relative) * _NORMAL_WIDTH / (high - low) if high > low else -math.inf

    @property
    def breaks(self) -> bool:
        """Whether it is better than the reference, beyond chance."""
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
    """On the private fold; where a metric is heavy, on a sample of it."""
    reached: float | None = None
    """Relative total of the best answer, on the whole private fold if that was asked for; None where the task refuses
    all."""

    @property
    def best(self) -> Trial | None:
        """The best answer the task does not refuse; None where it refuses all."""
        scored = [(trial.relative, number) for number, trial in enumerate(self.trials) if trial.relative is not None]
        return self.trials[min(scored)[1]] if scored else None

    @property
    def breaks(self) -> tuple[Trial, ...]:
        """Answers that break the promise, the best first."""
        return tuple(sorted((trial for trial in self.trials if trial.breaks), key=lambda trial: trial.relative or 0.0))

    @property
    def refused(self) -> int:
        """Answers that the task refuses."""
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
        answers: other answers by name; None for those of the task's kind.
        on_all: score the best answer on every row of the private fold too, where it was found on a sample.

    Raises:
        DataError: the truth makes a metric undefined.
    """
    manifest, spec = package.manifest, package.task.spec
    kind, contract, shape = kind_of(package.task), spec.contract, manifest.submission_shape
    read = reader_of(package, hidden)
    public, private = kind.folds(spec, package.array, hidden, (manifest.n_public, manifest.n_private), 0)
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
    found = Survey(tuple(trials.values()))
    if best is None or found.best is None:
        return found
    return replace(found, reached=whole.relative(best) if on_all and judge is not whole else found.best.relative)


def reader_of(package: BuiltPackage, hidden: Mapping[str, Array]) -> Reader:
    """Public arrays by name; of a sequential task the hidden ones too, which its baseline and plans are played on."""
    if not is_sequential(package.task.spec.contract):
        return package.array
    return lambda name: hidden[name] if name in hidden else package.array(name)


class _Judge:
    """Scores submissions on a fold, beside the baseline."""

    def __init__(
        self, package: BuiltPackage, fold: Fold, baseline: NDArray[np.float64], cut: Cut = lambda values: values
    ) -> None:
        """Score the baseline.

        Args:
            package: the built package of the task.
            fold: the fold to score on.
            baseline: the submission of the task's baseline.
            cut: makes of a whole submission one for this fold.
        """
        spec = package.task.spec
        self._contract, self._scoring, self._fold, self._cut = spec.contract, spec.scoring, fold, cut
        self._kind = kind_of(package.task)
        self._package, self._baseline = package, baseline
        self._base = score_fold(self._contract, self._scoring, fold, cut(baseline))

    def on_sample(self, size: int) -> _Judge:
        """This fold, cut down to some of its windows, evenly spread; the fold itself where there are no more."""
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
        found = score_fold(self._contract, self._scoring, self._fold, self._cut(values))
        return relative(self._scoring, found.metrics, self._base.metrics)

    def trial(self, name: str, values: NDArray[np.float64]) -> Trial:
        """A submission's score, with an interval where it is better than the baseline.

        Raises:
            SubmissionError: the submission cannot be scored.
        """
        found = self.relative(values)
        if found >= MATERIAL:
            return Trial(name, found)
        return Trial(
            name, found, sampling_error(self._scoring, self._replicated(values), self._reference).relative_interval
        )

    @cached_property
    def _reference(self) -> Score:
        return self._replicated(self._baseline)

    @cached_property
    def _design(self) -> Resampling | None:
        return self._kind.resampling(self._contract, self._fold)

    def _replicated(self, values: NDArray[np.float64]) -> Score:
        return score_with_replicates(self._contract, self._scoring, self._fold, self._cut(values), self._design)
