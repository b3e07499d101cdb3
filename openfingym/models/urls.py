"""URLs of endpoints, as they may be shown and recorded."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PLACE = re.compile(r"(\[[0-9a-fA-F:.%]+\]|[^\[\]:@\s]+)(:\d*)?")


def without_credentials(url: str, key: str | None = None) -> str:
    """A URL without anything that may be a credential; ``***`` in the place of what cannot be told from one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "***"
    host = parts.netloc.rpartition("@")[2]
    # Of a password with "/", "?" or "#" in it, whoever reads URLs takes a part for the host and the rest for a path.
    strange = "@" in url.partition(parts.netloc)[2] or not _PLACE.fullmatch(host)
    bare = f"{parts.scheme}://{'***' if strange else host + parts.path}"
    return bare.replace(key, "***") if key else bare
