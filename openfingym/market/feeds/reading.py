"""Reading what a venue sent, for all adapters: times, JSON, and errors that say what was wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from openfingym.errors import FeedError
from openfingym.market.feed import Frame
from openfingym.market.ticks import SECOND

MILLISECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = 9  # of nanoseconds
MICROSECONDS_FROM = 10**14
"""The epoch in milliseconds is below this until the year 5138, in microseconds above it since 1973."""
# Seconds since the epoch by their text: many messages share a second, and parsing is slow.
_seconds: dict[str, int] = {}


def nanoseconds(count: int) -> int:
    """Nanoseconds of a time in milliseconds or microseconds since the epoch; its magnitude says which."""
    return count * MILLISECOND if count < MICROSECONDS_FROM else count * 1000


def rfc3339(text: str) -> int:
    """Nanoseconds since the epoch of a time such as ``2021-02-22T15:51:45.335689322Z``, with 0 to 9 decimals, and ``Z``
    or an offset. The result is exact: :class:`~datetime.datetime` would drop what is below a microsecond.

    Raises:
        ValueError: the text is no such time.
    """
    whole, rest = text[:19], text[19:]
    seconds = _seconds.get(whole)
    if seconds is None:
        moment = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
        if len(_seconds) > 4096:
            _seconds.clear()
        seconds = _seconds[whole] = (moment - _EPOCH) // timedelta(seconds=1)
    if rest == "Z":
        return seconds * SECOND
    if not rest.endswith("Z"):
        rest, shift = rest[:-6], _offset(rest[-6:])
        seconds -= shift
    else:
        rest = rest[:-1]
    if not rest:
        return seconds * SECOND
    digits = rest[1:]
    if rest[0] != "." or not 0 < len(digits) <= _DIGITS or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text!r} is no time such as 2021-02-22T15:51:45.335689322Z.")
    return seconds * SECOND + int(digits.ljust(_DIGITS, "0"))


def rfc3339_text(time: int) -> str:
    """A time in nanoseconds since the epoch as text with nine decimals."""
    seconds, fraction = divmod(time, SECOND)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def _offset(text: str) -> int:
    """Seconds of ``+hh:mm``."""
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        raise ValueError(f"{text!r} is neither Z nor an offset such as -04:00.")
    return (1 if text[0] == "+" else -1) * (int(text[1:3]) * 3600 + int(text[4:6]) * 60)


def query(path: str, **fields: object) -> str:
    """A path with a query of the fields that are not None."""
    return f"{path}?{urlencode({key: value for key, value in fields.items() if value is not None})}"


def decoded(decoder: msgspec.json.Decoder[Any], venue: str, content: Frame) -> Any:
    """What a decoder reads.

    Raises:
        FeedError: it cannot be read; the message shows its beginning.
    """
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise unreadable(venue, content, error) from None


def unreadable(venue: str, content: Frame, error: Exception) -> FeedError:
    """The error for content of a venue that cannot be read."""
    return FeedError(f"{venue} sent what is not of its protocol ({error}): {content[:120]!r}.")
