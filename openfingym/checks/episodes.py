"""Checks of sequential tasks in ``openfingym task check``: an episode shows the past, and nothing later."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from openfingym.checks.finding import Progress, silent
from openfingym.errors import TaskError
from openfingym.kinds import sequential_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds import SequentialKind
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym.task.episodes import Step, SteppedEpisode


def check_episodes(
    package: BuiltPackage,
    hidden: Mapping[str, Array],
    best: NDArray[np.float64] | None = None,
    progress: Progress = silent,
) -> str:
    """Play every episode with its best actions and check what it shows; returns what was found, as a sentence.

    Args:
        package: the built package of a sequential task.
        hidden: the hidden arrays by name.
        best: the oracle's answer; None to compute it.
        progress: called with what is being done.

    Raises:
        TaskError: an observation shows a bar other than that of its time, or depends on a later one; an episode is not
            a function of its actions, or its best actions do not lead to the outcome that the oracle states.
    """
    kind = sequential_kind(package.task.spec.contract)
    manifest = package.manifest
    if best is None:
        best = kind.oracle(package.task.spec.contract, hidden, manifest.submission_shape)
    steps = 0
    before: Step | None = None
    for number in range(manifest.n_test):
        at = f"episode {number + 1} of {manifest.n_test}"
        progress(f"{at}: its best actions")
        actions = list(kind.oracle_actions(package.task.spec, package.array, hidden, number))
        episode = kind.episode(package.task.spec, package.array, hidden, number)
        shown = list(_counted(_play(episode, actions), len(actions), at, progress))
        # Episodes are numbered through both folds; the first of the private fold follows no other in its fold.
        kind.check_shown(
            package.task.spec.contract, hidden, number, shown, None if number == manifest.n_public else before
        )
        before = shown[-1]
        _ends(number, shown)
        if not np.array_equal(episode.outcome(), best[number]):
            raise TaskError(f"episode {number}: its best actions do not lead to the outcome that the oracle has")
        progress(f"{at}: once more, with later rows changed")
        _no_later_row(kind, package, hidden, number, actions, shown)
        steps += len(shown) - 1
    _left_alone(kind, package, hidden)
    return (
        f"{manifest.n_test} episodes, {steps} steps in all, show what is hidden in the order of time, and nothing that "
        "comes later; the same actions give the same bytes"
    )


def _play(episode: SteppedEpisode, actions: Sequence[object]) -> Iterator[Step]:
    """Play an episode, and yield what each step shows; one at a time, as all of them together take much memory."""
    step = episode.start()
    yield step
    for action in actions:
        if step.done:
            return
        step = episode.step(action)
        yield step


def _counted(steps: Iterator[Step], total: int, at: str, progress: Progress) -> Iterator[Step]:
    """The same steps; says now and then how many have been played."""
    for number, step in enumerate(steps):
        if number and number % 500 == 0:
            progress(f"{at}, step {number} of {total}")
        yield step


def _ends(number: int, shown: Sequence[Step]) -> None:
    """Check that an episode ends after its actions, and that what it shows can be sent as JSON."""
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
    """Check that changing the rows after a step changes nothing shown up to it, and that a replay shows the same."""
    # Halfway, so that there are rows on both sides, whatever the length of the episode.
    middle = len(shown) // 2
    altered = kind.later_changed(package.task.spec.contract, hidden, number, shown[middle])
    replay = _play(kind.episode(package.task.spec, package.array, altered, number), actions[:middle])
    # The replay stops in the middle, and only that far is anything compared.
    for k, (first, second) in enumerate(zip(shown, replay, strict=False)):
        if first != second:
            raise TaskError(
                f"episode {number}, step {k}: what is shown depends on rows that come later ({dict(first.info)})"
            )
    whole = _play(kind.episode(package.task.spec, package.array, hidden, number), actions)
    if any(first != second for first, second in zip_longest(shown, whole)):
        raise TaskError(f"episode {number}: the same actions are not shown the same twice")


def _left_alone(kind: SequentialKind, package: BuiltPackage, hidden: Mapping[str, Array]) -> None:
    """Check that an episode that nobody plays has the outcome of one in which nothing is done at every step."""
    # An agent that stops early is scored without those steps being played, and must not gain or lose by that.
    last = package.manifest.n_test - 1
    steps = len(list(kind.oracle_actions(package.task.spec, package.array, hidden, last)))
    untouched = kind.episode(package.task.spec, package.array, hidden, last).outcome()
    idle = kind.episode(package.task.spec, package.array, hidden, last)
    for _ in _play(idle, [None] * steps):
        pass
    if not np.array_equal(untouched, idle.outcome()):
        raise TaskError("an episode that nobody plays has another outcome than one in which nothing is done")
