"""Texts as rows of numbers and back, exactly: how an answer in words is one row of a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 4
"""Bytes of a text in one number: whole numbers below 2 ** 32, which float64 holds exactly, and any contract allows."""
WIDTH = 750
"""Numbers of an answer and of a reference, where nothing else is stated: 3,000 bytes."""
_LARGEST = 2.0 ** (8 * BYTES)
_UNSOUND = "the numbers are no packed text; expected what openfingym.answers.pack made"


def pack(text: str, width: int = WIDTH) -> NDArray[np.float64]:
    """A text as numbers.

    Args:
        text: any text but one with the character U+0000 or half a surrogate pair.
        width: how many numbers there are; the text has at most 4 bytes of UTF-8 a number.

    Returns:
        float64[width], whole numbers from 0 to below 2 ** 32: four bytes each, the first one highest; 0 after the end.

    Raises:
        UsageError: the text is too long, or has such a character.
    """
    try:
        found = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "the text has half a surrogate pair, which no UTF-8 holds; expected whole characters"
        ) from error
    if b"\0" in found:
        raise UsageError("the text has the character U+0000; expected a text without it")
    if len(found) > BYTES * width:
        raise UsageError(
            f"the text has {len(found):,} bytes in UTF-8; expected at most {BYTES * width:,}: the answer alone"
        )
    return np.frombuffer(found.ljust(BYTES * width, b"\0"), dtype=">u4").astype(np.float64)


def unpack(numbers: NDArray[np.float64]) -> str:
    """The text that :func:`pack` made these numbers of.

    Raises:
        UsageError: no text is packed so.
    """
    return unpack_rows(np.asarray(numbers, dtype=np.float64)[None])[0]


def unpack_rows(rows: NDArray[np.float64]) -> list[str]:
    """The text of every row, float64[rows, width].

    Raises:
        UsageError: in some row no text is packed.
    """
    if rows.ndim == 2:  # most of a row is empty
        rows = rows[:, : int(np.max(np.flatnonzero(rows.any(axis=0)), initial=-1)) + 1]
    sound = rows.ndim == 2 and bool(((rows >= 0.0) & (rows < _LARGEST) & (rows == np.floor(rows))).all())
    if not sound:
        raise UsageError(_UNSOUND)
    try:
        texts = [row.tobytes().rstrip(b"\0").decode() for row in rows.astype(">u4")]
    except UnicodeDecodeError as error:
        raise UsageError(_UNSOUND) from error
    if any("\0" in text for text in texts):
        raise UsageError(_UNSOUND)
    return texts
