"""Texts packed into rows of numbers and back without loss, so that an answer in words is one row of a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 4
"""How many bytes of a text one number holds: with four it is below 2 ** 32, which float64 represents exactly."""
WIDTH = 750
"""How many numbers an answer or a reference has by default: 3,000 bytes of text."""
_LARGEST = 2.0 ** (8 * BYTES)
_UNSOUND = "the numbers are no packed text; expected what openfingym.answers.pack made"


def pack(text: str, width: int = WIDTH) -> NDArray[np.float64]:
    """Pack a text into numbers.

    Args:
        text: the text, without the character U+0000 and without halves of surrogate pairs.
        width: how many numbers the row has; the text may have four bytes of UTF-8 for each.

    Returns:
        The row, float64[width]: whole numbers from 0 to below 2 ** 32, of four bytes each with the first byte highest;
        0 after the end of the text.

    Raises:
        UsageError: the text is too long, or has one of the characters that it must not have.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            "the text has half a surrogate pair, which no UTF-8 holds; expected whole characters"
        ) from error
    # Zero bytes fill the row after the end of the text, so that a zero of the text itself could not be told from them.
    if b"\0" in encoded:
        raise UsageError("the text has the character U+0000; expected a text without it")
    if len(encoded) > BYTES * width:
        raise UsageError(
            f"the text has {len(encoded):,} bytes in UTF-8; expected at most {BYTES * width:,}: the answer alone"
        )
    # The order of bytes is stated, for the numbers to be the same on every machine.
    return np.frombuffer(encoded.ljust(BYTES * width, b"\0"), dtype=">u4").astype(np.float64)


def unpack(numbers: NDArray[np.float64]) -> str:
    """The text that :func:`pack` packed into these numbers, float64[width].

    Raises:
        UsageError: the numbers are not a packed text.
    """
    return unpack_rows(np.asarray(numbers, dtype=np.float64)[None])[0]


def unpack_rows(rows: NDArray[np.float64]) -> list[str]:
    """The text that is packed into each row, float64[rows, width].

    Raises:
        UsageError: some row is not a packed text.
    """
    # Most texts end long before their row does: columns that are zero in every row need not be checked and decoded.
    if rows.ndim == 2:
        rows = rows[:, : int(np.max(np.flatnonzero(rows.any(axis=0)), initial=-1)) + 1]
    # NaN compares as false with everything, and so is refused as well.
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
