"""A question of the pool with everything that proves it: program, reference, other readings, provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from openfingym.answers.reference import Part, Reference
from openfingym.suites.finsearch.questions.drawing import AskedValue, Program, SkipError
from openfingym.suites.suite import SuiteQuestion

if TYPE_CHECKING:
    from openfingym.suites.finsearch.questions.sources import Sources

NEAR_TIE = 1e-3
"""How near to the middle between two roundings a value may not be, in units of the last asked place."""


@dataclass(frozen=True)
class SearchProblem:
    """A question with its answer and its proofs."""

    question: SuiteQuestion
    reference: Reference
    program: Program
    params: dict[str, Any]
    asks: tuple[AskedValue, ...]
    table: bool
    ordered: bool
    alternatives: Mapping[str, tuple[Program, dict[str, Any]]]
    names: tuple[str, ...]
    template: str
    tier: str
    subset: str
    topic: str
    language: str
    sources: tuple[str, ...]
    why: str
    real: bool

    def computed(self, sources: Sources) -> Reference:
        """The answer as the program computes it from sources."""
        return reference_of(self, self.program(sources, self.params))

    def other(self, sources: Sources, name: str) -> str:
        """The answer that another reading of the question leads to, as an agent would state it."""
        program, params = self.alternatives[name]
        return reference_of(self, program(sources, params), checked=False).answer()


def reference_of(problem: Any, found: Any, *, checked: bool = True) -> Reference:
    """The values that a program gave, as the answer that is asked for.

    Args:
        problem: a :class:`SearchProblem`, or a draft with ``asks``, ``table``, ``ordered``, ``subset`` and ``tier``.
        found: what the program gave.
        checked: whether values that are as good as in the middle between two roundings are refused.

    Raises:
        SkipError: a value is none, or is refused.
    """
    group = (getattr(problem, "subset", ""), getattr(problem, "tier", ""))
    if problem.table:
        if not found:
            raise SkipError("a table without rows")
        rows = tuple(_parts(problem.asks, row, checked=checked) for row in found)
        return Reference(rows=rows, ordered=problem.ordered, group=group)
    return Reference(parts=_parts(problem.asks, found, checked=checked), group=group)


def _parts(asks: tuple[AskedValue, ...], row: tuple[Any, ...], *, checked: bool) -> tuple[Part, ...]:
    return tuple(_part(ask, value, checked=checked) for ask, value in zip(asks, row, strict=False))


def _part(ask: AskedValue, value: Any, *, checked: bool) -> Part:
    bounds: dict[str, Any] = {}
    if isinstance(value, Mapping):
        bounds = {"low": value["low"], "high": value["high"]}
        value = value["value"]
    # Another reading has a value alone, and only the answer that is made of it matters.
    rule = ask.rule if bounds or ask.rule not in ("between", "widened") else "rounding"
    if ask.type == "number":
        if not math.isfinite(value):
            raise SkipError("no finite number")
        value = float(f"{value:.12g}")
        if checked and ask.decimals is not None and ask.rule == "rounding":
            place = abs(value) * 10.0**ask.decimals
            if abs(place % 1.0 - 0.5) < NEAR_TIE and place % 1.0 != 0:
                raise SkipError("as good as in the middle between two roundings")
    return Part(
        name=ask.name, type=ask.type, value=value, unit=ask.unit, decimals=ask.decimals, rule=rule,
        tolerance=ask.tolerance, accept=ask.accept.get(value, ()) if ask.type == "text" else (),
        choices=tuple(one for one in ask.choices if one != value), **bounds,
    )  # fmt: skip


def situation(as_of: str) -> str:
    """On which day of the week, and how early, a question is asked."""
    time = datetime.fromisoformat(as_of)
    return f"{time:%a} {'early' if time.hour < 13 else 'late'}"
