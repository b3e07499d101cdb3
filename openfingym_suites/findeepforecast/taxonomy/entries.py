"""The entries of the taxonomies: metrics, indicators, series, types of events, and groundings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from openfingym.errors import DataError
from openfingym.questions.question import Measure
from openfingym_suites.findeepforecast.taxonomy.formulas import Formula

UnitClass = Literal[
    "money_million", "per_share", "percent", "ratio", "days", "million", "index", "interest_rate", "fx_rate", "level"
]
"""Class of a unit; ``money_million`` is millions of a company's currency, ``level`` the own unit of a macro series."""
MEASURES: dict[UnitClass, Measure] = {"money_million": "amount", "percent": "ratio", "ratio": "ratio",
                                      "per_share": "ratio", "days": "ratio"}  # fmt: skip
"""What the tolerance of a company's metric follows from, by the class of its unit; others are amounts."""
MACRO_MEASURES: dict[UnitClass, Measure] = {"interest_rate": "rate", "fx_rate": "rate", "index": "macro",
                                            "level": "macro", "percent": "macro"}  # fmt: skip
"""What the tolerance of a macro series follows from, by the class of its unit."""
_UNITS = {"percent": "percent", "ratio": "ratio", "days": "days", "million": "million"}


@dataclass(frozen=True)
class CompanyMetric:
    """A metric of a company, or an item of its reports that metrics are computed from.

    Attributes:
        name: its name in the paper.
        category: its category, such as ``Balance Sheet``; ``Input`` if the paper only has metrics computed from it.
        description: the paper's description of it.
        unit_class: the class of its unit.
        tolerance: the relative error, as a share, that a correct forecast stays below.
        tolerance_note: where the tolerance is from.
        number: its number in the paper; 0 for an input.
        formula: how it is computed from others of the same company; None if only a report states it.
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
        """Whether its tolerance is an assumption of ours, because the paper states none for its unit."""
        return self.tolerance_note.startswith("ASSUMPTION")

    @property
    def derived(self) -> bool:
        """Whether it is computed from items of reports, and is none itself."""
        return self.number > REPORTED_ITEMS

    @property
    def measure(self) -> Measure:
        """What the tolerance of a question about it follows from."""
        return MEASURES.get(self.unit_class, "amount")

    def unit(self, currency: str) -> str:
        """Its unit in a report, such as ``million USD``.

        Args:
            currency: code of the report's currency.
        """
        if self.unit_class == "money_million":
            return f"million {currency}"
        return f"{currency} per share" if self.unit_class == "per_share" else _UNITS[self.unit_class]


REPORTED_ITEMS = 62
"""Metrics 1 to 62 are items of reports; the others are computed from them."""


@dataclass(frozen=True)
class MacroIndicator:
    """A macro indicator, of which economies have series.

    Attributes:
        number: its number in the paper.
        name: its name in the paper.
        description: the paper's description of it.
        economies: codes of the economies that have a series of it.
        unit_class: the class of its unit.
        tolerance: the relative error, as a share, that a correct forecast stays below.
        tolerance_note: where the tolerance is from.
    """

    number: int
    name: str
    description: str
    economies: tuple[str, ...]
    unit_class: UnitClass
    tolerance: float
    tolerance_note: str

    @property
    def measure(self) -> Measure:
        """What the tolerance of a question about it follows from."""
        return MACRO_MEASURES[self.unit_class]


@dataclass(frozen=True)
class SeriesEntry:
    """A macro series: an indicator of an economy."""

    id: str
    """Its id, such as ``US:CPI``."""
    indicator: MacroIndicator
    economy: str
    """Code of one of the eight economies, or ``GLOBAL``."""


@dataclass(frozen=True)
class MacroEventType:
    """A type of macro event: a subcategory of level 1, which never changes."""

    code: str
    """Its code, such as ``A1``."""
    name: str
    category_code: str
    """Code of its category, such as ``A``."""
    category: str
    """Name of its category."""
    description: str


@dataclass(frozen=True)
class Clause:
    """One of the alternatives of a trigger, any of which is enough."""

    text: str
    kind: Literal["threshold", "sign", "qualitative"]
    """Whether, by our reading, it states a numeric threshold, a direction, or words that no formula decides."""


@dataclass(frozen=True)
class Grounding:
    """What a subcategory of level 1 means in an economy, for as long as it is valid (level 2)."""

    economy: str
    """Code of the economy."""
    code: str
    """Code of the subcategory."""
    authority: tuple[str, ...]
    """Names of the authorities whose word decides."""
    trigger: str
    """The condition on which the event has happened, in the words of the source."""
    clauses: tuple[Clause, ...]
    """The trigger, taken apart into its alternatives."""
    valid_from: date
    """The first day on which it is valid."""
    valid_to: date | None = None
    """The last day on which it is valid; None as long as no other one has taken its place."""
    source: str = ""
    """Where it is from."""
    event: str = ""
    """Name of a special event under the subcategory; empty for the subcategory itself."""

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
        """Whether a clause states a threshold or a direction, and the rest need not be judged by a person."""
        return any(clause.kind != "qualitative" for clause in self.clauses)


@dataclass(frozen=True)
class CorporateEventType:
    """A type of event of a company.

    Attributes:
        number: its number in the paper.
        category: its category in the paper.
        group: its group within the category.
        name: its name in the paper.
        description: the paper's description of it.
    """

    number: int
    category: str
    group: str
    name: str
    description: str
