"""The score of one answer to one fold of a task, by the task's scoring table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.metrics.aggregation import as_loss, relative_total, relative_weight
from openfingym.metrics.arrays import Checked, MissingPackageError, checked
from openfingym.metrics.comparison import ForecastComparison, Truth, taken
from openfingym.metrics.record import Metric
from openfingym.metrics.registry import find_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.metrics.sampling_error import Replicates

__all__ = ["Rules", "Score", "ScoringEntry", "Truth", "relative", "score"]

FUTURE = "future."
"""Prefix of the name of an array that holds only what follows the context, for metrics with on = "future"."""
SHAPED_AS = {"y_pred": "y_true", "lower": "y_true", "upper": "y_true", "scores": "labels"}
"""Arrays of an answer that must have the shape of an array of the verifier's, and which one."""
ENDING_AS = {"fake": (3, "real"), "futures": (4, "real")}
"""Arrays of an answer whose last two axes, steps and channels, must be those of an array of the verifier's: the number
of their axes, and which array."""


class ScoringEntry(Protocol):
    """One metric of a scoring table, as :class:`openfingym.task.scoring.WeightedMetric`."""

    @property
    def name(self) -> str:
        """Name of the metric."""

    @property
    def weight(self) -> float:
        """Weight in the paper's total."""

    @property
    def relative_weight(self) -> float | None:
        """Weight in the relative total; None for the same as ``weight``, or 0 for a metric that cannot rank."""

    @property
    def on(self) -> str:
        """What it is computed on: ``path`` for everything, ``future`` for what follows the context alone."""


class Rules(Protocol):
    """A scoring table, as :class:`openfingym.task.scoring.Scoring`."""

    @property
    def metrics(self) -> Sequence[ScoringEntry]:
        """The metrics of the table, in the order of the result."""

    @property
    def periods_per_year(self) -> float:
        """Number of periods a year, by which the Sharpe ratio is annualised."""

    @property
    def tail_level(self) -> float:
        """Tail probability of VaR and ES, in (0, 1)."""


@dataclass(frozen=True)
class Score:
    """The score of an answer: metrics, total, and replicates."""

    total: float
    """Weighted sum of the metrics as losses, finite; lower is better."""
    metrics: dict[str, float]
    """Each metric by name, unclipped and in its own direction, in the order of the scoring table."""
    replicates: Replicates | None = field(default=None, compare=False, repr=False)
    """The metrics on resamples of the fold; None where nobody asked for a sampling error, or there are too few units
    for one."""


def score(rules: Rules, truth: Truth, answer: Mapping[str, NDArray[Any]]) -> Score:
    """Score an answer.

    Args:
        rules: the scoring table of the task.
        truth: what the answer is compared with; its options must agree with the table's.
        answer: the agent's arrays, of any real number type, by the names under which metrics take them: ``y_pred``;
            ``lower`` and ``upper``; ``fake``; ``futures``; ``scores``; with ``future.`` before a name as in ``truth``.

    Raises:
        SubmissionError: an array of the answer has a wrong shape or type, is not finite, or makes
            a metric something else than a finite number.
        DataError: the truth is at fault: it lacks an array, or makes a metric undefined.
        UsageError: the table names an unknown metric, or one twice, or disagrees with the truth's options,
            or a package that a metric rests on is not installed.
    """
    # All arrays of the answer are checked before any metric is computed.
    seen_by = _compared(truth, answer)
    values: dict[str, float] = {}
    total = 0.0
    for entry in rules.metrics:
        metric = find_metric(entry.name)
        if entry.name in values:
            raise UsageError(f"the scoring table names {entry.name} twice")
        _agree(metric, rules, truth)
        values[entry.name] = value = _value(entry, metric, seen_by(metric))
        total += entry.weight * as_loss(metric, value)
    if not math.isfinite(total):
        raise SubmissionError("the answer is so far out that the total is not a finite number", problem="out-of-range")
    return Score(total, values)


def metrics_where_defined(
    rules: Rules, truth: Truth, answer: Mapping[str, NDArray[Any]], leaving_out: Collection[str] = ()
) -> dict[str, float]:
    """Each metric of a resample; NaN where this one has no value, such as a truth that is constant on it.

    Args:
        rules: the task's scoring table, by which the whole fold has been scored.
        truth: the truth of the resample.
        answer: the answer on the resample, as in :func:`score`.
        leaving_out: names of metrics that are not wanted.

    Returns:
        The metrics by name, in the order of the table.
    """
    seen_by = _compared(truth, answer)
    values: dict[str, float] = {}
    for entry in rules.metrics:
        if entry.name not in leaving_out:
            metric = find_metric(entry.name)
            try:
                values[entry.name] = _value(entry, metric, seen_by(metric))
            except (SubmissionError, DataError):
                values[entry.name] = math.nan
    return values


@dataclass(frozen=True, eq=False)
class _Compared:
    """A truth, and an answer to it after its arrays were checked."""

    truth: Truth
    given: Mapping[str, Checked]

    @cached_property
    def comparison(self) -> ForecastComparison | None:
        """The answer beside the truth; None where it is no forecast."""
        return ForecastComparison(self.truth, np.asarray(self.given["y_pred"])) if "y_pred" in self.given else None

    def part(self, *, cells: bool) -> _Compared:
        """The known cells alone, or the windows that are known as a whole, of truth and answer.

        Raises:
            DataError: there are none.
        """
        unknown = self.truth.unknown
        if unknown is None:
            return self
        truth = self.truth.cells if cells else self.truth.whole
        kept = ~unknown if cells else self.truth.known_windows
        return _Compared(truth, {name: checked(taken(values, kept)) for name, values in self.given.items()})


def _compared(truth: Truth, answer: Mapping[str, NDArray[Any]]) -> Callable[[Metric], _Compared]:
    """What a metric sees of a truth and an answer, all of whose arrays are checked here: nothing that is unknown."""
    everything = _Compared(truth, {name: _finite(name, values, truth) for name, values in answer.items()})
    parts: dict[bool, _Compared] = {}

    def seen_by(metric: Metric) -> _Compared:
        if metric.pools not in parts:
            parts[metric.pools] = everything.part(cells=metric.pools)
        return parts[metric.pools]

    return seen_by


def _value(entry: ScoringEntry, metric: Metric, compared: _Compared) -> float:
    """Compute one metric of an answer."""
    # What metrics of a forecast share is kept for whole paths alone.
    shared = metric.shared if entry.on == "path" else None
    try:
        if shared is not None and compared.comparison is not None:
            return shared(compared.comparison)
        truth = compared.truth
        return metric.compute(_gathered(metric, entry.on, truth, compared.given), truth.seed, truth.options)
    except MissingPackageError:
        # A kind of UsageError that is nobody's answer's fault.
        raise
    except UsageError as error:
        raise SubmissionError(f"{entry.name} cannot be computed: {error}", problem="out-of-range") from None


def relative(rules: Rules, values: Mapping[str, float], baseline: Mapping[str, float]) -> float:
    """The total that ranks: each metric's loss relative to the baseline's, as a weighted geometric mean.

    Args:
        rules: the scoring table of the task.
        values: result of each of its metrics.
        baseline: result of the task's baseline on the same truth.

    Returns:
        A number in [0.01, 100]; lower is better, 1 is the baseline.

    Raises:
        UsageError: a metric is missing or not finite, no metric of the table has a relative weight, or one has that
            cannot rank.
    """
    weights = relative_weights(rules)
    missing = [name for name in weights if name not in values or name not in baseline]
    if missing:
        raise UsageError(f"no relative total without {', '.join(missing)}")
    weighed = {name: weight for name, weight in weights.items() if weight != 0.0}
    if not weighed:
        raise UsageError(
            f"none of {', '.join(weights)} may rank: a relative total needs a metric that is proper and has a weight"
        )
    return relative_total({name: values[name] for name in weighed}, {name: baseline[name] for name in weighed}, weighed)


def relative_weights(rules: Rules) -> dict[str, float]:
    """Weight of each metric of a scoring table in the relative total, by name.

    Raises:
        UsageError: one has a weight that cannot rank.
    """
    return {
        entry.name: relative_weight(find_metric(entry.name), entry.weight, entry.relative_weight)
        for entry in rules.metrics
    }


def _agree(metric: Metric, rules: Rules, truth: Truth) -> None:
    """Raise UsageError where the table says one thing of an option and the truth another, or nothing."""
    for name in metric.options:
        stated = getattr(rules, name, None)
        if stated is not None and truth.options.get(name) != stated:
            raise UsageError(
                f"the scoring table has {name} = {stated}, the truth's options have {truth.options.get(name)}"
            )


def _gathered(
    metric: Metric, on: str, truth: Truth, given: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any] | float]:
    """Every array that a metric needs, by name.

    For a metric on futures, an array is looked for under its name with the prefix first, and then without: some, such
    as ``futures``, hold no context and have no prefix.
    """
    prefix = FUTURE if on == "future" else ""
    arrays: dict[str, NDArray[Any] | float] = {}
    prefixed = False
    for name in metric.needs:
        source: Mapping[str, NDArray[Any] | float] = given if name in metric.answers else truth.views
        key = prefix + name if prefix + name in source else name
        prefixed = prefixed or key != name
        if key not in source:
            if name in metric.answers:
                raise SubmissionError(
                    f"{metric.name} needs {name}, which the answer lacks", problem="malformed-submission"
                )
            raise DataError(f"{metric.name} needs {name}, which the truth lacks")
        arrays[name] = source[key]
    if prefix and not prefixed:
        raise DataError(
            f"{metric.name} is asked for on futures, and no array of {', '.join(metric.needs)} is of futures alone"
        )
    return arrays


def _finite(name: str, values: NDArray[Any], truth: Truth) -> Checked:
    """An array of the answer as finite float64 of the right shape, which metrics need not search again."""
    plain = name.removeprefix(FUTURE)
    # In messages, the name that agents know.
    called = "predictions" if plain == "y_pred" else plain
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        found = getattr(values, "dtype", type(values).__name__)
        raise SubmissionError(f"{called} must be an array of real numbers, found {found}", problem="wrong-dtype")
    _check_shape(plain, called, values.shape, _shape(truth, name))
    # A long double beyond float64 becomes infinite here and is refused like any other infinity.
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float64, copy=False)
    if not np.isfinite(numbers).all():
        cell = tuple(int(i) for i in np.argwhere(~np.isfinite(numbers))[0])
        raise SubmissionError(f"{called}[{', '.join(map(str, cell))}] is not a finite number", problem="not-finite")
    return checked(numbers)


def _shape(truth: Truth, name: str) -> tuple[int, ...] | None:
    """Shape of the verifier's array that fixes the shape of an array of the answer; None where none does."""
    plain = name.removeprefix(FUTURE)
    fixed_by = SHAPED_AS.get(plain) or ENDING_AS.get(plain, (0, ""))[1]
    if fixed_by == "y_true" and "y_true" in truth.arrays:
        return truth.y_true.shape
    prefixed = plain != name or plain == "futures"
    for key in (FUTURE + fixed_by, fixed_by) if prefixed else (fixed_by,):
        if key in truth.arrays:
            return np.shape(truth.arrays[key])
    return None


def _check_shape(plain: str, called: str, found: tuple[int, ...], expected: tuple[int, ...] | None) -> None:
    if expected is None:
        return
    if plain in SHAPED_AS and found != expected:
        raise SubmissionError(f"{called} have shape {found}, expected {expected}", problem="wrong-shape")
    if plain in ENDING_AS:
        axes, _ = ENDING_AS[plain]
        if len(found) != axes or found[-2:] != expected[-2:]:
            raise SubmissionError(
                f"{called} have shape {found}, expected {axes} axes ending with {expected[-2:]}", problem="wrong-shape"
            )
