"""What events are called: in the news of the simulated world, and in questions about them.

``matters.tsv`` has, of each type of event, one to three *matters*: the noun phrase by which reports name it, the
verb phrase by which a question does, and what may be contested of it: an amount, or a detail. The part of a verb
phrase in square brackets is left out where only the date is asked about. ``authorities.tsv`` has who announces
events of each type in each economy, after the grounding tables of the paper; Hong Kong has none there, and offices
by their function here.
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


@dataclass(frozen=True)
class Matter:
    """Something that may happen, as it is spoken of."""

    kind: str
    """Code of the macro taxonomy, or number of the corporate event type."""
    phrase: str
    """As reports name it, with its article: ``a change of the policy rate``."""
    clause: str
    """As a question has it: ``announce a change of its policy rate[ of {amount}]``."""
    unit: str
    """Of its amount; empty where it has none."""
    sense: str
    """``at_least`` or ``at_most``, where it has an amount."""
    thresholds: tuple[float, ...]
    details: tuple[str, ...]
    """What may or may not be part of it, where it has no amount."""

    @property
    def macro(self) -> bool:
        """Whether it is about an economy, and not a company."""
        return not self.kind.isdigit()

    @property
    def befalls(self) -> bool:
        """Whether it comes over its subject, which does not decide on it."""
        return self.clause.startswith(_SHOCKS)

    def amount(self, value: float) -> str:
        """An amount in words: ``25 basis points``."""
        return f"{value:g} {self.unit}"

    def asked(self, condition: str, threshold: float, detail: str = "") -> str:
        """The verb phrase of a question.

        Args:
            condition: ``happens``, ``at_least``, ``at_most`` or ``detail``.
            threshold: amount that must be reached, in the unit of the matter.
            detail: what is to be part of it.
        """
        if condition == "happens":
            return _OPTIONAL.sub("", self.clause)
        bound = {"at_least": "at least", "at_most": "at most"}.get(condition, "")
        whole = _OPTIONAL.sub(r"\1", self.clause)
        return whole.format(amount=f"{bound} {self.amount(threshold)}", detail=detail)


@functools.cache
def matters() -> tuple[Matter, ...]:
    """All matters, in the order of the file."""
    with resources.files(__package__).joinpath("matters.tsv").open(encoding="utf-8") as stream:
        return tuple(
            Matter(
                kind=row["kind"],
                phrase=row["phrase"],
                clause=row["clause"],
                unit=row["unit"],
                sense=row["sense"],
                thresholds=tuple(float(one) for one in row["thresholds"].split(";") if one),
                details=tuple(one for one in row["details"].split(";") if one),
            )
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        )


@functools.cache
def matter_named(phrase: str) -> Matter:
    """The matter that reports name by a phrase."""
    return {one.phrase: one for one in matters()}[phrase]


@functools.cache
def authorities() -> Mapping[tuple[str, str], str]:
    """Who announces an event, by economy and code."""
    with resources.files(__package__).joinpath("authorities.tsv").open(encoding="utf-8") as stream:
        return {(row["economy"], row["code"]): row["name"] for row in csv.DictReader(stream, delimiter="\t")}


@functools.cache
def of_level(*, macro: bool) -> tuple[tuple[Matter, ...], ...]:
    """Matters of economies or companies, those of one type together, in the order of their types' names."""
    kinds: dict[str, list[Matter]] = {}
    for one in matters():
        if one.macro == macro:
            kinds.setdefault(one.kind, []).append(one)
    return tuple(tuple(kinds[kind]) for kind in sorted(kinds))
