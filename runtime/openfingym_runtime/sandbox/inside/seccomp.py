"""The system-call filter: a BPF program assembled here, for x86_64 and aarch64.

Calls that open a way around the sandbox, or that use memory which no limit would count, fail with
EPERM. Calls that this filter does not know fail with ENOSYS, as on an older kernel. A foreign calling
convention (x32, 32-bit) kills the process.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from typing import Final

from . import arguments, syscalls
from .denied import DENIED

ALLOW: Final = 0x7FFF0000
ERRNO: Final = 0x00050000
KILL_PROCESS: Final = 0x80000000

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
_IF_EQUAL: Final = 0x15
_IF_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06

_NUMBER_OFFSET: Final = 0
_ARCH_OFFSET: Final = 4
_X32_BIT: Final = 0x40000000
_NEWEST: Final = 462
"""Highest call number that is let through unless denied (mseal, Linux 6.10)."""

_AF_UNIX: Final = 1
_AF_INET: Final = 2
_NAMESPACES: Final = 0x7E020000  # every CLONE_NEW* flag of clone
_SOCK_STREAM: Final = 1
_SOCK_TYPE: Final = 0xF
_SOL_SOCKET: Final = 1
_BUFFER_SIZES: Final = (7, 8)  # SO_SNDBUF, SO_RCVBUF
_SOCKET_MEMORY: Final = (26, 32, 33, 50)  # SO_ATTACH_FILTER, SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_ATTACH_BPF
_TCP_OPTIONS: Final = {arguments.SOL_SOCKET: arguments.SOCKET_OPTIONS, arguments.IPPROTO_TCP: arguments.TCP_OPTIONS}
_SHARED_ANONYMOUS: Final = 0x21
_HUGE_PAGES: Final = 0x40000
_QUERY: Final = 0xFFFFFFFF

_SET_MODE_FILTER: Final = 1
_FILTER_FLAG_TSYNC: Final = 1

Instruction = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""


AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""``AUDIT_ARCH_*`` of each machine, which is in the data that a filter sees."""
COLUMN: Final = {"x86_64": 0, "aarch64": 1}
"""Each machine's column in the tables of numbers, here and in `denied.DENIED`."""
FILTERED: Final = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "fadvise64": (221, 223),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "mmap": (9, 222),
    "personality": (135, 92),
    "preadv2": (327, 286),
    "prlimit64": (302, 261),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setpriority": (141, 140),
    "setsockopt": (54, 208),
    "socket": (41, 198),
    "socketpair": (53, 199),
}
"""Calls that are allowed or denied by their arguments."""


_ALLOWED: Final = (_RETURN, 0, 0, ALLOW)
_GRANTED: Final = (_RETURN, 0, 0, ERRNO)
"""Reports success (error 0), and does not make the call."""


def _low(argument: int) -> Instruction:
    """Load the low half of a call's argument ``argument``, from 0; the kernel reads these as 32-bit integers."""
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _fail(code: int) -> Instruction:
    return (_RETURN, 0, 0, ERRNO | code)


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """``body``, which must return on every path, for the call with this number; other calls jump over it."""
    return [(_IF_EQUAL, 0, len(body), number), *body]


def _among(values: tuple[int, ...], then: Instruction, otherwise: list[Instruction]) -> list[Instruction]:
    """``then`` if what was loaded is one of ``values``, else ``otherwise``; both must return."""
    # Each test jumps over those that follow to `then`; if it is the last and fails, over `then`.
    tests = [
        (_IF_EQUAL, len(values) - place - 1, 0 if place < len(values) - 1 else 1, value)
        for place, value in enumerate(values)
    ]
    return [*tests, then, *otherwise]


def _allow_only(argument: int, values: tuple[int, ...], code: int = errno.EPERM) -> list[Instruction]:
    return [_low(argument), *_among(values, _ALLOWED, [_fail(code)])]


def _deny_flags(argument: int, mask: int, code: int = errno.EPERM) -> list[Instruction]:
    return [_low(argument), (_AND, 0, 0, mask), (_IF_EQUAL, 0, 1, 0), _ALLOWED, _fail(code)]


def _fcntl_rule() -> list[Instruction]:
    rest = _among(arguments.FCNTL_GRANTED, _GRANTED, [_fail(errno.EPERM)])
    return [_low(1), *_among(arguments.FCNTL_ALLOWED, _ALLOWED, rest)]


def _socket_rule() -> list[Instruction]:
    """Only unix sockets, and only streams: of messages to a socket of another type, the number alone is bounded."""
    return [
        _low(0),
        (_IF_EQUAL, 1, 0, _AF_UNIX),
        _fail(errno.EPERM),
        _low(1),
        # The type's upper bits hold flags such as SOCK_CLOEXEC, which do no harm.
        (_AND, 0, 0, _SOCK_TYPE),
        *_among((_SOCK_STREAM,), _ALLOWED, [_fail(errno.EPERM)]),
    ]


def _tcp_socket_rule() -> list[Instruction]:
    """Unix streams, as by the rule above, and streams of TCP in version 4 of the protocol."""
    tcp = [
        _low(1),
        (_AND, 0, 0, _SOCK_TYPE),
        (_IF_EQUAL, 1, 0, _SOCK_STREAM),
        _fail(errno.EPERM),
        # Not MPTCP and others that are streams of this family too.
        *_allow_only(2, arguments.TCP_PROTOCOLS),
    ]
    return [_low(0), (_IF_EQUAL, 0, len(tcp), _AF_INET), *tcp, *_socket_rule()]


def _tcp_setsockopt_rule() -> list[Instruction]:
    """Of a TCP socket's many options, those that concern delays and lifetimes alone."""
    code = [_low(1)]
    for level, options in _TCP_OPTIONS.items():
        granted = _BUFFER_SIZES if level == _SOL_SOCKET else ()
        refused = [_fail(errno.EPERM)]
        rest = _among(granted, _GRANTED, refused) if granted else refused
        code += _when(level, [_low(2), *_among(options, _ALLOWED, rest)])
    return [*code, _fail(errno.EPERM)]


def _setsockopt_rule() -> list[Instruction]:
    """Changing the size of a buffer reports success without an effect, and nothing can be attached to a socket."""
    refused = _among(_SOCKET_MEMORY, _fail(errno.EPERM), [_ALLOWED])
    return [_low(1), (_IF_EQUAL, 1, 0, _SOL_SOCKET), _ALLOWED, _low(2), *_among(_BUFFER_SIZES, _GRANTED, refused)]


def _mmap_rule() -> list[Instruction]:
    """No shared anonymous memory and no huge pages, both of which a process can hold without them showing in its
    resident size.
    """
    return [
        _low(3),
        (_AND, 0, 0, _SHARED_ANONYMOUS),
        (_IF_EQUAL, 4, 0, _SHARED_ANONYMOUS),
        _low(3),
        (_AND, 0, 0, _HUGE_PAGES),
        (_IF_EQUAL, 0, 1, 0),
        _ALLOWED,
        _fail(errno.EPERM),
    ]


def program(machine: str, *, tcp: bool = False) -> list[Instruction]:
    """The filter for ``machine`` (as `platform.machine` names it); with ``tcp``, programs may speak to each other by
    TCP, in whatever network namespace they are.
    """
    column = COLUMN[machine]
    rules = {
        "mmap": _mmap_rule(),
        "fcntl": _fcntl_rule(),
        "flock": [_GRANTED],
        "ioctl": _allow_only(1, arguments.IOCTL_ALLOWED, errno.ENOTTY),
        "fadvise64": [_low(3), *_among((arguments.ADVICE_IGNORED,), _GRANTED, [_ALLOWED])],
        "preadv2": _deny_flags(5, arguments.CACHED_ONLY, errno.EOPNOTSUPP),
        "clone": _deny_flags(0, _NAMESPACES),
        # clone3 takes its flags by address, where a filter cannot see them; the C library falls back to clone.
        "clone3": [_fail(errno.ENOSYS)],
        "socket": _tcp_socket_rule() if tcp else _socket_rule(),
        "socketpair": _socket_rule(),
        "setsockopt": _tcp_setsockopt_rule() if tcp else _setsockopt_rule(),
        "personality": _allow_only(0, (0, _QUERY)),
        **{name: _allow_only(place, (0,)) for name, place in arguments.OWN_PROCESS.items()},
    }
    code: list[Instruction] = [
        # First of all: with another architecture's convention the same numbers are other calls.
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_IF_EQUAL, 1, 0, AUDIT[machine]),
        (_RETURN, 0, 0, KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        # x32 calls state the same architecture but have other numbers, which the rules below would not match.
        (_IF_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, KILL_PROCESS),
    ]
    for name, rule in rules.items():
        code += _when(FILTERED[name][column], rule)
    code += [(_IF_AT_LEAST, 0, 1, _NEWEST + 1), _fail(errno.ENOSYS)]
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            code += _when(number, [_fail(errno.EPERM)])
    return [*code, _ALLOWED]


def install(*, tcp: bool = False) -> None:
    """Put the calling process, all its threads and everything it starts under the filter, for good.

    Args:
        tcp: whether sockets of TCP may be made; see `program`.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    code = program(platform.machine(), tcp=tcp)
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    filters = ctypes.create_string_buffer(packed, len(packed))
    header = _Program(len(code), ctypes.addressof(filters))
    # For every thread of the process (TSYNC), or else for none.
    syscalls.syscall("seccomp", _SET_MODE_FILTER, _FILTER_FLAG_TSYNC, header)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
