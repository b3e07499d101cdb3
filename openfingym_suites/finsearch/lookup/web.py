"""The tools ``search`` and ``open_page``: pages of the web as of a time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta

from openfingym.suites.calls import BadCallError, shown
from openfingym.suites.lookups import plain, snippet
from openfingym.vault.conditions import Between, Condition
from openfingym.vault.search import words
from openfingym_suites.finsearch.lookup.world import SearchedView

PAGE_CHARACTERS = 6_000
"""Characters of one part of a page, which is what a call reads."""
_TABLE = "pages"


def search(world: SearchedView, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``search``."""
    world.need(_TABLE, "pages")
    query, limit = arguments["query"], arguments["limit"]
    assert isinstance(query, str)
    most = limit if isinstance(limit, int) else 8
    where: dict[str, Condition] = {}
    if arguments["language"] != "any":
        where["language"] = str(arguments["language"])
    if isinstance(site := arguments["site"], str):
        where["site"] = site
    after, before = arguments["after"], arguments["before"]
    if after is not None or before is not None:
        # Both days are included: the last one goes on to the midnight after it.
        low = datetime.combine(after, time(0), UTC) if isinstance(after, date) else None
        high = datetime.combine(before, time(0), UTC) + timedelta(days=1) if isinstance(before, date) else None
        where["published"] = Between(low, high)
    columns = ["url", "title", "site", "language", "published", "text"]
    hits = world.view.search(_TABLE, query, where=where, columns=columns, limit=most)
    asked = words(query)
    results = []
    for hit in hits:
        row = {name: plain(value) for name, value in hit.row.items()}
        text = str(row.pop("text"))
        results.append({**row, "snippet": snippet(text, asked)})
    answer: dict[str, object] = {"results": results}
    if not results:
        answer["note"] = "no page has any of these words; try others, or fewer conditions"
    return answer


def open_page(world: SearchedView, arguments: Mapping[str, object]) -> object:
    """The answer of the tool ``open_page``."""
    world.need(_TABLE, "pages")
    url, part = arguments["url"], arguments["part"]
    assert isinstance(url, str)
    number = part if isinstance(part, int) else 1
    # Of a page that was written again, the version that became known last.
    versions = world.view.rows(_TABLE, {"url": url}, order=["-known_at"], limit=1)
    if not versions:
        raise BadCallError(f"There is no page {shown(url)}; give an address from the results of search.")
    row = versions[0]
    text = str(row["text"] or "")
    # Rounded up, and an empty page has one part.
    parts = max(-(-len(text) // PAGE_CHARACTERS), 1)
    if number > parts:
        raise BadCallError(f"part must be from 1 to {parts}, of which this page has no more; received {number}.")
    start = (number - 1) * PAGE_CHARACTERS
    shown_part = text[start : start + PAGE_CHARACTERS]
    names = ("url", "title", "site", "language", "published")
    about = {name: plain(row[name]) for name in names}
    return {**about, "part": number, "parts": parts, "text": shown_part}
