"""Reading a broker's messages: one that breaks the protocol becomes an error of ours, without the message's values,
which may be an account's.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from openfingym.errors import FeedError
from openfingym.market.feed import Frame


def parsed(venue: str, frame: Frame, kind: type) -> Any:
    """The JSON value of a message, with its fractions as decimals.

    Args:
        venue: name of the venue, for the error.
        frame: the message as it came.
        kind: the type that the value must have, ``dict`` or ``list``.

    Raises:
        FeedError: the message is not JSON, or its value has another type.
    """
    try:
        value = json.loads(frame, parse_float=Decimal)
    except ValueError as error:
        raise FeedError(f"{venue}: a message is not JSON") from error
    if not isinstance(value, kind):
        raise FeedError(f"{venue}: a message is a {type(value).__name__}; expected a {kind.__name__}")
    return value


@contextlib.contextmanager
def protocol(venue: str) -> Iterator[None]:
    """Turn the errors of reading a message that lacks something into a :class:`~openfingym.errors.FeedError`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation, IndexError) as error:
        raise FeedError(f"{venue}: a message is not of the protocol ({type(error).__name__})") from error
