"""Which tests belong to `make test`, and which to the rest of `make test-all`: the same every day, for everybody.

A test of the rest has the mark ``rest``. Of a long sweep of cases, `make test` tries a fixed part, and the rest has the
others: a case in it differs little from its neighbours, and what could break is found by several. The functions and
files in ``slow.txt`` are the rest's whole, for they take long or need what only the extra ``ci`` installs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")

FOLDER = Path(__file__).parent
ALL = bool(os.environ.get("OPENFINGYM_ALL"))
"""Whether tests look deeper than `make test-all` asks: at more tasks, draws, rollouts and examples."""
COLLECTED = pytest.StashKey[dict[str, bool]]()
"""In the stash of pytest's configuration: whether each test that was collected is the rest's, by its name."""


def fixed_part(cases: Iterable[T], share: int, first: int = 0) -> list[T]:
    """One case in ``share``, always the same; at least one.

    Args:
        cases: all of them.
        share: how many cases there are for each that is taken.
        first: place of the first one, so that two sweeps over the same cases try different ones.
    """
    every = list(cases)
    share = min(share, len(every))
    return [case for number, case in enumerate(every) if (number + first) % share == 0]


def sweep(cases: Iterable[Any], share: int, first: int = 0) -> list[ParameterSet]:
    """All cases of a parametrized test, of which one in ``share`` belongs to `make test`, and the others to the rest.

    Args:
        cases: all of them, in the form that :func:`pytest.mark.parametrize` takes.
        share: see :func:`fixed_part`.
        first: see :func:`fixed_part`.
    """
    every = list(cases)
    fixed = set(fixed_part(range(len(every)), share, first))
    return [_case(case, number in fixed) for number, case in enumerate(every)]


def _case(case: Any, fixed: bool) -> ParameterSet:
    values, marks, name = ParameterSet.extract_from(case, force_tuple=not isinstance(case, tuple | list))
    return ParameterSet(values, marks if fixed else [*marks, pytest.mark.rest], name)


def slow() -> set[str]:
    """The files and functions whose tests are the rest's, as they begin a test's name: ``tests/test_surface.py`` or
    ``tests/test_surface.py::test_...``."""
    lines = (FOLDER / "slow.txt").read_text().splitlines()
    return {f"{FOLDER.name}/{line}" for line in lines if line and not line.startswith("#")}


def is_slow(name: str, known: set[str]) -> bool:
    """Whether a test or a function is the rest's.

    Args:
        name: as pytest has it.
        known: what :func:`slow` gave.
    """
    return not known.isdisjoint({name.partition("[")[0], name.partition("::")[0]})


def may_hold_rest(file: Path, known: set[str]) -> bool:
    """Whether tests of a file may be the rest's, as its name and its text say: it need not be loaded to know.

    Args:
        file: path of the file.
        known: what :func:`slow` gave.
    """
    name = f"{FOLDER.name}/{file.relative_to(FOLDER).as_posix()}"
    return name in {one.partition("::")[0] for one in known} or bool(re.search(r"sweep|mark\.rest", file.read_text()))
