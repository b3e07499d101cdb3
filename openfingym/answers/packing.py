"""Texts as rows of numbers and back, exactly: how an answer in words is one row of a submission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = 6
"""Bytes of a text in one number: whole numbers below 2 ** 48, which float64 holds exactly."""
WIDTH = 500
"""Numbers of an answer and of a reference, where nothing else is stated: 3,000 bytes."""
_LARGEST = 2.0 ** (8 * BYTES)
_ORDER = 256 ** np.arange(BYTES - 1, -1, -1, dtype=np.int64)


def pack(text: str, width: int = WIDTH) -> NDArray[np.float64]:
    """A text as numbers.

    Args:
        text: any text but one with the character U+0000 or half a surrogate pair.
        width: how many numbers there are; the text has at most 6 bytes of UTF-8 a number.

    Returns:
        float64[width], whole numbers from 0 to below 2 ** 48: six bytes each, the first one highest; 0 after the end.

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
    bytes_ = np.frombuffer(found.ljust(BYTES * width, b"\0"), dtype=np.uint8).reshape(width, BYTES)
    return np.asarray((bytes_.astype(np.int64) * _ORDER).sum(axis=1), dtype=np.float64)


def unpack(numbers: NDArray[np.float64]) -> str:
    """The text that :func:`pack` made these numbers of.

    Raises:
        UsageError: no text is packed so.
    """
    values = np.asarray(numbers, dtype=np.float64)
    sound = values.ndim == 1 and bool(((values >= 0.0) & (values < _LARGEST) & (values == np.floor(values))).all())
    try:
        if not sound:
            raise ValueError
        # The six low bytes of each big-endian whole number of eight.
        eight = values.astype(">i8").view(np.uint8).reshape(-1, 8)
        found = eight[:, 8 - BYTES :].tobytes().rstrip(b"\0")
        text = found.decode()
        if "\0" in text:
            raise ValueError
    except ValueError as error:
        raise UsageError("the numbers are no packed text; expected what openfingym.answers.pack made") from error
    return text
