"""The board of a season: what everybody is told at its close of all that was entered, no finer than it must be.

Primary entries are ranked by the relative total as it is told, which is rounded towards the baseline, and tested
together (:mod:`openfingym.reports.entries`). Adjusted p-values are told rounded up, and only where they are
significant: of a thousand entries, exact ones would tell the labels to whoever meets the same hidden data again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym_verifier.clock import utc
from openfingym_verifier.disclosure.disclosure import coarsely, disclosed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym_verifier.ledger.rows import RolloutRow, SeasonRecord

OPEN = "open"
"""State of an entry that was not ended when its season was closed."""


def board_of(season: SeasonRecord, closed_ns: int, entries: Sequence[tuple[RolloutRow, bool]]) -> dict[str, object]:
    """The board of a season.

    Args:
        season: the season.
        closed_ns: Unix time in nanoseconds at which it was closed.
        entries: what was entered, each with whether it is a primary entry.
    """
    # Imported when the first season is closed: a verifier starts without it.
    from openfingym.reports.entries import SIGNIFICANT, p_value_of, verdicts_of

    # What may be memory is neither ranked nor tested: it says nothing of skill.
    primary = [row for row, is_primary in entries if is_primary and not _replayed(row)]
    tests = verdicts_of([p_value_of(row.result or {}) for row in primary])
    tested = {row.id: test for row, test in zip(primary, tests, strict=True)}
    rows = []
    for row, is_primary in entries:
        told = {} if row.result is None else disclosed(row.result, "rounded")
        test = tested.get(row.id)
        p, q = (None, None) if test is None else (test.p_holm, test.q)
        rows.append(
            {
                "task": row.task,
                "principal": row.principal,
                "agent": row.agent,
                "rollout_id": row.id,
                "primary": is_primary,
                "replayed": _replayed(row),
                "state": told.get("state", OPEN),
                "relative_total": told.get("relative_total"),
                "flags": told.get("flags", []),
                "p_holm": None if p is None or p >= SIGNIFICANT else coarsely(p),
                "q": None if q is None or q >= SIGNIFICANT else coarsely(q),
                "verdict": None if test is None else test.verdict,
            }
        )
    return {
        "season": season.name,
        "kind": season.kind,
        "opened_at": utc(season.opened_ns),
        "closed_at": utc(closed_ns),
        "primary_entries": len(primary),
        "reused": list(season.reused),
        "rows": sorted(rows, key=_place),
    }


def _replayed(row: RolloutRow) -> bool:
    """Whether an entry's agent may have known the hidden data (:mod:`openfingym_verifier.disclosure.past_showings`)."""
    return row.result is not None and bool(row.result.get("replayed"))


def _place(row: dict[str, object]) -> tuple[object, ...]:
    """Where a row stands: by task, primary entries first, the lowest relative total first."""
    relative = row["relative_total"]
    return (
        row["task"],
        not row["primary"] or row["replayed"],
        relative is None,
        relative or 0.0,
        row["principal"],
        row["rollout_id"],
    )
