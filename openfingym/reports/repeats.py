"""The runs of one row on one task as one figure: their mean, and what it may be wrong by.

Runs on the hidden data of the package share its items: they are repeats, and their number says nothing of other items.
What they differ by is a part of its own, which is nothing if they are identical. Runs on tapes of their own each have
other items, and what they differ by holds both.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from openfingym.files.strange import MEGABYTE, read_json
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.reports.statistics import EVEN, Figure, Part
from openfingym.results.run_folder import VERIFIED

if TYPE_CHECKING:
    from openfingym.metrics.unit_calendar import Influence
    from openfingym.results import RolloutResult

Loss = Callable[["RolloutResult"], float]
"""The log loss of a judged run."""
SampleOf = Callable[["RolloutResult"], RelativeSample | None]
"""Gives the relative total of a run on every replicate; None if it is not known."""
RunsBySeed = Mapping[int, Sequence["RolloutResult"]]
"""Judged runs of a row on a task, by seed; at least one."""
NOTHING = Part(0.0, math.inf, 0.0)
"""The part of what is known exactly."""
FARTHEST = 10.0
"""Standard errors by which the mean of the replicates of a difference may be off the difference that results state."""
EVEN_SAMPLE = 1e-6
"""What it may be off by rounding."""
AGREEMENT = 1e-3
"""Share by which the interval of a sample may differ from the one that the result states."""


class Samples:
    """The samples of runs, and what follows from them, found once for all comparisons.

    Runs are told apart by identity: those that were made in memory may have equal ids, and all live longer than this.
    """

    def __init__(self, sample_of: SampleOf) -> None:
        """Take samples from a function, which is asked once for each run."""
        self._sample_of = sample_of
        self._known: dict[int, RelativeSample | None] = {}
        self._means: dict[tuple[int, ...], RelativeSample | None] = {}
        self._figures: dict[tuple[int, ...], Figure] = {}

    def figure(self, runs: RunsBySeed, loss: Loss) -> Figure:
        """The runs of a row on a task as one figure, computed once; of one loss alone."""
        key = _key(_every(runs))
        if key not in self._figures:
            self._figures[key] = figure_of(runs, loss)
        return self._figures[key]

    def own(self, runs: RunsBySeed) -> tuple[Part, Influence | None] | None:
        """The error over items of a row's mean, and what each item adds if it is known when it was; None if the error
        is not known by replicates.
        """
        return _error_of(self._mean(_every(runs)))

    def paired(self, a: RunsBySeed, b: RunsBySeed) -> tuple[Part, Influence | None] | None:
        """The same of the difference of two rows' means."""
        return _error_of(self._difference(a, b))

    def items(self, a: RunsBySeed, b: RunsBySeed) -> int | None:
        """How many items two rows are compared on, replicate by replicate; None if they are not."""
        difference = self._difference(a, b)
        return None if difference is None else difference.units

    def _difference(self, a: RunsBySeed, b: RunsBySeed) -> RelativeSample | None:
        one, other = self._mean(_every(a)), self._mean(_every(b))
        difference = None if one is None or other is None else one.minus(other)
        if difference is None or (error := difference.error) is None:
            return None
        # A folder may be a stranger's: with the sample of another run, a difference would be known too well.
        off = float(np.nanmean(difference.values)) - (_stated(_every(a)) - _stated(_every(b)))
        return difference if abs(off) <= FARTHEST * error + EVEN_SAMPLE else None

    def _mean(self, runs: Sequence[RolloutResult]) -> RelativeSample | None:
        key = _key(runs)
        if key not in self._means:
            self._means[key] = self._mean_of(runs)
        return self._means[key]

    def _mean_of(self, runs: Sequence[RolloutResult]) -> RelativeSample | None:
        """The sample of the mean of some runs; None if one of them has none, or is not on the items of the package."""
        if not all(run.tape == "given" and _is_asked_as_all(run) for run in runs):
            return None
        scored = [run for run in runs if run.state == "scored"]
        samples = [sample for run in scored if (sample := self.of(run)) is not None]
        if not samples or len(samples) < len(scored) or (mean := RelativeSample.mean(samples)) is None:
            return None
        # A failure counts the same whatever the items are.
        return mean.times(len(scored) / len(runs))

    def of(self, run: RolloutResult) -> RelativeSample | None:
        """The sample of a run; None if it is not known."""
        key = id(run)
        if key not in self._known:
            self._known[key] = self._sample_of(run)
        return self._known[key]


def stored_sample(run: RolloutResult) -> RelativeSample | None:
    """The sample beside a run's result, as its verifier wrote it; None if there is none that fits the result."""
    if run.path is None or run.relative_interval is None or run.relative_total is None:
        return None
    try:
        document = read_json(run.path, VERIFIED, MEGABYTE)
    except (OSError, ValueError):
        return None
    stated = document.get("relative_sample") if isinstance(document, dict) else None
    sample = RelativeSample.from_dict(stated)
    if sample is None or (error := sample.error) is None:
        return None
    # The folder may be a stranger's: a sample counts only if it gives the interval of the result.
    half = _half(run)
    agrees = half is not None and math.isclose(
        Part.known(error, sample.freedom).half, half, rel_tol=AGREEMENT, abs_tol=1e-6
    )
    return sample if agrees else None


def mean_of(runs: RunsBySeed, loss: Loss) -> float:
    """The mean over seeds of the mean loss over the attempts at each."""
    return fmean([fmean([loss(run) for run in attempts]) for attempts in runs.values()])


def figure_of(runs: RunsBySeed, loss: Loss) -> Figure:
    """The runs of a row on a task as one figure."""
    every, value, repeats = _every(runs), mean_of(runs, loss), _repeat_part(runs, loss)
    items = _item_parts(every)
    own = () if repeats is None or repeats.error == 0.0 else (repeats,)
    # Runs with one result to the last digit are on the same items, whatever they state, unless items do not matter.
    if items is None or not all(map(_has_own_items, every)) or (repeats is not None and not own):
        return Figure(value, None if items is None else _together(items), own)
    # What runs on tapes of their own differ by holds what they are wrong by over items.
    return Figure(value, NOTHING, own if repeats is not None else tuple(items))


def row_figure(runs: RunsBySeed, loss: Loss, samples: Samples | None) -> Figure:
    """The runs of a row on a task as one figure, with what its items add, if that is known.

    Args:
        runs: the runs of the row.
        loss: the log loss.
        samples: the runs' relative totals on every replicate; None to go by the intervals of the results alone.
    """
    figure = figure_of(runs, loss)
    if samples is None or figure.shared is None or figure.shared.error == 0.0:
        return figure
    if (known := samples.own(runs)) is None:
        return figure
    return replace(figure, shared=known[0], influence=known[1])


def difference_of(a: RunsBySeed, b: RunsBySeed, loss: Loss, samples: Samples) -> Figure:
    """The difference of two rows on a task: replicate by replicate if it is known how each does on these, else with
    errors that may go together wholly.

    Args:
        a: the runs of the first row.
        b: the runs of the second row, at the same seeds.
        loss: the log loss.
        samples: the runs' relative totals on every replicate.
    """
    one, other = samples.figure(a, loss), samples.figure(b, loss)
    shared = None if one.shared is None or other.shared is None else one.shared.together(other.shared)
    influence = None
    if shared is not None and shared.error > 0.0 and (paired := samples.paired(a, b)) is not None:
        shared, influence = paired
    return Figure(one.value - other.value, shared, (*one.own, *other.own), influence)


def by_seed(runs: Iterable[RolloutResult]) -> dict[int, list[RolloutResult]]:
    """Runs by their seed."""
    found: dict[int, list[RolloutResult]] = defaultdict(list)
    for run in runs:
        found[run.seed].append(run)
    return dict(found)


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of at least two values, with one degree of freedom less than there are values."""
    mean = fmean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def is_single(runs: RunsBySeed) -> bool:
    """Whether there is one run alone, of which it is not known how others would differ."""
    return len(_every(runs)) == 1


def _error_of(sample: RelativeSample | None) -> tuple[Part, Influence | None] | None:
    if sample is None or (error := sample.error) is None:
        return None
    return (NOTHING, None) if error <= EVEN else (Part.known(error, sample.freedom), sample.influence)


def _key(runs: Sequence[RolloutResult]) -> tuple[int, ...]:
    return tuple(map(id, runs))


def _every(runs: RunsBySeed) -> list[RolloutResult]:
    return [run for attempts in runs.values() for run in attempts]


def _stated(runs: Sequence[RolloutResult]) -> float:
    """The mean of the logarithms of the relative totals that some runs state, a failure counted as 0."""
    logs = [math.log(run.relative_total) for run in runs if run.state == "scored" and run.relative_total is not None]
    return math.fsum(logs) / len(runs)


def _is_asked_as_all(run: RolloutResult) -> bool:
    """Whether a run is not on questions or in a session of its own, which may or may not be those of others."""
    return run.session is None and not isinstance(run.questions, dict)


def _has_own_items(run: RolloutResult) -> bool:
    """Whether a run is on items that no other run is on."""
    return run.tape != "given" and _is_asked_as_all(run)


def _repeat_part(runs: RunsBySeed, loss: Loss) -> Part | None:
    """The error of the mean by what its repeats differ by: over seeds, or of one seed over its attempts; None of a
    single run.
    """
    means = [fmean([loss(run) for run in attempts]) for attempts in runs.values()]
    if len(means) == 1:
        means = [loss(run) for run in _every(runs)]
    if len(means) == 1:
        return None
    spread = deviation(means)
    return Part.known(spread / math.sqrt(len(means)), len(means) - 1.0) if spread > EVEN else NOTHING


def _item_parts(runs: Sequence[RolloutResult]) -> list[Part] | None:
    """The error over items of each scored run, as a part of the mean of all; None if that of one is not known, or if
    none was scored: the items say nothing of why a run failed.
    """
    scored = [run for run in runs if run.state == "scored"]
    halves = [half for run in scored if (half := _half(run)) is not None]
    if not halves or len(halves) < len(scored):
        return None
    return [Part.of_interval(half / len(runs)) if half > EVEN else NOTHING for half in halves]


def _together(parts: Sequence[Part]) -> Part:
    """The part of a sum whose errors may go together wholly."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.together(part)
    return whole


def _half(run: RolloutResult) -> float | None:
    """Half the width of a scored run's interval on the log scale; None if it has none."""
    return half_width(run.relative_total, run.relative_interval)


def half_width(relative: float | None, interval: tuple[float, float] | None) -> float | None:
    """Half the width of the interval of a relative total on the log scale; None without one."""
    if interval is None or relative is None or interval[0] <= 0.0:
        return None
    # One end may be cut off at a bound of relative totals, so the farther one counts.
    return max(math.log(interval[1] / relative), math.log(relative / interval[0]), 0.0)
