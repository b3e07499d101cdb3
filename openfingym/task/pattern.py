"""Patterns that select tasks: a name, a glob over names (``fx-*``), or ``family/glob`` (``fraud/*``)."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, get_args

from openfingym.task.contracts import Family
from openfingym.task.model import Task

FAMILIES: tuple[str, ...] = get_args(Family)


@dataclass(frozen=True)
class TaskPattern:
    """A pattern, taken apart."""

    glob: str
    """Glob over the names of tasks."""
    family: str | None
    """Family of the tasks; None for any."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a pattern.

        Raises:
            ValueError: the pattern names an unknown family.
        """
        family, slash, glob = text.rpartition("/")
        if slash and family not in FAMILIES:
            near = difflib.get_close_matches(family, FAMILIES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"families: {', '.join(FAMILIES)}"
            raise ValueError(f"no family is named {family!r}; {hint}")
        return cls(glob, family if slash else None)

    @property
    def is_name(self) -> bool:
        """Whether the pattern can match one name only."""
        return self.family is None and not any(sign in self.glob for sign in "*?[")

    def names(self, known: Iterable[str]) -> list[str]:
        """Those of the names ``known`` that match the glob; families are not looked at, as no task is read here."""
        return [name for name in known if fnmatch.fnmatchcase(name, self.glob)]

    def gives(self, task: Task) -> bool:
        """Whether the pattern matches a task, by name and family."""
        return self.family in {None, task.spec.family} and bool(self.names([task.name]))
