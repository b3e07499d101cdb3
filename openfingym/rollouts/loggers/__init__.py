"""Loggers, such as TensorBoard, which are told of the results of a run as they come in.

A logger is a class ``LOGGER`` in a module of this package; or such a class of an installed distribution, found through
an entry point of the group ``openfingym.loggers`` with the logger's name. It is made with the folder of the run, and
told of every result that is kept (:class:`RunLogger`). It works beside the run: its failures fail no rollout, and no
rollout waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from openfingym.errors import UsageError
from openfingym.plugins import Plugins
from openfingym.results import RolloutResult

ENTRY_POINT_GROUP = "openfingym.loggers"
OWN = ("tensorboard", "mlflow", "wandb")
"""Loggers of the library, by the names of their modules here and of the extras with the library that each ``needs``."""
FIGURES = (
    "reward",
    "total",
    "relative_total",
    "skill",
    "wall_s",
    "verifier_s",
    "turns",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
)
"""Numbers of a result that loggers are given, by the names of a result's fields and properties."""
LABELS = ("task", "task_digest", "data_kind", "tape", "agent", "model", "seed", "attempt", "state", "boundary")


class RunLogger(Protocol):
    """Is told of results, one after another, in a thread of its own; an exception ends the logger and nothing else."""

    def ended(self, result: RolloutResult) -> None:
        """A rollout has ended, and its result is kept."""

    def close(self) -> None:
        """The run is over, and no more results come."""


LoggerMaker: TypeAlias = Callable[[Path], RunLogger]
"""Makes a logger for the run in a folder."""
_PLUGINS = Plugins("logger", ENTRY_POINT_GROUP, {name: f"{__name__}.{name}:LOGGER" for name in OWN})


def load_loggers(wanted: Sequence[str | LoggerMaker]) -> dict[str, LoggerMaker]:
    """Find what makes each of some loggers; none is made yet.

    Args:
        wanted: names of loggers, or functions that make one from the folder of a run.

    Returns:
        The makers, by the names of their loggers.

    Raises:
        UsageError: a logger is unknown, or its library is not installed.
    """
    makers: dict[str, LoggerMaker] = {}
    for logger in wanted:
        if isinstance(logger, str):
            makers[logger] = _load(logger)
        else:
            makers[getattr(logger, "__name__", type(logger).__name__)] = logger
    return makers


def figures_of(result: RolloutResult) -> dict[str, float]:
    """The numbers of :data:`FIGURES` that a result has, by name, and ``success``: 1 if it was scored, 0 if rejected."""
    # Failures of ours, and what is not resolved yet, are neither a success nor a failure, and have no reward.
    judged = result.state in {"scored", "rejected"}
    values = {name: getattr(result, name) for name in FIGURES if name != "reward"}
    values |= {"reward": result.reward(), "success": float(result.state == "scored")} if judged else {}
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def labels_of(result: RolloutResult) -> dict[str, str]:
    """The texts of :data:`LABELS` that a result has, by name: what it is of, and how it ended."""
    values = {name: getattr(result, name) for name in LABELS}
    return {name: str(value) for name, value in values.items() if value is not None}


def _load(name: str) -> LoggerMaker:
    maker = cast("LoggerMaker", _PLUGINS.load(name))
    # The loggers of this package import their libraries when they are made: what is missing is said here already.
    needs = getattr(maker, "needs", None)
    if name in OWN and find_spec(str(needs)) is None:
        raise UsageError(f"logger {name!r} needs the extra `{name}`: pip install 'openfingym[{name}]'")
    return maker
