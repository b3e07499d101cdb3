"""The eight classes of the API, with the paper's names and attributes.

From the first class on, the text of this file is a part of prompts and of the module that programs in a container get.
So it imports nothing but the standard library, and a changed byte makes another package.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Date:
    """A day."""

    date: str  # 'YYYY-MM-DD'


@dataclass(frozen=True)
class DateRange:
    """Days from the first to the last, both included; None where a side is open."""

    start_date: Date | None = None
    end_date: Date | None = None


@dataclass(frozen=True, order=True)
class ISOCode:
    """A country's ISO 3166-1 alpha-3 code."""

    code: str  # 3 letters, such as 'USA'


@dataclass(frozen=True)
class Country:
    """A country."""

    iso_code: ISOCode
    name: str


@dataclass(frozen=True, order=True)
class CAMEOCode:
    """A relation's code in the ontology Conflict and Mediation Event Observations."""

    code: str  # 2 digits at the first level, 3 at the second


@dataclass(frozen=True)
class Relation:
    """A relation."""

    cameo_code: CAMEOCode
    name: str
    description: str


@dataclass(frozen=True)
class Event:
    """What one country did towards another on a day; the relation is of the second level."""

    date: Date
    head_entity: ISOCode
    relation: CAMEOCode
    tail_entity: ISOCode


@dataclass(frozen=True)
class NewsArticle:
    """A news article, with the events that it reports."""

    date: Date
    title: str
    content: str
    events: list[Event]
