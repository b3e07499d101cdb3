"""Sealed seasons on hidden values that nobody can know, with blind entries and an honest one.

Each kind of task has its own way to draw hidden values on which the baseline is as good as any answer without skill,
and which are otherwise the task's own: residuals of a forecast get random signs, scores of nodes are as random as the
baseline's, truths of questions that have one baseline are dealt out again, and bars move as far as they did, up or
down at random, about a drift at which holding everything grows best. The results of a thousand entries are computed
together, and are those of the verifier and its board to the last digits, as a test checks.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from openfingym.metrics.codes import FIRST_LEVEL
from openfingym.reports.entries import SIGNIFICANT, verdicts_of
from openfingym.reports.statistics import quantile
from openfingym_verifier.scoring.truth import HiddenTask
from tests.adversarial.sealed_season import Metrics, SealedSeason, Values, columns_of, holding, means, placed, sizes
from tests.adversarial.sealed_trading import SealedTrading


class SealedForecast(SealedSeason):
    """Residuals of random signs, one for each window; they keep their sizes, their order and how they go together."""

    def __init__(self, task: HiddenTask, truth: Values, known: Values) -> None:
        design = task.grader.design
        assert design is not None
        super().__init__(task, design)
        self._truth, self._known = truth, known

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedForecast:
        """See the base; the signal is in usual residuals."""
        base = task.grader.baseline[task.grader.private.rows]
        residuals = np.asarray(task.grader.private.truth.arrays["y_true"]) - base
        known = signal * residuals.std() * np.abs(rng.standard_normal((len(base), 1, 1))) * np.sign(residuals)
        known *= rng.choice([-1.0, 1.0], (len(base), 1, 1))
        signs = rng.choice([-1.0, 1.0], (len(base), 1, 1))
        return cls(task, base + signs * residuals + known, known)

    @classmethod
    def given(cls, task: HiddenTask) -> SealedForecast:
        truth = np.asarray(task.grader.private.truth.arrays["y_true"])
        return cls(task, truth, np.zeros_like(truth))

    @property
    def hidden_task(self) -> HiddenTask:
        return holding(self.task, y_true=self._truth)

    @property
    def baseline(self) -> Values:
        return self.part(self.task.grader.baseline)[None]

    @property
    def honest(self) -> Values:
        return self.baseline + self._known

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Walks, levels and slopes by window and series, slopes by window, and cells, in turn."""
        windows, days, series = self._truth.shape
        steps = np.arange(1.0, days + 1.0)[None, :, None] / days
        one = np.ones((1, days, series))
        ways = (
            lambda n: rng.standard_normal((n, windows, days, series)).cumsum(axis=2) / np.sqrt(days),
            lambda n: one * rng.standard_normal((n, windows, 1, series)),
            lambda n: steps * rng.standard_normal((n, windows, 1, series)),
            lambda n: steps * one * rng.standard_normal((n, windows, 1, 1)),
            lambda n: rng.standard_normal((n, windows, days, series)),
        )
        counts = [len(range(first, entries, len(ways))) for first in range(len(ways))]
        moved = np.concatenate([way(count) for way, count in zip(ways, counts, strict=True)])
        size = float((self._truth - self.baseline).std())
        return np.asarray(self.baseline + size * sizes(rng, entries, 3) * moved)

    def measured(self, answers: Values, counts: Values) -> Metrics:
        errors = (answers - self._truth).reshape(*answers.shape[:2], -1)
        square, absolute = (means(rows.mean(axis=2), counts) for rows in (errors**2, np.abs(errors)))
        return {"mse": square, "rmse": np.sqrt(square), "mae": absolute}


class SealedNodes(SealedSeason):
    """Labels at which everybody's scores are random, also those of the baseline, which are drawn again."""

    slow = True

    def __init__(self, task: HiddenTask, random: Values, known: Values) -> None:
        design = task.grader.design
        assert design is not None
        super().__init__(task, design)
        self._labels = np.asarray(task.grader.private.truth.arrays["labels"])
        self._random, self._known = random, known

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedNodes:
        """See the base; the signal is by how many standard deviations anomalies have higher scores."""
        labels = np.asarray(task.grader.private.truth.arrays["labels"])
        base = task.grader.baseline[task.grader.private.rows]
        return cls(task, rng.permutation(base), rng.standard_normal(len(labels)) + signal * labels)

    @classmethod
    def given(cls, task: HiddenTask) -> SealedNodes:
        base = task.grader.baseline[task.grader.private.rows]
        return cls(task, base, base)

    @property
    def hidden_task(self) -> HiddenTask:
        return replace(self.task, grader=replace(self.task.grader, baseline=placed(self.task, self._random)))

    @property
    def baseline(self) -> Values:
        return self._random[None]

    @property
    def honest(self) -> Values:
        return self._known[None]

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """The baseline's scores with noise at each node, with noise at each of forty groups of neighbours in number,
        with a few nodes put first, or with others put last, in turn.
        """
        base, count = self.baseline, len(self._labels)
        groups = np.arange(count) * 40 // count
        size = base.std()
        answers = np.repeat(base, entries, axis=0)
        for entry in range(entries):
            how = float(sizes(rng, 1, 0)[0])
            if entry % 4 == 0:
                answers[entry] += size * how * rng.standard_normal(count)
            elif entry % 4 == 1:
                answers[entry] += size * how * rng.standard_normal(40)[groups]
            else:
                moved = rng.random(count) < 0.3 * how
                answers[entry, moved] += 10.0 * size * (1.0 if entry % 4 == 2 else -1.0)
        return answers

    def measured(self, answers: Values, counts: Values) -> Metrics:
        columns = columns_of(self.design, len(counts))
        area, recall = np.empty((2, len(answers), columns.shape[1]))
        for entry, scores in enumerate(answers):
            area[entry], recall[entry] = _ranked(self._labels, scores, columns)
        return {"auroc": area, "recall_at_k": recall}

    def dealt(self, answers: Values) -> Metrics:
        """Sums of ranks, and counts of first nodes, of the nodes that stand for anomalies."""
        chosen = self._chosen
        count, anomalies = len(self._labels), chosen.shape[1]
        area, recall = np.empty((2, len(answers), len(chosen)))
        for entry, scores in enumerate(answers):
            ranks = np.empty(count)
            ranks[np.argsort(scores)] = np.arange(count)
            found = ranks[chosen]
            below = found.sum(axis=1) - anomalies * (anomalies - 1) / 2.0
            area[entry] = below / (anomalies * (count - anomalies))
            recall[entry] = (found >= count - anomalies).mean(axis=1)
        return {"auroc": area, "recall_at_k": recall}

    @functools.cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """For each deal the nodes whose scores are dealt to the anomalies, int64[deals, anomalies]."""
        anomalies = np.flatnonzero(self._labels)
        return np.stack([order[anomalies] for order in self.design.deals])


def _ranked(labels: NDArray[np.int64], scores: Values, columns: Values) -> tuple[Values, Values]:
    """AUROC and recall among the first K on each replicate, of scores without ties.

    Args:
        labels: 0 or 1 of each node.
        scores: of each node.
        columns: how often each node is in each replicate, float64[nodes, replicates].
    """
    order = np.argsort(-scores)
    places = np.flatnonzero(labels[order])
    positives = columns[order[places]]
    total = positives.sum(axis=0)
    # How many nodes stand at or above each positive, and how many positives: the others above it are negatives.
    starts = np.concatenate([[0], places[:-1] + 1])
    above = np.add.reduceat(columns[order[: places[-1] + 1]], starts, axis=0).cumsum(axis=0)
    hits = positives.cumsum(axis=0)
    negatives = len(labels) - total
    lost = (positives * (above - hits)).sum(axis=0)
    # Of a node that is drawn several times, as many copies are among the first K as there is room for.
    k = total[0]
    inside = np.clip(k - (above - positives), 0.0, positives)
    return 1.0 - lost / (total * negatives), inside.sum(axis=0) / total


class SealedQuestions(SealedSeason):
    """The truths of questions dealt out to other questions, where the baseline answers all of them alike."""

    def __init__(self, task: HiddenTask, truth: Values, known: Values) -> None:
        design = task.grader.design
        assert design is not None
        super().__init__(task, design)
        self._truth, self._known = truth, known

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedQuestions:
        """See the base; the signal is the share of true codes that are known."""
        truth = rng.permutation(np.asarray(task.grader.private.truth.arrays["y_true"]))
        return cls(task, truth, truth * (rng.random(truth.shape) < signal))

    @classmethod
    def given(cls, task: HiddenTask) -> SealedQuestions:
        truth = np.asarray(task.grader.private.truth.arrays["y_true"])
        return cls(task, truth, np.zeros_like(truth))

    @property
    def hidden_task(self) -> HiddenTask:
        return holding(self.task, y_true=self._truth)

    @property
    def baseline(self) -> Values:
        return self.part(self.task.grader.baseline)[None]

    @property
    def honest(self) -> Values:
        return np.maximum(self.baseline, self._known)

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Codes named, or not named any more, in some questions, more of them or fewer."""
        base = self.baseline
        shares = 0.3 * sizes(rng, entries, 2)
        moved = rng.random((entries, *base.shape[1:]), np.float32) < shares * np.where(base > 0.0, 1.0, 0.1)
        return np.where(moved, 1.0 - base, base)

    def part(self, values: Values) -> Values:
        """The codes; whether a question was answered is not scored."""
        return super().part(values)[:, 1:]

    def whole(self, answer: Values) -> Values:
        return super().whole(np.hstack([self.task.grader.baseline[self.task.grader.private.rows][:, :1], answer]))

    def measured(self, answers: Values, counts: Values) -> Metrics:
        found = {}
        for name, columns in (("first", slice(0, FIRST_LEVEL)), ("second", slice(FIRST_LEVEL, None))):
            named, true = answers[:, :, columns], self._truth[:, columns]
            hit = np.einsum("eqc,qc->eq", named, true)
            found[f"{name}_level_f1"] = means(2.0 * hit / (true.sum(axis=1) + named.sum(axis=2)), counts)
        return found


def season_of(task: HiddenTask) -> type[SealedSeason]:
    """How seasons of a task are drawn."""
    kinds: dict[str, type[SealedSeason]] = {
        "forecast": SealedForecast,
        "nodes": SealedNodes,
        "qa": SealedQuestions,
        "trading": SealedTrading,
    }
    return kinds[task.spec.contract.kind]


def false_finds(task: HiddenTask, seed: int, *, entries: int) -> int:
    """How many of so many blind primary entries of a season are called better."""
    rng = np.random.default_rng(seed)
    season = season_of(task).drawn(task, rng)
    p_values = season.tested(season.blind(rng, entries))[1]
    return sum(test.verdict == "better" for test in verdicts_of(p_values.tolist()))


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
        """The results of a party that knows a part of the hidden values."""
        seasons = [season_of(task).drawn(task, np.random.default_rng(seed), signal) for seed in seeds]
        logs, p_values = np.array([season.tested(season.honest) for season in seasons])[:, :, 0].T
        return cls(-logs, p_values, seasons[0].design.freedom)

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
