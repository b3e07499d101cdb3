"""CERT insider threat test dataset, release 4.2: 1,000 users of a simulated company, 70 of them malicious.

The published archives hold one line an event; the graph is made from them here. An edge joins two
users of whom one mailed the other at the company's own addresses. Each of three views (email,
logon, file) gives two features a user: the number of events, and the share of them outside 7:00 to
19:00 from Monday to Friday. The source papers count two features a view without naming them; these
two are ours.
"""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache as remembered
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs import Graph
from openfingym.data.sources.graph_files import simple_edges
from openfingym.data.sources.graph_layouts import GraphFile
from openfingym.data.sources.graph_sizes import GraphSize, require_size
from openfingym.data.sources.source import PublishedGraph, SourceRequest, refuse
from openfingym.data.sources.table import DataProvenance
from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "cert-r4.2/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
VIEWS = ("email", "logon", "file")
FEATURES = tuple(f"{view}_{what}" for view in VIEWS for what in ("events", "off_hours_share"))
"""Names of the features, in the order of the columns."""
COMPANY = "@dtaa.com"
"""How the company's own mail addresses end."""
OPENS, CLOSES = 7, 19
"""Working hours: from the first, included, to the second."""
MAX_BYTES = 8 << 30
"""Largest archive that is accepted; the events are about 5 GB."""


@dataclass(frozen=True)
class Cert:
    """User behaviour graph from release 4.2."""

    name: str = "cert"
    base_url: str = "https://kilthub.cmu.edu"
    events_path: str = "ndownloader/files/24856766"
    answers_path: str = "ndownloader/files/24857828"
    publisher: str = (
        "CERT Division of the Software Engineering Institute, Carnegie Mellon University; doi 10.1184/R1/12841247"
    )
    licence: str = "CC BY 4.0"
    frequency: str = "none"
    gives: str = "edges by email, 6 features (events and off-hours share of email, logon, file), label: malicious user"
    lag_days: int | None = None
    sizes: tuple[GraphSize, ...] = (GraphSize(1_000, 6, 70),)
    """Users, features made here, and insiders of release 4.2."""

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> PublishedGraph:
        """The graph; nothing may be chosen by the request. The events are about 5 GB. See :class:`DataSource`."""
        refuse(self.name, request, "symbols", "start", "end", "interval")
        answers, events = (
            cache.fetch(
                client,
                f"{self.base_url}/{path}",
                kind="bz2",
                max_bytes=MAX_BYTES,
                refresh=request.refresh,
                progress=progress,
            )
            for path in (self.answers_path, self.events_path)
        )
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, (answers.origin, events.origin))
        published = read_release(cache.path(events), cache.path(answers), provenance)
        graph = published.graph
        require_size(GraphFile({"mail": graph.edges}, graph.features, graph.labels), self.sizes, self.name)
        return published


@dataclass
class _Activity:
    """What the events say about users, gathered while reading."""

    events: dict[str, dict[str, list[int]]] = field(default_factory=lambda: {view: {} for view in VIEWS})
    """For each view and user, [number of events, number of these outside working hours]."""
    address: dict[str, str] = field(default_factory=dict)
    """The user of each company address from which mail was sent."""
    mailed: set[tuple[str, str]] = field(default_factory=set)
    """Pairs of a user and a company address that the user wrote to."""


def read_release(events: Path, answers: Path, provenance: DataProvenance) -> PublishedGraph:
    """Make the graph from the two archives, reading each once from front to back.

    Raises:
        DataError: an archive is damaged, lacks a file, or a line is not of the known form.
    """
    activity = _Activity()
    seen = set()
    for name, lines in _csv_members(events, {f"{view}.csv" for view in VIEWS}):
        view = name.removesuffix(".csv")
        seen.add(view)
        _read_view(view, lines, activity)
    if seen != set(VIEWS):
        raise DataError(
            f"{provenance.source}: {', '.join(f'{view}.csv' for view in VIEWS if view not in seen)} is not in the "
            "archive"
        )
    malicious: set[str] = set()
    for _, lines in _csv_members(answers, {"insiders.csv"}):
        malicious |= {
            row["user"] for row in _rows(lines, "insiders.csv", {"dataset", "user"}) if row["dataset"] == "4.2"
        }
    users = sorted(set().union(*(activity.events[view] for view in VIEWS)))
    unknown = sorted(malicious - set(users))
    if not malicious or unknown:
        raise DataError(
            f"{provenance.source}: insiders of release 4.2 expected among the users, not found: "
            f"{', '.join(unknown[:5]) or 'any'}"
        )
    features = np.array([[cell for view in VIEWS for cell in _pair(activity.events[view].get(user))] for user in users])
    labels = np.array([user in malicious for user in users], dtype=np.int8)
    try:
        return PublishedGraph(Graph(_edges(activity, users), features, labels), provenance)
    except DataError as error:
        raise DataError(f"{provenance.source}: {error}") from error


def _pair(counts: list[int] | None) -> tuple[float, float]:
    return (0.0, 0.0) if counts is None else (float(counts[0]), counts[1] / counts[0])


def _edges(activity: _Activity, users: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    # Only now are all addresses known: who is written to may send a first mail much later.
    number = {user: i for i, user in enumerate(users)}
    pairs = [(number[user], number[activity.address[to]]) for user, to in activity.mailed if to in activity.address]
    return simple_edges(np.array(pairs, dtype=np.int64).reshape(-1, 2).T, len(users))


def _read_view(view: str, lines: Iterable[str], activity: _Activity) -> None:
    needed = {"date", "user"} | ({"from", "to", "cc", "bcc"} if view == "email" else set())
    counts = activity.events[view]
    for row in _rows(lines, f"{view}.csv", needed):
        user = row["user"]
        count = counts.setdefault(user, [0, 0])
        count[0] += 1
        count[1] += _off_hours(row["date"], view)
        if view == "email" and row["from"].endswith(COMPANY):
            activity.address[row["from"]] = user
            for receivers in (row["to"], row["cc"], row["bcc"]):
                activity.mailed.update((user, to) for to in receivers.split(";") if to.endswith(COMPANY))


def _off_hours(stamp: str, view: str) -> bool:
    """Whether ``MM/DD/YYYY hh:mm:ss`` is outside working hours."""
    try:
        weekend = _weekend(stamp[:10])
        return weekend or not OPENS <= int(stamp[11:13]) < CLOSES
    except ValueError:
        raise DataError(f"{view}.csv: {stamp!r} is not a time of the form MM/DD/YYYY hh:mm:ss") from None


# Millions of events share a few hundred days.
@remembered
def _weekend(day: str) -> bool:
    month, number, year = day.split("/")
    return date(int(year), int(month), int(number)).weekday() >= 5


def _rows(lines: Iterable[str], where: str, needed: set[str]) -> Iterator[Mapping[str, str]]:
    reader = csv.DictReader(lines)
    missing = needed - set(reader.fieldnames or ())
    if missing:
        raise DataError(
            f"{where}: no column {', '.join(sorted(missing))} among {', '.join(reader.fieldnames or ())}; the format "
            "has changed"
        )
    for row in reader:
        # DictReader gives None for cells that a line does not have.
        if any(row[name] is None for name in needed):
            raise DataError(
                f"{where}, line {reader.line_num}: fewer cells than the header has; the file may be cut off"
            )
        yield row


def _csv_members(path: Path, wanted: set[str]) -> Iterator[tuple[str, Iterable[str]]]:
    """Text lines of each wanted file in a bzip2 tar archive, without unpacking it to disk."""
    try:
        with tarfile.open(path, "r|bz2") as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if not (member.isfile() and name in wanted):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    # Mails may hold any bytes; of a line, only the time, the user and the addresses are read.
                    yield name, (line.decode("utf-8", "replace") for line in file)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{path.name}: the archive is damaged ({error}); pull it again with refresh") from error
