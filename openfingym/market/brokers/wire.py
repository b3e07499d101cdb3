"""Reading a venue's messages: what is not of its protocol becomes an error of ours, without the message's values."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from openfingym.errors import FeedError
from openfingym.market.feed import Frame


def parsed(venue: str, frame: Frame, kind: type) -> Any:
    """A message of JSON, its numbers with decimals as decimals.

    Raises:
        FeedError: it is not JSON, or not of this kind.
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
    """Tell what a message lacks as a :class:`~openfingym.errors.FeedError`."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, InvalidOperation, IndexError) as error:
        raise FeedError(f"{venue}: a message is not of the protocol ({type(error).__name__})") from error
