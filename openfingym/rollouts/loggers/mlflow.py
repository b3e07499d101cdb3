"""Results as runs of MLflow, in an experiment named as the run's folder; ``$MLFLOW_TRACKING_URI`` says where."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from openfingym.results import RolloutResult
from openfingym.rollouts.loggers import figures_of, labels_of


class MlflowLogger:
    """A run of MLflow for each rollout: its labels as parameters, its figures as metrics."""

    needs = "mlflow"

    def __init__(self, folder: Path) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient()
        # A run that is gone on with adds to the experiment of its earlier part.
        known = self._client.get_experiment_by_name(folder.name)
        self._experiment = self._client.create_experiment(folder.name) if known is None else known.experiment_id

    def ended(self, result: RolloutResult) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""
        from mlflow.entities import Metric, Param

        # MLflow's times are milliseconds since the epoch.
        started_ms = int(1000.0 * datetime.fromisoformat(result.started_at).timestamp()) if result.started_at else 0
        name = f"{result.task} {result.agent} {result.seed}"
        run = self._client.create_run(self._experiment, start_time=started_ms or None, run_name=name).info.run_id
        ended_ms = started_ms + int(1000.0 * result.wall_s) if started_ms else int(1000.0 * time.time())
        figures = [Metric(key, value, ended_ms, 0) for key, value in figures_of(result).items()]
        self._client.log_batch(run, figures, [Param(*label) for label in labels_of(result).items()])
        whole = result.state in {"scored", "rejected"}
        self._client.set_terminated(run, "FINISHED" if whole else "FAILED", ended_ms or None)

    def close(self) -> None:
        """See :class:`openfingym.rollouts.loggers.RunLogger`."""


LOGGER = MlflowLogger
