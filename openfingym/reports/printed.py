"""Figures of agents that a paper printed, to be shown beside ours; they are in no figure of ours."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources


@dataclass(frozen=True)
class PrintedFamily:
    """The tasks of one family that a paper's table is about."""

    tasks: tuple[str, ...]
    """Names of our tasks that are among them, or patterns of such names."""
    count: int
    """How many tasks the paper has in the family."""

    def has(self, task: str) -> bool:
        """Whether our task of this name may be one of the paper's."""
        return any(fnmatchcase(task, pattern) for pattern in self.tasks)


@dataclass(frozen=True)
class PrintedFigure:
    """What a paper prints about a model in one family."""

    reward: float
    """The paper's reward, in its own direction and scale."""
    success: float
    """Share of tasks that succeeded, from 0 to 1."""


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper."""

    paper: str
    """The paper, as one cites it."""
    table: str
    """Name of the table in the paper."""
    agent: str
    """Name of our agent in the paper's setting."""
    families: Mapping[str, PrintedFamily]
    """The families that have a figure in the table, by their names."""
    rows: Sequence[tuple[str, Mapping[str, PrintedFigure]]]
    """What the paper calls each model, with its figure in each family, in the paper's order."""


@functools.cache
def table_4() -> PrintedTable:
    """Table 4 of the paper on OpenFinGym: four models, one program each, in four families."""
    file = resources.files("openfingym.reports") / "openfingym-table-4.toml"
    stated = tomllib.loads(file.read_text(encoding="utf-8"))
    families = {name: PrintedFamily(tuple(one["tasks"]), one["count"]) for name, one in stated["families"].items()}
    rows = [
        (row["model"], {name: PrintedFigure(row[name]["reward"], row[name]["success"] / 100.0) for name in families})
        for row in stated["rows"]
    ]
    return PrintedTable(stated["paper"], stated["table"], stated["agent"], families, rows)
