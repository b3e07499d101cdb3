"""Arguments that an agent's program may give to system calls, for the filters of both backends.

Rollouts share inodes: those of task files, libraries, ``/dev/null`` and the machine's first user namespace, and the one
that every epoll, eventfd and timerfd of the machine has. Whatever one program can do to such an inode and another can
see would be a message between them. A filter cannot know which file a descriptor is of, so it decides by the command.
"""

from __future__ import annotations

from typing import Final

FCNTL_ALLOWED: Final = (
    0, 1, 2, 3, 4,  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
    8, 9, 10, 11, 15, 16,  # F_SETOWN, F_GETOWN, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX
    1027, 1030, 1032, 1033, 1034,  # F_DUPFD_QUERY, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS
)  # fmt: skip
"""Commands that concern the descriptor itself, or a file that nobody else has. Leases, notices, hints on the lifetime
of an inode's data, asking who holds a lock, and making a pipe larger are not among them."""
FCNTL_GRANTED: Final = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW: these report success and take no lock, as ``flock`` does. So whatever
locks its own files in ``/work``, such as SQLite, still works, but locks exclude nobody."""
IOCTL_ALLOWED: Final = (
    0xC0502100, 0xC0182101,  # SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND: of the first process in a container
    0x5401, 0x5402, 0x5403, 0x5404, 0x5409, 0x540A, 0x540B,  # TCGETS, TCSETS, TCSETSW, TCSETSF, TCSBRK, TCXONC, TCFLSH
    0x540E, 0x540F, 0x5410, 0x5411, 0x5413, 0x5414,  # TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCGWINSZ, TIOCSWINSZ
    0x541B, 0x5421, 0x5422, 0x5429, 0x5441,  # FIONREAD, FIONBIO, TIOCNOTTY, TIOCGSID, TIOCGPTPEER
    0x5450, 0x5451, 0x5452,  # FIONCLEX, FIOCLEX, FIOASYNC
    0x80045430, 0x40045431, 0x802C542A,  # TIOCGPTN, TIOCSPTLCK, TCGETS2
    0x402C542B, 0x402C542C, 0x402C542D,  # TCSETS2, TCSETSW2, TCSETSF2
)  # fmt: skip
"""Requests to descriptors and terminals. File systems have others, which change or show what all their users share."""
ADVICE_IGNORED: Final = 4
"""POSIX_FADV_DONTNEED, which drops a file's pages from the cache for everybody."""
CACHED_ONLY: Final = 0xFFFFFFFF
"""Flags of ``preadv2``: RWF_NOWAIT shows whether somebody has read a page, RWF_DONTCACHE does it without leaving a
trace, and nobody misses the others."""
OWN_PROCESS: Final = {
    "ioprio_set": 1,
    "prlimit64": 0,
    "sched_setattr": 0,
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "setpriority": 1,
}
"""Calls that change a process, with the place of the argument that names it: it may only be the caller itself (0)."""

SOL_SOCKET: Final = 1
IPPROTO_TCP: Final = 6
TCP_PROTOCOLS: Final = (0, IPPROTO_TCP)
"""Protocols by which a socket of a stream in version 4 of the internet protocol is TCP."""
SOCKET_OPTIONS: Final = (2, 9, 10, 13, 15, 18, 20, 21)
"""SO_REUSEADDR, SO_KEEPALIVE, SO_OOBINLINE, SO_LINGER, SO_REUSEPORT, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDTIMEO: what a
program that may use TCP may set of any socket."""
TCP_OPTIONS: Final = (1, 4, 5, 6, 12, 18)
"""TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_QUICKACK, TCP_USER_TIMEOUT. Others load modules of the
kernel, such as TCP_ULP, or map its memory."""
