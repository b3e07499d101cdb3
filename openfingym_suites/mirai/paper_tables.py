"""The suite's data written under the names of the paper's tables, for programs that read those."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.files.whole import store_errors, whole_file, whole_folder
from openfingym_suites.mirai.splits import PAPER_MONTHS, relation_queries
from openfingym_suites.mirai.taxonomy import QUAD_NAMES, country, relation

if TYPE_CHECKING:
    from openfingym.vault import Vault

KG = (
    "DateStr", "Actor1CountryCode", "Actor2CountryCode", "EventBaseCode", "Actor1CountryName", "Actor2CountryName",
    "RelName", "QuadEventCode", "QuadEventName", "Docid", "Docids",
)  # fmt: skip
NEWS = ("Docid", "MD5", "URL", "Date", "Title", "Text", "Abstract")
QUERIES = (
    "QueryId", "DateStr", "DateNLP", "Actor1CountryCode", "Actor2CountryCode", "Actor1CountryName",
    "Actor2CountryName", "AnswerList", "AnswerDict",
)  # fmt: skip
ABSTRACT_CHARACTERS = 300
"""How many characters of an article's text are its abstract."""
_EVER = datetime(9999, 1, 1, tzinfo=UTC)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


def write_paper_tables(vault: Vault, folder: Path, *, months: Sequence[str] = PAPER_MONTHS) -> None:
    """Write ``data_kg.csv``, ``data_news.csv`` and ``test/MONTH/relation_query.csv``, with tabs between columns.

    The whole database is written, whatever was known when: these files are for evaluation, and not for agents.

    Args:
        vault: the vault with the final tables of the suite.
        folder: the folder to write them to; it must not exist.
        months: months of which test sets are written, such as ``2024-02``.

    Raises:
        StoreError: the folder exists, or cannot be written.
        DataError: a month has too few queries.
    """
    # First, since a month without enough queries is refused before anything is written.
    queries = {month: relation_queries(vault, month) for month in months}
    view = vault.as_of(_EVER)
    articles: list[dict[str, Any]] = view.rows("articles")
    links: list[dict[str, Any]] = view.rows("event_articles")
    numbers = {row["id"]: number for number, row in enumerate(articles)}
    documents: dict[tuple[date, str, str, str], list[int]] = defaultdict(list)
    for row in links:
        documents[row["date"], row["head"], row["relation"], row["tail"]].append(numbers[row["article"]])
    with store_errors(folder), whole_folder(folder) as partial:
        _write(partial / "data_kg.csv", KG, _kg(documents))
        news = (
            [numbers[row["id"]], row["id"], row["url"], row["date"], row["title"], row["text"],
             row["text"][:ABSTRACT_CHARACTERS]]
            for row in articles
        )  # fmt: skip
        _write(partial / "data_news.csv", NEWS, news)
        for month, asked in queries.items():
            (partial / "test" / month).mkdir(parents=True)
            rows = (
                [number, query.date, _in_words(query.date), query.head, query.tail, country(query.head).name,
                 country(query.tail).name, json.dumps(query.answers), json.dumps(query.by_root)]
                for number, query in enumerate(asked, 1)
            )  # fmt: skip
            _write(partial / "test" / month / "relation_query.csv", QUERIES, rows)


def _kg(documents: dict[tuple[date, str, str, str], list[int]]) -> Iterable[list[object]]:
    """The rows of the knowledge graph: one for each event and article of it.

    Args:
        documents: numbers of the articles of each event, by day, head, relation and tail.
    """
    for (day, head, code, tail), numbers in sorted(documents.items()):
        cameo, ordered = relation(code), sorted(numbers)
        event = [
            day, head, tail, code, country(head).name, country(tail).name, cameo.name, cameo.quad,
            QUAD_NAMES[cameo.quad],
        ]  # fmt: skip
        every = json.dumps(ordered)
        for number in ordered:
            yield [*event, number, every]


def _in_words(day: date) -> str:
    """A day in the paper's words, in English whatever the locale of this machine."""
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with whole_file(path) as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
