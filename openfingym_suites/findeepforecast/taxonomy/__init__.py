"""The taxonomies of what is asked about: indicators, series, metrics and events, with their tolerances and groundings.

The tables are the paper's, as it prints them (``data/taxonomy.json`` says where each is from); what they leave open is
stated beside them. Level 1 of the macro events never changes. What it means in an economy, its grounding, has a first
and a last day; another economy or event is added without touching level 1 (:meth:`Taxonomy.extended`).
"""

from openfingym_suites.findeepforecast.taxonomy.entries import (
    Clause,
    CompanyMetric,
    CorporateEventType,
    Grounding,
    MacroEventType,
    MacroIndicator,
    SeriesEntry,
)
from openfingym_suites.findeepforecast.taxonomy.formulas import Formula, Reported
from openfingym_suites.findeepforecast.taxonomy.loading import Taxonomy, read_groundings, read_taxonomy

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
    "read_taxonomy",
]
