"""Agents that read labels out of what they are told, by small and well-chosen differences between submissions.

Each works against whoever discloses a score finely enough: :meth:`Attacker.next_submission` is asked for a rollout's
submission, given what was told about all earlier ones; :meth:`Attacker.decoded` is the best answer that the attacker
has by then.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from openfingym.trading.hindsight import hindsight_weights
from openfingym_verifier.scoring.truth import HiddenTask

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Told:
    """One submission and what was disclosed about the fold that is attacked."""

    values: Values
    metrics: dict[str, float] | None
    """As disclosed; None where nothing was."""
    relative: float | None = None
    """The relative total as disclosed; None where nothing was."""


class Attacker(Protocol):
    """A label decoder."""

    def next_submission(self, history: Sequence[Told]) -> Values:
        """The next rollout's submission."""

    def decoded(self, history: Sequence[Told]) -> Values:
        """The answer that all that was told amounts to."""


Disclosure = Callable[[HiddenTask, int, Values], Told]
"""What is told about the n-th submission, from 0."""


def without_errors(task: HiddenTask) -> HiddenTask:
    """The same task, whose scores come without their standard errors: two hundred times as fast, and no attack reads
    these."""
    task.grader.__dict__["design"] = None
    return task


def fully(task: HiddenTask, number: int, values: Values) -> Told:
    """The private metrics as they are."""
    score = task.grader.private_score(values)
    return Told(values, score.metrics, task.relative_total(score, task.grader.baseline_score()))


def rationed(task: HiddenTask, number: int, values: Values) -> Told:
    """The public metrics as feedback rounds them."""
    from openfingym_verifier.disclosure.feedback import feedback

    document = feedback(task.grader.public_score(values), task.spec.scoring, task.spec.verification)
    return Told(values, document["metrics"])  # type: ignore[arg-type]  # a document's values are objects


def pooled(task: HiddenTask, attacker: Attacker, rollouts: int, disclose: Disclosure = fully) -> list[Told]:
    """What an attacker has been told after some rollouts of one submission each."""
    history: list[Told] = []
    for number in range(rollouts):
        history.append(disclose(task, number, attacker.next_submission(history)))
    return history


def gain(task: HiddenTask, values: Values) -> float:
    """By how much an answer's private relative total is below the baseline's: 0 is no gain, 0.99 everything."""
    return 1.0 - task.relative_total(task.grader.private_score(values), task.grader.baseline_score())


class PowersInCells:
    """A few cells a rollout, moved by the powers of a number that exceeds any error: one result gives each its own
    digits.

    The mean squared error of ``base + offset`` exceeds that of ``base`` by (2 offset · error + offset²) / cells.
    """

    def __init__(
        self, base: Values, rows: slice, *, unit: float = 0.01, largest: int = 64, together: int = 6, move: float = 1.0
    ) -> None:
        """``unit`` is the labels' lattice; ``largest`` the largest error in units that can be read."""
        self._base, self._unit, self._move = base, unit, move
        mask = np.zeros(base.shape, dtype=bool)
        mask[rows] = True
        self._cells = np.flatnonzero(mask)
        self._radix, self._together = 2 * largest + 1, together

    def next_submission(self, history: Sequence[Told]) -> Values:
        values = self._base.copy()
        if history:
            cells = self._group(len(history))
            values.flat[cells] += self._move / float(self._radix) ** np.arange(len(cells))
        return values

    def decoded(self, history: Sequence[Told]) -> Values:
        answer = self._base.copy()
        before = history[0].metrics
        for number, told in enumerate(history[1:], 1):
            if before is None or told.metrics is None:
                continue
            cells = self._group(number)
            offsets = (told.values - self._base).flat[cells]
            left = (told.metrics["mse"] - before["mse"]) * len(self._cells) - float(np.sum(offsets**2))
            for cell, offset in zip(cells, offsets, strict=True):
                digits = round(left / (2.0 * offset * self._unit))
                left -= 2.0 * offset * digits * self._unit
                answer.flat[cell] = self._base.flat[cell] - digits * self._unit
        return answer

    def _group(self, number: int) -> NDArray[np.int64]:
        first = (number - 1) * self._together
        return np.take(self._cells, np.arange(first, first + self._together), mode="wrap")


class LinearDesign:
    """Offsets of a design's own, and the errors that explain all results best: least squares with a penalty."""

    def __init__(self, base: Values, rows: slice, *, size: float, penalty: float = 1e-6, seed: int = 0) -> None:
        """``size`` is that of an offset, ``penalty`` relative to the mean square of the design's rows."""
        self._base, self._rows, self._size, self._penalty, self._seed = base, rows, size, penalty, seed

    def pattern(self, number: int) -> Values:
        """The offsets of the n-th rollout, of the shape of the attacked rows."""
        raise NotImplementedError

    def next_submission(self, history: Sequence[Told]) -> Values:
        values = self._base.copy()
        if history:
            values[self._rows] += self.pattern(len(history))
        return values

    def decoded(self, history: Sequence[Told]) -> Values:
        answer = self._base.copy()
        known = [told for told in history[1:] if told.metrics is not None]
        before = history[0].metrics
        if before is None or not known:
            return answer
        design = np.stack([(told.values - self._base)[self._rows].reshape(-1) for told in known])
        cells = design.shape[1]
        rise = np.array([told.metrics["mse"] - before["mse"] for told in known if told.metrics is not None]) * cells
        gram = design @ design.T
        penalty = self._penalty * np.trace(gram) / len(gram)
        error = design.T @ np.linalg.solve(gram + penalty * np.eye(len(gram)), 0.5 * (rise - np.sum(design**2, axis=1)))
        answer[self._rows] -= error.reshape(answer[self._rows].shape)
        return answer


class SignPatterns(LinearDesign):
    """Every cell up or down by the same, at random."""

    def pattern(self, number: int) -> Values:
        generator = np.random.default_rng([self._seed, number])
        return self._size * generator.choice([-1.0, 1.0], self._base[self._rows].shape)


class HadamardPatterns(LinearDesign):
    """Every cell up or down by the same, as a row of Sylvester's matrix says: the best design there is for so many
    results."""

    def pattern(self, number: int) -> Values:
        shape = self._base[self._rows].shape
        both = np.arange(int(np.prod(shape))) & number
        parity = np.zeros(both.shape, dtype=np.int64)
        while both.any():
            parity ^= both & 1
            both >>= 1
        return self._size * (1.0 - 2.0 * parity).reshape(shape)


class WindowShifts(LinearDesign):
    """One window after another, all of it up by the same; then half the windows up and half down, and so on."""

    def pattern(self, number: int) -> Values:
        shape = self._base[self._rows].shape
        if number <= shape[0]:
            signs = np.zeros(shape[0])
            signs[number - 1] = 1.0
        else:
            signs = np.random.default_rng([self._seed, number]).choice([-1.0, 1.0], shape[0])
        return np.broadcast_to(self._size * signs.reshape(-1, *[1] * (len(shape) - 1)), shape)


def white(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """A normal number a cell."""
    return generator.standard_normal(shape)


def window_levels(generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """A normal number a window, reached along the horizon: the few directions in which most of a forecast's error lies.

    Of what we know, it gains most from scores that are disclosed coarsely, with a size of a fifth of the baseline's
    error.
    """
    steps = np.arange(1.0, shape[1] + 1.0)[:, None] / shape[1]
    return generator.standard_normal((shape[0], 1, 1)) * steps * np.ones(shape[2])


class Boosting:
    """Random changes of the best answer so far, kept if it becomes better: all it needs is an order of answers."""

    def __init__(
        self,
        base: Values,
        rows: slice,
        *,
        size: float,
        seed: int = 0,
        draw: Callable[[np.random.Generator, tuple[int, ...]], Values] = white,
    ) -> None:
        self._base, self._rows, self._size, self._seed, self._draw = base, rows, size, seed, draw

    def next_submission(self, history: Sequence[Told]) -> Values:
        if not history:
            return self._base.copy()
        values = self.decoded(history).copy()
        generator = np.random.default_rng([self._seed, len(history)])
        values[self._rows] += self._size * self._draw(generator, values[self._rows].shape)
        return values

    def decoded(self, history: Sequence[Told]) -> Values:
        return min(history, key=_loss).values


def _loss(told: Told) -> float:
    if told.relative is not None:
        return told.relative
    # An infinite loss is never the least but where nothing at all was disclosed, and then the first answer is kept.
    return np.inf if told.metrics is None else told.metrics["mse"]


def golomb_like(count: int) -> list[int]:
    """The Mian-Chowla sequence from 0: all sums of two of its members differ."""
    chosen, sums = [0], {0}
    while len(chosen) < count:
        for candidate in itertools.count(chosen[-1] + 1):
            new = {candidate + old for old in [*chosen, candidate]}
            if not new & sums:
                chosen.append(candidate)
                sums |= new
                break
    return chosen


class GroupTests:
    """Group after group of nodes to the top, at places whose sums tell which of them are positive; the rest is one tie.

    The sum of the positives' ranks follows from the AUROC. What is known to be negative fills the places between.
    """

    def __init__(
        self, shape: tuple[int, ...], rows: slice, positives: int, *, together: int = 20, seed: int = 0
    ) -> None:
        """``positives`` of the fold follow from the share of the known labels, since these are stratified."""
        self._shape, self._first, self._positives = shape, rows.start or 0, positives
        self._count = len(range(*rows.indices(shape[0])))
        self._order = np.random.default_rng(seed).permutation(self._count)
        self._places = golomb_like(together)
        self._known = np.full(self._count, -1)
        self._read = 0

    def next_submission(self, history: Sequence[Told]) -> Values:
        self._learn(history)
        values = np.zeros(self._shape)
        group, fillers, places = self._layout()
        own = values[self._first : self._first + self._count]
        free = sorted(set(range(places[-1] + 1)) - set(places))
        own[group] = 1.0 + np.array(places)
        own[fillers] = 1.0 + np.array(free)
        return values

    def decoded(self, history: Sequence[Told]) -> Values:
        self._learn(history)
        values = np.zeros(self._shape)
        values[self._first : self._first + self._count] = np.where(
            self._known == 1, 2.0, np.where(self._known == 0, 0.0, 1.0)
        )
        return values

    @property
    def labels(self) -> NDArray[np.int64]:
        """What is known: 0 or 1, and -1 for what is not."""
        return self._known

    def _layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """The nodes asked about, the known negatives between them, and the places of the former."""
        unknown = self._order[self._known[self._order] < 0]
        if not len(unknown):
            unknown = self._order
        negatives = self._order[self._known[self._order] == 0]
        size = max(k for k in range(1, len(self._places) + 1) if self._places[k - 1] + 1 - k <= len(negatives))
        places = self._places[: min(size, len(unknown))]
        # Those that could not be told apart come again among others.
        start = 0 if len(unknown) <= size else self._read * 7 % (len(unknown) - len(places) + 1)
        return unknown[start : start + len(places)], negatives[: places[-1] + 1 - len(places)], places

    def _learn(self, history: Sequence[Told]) -> None:
        for told in history[self._read :]:
            group, _, places = self._layout()
            self._read += 1
            if told.metrics is None or (self._known >= 0).all():
                continue
            n, k = self._count, self._positives
            rank_sum = told.metrics["auroc"] * k * (n - k) + k * (k + 1) / 2.0
            tied = n - 1 - places[-1]
            middle = (tied + 1) / 2.0
            known = int(np.sum(self._known == 1))
            found = rank_sum - middle * (k - known) - known * middle
            self._resolve(group, np.array([tied + 1 + place - middle for place in places]), found)

    def _resolve(self, group: NDArray[np.int64], worth: Values, found: float) -> None:
        for count in range(min(len(group), 5)):
            fits = [
                chosen
                for chosen in itertools.combinations(range(len(group)), count)
                if abs(worth[list(chosen)].sum() - found) < 0.25
            ]
            if len(fits) == 1:
                self._known[group] = 0
                self._known[group[list(fits[0])]] = 1
            if fits:
                return


class Hindsight:
    """Watches the bars of the private episodes in one rollout, and in those that follow holds what was best.

    Args of the constructor: ``share`` of the steps at which it does, at random; at the others it holds equal weights.
    """

    def __init__(self, symbols: int, *, cost: float, short: float, share: float = 1.0, seed: int = 0) -> None:
        self._symbols, self._cost, self._short, self._share = symbols, cost, short, share
        self._generator = np.random.default_rng(seed)
        self._seen: dict[int, list[Values]] = {}

    def watch(self, number: int, observation: dict[str, object]) -> None:
        """Note the latest bar of an episode."""
        self._seen.setdefault(number, []).append(np.asarray(observation["bars"], dtype=np.float64)[-1])

    def actions(self, number: int) -> Iterable[object]:
        """What to do at each step of an episode that was watched to its end."""
        bars = np.stack(self._seen[number][1:])
        best = hindsight_weights(bars[:, :, 0], bars[-1, :, 3], cost=self._cost, short=self._short)
        for weights in best:
            knows = self._generator.random() < self._share
            yield {"weights": (weights if knows else np.full(self._symbols, 1.0 / self._symbols)).tolist()}


def watched_then_played(task: HiddenTask, attacker: Hindsight, rollouts: int) -> list[Values]:
    """Records of a rollout that watches and does nothing, and of some that know."""
    assert task.open_episode is not None
    first = task.manifest.n_public
    records = []
    for rollout in range(rollouts + 1):
        record = task.grader.baseline.copy()
        for number in range(task.manifest.n_private):
            episode = task.open_episode(first + number)
            step = episode.start()
            if not rollout:
                attacker.watch(number, step.observation)  # type: ignore[arg-type]  # a trading observation is a mapping
            given = iter(attacker.actions(number)) if rollout else itertools.repeat(None)
            while not (step.terminated or step.truncated):
                step = episode.step(next(given))
                if not rollout:
                    attacker.watch(number, step.observation)  # type: ignore[arg-type]
            record[first + number] = episode.outcome()
        records.append(record)
    return records
