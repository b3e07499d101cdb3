"""What lookups of suites share: things by their names, tables as JSON, and parts of texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime

from openfingym.suites.calls import BadCallError, shown
from openfingym.vault.search import words

MOST_CANDIDATES = 10
SNIPPET_CHARACTERS = 300
SEARCHED_CHARACTERS = 400_000
"""Characters of a text in which a snippet is looked for; of one of megabytes, its beginning."""


def plain(value: object) -> object:
    """A value of a table as JSON: days and times as ISO 8601."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> dict[str, object]:
    """Rows as JSON: names of columns, and lists of values."""
    return {"columns": list(columns), "rows": [[plain(row[name]) for name in columns] for row in rows]}


def like(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """Keys whose key or name is like a text: those with most of its words first, then those written alike."""
    asked = set(words(text))
    scored = []
    for key, name in names.items():
        has = set(words(f"{key} {name}"))
        common = len(asked & has)
        if common:
            scored.append((-common, len(has), key))
    best = [key for _, _, key in sorted(scored)[:most]]
    return best or near(text, names, most)


def near(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """Keys that are written like a text."""
    folded = {key.casefold(): key for key in names}
    return [folded[each] for each in difflib.get_close_matches(text.casefold()[:200], folded, n=most, cutoff=0.6)]


def none_such(what: str, asked: str, names: Mapping[str, str]) -> BadCallError:
    """That there is no such thing, with those that are like it."""
    alike = like(asked, names)
    listed = "; ".join(f"{key} ({names[key]})" if names[key] else key for key in alike)
    hint = f" Like it are: {listed}." if alike else " Nothing is like it; try other words, or search."
    return BadCallError(f"There is no {what} {shown(asked)}.{hint}")


def snippet(text: str, asked: list[str]) -> str:
    """A part of a text around the place with most of the words that were asked for."""
    folded = text[:SEARCHED_CHARACTERS].casefold()
    starts = sorted({place for word in set(asked) if (place := folded.find(word)) >= 0})
    best = 0
    if starts:
        best = max(starts, key=lambda start: (sum(start <= other < start + 200 for other in starts), -start))
    first = max(best - 60, 0)
    part = " ".join(text[first : first + SNIPPET_CHARACTERS].split())
    return ("..." if first else "") + part + ("..." if first + SNIPPET_CHARACTERS < len(text) else "")
