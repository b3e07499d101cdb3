"""What a publisher changed between two pulls of one dataset: revised values, rows that are gone, another graph."""

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
    """What the publisher changed since an earlier pull, as sentences; rows that a later pull adds are no change.

    Args:
        before: record of the earlier pull; None where there is none, and so no change.
        data: what the source gave now.
        cache: the cache that holds the files of the earlier pull.
        sources: sources by name, of which one reads those files.
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
    """How the tables differ in the period that both cover."""
    changes = []
    gone = [name for name in old.columns if name not in new.columns]
    if gone:
        changes.append(f"columns gone: {', '.join(gone[:6])}{' and more' if len(gone) > 6 else ''}")
    within = (old.times >= new.times[0]) & (old.times <= new.times[-1])
    kept = np.isin(old.times, new.times)
    if (within & ~kept).any():
        rows = old.times[within & ~kept]
        changes.append(f"{len(rows)} rows gone, the first of {rows[0].astype('datetime64[m]')}")
    columns = [name for name in old.columns if name in new.columns]
    if not columns or not kept.any():
        return changes
    then = np.stack([old.column(name)[kept] for name in columns], axis=1)
    rows_now = np.searchsorted(new.times, old.times[kept])
    now = np.stack([new.column(name)[rows_now] for name in columns], axis=1)
    # NaN is unequal to itself, but a cell that is missing in both is no revision.
    other = ~((then == now) | (np.isnan(then) & np.isnan(now)))
    if other.any():
        row, column = (int(i) for i in np.argwhere(other)[0])
        changes.append(
            f"{int(other.sum()):,} of {other.size:,} values revised, the first {columns[column]} of "
            f"{old.times[kept][row].astype('datetime64[m]')}: {then[row, column]:g} then, {now[row, column]:g} now"
        )
    return changes
