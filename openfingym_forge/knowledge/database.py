"""The knowledge base of a forge as a database: made from its folders at any time, searched, shown and counted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from openfingym.errors import StoreError, UsageError
from openfingym.files.whole import store_errors
from openfingym_forge.folder import PaperFolder
from openfingym_forge.knowledge.rows import TABLES, Rows, empty_rows, paper_rows, task_rows

FILE = "knowledge.db"
"""Name of the database in the folder of a forge."""
_OPEN, _CLOSE = "[", "]"
"""Marks around the words in a snippet that were searched for."""


@dataclass(frozen=True)
class KnowledgeHit:
    """One thing that a search found."""

    kind: str
    """What was found: ``paper``, ``setting``, ``metric``, ``decision``, ``task`` or ``dataset``."""
    key: str
    """Key of the paper; name of a task, a metric or a data set."""
    title: str
    snippet: str
    """Words around those that were searched for, which stand in brackets."""


@dataclass(frozen=True)
class Reuse:
    """How much of what papers needed was there already, and how much was made for them."""

    data_reused: int
    """Data sets of papers that the library or an earlier paper had."""
    data_made: int
    """Data sets of papers that were downloaded for them."""
    metrics_reused: int
    """Metrics of papers that the bank has."""
    metrics_made: int
    """Metrics of papers that the bank has not."""


class KnowledgeBase:
    """What the papers of a forge say, and what became of them."""

    def __init__(self, path: Path) -> None:
        """Open a database.

        Args:
            path: path of its file.

        Raises:
            UsageError: there is no such file.
        """
        import sqlite_utils

        if not path.is_file():
            raise UsageError(f"{path}: no knowledge base; `openfingym forge run` makes it")
        self.path = path
        self._db = sqlite_utils.Database(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, in order of their keys.

        Raises:
            UsageError: there is no such table.
        """
        # The name becomes a part of the query.
        if table not in TABLES:
            raise UsageError(f"no table {table!r}; there are {', '.join(TABLES)}")
        return [dict(row) for row in self._db[table].rows_where(order_by=", ".join(TABLES[table]))]

    def search(self, words: str, *, kind: str = "", most: int = 20) -> list[KnowledgeHit]:
        """What has all of these words, the best first.

        Args:
            words: the words; signs between them are left out, so that none is an operator.
            kind: the kind of thing to look for, as :attr:`KnowledgeHit.kind` has it; empty for all.
            most: largest number of hits.
        """
        tokens = re.findall(r"\w+", words)
        if not tokens:
            return []
        query = (
            "select kind, key, title, snippet(documents_fts, 3, :open, :close, '…', 12) as snippet from documents_fts "
            "where documents_fts match :words and (:kind = '' or kind = :kind) order by rank, kind, key limit :most"
        )
        # In quotation marks, since AND, OR and NOT are operators of the search too.
        asked = {"words": " ".join(f'"{token}"' for token in tokens), "kind": kind, "most": most}
        rows = self._db.query(query, asked | {"open": _OPEN, "close": _CLOSE})
        return [KnowledgeHit(row["kind"], row["key"], row["title"], row["snippet"]) for row in rows]

    def show(self, key: str) -> dict[str, Any]:
        """All rows that are about a paper, a task, a data set or a metric, by table.

        Args:
            key: key of the paper, or name of the thing.

        Raises:
            UsageError: nothing has this name.
        """
        tables = {}
        for table in TABLES:
            columns = self._db[table].columns_dict
            # A table names a thing in its own column, or in a column that links to it.
            own = {"papers": "key", "datasets": "name", "metrics": "name", "tasks": "name"}.get(table)
            naming = [column for column in (own, "paper", "task", "dataset", "metric") if column in columns]
            where = " or ".join(f"[{column}] = :key" for column in naming)
            rows = self._db[table].rows_where(where, {"key": key}, order_by=", ".join(TABLES[table]))
            # The text of a paper is long, and is in the paper's own folder.
            matches = [
                {name: value for name, value in row.items() if name != "text" or table != "papers"} for row in rows
            ]
            if matches:
                tables[table] = matches
        if not tables:
            raise UsageError(f"nothing is called {key!r} in {self.path}; `openfingym forge search WORDS` finds names")
        return tables

    def reuse(self) -> Reuse:
        """Count the data sets and metrics of the papers that were there already, and those that were made for them."""
        from openfingym.metrics.registry import METRICS

        data = self.rows("paper_datasets")
        reused = sum(bool(row["reused_from"]) or row["how"] != "script" for row in data)
        metrics = [row["metric"] for row in self.rows("paper_metrics")]
        known = sum(name in METRICS for name in metrics)
        return Reuse(reused, len(data) - reused, known, len(metrics) - known)

    def uses(self) -> dict[str, dict[str, int]]:
        """Number of tasks and papers that use each data set and each metric.

        Returns:
            Under ``datasets`` and ``metrics``, the number by name, the most used first.
        """
        counted: dict[str, dict[str, int]] = {}
        for what, column in (("datasets", "dataset"), ("metrics", "metric")):
            names: dict[str, int] = {}
            for table in (f"task_{what}", f"paper_{what}"):
                for row in self.rows(table):
                    if row[column]:
                        names[row[column]] = names.get(row[column], 0) + 1
            counted[what] = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
        return counted


def rebuild(root: Path, *, shipped: bool = True) -> KnowledgeBase:
    """Make the knowledge base of a forge again from its folders, in place of the one that was there.

    Args:
        root: folder of the forge.
        shipped: whether it holds the library's own tasks as well, with which forged ones share data and metrics.

    Raises:
        UsageError: there is no forge.
        StoreError: it cannot be written.
    """
    if not (root / "papers").is_dir():
        raise UsageError(
            f"{root}: no forge there; begin one with `openfingym forge run PAPERS --model MODEL --out {root}`"
        )
    parts = [
        paper_rows(PaperFolder(path))
        for path in sorted((root / "papers").iterdir())
        if path.is_dir() and not path.name.startswith(".")
    ]
    if (root / "tasks").is_dir():
        folders = [folder for folder in sorted((root / "tasks").iterdir()) if folder.is_dir()]
        parts += [task_rows(folder.name, folder, shipped=False) for folder in folders]
    if shipped:
        from openfingym.catalog import task_folders

        parts += [task_rows(name, path, shipped=True) for name, path in sorted(task_folders().items())]
    return write_rows(root / FILE, parts)


def write_rows(path: Path, parts: Iterable[Rows]) -> KnowledgeBase:
    """Write a database of rows, whole or not at all, in place of the one that was there.

    Args:
        path: path of the database.
        parts: rows by table; rows of one key are merged, so that what one lacks is taken from another.

    Raises:
        StoreError: the database cannot be written.
    """
    import sqlite3

    import sqlite_utils

    merged = empty_rows()
    for part in parts:
        for table, rows in part.items():
            merged[table] += rows
    # Written beside under a name of this process, and renamed: whoever reads the old one goes on reading it.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        db = sqlite_utils.Database(partial)
        try:
            for table, keys in TABLES.items():
                _fill(db, table, keys, _unique(merged[table], keys))
            _index(db)
        # A full disk, which SQLite reports in its own way.
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{path}: cannot be written ({error}); free some space, or choose another place"
            ) from error
        finally:
            db.close()
        partial.replace(path)
    return KnowledgeBase(path)


def _unique(rows: Iterable[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """One row for each key, in a fixed order; an empty value of a later row does not replace one that is not."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        before = merged.get(key, {})
        merged[key] = before | {name: value for name, value in row.items() if value or name not in before}
    # By their texts: numbers and texts in one key cannot be compared.
    return [merged[key] for key in sorted(merged, key=str)]


# Types of all columns of each table, since an empty table has no rows to tell them.
_COLUMNS: Mapping[str, Mapping[str, type]] = {
    "papers": dict.fromkeys(
        (
            "key",
            "title",
            "abstract",
            "text",
            "language",
            "form",
            "origin",
            "digest",
            "licence",
            "arxiv_id",
            "stage",
            "state",
        ),
        str,
    ),
    "datasets": dict.fromkeys(("name", "source", "licence", "how"), str),
    "settings": dict.fromkeys(("paper", "name", "value", "assumed", "quote", "section"), str) | {"start": int},
    "protocols": dict.fromkeys(("paper", "name", "value", "assumed", "quote", "section"), str) | {"start": int},
    "metrics": {"name": str},
    "blueprints": dict.fromkeys(("paper", "name", "title", "body"), str),
    "tasks": dict.fromkeys(("name", "description", "family", "kind", "source"), str) | {"shipped": bool},
    "decisions": {"paper": str, "number": int}
    | dict.fromkeys(("stage", "state", "kind", "code", "text", "quotations"), str),
    "task_datasets": {"task": str, "dataset": str},
    "task_metrics": {"task": str, "metric": str, "weight": float},
    "paper_datasets": dict.fromkeys(("paper", "dataset", "how", "reused_from"), str),
    "paper_metrics": {"paper": str, "number": int} | dict.fromkeys(("metric", "called", "formula", "direction"), str),
}


def _fill(db: Any, table: str, keys: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    db[table].create(dict(_COLUMNS[table]), pk=keys if len(keys) > 1 else keys[0])
    db[table].insert_all(({name: row.get(name) for name in _COLUMNS[table]} for row in rows), batch_size=200)


def _index(db: Any) -> None:
    """Make the table that is searched, with one document for each thing that has words."""
    db["documents"].create({"kind": str, "key": str, "title": str, "body": str})
    documents: list[dict[str, str]] = []

    def add(kind: str, key: str, title: str, *body: str) -> None:
        documents.append({"kind": kind, "key": key, "title": title, "body": "\n".join(text for text in body if text)})

    for row in db["papers"].rows:
        add("paper", row["key"], row["title"], row["title"], row["abstract"], row["text"])
    for table in ("settings", "protocols"):
        for row in db[table].rows:
            add("setting", row["paper"], row["name"], f"{row['name']} {row['value']}", row["quote"], row["assumed"])
    for row in db["decisions"].rows:
        quotes = " ".join(quotation["quote"] for quotation in json.loads(row["quotations"]))
        add(
            "decision",
            row["paper"],
            f"{row['stage']} {row['state']} {row['code']}".strip(),
            row["code"],
            row["text"],
            quotes,
        )
    for row in db["tasks"].rows:
        add("task", row["name"], row["description"], row["name"], row["description"], row["source"])
    for row in db["datasets"].rows:
        add("dataset", row["name"], row["source"] or row["name"], row["name"], row["source"], row["licence"])
    for row in db["paper_metrics"].rows:
        add("metric", row["metric"] or row["called"], row["called"], row["metric"], row["called"], row["formula"])
    db["documents"].insert_all(documents)
    db["documents"].enable_fts(["kind", "key", "title", "body"], fts_version="FTS5")
