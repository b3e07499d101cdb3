"""User ids: every rollout runs as a user of its own.

The kernel counts some things by user, over all namespaces: queued signals (and shows their number), pages of pipes,
descriptors under way between sockets. If two programs had one user, one would notice what the other uses up.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
"""User id of ``nobody``."""
FIRST: Final = 1879048192
COUNT: Final = 1 << 28
"""User ids from ``FIRST`` to ``FIRST + COUNT - 1`` are assigned to no user, service or container manager."""


def own_user() -> int:
    """A user id that no other rollout is likely to have; that of ``nobody``, which all share, if this process has no
    such ids.
    """
    return FIRST + secrets.randbelow(COUNT) if _has_all() else NOBODY


def _has_all() -> bool:
    """Whether this process's user namespace has every id of the range."""
    ranges = (map(int, line.split()) for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines())
    return any(start <= FIRST and start + count >= FIRST + COUNT for start, _outside, count in ranges)
