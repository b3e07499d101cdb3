"""The knowledge base as plain files whose changes can be reviewed: a file of sorted JSON lines for each table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openfingym.errors import StoreError
from openfingym.files import strange
from openfingym.files.whole import store_errors, write_text
from openfingym_forge.knowledge.database import KnowledgeBase, write_rows
from openfingym_forge.knowledge.rows import TABLES, Rows

_LARGEST = 64 << 20
"""Bytes of the largest file that is read."""
_LEFT_OUT = {"papers": {"text"}}
"""The text of a paper is its authors', and stays where it was read."""


def export_files(base: KnowledgeBase, folder: Path) -> list[Path]:
    """Write ``TABLE.jsonl`` for each table, with a row a line in order of their keys, and without the texts of papers.

    Args:
        base: the knowledge base to export.
        folder: folder of the files, which is made if it is missing.

    Returns:
        Paths of the files.

    Raises:
        StoreError: a file cannot be written.
    """
    with store_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in TABLES:
        rows = [
            {name: row[name] for name in row if name not in _LEFT_OUT.get(table, set())} for row in base.rows(table)
        ]
        lines = [json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows]
        path = folder / f"{table}.jsonl"
        write_text(path, "".join(f"{line}\n" for line in lines))
        written.append(path)
    return written


def import_files(folder: Path, path: Path) -> KnowledgeBase:
    """Make a knowledge base of exported files; exported again, it gives the same files.

    Args:
        folder: folder of the files.
        path: path of the database that is written.

    Raises:
        StoreError: a file is missing or is no export of a knowledge base, or the database cannot be written.
    """
    rows: Rows = {}
    for table, keys in TABLES.items():
        try:
            content = strange.read_bytes(folder, f"{table}.jsonl", _LARGEST).decode("utf-8")
            # Not splitlines: a value may hold other signs that it takes for ends of lines.
            rows[table] = [_row(line, keys) for line in content.split("\n") if line]
        except (OSError, ValueError) as error:
            why = " ".join(str(error).split())[:200]
            raise StoreError(f"{folder / table}.jsonl: no table of a knowledge base ({why}); export it again") from None
    for row in rows["papers"]:
        row["text"] = ""
    return write_rows(path, [rows])


def _row(line: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """A row from a line, which has the columns of its key, and plain values alone."""
    row = strange.parse_json(line)
    if not isinstance(row, dict) or not all(key in row for key in keys):
        raise ValueError(f"a line has not the columns {', '.join(keys)}")
    if not all(isinstance(value, str | int | float | bool | None) for value in row.values()):
        raise ValueError("a line has lists or objects")
    return row
