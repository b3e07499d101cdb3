"""Checks of sequential tasks in ``openfingym task check``: episodes show the past, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds import sequential_kind

if TYPE_CHECKING:
    from openfingym.kinds import Array, SequentialKind
    from openfingym.packages.package import BuiltPackage
    from openfingym.task.episodes import Step, SteppedEpisode


def check_episodes(package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """Play every episode with its best actions and look at what it shows; returns what was found, as a sentence.

    Raises:
        TaskError: an observation shows another bar than that of its time, or depends on a later one; an episode is not
            a function of its actions, or does not lead to the outcome that its best actions are said to have.
    """
    kind = sequential_kind(package.task.spec.contract)
    manifest = package.manifest
    best = kind.oracle(package.task.spec.contract, hidden, manifest.submission_shape)
    steps = 0
    before: Step | None = None
    for number in range(manifest.n_test):
        actions = list(kind.oracle_actions(package.task.spec, package.array, hidden, number))
        episode = kind.episode(package.task.spec, package.array, hidden, number)
        shown = list(_play(episode, actions))
        kind.check_shown(
            package.task.spec.contract, hidden, number, shown, None if number == manifest.n_public else before
        )
        before = shown[-1]
        _ends(number, shown)
        if not np.array_equal(episode.outcome(), best[number]):
            raise TaskError(f"episode {number}: its best actions do not lead to the outcome that the oracle has")
        _no_later_row(kind, package, hidden, number, actions, shown)
        steps += len(shown) - 1
    _left_alone(kind, package, hidden)
    return (
        f"{manifest.n_test} episodes, {steps} steps in all, show what is hidden in the order of time, and nothing that "
        "comes later; the same actions give the same bytes"
    )


def _play(episode: SteppedEpisode, actions: Sequence[object]) -> Iterator[Step]:
    """What each step of an episode shows, one at a time: all of them together take much memory."""
    step = episode.start()
    yield step
    for action in actions:
        if step.done:
            return
        step = episode.step(action)
        yield step


def _ends(number: int, shown: Sequence[Step]) -> None:
    """An episode ends, and all it shows can be told."""
    if not shown[-1].done:
        raise TaskError(f"episode {number} does not end after its {len(shown) - 1} actions")
    try:
        json.dumps([[step.observation, step.info, step.reward] for step in (shown[0], shown[-1])], allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TaskError(f"episode {number} shows something that is no JSON value: {error}") from None


def _no_later_row(
    kind: SequentialKind,
    package: BuiltPackage,
    hidden: Mapping[str, Array],
    number: int,
    actions: Sequence[object],
    shown: Sequence[Step],
) -> None:
    """Check that changing the rows behind an origin changes nothing that is shown up to it."""
    middle = len(shown) // 2
    altered = kind.later_changed(package.task.spec.contract, hidden, number, shown[middle])
    again = _play(kind.episode(package.task.spec, package.array, altered, number), actions[:middle])
    for k, (ours, theirs) in enumerate(zip(shown, again, strict=False)):
        if ours != theirs:
            raise TaskError(
                f"episode {number}, step {k}: what is shown depends on rows that come later ({dict(ours.info)})"
            )
    whole = _play(kind.episode(package.task.spec, package.array, hidden, number), actions)
    if any(ours != theirs for ours, theirs in zip_longest(shown, whole)):
        raise TaskError(f"episode {number}: the same actions are not shown the same twice")


def _left_alone(kind: SequentialKind, package: BuiltPackage, hidden: Mapping[str, Array]) -> None:
    """The outcome of an episode that nobody plays is that of one in which nothing is done."""
    last = package.manifest.n_test - 1
    steps = len(list(kind.oracle_actions(package.task.spec, package.array, hidden, last)))
    untouched = kind.episode(package.task.spec, package.array, hidden, last).outcome()
    idle = kind.episode(package.task.spec, package.array, hidden, last)
    for _ in _play(idle, [None] * steps):
        pass
    if not np.array_equal(untouched, idle.outcome()):
        raise TaskError("an episode that nobody plays has another outcome than one in which nothing is done")
