"""Instances of tasks that step through bars: earlier training bars to train on, later ones in episodes.

A package does not state the splits and dividends of its training bars, so an instance has none: if bars are not
adjusted, what these did to prices stays in the bars.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.bars import Bars
from openfingym.kinds.bars.data import BarsContract, BarSource, contract_of
from openfingym.kinds.bars.episodes import Cut, rows_of
from openfingym.kinds.instances import Instance, below, between, origin, some_of, too_little, with_contract
from openfingym.kinds.stretches import placed, public_part, public_share, room

if TYPE_CHECKING:
    from collections.abc import Callable

    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.material import Material
    from openfingym.task import Task

FEWEST_STEPS = 5
"""Fewest steps of an episode, where the task's have so many."""
EPISODES = (4, 8)
"""Fewest and most hidden episodes of an instance."""
MOST_TRAIN = 2000
"""Most training bars of an instance."""


def bars_instance(
    data: TrainingData,
    tail: int,
    shaped: Callable[[Task, BarSource, Cut], Material],
    split: InstanceSplit,
    generator: np.random.Generator,
    **keys: tuple[str, ...],
) -> Instance:
    """An instance of a task about bars; see :meth:`openfingym.kinds.kind.Kind.instance`.

    Args:
        data: the training data of the task.
        tail: rows after an origin that its outcome depends on.
        shaped: makes the material of a task from bars and blocks of rows; see
            :meth:`openfingym.kinds.bars.kind.BarsKind.shaped`.
        split: split of the instance.
        generator: random generator that everything about the instance is drawn from.
        keys: values of further keys of the contract that have an entry for each symbol; those of the instance's symbols
            are kept.
    """
    task, table, contract = data.task, data.task.spec.rows, contract_of(data.task.spec.contract)
    bars, times = data.read("train_bars"), data.read("train_times")
    places, symbols = some_of(generator, contract.symbols, -(-len(contract.symbols) // 2))
    lookback, steps, episodes = _lengths(task, contract, len(bars), tail, generator)
    n_public = public_part(episodes, public_share(table))
    changes: dict[str, object] = {"symbols": symbols, "lookback": lookback, "steps": steps}
    changes |= {key: [values[place] for place in places] for key, values in keys.items()}
    own = with_contract(task, changes)
    asked = contract_of(own.spec.contract)
    # Training bars: at least the context of an episode, and half as many as hidden ones.
    hidden = rows_of(n_public, asked, tail), rows_of(episodes - n_public, asked, tail)
    most = (max(lookback, sum(hidden) // 2), MOST_TRAIN)
    stretch = placed(task, len(bars), hidden, most, split, generator, embargo=table.embargo)
    first = stretch.train.start
    values = np.ascontiguousarray(bars[first : stretch.private.stop][:, places], dtype=np.float64)
    actions = np.broadcast_to(np.array([1.0, 0.0]), (*values.shape[:2], 2))
    source = BarSource(
        Bars.restored(np.array(times[first : stretch.private.stop]), tuple(symbols), values, actions),
        data.info,
        data.digest,
        origin(data, f"rows {first} to {stretch.private.stop - 1} of its training bars"),
    )
    parts = [slice(part.start - first, part.stop - first) for part in (stretch.train, stretch.public, stretch.private)]
    material = shaped(own, source, Cut(parts[0], parts[1], parts[2], n_public, episodes - n_public))
    recipe = (
        *source.recipe,
        f"bars of {', '.join(symbols)}, as they are, without splits and dividends",
        f"{table.embargo} rows dropped before each block",
        f"episodes of {steps} steps, one after the other: {n_public} public, {episodes - n_public} private",
    )
    return Instance(replace(material, recipe=recipe), changes)


def _lengths(
    task: Task, contract: BarsContract, rows: int, tail: int, generator: np.random.Generator
) -> tuple[int, int, int]:
    """Look-back, steps of an episode, and number of hidden episodes; drawn in the same way for both splits.

    Args:
        task: the task that the instance is cut from.
        contract: the contract of the task.
        rows: number of training bars.
        tail: rows after an origin that its outcome depends on.
        generator: random generator that the lengths are drawn from.

    Raises:
        UsageError: the task has too few training bars.
    """
    space = room(rows, task.spec.rows.embargo)
    shortest = min(FEWEST_STEPS, contract.steps)
    # At least a quarter of the task's look-back, or a twelfth (both rounded up), or one bar.
    for least in (-(-contract.lookback // 4), -(-contract.lookback // 12), 1):
        possible = [
            lookback
            for lookback in range(least, contract.lookback + 1)
            if _longest(space, lookback, tail, EPISODES[0]) >= shortest
        ]
        if not possible:
            continue
        # At least half of the rows for steps, where any look-back leaves so many.
        roomy = [lookback for lookback in possible if 2 * (lookback - 1 + tail) <= space // 2] or possible[:1]
        lookback = roomy[below(generator, len(roomy))]
        counts = [n for n in range(EPISODES[0], EPISODES[1] + 1) if _longest(space, lookback, tail, n) >= shortest]
        episodes = counts[below(generator, len(counts))]
        longest = min(_longest(space, lookback, tail, episodes), contract.steps)
        return lookback, between(generator, max(-(-longest // 2), shortest), longest), episodes
    raise too_little(task, f"{rows} bars", "four short episodes in a fifth of them, with what is left out between")


def _longest(space: int, lookback: int, tail: int, episodes: int) -> int:
    """Most steps that each of some episodes can have in two blocks of ``space`` rows together."""
    # Each block begins with the context of its first episode, and ends with the rows that its last outcome needs.
    return (space - 2 * (lookback - 1 + tail)) // episodes
