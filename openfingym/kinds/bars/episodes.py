"""Bars cut into blocks of rows, and hidden blocks into episodes.

::

    rows of a hidden block   |--lookback--|------ steps ------|------ steps ------|-tail-|
    episode 0                 [ context  o o o o o o o o o o o]            tail
    episode 1                                     [ context  o o o o o o o o o o o]  tail

An ``o`` is an origin: the last bar that an agent has seen when it acts. The context of an episode are rows that the
episode before it has played, so hidden rows are shown in the order of time, each for the first time at its own origin,
as long as episodes are played in their order. The tail are the rows after the last origin that its outcome depends on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.bars import FIELDS, Bars
from openfingym.errors import TaskError, UsageError
from openfingym.kinds.bars.data import FOLDS, BarsContract, BarSource, contract_of
from openfingym.kinds.material import Material
from openfingym.kinds.panels import (
    split_text,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.task import Task
    from openfingym.task.episodes import FoldName, Step


@dataclass(frozen=True)
class Cut:
    """The rows of the training, the public and the private block, and how many episodes each hidden block holds."""

    train: slice
    """Rows of the training block."""
    public: slice
    """Rows of the public block."""
    private: slice
    """Rows of the private block."""
    n_public: int
    """Number of episodes of the public block."""
    n_private: int
    """Number of episodes of the private block."""


@dataclass(frozen=True, eq=False)
class Window:
    """The rows of one episode."""

    fold: FoldName
    """Fold that the episode belongs to."""
    first: int
    """Number of the first of these rows within the fold; an agent is shown such numbers in place of times."""
    bars: NDArray[np.float64]
    """Bars, float64[lookback - 1 + steps + tail, symbols, 5]."""
    actions: NDArray[np.float64]
    """Splits and dividends, float64[rows, symbols, 2]."""
    times: NDArray[np.datetime64]
    """Times, datetime64[ns][rows], which an agent is not shown."""


def cut(task: Task, times: NDArray[np.datetime64], tail: int) -> Cut:
    """Rows of each block: embargoes left out, hidden blocks trimmed to whole episodes.

    Args:
        task: the task whose split and contract say how the rows are divided.
        times: the time of each row of the data, datetime64[rows].
        tail: rows after an origin that its outcome depends on.

    Raises:
        TaskError: a block holds no episode; the message says how many rows are enough.
    """
    contract, split = contract_of(task.spec.contract), task.spec.rows
    from openfingym.data.recipe import block_starts, too_short

    rows = len(times)
    first, second = block_starts(times, split)
    blocks = {"public": (first + split.embargo, second), "private": (second + split.embargo, rows)}
    if first < contract.lookback:
        raise TaskError(
            f"the train block has {first} of {rows} rows, fewer than one lookback ({contract.lookback})",
            path=task.config_path,
            key="split.public_from" if split.dated else "split.train",
        )
    slices, counts = {}, {}
    for name, (start, stop) in blocks.items():
        counts[name] = episodes_in(stop - start, contract, tail)
        needs = rows_of(1, contract, tail)
        if counts[name] < 1 and split.dated:
            raise too_short(name, times, split, f"{max(stop - start, 0)} rows, but one episode needs {needs}")
        if counts[name] < 1:
            train, public, _ = (Fraction(str(part)) for part in split.shares)
            share = public if name == "public" else 1 - train - public
            raise TaskError(
                f"the {name} block has {max(stop - start, 0)} of {rows} rows, but one episode needs {needs} (lookback, "
                "steps and what the "
                f"last outcome reaches ahead); with these shares and an embargo of {split.embargo}, "
                f"{math.ceil((needs + split.embargo) / share)} rows are enough",
                path=task.config_path,
                key=f"split.{name}",
            )
        # Rows beyond the last whole episode are left out: no agent would see them, and nothing would be scored on them.
        slices[name] = slice(start, start + rows_of(counts[name], contract, tail))
    return Cut(slice(first), slices["public"], slices["private"], counts["public"], counts["private"])


def rows_of(episodes: int, contract: BarsContract, tail: int) -> int:
    """Number of rows that ``episodes`` consecutive episodes span."""
    # Minus one: the last row of the context is the first origin, and so one of the steps.
    return contract.lookback - 1 + episodes * contract.steps + tail


def episodes_in(rows: int, contract: BarsContract, tail: int) -> int:
    """Number of whole episodes that fit into ``rows`` rows."""
    return max(rows - rows_of(0, contract, tail), 0) // contract.steps


def public_arrays(bars: Bars, blocks: Cut) -> dict[str, Array]:
    """The bars of the training block and their times: what an agent has before its first episode."""
    train = bars.between(blocks.train)
    return {"train_bars": train.to_array(), "train_times": train.times.copy()}


AXES: Mapping[str, tuple[str, ...]] = {"train_bars": ("row", "symbol", "field"), "train_times": ("row",)}
"""Meaning of the axes of the public arrays."""
HIDDEN = tuple(f"{fold}_{part}" for fold in FOLDS for part in ("bars", "actions", "times"))
"""Names of the hidden arrays."""


def material(
    task: Task,
    source: BarSource,
    blocks: Cut,
    *,
    episode: tuple[int, int],
    axes: tuple[str, str],
    labels: tuple[str, ...],
    **more: object,
) -> Material:
    """The material of a task about bars: training bars, and hidden ones in episodes.

    Args:
        task: the task, or one with the contract of an instance.
        source: the bars of the task, or of an instance.
        blocks: rows and number of episodes of each block, as :func:`cut` makes them.
        episode: shape of the outcome of one episode.
        axes: meaning of the two axes of such an outcome.
        labels: names along the last of these axes.
        more: further facts for ``contract.json``, by name.
    """
    return Material(
        info=source.info,
        dataset_digest=source.digest,
        public=public_arrays(source.bars, blocks),
        axes=AXES,
        hidden=hidden_arrays(source.bars, blocks),
        n_train=blocks.train.stop,
        n_public=blocks.n_public,
        n_private=blocks.n_private,
        shape=(blocks.n_public + blocks.n_private, *episode),
        submission_axes=("episode", *axes),
        labels=labels,
        recipe=recipe(task, source, blocks),
        facts={**facts(contract_of(task.spec.contract), blocks), **more},
    )


def hidden_arrays(bars: Bars, blocks: Cut) -> dict[str, Array]:
    """The bars, splits and dividends of both hidden blocks, and their times, which no agent is shown."""
    out: dict[str, Array] = {}
    for name, rows in zip(FOLDS, (blocks.public, blocks.private), strict=True):
        block = bars.between(rows)
        out[f"{name}_bars"] = block.to_array()
        out[f"{name}_actions"] = np.stack([block.split, block.dividend], axis=2)
        out[f"{name}_times"] = block.times.copy()
    return out


def window(contract: BarsContract, hidden: Mapping[str, Array], number: int, tail: int) -> Window:
    """The rows of one episode, as views.

    Args:
        contract: the contract of the task.
        hidden: the hidden arrays of the task, by name.
        number: number of the episode, from 0: public ones first, then the private ones, each in the order of time.
        tail: rows after an origin that its outcome depends on.

    Raises:
        UsageError: there is no episode of this number.
    """
    n_public, n_private = _episodes(contract, hidden, tail)
    if not 0 <= number < n_public + n_private:
        raise UsageError(
            f"there is no episode {number}; there are {n_public} public and {n_private} private ones, counted from 0"
        )
    fold, place = (FOLDS[0], number) if number < n_public else (FOLDS[1], number - n_public)
    first = place * contract.steps
    rows = slice(first, first + rows_of(1, contract, tail))
    bars, actions, times = (hidden[f"{fold}_{part}"][rows] for part in ("bars", "actions", "times"))
    return Window(fold, first, bars, actions, times)


def _episodes(contract: BarsContract, hidden: Mapping[str, Array], tail: int) -> tuple[int, int]:
    """Number of episodes in the public and in the private block."""
    public, private = (episodes_in(len(hidden[f"{fold}_bars"]), contract, tail) for fold in FOLDS)
    return public, private


def fold_of(contract: BarsContract, hidden: Mapping[str, Array], number: int) -> FoldName:
    """The fold that an episode belongs to."""
    # False is 0, the public fold, and True is 1, the private one.
    return FOLDS[number >= _episodes(contract, hidden, contract.horizon)[0]]


def row_of(step: Step) -> int:
    """The number of the last row that an observation shows, counted within the fold."""
    row = step.info["time_index"]
    assert isinstance(row, int)
    return row


def scrambled(source: BarSource, blocks: Cut, generator: np.random.Generator) -> BarSource:
    """The bars with everything from the first hidden row on replaced by noise, the embargo between folds included."""
    bars = source.bars
    values = bars.to_array()
    hidden = values[blocks.public.start :]
    low, high = bars.low.min(axis=0), bars.high.max(axis=0)
    # Four sorted prices as low, open, close and high (fields 2, 0, 3 and 1), so that noise still makes valid bars.
    prices = np.sort(generator.uniform(low[:, None], high[:, None], (*hidden.shape[:2], 4)), axis=2)
    hidden[:, :, 2], hidden[:, :, 0], hidden[:, :, 3], hidden[:, :, 1] = np.moveaxis(prices, 2, 0)
    hidden[:, :, 4] = generator.uniform(1.0, 2.0, hidden.shape[:2]) * bars.volume.max(axis=0)
    return replace(
        source, bars=Bars.from_array(bars.times, bars.symbols, values, split=bars.split, dividend=bars.dividend)
    )


def recipe(task: Task, source: BarSource, blocks: Cut) -> tuple[str, ...]:
    """Every step from the dataset to the episodes, as sentences."""
    contract = contract_of(task.spec.contract)
    halts = int((~source.bars.tradable).sum())
    return (
        *source.recipe,
        f"bars of {', '.join(contract.symbols)}: {', '.join(FIELDS)}, as they are",
        f"halts: {halts or 'none'}; a bar without prices or volume stands at the last close and cannot be traded",
        f"{split_text(task.spec.rows)} rows dropped between",
        (
            f"episodes of {contract.steps} steps, one after the other: {blocks.n_public} public, {blocks.n_private} "
            "private"
        ),
        (
            f"an observation shows {contract.lookback} bars; those before an episode's first origin are rows of the "
            "episode before"
        ),
    )


def facts(contract: BarsContract, blocks: Cut) -> dict[str, object]:
    """What a program should know of the bars and episodes, for ``contract.json``."""
    return {
        "sequential": True,
        "lookback": contract.lookback,
        "horizon": contract.horizon,
        "steps": contract.steps,
        "symbols": list(contract.symbols),
        "channels": list(FIELDS),
        "episodes": {"public": blocks.n_public, "private": blocks.n_private},
    }
