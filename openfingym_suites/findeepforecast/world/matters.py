"""What events are called: in the news of the simulated world, and in questions about them.

``matters.tsv`` has one to three *matters* for each type of event. A matter has the noun phrase by which reports name
it, the verb phrase that a question asks with, and what may be contested about it: an amount, or a detail. The part of
a verb phrase in square brackets is left out if only the date is asked about. ``authorities.tsv`` says who announces
events of each type in each economy, after the grounding tables of the paper. The paper has no table for Hong Kong,
whose offices are named by their function here.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

_OPTIONAL = re.compile(r"\[(.*)\]")
_SHOCKS = ("report ", "see ", "be ", "become ", "receive ", "confirm a missed", "accept ")
"""Beginnings of the verb phrases of what happens to a subject, rather than being decided by it."""


@dataclass(frozen=True)
class Matter:
    """Something that may happen, in the words by which reports and questions name it."""

    kind: str
    """Code of the event's type in the macro taxonomy, or number of its corporate event type."""
    phrase: str
    """The noun phrase by which reports name it, with its article: ``a change of the policy rate``."""
    clause: str
    """The verb phrase of questions: ``announce a change of its policy rate[ of {amount}]``."""
    unit: str
    """Unit of its amount, such as ``basis points``; empty if it has no amount."""
    sense: str
    """The condition that is asked of its amount, ``at_least`` or ``at_most``; empty if it has no amount."""
    thresholds: tuple[float, ...]
    """The amounts that may be contested, in its unit; empty if it has no amount."""
    details: tuple[str, ...]
    """What may or may not be part of it; empty if it has an amount."""

    @property
    def macro(self) -> bool:
        """Whether it is about an economy, and not about a company."""
        return not self.kind.isdigit()

    @property
    def is_shock(self) -> bool:
        """Whether it happens to its subject, which does not decide on it."""
        return self.clause.startswith(_SHOCKS)

    def amount(self, value: float) -> str:
        """An amount in words: ``25 basis points``."""
        return f"{value:g} {self.unit}"

    def clause_for(self, condition: str, threshold: float, detail: str = "") -> str:
        """The verb phrase of a question.

        Args:
            condition: what is asked of it: ``happens``, ``at_least``, ``at_most`` or ``detail``.
            threshold: the amount that must be reached, in the unit of the matter.
            detail: what must be part of it, if the condition is ``detail``.

        Example:
            >>> matter_named("a change of the policy rate").clause_for("at_least", 25.0)
            'announce a change of its policy rate of at least 25 basis points'
        """
        if condition == "happens":
            return _OPTIONAL.sub("", self.clause)
        bound = {"at_least": "at least", "at_most": "at most"}.get(condition, "")
        whole = _OPTIONAL.sub(r"\1", self.clause)
        return whole.format(amount=f"{bound} {self.amount(threshold)}", detail=detail)


@functools.cache
def matters() -> tuple[Matter, ...]:
    """All matters, in the order of the file ``matters.tsv``."""
    with resources.files(__package__).joinpath("matters.tsv").open(encoding="utf-8") as stream:
        return tuple(
            Matter(
                kind=row["kind"],
                phrase=row["phrase"],
                clause=row["clause"],
                unit=row["unit"],
                sense=row["sense"],
                thresholds=tuple(float(amount) for amount in row["thresholds"].split(";") if amount),
                details=tuple(detail for detail in row["details"].split(";") if detail),
            )
            # Details have quotation marks of their own, which are no quoting of the file.
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


@functools.cache
def matter_named(phrase: str) -> Matter:
    """The matter that reports name by a noun phrase.

    Raises:
        KeyError: no matter has this phrase.
    """
    return {matter.phrase: matter for matter in matters()}[phrase]


@functools.cache
def authorities() -> Mapping[tuple[str, str], str]:
    """Name of the authority that announces an event, by code of the economy and code of the event's type."""
    with resources.files(__package__).joinpath("authorities.tsv").open(encoding="utf-8") as stream:
        return {(row["economy"], row["code"]): row["name"] for row in csv.DictReader(stream, delimiter="\t")}


@functools.cache
def matters_by_kind(*, macro: bool) -> tuple[tuple[Matter, ...], ...]:
    """The matters of all types of events, grouped by type, in the order of the types' codes.

    Args:
        macro: whether types of events of economies are wanted, and not those of companies.
    """
    kinds: dict[str, list[Matter]] = {}
    for matter in matters():
        if matter.macro == macro:
            kinds.setdefault(matter.kind, []).append(matter)
    return tuple(tuple(kinds[kind]) for kind in sorted(kinds))
