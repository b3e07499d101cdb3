"""What the kinds that step through bars share: blocks of rows, and the episodes they are cut into.

::

    rows of a hidden block   |--lookback--|------ steps ------|------ steps ------|-tail-|
    episode 0                 [ context  o o o o o o o o o o o]            tail
    episode 1                                     [ context  o o o o o o o o o o o]  tail

An ``o`` is an origin: the last bar an agent has seen when it acts. The context of an episode are rows
that episodes before it have played, so hidden rows are shown in the order of time, each for the first
time at its own origin, as long as episodes are played in their order. The tail are the rows behind the
last origin that its outcome needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import field_validator, model_validator

from openfingym.data.bars import FIELDS, Bars
from openfingym.errors import TaskError, UsageError
from openfingym.kinds.kind import SequentialKind
from openfingym.kinds.material import Material
from openfingym.kinds.panels import (
    no_real_data,
    panel_key,
    panel_kind,
    panel_of,
    panel_recipe,
    panel_renewable,
    renewed_panel,
    split_text,
)
from openfingym.kinds.start import Start
from openfingym.task.contracts import Contract, PositiveInt, as_tuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo
    from openfingym.kinds.material import Array, Fold, Reader
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.episodes import FoldName, Step

bars_start = partial(
    Start,
    data="the bundled bars 'us-stocks-ohlcv'; `openfingym data list` shows the others",
    asset_class="equity",
    frequency="daily",
    panel="daily bars of two stocks",
    dataset="us-stocks-ohlcv",
    split=(0.6, 0.2, 0.2, 5),
    own="or file = ..., with channels <symbol>_open to <symbol>_volume and measure = 'mixed'",
)
"""A scaffold of a kind that steps through bars; what is its own is left to say."""
FOLDS: tuple[FoldName, FoldName] = ("public", "private")


class BarsContract(Contract):
    """Base class of contracts about bars: hidden rows are stepped through, episode by episode."""

    has_period: ClassVar[bool] = True

    symbols: tuple[str, ...]
    """Instruments, each with the channels ``<symbol>_open`` to ``<symbol>_volume`` in the dataset; the order of every
    array."""
    lookback: PositiveInt
    """Bars that each observation shows, the current one included."""
    steps: PositiveInt
    """Actions an episode takes."""
    horizon: PositiveInt
    """Bars that the outcome of an origin reaches behind it."""

    _symbols = field_validator("symbols", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _different(self) -> Self:
        if not self.symbols or len(set(self.symbols)) < len(self.symbols):
            raise ValueError(f"symbols must be different names, at least one, found {list(self.symbols)}")
        return self

    def agree(self, spec: Spec) -> None:
        """Check like every contract, and that bars are shown as they are, unscaled and unselected."""
        split = spec.split
        if split is not None and (split.scaling != "none" or split.scaled or split.log1p or split.train_stride != 1):
            raise ValueError(
                "split: bars are shown as they are, row by row; remove train_stride, scaling, scaled and log1p"
            )
        if spec.dataset.channels:
            raise ValueError("dataset.channels: contract.symbols says which bars are used; remove")
        super().agree(spec)


@dataclass(frozen=True, eq=False)
class Source:
    """A task's bars, before anything is hidden."""

    bars: Bars
    info: DatasetInfo
    digest: str
    recipe: tuple[str, ...]


@dataclass(frozen=True)
class Cut:
    """The rows of the training, the public and the private block, and how many episodes each hidden block holds."""

    train: slice
    public: slice
    private: slice
    n_public: int
    n_private: int


@dataclass(frozen=True, eq=False)
class Window:
    """The rows of one episode."""

    fold: FoldName
    first: int
    """Row of the fold that is the first here, by which an agent may tell where episodes lie."""
    bars: NDArray[np.float64]
    """float64[lookback - 1 + steps + tail, S, 5]"""
    actions: NDArray[np.float64]
    """float64[rows, S, 2], split and dividend."""
    times: NDArray[np.datetime64]
    """datetime64[ns][rows]; for whoever may know them, which an agent may not."""


class BarsKind(SequentialKind):
    """A kind that steps through bars."""

    load_train = ("train_bars", "train_times")

    def data_kind(self, task: Task) -> DataKind:
        """What the task's bars are, without loading them."""
        return panel_kind(task)

    def source_key(self, task: Task) -> str:
        """A value that changes with the bars."""
        return bars_of(task).digest if task.real else panel_key(task)

    def load(self, task: Task) -> Source:
        """The task's bars; see :func:`bars_of`."""
        return bars_of(task)

    def renewable(self, task: Task) -> bool:
        """Whether the bars come from a simulator of ours."""
        return panel_renewable(task)

    def renewed(self, task: Task, seed: int) -> Source:
        """The bars with every row behind the training block drawn anew."""
        return renewed_bars(task, seed)

    def twin(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], seed: int) -> dict[str, Array]:
        """Hidden bars resampled from the training bars."""
        return twin_arrays(np.asarray(read("train_bars")), hidden, spec.rows.embargo, seed)

    def scramble(self, task: Task, source: Source, generator: np.random.Generator) -> Source:
        """The same training bars; everything hidden replaced by noise."""
        return scrambled(source, cut(task, len(source.bars), contract_of(task.spec.contract).horizon), generator)

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """Blocks of steps, through all episodes of a fold: one follows the other in time. Steps whose outcomes overlap
        are in one block.
        """
        from openfingym.metrics.resampling import block_bootstrap

        own, episodes = contract_of(contract), fold.rows.stop - (fold.rows.start or 0)
        return block_bootstrap(episodes * own.steps, fold.truth.seed, shortest=own.horizon)

    def channels(self, task: Task) -> int:
        """Symbols."""
        return len(contract_of(task.spec.contract).symbols)

    def steps(self, contract: Contract) -> int:
        """Actions that an episode takes: ``contract.steps``."""
        return contract_of(contract).steps

    def symbols(self, contract: Contract) -> tuple[str, ...]:
        """Names of the symbols, in the order of the arrays: ``contract.symbols``."""
        return contract_of(contract).symbols

    def check_shown(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Sequence[Step], before: Step | None
    ) -> None:
        """Every observation ends with the bar of its time, and the next one adds a single bar."""
        rows = hidden[f"{_fold_of(contract_of(contract), hidden, number)}_bars"]
        first = _row(shown[0])
        if before is not None and first != _row(before):
            raise TaskError(
                f"episode {number} begins at row {first}, the one before it ends at row {_row(before)}; no row may be "
                "left out or skipped"
            )
        for k, step in enumerate(shown):
            bars = np.array(step.observation["bars"], dtype=np.float64)
            now = _row(step)
            if now != first + k:
                raise TaskError(f"episode {number}, step {k}: time_index is {now}, expected {first + k}")
            if not np.array_equal(bars, rows[now + 1 - len(bars) : now + 1]):
                raise TaskError(f"episode {number}, step {k}: the bars shown are not those up to row {now}")

    def later_changed(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Step
    ) -> Mapping[str, Array]:
        """The bars behind the newest one, turned around in time and scaled, so that they stay bars."""
        name = f"{_fold_of(contract_of(contract), hidden, number)}_bars"
        later, rows = _row(shown) + 1, hidden[name].copy()
        rows[later:] = rows[later:][::-1] * 1.5
        return {**hidden, name: rows}


def contract_of(contract: Contract) -> BarsContract:
    """The contract, narrowed to a contract about bars."""
    assert isinstance(contract, BarsContract)
    return contract


def bars_of(task: Task) -> Source:
    """The bars of the contract's symbols, restricted to the dataset's period.

    Raises:
        DataError: they are missing, damaged or contradict themselves.
        TaskError: no row is in the period, or no real data is known.
    """
    contract, reference = contract_of(task.spec.contract), task.spec.dataset
    if not task.real:
        panel = panel_of(task)
        return Source(Bars.from_panel(panel, contract.symbols), panel.info, panel.digest, panel_recipe(panel))
    if reference.pulled is None:
        raise no_real_data(task)
    from openfingym.data.pulled_bars import pulled_bars

    pulled = reference.pulled
    if len(pulled.symbols) != len(contract.symbols):
        raise TaskError(
            f"{len(pulled.symbols)} symbols of {pulled.source} for the {len(contract.symbols)} of contract.symbols; "
            "name one for each",
            path=task.config_path,
            key="dataset.pulled.symbols",
        )
    # The source's symbols go by the task's names, so that the contract stays the same.
    bars, info = pulled_bars(
        pulled.source,
        pulled.symbols,
        names=contract.symbols,
        interval=pulled.interval,
        start=reference.first,
        end=reference.last,
    )
    days = bars.times.astype("datetime64[D]")
    recipe = (
        f"dataset {info.name}: real, {len(bars)} rows, from {days[0]} to {days[-1]}, {info.source}",
        f"calendar: {info.calendar}",
        f"corporate actions: {info.corporate_actions}",
    )
    return Source(bars, info, info.sha256, recipe)


def renewed_bars(task: Task, seed: int) -> Source:
    """The task's bars with every row behind the training block drawn anew; where the panel is simulated."""
    from openfingym.data.recipe import train_rows

    panel = renewed_panel(task, seed, lambda rows: train_rows(rows, task.spec.rows))
    return Source(
        Bars.from_panel(panel, contract_of(task.spec.contract).symbols), panel.info, panel.digest, panel_recipe(panel)
    )


def twin_arrays(train: NDArray[np.float64], hidden: Mapping[str, Array], embargo: int, seed: int) -> dict[str, Array]:
    """The hidden arrays of a twin: one path of resampled bars from the last training close on, public block first.

    Args:
        train: the training bars, float64[T, S, 5].
        hidden: the real hidden arrays, of which shapes and times are kept.
        embargo: bars that pass before each block.
        seed: seed of the resampled path: an integer of any size, not negative.

    Raises:
        DataError: there is too little training to resample.
    """
    from openfingym.trading.twins import resample

    lengths = [len(hidden[f"{fold}_bars"]) for fold in FOLDS]
    path = resample(train, sum(lengths) + embargo * len(lengths), seed)
    out: dict[str, Array] = {}
    start = 0
    for fold, length in zip(FOLDS, lengths, strict=True):
        start += embargo
        out[f"{fold}_bars"] = np.ascontiguousarray(path[start : start + length])
        # Resampled moves hold whatever splits and dividends did to prices; a twin has none of its own.
        out[f"{fold}_actions"] = np.broadcast_to(np.array([1.0, 0.0]), hidden[f"{fold}_actions"].shape).copy()
        out[f"{fold}_times"] = hidden[f"{fold}_times"].copy()
        start += length
    return out


def cut(task: Task, rows: int, tail: int) -> Cut:
    """Rows of each block: embargoes left out, hidden blocks trimmed to whole episodes.

    Args:
        task: the task whose split and contract say how the rows are divided.
        rows: number of rows in the data.
        tail: rows that the outcome of an origin reaches behind it.

    Raises:
        TaskError: a block holds no episode; says how many rows would do.
    """
    contract, split = contract_of(task.spec.contract), task.spec.rows
    from openfingym.data.recipe import train_rows

    train, public = Fraction(str(split.train)), Fraction(str(split.public))
    first = train_rows(rows, split)
    second = first + int(public * rows)
    shares = {
        "public": (first + split.embargo, second, public),
        "private": (second + split.embargo, rows, 1 - train - public),
    }
    if first < contract.lookback:
        raise TaskError(
            f"the train block has {first} of {rows} rows, fewer than one lookback ({contract.lookback})",
            path=task.config_path,
            key="split.train",
        )
    slices, counts = {}, {}
    for name, (start, stop, share) in shares.items():
        counts[name] = episodes_in(stop - start, contract, tail)
        if counts[name] < 1:
            needs = rows_of(1, contract, tail)
            raise TaskError(
                f"the {name} block has {max(stop - start, 0)} of {rows} rows, but one episode needs {needs} (lookback, "
                "steps and what the "
                f"last outcome reaches ahead); with these shares and an embargo of {split.embargo}, "
                f"{math.ceil((needs + split.embargo) / share)} rows are enough",
                path=task.config_path,
                key=f"split.{name}",
            )
        slices[name] = slice(start, start + rows_of(counts[name], contract, tail))
    return Cut(slice(first), slices["public"], slices["private"], counts["public"], counts["private"])


def rows_of(episodes: int, contract: BarsContract, tail: int) -> int:
    """Number of rows that so many consecutive episodes span."""
    return contract.lookback - 1 + episodes * contract.steps + tail


def episodes_in(rows: int, contract: BarsContract, tail: int) -> int:
    """Number of whole episodes that fit into so many rows."""
    return max(rows - rows_of(0, contract, tail), 0) // contract.steps


def public_arrays(bars: Bars, blocks: Cut) -> dict[str, Array]:
    """The bars of the training block and their times: what an agent has before its first episode."""
    train = bars.between(blocks.train)
    return {"train_bars": train.to_array(), "train_times": train.times.copy()}


AXES: Mapping[str, tuple[str, ...]] = {"train_bars": ("row", "symbol", "field"), "train_times": ("row",)}


HIDDEN = tuple(f"{fold}_{part}" for fold in FOLDS for part in ("bars", "actions", "times"))
"""Names of the hidden arrays."""


def material(
    task: Task,
    source: Source,
    blocks: Cut,
    *,
    episode: tuple[int, int],
    axes: tuple[str, str],
    labels: tuple[str, ...],
    **more: object,
) -> Material:
    """Training bars, and hidden ones in episodes.

    Args:
        task: the task.
        source: its bars.
        blocks: of :func:`cut`.
        episode: shape of the outcome of one episode.
        axes: names of that shape's axes.
        labels: along the last of them.
        more: facts of the kind.
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
        tail: rows that the outcome of an origin reaches behind it.

    Raises:
        UsageError: there is no such episode.
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


def _fold_of(contract: BarsContract, hidden: Mapping[str, Array], number: int) -> FoldName:
    return FOLDS[number >= _episodes(contract, hidden, contract.horizon)[0]]


def _row(step: Step) -> int:
    """The number of the last row that an observation shows, counted within the fold."""
    found = step.info["time_index"]
    assert isinstance(found, int)
    return found


def scrambled(source: Source, blocks: Cut, generator: np.random.Generator) -> Source:
    """The bars with everything from the first hidden row on replaced by noise, which still are bars; the embargo
    between as well.
    """
    bars = source.bars
    values = bars.to_array()
    hidden = values[blocks.public.start :]
    low, high = bars.low.min(axis=0), bars.high.max(axis=0)
    prices = np.sort(generator.uniform(low[:, None], high[:, None], (*hidden.shape[:2], 4)), axis=2)
    hidden[:, :, 2], hidden[:, :, 0], hidden[:, :, 3], hidden[:, :, 1] = np.moveaxis(prices, 2, 0)
    hidden[:, :, 4] = generator.uniform(1.0, 2.0, hidden.shape[:2]) * bars.volume.max(axis=0)
    return replace(
        source, bars=Bars.from_array(bars.times, bars.symbols, values, split=bars.split, dividend=bars.dividend)
    )


def recipe(task: Task, source: Source, blocks: Cut) -> tuple[str, ...]:
    """Every step from the dataset to the episodes."""
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
    """What a program should know, for ``contract.json``."""
    return {
        "sequential": True,
        "lookback": contract.lookback,
        "horizon": contract.horizon,
        "steps": contract.steps,
        "symbols": list(contract.symbols),
        "channels": list(FIELDS),
        "episodes": {"public": blocks.n_public, "private": blocks.n_private},
    }
