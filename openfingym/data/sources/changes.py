"""What a publisher changed between two pulls of the same: revised values, rows that are gone, another graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.sources.table import Table
from openfingym.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.record import PullRecord
    from openfingym.data.sources.source import DataSource, PublishedGraph

SHOWN = 16
"""Hex digits of a digest in a message."""


def changes_since(
    before: PullRecord | None, data: Table | PublishedGraph, cache: Cache, sources: Mapping[str, DataSource]
) -> tuple[str, ...]:
    """What of an earlier pull is otherwise in ``data``, as sentences; none where nothing is, or there is no such pull.

    Rows that a later pull adds are no change.
    """
    from openfingym.data.sources.record import read_table

    digest = data.digest if isinstance(data, Table) else data.graph.digest
    if before is None or before.digest == digest:
        return ()
    since = f"changed by the publisher since the pull of {before.pulled_at}"
    digests = f"digest {before.digest[:SHOWN]} then, {digest[:SHOWN]} now"
    if not isinstance(data, Table):
        now = f"{data.graph.nodes:,} nodes and {data.graph.features.shape[1]:,} features"
        return (f"{since}: {before.rows:,} nodes and {before.columns:,} features then, {now} now; {digests}",)
    try:
        old = read_table(before, cache, sources)
    except DataError as error:
        return (f"may have {since}: {digests}, and the files of then cannot be compared ({error})",)
    return tuple(f"{since}: {change}" for change in _of_tables(old, data))


def _of_tables(old: Table, new: Table) -> list[str]:
    """What is in both tables' period and differs."""
    found = []
    gone = [name for name in old.columns if name not in new.columns]
    if gone:
        found.append(f"columns gone: {', '.join(gone[:6])}{' and more' if len(gone) > 6 else ''}")
    within = (old.times >= new.times[0]) & (old.times <= new.times[-1])
    kept = np.isin(old.times, new.times)
    if (within & ~kept).any():
        rows = old.times[within & ~kept]
        found.append(f"{len(rows)} rows gone, the first of {rows[0].astype('datetime64[m]')}")
    columns = [name for name in old.columns if name in new.columns]
    if not columns or not kept.any():
        return found
    then = np.stack([old.column(name)[kept] for name in columns], axis=1)
    rows_now = np.searchsorted(new.times, old.times[kept])
    now = np.stack([new.column(name)[rows_now] for name in columns], axis=1)
    other = ~((then == now) | (np.isnan(then) & np.isnan(now)))
    if other.any():
        row, column = (int(i) for i in np.argwhere(other)[0])
        found.append(
            f"{int(other.sum()):,} of {other.size:,} values revised, the first {columns[column]} of "
            f"{old.times[kept][row].astype('datetime64[m]')}: {then[row, column]:g} then, {now[row, column]:g} now"
        )
    return found
