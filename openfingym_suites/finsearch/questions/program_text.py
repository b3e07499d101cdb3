"""The program of a question as text: its source, and a script that anybody can run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from openfingym_suites.finsearch.questions.problem import SearchProblem
from openfingym_suites.finsearch.questions.stored_program import PACKAGE, loaded


def source_of(program: Callable[..., Any]) -> str:
    """A program and the functions of this package that it calls, callees first, as Python."""
    sources: dict[str, str] = {}

    def add(function: Callable[..., Any]) -> None:
        names = function.__code__.co_names
        inner = [name for code in _inner_codes(function) for name in code.co_names]
        for name in dict.fromkeys((*names, *inner)):
            # What is called through a module of programs is not found so: the script imports that module by its name.
            called = function.__globals__.get(name)
            if inspect.isfunction(called) and called.__module__.startswith(PACKAGE) and called is not function:
                add(called)
        sources.setdefault(function.__name__, inspect.getsource(function))

    add(program)
    return "\n\n".join(sources.values())


def script_of(problem: SearchProblem, snapshot: str) -> str:
    """A program that anybody can run where the library is installed; it prints the answer.

    Args:
        problem: the question whose answer it computes.
        snapshot: digest of the vault that the question is about.
    """
    program = loaded(problem.program)
    module = inspect.getmodule(program)
    assert module is not None
    program_modules = {
        name: value for name, value in vars(module).items()
        if inspect.ismodule(value) and value.__name__.startswith(f"{PACKAGE}programs")
    }  # fmt: skip
    body = source_of(program)
    imports = [
        f"import {value.__name__} as {name}" for name, value in sorted(program_modules.items()) if f"{name}." in body
    ]
    # Constants of the program's module that its source names, such as the lengths of periods.
    constants = [
        f"{name} = {value!r}" for name, value in vars(module).items()
        if name.isupper() and name in body and isinstance(value, tuple | float | int | str)
    ]  # fmt: skip
    lines = [
        # Annotations stay unevaluated, so that the script needs none of the types that they name.
        "from __future__ import annotations",
        "from openfingym_suites.finsearch.questions.sources import VaultSources",
        "from openfingym_suites.finsearch.world import finsearch_vault",
        *(["import itertools"] if "itertools." in body else []),
        *imports,
        "",
        *constants,
        f"parameters = {problem.params!r}",
        "",
        "",
        body,
        "",
        f"vault = finsearch_vault()  # of digest {snapshot[:12]}",
        f"print({program.__name__}(VaultSources(vault, {problem.question.as_of!r}), parameters))",
    ]
    return "\n".join(lines) + "\n"


def _inner_codes(function: Callable[..., Any]) -> list[Any]:
    """Code objects within a function: its lambdas and, before Python 3.12, its comprehensions."""
    return [constant for constant in function.__code__.co_consts if hasattr(constant, "co_names")]
