"""Which cells of an author's table were given a value, as a CSV beside the table: runs of rows by channel.

It is a file of its own, which no package holds: an agent that knew where hidden rows have no value would know when a
symbol stops trading.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = ("channel", "first", "last")
"""Columns: name of a channel, and the first and last row of a run of filled cells, counted from 0."""


def filled_csv(channels: Sequence[str], cells: NDArray[np.bool_]) -> bytes:
    """The content of the file.

    Args:
        channels: names of the columns.
        cells: bool[n, channels], True for the cells that were given a value.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for name, column in zip(channels, cells.T, strict=True):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], column.astype(np.int8), [0]]))).tolist()
        writer.writerows([name, first, end - 1] for first, end in zip(edges[::2], edges[1::2], strict=True))
    return file.getvalue().encode()


def read_filled(content: bytes, channels: Sequence[str], rows: int, name: str) -> NDArray[np.bool_]:
    """The cells that were given a value, bool[rows, channels].

    Args:
        content: content of the file.
        channels: names of the columns wanted; runs of others are left out.
        rows: number of rows of the table.
        name: path of the file, for messages.

    Raises:
        DataError: the file is malformed, or names rows that the table does not have.
    """
    cells = np.zeros((rows, len(channels)), dtype=np.bool_)
    place = {channel: number for number, channel in enumerate(channels)}
    try:
        lines = list(csv.reader(io.StringIO(content.decode())))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name}: cannot be read as a table ({error})") from None
    if not lines or tuple(lines[0]) != HEADER:
        raise DataError(f"{name}: its first line must be {','.join(HEADER)}")
    for number, line in enumerate(lines[1:], 2):
        whole = len(line) == len(HEADER) and all(cell.isascii() and cell.isdigit() for cell in line[1:])
        if not whole or not int(line[1]) <= int(line[2]) < rows:
            raise DataError(
                f"{name}, row {number}: {','.join(line)!r} is no channel with the first and last row of a run, from 0 "
                f"to {rows - 1}"
            )
        if line[0] in place:
            cells[int(line[1]) : int(line[2]) + 1, place[line[0]]] = True
    return cells
