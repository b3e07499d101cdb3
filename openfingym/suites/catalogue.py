"""Questions of a suite with their answers, programs and provenance, for those who hold the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from openfingym.suites.suite import SuiteQuestion


@dataclass(frozen=True)
class CatalogueEntry:
    """A question of a suite with everything that the suite has of it."""

    number: int | None
    """Its number among the questions that count, from 1, as in ``--questions``; None for other questions."""
    part: str
    """``private`` for a question that counts, ``public`` for one to practise on, ``train`` for one to train on, whose
    answer is given, and ``rest`` for one that no task asks."""
    question: SuiteQuestion
    answer: str
    """A right answer, as an agent would give it."""
    details: Mapping[str, object]
    """What else there is of it, by name: sources, tolerance, other readings."""
    program: Callable[[], str]
    """Returns the program that computes its answer, as Python that anybody can run."""
    prove: Callable[[], tuple[int, tuple[str, ...]]]
    """Proves it anew, and returns how many calls of tools its answer takes, and which proofs failed."""
