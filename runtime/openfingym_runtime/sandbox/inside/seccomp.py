"""The system-call filter: a BPF program assembled here, for x86_64 and aarch64.

Calls that open a way around the sandbox, or that use memory no limit would count, fail with
EPERM; calls this filter does not know fail with ENOSYS, as on an older kernel; a foreign calling
convention (x32, 32-bit) kills the process.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass
from typing import Final

from . import syscalls
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
_NAMESPACES: Final = 0x7E020000  # every CLONE_NEW* flag of clone
_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
_SHARED_ANONYMOUS: Final = 0x21
_HUGE_PAGES: Final = 0x40000
_QUERY: Final = 0xFFFFFFFF

_SET_MODE_FILTER: Final = 1
_FILTER_FLAG_TSYNC: Final = 1

Instruction = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""


@dataclass(frozen=True)
class Architecture:
    """What differs between machines."""

    audit: int
    """``AUDIT_ARCH_*``."""
    column: int
    """Column of `denied.DENIED`."""
    clone: int
    clone3: int
    socket: int
    socketpair: int
    ioctl: int
    mmap: int
    personality: int


ARCHITECTURES: Final = {
    "x86_64": Architecture(0xC000003E, 0, 56, 435, 41, 53, 16, 9, 135),
    "aarch64": Architecture(0xC00000B7, 1, 220, 435, 198, 199, 29, 222, 92),
}


def _low(argument: int) -> Instruction:
    """Load the low half of a call's argument; the kernel reads these arguments as 32-bit integers."""
    return (_LOAD, 0, 0, 16 + 8 * argument)


def _fail(code: int) -> Instruction:
    return (_RETURN, 0, 0, ERRNO | code)


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """``body``, which must return on every path, if the call is ``number``."""
    return [(_IF_EQUAL, 0, len(body), number), *body]


def _allow_only(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_low(argument), *tests, _fail(errno.EPERM), (_RETURN, 0, 0, ALLOW)]


def _deny_values(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    tests = [(_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)]
    return [_low(argument), *tests, (_RETURN, 0, 0, ALLOW), _fail(errno.EPERM)]


def _deny_flags(argument: int, mask: int) -> list[Instruction]:
    return [_low(argument), (_AND, 0, 0, mask), (_IF_EQUAL, 0, 1, 0), (_RETURN, 0, 0, ALLOW), _fail(errno.EPERM)]


def _mmap_rule() -> list[Instruction]:
    """No shared anonymous memory and no huge pages: a process can hold both where its resident size does not show them."""
    return [
        _low(3),
        (_AND, 0, 0, _SHARED_ANONYMOUS),
        (_IF_EQUAL, 4, 0, _SHARED_ANONYMOUS),
        _low(3),
        (_AND, 0, 0, _HUGE_PAGES),
        (_IF_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, ALLOW),
        _fail(errno.EPERM),
    ]


def program(machine: str) -> list[Instruction]:
    """The filter for ``machine`` (as `platform.machine` names it)."""
    arch = ARCHITECTURES[machine]
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_IF_EQUAL, 1, 0, arch.audit),
        (_RETURN, 0, 0, KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_IF_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, KILL_PROCESS),
        *_when(arch.mmap, _mmap_rule()),
        *_when(arch.clone, _deny_flags(0, _NAMESPACES)),
        # clone3 takes its flags by address, where a filter cannot see them; the C library falls back to clone.
        *_when(arch.clone3, [_fail(errno.ENOSYS)]),
        *_when(arch.socket, _allow_only(0, (_AF_UNIX,))),
        *_when(arch.socketpair, _allow_only(0, (_AF_UNIX,))),
        *_when(arch.ioctl, _deny_values(1, (_TIOCSTI, _TIOCLINUX))),
        *_when(arch.personality, _allow_only(0, (0, _QUERY))),
        (_IF_AT_LEAST, 0, 1, _NEWEST + 1),
        _fail(errno.ENOSYS),
    ]
    for numbers in DENIED.values():
        number = numbers[arch.column]
        if number is not None:
            code += _when(number, [_fail(errno.EPERM)])
    return [*code, (_RETURN, 0, 0, ALLOW)]


def install() -> None:
    """Put the calling process, all its threads and everything it starts under the filter, for good.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    code = program(platform.machine())
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    filters = ctypes.create_string_buffer(packed, len(packed))
    header = _Program(len(code), ctypes.addressof(filters))
    syscalls.syscall("seccomp", _SET_MODE_FILTER, _FILTER_FLAG_TSYNC, header)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
