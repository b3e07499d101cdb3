"""What is asked about: indicators, series, metrics and events, as versioned data with their tolerances and grounding.

The tables are those of the paper, as it prints them (``data/taxonomy.json`` says which is from where), and what they
leave open is said beside it. Level 1 of the macro events never changes; its grounding in an economy has a first and a
last day, and another economy or event is added without touching level 1 (:meth:`Taxonomy.extended`).
"""

from openfingym.suites.findeepforecast.taxonomy.entries import (
    Clause,
    CompanyMetric,
    CorporateEventType,
    Grounding,
    MacroEventType,
    MacroIndicator,
    SeriesEntry,
)
from openfingym.suites.findeepforecast.taxonomy.formulas import Formula, Reported
from openfingym.suites.findeepforecast.taxonomy.loading import Taxonomy, read_groundings, taxonomy

__all__ = [
    "Clause",
    "CompanyMetric",
    "CorporateEventType",
    "Formula",
    "Grounding",
    "MacroEventType",
    "MacroIndicator",
    "Reported",
    "SeriesEntry",
    "Taxonomy",
    "read_groundings",
    "taxonomy",
]
