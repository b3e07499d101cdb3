"""The files in which ``openfingym rounds run`` recorded what its forecasters said, as lines of JSON.

There is a line for each question and each try, in ``<folder of the series>/<week>/records/<agent>.jsonl``, and for
later passes in the same places below ``<folder of the series>/passes/<number>``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openfingym.rounds.book import PASSES

FOLDER = "records"
UNRECORDED = frozenset({"naive", "market-implied"})
"""Programs that ticks enter themselves, of which there are no records."""
OPERATORS = frozenset({"operator", "local"})
"""Principals whose agents have records; other principals may use the same names for agents."""


def record_files(folder: Path) -> list[Path]:
    """The files of records of a series, of all passes.

    Args:
        folder: folder of the series.
    """
    return [
        path
        for place in (folder, *sorted(folder.glob(f"{PASSES}/*")))
        for path in sorted(place.glob(f"*/{FOLDER}/*.jsonl"))
    ]


def record_lines(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """The objects of a file of JSON lines; None for each line that is not one, and for a file that cannot be read."""
    try:
        texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        yield None
        return
    for text in texts:
        try:
            line = json.loads(text) if text.strip() else None
        # The last line may be half written: agents may be running.
        except ValueError:
            line = None
        if isinstance(line, dict):
            yield line
        elif text.strip():
            yield None
