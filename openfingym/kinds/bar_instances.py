"""Instances of tasks that step through bars: earlier training bars to train on, later ones in episodes.

Training bars carry no splits and dividends of their own, so an instance has none: what they did to prices before they
were adjusted is in the bars.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.bars import Bars
from openfingym.kinds.bar_data import BarsContract, BarSource, contract_of
from openfingym.kinds.bar_episodes import Cut, rows_of
from openfingym.kinds.instances import Instance, below, between, origin, some_of, too_little, with_contract
from openfingym.kinds.stretches import placed, public_part, public_share, room

if TYPE_CHECKING:
    from collections.abc import Callable

    from openfingym.kinds.instances import InstanceSplit, TrainingData
    from openfingym.kinds.material import Material
    from openfingym.task import Task

FEWEST_STEPS = 5
"""Steps of an episode at least, where the task's has so many."""
EPISODES = (4, 8)
"""Hidden episodes of an instance, at least and at most."""
MOST_TRAIN = 2000
"""Training bars of an instance at most."""


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
        data: what the task gives to train on.
        tail: rows that the outcome of an origin reaches behind it.
        shaped: makes the material of a task with the instance's contract from bars and blocks of rows.
        split: what the instance is for.
        generator: decides what is in it.
        keys: keys of the contract that have an entry for each symbol, of which those of the instance are kept.
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
    """Look-back, steps of an episode, and hidden episodes; the same for both splits.

    Raises:
        UsageError: there are too few rows.
    """
    space = room(rows, task.spec.rows.embargo)
    shortest = min(FEWEST_STEPS, contract.steps)
    for least in (-(-contract.lookback // 4), -(-contract.lookback // 12), 1):
        # Each block begins with the context of its first episode, and ends with what its last outcome needs.
        most = [
            one for one in range(least, contract.lookback + 1) if _longest(space, one, tail, EPISODES[0]) >= shortest
        ]
        if not most:
            continue
        # Half of the room at least is for steps, where that leaves any look-back.
        roomy = [one for one in most if 2 * (one - 1 + tail) <= space // 2] or most[:1]
        lookback = roomy[below(generator, len(roomy))]
        counts = [n for n in range(EPISODES[0], EPISODES[1] + 1) if _longest(space, lookback, tail, n) >= shortest]
        episodes = counts[below(generator, len(counts))]
        longest = min(_longest(space, lookback, tail, episodes), contract.steps)
        return lookback, between(generator, max(-(-longest // 2), shortest), longest), episodes
    raise too_little(task, f"{rows} bars", "four short episodes in a fifth of them, with what is left out between")


def _longest(space: int, lookback: int, tail: int, episodes: int) -> int:
    """Steps of so many episodes in two blocks."""
    return (space - 2 * (lookback - 1 + tail)) // episodes
