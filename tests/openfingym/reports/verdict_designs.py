"""Simulated reports of models whose true difference is known, from losses on items up to the verdict.

Every design draws the losses of some models on the items of its tasks, computes relative totals, their intervals and
their replicates as a verifier does, and makes results of them, which :func:`openfingym.reports.comparisons.compare`
reads as it reads any. ``benchmarks/verdicts.py`` runs 2,000 reports a design, the tests run fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds.resampled import drawn_by_period
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.resampling import Resampling, block_bootstrap
from openfingym.metrics.unit_calendar import UnitCalendar
from openfingym.reports.cells import penalized_estimate
from openfingym.reports.comparisons import RowComparison, compare
from openfingym.reports.datasets import datasets_of
from openfingym.reports.groups import grouped
from openfingym.reports.repeats import Samples
from openfingym.results import RolloutResult
from tests.openfingym.reports.made import RESULT

Floats = NDArray[np.float64]
Days = NDArray[np.int64]
SEED = 20260629
"""Seed of all replicates."""
DAY = 86_400
SERIES = ("treasury-forecast", *(f"treasury-forecast-v{number}" for number in (2, 3, 4, 5, 6, 7)))
"""Tasks of the catalogue that are cut from one series."""
HORIZONS = (1, 10, 1, 5, 20, 10, 5)
"""Days that each of them forecasts, more or less."""


@dataclass
class DrawnReport:
    """The results of one simulated report, with the replicates that lie beside each."""

    results: list[RolloutResult]
    samples: dict[str, RelativeSample]

    def compared(self) -> list[RowComparison]:
        """The comparisons of every two models."""
        return compare(grouped(self.results, ("agent",)), sample_of=lambda run: self.samples.get(run.rollout_id))


@dataclass(frozen=True)
class Design:
    """A design of a study: how many models, and how a report on them is drawn."""

    models: int
    draw: Callable[[np.random.Generator, int, float], DrawnReport]
    """Draws a report on a number of models; the first has a log loss that is lower by a gap."""


@cache
def _replicated(days_of: tuple[int, ...] | int) -> tuple[Resampling, Floats]:
    """The replicates of so many windows, or of questions by the day as of which each is asked."""
    if isinstance(days_of, int):
        units, design = days_of, block_bootstrap(days_of, SEED)
    else:
        units, design = len(days_of), drawn_by_period(np.array(days_of), SEED)
    assert design is not None
    return design, design.counts(units)


def _add(
    report: DrawnReport,
    task: str,
    kind: str,
    losses: Sequence[Floats],
    baseline: Floats,
    repeats: Floats,
    days: tuple[Days, Days] | None = None,
    asked: Days | None = None,
) -> None:
    """Add the runs of every model on a task.

    Args:
        report: the report to which they are added.
        task: name of the task.
        kind: kind of its data.
        losses: loss of each model on each item, float64[items].
        baseline: loss of the baseline on each item, float64[items].
        repeats: what each repeat of each model adds to its log loss, float64[models, repeats].
        days: the days on which each item begins and ends, int64[items] each; None for items without times.
        asked: the day as of which each item is asked, int64[items]; None for items that are no questions.
    """
    design, counts = _replicated(len(baseline) if asked is None else tuple(asked.tolist()))
    base = counts @ baseline
    calendar = None if days is None else UnitCalendar(days[0] * DAY, days[1] * DAY, SEED, design.block)
    for number, (items, mine) in enumerate(zip(losses, repeats, strict=True)):
        sample = RelativeSample(np.log(counts @ items / base), design.scale, design.freedom, len(baseline), calendar)
        assert sample.error is not None
        half = design.reach * sample.error
        for seed, moved in enumerate(mine):
            relative = float(items.mean() / baseline.mean()) * math.exp(moved)
            run = replace(
                RESULT,
                rollout_id=f"{task}-{number}-{seed}",
                task=task,
                data_kind=kind,
                agent=f"model-{number}",
                seed=seed,
                total=relative,
                relative_total=relative,
                relative_interval=(relative * math.exp(-half), relative * math.exp(half)),
            )
            report.results.append(run)
            report.samples[run.rollout_id] = sample


def _windows(
    generator: np.random.Generator, tasks: int, items: int, repeats: int, *, between: float, within: float
) -> Callable[[int, float], DrawnReport]:
    """Tasks on datasets of their own, whose windows have losses in common and losses of each model."""

    def drawn(models: int, gap: float) -> DrawnReport:
        report = DrawnReport([], {})
        for task in range(tasks):
            level = np.exp(0.5 * _smooth(generator, items))
            gaps = between * generator.standard_normal(models)
            gaps[0] -= gap
            losses = [level * np.exp(own + 0.3 * _smooth(generator, items) - 0.045) for own in gaps]
            noise = within * generator.standard_normal((models, repeats))
            _add(report, f"task-{task:02}", "simulated", losses, level, noise)
        return report

    return drawn


def _smooth(generator: np.random.Generator, count: int) -> Floats:
    """Standard normal numbers of which neighbours correlate by 0.1."""
    drawn = generator.standard_normal(count + 1)
    weight = 0.1010  # so that w / (1 + w^2) is 0.1
    return (drawn[1:] + weight * drawn[:-1]) / math.sqrt(1.0 + weight**2)


def _one_series(generator: np.random.Generator, models: int, gap: float) -> DrawnReport:
    """Constants of opposite signs on seven tasks of one random walk, without skill all of them."""
    report = DrawnReport([], {})
    days = 600
    common = generator.standard_normal(days)
    for task, horizon in zip(SERIES, HORIZONS, strict=True):
        # Yields of other maturities move nearly alike.
        steps = math.sqrt(0.9) * common + math.sqrt(0.1) * generator.standard_normal(days)
        count = min(60, days // horizon)
        starts = np.arange(count) * (days // count)
        moves = np.array([steps[start : start + horizon].sum() for start in starts])
        size = 0.5 * math.sqrt(horizon)
        signs = [(-1.0) ** model for model in range(models)]
        losses = [np.abs(moves - sign * size) for sign in signs]
        losses[0] = losses[0] * math.exp(-gap)
        _add(report, task, "real", losses, np.abs(moves), np.zeros((models, 1)), (starts, starts + horizon))
    return report


def _suite(asked: Days, shared: float, own: float) -> Callable[[np.random.Generator, int, float], DrawnReport]:
    """Questions of a suite, of which those as of one day share its news; an answer is right or wrong.

    Args:
        asked: the day as of which each question is asked, int64[questions].
        shared: how much the news of a day makes its questions harder for all models alike.
        own: how much it makes them harder for one model.
    """
    units, days = len(asked), int(asked.max()) + 1

    def drawn(generator: np.random.Generator, models: int, gap: float) -> DrawnReport:
        report = DrawnReport([], {})
        hardness = shared * generator.standard_normal(days)[asked] + generator.standard_normal(units)
        # Half of the gap below and half above, so that it changes little of how uncertain the difference is.
        shares = [math.exp(-0.5 * gap), math.exp(0.5 * gap), 1.0][:models]
        losses = []
        for share in shares:
            chances = 0.8 / (1.0 + np.exp(-hardness - own * generator.standard_normal(days)[asked]))
            losses.append((generator.random(units) < share * chances).astype(float))
        baseline = (generator.random(units) < 0.3 + 0.32 / (1.0 + np.exp(-hardness))).astype(float)
        _add(report, "suite", "simulated", losses, baseline, np.zeros((models, 1)), asked=asked)
        return report

    return drawn


def shuffled(sizes: Sequence[int]) -> Days:
    """Days of some numbers of questions, which are in no order of time."""
    return np.random.default_rng(SEED).permutation(np.repeat(np.arange(len(sizes)), sizes))


TEN_WEEKS = (291, 303, 264, 96, 80, 71, 69, 80, 67, 65)
"""Questions of each week of FinDeepForecast's season."""
DESIGNS: Mapping[str, Design] = {
    "1 task, 6 repeats alike": Design(
        2, lambda generator, models, gap: _windows(generator, 1, 60, 6, between=0.0, within=0.0)(models, gap)
    ),
    "5 tasks, 6 repeats": Design(
        5, lambda generator, models, gap: _windows(generator, 5, 40, 6, between=0.0, within=0.15)(models, gap)
    ),
    "24 tasks, 2 repeats": Design(
        3, lambda generator, models, gap: _windows(generator, 24, 40, 2, between=0.1, within=0.15)(models, gap)
    ),
    "7 tasks of one series": Design(2, _one_series),
    "1 suite of 100 questions": Design(3, _suite(np.repeat(np.arange(25), 4), 0.5, 0.0)),
    "1 suite of ten weeks, with news": Design(2, _suite(shuffled(TEN_WEEKS), 0.5, 0.4)),
    "1 suite of ten weeks, without": Design(2, _suite(shuffled(TEN_WEEKS), 0.0, 0.0)),
}
"""The designs by name."""


@dataclass(frozen=True)
class Measured:
    """How often reports of a design are right."""

    named: float
    """Share of reports on equal models that tell any two apart."""
    covered: float
    """Share of intervals that hold the truth, of the first two of equal models."""
    width: float
    """Median width of these intervals over that of one who knows the variance."""
    detectable: float
    """The difference of log losses that the median report says it tells with a chance of 80 %."""
    found: float
    """Share of reports on two models that differ by so much which name the better one."""


def measure(design: Design, reports: int, seed: int = 0) -> Measured:
    """Draw reports of a design and count what they conclude."""
    generator = np.random.default_rng(seed)
    named, covered, halves, values, told = 0, 0, [], [], []
    for _ in range(reports):
        pairs = design.draw(generator, design.models, 0.0).compared()
        named += any(pair.verdict in {"better", "worse"} for pair in pairs)
        ratio = pairs[0].loss_ratio
        assert ratio.value is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert pairs[0].detectable is not None
        covered += ratio.low <= 1.0 <= ratio.high
        values.append(math.log(ratio.value))
        halves.append(0.5 * math.log(ratio.high / ratio.low))
        told.append(-math.log1p(-pairs[0].detectable))
    gap = float(np.median(told))
    found = sum(design.draw(generator, 2, gap).compared()[0].verdict == "better" for _ in range(reports))
    width = float(np.median(halves)) / (1.959964 * float(np.std(values)))
    return Measured(named / reports, covered / reports, width, gap, found / reports)


def measure_own(design: Design, reports: int, *, paired: bool = True, seed: int = 0) -> tuple[float, float]:
    """How the interval of one row's own penalized total does, on equal models.

    Args:
        design: the design of the study.
        reports: how many reports are drawn.
        paired: whether it is known what each item adds.
        seed: seed of the draws.

    Returns:
        The share of intervals that hold the truth, and their median width over that of one who knows the variance.
    """
    generator, found = np.random.default_rng(seed), []
    for _ in range(reports):
        report = design.draw(generator, design.models, 0.0)
        (first, *_) = grouped(report.results, ("agent",))
        samples = Samples(lambda run, report=report: report.samples.get(run.rollout_id) if paired else None)  # type: ignore[misc]
        numbers = datasets_of(list(first.tasks), first.data_kind)
        estimate = penalized_estimate(list(first.tasks.values()), numbers, samples)
        found.append((estimate.low, estimate.value, estimate.high))
    low, values, high = np.log(np.array(found, dtype=np.float64)).T
    covered = (low <= values.mean()) & (values.mean() <= high)
    return float(covered.mean()), float(np.median(0.5 * (high - low)) / (1.959964 * values.std()))
