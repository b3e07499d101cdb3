"""The base class of kinds that step through bars (``rolling``, ``trading``, ``live``), and their scaffold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from openfingym.errors import TaskError
from openfingym.kinds.bars.data import BarSource, bar_oddities, bars_of, contract_of, renewed_bars, twin_arrays
from openfingym.kinds.bars.episodes import Cut, cut, fold_of, row_of, scrambled
from openfingym.kinds.bars.own import start_from_bars
from openfingym.kinds.panels import (
    panel_key,
    panel_kind,
    panel_renewable,
)
from openfingym.kinds.sequential import SequentialKind
from openfingym.kinds.start import Given, Start
from openfingym.task.contracts import Contract

if TYPE_CHECKING:
    from openfingym.kinds.instances import Instance, InstanceSplit, TrainingData
    from openfingym.kinds.material import Array, Fold, Material, Reader
    from openfingym.kinds.plots.plot import Plot
    from openfingym.metrics.resampling import Resampling
    from openfingym.task import DataKind, Spec, Task
    from openfingym.task.episodes import Step


bars_start = partial(
    Start,
    data="the bundled bars 'us-stocks-ohlcv'; `openfingym data list` shows the others",
    asset_class="equity",
    frequency="daily",
    panel="daily bars of two stocks",
    dataset="us-stocks-ohlcv",
    split=(0.6, 0.2, 0.2, 5),
    own="or bars of your own: openfingym task new NAME --kind KIND --from BARS; or file = ..., with channels "
    "<symbol>_open to <symbol>_volume and measure = 'mixed'",
)
"""The scaffold of a kind that steps through bars, without the fields that are the kind's own."""


class BarsKind(SequentialKind):
    """A kind that steps through bars."""

    load_train = ("train_bars", "train_times")
    asked: ClassVar[str]
    """What a task of this kind asks for, as the beginning of a sentence, for the instruction of a scaffold."""

    def data_kind(self, task: Task) -> DataKind:
        """The kind of the task's bars, without loading them."""
        return panel_kind(task)

    def source_key(self, task: Task) -> str:
        """A value that changes whenever the bars do."""
        # Real bars are loaded for it: what was pulled can change without any file of the task changing.
        return bars_of(task).digest if task.real else panel_key(task)

    def load(self, task: Task) -> BarSource:
        """The task's bars; see :func:`bars_of`."""
        return bars_of(task)

    def start_from(self, given: Given) -> Start:
        """A scaffold that holds the author's bars."""
        return start_from_bars(self.start, given, self.asked)

    def oddities(self, task: Task) -> tuple[str, ...]:
        """What is odd about the bars."""
        return bar_oddities(task)

    def renewable(self, task: Task) -> bool:
        """Whether the bars come from a simulator of ours."""
        return panel_renewable(task)

    def renewed(self, task: Task, seed: int) -> BarSource:
        """The bars with every row after the training block drawn anew."""
        return renewed_bars(task, seed)

    @abstractmethod
    def shaped(self, task: Task, source: BarSource, cut: Cut) -> Material:
        """The material of a task with given blocks of rows.

        Args:
            task: the task, or one with the contract of an instance.
            source: the bars of the task, or of an instance.
            cut: rows and number of episodes of each block.
        """

    def instance(self, data: TrainingData, split: InstanceSplit, generator: np.random.Generator) -> Instance:
        """An instance on some of the training bars and symbols; see :mod:`openfingym.kinds.bars.training`."""
        from openfingym.kinds.bars.training import bars_instance

        horizon = contract_of(data.task.spec.contract).horizon
        return bars_instance(data, horizon, self.shaped, split, generator)

    def twin(self, spec: Spec, read: Reader, hidden: Mapping[str, Array], seed: int) -> dict[str, Array]:
        """Hidden bars resampled from the training bars."""
        return twin_arrays(np.asarray(read("train_bars")), hidden, spec.rows.embargo, seed)

    def scramble(self, task: Task, source: BarSource, generator: np.random.Generator) -> BarSource:
        """The same training bars, with everything hidden replaced by noise."""
        return scrambled(source, cut(task, source.bars.times, contract_of(task.spec.contract).horizon), generator)

    def resampling(self, contract: Contract, fold: Fold) -> Resampling | None:
        """A bootstrap of blocks of steps through all episodes of a fold, which follow one another in time. A block is
        at least as long as a horizon, within which outcomes overlap.
        """
        from openfingym.metrics.resampling import block_bootstrap

        own, episodes = contract_of(contract), fold.rows.stop - (fold.rows.start or 0)
        return block_bootstrap(episodes * own.steps, fold.truth.seed, shortest=own.horizon)

    def channels(self, task: Task) -> int:
        """Number of symbols."""
        return len(contract_of(task.spec.contract).symbols)

    def steps(self, contract: Contract) -> int:
        """Actions that an episode takes: ``contract.steps``."""
        return contract_of(contract).steps

    def symbols(self, contract: Contract) -> tuple[str, ...]:
        """Names of the symbols, in the order of the arrays: ``contract.symbols``."""
        return contract_of(contract).symbols

    def plots(
        self, spec: Spec, read: Reader, hidden: Mapping[str, Array], counts: tuple[int, int], facts: Mapping[str, Any]
    ) -> Iterable[Plot]:
        """Closes with the episodes, one episode, and distributions of returns and volumes."""
        from openfingym.kinds.bars.plots import bar_plots

        return bar_plots(contract_of(spec.contract), read, hidden, counts)

    def check_shown(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Sequence[Step], before: Step | None
    ) -> None:
        """Check that every observation ends with the bar of its time, and that each adds a single bar."""
        rows = hidden[f"{fold_of(contract_of(contract), hidden, number)}_bars"]
        first = row_of(shown[0])
        if before is not None and first != row_of(before):
            raise TaskError(
                f"episode {number} begins at row {first}, the one before it ends at row {row_of(before)}; no row may "
                "be left out or skipped"
            )
        for k, step in enumerate(shown):
            bars = np.array(step.observation["bars"], dtype=np.float64)
            now = row_of(step)
            if now != first + k:
                raise TaskError(f"episode {number}, step {k}: time_index is {now}, expected {first + k}")
            if not np.array_equal(bars, rows[now + 1 - len(bars) : now + 1]):
                raise TaskError(f"episode {number}, step {k}: the bars shown are not those up to row {now}")

    def later_changed(
        self, contract: Contract, hidden: Mapping[str, Array], number: int, shown: Step
    ) -> Mapping[str, Array]:
        """The hidden arrays with the later bars reversed in time and scaled, so that they are other values and bars."""
        name = f"{fold_of(contract_of(contract), hidden, number)}_bars"
        later, rows = row_of(shown) + 1, hidden[name].copy()
        # Scaling keeps high and low around open and close; random numbers would not.
        rows[later:] = rows[later:][::-1] * 1.5
        return {**hidden, name: rows}
