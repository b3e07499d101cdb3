"""Results in Weights & Biases: a run of its project ``openfingym``, or of ``$WANDB_PROJECT``."""

from __future__ import annotations

import os
from pathlib import Path

from openfingym.results import RolloutResult
from openfingym.rollouts.loggers import figures_of, labels_of


class WandbLogger:
    """A step for each rollout, with a series for each figure, kind of data, task, agent and model; a table of all at
    the end.
    """

    needs = "wandb"

    def __init__(self, folder: Path) -> None:
        import wandb

        project = os.environ.get("WANDB_PROJECT", "openfingym")
        self._run = wandb.init(project=project, name=folder.name, dir=os.environ.get("WANDB_DIR", str(folder)))
        self._rows: list[dict[str, str | float]] = []

    def ended(self, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""
        series = "/".join(filter(None, (result.data_kind, result.task, result.agent, result.model)))
        figures = figures_of(result)
        self._run.log({f"{name}/{series}": value for name, value in figures.items()})
        self._rows.append({**labels_of(result), **figures})

    def close(self) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""
        if self._rows:
            from wandb import Table

            columns = list(dict.fromkeys(name for row in self._rows for name in row))
            data = [[row.get(name) for name in columns] for row in self._rows]
            self._run.log({"rollouts": Table(columns=columns, data=data)})
        self._run.finish()


LOGGER = WandbLogger
