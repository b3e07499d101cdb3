"""The program of a stored question by its name: its module is loaded when it is run or shown, not with the question."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.drawing import Program
    from openfingym_suites.finsearch.questions.sources import Sources

PACKAGE = "openfingym_suites.finsearch.questions."


@dataclass(frozen=True)
class StoredProgram:
    """A program that is loaded when it is called."""

    name: str
    """``module:function`` within this package."""

    def __call__(self, sources: Sources, params: dict[str, Any]) -> Any:
        """Run the program."""
        return loaded(self)(sources, params)


def loaded(program: Program) -> Program:
    """The function that a program is."""
    if not isinstance(program, StoredProgram):
        return program
    module, function = program.name.split(":")
    found: Program = getattr(importlib.import_module(PACKAGE + module), function)
    return found


def name_of(program: Program) -> str:
    """A program as a file names it, ``module:function`` within this package."""
    if isinstance(program, StoredProgram):
        return program.name
    return f"{program.__module__.removeprefix(PACKAGE)}:{program.__name__}"
