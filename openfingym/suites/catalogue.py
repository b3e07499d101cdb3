"""Questions of a suite as whoever holds their answers may look at them: with answer, program and provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openfingym.suites.suite import SuiteQuestion


@dataclass(frozen=True)
class CatalogueEntry:
    """A question of a suite with everything that is kept of it."""

    number: int | None
    """Its number among the questions that count, from 1, as in ``--questions``; None for others."""
    part: str
    """``private`` for those that count, ``public`` to practise on, ``train`` with answers, ``rest`` of the pool."""
    question: SuiteQuestion
    answer: str
    """A right answer, as an agent would give it."""
    details: Mapping[str, object]
    """What else is kept of it, by name: sources, tolerance, other readings."""
    program: Callable[[], str]
    """The program that computes its answer, as Python that anybody can run."""
    prove: Callable[[], tuple[int, tuple[str, ...]]]
    """Proves it anew: how many calls of tools its answer takes, and what is wrong with it."""
