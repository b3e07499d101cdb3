"""Which of the data that the library has is what a blueprint asks for, with a score and the reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from openfingym.forge.data.known import KnownData, known_data
from openfingym.forge.data.names import GENERIC, canonical, matched

if TYPE_CHECKING:
    from openfingym.forge.blueprint import Blueprint

LEAST: Final = 0.6
"""Score from which data will do."""
NAMED: Final = 0.9
"""Score of a publisher from which the paper names it."""
LEAST_RANGE: Final = 0.8
"""Share of the blueprint's days that the data must span."""
_WEIGHTS: Final = {"publisher": 0.35, "series": 0.35, "range": 0.15, "frequency": 0.1, "kind": 0.05}
_HOSTS: Final = {
    "treasury.gov": "treasury",
    "stlouisfed.org": "treasury",
    "ecb.europa.eu": "ecb",
    "eiopa.europa.eu": "eiopa",
    "binance": "binance",
    "yahoo": "yahoo",
}
"""Parts of the hosts of publishers that the library knows, and a term of theirs."""


@dataclass(frozen=True)
class Wanted:
    """What a blueprint says of its data."""

    words: str
    """Publisher, panel and description, in lower case."""
    heading: str
    """Title of the paper, in lower case."""
    context: str
    """What else the paper says of its data, in lower case: its abstract and the words it is quoted with."""
    source: str
    series: tuple[str, ...]
    asset_class: str
    frequency: str
    kind: str
    url: str
    first: date | None
    last: date | None


@dataclass(frozen=True)
class ColumnMatch:
    """How well one data set serves a blueprint."""

    data: KnownData
    score: float
    """From 0 to 1; 0 where something rules it out."""
    series: dict[str, str]
    """Channel of each series that the blueprint names."""
    why: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether it will do."""
        return self.score >= LEAST

    def summary(self) -> str:
        """Name, score and reasons, in one line for people."""
        return f"{self.data.name} ({self.score:.2f}): {'; '.join(self.why)}"


def wanted_of(blueprint: Blueprint, abstract: str = "") -> Wanted:
    """What a blueprint, and the abstract of its paper, say of its data."""
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
        return tuple(str(one) for one in value)
    return tuple(part.strip() for part in re.split(r",|;|\band\b", str(value)) if part.strip())


def day(value: object) -> date | None:
    """A field's value as a day; None where it is none."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def matches(blueprint: Blueprint, among: Iterable[KnownData] | None = None, abstract: str = "") -> list[ColumnMatch]:
    """Every data set of the library with its score, the best first; of two alike, what needs no network.

    Args:
        blueprint: what is wanted.
        among: the data sets; None for all of the library.
        abstract: abstract of the paper, which may name what the blueprint does not.
    """
    wanted = wanted_of(blueprint, abstract)
    found = [match(wanted, data) for data in (known_data() if among is None else among)]
    order = {"specified": 0, "bundled": 0, "pulled": 1, "simulator": 2}
    return sorted(found, key=lambda one: (-one.score, order[one.data.how], len(one.data.series), one.data.name))


def match(wanted: Wanted, data: KnownData) -> ColumnMatch:
    """How well a data set serves what is wanted."""
    if data.name in re.findall(r"[a-z0-9-]+", wanted.source.lower()) and "-" in data.name:
        publisher, said = 1.0, "the paper names it"
    else:
        publisher, said = _publisher(wanted, data)
    series, covered, told = _series(wanted, data, publisher)
    spans, span = _range(wanted, data)
    parts = {"publisher": publisher, "series": covered, "range": spans}
    parts["frequency"] = _same(wanted.frequency, data.frequency)
    parts["kind"] = 1.0 if (wanted.kind or "real") == _kind(data) else 0.0
    why = [said, told, span]
    against = _against(wanted, data, parts)
    if against:
        return ColumnMatch(data, 0.0, series, (*against, *filter(None, why)))
    if parts["kind"] == 0.0 and data.how == "simulator":
        why.append("simulated, in place of the paper's real data")
    return ColumnMatch(
        data, round(sum(_WEIGHTS[key] * part for key, part in parts.items()), 3), series, (*filter(None, why),)
    )


def _against(wanted: Wanted, data: KnownData, parts: dict[str, float]) -> list[str]:
    """What rules a data set out, whatever else speaks for it."""
    found = []
    named = parts["publisher"] >= NAMED and bool({wanted.asset_class, data.asset_class} & {"synthetic", "graph"})
    if wanted.asset_class and data.asset_class and wanted.asset_class != data.asset_class and not named:
        found.append(f"asset class {data.asset_class}, wanted {wanted.asset_class}")
    if parts["frequency"] == 0.0:
        found.append(f"{data.frequency}, wanted {wanted.frequency}")
    if wanted.series and data.series and parts["series"] < 1.0:
        held = matched(wanted.series, data.series)
        found.append(f"it lacks {', '.join(name for name in wanted.series if name not in held)}")
    if not data.series and parts["publisher"] < NAMED:
        found.append("the paper does not name it")
    if parts["range"] < LEAST_RANGE and data.how in ("bundled", "pulled"):
        found.append(f"it spans {parts['range']:.0%} of the days wanted")
    if wanted.kind in ("simulated", "specified") and data.how in ("bundled", "pulled"):
        found.append("real, and the paper's data are synthetic")
    if wanted.url and parts["publisher"] < NAMED:
        found.append(f"the paper gives {urlsplit(wanted.url).hostname} as its address, which is another publisher")
    return found


def _kind(data: KnownData) -> str:
    return {"bundled": "real", "pulled": "real", "simulator": "simulated", "specified": "specified"}[data.how]


def _publisher(wanted: Wanted, data: KnownData) -> tuple[float, str]:
    """1 where the paper names the publisher or process, 0.4 where it names no other, 0 where it names another."""
    host = (urlsplit(wanted.url).hostname or "").lower()
    if host:
        own = [term for part, term in _HOSTS.items() if part in host]
        if not any(term in data.terms for term in own):
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
    if not wanted.series or not data.series:
        return {}, 0.6, "" if not data.series else "no series named"
    held = matched(wanted.series, data.series)
    if publisher < NAMED and all(canonical(name) in GENERIC for name in wanted.series):
        return held, 0.0, "series whose names say nothing"
    share = len(held) / len(wanted.series)
    return held, share, f"{len(held)} of {len(wanted.series)} series"


def _range(wanted: Wanted, data: KnownData) -> tuple[float, str]:
    if data.first is None or (wanted.first is None and wanted.last is None):
        return 1.0, ""
    first, last = wanted.first or data.first, wanted.last or data.last or data.first
    held_last = data.last or last
    days = max((last - first).days, 1)
    common = (min(last, held_last) - max(first, data.first)).days
    share = min(1.0, max(0.0, common / days))
    return share, f"{data.first} to {data.last or 'now'} spans {share:.0%} of {first} to {last}"


def _same(wanted: str, held: str) -> float:
    if not wanted or not held or wanted == "none" or held == "none":
        return 1.0
    return 1.0 if wanted == held else 0.0


_BARS: Final = frozenset({"contract.symbols", "contract.initial_cash", "contract.steps"})
"""Fields of tasks that are traded on whole bars."""


def wants_bars(blueprint: Blueprint) -> bool:
    """Whether a blueprint's series are traded, so that whole bars are needed and not one channel of each."""
    return not _BARS.isdisjoint(blueprint.fields)


def channels_of(found: ColumnMatch, wanted: Sequence[str]) -> list[str]:
    """The channels that a blueprint uses, in the paper's order; all where it names none."""
    return [found.series[name] for name in wanted if name in found.series] or list(found.data.series)
