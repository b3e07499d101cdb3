"""HTTP header fields that several rooms read, always by the same rules: ``Retry-After`` and ``Idempotency-Key``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER_S = 366 * 24 * 3600.0
"""Longest wait that a ``Retry-After`` can ask for; a longer one is read as this."""
LONGEST_KEY = 200
"""Most characters of an ``Idempotency-Key``."""
KEY_PATTERN = "[!-~]+"
KEY_RULE = f"An Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters, and no space."
"""The rule for keys, as refusals state it."""
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def is_idempotency_key(key: str) -> bool:
    """Whether a text may be an ``Idempotency-Key`` by :data:`KEY_RULE`.

    The rule holds for keys of submissions and of starts of episodes, in a header and in a WebSocket's message.
    """
    return len(key) <= LONGEST_KEY and re.fullmatch(KEY_PATTERN, key) is not None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait according to the header ``Retry-After``, in either of its forms (RFC 9110, section 10.2.3): a
    number, which may have decimals here, or a date.

    Args:
        headers: header fields of an answer, by names in lower case or in a mapping that ignores case.

    Returns:
        Seconds, which are 0 for a date that is past; None if the header is missing or has neither form.
    """
    stated = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(stated):
        seconds = float(stated)
    elif (until := _date(stated)) is not None:
        # Compared with the date of the answer itself, so that it does not matter whether this machine's clock is right.
        seconds = (until - (_date(headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    else:
        return None
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # no date, or one whose year or zone no calendar has
        return None
    # The zone -0000 means UTC, and is read as none.
    return date if date.tzinfo else date.replace(tzinfo=UTC)
