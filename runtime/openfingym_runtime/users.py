"""User ids: every rollout runs as a user of its own.

The kernel counts some things by user, over all namespaces: queued signals (and shows their number), pages of pipes,
descriptors under way between sockets. What one program uses up another would notice.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
FIRST: Final = 1879048192
COUNT: Final = 1 << 28
"""``FIRST`` to ``FIRST + COUNT - 1``: numbers that no user, service or container manager is given."""


def own_user() -> int:
    """A number that no other rollout is likely to have; ``nobody``'s, which they share, where this process has no such
    user.
    """
    return FIRST + secrets.randbelow(COUNT) if _has_all() else NOBODY


def _has_all() -> bool:
    """Whether every user of the range exists in this process's user namespace."""
    ranges = (map(int, line.split()) for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines())
    return any(start <= FIRST and start + count >= FIRST + COUNT for start, _outside, count in ranges)
