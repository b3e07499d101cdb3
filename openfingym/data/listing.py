"""A list of all datasets, graphs and process sets, without loading any of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import date

    from openfingym.data.dataset import DatasetInfo
    from openfingym.data.sources import Cache
    from openfingym.data.sources.record import PullRecord
    from openfingym.task import DataKind

Form = Literal["panel", "curves", "characteristics", "questions", "paths", "graph", "graphs", "source"]

FREQUENCIES = {"1h": "hourly", "1d": "daily"}
"""Frequencies of the intervals that named datasets ask for."""


@dataclass(frozen=True)
class Listing:
    """A row of the list: one dataset that can be loaded, or pulled."""

    name: str
    form: Form
    """What the dataset is loaded as; ``source`` is a service that is asked for symbols of the user's choice."""
    kind: DataKind
    title: str
    source: str
    licence: str
    frequency: str
    first: str | None
    """ISO day of the first row; None where rows have no time, or before anything was pulled."""
    last: str | None
    """ISO day of the last row; None where ``first`` is."""
    rows: int | None
    """Rows, paths, nodes or graphs; None before anything was pulled."""
    columns: int | None
    """Channels or features."""
    missing: int | None
    """Cells without a value."""
    here: str
    """``bundled``, ``generated`` at load, ``pulled <time>`` or ``not pulled``."""
    details: dict[str, object]
    """Everything else that is recorded about the dataset, as plain JSON values."""


def listings(cache: Cache | None = None) -> list[Listing]:
    """Bundled and simulated data, then what can be pulled, each by name.

    Args:
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: a provenance file is damaged.
    """
    own = [*_panels(), *_structured(), *_paths(), *_graphs()]
    return [*sorted(own, key=lambda row: row.name), *pullable(cache)]


def pullable(cache: Cache | None = None) -> list[Listing]:
    """Everything that can be pulled: named datasets, then sources, with what has been pulled of each."""
    from openfingym.data.sources import Cache as DefaultCache

    return list(_pullable(cache or DefaultCache()))


def _panels() -> Iterator[Listing]:
    from openfingym.data.dataset import datasets

    for info in datasets():
        yield _of_info(info, "panel", "generated" if info.kind == "simulated" else "bundled", len(info.channels))


def _structured() -> Iterator[Listing]:
    from openfingym.data.characteristics import simulated_characteristics
    from openfingym.data.curves import simulated_curves
    from openfingym.data.questions import QUESTION_SETS, simulated_questions

    curves, characteristics = simulated_curves(), simulated_characteristics()
    yield _of_info(curves.info, "curves", "generated", len(curves.info.channels))
    yield _of_info(characteristics.info, "characteristics", "generated", len(characteristics.names))
    for name in QUESTION_SETS:
        questions = simulated_questions(name)
        yield _of_info(questions.info, "questions", "generated", len(questions.names))


def _of_info(info: DatasetInfo, form: Form, here: str, columns: int) -> Listing:
    return Listing(
        name=info.name,
        form=form,
        kind=info.kind,
        title=info.title,
        source=info.source,
        licence=info.licence,
        frequency=info.frequency,
        first=_day(info.first),
        last=_day(info.last),
        rows=info.rows,
        columns=columns,
        missing=info.missing,
        here=here,
        details=_plain(info),
    )


def _paths() -> Iterator[Listing]:
    from openfingym.data.processes import parameters, process_sets

    for known in process_sets():
        steps, channels = known.shape
        yield Listing(
            name=known.name,
            form="paths",
            kind=known.kind,
            title=f"{known.title}; paths of {steps} steps",
            source=known.source,
            licence="Apache-2.0",
            frequency="none",
            first=None,
            last=None,
            rows=known.counts.train + known.counts.public + known.counts.private,
            columns=channels,
            missing=0,
            here="generated",
            details={**_plain(known), "parameters": json.loads(json.dumps(parameters(known), default=str))},
        )


def _graphs() -> Iterator[Listing]:
    from openfingym.data.graphs import attributed_graphs
    from openfingym.data.loaded_graphs import GRAPH_SETS, load_graph_set

    for spec in attributed_graphs():
        yield Listing(
            name=spec.name,
            form="graph",
            kind="simulated",
            title=f"{spec.title}; {spec.edges:,} edges, {spec.anomalies:,} anomalies",
            source="seeded simulator of OpenFinGym, by the sizes of the published graph",
            licence="Apache-2.0",
            frequency="none",
            first=None,
            last=None,
            rows=spec.nodes,
            columns=spec.features,
            missing=0,
            here="generated",
            details=_plain(spec),
        )
    for name in GRAPH_SETS:
        loaded = load_graph_set(name)
        yield _of_info(loaded.info, "graphs", "generated", loaded.graphs.features.shape[1])


def _pullable(cache: Cache) -> Iterator[Listing]:
    from openfingym.data.sources import SOURCES
    from openfingym.data.sources.catalog import PULLABLE, last_pull
    from openfingym.data.sources.record import records

    for name, dataset in sorted(PULLABLE.items()):
        source = SOURCES[dataset.source]
        form: Form = "graph" if source.frequency == "none" else "panel"
        yield _of_pull(name, form, dataset.title, dataset.source, last_pull(name, cache), dataset.request.interval)
    # Pulls of a named dataset are in its own row; what is left was pulled by symbols.
    pulls = [record for record in records(cache) if record.dataset == record.source]
    for name in sorted(SOURCES):
        own = [record for record in pulls if record.source == name]
        for record in own:
            what = ", ".join(record.symbols) or "everything"
            yield _of_pull(name, "graph" if record.first is None else "panel", what, name, record)
        # A graph's source gives that graph alone, which has a row of its own as a named dataset.
        if not own and SOURCES[name].frequency != "none":
            yield _of_pull(name, "source", SOURCES[name].gives, name, None)


def _of_pull(
    name: str, form: Form, title: str, source_name: str, record: PullRecord | None, interval: str | None = None
) -> Listing:
    from openfingym.data.sources import SOURCES

    source = SOURCES[source_name]
    return Listing(
        name=name,
        form=form,
        kind="real",
        title=title,
        source=source.publisher,
        licence=source.licence,
        frequency=record.frequency if record else FREQUENCIES.get(interval or "", source.frequency.partition(",")[0]),
        first=record.first[:10] if record and record.first else None,
        last=record.last[:10] if record and record.last else None,
        rows=record.rows if record else None,
        columns=record.columns if record else None,
        missing=record.missing if record else None,
        here=f"pulled {record.pulled_at}" if record else "not pulled",
        details=_plain(record)
        if record
        else {"gives": source.gives, "service": source.base_url, "frequencies": source.frequency},
    )


def _day(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _plain(record: object) -> dict[str, object]:
    """A dataclass as plain JSON values; days, and parameters that are not JSON, as text."""
    assert dataclasses.is_dataclass(record)
    assert not isinstance(record, type)
    plain: dict[str, object] = json.loads(json.dumps(asdict(record), default=str))
    return plain
