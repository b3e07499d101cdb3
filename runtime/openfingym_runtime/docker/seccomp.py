"""The system calls that an agent's program may make in a container: an allow-list, stricter than the engine's own.

A call that is not named fails with EPERM. Compared with Docker's default profile there are no sockets
but AF_UNIX (and those of TCP where a job needs its loopback interface), no tracing, no keyrings, no io_uring,
no BPF, no System V IPC, and no new namespaces.
"""

from __future__ import annotations

import errno
import json
from functools import cache

from openfingym_runtime.sandbox.inside import arguments

AF_UNIX, AF_INET = 1, 2
SOCK_STREAM, SOCK_TYPE = 1, 0xF
HUGE_PAGES = 0x40000
NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET."""

FILES = """
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fallocate fchdir
fchmod fchmodat fchmodat2 fchown fchownat fdatasync fgetxattr flistxattr fremovexattr fsetxattr fstat fstatfs fsync
ftruncate futimesat getcwd getdents getdents64 getxattr lchown lgetxattr link linkat listxattr llistxattr lremovexattr
lseek lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv pwrite64
pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile
setxattr splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat
utime utimensat utimes vmsplice write writev
"""
WAITING = """
epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 poll ppoll
pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime timerfd_settime
"""
MEMORY = """
brk madvise membarrier mlock mlock2 mlockall mprotect mremap mseal msync munlock munlockall munmap
pkey_alloc pkey_free pkey_mprotect
"""
PROCESSES = """
alarm arch_prctl capget capset clock_getres clock_gettime clock_nanosleep execve execveat exit exit_group fork futex
get_robust_list getcpu getegid geteuid getgid getgroups getitimer
getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid
gettimeofday getuid ioprio_get kill landlock_add_rule landlock_create_ruleset landlock_restrict_self nanosleep pause
pidfd_open pidfd_send_signal prctl restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_yield seccomp
set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setregid setresgid setresuid
setreuid setrlimit setsid setuid sigaltstack sysinfo tgkill time timer_create timer_delete timer_getoverrun
timer_gettime timer_settime times tkill uname vfork wait4 waitid
"""
SOCKETS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
sendto shutdown
"""


def _equals(index: int, value: int) -> dict[str, object]:
    """A condition: the call's argument ``index``, from 0, is ``value``."""
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _without(index: int, flags: int) -> dict[str, object]:
    """A condition: none of ``flags`` is set in the call's argument ``index``, from 0."""
    return {"index": index, "value": flags, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}


def _allow(names: list[str], *args: dict[str, object]) -> dict[str, object]:
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": list(args)}


def _granted(names: list[str], *args: dict[str, object]) -> dict[str, object]:
    """A rule: the calls report success, and are not made."""
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": 0, "args": list(args)}


def _sockets(*, tcp: bool) -> list[dict[str, object]]:
    """The rules for sockets and their options."""
    unix = _allow(["socket", "socketpair"], _equals(0, AF_UNIX))
    if not tcp:
        return [unix, _allow(["setsockopt"])]
    stream = {"index": 1, "value": SOCK_TYPE, "valueTwo": SOCK_STREAM, "op": "SCMP_CMP_MASKED_EQ"}
    options = {arguments.SOL_SOCKET: arguments.SOCKET_OPTIONS, arguments.IPPROTO_TCP: arguments.TCP_OPTIONS}
    return [
        unix,
        *(_allow(["socket"], _equals(0, AF_INET), stream, _equals(2, number)) for number in arguments.TCP_PROTOCOLS),
        *(
            _allow(["setsockopt"], _equals(1, level), _equals(2, option))
            for level, allowed in options.items()
            for option in allowed
        ),
        # The sizes of buffers, which stay as they are.
        *(_granted(["setsockopt"], _equals(1, arguments.SOL_SOCKET), _equals(2, option)) for option in (7, 8)),
    ]


@cache
def profile(*, tcp: bool = False) -> str:
    """The profile as JSON, as the engine's ``seccomp=`` option takes it.

    Args:
        tcp: whether sockets of TCP may be made, by which the processes of a container speak to each other.
    """
    plain = sorted({name for group in (FILES, WAITING, MEMORY, PROCESSES, SOCKETS) for name in group.split()})
    # Here the limit on CPU time is a quota, so a program may choose among the cores. In the sandbox the cores that it
    # may run on are its limit, and the call is denied.
    own_process = {**arguments.OWN_PROCESS, "sched_setaffinity": 0}
    rules: list[dict[str, object]] = [
        _allow(plain),
        *(_allow(["fcntl"], _equals(1, command)) for command in arguments.FCNTL_ALLOWED),
        *(_granted(["fcntl"], _equals(1, command)) for command in arguments.FCNTL_GRANTED),
        _granted(["flock"]),
        *(_allow(["ioctl"], _equals(1, request)) for request in arguments.IOCTL_ALLOWED),
        *(_allow(["fadvise64"], _equals(3, advice)) for advice in range(6) if advice != arguments.ADVICE_IGNORED),
        _granted(["fadvise64"], _equals(3, arguments.ADVICE_IGNORED)),
        _allow(["preadv2"], _without(5, arguments.CACHED_ONLY)),
        # The machine's huge pages are few, and everybody takes from the same.
        _allow(["mmap"], _without(3, HUGE_PAGES)),
        *(_allow([name], _equals(place, 0)) for name, place in own_process.items()),
        *_sockets(tcp=tcp),
        _allow(["clone"], _without(0, NEW_NAMESPACES)),
        # Its flags sit in memory, where a filter cannot look; libc falls back to clone on ENOSYS.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        # The usual personality, and the question which it is; others take protections of memory away.
        _allow(["personality"], _equals(0, 0)),
        _allow(["personality"], _equals(0, 0xFFFFFFFF)),
    ]
    document = {
        "defaultAction": "SCMP_ACT_ERRNO",
        # No sub-architectures: a 32-bit or x32 call is another architecture's, and kills the process.
        "archMap": [
            {"architecture": name, "subArchitectures": None} for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
        ],
        "syscalls": rules,
    }
    return json.dumps(document, separators=(",", ":"))
