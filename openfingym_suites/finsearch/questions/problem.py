"""A question of the pool with everything that proves it: its program, reference, other readings and provenance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from openfingym.answers.reference import Part, Reference
from openfingym.suites.suite import SuiteQuestion
from openfingym_suites.finsearch.questions.drawing import AskedValue, Program, SkipError

if TYPE_CHECKING:
    from openfingym_suites.finsearch.questions.sources import Sources

NEAR_TIE = 1e-3
"""Distance from the middle between two roundings within which a value is refused, in units of the last asked place."""


@dataclass(frozen=True)
class SearchProblem:
    """A question with its answer and what proves it."""

    question: SuiteQuestion
    reference: Reference
    """The right answer, with the rules by which others are decided."""
    program: Program
    """Computes the right answer."""
    params: dict[str, Any]
    """Parameters of the program, as JSON values."""
    asks: tuple[AskedValue, ...]
    """Values that are asked for, in the order in which the program returns them."""
    table: bool
    """Whether the answer is a table of rows."""
    ordered: bool
    """Whether the order of the rows counts."""
    alternatives: Mapping[str, tuple[Program, dict[str, Any]]]
    """Other readings of the text, by what they are: each a program with its parameters."""
    names: tuple[str, ...]
    """Names in the text."""
    template: str
    """Name of the template that drew it."""
    tier: str
    subset: str
    topic: str
    language: str
    """``en`` or ``zh``."""
    sources: tuple[str, ...]
    """Tables that the figures are from."""
    why: str
    """Why an answer may differ as much as it may, and no more."""
    real: bool
    """Whether the figures are real ones, and not of the simulated market."""

    def computed(self, sources: Sources) -> Reference:
        """The answer as the program computes it from sources."""
        return reference_of(self, self.program(sources, self.params))

    def other(self, sources: Sources, name: str) -> str:
        """The answer that another reading of the question leads to, as an agent would state it."""
        program, params = self.alternatives[name]
        return reference_of(self, program(sources, params), checked=False).answer()


def reference_of(problem: SearchProblem, values: Any, *, checked: bool = True) -> Reference:
    """The values that a program returned, as the answer that is asked for.

    Args:
        problem: the question, which says what is asked for.
        values: what the program returned: a tuple, or for a table a list of tuples.
        checked: whether values that are as good as in the middle between two roundings are refused.

    Raises:
        SkipError: a number is not finite, a table is empty, or a value is refused.
    """
    group = (problem.subset, problem.tier)
    if problem.table:
        if not values:
            raise SkipError("a table without rows")
        rows = tuple(_parts(problem.asks, row, checked=checked) for row in values)
        return Reference(rows=rows, ordered=problem.ordered, group=group)
    return Reference(parts=_parts(problem.asks, values, checked=checked), group=group)


def _parts(asks: tuple[AskedValue, ...], row: tuple[Any, ...], *, checked: bool) -> tuple[Part, ...]:
    return tuple(_part(ask, value, checked=checked) for ask, value in zip(asks, row, strict=False))


def _part(ask: AskedValue, value: Any, *, checked: bool) -> Part:
    bounds: dict[str, Any] = {}
    # A value with bounds is one of which sources differ, such as a quote with the low and the high of its day.
    if isinstance(value, Mapping):
        bounds = {"low": value["low"], "high": value["high"]}
        value = value["value"]
    # Another reading has a value alone, and only the answer that is made of it matters.
    rule = ask.rule if bounds or ask.rule not in ("between", "widened") else "rounding"
    if ask.type == "number":
        if not math.isfinite(value):
            raise SkipError("no finite number")
        # Digits beyond the twelfth are noise of floating point.
        value = float(f"{value:.12g}")
        if checked and ask.decimals is not None and ask.rule == "rounding":
            # A value in the middle between two roundings would be rounded either way by figures a trifle off.
            place = abs(value) * 10.0**ask.decimals
            if abs(place % 1.0 - 0.5) < NEAR_TIE:
                raise SkipError("as good as in the middle between two roundings")
    return Part(
        name=ask.name, type=ask.type, value=value, unit=ask.unit, decimals=ask.decimals, rule=rule,
        tolerance=ask.tolerance, accept=ask.accept.get(value, ()) if ask.type == "text" else (),
        choices=tuple(choice for choice in ask.choices if choice != value), **bounds,
    )  # fmt: skip


def situation(as_of: str) -> str:
    """The day of the week and the half of the day, in UTC, at which a question is asked, such as ``Mon early``."""
    time = datetime.fromisoformat(as_of)
    return f"{time:%a} {'early' if time.hour < 13 else 'late'}"
