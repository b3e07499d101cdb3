"""Matching a blueprint with the data sets that the library has: a score for each, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from openfingym_forge.data.known import KnownData, known_data
from openfingym_forge.data.names import GENERIC, canonical, matched

if TYPE_CHECKING:
    from openfingym_forge.blueprint import Blueprint

LEAST: Final = 0.6
"""Score from which on data serve a blueprint."""
NAMED: Final = 0.9
"""Score of a publisher from which on the paper names it."""
LEAST_RANGE: Final = 0.8
"""Share of the blueprint's days that the data must span."""
# Publisher and series tell most of what data are.
_WEIGHTS: Final = {"publisher": 0.35, "series": 0.35, "range": 0.15, "frequency": 0.1, "kind": 0.05}
_HOSTS: Final = {
    "treasury.gov": "treasury",
    "stlouisfed.org": "treasury",
    "ecb.europa.eu": "ecb",
    "eiopa.europa.eu": "eiopa",
    "binance": "binance",
    "yahoo": "yahoo",
}
"""One of the terms of each publisher that the library knows, by a part of the publisher's host."""


@dataclass(frozen=True)
class Wanted:
    """What a blueprint says of its data."""

    words: str
    """Publisher, panel and description, in lower case."""
    heading: str
    """Title of the paper, in lower case."""
    context: str
    """What else the paper says of its data, in lower case: its abstract and its words that are quoted."""
    source: str
    """Publisher or data set, as the paper names it."""
    series: tuple[str, ...]
    """Names of the series, as the paper writes them."""
    asset_class: str
    frequency: str
    kind: str
    """``real``, ``simulated`` or ``specified``; like every other text here, empty where the blueprint does not say."""
    url: str
    """Addresses that the paper gives, with spaces between several."""
    first: date | None
    last: date | None


@dataclass(frozen=True)
class ColumnMatch:
    """How well one data set serves a blueprint."""

    data: KnownData
    score: float
    """From 0 to 1; 0 where something rules it out."""
    series: dict[str, str]
    """Channel of the data for each series that the blueprint names."""
    why: tuple[str, ...]
    """What speaks for the data, and against them."""

    @property
    def fits(self) -> bool:
        """Whether the data serve the blueprint."""
        return self.score >= LEAST

    def summary(self) -> str:
        """Name, score and reasons, in one line for people."""
        return f"{self.data.name} ({self.score:.2f}): {'; '.join(self.why)}"


def wanted_of(blueprint: Blueprint, abstract: str = "") -> Wanted:
    """What a blueprint says of its data.

    Args:
        blueprint: the blueprint whose data are wanted.
        abstract: abstract of the paper, which may name what the blueprint does not; empty to leave it out.
    """
    about = [stated for name, stated in blueprint.fields.items() if name.startswith(("data.", "dataset.", "panel"))]
    quotes = [quotation.quote for stated in about for quotation in stated.quotations]
    text = [str(blueprint.value(name) or "") for name in ("data.source", "panel", "description")]
    series = texts(blueprint.value("data.series")) or texts(blueprint.value("dataset.channels"))
    return Wanted(
        words=" ".join(text).lower(),
        heading=blueprint.title.lower(),
        context=" ".join([abstract, *quotes]).lower(),
        source=text[0],
        series=series,
        asset_class=str(blueprint.value("asset_class") or ""),
        frequency=str(blueprint.value("frequency") or ""),
        kind=str(blueprint.value("data.kind") or ""),
        url=str(blueprint.value("data.url") or ""),
        first=day(blueprint.value("data.start")),
        last=day(blueprint.value("data.end")),
    )


def texts(value: object) -> tuple[str, ...]:
    """A field's value as names: a list, or one text with commas."""
    if value is None or value == "":
        return ()
    if isinstance(value, list):
        return tuple(str(each) for each in value)
    return tuple(part.strip() for part in re.split(r",|;|\band\b", str(value)) if part.strip())


def day(value: object) -> date | None:
    """A field's value as a day; None where it is no date."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def matches(blueprint: Blueprint, among: Iterable[KnownData] | None = None, abstract: str = "") -> list[ColumnMatch]:
    """Every data set with its score, the best first.

    Args:
        blueprint: the blueprint whose data are wanted.
        among: the data sets to look at; None for all of the library.
        abstract: abstract of the paper, which may name what the blueprint does not.
    """
    wanted = wanted_of(blueprint, abstract)
    scored = [match(wanted, data) for data in (known_data() if among is None else among)]
    # Of two with one score: real data before a simulator's, what needs no network, and the smaller one.
    order = {"specified": 0, "bundled": 0, "pulled": 1, "simulator": 2}
    return sorted(scored, key=lambda each: (-each.score, order[each.data.how], len(each.data.series), each.data.name))


def match(wanted: Wanted, data: KnownData) -> ColumnMatch:
    """How well a data set serves what is wanted."""
    # A name of the library's own, as a person writes it into data.source; one without a hyphen is an ordinary word.
    if data.name in re.findall(r"[a-z0-9-]+", wanted.source.lower()) and "-" in data.name:
        publisher, why_publisher = 1.0, "the paper names it"
    else:
        publisher, why_publisher = _publisher(wanted, data)
    series, covered, why_series = _series(wanted, data, publisher)
    spans, why_range = _range(wanted, data)
    parts = {"publisher": publisher, "series": covered, "range": spans}
    parts["frequency"] = _same(wanted.frequency, data.frequency)
    parts["kind"] = 1.0 if (wanted.kind or "real") == _kind(data) else 0.0
    why = [why_publisher, why_series, why_range]
    against = _against(wanted, data, parts)
    if against:
        return ColumnMatch(data, 0.0, series, (*against, *filter(None, why)))
    if parts["kind"] == 0.0 and data.how == "simulator":
        why.append("simulated, in place of the paper's real data")
    return ColumnMatch(
        data, round(sum(_WEIGHTS[key] * part for key, part in parts.items()), 3), series, (*filter(None, why),)
    )


def _against(wanted: Wanted, data: KnownData, parts: dict[str, float]) -> list[str]:
    """What rules a data set out, whatever else speaks for it; empty for nothing.

    Args:
        wanted: what the blueprint wants.
        data: the data set that is looked at.
        parts: how well it serves, from 0 to 1, by the names of :data:`_WEIGHTS`.
    """
    objections = []
    # A process that the paper names is the one, also where the paper calls its paths crypto or equity.
    named = parts["publisher"] >= NAMED and bool({wanted.asset_class, data.asset_class} & {"synthetic", "graph"})
    if wanted.asset_class and data.asset_class and wanted.asset_class != data.asset_class and not named:
        objections.append(f"asset class {data.asset_class}, wanted {wanted.asset_class}")
    if parts["frequency"] == 0.0:
        objections.append(f"{data.frequency}, wanted {wanted.frequency}")
    if wanted.series and data.series and parts["series"] < 1.0:
        held = matched(wanted.series, data.series)
        objections.append(f"it lacks {', '.join(name for name in wanted.series if name not in held)}")
    # Without series to compare, only a name tells that these are the data.
    if not data.series and parts["publisher"] < NAMED:
        objections.append("the paper does not name it")
    # A simulator's days stand for no real ones.
    if parts["range"] < LEAST_RANGE and data.how in ("bundled", "pulled"):
        objections.append(f"it spans {parts['range']:.0%} of the days wanted")
    if wanted.kind in ("simulated", "specified") and data.how in ("bundled", "pulled"):
        objections.append("real, and the paper's data are synthetic")
    if wanted.url and parts["publisher"] < NAMED:
        objections.append(f"the paper gives {urlsplit(wanted.url).hostname} as its address, which is another publisher")
    return objections


def _kind(data: KnownData) -> str:
    """The kind of a data set, as a blueprint has it."""
    return {"bundled": "real", "pulled": "real", "simulator": "simulated", "specified": "specified"}[data.how]


def _publisher(wanted: Wanted, data: KnownData) -> tuple[float, str]:
    """How surely the paper means the publisher or process of a data set, from 0 to 1, and the reason.

    From 0.9 where the paper names it; 0.4 where it names none, 0.3 where it names another, and 0 where its address is
    that of another.
    """
    host = (urlsplit(wanted.url).hostname or "").lower()
    if host:
        terms = [term for part, term in _HOSTS.items() if part in host]
        if not any(term in data.terms for term in terms):
            return 0.0, ""
    # What its own fields say counts most; a paper may name other data in passing.
    for text, sure, where in (
        (wanted.words, 1.0, ""),
        (wanted.heading, 0.95, " in its title"),
        (wanted.context, 0.9, " beside its data"),
    ):
        for term in data.terms:
            if re.search(rf"(?<![a-z]){re.escape(term)}", text):
                return sure, f"the paper names {term!r}{where}"
    if wanted.source.strip():
        return 0.3, "its publisher is not the one that the paper names"
    return 0.4, "the paper names no publisher"


def _series(wanted: Wanted, data: KnownData, publisher: float) -> tuple[dict[str, str], float, str]:
    """The channels of the wanted series, the share of them that is there, and the reason."""
    # Nothing to compare speaks a little for the data.
    if not wanted.series or not data.series:
        return {}, 0.6, "" if not data.series else "no series named"
    held = matched(wanted.series, data.series)
    # "close" and "volume" are in many data sets: only a name tells whose they are.
    if publisher < NAMED and all(canonical(name) in GENERIC for name in wanted.series):
        return held, 0.0, "series whose names say nothing"
    share = len(held) / len(wanted.series)
    return held, share, f"{len(held)} of {len(wanted.series)} series"


def _range(wanted: Wanted, data: KnownData) -> tuple[float, str]:
    """The share of the wanted days that the data span, and the reason."""
    if data.first is None or (wanted.first is None and wanted.last is None):
        return 1.0, ""
    first, last = wanted.first or data.first, wanted.last or data.last or data.first
    held_last = data.last or last
    days = max((last - first).days, 1)
    common = (min(last, held_last) - max(first, data.first)).days
    share = min(1.0, max(0.0, common / days))
    return share, f"{data.first} to {data.last or 'now'} spans {share:.0%} of {first} to {last}"


def _same(wanted: str, held: str) -> float:
    """Whether two frequencies are the same, as 1 or 0; what is not known differs from nothing."""
    if not wanted or not held or wanted == "none" or held == "none":
        return 1.0
    return 1.0 if wanted == held else 0.0


_BARS: Final = frozenset({"contract.symbols", "contract.initial_cash", "contract.steps"})
"""Fields of tasks that are traded on whole bars."""


def wants_bars(blueprint: Blueprint) -> bool:
    """Whether a blueprint's series are traded, so that whole bars are needed and not one channel of each."""
    return not _BARS.isdisjoint(blueprint.fields)


def channels_of(chosen: ColumnMatch, wanted: Sequence[str]) -> list[str]:
    """The channels that a blueprint uses, in the paper's order; all of them where it names none.

    Args:
        chosen: the match that was taken.
        wanted: names of the series, as the paper writes them.
    """
    return [chosen.series[name] for name in wanted if name in chosen.series] or list(chosen.data.series)
