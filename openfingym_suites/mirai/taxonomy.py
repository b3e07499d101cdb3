"""Relations and countries: the CAMEO ontology, of which two levels are used, and the countries of ISO 3166-1 with the
codes that GDELT has for them.

There are two divisions into quadratic classes, which differ in four roots (05, 14, 15 and 16): that of the MIRAI paper,
which every function here means unless it says otherwise, and GDELT's own.

| roots | MIRAI | GDELT |
|---|---|---|
| 01-04 | verbal cooperation | verbal cooperation |
| 05 | material cooperation | verbal cooperation |
| 06-08 | material cooperation | material cooperation |
| 09-13 | verbal conflict | verbal conflict |
| 14-16 | verbal conflict | material conflict |
| 17-20 | material conflict | material conflict |
"""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from openfingym.errors import UsageError

QUAD_NAMES = {1: "verbal cooperation", 2: "material cooperation", 3: "verbal conflict", 4: "material conflict"}
BINARY_NAMES = ("mediation", "conflict")
_PART_OF_PALESTINE = frozenset({"GZS", "WSB"})
"""CAMEO codes of territories that are parts of PSE in ISO 3166-1: the Gaza Strip and the West Bank."""


@dataclass(frozen=True)
class CameoRelation:
    """A relation of CAMEO."""

    code: str
    """Two digits at the first level, three at the second, four at the third."""
    level: int
    name: str
    gdelt_name: str
    """The name in GDELT's own table."""
    parent: str | None
    """The code one level up; None at the first level."""
    root: str
    """The first-level code above it, or itself at the first level."""
    quad: int
    """Quadratic class of the paper, 1 to 4; see :data:`QUAD_NAMES`."""
    binary: str
    """``mediation`` (01 to 08) or ``conflict`` (09 to 20)."""
    quad_gdelt: int
    """Quadratic class of GDELT, 1 to 4."""
    description: str
    """What counts as this relation, in words; empty at the third level."""


@dataclass(frozen=True)
class ListedCountry:
    """A country, dependent territory or special area of ISO 3166-1, or Kosovo (XKX, a user-assigned code)."""

    iso3: str
    """ISO 3166-1 alpha-3 code, such as ``USA``."""
    iso2: str
    """ISO 3166-1 alpha-2 code, such as ``US``."""
    name: str
    fips: str
    """FIPS 10-4 code, which GDELT uses for places; empty where there is none."""
    cameo: str
    """The code that GDELT gives actors of the country; empty if there is none. It is the alpha-3 code except for IMN,
    MNE, ROU and TLS.
    """
    region: str
    """Continent, or Middle East; empty for three territories."""
    other_names: tuple[str, ...]
    """Further names under which the country is looked up."""


def relations(level: int | None = None) -> tuple[CameoRelation, ...]:
    """All relations in the order of their codes, or those of one level (1, 2 or 3)."""
    every = _relations().values()
    return tuple(every) if level is None else tuple(relation for relation in every if relation.level == level)


def relation(code: str) -> CameoRelation:
    """The relation of a code.

    Raises:
        UsageError: there is no such code; the message names similar ones.
    """
    match = _relations().get(code)
    if match is None:
        raise UsageError(f"{code!r} is not a CAMEO code{_nearest(code, list(_relations()))}")
    return match


def is_relation(code: str, *, level: int | None = None) -> bool:
    """Whether a code is one of CAMEO's, at this level if one is given."""
    match = _relations().get(code)
    return match is not None and level in {None, match.level}


def parent_of(code: str) -> CameoRelation | None:
    """The relation one level up; None for one of the first level."""
    parent = relation(code).parent
    return None if parent is None else relation(parent)


def children_of(code: str) -> tuple[CameoRelation, ...]:
    """The relations one level down, in the order of their codes."""
    relation(code)  # which refuses an unknown code
    return tuple(child for child in _relations().values() if child.parent == code)


def siblings_of(code: str) -> tuple[CameoRelation, ...]:
    """The relations with the same parent, itself included; at the first level all of that level."""
    own = relation(code)
    return tuple(other for other in _relations().values() if other.level == own.level and other.parent == own.parent)


def second_level(code: str) -> str | None:
    """The second-level code of a code as GDELT writes it; None if there is none, as for ``--`` and ``14``."""
    # A third-level code begins with its parent.
    match = _relations().get(code.strip()[:3])
    return match.code if match is not None and match.level == 2 else None


def quad_of(code: str) -> int:
    """The quadratic class, in the paper's division, of a code of any level."""
    return relation(code).quad


def binary_of(code: str) -> str:
    """``mediation`` or ``conflict``, of a code of any level."""
    return relation(code).binary


def countries() -> tuple[ListedCountry, ...]:
    """All countries in the order of their ISO 3166-1 alpha-3 codes, Kosovo last."""
    return tuple(_countries().values())


def country(iso3: str) -> ListedCountry:
    """The country of an ISO 3166-1 alpha-3 code.

    Raises:
        UsageError: there is no such code; the message names similar ones.
    """
    match = _countries().get(iso3)
    if match is None:
        raise UsageError(f"{iso3!r} is not an ISO 3166-1 alpha-3 code{_nearest(iso3.upper(), list(_countries()))}")
    return match


def is_country(iso3: str) -> bool:
    """Whether a code is one of :func:`countries`."""
    return iso3 in _countries()


def countries_named(name: str) -> tuple[ListedCountry, ...]:
    """The countries of which this is exactly the name or another name, in any case; several for ``Korea``."""
    return tuple(_by_name().get(_folded(name), ()))


def country_of_actor(code: str) -> str | None:
    """The ISO code of an actor's country as GDELT codes it; None for a region, a city, a withdrawn or unknown code."""
    return actor_codes().get(code)


@cache
def actor_codes() -> dict[str, str]:
    """ISO 3166-1 alpha-3 codes by the country code that GDELT gives an actor; an actor of any other code is dropped.

    The Gaza Strip and the West Bank become PSE; regions such as ``EUR``, cities and withdrawn codes are not here.
    """
    codes = {iso3: iso3 for iso3 in _countries()}
    codes |= {listed.cameo: listed.iso3 for listed in _countries().values() if listed.cameo}
    return codes | dict.fromkeys(sorted(_PART_OF_PALESTINE), "PSE")


@cache
def dropped_actor_codes() -> dict[str, str]:
    """What CAMEO's other codes of actors stand for, by code; actors with these are dropped."""
    rows = _rows("actor-codes.tsv")
    return {row["cameo"]: row["name"] for row in rows if row["cameo"] not in _PART_OF_PALESTINE}


@cache
def _relations() -> dict[str, CameoRelation]:
    return {
        row["code"]: CameoRelation(
            code=row["code"],
            level=int(row["level"]),
            name=row["name"],
            gdelt_name=row["gdelt_name"],
            parent=row["parent"] or None,
            root=row["root"],
            quad=int(row["quad_mirai"]),
            binary=row["binary_mirai"],
            quad_gdelt=int(row["quad_gdelt"]),
            description=row["description"],
        )
        for row in _rows("cameo.tsv")
    }


@cache
def _countries() -> dict[str, ListedCountry]:
    return {
        row["iso3"]: ListedCountry(
            iso3=row["iso3"],
            iso2=row["iso2"],
            name=row["name"],
            fips=row["fips"],
            cameo=row["cameo"],
            region=row["region"],
            # A part in brackets alone is a remark, not a name.
            other_names=tuple(
                name for part in row["alt_names"].split(";") if (name := part.strip()) and not name.startswith("(")
            ),
        )
        for row in _rows("countries.tsv")
    }


@cache
def _by_name() -> dict[str, list[ListedCountry]]:
    named: dict[str, list[ListedCountry]] = {}
    for listed in _countries().values():
        for name in dict.fromkeys(_folded(name) for name in (listed.name, *listed.other_names)):
            named.setdefault(name, []).append(listed)
    return named


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _nearest(code: str, known: list[str]) -> str:
    near = difflib.get_close_matches(code, known, n=3, cutoff=0.5)
    return f"; did you mean {', '.join(near)}?" if near else ""


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("openfingym_suites.mirai") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))
