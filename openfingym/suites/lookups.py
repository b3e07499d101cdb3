"""What the lookups of several suites share: finding things by name, tables as JSON, and snippets of texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime

from openfingym.suites.calls import BadCallError, shown
from openfingym.vault.search import words

MOST_CANDIDATES = 10
"""Most names that are offered in the place of one that does not exist."""
SNIPPET_CHARACTERS = 300
"""Characters of a snippet."""
SEARCHED_CHARACTERS = 400_000
"""Characters at the beginning of a text in which a snippet is looked for: a text of megabytes takes no longer."""


def plain(value: object) -> object:
    """A value of a table as JSON: days and times in ISO 8601, times in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value


def table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> dict[str, object]:
    """Rows as JSON: the names of the columns, and a list of values for each row."""
    return {"columns": list(columns), "rows": [[plain(row[name]) for name in columns] for row in rows]}


def like(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """The keys that are like a text: those with most of its words in their key or name first, or, if none has any of
    its words, those that are written alike.

    Args:
        text: the text, as an agent wrote it.
        names: names of things by key.
        most: most keys that are returned.
    """
    asked = set(words(text))
    scored = []
    for key, name in names.items():
        has = set(words(f"{key} {name}"))
        common = len(asked & has)
        # Of those with as many words, the one with the fewest others comes first.
        if common:
            scored.append((-common, len(has), key))
    best = [key for _, _, key in sorted(scored)[:most]]
    return best or near(text, names, most)


def near(text: str, names: Mapping[str, str], most: int = MOST_CANDIDATES) -> list[str]:
    """The keys that are written like a text, the most alike first.

    Args:
        text: the text, as an agent wrote it.
        names: names of things by key.
        most: most keys that are returned.
    """
    folded = {key.casefold(): key for key in names}
    return [folded[each] for each in difflib.get_close_matches(text.casefold()[:200], folded, n=most, cutoff=0.6)]


def none_such(what: str, asked: str, names: Mapping[str, str]) -> BadCallError:
    """The error that a thing does not exist, with those that are like it.

    Args:
        what: what kind of thing it is, in words for the agent.
        asked: what the agent calls it.
        names: names of the things that there are, by key.
    """
    alike = like(asked, names)
    listed = "; ".join(f"{key} ({names[key]})" if names[key] else key for key in alike)
    hint = f" Like it are: {listed}." if alike else " Nothing is like it; try other words, or search."
    return BadCallError(f"There is no {what} {shown(asked)}.{hint}")


def snippet(text: str, asked: list[str]) -> str:
    """A part of a text from around the place with most of the words that were asked for.

    Args:
        text: the text that a part is taken from.
        asked: the words, in lower case.
    """
    folded = text[:SEARCHED_CHARACTERS].casefold()
    # The first place of each word is enough: a snippet is a hint, and not a ranking.
    starts = sorted({place for word in set(asked) if (place := folded.find(word)) >= 0})
    best = 0
    if starts:
        best = max(starts, key=lambda start: (sum(start <= other < start + 200 for other in starts), -start))
    first = max(best - 60, 0)
    part = " ".join(text[first : first + SNIPPET_CHARACTERS].split())
    return ("..." if first else "") + part + ("..." if first + SNIPPET_CHARACTERS < len(text) else "")
