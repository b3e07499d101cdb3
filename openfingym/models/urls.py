"""URLs of endpoints, as they may be shown and recorded."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PLACE = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^\[\]:@\s]+)(:\d*)?")
"""Host, or IPv6 address in brackets, and port."""


def without_credentials(url: str, key: str | None = None) -> str:
    """A URL without anything that may be a credential; ``***`` in the place of what cannot be told from one.

    Args:
        url: URL of an endpoint, as the user gave it.
        key: the endpoint's key, which some have in the path; None where there is none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    # A password with "/", "?" or "#" in it is cut there by urlsplit, which takes the first part of it for the host and
    # the rest for a path.
    strange = "@" in url.partition(parts.netloc)[2] or not _PLACE.fullmatch(host)
    bare = f"{parts.scheme}://{'***' if strange else host + parts.path}"
    return bare.replace(key, "***") if key else bare
