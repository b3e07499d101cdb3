"""Header fields of HTTP that mean the same wherever they are read: ``Retry-After`` and ``Idempotency-Key``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER_S = 366 * 24 * 3600.0
"""What asks for more is read as this."""
LONGEST_KEY = 200
KEY_PATTERN = "[!-~]+"
KEY_RULE = f"An Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters, and no space."
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def is_idempotency_key(key: str) -> bool:
    """Whether this may be an ``Idempotency-Key``, by :data:`KEY_RULE`: of a submission or the start of an episode, as a
    header or in a message of a WebSocket.
    """
    return len(key) <= LONGEST_KEY and re.fullmatch(KEY_PATTERN, key) is not None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the header ``Retry-After``, in either of its forms (RFC 9110, section 10.2.3): a number, which
    may have decimals here, or a date; 0 for a date that is over, None where it is missing or neither.

    A date is compared with the answer's own, so that it does not matter what time this machine thinks it is.

    Args:
        headers: header fields of an answer, by names in lower case or in a mapping that ignores case.
    """
    stated = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(stated):
        seconds = float(stated)
    elif (until := _date(stated)) is not None:
        seconds = (until - (_date(headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    else:
        return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or a zone that no calendar has
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
