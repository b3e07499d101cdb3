"""The last filter of system calls that an agent's program gets, in either backend: what would pass a message to another
rollout fails, or is answered by the program's first process in the kernel's place.

**Futexes between processes.** A thread can wait at an address of memory, and others wake it. The kernel takes memory
that is mapped from a file to be one place in all processes that map it, and rollouts map the same libraries and task
files. So a wait and a wake would be a message between two of them, thousands of times a second. A filter of system
calls sees no more than the address. But it sees whether a wait is for the threads of one process alone, as nearly every
one is: those are the kernel's. The others, of ``multiprocessing``'s locks and of a thread that the C library waits for,
come here. The kernel never sees them, so that nobody else can.

**sysinfo** counts all processes of the machine, and its free memory. Here it tells the machine's size and nothing that
changes.

The program's process puts itself under the filter (`install`), and hands the descriptor that is returned to its first
process, which answers (`Answers`). No program can take its place: the kernel has one listener for a process.
"""

import ctypes
import fcntl
import os
import struct
import time

_COLUMN = ("x86_64", "aarch64").index(os.uname().machine)
"""This machine's numbers of calls in the tables below."""
AUDIT = (0xC000003E, 0xC00000B7)[_COLUMN]
FUTEX, SYSINFO, SECCOMP = ((202, 99, 317), (98, 179, 277))[_COLUMN]
SOL_SOCKET = 1
REFUSED = (
    ((449, 449), 38),  # futex_waitv, and the three below: waits whose kind is in memory; the C library does without
    ((454, 454), 38),  # futex_wake
    ((455, 455), 38),  # futex_wait
    ((456, 456), 38),  # futex_requeue
    ((434, 434), 1),  # pidfd_open: handles of processes are numbered through the whole machine
)
"""Calls that fail, with the number of the error."""
REFUSED_ARGUMENTS = (
    ((56, 220), 0, 0x1000, (0x1000,), 1),  # clone with CLONE_PIDFD, for such a handle
    ((28, 233), 2, 0xFFFFFFFF, (12,), 22),  # madvise, MADV_MERGEABLE: equal pages of all processes become one
    ((157, 167), 0, 0xFFFFFFFF, (67,), 22),  # prctl, PR_SET_MEMORY_MERGE: the same for all memory
    ((49, 200), 2, 0xFFFFFFFF, (0, 1, 2), 22),  # bind without a name: older kernels number those that they choose
)
"""Calls that fail if an argument, masked, is one of some values: number, place of the argument, mask, values, error."""
REFUSED_OPTIONS = (
    ((55, 209), (57, 71, 77), 92),  # getsockopt: SO_COOKIE, SO_NETNS_COOKIE, SO_PEERPIDFD, one series a machine each
    ((54, 208), (16, 76), 1),  # setsockopt: SO_PASSCRED, which makes the kernel choose a name; SO_PASSPIDFD
)
"""Options of sockets that fail."""
WAIT, WAKE, WAIT_BITSET, WAKE_BITSET = 0, 1, 9, 10
"""Operations of futexes that are answered; the others between processes, which the C library does not use, fail."""
PRIVATE, REALTIME = 128, 256
"""Flags of an operation: that it is for threads of one process alone, and that its time is the clock's on the wall."""
TICK_S = 0.005
"""How often a waiting thread's memory is looked at, since the kernel itself wakes whoever waits for a thread's end."""
HELD_S = 1.0
"""Longest time that a wait is held: then the thread looks for itself, as it must after any wake."""

_EPERM, _EAGAIN, _EFAULT, _ETIMEDOUT, _ENOSYS = 1, 11, 14, 110, 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_LOAD, _AND, _IF_EQUAL, _IF_ANY_SET, _RETURN = 0x20, 0x54, 0x15, 0x45, 0x06
_ALLOWED = (_RETURN, 0, 0, _ALLOW)
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")
_TIME = struct.Struct("=qq")
_SYSINFO = struct.Struct("=q3Q6QH6xQQI4x")
"""uptime, three loads, memory (all, free, shared, buffers), swap (all, free), processes, high memory (two), unit."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def program() -> list[tuple[int, int, int, int]]:
    """The filter, in instructions of BPF: operation, jump if true, jump if false, constant."""
    futex = [
        _argument(1),
        (_IF_ANY_SET, 0, 1, PRIVATE),
        _ALLOWED,
        (_AND, 0, 0, 0xFFFFFFFF & ~REALTIME),
        *_among((WAIT, WAKE, WAIT_BITSET, WAKE_BITSET), (_RETURN, 0, 0, _NOTIFY), _failed(_ENOSYS)),
    ]
    code = [
        (_LOAD, 0, 0, 4),
        # Calls by another convention are the other filter's, which ends the process.
        (_IF_EQUAL, 1, 0, AUDIT),
        _ALLOWED,
        (_LOAD, 0, 0, 0),
        *_when(SYSINFO, [(_RETURN, 0, 0, _NOTIFY)]),
        *_when(FUTEX, futex),
    ]
    for numbers, error in REFUSED:
        code += _when(numbers[_COLUMN], [_failed(error)])
    for numbers, place, mask, values, error in REFUSED_ARGUMENTS:
        code += _when(
            numbers[_COLUMN], [_argument(place), (_AND, 0, 0, mask), *_among(values, _failed(error), _ALLOWED)]
        )
    for numbers, options, error in REFUSED_OPTIONS:
        of_sockets = [_argument(2), *_among(options, _failed(error), _ALLOWED)]
        code += _when(numbers[_COLUMN], [_argument(1), (_IF_EQUAL, 1, 0, SOL_SOCKET), _ALLOWED, *of_sockets])
    return [*code, _ALLOWED]


def _argument(place: int) -> tuple[int, int, int, int]:
    """Load the low half of an argument, from 0: the kernel reads those below as 32-bit integers."""
    return (_LOAD, 0, 0, 16 + 8 * place)


def _failed(error: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | error)


def _when(number: int, body: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """``body``, which returns on every path, for the call with this number; other calls jump over it."""
    return [(_IF_EQUAL, 0, len(body), number), *body]


def _among(
    values: tuple[int, ...], then: tuple[int, int, int, int], otherwise: tuple[int, int, int, int]
) -> list[tuple[int, int, int, int]]:
    """``then`` if what was loaded is one of ``values``, else ``otherwise``; both return."""
    last = len(values) - 1
    tests = [(_IF_EQUAL, last - place, 0 if place < last else 1, value) for place, value in enumerate(values)]
    return [*tests, then, otherwise]


def install() -> int:
    """Put this process and all that it starts under the filter, for good; returns the descriptor of its listener.

    Raises:
        OSError: the kernel refused; the process must not go on.
    """
    code = program()
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    text = ctypes.create_string_buffer(packed, len(packed))
    header = _Program(len(code), ctypes.addressof(text))
    listener = _libc.syscall(
        ctypes.c_long(SECCOMP), ctypes.c_long(_SET_MODE_FILTER), ctypes.c_long(_NEW_LISTENER), ctypes.byref(header)
    )
    if listener < 0:
        raise OSError(ctypes.get_errno(), "the kernel does not let system calls be answered by another process")
    return int(listener)


class _Waiting:
    """A thread that waits, with the answer to its call still to be given."""

    def __init__(self, call: int, memory: int, address: int, value: int, until: float, code: int) -> None:
        self.call = call
        self.memory = memory
        """Descriptor of its process's memory; -1 if that cannot be read."""
        self.address = address
        self.value = value
        """What was at the address when it began to wait."""
        self.until = until
        """Value of ``time.monotonic()`` at which it is answered with the error ``code``."""
        self.code = code


class Answers:
    """What the first process of a rollout does with the calls that come to it; it never waits."""

    def __init__(self, listener: int) -> None:
        self.listener = listener
        """Descriptor that is readable when there is a call to be answered."""
        self._waiting: dict[int, _Waiting] = {}
        """By the number of the thread: each waits at one place at a time."""
        room = ctypes.create_string_buffer(_SYSINFO.size)
        _libc.sysinfo(room)
        self._machine = _SYSINFO.unpack(room.raw)

    @property
    def patience_ms(self) -> float | None:
        """How long to wait for another call before `look` is to be called; None for as long as there is none."""
        return TICK_S * 1000 if self._waiting else None

    def answer(self) -> None:
        """Take one call and answer it, now or later."""
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, buffer)
        except OSError:
            return  # a signal came first, or the caller is dead
        call, thread, _flags, number, _arch, _place, *arguments = _NOTIFICATION.unpack(buffer)
        if number == SYSINFO:
            self._size(call, thread, arguments[0])
        elif arguments[1] & 0xFFFFFFFF & ~REALTIME in (WAKE, WAKE_BITSET):
            # Before the answer: whoever wakes others may count on it. How many there were is told to nobody.
            self.look()
            self._send(call, 0)
        else:
            self._wait(call, thread, arguments)

    def look(self) -> None:
        """Answer the waits that are over: the value is another one, or the time is up."""
        now = time.monotonic()
        for thread, waiting in list(self._waiting.items()):
            if waiting.memory >= 0 and _read(waiting.memory, waiting.address, 4) != waiting.value.to_bytes(4, "little"):
                self._end(thread, _EAGAIN)
            elif now >= waiting.until:
                self._end(thread, waiting.code)

    def _wait(self, call: int, thread: int, arguments: list[int]) -> None:
        address, operation, value, timeout = arguments[0], arguments[1], arguments[2] & 0xFFFFFFFF, arguments[3]
        if thread in self._waiting:  # a signal has ended that wait
            self._end(thread, _EAGAIN)
        now = time.monotonic()
        try:
            memory = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            # A process that hides its memory has to look for itself.
            self._waiting[thread] = _Waiting(call, -1, address, value, now + TICK_S, _EAGAIN)
            return
        until, code = now + HELD_S, _EAGAIN
        found = _read(memory, address, 4)
        given = _read(memory, timeout, _TIME.size) if timeout else None
        self._waiting[thread] = _Waiting(call, memory, address, value, until, code)
        if len(found) < 4 or (given is not None and len(given) < _TIME.size):
            self._end(thread, _EFAULT)
        elif int.from_bytes(found, "little") != value:
            self._end(thread, _EAGAIN)
        elif given is not None:
            seconds, nanoseconds = _TIME.unpack(given)
            left = seconds + nanoseconds / 1e9
            if operation & ~REALTIME & 0xFFFFFFFF == WAIT_BITSET:
                left -= time.time() if operation & REALTIME else now
            if left <= HELD_S:
                self._waiting[thread].until, self._waiting[thread].code = now + left, _ETIMEDOUT

    def _end(self, thread: int, code: int) -> None:
        waiting = self._waiting.pop(thread)
        if waiting.memory >= 0:
            os.close(waiting.memory)
        self._send(waiting.call, code)

    def _size(self, call: int, thread: int, address: int) -> None:
        memory, swap, high = self._machine[4], self._machine[8], self._machine[11]
        uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        told = _SYSINFO.pack(uptime, 0, 0, 0, memory, memory, 0, 0, swap, swap, 1, high, high, self._machine[13])
        try:
            file = os.open(f"/proc/{thread}/mem", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            self._send(call, _EPERM)
            return
        try:
            os.pwrite(file, told, address)
        except (OSError, OverflowError):
            self._send(call, _EFAULT)
        else:
            self._send(call, 0)
        finally:
            os.close(file)

    def _send(self, call: int, code: int) -> None:
        try:  # noqa: SIM105  # what that suggests takes longer to import
            fcntl.ioctl(self.listener, _SEND, _RESPONSE.pack(call, 0, -code, 0))
        except OSError:
            pass  # a signal has ended the call, or the caller is dead


def _read(memory: int, address: int, size: int) -> bytes:
    """What is at an address of a process's memory; fewer bytes if nothing is there."""
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""
