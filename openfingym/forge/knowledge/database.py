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
from openfingym.forge.folder import PaperFolder
from openfingym.forge.knowledge.rows import TABLES, Rows, empty_rows, paper_rows, task_rows

FILE = "knowledge.db"
_OPEN, _CLOSE = "[", "]"
"""Marks around what was found in a snippet."""


@dataclass(frozen=True)
class KnowledgeHit:
    """One thing that a search found."""

    kind: str
    """paper, setting, metric, decision, task or dataset."""
    key: str
    """Of the paper; of a task, a metric or a data set, its name."""
    title: str
    snippet: str
    """Words around what was found, which stands in brackets."""


@dataclass(frozen=True)
class Reuse:
    """How much was taken from what was there, and how much was made."""

    data_reused: int
    data_made: int
    metrics_reused: int
    metrics_made: int


class KnowledgeBase:
    """What the papers of a forge say, and what became of them."""

    def __init__(self, path: Path) -> None:
        """Open a database.

        Raises:
            UsageError: there is none.
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
        """All rows of a table, by their keys."""
        if table not in TABLES:
            raise UsageError(f"no table {table!r}; there are {', '.join(TABLES)}")
        return [dict(row) for row in self._db[table].rows_where(order_by=", ".join(TABLES[table]))]

    def search(self, words: str, *, kind: str = "", most: int = 20) -> list[KnowledgeHit]:
        """What has all of these words, the best first.

        Args:
            words: words; signs are not heeded, so that nothing in them is an operator.
            kind: only this kind of thing; all if empty.
            most: hits at most.
        """
        tokens = re.findall(r"\w+", words)
        if not tokens:
            return []
        query = (
            "select kind, key, title, snippet(documents_fts, 3, :open, :close, '…', 12) as snippet from documents_fts "
            "where documents_fts match :words and (:kind = '' or kind = :kind) order by rank, kind, key limit :most"
        )
        asked = {"words": " ".join(f'"{token}"' for token in tokens), "kind": kind, "most": most}
        found = self._db.query(query, asked | {"open": _OPEN, "close": _CLOSE})
        return [KnowledgeHit(row["kind"], row["key"], row["title"], row["snippet"]) for row in found]

    def show(self, key: str) -> dict[str, Any]:
        """All that is known of a paper, a task, a data set or a metric, by table.

        Raises:
            UsageError: nothing has this name.
        """
        found = {}
        for table in TABLES:
            columns = self._db[table].columns_dict
            named = {"papers": "key", "datasets": "name", "metrics": "name", "tasks": "name"}.get(table)
            asked = [one for one in (named, "paper", "task", "dataset", "metric") if one in columns]
            where = " or ".join(f"[{one}] = :key" for one in asked)
            rows = self._db[table].rows_where(where, {"key": key}, order_by=", ".join(TABLES[table]))
            # The text of a paper is long, and is in its own folder.
            matching = [
                {name: value for name, value in row.items() if name != "text" or table != "papers"} for row in rows
            ]
            if matching:
                found[table] = matching
        if not found:
            raise UsageError(f"nothing is called {key!r} in {self.path}; `openfingym forge search WORDS` finds names")
        return found

    def reuse(self) -> Reuse:
        """How many data sets and metrics of the papers were there already, and how many were made for them."""
        from openfingym.metrics.registry import METRICS

        data = self.rows("paper_datasets")
        reused = sum(bool(row["reused_from"]) or row["how"] != "script" for row in data)
        metrics = [row["metric"] for row in self.rows("paper_metrics")]
        known = sum(name in METRICS for name in metrics)
        return Reuse(reused, len(data) - reused, known, len(metrics) - known)

    def uses(self) -> dict[str, dict[str, int]]:
        """By how many tasks and papers each of the ``datasets`` and each of the ``metrics`` is used."""
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
    """The knowledge base of a forge, made again from its folders: whole, in place of the one that was there.

    Args:
        root: folder of the forge.
        shipped: whether the library's own tasks are in it, with which forged ones share data and metrics.

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
        parts += [task_rows(one.name, one, shipped=False) for one in sorted((root / "tasks").iterdir()) if one.is_dir()]
    if shipped:
        from openfingym.catalog import task_folders

        parts += [task_rows(name, path, shipped=True) for name, path in sorted(task_folders().items())]
    return write_rows(root / FILE, parts)


def write_rows(path: Path, parts: Iterable[Rows]) -> KnowledgeBase:
    """A database of these rows, whole, in place of the one that was there. Of two rows with one key the fuller stays.

    Raises:
        StoreError: it cannot be written.
    """
    import sqlite3

    import sqlite_utils

    merged = empty_rows()
    for part in parts:
        for table, rows in part.items():
            merged[table] += rows
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        db = sqlite_utils.Database(partial)
        try:
            for table, keys in TABLES.items():
                _fill(db, table, keys, _unique(merged[table], keys))
            _index(db)
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{path}: cannot be written ({error}); free some space, or choose another place"
            ) from error
        finally:
            db.close()
        partial.replace(path)
    return KnowledgeBase(path)


def _unique(rows: Iterable[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        before = kept.get(key, {})
        kept[key] = before | {name: value for name, value in row.items() if value or name not in before}
    return [kept[key] for key in sorted(kept, key=str)]


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
    """What is searched: one document for each thing that has words."""
    db["documents"].create({"kind": str, "key": str, "title": str, "body": str})
    documents: list[dict[str, str]] = []

    def add(kind: str, key: str, title: str, *body: str) -> None:
        documents.append({"kind": kind, "key": key, "title": title, "body": "\n".join(one for one in body if one)})

    for row in db["papers"].rows:
        add("paper", row["key"], row["title"], row["title"], row["abstract"], row["text"])
    for table in ("settings", "protocols"):
        for row in db[table].rows:
            add("setting", row["paper"], row["name"], f"{row['name']} {row['value']}", row["quote"], row["assumed"])
    for row in db["decisions"].rows:
        quotes = " ".join(one["quote"] for one in json.loads(row["quotations"]))
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
