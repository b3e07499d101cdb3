"""Arguments that an agent's program may give to system calls, for the filters of both backends.

Rollouts share inodes: of task files, of libraries, of ``/dev/null``, of the machine's first user namespace, and
the one that every epoll, eventfd and timerfd of the machine has. What one program can do to an inode that another
sees is a message, on whichever of these: a filter cannot know which file a descriptor is of, so it looks at the
command.
"""

from __future__ import annotations

from typing import Final

FCNTL_ALLOWED: Final = (
    0, 1, 2, 3, 4,  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
    8, 9, 10, 11, 15, 16,  # F_SETOWN, F_GETOWN, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX
    1027, 1030, 1032, 1033, 1034,  # F_DUPFD_QUERY, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS
)  # fmt: skip
"""Commands that concern a descriptor, or what nobody else has. Not among them: leases, notices, hints on the lifetime
of an inode's data, asking who holds a lock, and pipes larger than usual."""
FCNTL_GRANTED: Final = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW: granted without a lock, as ``flock`` is. What locks its own files in
``/work``, such as SQLite, goes on; locks exclude nobody."""
IOCTL_ALLOWED: Final = (
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x5409,
    0x540A,
    0x540B,  # TCGETS, TCSETS, TCSETSW, TCSETSF, TCSBRK, TCXONC, TCFLSH
    0x540E,
    0x540F,
    0x5410,
    0x5411,
    0x5413,
    0x5414,  # TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCGWINSZ, TIOCSWINSZ
    0x541B,
    0x5421,
    0x5422,
    0x5429,
    0x5441,  # FIONREAD, FIONBIO, TIOCNOTTY, TIOCGSID, TIOCGPTPEER
    0x5450,
    0x5451,
    0x5452,  # FIONCLEX, FIOCLEX, FIOASYNC
    0x80045430,
    0x40045431,
    0x802C542A,
    0x402C542B,
    0x402C542C,
    0x402C542D,  # TIOCGPTN, TIOCSPTLCK, TCGETS2, TCSETS2, TCSETSW2, TCSETSF2
)
"""Requests to descriptors and terminals; file systems have others that change or tell what all who use them share."""
ADVICE_IGNORED: Final = 4
"""POSIX_FADV_DONTNEED, which drops a file's pages for everybody."""
CACHED_ONLY: Final = 8
"""RWF_NOWAIT, which tells whether somebody has read a page."""
OWN_PROCESS: Final = {
    "ioprio_set": 1,
    "prlimit64": 0,
    "sched_setattr": 0,
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "setpriority": 1,
}
"""Calls that change a process, and which of their arguments names it: it may be the caller's own (0) only."""
