"""Results as small tables of HTML, which notebooks show. Every text in them is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from openfingym.results.result import ISOLATION_IN_WORDS

if TYPE_CHECKING:
    from openfingym.results.result import RolloutResult

ROWS = 60
"""The most results of a list that are shown."""
LONGEST = 200
"""The most characters of a cell that are shown."""
DASH = "–"
"""What a cell without a value shows."""


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", note: str = "") -> str:
    """A table in HTML, with a title above it and a note below it.

    Args:
        columns: headings of the columns as plain text, which is escaped; none for a table without a heading row.
        rows: cells of each row as plain text, which is escaped; the first one is the heading of its row.
        title: plain text above the table, escaped as well; empty for none.
        note: plain text below the table, escaped as well; empty for none.
    """
    heads = "".join(f"<th>{_text(name)}</th>" for name in columns)
    lines = (f"<th>{_text(row[0])}</th>" + "".join(f"<td>{_text(value)}</td>" for value in row[1:]) for row in rows)
    table = "".join(f"<tr>{line}</tr>" for line in ((heads, *lines) if heads else lines))
    above = f"<p><strong>{escape(title)}</strong></p>" if title else ""
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<div>{above}<table>{table}</table>{below}</div>"


def result_html(result: RolloutResult) -> str:
    """One result as a table of two columns: what was run, and how it ended."""
    rows = (
        ("task", result.task),
        ("split", "" if result.split == "test" else f"{_split(result)}: no score"),
        ("questions", result.slice or ""),
        ("agent", result.agent_label if result.model is None else f"{result.agent_label}, {result.model}"),
        ("seed", str(result.seed)),
        ("state", result.state if result.reason is None else f"{result.state}: {result.reason}"),
        ("total", _figure(result.total, result.total_interval)),
        ("relative total", _figure(result.relative_total, result.relative_interval)),
        ("skill", _figure(result.skill, result.skill_interval)),
        (f"beside {result.baseline or 'the baseline'}", result.verdict or DASH),
        ("seconds of the agent", f"{result.wall_s:.1f}"),
        ("in isolation", ISOLATION_IN_WORDS[result.isolation]),
        ("flags", ", ".join(result.flags)),
        ("folder", str(result.path or "")),
    )
    note = "" if result.total is None else "total, relative total: lower is better; [low, high]: 95 % interval"
    return html_table((), [row for row in rows if row[1]], title=f"{data_name(result.data_kind)} data", note=note)


def results_html(results: Sequence[RolloutResult]) -> str:
    """A list of results as a table with one row for each."""
    rows = [
        (
            _subject(result),
            data_name(result.data_kind),
            result.agent_label,
            result.model or DASH,
            str(result.seed),
            result.state,
            _figure(result.relative_total, result.relative_interval),
            _figure(result.total, result.total_interval),
            f"{result.wall_s:.1f}",
        )
        for result in results[:ROWS]
    ]
    # Counted over all results, not only over the rows that are shown.
    states = ", ".join(f"{count:,} {state}" for state, count in Counter(result.state for result in results).items())
    note = f"{len(results):,} rollouts: {states}" if results else "no rollouts"
    note += f"; the first {ROWS} are shown" if len(results) > ROWS else ""
    columns = ("task", "data", "agent", "model", "seed", "state", "relative total", "total", "seconds")
    return html_table(columns, rows, note=note)


def data_name(kind: str) -> str:
    """A kind of data as it is shown: in capitals where it is simulated or with hindsight, so that nobody takes it for
    real data without.
    """
    return kind.upper() if kind == "simulated" or "hindsight" in kind else kind


def _subject(result: RolloutResult) -> str:
    """The task, with the questions or the instance that the result is on where that is not the whole task."""
    if result.slice is not None:
        return f"{result.task}, questions {result.slice}"
    return result.task if result.split == "test" else f"{result.task}, {_split(result)}"


def _split(result: RolloutResult) -> str:
    return f"{result.split} instance {result.instance}"


def _figure(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return DASH
    return f"{value:.4g}" if ends is None else f"{value:.4g} [{ends[0]:.3g}, {ends[1]:.3g}]"


def _text(text: str) -> str:
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
