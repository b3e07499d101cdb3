"""Parties that pool what a season tells them: answers that differ at random, kept where they are told to be better, and
then questions of one bit at the edge of what is told.

A :class:`Field` is a task as colluders see it: numbers that move the baseline's answer, and directions to move it in
that know no hidden value. Whatever asks is a new party each time its own ration is used up.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import SubmissionError
from openfingym.metrics import Score
from openfingym.trading.hindsight import hindsight_weights
from openfingym_verifier.bucket import Bucket
from openfingym_verifier.disclosure.ladder import LadderAnswer, surely_reached
from openfingym_verifier.disclosure.rations import Rations
from openfingym_verifier.ledger.rows import RolloutRow, SeasonRecord
from openfingym_verifier.policy import STRICT
from openfingym_verifier.scoring.truth import HiddenTask

Values = NDArray[np.float64]
PARTIES = 1000
SEASON = SeasonRecord("open", 0, None, "disclosing")
BLOCK = 20
"""Steps of a trading episode for which weights stay the same."""


@dataclass(frozen=True, eq=False)
class Field:
    """A task as colluders see it."""

    task: HiddenTask
    values: Callable[[Values], Values]
    """The submission that numbers stand for; of zeros it is the baseline's."""
    direction: Callable[[np.random.Generator], Values]
    """A direction without any skill, of the size of a usual error."""
    skill: Values
    """A direction with skill, which follows from hidden values: for answers of honest parties."""

    def gain(self, numbers: Values) -> float:
        """By how much the answer's private relative total is below the baseline's."""
        grader = self.task.grader
        score = grader.private_fold_score(self.values(numbers))
        return 1.0 - self.task.relative_total(score, grader.private_fold_score(grader.baseline))

    def honest(self, gain: float) -> Values:
        """Numbers of an answer with so much gain, to a thousandth where that can be reached."""
        low, high = 0.0, 1.0
        for _ in range(10):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.gain(middle * self.skill) < gain else (low, middle)
        return high * self.skill


def field_of(task: HiddenTask) -> Field:
    """The field of a forecast, a graph, questions with codes, or a trading task."""
    if task.spec.contract.kind == "trading":
        return _trading_field(task)
    rows, baseline = task.grader.private.rows, task.grader.baseline
    hidden = _targets(task)
    if task.spec.contract.kind == "forecast":
        size = float(np.abs(hidden - baseline[rows]).std())
        return Field(
            task,
            lambda numbers: _with(baseline, rows, baseline[rows] + numbers),
            lambda rng: size * rng.standard_normal(hidden.shape).cumsum(axis=1) / np.sqrt(hidden.shape[1]),
            hidden - baseline[rows],
        )
    if task.spec.contract.kind == "nodes":
        size = float(baseline.std())
        return Field(
            task,
            lambda numbers: _with(baseline, rows, baseline[rows] + numbers),
            lambda rng: size * rng.standard_normal(hidden.shape),
            3.0 * size * (hidden - hidden.mean()),
        )
    # A row begins with how the question ended, which is not scored; behind that it says which codes are named.
    named = baseline[rows][:, 1:]

    def naming(numbers: Values) -> Values:
        values = baseline.copy()
        values[rows, 1:] = named + numbers > 0.5
        return values

    return Field(
        task,
        naming,
        # A code in twenty-five is named, or not named any more, also by half of the direction.
        lambda rng: np.where(rng.random(hidden.shape) < 0.04, 2.0 - 4.0 * named, 0.0),
        (hidden - named) * (0.5 + np.random.default_rng(0).random(hidden.shape)),
    )


def _targets(task: HiddenTask) -> Values:
    """What is hidden of the private fold, in the form of an answer."""
    arrays = task.grader.private.truth.arrays
    named = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    shape = task.grader.baseline[task.grader.private.rows].shape
    return next(array for array in named.values() if array.ndim == len(shape) and len(array) == shape[0])


def _with(baseline: Values, rows: slice, own: Values) -> Values:
    values = baseline.copy()
    values[rows] = own
    return values


def _trading_field(task: HiddenTask) -> Field:
    assert task.open_episode is not None
    symbols, first = len(task.spec.contract.symbols), task.manifest.n_public
    blocks = -(-task.spec.contract.steps // BLOCK)
    shape = (task.manifest.n_private, blocks, symbols)
    known: dict[bytes, Values] = {}

    def values(numbers: Values) -> Values:
        key = numbers.tobytes()
        if key not in known:
            known.clear()
            known[key] = task.grader.baseline.copy()
            for number in range(shape[0]) if numbers.any() else ():
                known[key][first + number] = _traded(task, first + number, numbers[number])
        return known[key]

    skill = np.zeros(shape)
    for number in range(shape[0]):
        episode = task.open_episode(first + number)
        step, bars = episode.start(), []
        while not (step.terminated or step.truncated):
            step = episode.step(None)
            bars.append(np.asarray(step.observation["bars"])[-1])
        seen = np.stack(bars)
        best = np.asarray(list(hindsight_weights(seen[:, :, 0], seen[-1, :, 3], cost=3e-4, short=True)))
        for block in range(blocks):
            skill[number, block] = best[block * BLOCK : (block + 1) * BLOCK].mean(axis=0) - 1.0 / symbols
    return Field(task, values, lambda rng: 0.3 * rng.standard_normal(shape), skill)


def _traded(task: HiddenTask, episode_number: int, numbers: Values) -> Values:
    """The outcome of an episode with these weights beside equal ones, block by block."""
    assert task.open_episode is not None
    episode = task.open_episode(episode_number)
    step = episode.start()
    for count in itertools.count():
        if step.terminated or step.truncated:
            return episode.outcome()
        weights = numbers[min(count // BLOCK, len(numbers) - 1)] + 1.0 / numbers.shape[1]
        step = episode.step({"weights": (weights / max(1.0, float(np.abs(weights).sum()))).tolist()})
    raise AssertionError


@dataclass
class Season:
    """A disclosing season at the verifier's own rations and ladder, asked by a thousand parties."""

    task: HiddenTask
    rations: Rations = field(default_factory=lambda: Rations({SEASON.name: SEASON}))
    asked: int = 0
    raised: int = 0

    def ask(self, values: Values) -> LadderAnswer | None:
        """What some party is told of an answer."""
        party, self.asked = self.asked // (STRICT.private_disclosures or 1), self.asked + 1
        if party >= PARTIES:
            return None
        row = RolloutRow(
            *("r", self.task.name, "d", None, None, 1, 0, 1, 1, 0, None, Bucket(1.0, 0), None),
            principal=f"p{party}",
            season=SEASON.name,
            policy="strict",
        )
        told = self.rations.take_private(row, _surely(self.task, values), read=True)
        self.raised += told.ladder is not None and told.ladder.rung is not None
        return told.ladder


@functools.cache
def _baseline(task: HiddenTask) -> Score:
    return task.grader.baseline_score()


def _surely(task: HiddenTask, values: Values) -> float | None:
    """What an answer has surely reached, as the verifier computes it."""
    try:
        score, baseline = task.grader.private_score(values), _baseline(task)
    except SubmissionError:
        return None
    return surely_reached(task.relative_total(score, baseline), task.sampling_error(score, baseline))


def collude(
    field_: Field, season: Season, seed: int, *, climbs: int, start: Values | None = None
) -> tuple[Values, Values]:
    """Climb, then ask at the edge; returns the numbers of the best answer by then, and those of the start.

    Args:
        field_: the task.
        season: what answers.
        seed: of the directions.
        climbs: how many answers are used for the climb; all others go to the edge.
        start: numbers of an honest answer; None to begin with the baseline's.
    """
    rng = np.random.default_rng(seed)
    begin = 0.0 * field_.direction(rng) if start is None else start
    best, size = begin, 0.5
    for _ in range(climbs):
        tried = best + size * field_.direction(rng)
        told = season.ask(field_.values(tried))
        if told is None:
            return best, begin
        better = told.rung is not None
        best, size = (tried, 1.3 * size) if better else (best, 0.985 * size)
    votes = 0.0 * best
    count = 0
    while (told := season.ask(field_.values(best + size * (way := field_.direction(rng))))) is not None:
        count += 1
        votes = votes + (way if told.rung is not None else -way)
    return best + size * votes / max(1, count), begin


def climbed_by_exact_scores(field_: Field, seed: int, *, answers: int) -> float:
    """The gain of a climb from the baseline where scores are told as they are: that the attack is one."""
    rng = np.random.default_rng(seed)
    best, size = 0.0 * field_.direction(rng), 0.5
    reached = field_.gain(best)
    for _ in range(answers):
        tried = best + size * field_.direction(rng)
        if (gain := field_.gain(tried)) > reached:
            best, reached, size = tried, gain, 1.3 * size
        else:
            size *= 0.985
    return reached
