"""The mark between the cells of an author's table: commas, or another one where the file can be read in one way alone.

Tables of semicolons often have decimal commas, and some have commas between thousands, so that 1,234 has two readings.
What its own file does not decide is refused.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from openfingym.errors import DataError

MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""Marks other than a comma that may separate cells, and what messages call them."""
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[-+]?[\d., ]*\d")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_POINT = re.compile(r"[-+]?\d*\.\d+")


def with_commas(text: str, path: Path) -> tuple[str, tuple[str, ...]]:
    """A table with commas between its cells and points in its decimals, and what was done to come by that.

    Args:
        text: content of the file.
        path: path of the file, for messages.

    Raises:
        DataError: another mark separates cells, and rows have unlike numbers of them, or numbers two readings.
    """
    mark = _mark(text)
    if mark is None:
        return text, ()
    name = MARKS[mark]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row and len(row) != len((rows or [row])[0]):
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(row)} cells separated by {name}, and {len(rows[0])} in the "
                    "first row; every row needs as many"
                )
            rows += [row] if row else []
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}, where {name} separate cells") from None
    steps = [f"cells are separated by {name}"]
    if _has_decimal_commas(rows, name, path):
        rows = [[cell.replace(",", ".") if _COMMA.fullmatch(cell.strip()) else cell for cell in row] for row in rows]
        steps.append("commas in numbers read as decimal ones")
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue(), tuple(steps)


def _mark(text: str) -> str | None:
    """The mark that separates the cells of the first row, if it is no comma."""
    first = _QUOTED.sub("", next((line for line in text.splitlines() if line.strip()), ""))
    for mark in MARKS:
        cells = [cell.strip() for cell in first.split(mark)]
        # Commas in a first row of values are decimal ones if each stands within a number.
        if len(cells) > 1 and all("," not in cell or _COMMA.fullmatch(cell) for cell in cells):
            return mark
    return None


def _has_decimal_commas(rows: Sequence[Sequence[str]], name: str, path: Path) -> bool:
    """Whether numbers have decimal commas; False for a table without commas.

    Raises:
        DataError: they have commas, and whether these are decimal ones cannot be told.
    """
    cells = [(place, cell.strip()) for place, row in enumerate(rows, 1) for cell in row]
    commas = [(place, cell) for place, cell in cells if "," in cell and _NUMBER.fullmatch(cell)]
    if not commas:
        return False
    advice = "save it with commas between cells and points in decimals"
    for place, cell in commas:
        if not _COMMA.fullmatch(cell):
            raise DataError(f"{path}, row {place}: {cell[:40]!r} is no number, where {name} separate cells; {advice}")
    pointed = next(((place, cell) for place, cell in cells if _POINT.fullmatch(cell)), None)
    if pointed is not None:
        raise DataError(
            f"{path}: its cells are separated by {name}, and numbers have commas ({commas[0][1]!r}, row "
            f"{commas[0][0]}) and points ({pointed[1]!r}, row {pointed[0]}); which of them is the decimal one cannot "
            f"be told, so {advice}"
        )
    if all(_THOUSANDS.fullmatch(cell) for _, cell in commas):
        raise DataError(
            f"{path}: its cells are separated by {name}, and {commas[0][1]!r} (row {commas[0][0]}) may have a decimal "
            f"comma or one between thousands, as all numbers with one; {advice}"
        )
    return True
