"""The system-call filter and the library finder, each against something independent."""

from __future__ import annotations

import errno
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym_runtime import elf
from openfingym_runtime.sandbox.inside import denied, seccomp

ALLOWED = seccomp.ALLOW
EPERM = seccomp.ERRNO | errno.EPERM
ENOSYS = seccomp.ERRNO | errno.ENOSYS
ENOTTY = seccomp.ERRNO | errno.ENOTTY
GRANTED = seccomp.ERRNO
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = sorted(AUDIT)
# Numbers as the kernel's headers give them: x86_64, aarch64.
CALLS = {
    "read": (0, 63),
    "clone": (56, 220),
    "clone3": (435, 435),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "mmap": (9, 222),
    "personality": (135, 92),
    "ptrace": (101, 117),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "execve": (59, 221),
    "openat": (257, 56),
    "futex": (202, 98),
    "connect": (42, 203),
    "unshare": (272, 97),
    "memfd_create": (319, 279),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "fadvise64": (221, 223),
    "preadv2": (327, 286),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "setsockopt": (54, 208),
    "ioprio_set": (251, 30),
}


def judge(machine: str, call: str | int, *arguments: int, audit: int | None = None, tcp: bool = False) -> int:
    """Run the filter on one call, as a plain interpreter of classic BPF would."""
    number = call if isinstance(call, int) else CALLS[call][0 if machine == "x86_64" else 1]
    words = {0: number, 4: AUDIT[machine] if audit is None else audit}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        words[16 + 8 * place] = value & 0xFFFFFFFF
        words[20 + 8 * place] = value >> 32
    code = seccomp.program(machine, tcp=tcp)
    accumulator = position = 0
    while True:
        operation, if_true, if_false, constant = code[position]
        position += 1
        if operation == 0x20:
            accumulator = words[constant]
        elif operation == 0x54:
            accumulator &= constant
        elif operation == 0x15:
            position += if_true if accumulator == constant else if_false
        elif operation == 0x35:
            position += if_true if accumulator >= constant else if_false
        elif operation == 0x06:
            return constant
        else:
            raise AssertionError(f"operation {operation:#x}")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("verdict", "call", "arguments"),
    [
        (ALLOWED, "read", ()), (ALLOWED, "execve", ()), (ALLOWED, "openat", ()), (ALLOWED, "futex", ()),
        (ALLOWED, "connect", ()),
        (ALLOWED, "socket", (1, 1)), (EPERM, "socket", (2, 1)), (EPERM, "socket", (10, 2)), (EPERM, "socket", (16, 3)),
        (EPERM, "socket", (40, 1)), (EPERM, "socket", (38, 5)), (EPERM, "socket", (2 | 1 << 32, 1)),
        (ALLOWED, "socket", (1 | 1 << 32, 1)),
        (ALLOWED, "socketpair", (1, 1)), (EPERM, "socketpair", (30, 1)), (EPERM, "socketpair", (1, 2)),
        (EPERM, "socket", (1, 5)),
        (ALLOWED, "socket", (1, 1 | 0o2004000)), (EPERM, "socket", (1, 2 | 0o2000000)),
        (ALLOWED, "fcntl", (3, 1, 0)), (ALLOWED, "fcntl", (3, 1030, 0)), (GRANTED, "fcntl", (3, 6)),
        (GRANTED, "fcntl", (3, 38)),
        (EPERM, "fcntl", (3, 5)), (EPERM, "fcntl", (3, 1024)), (EPERM, "fcntl", (3, 1036)),
        (EPERM, "fcntl", (3, 1024 | 1 << 32)),
        (GRANTED, "flock", (3, 2)), (GRANTED, "fadvise64", (3, 0, 0, 4)), (ALLOWED, "fadvise64", (3, 0, 0, 3)),
        (ALLOWED, "preadv2", ()), (seccomp.ERRNO | errno.EOPNOTSUPP, "preadv2", (3, 0, 1, 0, 0, 0x80)),
        (seccomp.ERRNO | errno.EOPNOTSUPP, "preadv2", (3, 0, 1, 0, 0, 8)),
        (ALLOWED, "prlimit64", (0, 7)), (EPERM, "prlimit64", (1, 7)), (ALLOWED, "setpriority", (0, 0, 5)),
        (EPERM, "setpriority", (0, 9, 5)),
        (EPERM, "ioprio_set", (1, 9)), (ALLOWED, "setsockopt", (3, 1, 2)), (GRANTED, "setsockopt", (3, 1, 7)),
        (EPERM, "setsockopt", (3, 1, 26)), (EPERM, "setsockopt", (3, 1, 32)), (ALLOWED, "setsockopt", (3, 6, 7)),
        (ALLOWED, "clone", (0x3D0F00,)), (ALLOWED, "clone", (17,)), (EPERM, "clone", (0x10000000,)),
        (EPERM, "clone", (0x20000 | 17,)),
        (EPERM, "clone", (0x40000000,)), (ENOSYS, "clone3", ()),
        (ENOTTY, "ioctl", (0, 0x5412)), (ENOTTY, "ioctl", (0, 0x541C)), (ENOTTY, "ioctl", (0, 0x5412 | 1 << 32)),
        (ENOTTY, "ioctl", (0, 0xB701)),
        (ALLOWED, "ioctl", (0, 0x5401)),
        (ALLOWED, "mmap", (0, 1, 3, 0x22)), (ALLOWED, "mmap", (0, 1, 1, 0x01)), (EPERM, "mmap", (0, 1, 3, 0x21)),
        (EPERM, "mmap", (0, 1, 3, 0x23)), (EPERM, "mmap", (0, 1, 3, 0x40022)), (ALLOWED, "mmap", (0, 1, 3, 0x20022)),
        (ALLOWED, "personality", (0xFFFFFFFF,)), (ALLOWED, "personality", (0,)), (EPERM, "personality", (0x40000,)),
        (EPERM, "ptrace", ()), (EPERM, "bpf", ()), (EPERM, "io_uring_setup", ()), (EPERM, "unshare", ()),
        (EPERM, "memfd_create", ()),
        (ENOSYS, 463, ()), (ENOSYS, 0x3FFFFFFF, ()), (ALLOWED, 462, ()),
        (seccomp.KILL_PROCESS, 0x40000000, ()), (seccomp.KILL_PROCESS, 0x40000000 | 41, (2,)),
        (seccomp.KILL_PROCESS, 0xFFFFFFFF, ()),
    ],
)  # fmt: skip
def test_verdict(machine: str, verdict: int, call: str | int, arguments: tuple[int, ...]) -> None:
    assert judge(machine, call, *arguments) == verdict


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("verdict", "call", "arguments"),
    [
        (ALLOWED, "socket", (2, 1, 0)), (ALLOWED, "socket", (2, 1 | 0o2004000, 6)), (ALLOWED, "socket", (1, 1)),
        # UDP, raw, MPTCP, SMC, version 6, netlink, packets, vsock
        (EPERM, "socket", (2, 2, 0)), (EPERM, "socket", (2, 2, 17)), (EPERM, "socket", (2, 3, 1)),
        (EPERM, "socket", (2, 1, 262)), (EPERM, "socket", (2, 1, 256)), (EPERM, "socket", (2, 5, 6)),
        (EPERM, "socket", (10, 1, 0)), (EPERM, "socket", (16, 3, 4)), (EPERM, "socket", (17, 3, 0)),
        (EPERM, "socket", (40, 1, 0)), (EPERM, "socket", (43, 1, 0)), (EPERM, "socket", (1, 2)),
        (EPERM, "socketpair", (2, 1, 0)), (ALLOWED, "socketpair", (1, 1)),
        (ALLOWED, "setsockopt", (3, 6, 1)), (ALLOWED, "setsockopt", (3, 1, 2)), (ALLOWED, "setsockopt", (3, 1, 9)),
        (GRANTED, "setsockopt", (3, 1, 7)), (GRANTED, "setsockopt", (3, 1, 8)),
        # protocols on top of TCP, repair, zero copies, filters, memory, and the options of other levels
        (EPERM, "setsockopt", (3, 6, 31)), (EPERM, "setsockopt", (3, 6, 19)), (EPERM, "setsockopt", (3, 6, 35)),
        (EPERM, "setsockopt", (3, 1, 60)), (EPERM, "setsockopt", (3, 1, 26)), (EPERM, "setsockopt", (3, 1, 51)),
        (EPERM, "setsockopt", (3, 1, 33)), (EPERM, "setsockopt", (3, 1, 73)), (EPERM, "setsockopt", (3, 6, 7)),
        (EPERM, "setsockopt", (3, 0, 1)), (EPERM, "setsockopt", (3, 41, 26)), (EPERM, "setsockopt", (3, 282, 1)),
        (EPERM, "unshare", ()), (EPERM, "ptrace", ()), (ENOSYS, "clone3", ()), (ALLOWED, "read", ()),
    ],
)  # fmt: skip
def test_verdict_with_tcp(machine: str, verdict: int, call: str | int, arguments: tuple[int, ...]) -> None:
    assert judge(machine, call, *arguments, tcp=True) == verdict


@pytest.mark.parametrize("machine", MACHINES)
def test_a_foreign_calling_convention_is_killed(machine: str) -> None:
    for audit in (0x40000003, 0x40000028, AUDIT[next(other for other in MACHINES if other != machine)]):
        assert judge(machine, "read", audit=audit) == seccomp.KILL_PROCESS


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_denied_and_every_jump_fits(machine: str) -> None:
    for numbers in denied.DENIED.values():
        number = numbers[0 if machine == "x86_64" else 1]
        assert number is None or judge(machine, number) == EPERM
    code = seccomp.program(machine)
    assert len(code) <= 4096
    assert all(0 <= if_true < 256 and 0 <= if_false < 256 for _operation, if_true, if_false, _constant in code)


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
)
def test_numbers_are_the_kernel_headers(column: int, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    official = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", Path(header).read_text())
    }
    listed = {name: numbers[column] for name, numbers in (denied.DENIED | seccomp.FILTERED).items()}
    known = {name: number for name, number in listed.items() if name in official}
    assert len(known) > 70
    assert known == {name: official[name] for name in known}


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files of this machine")
def test_required_libraries_are_those_the_loader_reports() -> None:
    loader = shutil.which("ldd")
    if loader is None:
        pytest.skip("ldd is not installed")
    program = Path(sys.executable).resolve()
    modules = sorted(
        (Path(sys.base_prefix) / "lib" / f"python3.{sys.version_info.minor}" / "lib-dynload").glob("_s*.so")
    )
    files = [program, *modules]
    expected: set[Path] = set()
    for file in files:
        listed = subprocess.run([loader, str(file)], capture_output=True, text=True, check=True).stdout
        expected |= {Path(path).resolve() for path in re.findall(r"(/\S+) \(0x", listed)}
    found = elf.required_libraries(files, (Path(sys.base_prefix) / "lib",))
    assert set(found.values()) == expected
    assert platform.machine() in AUDIT
