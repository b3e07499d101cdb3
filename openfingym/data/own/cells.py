"""Text files of an author's graph: tables of cells, whatever separates them and whether or not they have a header."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, UsageError
from openfingym.files import strange

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

LISTED = 5
"""The most rows or names that a message gives as examples."""
SEPARATORS = (",", "\t", ";", "|")
"""What may separate cells, by preference; otherwise spaces do."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a file. Rows are counted from 0 here, and from 1 in messages."""

    where: str
    """Name of the file, for messages."""
    frame: pd.DataFrame
    """Every cell as a text without spaces around it, the header included; columns are called 0, 1, 2 and so on."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.frame.shape[1])

    def column(self, place: int, first: int) -> list[str]:
        """The texts of a column from row ``first`` on."""
        texts: list[str] = self.frame[place].iloc[first:].tolist()
        return texts

    def header(self) -> list[str]:
        """The texts of the first row."""
        return [str(cell) for cell in self.frame.iloc[0]]

    def numbers(self, columns: Sequence[int], first: int) -> NDArray[np.float64]:
        """The numbers of some columns from row ``first`` on, float64[rows, columns].

        Raises:
            DataError: a cell is no finite number; names it.
        """
        import pandas as pd

        out = np.empty((len(self.frame) - first, len(columns)))
        for place, column in enumerate(columns):
            cells = self.frame[column].iloc[first:]
            out[:, place] = pd.to_numeric(cells, errors="coerce")
            # pandas reads "1_000" as a thousand, which nobody means who writes a table.
            wrong = ~np.isfinite(out[:, place]) | cells.str.contains("_", regex=False).to_numpy()
            if wrong.any():
                row = int(wrong.argmax())
                raise DataError(
                    f"{self.where}, row {first + row + 1}, column {column + 1}: {cells.iloc[row]!r} is not a finite "
                    "number; fill or remove it first"
                )
        return out


def read_cells(path: Path) -> Cells:
    """Read a text file whose cells are separated by commas, tabs, semicolons, bars or spaces.

    Raises:
        DataError: it is empty, not UTF-8 text, or its rows have unlike numbers of cells.
    """
    import pandas as pd

    text = decoded(author_bytes(path), path)
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    if not head:
        raise DataError(f"{path}: the file is empty; expected a row a node or an edge")
    separator = next((mark for mark in SEPARATORS if mark in head), r"\s+")
    if separator == r"\s+" and not re.search(r"\s", head.strip()):
        raise DataError(f"{path}: the first row, {head!r}, has one cell; expected cells separated by commas")
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            dtype=str,
            keep_default_na=False,
            # Edge lists of SNAP and the like begin with comments; in any other file a "#" may be part of a name.
            comment="#" if text.startswith("#") else None,
            quoting=csv.QUOTE_MINIMAL,
        )
    except (ValueError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a table ({error}); every row needs as many cells") from None
    frame = frame.apply(lambda column: column.fillna("").str.strip())
    return Cells(str(path), frame)


def author_bytes(path: Path) -> bytes:
    """The content of a file that the author names, unpacked if its name ends in ``.gz``.

    Raises:
        UsageError: there is no such file, or it is a folder, a pipe or the like.
        DataError: it is larger than a task's dataset may be, or cannot be unpacked.
    """
    from openfingym.data.csvfile import unpacked
    from openfingym.task.files import DATASET_LIMIT

    try:
        # The author may name a link to the file.
        plain = Path(os.path.realpath(path))
        content = strange.read_bytes(plain.parent, plain.name, DATASET_LIMIT)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise DataError(f"{path}: {error.strerror}; leave out what the task does not need") from None
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a file of your own") from None
    return unpacked(content, path, DATASET_LIMIT) if path.suffix == ".gz" else content


def decoded(content: bytes, path: Path) -> str:
    """The text of a file.

    Raises:
        DataError: it is not UTF-8.
    """
    # Spreadsheets begin UTF-8 with a byte-order mark, which would become part of the first cell.
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None


def examples(names: Collection[str]) -> str:
    """The first few names, and how many there are where there are more."""
    shown = ", ".join(map(repr, list(names)[:LISTED]))
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED} more"


def left_out(kept: NDArray[np.bool_], reason: str) -> tuple[int, str]:
    """How many rows are left out, and a sentence about it for the record of what was done.

    Args:
        kept: bool[n], True for the rows that stay.
        reason: why the others do not stay, as a clause that follows a colon.

    Raises:
        DataError: no row is left.
    """
    gone = int((~kept).sum())
    if gone and gone == len(kept):
        raise DataError(f"no row is left: in each, {reason}; fill the gaps, or leave out the emptiest column")
    return gone, f"{gone} of {len(kept)} rows left out: {reason}"
