"""Entries of the taxonomies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from openfingym.errors import DataError
from openfingym.questions.question import Measure
from openfingym.suites.findeepforecast.taxonomy.formulas import Formula

UnitClass = Literal[
    "money_million", "per_share", "percent", "ratio", "days", "million", "index", "interest_rate", "fx_rate", "level"
]
MEASURES: dict[UnitClass, Measure] = {"money_million": "amount", "percent": "ratio", "ratio": "ratio",
                                      "per_share": "ratio", "days": "ratio"}  # fmt: skip
"""What the tolerance of a company's metric follows from."""
MACRO_MEASURES: dict[UnitClass, Measure] = {"interest_rate": "rate", "fx_rate": "rate", "index": "macro",
                                            "level": "macro", "percent": "macro"}  # fmt: skip
"""What the tolerance of a macro series follows from."""
_UNITS = {"percent": "percent", "ratio": "ratio", "days": "days", "million": "million"}


@dataclass(frozen=True)
class CompanyMetric:
    """A metric of a company, or an item of its reports that metrics are computed from.

    Attributes:
        name: its name in the paper.
        category: such as ``Balance Sheet``; ``Input`` where the paper has only what is computed from it.
        description: the paper's description of it.
        unit_class: class of its unit.
        tolerance: largest relative error, exclusive, of a correct forecast.
        tolerance_note: where the tolerance is from.
        number: its number in the paper; 0 for an input.
        formula: how it is computed from others of the same company; None for what only a report can say.
    """

    name: str
    category: str
    description: str
    unit_class: UnitClass
    tolerance: float
    tolerance_note: str
    number: int = 0
    formula: Formula | None = None

    @property
    def assumed(self) -> bool:
        """Whether its tolerance is our assumption, since the paper states none for its unit."""
        return self.tolerance_note.startswith("ASSUMPTION")

    @property
    def derived(self) -> bool:
        """Whether it is no item of a report, but follows from some."""
        return self.number > REPORTED_ITEMS

    @property
    def measure(self) -> Measure:
        """What a question says its truth measures."""
        return MEASURES.get(self.unit_class, "amount")

    def unit(self, currency: str) -> str:
        """Its unit in a report in a currency, such as ``million USD``."""
        if self.unit_class == "money_million":
            return f"million {currency}"
        return f"{currency} per share" if self.unit_class == "per_share" else _UNITS[self.unit_class]


REPORTED_ITEMS = 62
"""Metrics 1 to 62 are items of reports; the others follow from them."""


@dataclass(frozen=True)
class MacroIndicator:
    """A macro indicator, of which economies have series."""

    number: int
    name: str
    description: str
    economies: tuple[str, ...]
    unit_class: UnitClass
    tolerance: float
    tolerance_note: str

    @property
    def measure(self) -> Measure:
        """What a question says its truth measures."""
        return MACRO_MEASURES[self.unit_class]


@dataclass(frozen=True)
class SeriesEntry:
    """A series: an indicator of an economy."""

    id: str
    indicator: MacroIndicator
    economy: str
    """One of the eight, or ``GLOBAL``."""


@dataclass(frozen=True)
class MacroEventType:
    """A subcategory of level 1, which never changes."""

    code: str
    name: str
    category_code: str
    category: str
    description: str


@dataclass(frozen=True)
class Clause:
    """One of the alternatives of a trigger."""

    text: str
    kind: Literal["threshold", "sign", "qualitative"]
    """By our reading: a numeric threshold, a direction, or words that nobody decides by a formula."""


@dataclass(frozen=True)
class Grounding:
    """What a subcategory of level 1 means in an economy, for as long as it is valid (level 2)."""

    economy: str
    code: str
    authority: tuple[str, ...]
    """Whose word decides."""
    trigger: str
    """When it happened, in the words of the source."""
    clauses: tuple[Clause, ...]
    valid_from: date
    valid_to: date | None = None
    """The last day; None while no other one has come."""
    source: str = ""
    event: str = ""
    """Name of an event of its own under the subcategory; empty for the subcategory itself."""

    def __post_init__(self) -> None:
        where = f"grounding {self.economy}/{self.code}{f'/{self.event}' if self.event else ''}"
        if self.valid_to is not None and self.valid_to < self.valid_from:
            raise DataError(f"{where}: valid from {self.valid_from} to {self.valid_to}; the last day comes first")
        if not (self.economy and self.authority and self.trigger and self.clauses):
            raise DataError(f"{where}: expected an economy, an authority, a trigger and its clauses")

    def valid(self, on: date) -> bool:
        """Whether it is valid on a day."""
        return self.valid_from <= on and (self.valid_to is None or on <= self.valid_to)

    @property
    def checkable(self) -> bool:
        """Whether a clause states a threshold or a direction; the others need somebody's judgement."""
        return any(clause.kind != "qualitative" for clause in self.clauses)


@dataclass(frozen=True)
class CorporateEventType:
    """A type of event of a company."""

    number: int
    category: str
    group: str
    name: str
    description: str
