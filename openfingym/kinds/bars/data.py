"""The bars of a task that steps through them: the contract that such tasks share, and where the bars come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from pydantic import field_validator, model_validator

from openfingym.data.bars import Bars
from openfingym.errors import TaskError
from openfingym.kinds.panels import (
    panel_of,
    panel_recipe,
    renewed_panel,
)
from openfingym.kinds.real_forms import required_form
from openfingym.task.contracts import Contract, PositiveInt, as_tuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.data import DatasetInfo
    from openfingym.kinds.material import Array
    from openfingym.task import Spec, Task
    from openfingym.task.episodes import FoldName

FOLDS: tuple[FoldName, FoldName] = ("public", "private")
"""Both folds, in the order of time."""


class BarsContract(Contract):
    """Base class of contracts about bars: hidden rows are stepped through, episode by episode."""

    has_period: ClassVar[bool] = True

    symbols: tuple[str, ...]
    """Names of the instruments, in the order of every array; each has the channels ``<symbol>_open`` to
    ``<symbol>_volume`` in the dataset."""
    lookback: PositiveInt
    """Bars that each observation shows, the current one included."""
    steps: PositiveInt
    """Actions that an episode takes."""
    horizon: PositiveInt
    """Bars after an origin that its outcome depends on."""

    _symbols = field_validator("symbols", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _different(self) -> Self:
        if not self.symbols or len(set(self.symbols)) < len(self.symbols):
            raise ValueError(f"symbols must be different names, at least one, found {list(self.symbols)}")
        return self

    def agree(self, spec: Spec) -> None:
        """Check as every contract does, and that bars are used as they are, without scaling and without selection."""
        split = spec.split
        if split is not None and (
            split.scaling != "none" or split.scaled or split.log1p or split.train_stride != 1 or split.hidden_stride
        ):
            raise ValueError(
                "split: bars are shown as they are, row by row; remove train_stride, hidden_stride, scaling, scaled "
                "and log1p"
            )
        if spec.dataset.channels:
            raise ValueError("dataset.channels: contract.symbols says which bars are used; remove")
        super().agree(spec)


@dataclass(frozen=True, eq=False)
class BarSource:
    """A task's bars, before anything is hidden."""

    bars: Bars
    """The bars of the contract's symbols."""
    info: DatasetInfo
    """Provenance of the data."""
    digest: str
    """Hex SHA-256 of the data."""
    recipe: tuple[str, ...]
    """The steps from the dataset to the bars, as sentences."""


def contract_of(contract: Contract) -> BarsContract:
    """The contract, narrowed to a contract about bars."""
    assert isinstance(contract, BarsContract)
    return contract


def bars_of(task: Task) -> BarSource:
    """The bars of the contract's symbols, restricted to the dataset's period.

    Raises:
        DataError: the bars are missing or damaged, or contradict themselves.
        TaskError: no row is in the period, or real data is asked for and none is known.
    """
    contract, reference = contract_of(task.spec.contract), task.spec.dataset
    if not task.real:
        panel = panel_of(task)
        return BarSource(Bars.from_panel(panel, contract.symbols), panel.info, panel.digest, panel_recipe(panel))
    from openfingym.data.vendor_bars import pulled_bars

    _, pulled = required_form(task)
    if len(pulled.symbols) != len(contract.symbols):
        raise TaskError(
            f"{len(pulled.symbols)} symbols of {pulled.source} for the {len(contract.symbols)} of contract.symbols; "
            "name one for each",
            path=task.config_path,
            key="dataset.pulled.symbols",
        )
    # The source's symbols get the task's names, so that the contract stays the same.
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
    return BarSource(bars, info, info.sha256, recipe)


def bar_oddities(task: Task) -> tuple[str, ...]:
    """What is odd about a task's bars, hidden rows included; see :func:`openfingym.data.plausibility.oddities`."""
    from openfingym.data.bars import FIELDS
    from openfingym.data.plausibility import oddities
    from openfingym.data.recipe import train_rows

    bars = bars_of(task).bars
    columns = (*(getattr(bars, field) for field in FIELDS), bars.split)
    names = [f"{symbol}_{field}" for symbol in bars.symbols for field in (*FIELDS, "split")]
    # [rows, symbols, columns], in the order of the names.
    values = np.stack(columns, axis=2).reshape(len(bars), -1)
    return oddities(bars.times, names, values, hidden_from=train_rows(bars.times, task.spec.rows))


def renewed_bars(task: Task, seed: int) -> BarSource:
    """The task's bars with every row after the training block drawn anew.

    Args:
        task: the task, whose panel must be simulated.
        seed: seed from which the new rows are drawn.
    """
    from openfingym.data.recipe import train_rows

    panel = renewed_panel(task, seed, lambda times: train_rows(times, task.spec.rows))
    return BarSource(
        Bars.from_panel(panel, contract_of(task.spec.contract).symbols), panel.info, panel.digest, panel_recipe(panel)
    )


def twin_arrays(train: NDArray[np.float64], hidden: Mapping[str, Array], embargo: int, seed: int) -> dict[str, Array]:
    """The hidden arrays of a twin: one path of resampled bars from the last training close on, public block first.

    Args:
        train: the training bars, float64[rows, symbols, 5].
        hidden: the real hidden arrays, of which shapes and times are kept.
        embargo: bars that pass before each block.
        seed: seed of the resampled path: an integer of any size, not negative.

    Raises:
        DataError: there are too few training bars to resample.
    """
    from openfingym.trading.twins import resample

    lengths = [len(hidden[f"{fold}_bars"]) for fold in FOLDS]
    path = resample(train, sum(lengths) + embargo * len(lengths), seed)
    out: dict[str, Array] = {}
    start = 0
    for fold, length in zip(FOLDS, lengths, strict=True):
        start += embargo
        out[f"{fold}_bars"] = np.ascontiguousarray(path[start : start + length])
        # What splits and dividends did to prices is in the resampled moves, so that a twin has none of its own.
        out[f"{fold}_actions"] = np.broadcast_to(np.array([1.0, 0.0]), hidden[f"{fold}_actions"].shape).copy()
        out[f"{fold}_times"] = hidden[f"{fold}_times"].copy()
        start += length
    return out
