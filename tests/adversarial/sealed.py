"""Sealed seasons on hidden values that nobody can know, with blind entries and an honest one.

Each kind of task has its own way to draw hidden values on which the baseline is as good as any answer without skill,
and which are otherwise the task's own: residuals of a forecast get random signs, scores of nodes are as random as the
baseline's, truths of questions that have one baseline are dealt out again, and bars move as far as they did, up or
down at random, about a drift at which holding everything grows best. The results of a thousand entries are computed
together, and are those of the verifier and its board to the last digits, as a test checks.
"""

from __future__ import annotations

import abc
import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from openfingym.kinds import bar_episodes
from openfingym.kinds.trading_episode import TAIL, open_account
from openfingym.metrics.aggregation import log_ratios, relative_losses
from openfingym.metrics.codes import FIRST_LEVEL
from openfingym.metrics.performance import WEALTH_FLOOR, RecordColumn
from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.resampling import Resampling
from openfingym.metrics.sampling_error import SamplingError
from openfingym.metrics.scoring import relative_weights
from openfingym.reports.entries import SIGNIFICANT, verdicts_of
from openfingym.reports.statistics import quantile
from openfingym.trading.compiled.account import CompiledAccount
from openfingym.trading.session import Session
from openfingym_verifier.ladder import surely_reached
from openfingym_verifier.truth import HiddenTask

Values = NDArray[np.float64]
BLOCK = 20
"""Steps of a trading episode for which weights stay the same."""
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
        return _placed(self.task, answer)

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
def _columns_of(design: Resampling, replicates: int) -> Values:
    """How often each unit is in the fold, once, and in the first replicates: float64[units, 1 + replicates]."""
    counts = _counts_of(design)[:replicates]
    return np.ascontiguousarray(np.vstack([np.ones(counts.shape[1]), counts]).T)


def _placed(task: HiddenTask, answer: Values) -> Values:
    """A submission that is the baseline's but for the private fold."""
    values = task.grader.baseline.copy()
    values[task.grader.private.rows] = answer
    return values


def _holding(task: HiddenTask, **truth: NDArray[np.generic]) -> HiddenTask:
    """The task with other hidden values of the private fold."""
    private = task.grader.private
    arrays = {**private.truth.arrays, **truth}
    return replace(
        task, grader=replace(task.grader, private=replace(private, truth=replace(private.truth, arrays=arrays)))
    )


def _means(rows: Values, counts: Values) -> Values:
    """Means of numbers by unit, over the fold and over each replicate: float64[entries, 1 + replicates]."""
    weights = np.vstack([np.ones(rows.shape[1]), counts])
    return rows @ (weights / weights.sum(axis=1, keepdims=True)).T


def _sizes(rng: np.random.Generator, entries: int, axes: int) -> Values:
    """How far entries deviate: from a hundredth to all of a usual error."""
    return 10.0 ** rng.uniform(-2.0, 0.0, (entries, *[1] * axes))


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
        return _holding(self.task, y_true=self._truth)

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
        return np.asarray(self.baseline + size * _sizes(rng, entries, 3) * moved)

    def measured(self, answers: Values, counts: Values) -> Metrics:
        errors = (answers - self._truth).reshape(*answers.shape[:2], -1)
        square, absolute = (_means(rows.mean(axis=2), counts) for rows in (errors**2, np.abs(errors)))
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
        return replace(self.task, grader=replace(self.task.grader, baseline=_placed(self.task, self._random)))

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
            how = float(_sizes(rng, 1, 0)[0])
            if entry % 4 == 0:
                answers[entry] += size * how * rng.standard_normal(count)
            elif entry % 4 == 1:
                answers[entry] += size * how * rng.standard_normal(40)[groups]
            else:
                moved = rng.random(count) < 0.3 * how
                answers[entry, moved] += 10.0 * size * (1.0 if entry % 4 == 2 else -1.0)
        return answers

    def measured(self, answers: Values, counts: Values) -> Metrics:
        columns = _columns_of(self.design, len(counts))
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
        return _holding(self.task, y_true=self._truth)

    @property
    def baseline(self) -> Values:
        return self.part(self.task.grader.baseline)[None]

    @property
    def honest(self) -> Values:
        return np.maximum(self.baseline, self._known)

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Codes named, or not named any more, in some questions, more of them or fewer."""
        base = self.baseline
        shares = 0.3 * _sizes(rng, entries, 2)
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
            found[f"{name}_level_f1"] = _means(2.0 * hit / (true.sum(axis=1) + named.sum(axis=2)), counts)
        return found


class SealedTrading(SealedSeason):
    """Bars whose moves keep their sizes and their order, up or down at random: those of the whole market about the
    drift at which holding everything grows best, and those of each stock beside it about none.

    An entry is weights of stocks for each block of :data:`BLOCK` steps, NaN where nothing is traded:
    [episodes, blocks, stocks].
    """

    def __init__(self, task: HiddenTask, bars: Values, known: Values) -> None:
        design = task.grader.design
        assert design is not None
        super().__init__(task, design)
        self.hidden = {**task.hidden, "private_bars": bars}
        self._known = known
        contract = task.spec.contract
        self._accounts = [
            open_account(contract, bar_episodes.window(contract, self.hidden, number, TAIL))
            for number in range(task.manifest.n_public, task.manifest.n_public + task.manifest.n_private)
        ]

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedTrading:
        """See the base; the signal is the drift of a block that is known, in usual moves of a block."""
        bars, contract = np.asarray(task.hidden["private_bars"], dtype=np.float64), task.spec.contract
        closes = bars[:, :, 3]
        # Open, high, low and close of each bar beside the close before it.
        moves = np.log(bars[1:, :, :4] / closes[:-1, :, None])
        market = moves.mean(axis=1, keepdims=True)
        own, days = moves - market, len(moves)
        market, own = (part * rng.choice([-1.0, 1.0], (days, 1, 1)) for part in (market, own))
        spread = own[:, :, 3].std(axis=0)
        # Each block of an episode has a drift of its own, which comes in overnight.
        known = rng.standard_normal((task.manifest.n_private, contract.steps // BLOCK, closes.shape[1]))
        known -= known.mean(axis=2, keepdims=True)
        daily = np.zeros((days, closes.shape[1]))
        first = contract.lookback - 1
        flat = np.repeat(known.reshape(-1, closes.shape[1]), BLOCK, axis=0)[: days - first]
        daily[first : first + len(flat)] = signal * spread / np.sqrt(BLOCK) * flat
        # Half the variance, at which all of an account that is held in the market grows best.
        drift = 0.5 * market[:, 0, 3].var()
        drawn = market - market[:, :, 3:].mean() + own - own[:, :, 3:].mean(axis=0) + drift + daily[:, :, None]
        # Extremes of what was turned round change places.
        drawn[:, :, 1], drawn[:, :, 2] = drawn.max(axis=2), drawn.min(axis=2)
        levels = np.vstack([np.zeros((1, closes.shape[1])), drawn[:, :, 3].cumsum(axis=0)])
        new = bars.copy()
        new[1:, :, :4] = closes[0][None, :, None] * np.exp(levels[:-1, :, None] + drawn)
        return cls(task, new, known)

    @classmethod
    def given(cls, task: HiddenTask) -> SealedTrading:
        contract = task.spec.contract
        shape = (task.manifest.n_private, contract.steps // BLOCK, len(contract.symbols))
        return cls(task, np.asarray(task.hidden["private_bars"]), np.zeros(shape))

    @property
    def hidden_task(self) -> HiddenTask:
        baseline = _placed(self.task, self.played(self.baseline[0]))
        return replace(self.task, hidden=self.hidden, grader=replace(self.task.grader, baseline=baseline))

    @property
    def baseline(self) -> Values:
        plan = np.full((1, *self._known.shape), np.nan)
        plan[:, :, 0] = 1.0 / plan.shape[3]
        return plan

    @property
    def honest(self) -> Values:
        """Twice as much of a stock as of each other where its drift is one usual move more."""
        return self._weights(1.0 + self._known[None])

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Stocks that are preferred for a block, for an episode or for good, or a part of the account held in cash, in
        turn.
        """
        shape = (entries, *self._known.shape)
        ways = [rng.standard_normal((entries, *size, shape[3])) for size in (shape[1:3], (shape[1], 1), (1, 1))]
        turn = np.arange(entries)[:, None, None, None] % 4
        sizes = 3.0 * _sizes(rng, entries, 3)
        plans = self._weights(1.0 + sizes * np.select([turn == n for n in range(3)], ways, 0.0))
        invested = 1.0 - rng.random((entries, *shape[1:3], 1)) * _sizes(rng, entries, 3)
        return np.where(turn == 3, plans * invested, plans)

    def _weights(self, preferred: Values) -> Values:
        """Weights in proportion to numbers, none of them below nothing; equal ones where all are."""
        liked = np.maximum(preferred, 0.0)
        total = liked.sum(axis=-1, keepdims=True)
        return np.where(total > 0.0, liked / np.where(total > 0.0, total, 1.0), 1.0 / preferred.shape[-1])

    def whole(self, answer: Values) -> Values:
        return super().whole(self.played(answer))

    def played(self, plan: Values) -> Values:
        """The account's records of an entry, [episodes, steps + 1, 7]."""
        records = []
        for session, blocks in zip(self._accounts, plan, strict=True):
            weights = np.full((session.steps, blocks.shape[1]), np.nan)
            weights[::BLOCK] = blocks
            records.append(record_of(session, weights))
        return np.stack(records)

    def submitted(self, entries: Values) -> Values:
        return np.stack([self.played(plan) for plan in entries])

    def measured(self, answers: Values, counts: Values) -> Metrics:
        equity = answers[:, :, :, RecordColumn.EQUITY]
        steps = np.diff(np.log(equity), axis=2).reshape(len(answers), -1)
        assert (equity[:, :, -1] > WEALTH_FLOOR * equity[:, :, 0]).all()
        weights = np.vstack([np.ones(steps.shape[1]), counts])
        return {"log_growth": steps @ weights.T / equity.shape[1]}


def record_of(session: Session, weights: Values) -> Values:
    """The account's record of an episode with given weights.

    Args:
        session: the account before its first decision; it does not move.
        weights: target weights of each step, float64[steps, stocks]; NaN where nothing is traded.
    """
    cash = session.simulator.cash
    account = CompiledAccount(session.bars, session.simulator.market, cash=cash, first=session.first)
    starts = np.zeros(session.steps + 1, np.int64)
    rows = account.run_arrays(np.zeros((0, 8)), starts, weights, ~np.isnan(weights[:, 0]))
    return np.vstack([session.record[:1], rows])


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
