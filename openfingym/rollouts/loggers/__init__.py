"""Loggers: where else the results of a run go, as they come in.

A logger is a module of this package with a class ``LOGGER``, or such a class of an installed distribution, by an entry
point of the group ``openfingym.loggers`` named as the logger. It is made with the folder of the run, and told of every
result that is kept (:class:`RunLogger`). What it does goes on beside the run: its failures never fail a rollout, and
its waiting keeps none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias

from openfingym.errors import UsageError
from openfingym.plugins import entry_points
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
LABELS = ("task", "task_digest", "data_kind", "tape", "agent", "model", "seed", "attempt", "state", "boundary")


class RunLogger(Protocol):
    """Is told of results, one after another, in a thread of its own; what it raises ends it, and nothing else."""

    def ended(self, result: RolloutResult) -> None:
        """A rollout's result is kept."""

    def close(self) -> None:
        """The run is over; nothing more is told."""


LoggerMaker: TypeAlias = Callable[[Path], RunLogger]
"""Makes a logger for the run in a folder."""


def load_loggers(wanted: Sequence[str | LoggerMaker]) -> dict[str, LoggerMaker]:
    """What makes each of some loggers, by name; none is made yet.

    Args:
        wanted: names of loggers, or what makes one.

    Raises:
        UsageError: a logger is unknown, or its library is not installed.
    """
    found: dict[str, LoggerMaker] = {}
    for one in wanted:
        if isinstance(one, str):
            found[one] = _load(one)
        else:
            found[getattr(one, "__name__", type(one).__name__)] = one
    return found


def figures_of(result: RolloutResult) -> dict[str, float]:
    """The numbers of a result that are there, with ``success``; the names are those of a result."""
    judged = result.state in {"scored", "rejected"}
    values = {name: getattr(result, name) for name in FIGURES if name != "reward"}
    values |= {"reward": result.reward(), "success": float(result.state == "scored")} if judged else {}
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def labels_of(result: RolloutResult) -> dict[str, str]:
    """What a result is of, and how it ended, as text; without what it does not have."""
    values = {name: getattr(result, name) for name in LABELS}
    return {name: str(value) for name, value in values.items() if value is not None}


def _load(name: str) -> LoggerMaker:
    installed = {entry.name: entry for entry in entry_points(ENTRY_POINT_GROUP)}
    if name in OWN:
        entry = EntryPoint(name, f"{__name__}.{name}:LOGGER", ENTRY_POINT_GROUP)
    elif name in installed:
        entry = installed[name]
    else:
        raise UsageError(f"there is no logger {name!r}; known: {', '.join((*OWN, *sorted(installed)))}")
    try:
        maker: LoggerMaker = entry.load()
    except Exception as error:  # whatever a stranger's module may raise
        raise UsageError(f"logger {name!r} cannot be loaded from {entry.value!r} ({error})") from error
    needs = getattr(maker, "needs", None)
    if name in OWN and find_spec(str(needs)) is None:
        raise UsageError(f"logger {name!r} needs the extra `{name}`: pip install 'openfingym[{name}]'")
    return maker
