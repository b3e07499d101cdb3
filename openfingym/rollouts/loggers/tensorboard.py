"""Results as scalars of TensorBoard, in the folder ``tensorboard`` of the run: ``tensorboard --logdir runs/demo``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from openfingym.results import RolloutResult
from openfingym.rollouts.loggers import figures_of


class TensorBoardLogger:
    """A series for each figure, kind of data, task, agent and model; its steps count the rollouts."""

    needs = "tensorboardX"

    def __init__(self, folder: Path) -> None:
        from tensorboardX import SummaryWriter

        self._writer = SummaryWriter(str(folder / "tensorboard"))
        self._steps: Counter[str] = Counter()

    def ended(self, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""
        series = "/".join(filter(None, (result.data_kind, result.task, result.agent, result.model)))
        for name, value in figures_of(result).items():
            self._writer.add_scalar(f"{name}/{series}", value, self._steps[series])
        self._steps[series] += 1
        # So that a page that is open shows it, and a run that is killed has it.
        self._writer.flush()

    def close(self) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""
        self._writer.close()


LOGGER = TensorBoardLogger
