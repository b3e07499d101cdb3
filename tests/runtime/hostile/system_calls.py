"""Calls what an agent has no business calling: mounts, namespaces, tracing, keyrings, io_uring and the like."""

import ctypes
import errno
import os
import platform
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EAFNOSUPPORT}
NEW_NS = 1 << 17
NEW_CGROUP, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = (1 << bit for bit in range(25, 31))
ARCH = 0 if platform.machine() == "x86_64" else 1

# name: ((x86_64, aarch64), arguments); arguments are such that a kernel without a filter gets past the entry check
CALLS = {
    "mount": ((165, 40), (b"none", b"/work", b"tmpfs", 0, 0)),
    "umount2": ((166, 39), (b"/work", 2)),
    "pivot_root": ((155, 41), (b"/work", b"/work")),
    "chroot": ((161, 51), (b"/work",)),
    "open_tree": ((428, 428), (-100, b"/", 1)),
    "fsopen": ((430, 430), (b"tmpfs", 0)),
    "mount_setattr": ((442, 442), (-100, b"/work", 0, 0, 0)),
    "unshare user": ((272, 97), (NEW_USER,)),
    "unshare net": ((272, 97), (NEW_USER | NEW_NET,)),
    "unshare mount": ((272, 97), (NEW_NS,)),
    "setns": ((308, 268), (-1, 0)),
    "clone3": ((435, 435), (0, 0)),
    "ptrace": ((101, 117), (0, 0, 0, 0)),
    "process_vm_readv": ((310, 270), (os.getppid(), 0, 0, 0, 0, 0)),
    "process_vm_writev": ((311, 271), (os.getppid(), 0, 0, 0, 0, 0)),
    "kcmp": ((312, 272), (os.getpid(), os.getpid(), 1, 0, 0)),
    "pidfd_getfd": ((438, 438), (-1, 0, 0)),
    "add_key": ((248, 217), (b"user", b"probe", b"x", 1, -3)),
    "request_key": ((249, 218), (b"user", b"probe", 0, -3)),
    "keyctl": ((250, 219), (0, -3, 1)),
    "bpf": ((321, 280), (5, 0, 0)),
    "perf_event_open": ((298, 241), (0, 0, -1, -1, 0)),
    "userfaultfd": ((323, 282), (1,)),
    "io_uring_setup": ((425, 425), (1, 0)),
    "open_by_handle_at": ((304, 265), (-100, 0, 0)),
    "init_module": ((175, 105), (0, 0, b"")),
    "finit_module": ((313, 273), (-1, b"", 0)),
    "delete_module": ((176, 106), (b"x", 0)),
    "kexec_load": ((246, 104), (0, 0, 0, 0)),
    "reboot": ((169, 142), (0, 0, 0, 0)),
    "swapon": ((167, 224), (b"/work/x", 0)),
    "acct": ((163, 89), (0,)),
    "quotactl": ((179, 60), (0, 0, 0, 0)),
    "syslog": ((103, 116), (3, 0, 0)),
    "settimeofday": ((164, 170), (0, 0)),
    "clock_adjtime": ((305, 266), (0, 0)),
    "sethostname": ((170, 161), (b"x", 1)),
    "mknod block": ((133, None), (b"/work/disk", 0o60666, 0x0800)),
    "personality": ((135, 92), (0x0040000,)),
}

breaches = []
for name, (numbers, arguments) in CALLS.items():
    number = numbers[ARCH]
    if number is None:
        continue
    # In a child: a call that works must not change this process, and one that hangs must not stop it.
    pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0)
        wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
        result = libc.syscall(ctypes.c_long(number), *wide)
        os._exit(0 if result >= 0 else min(ctypes.get_errno(), 200))
    status = 0
    for _ in range(200):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        breaches.append(f"{name} was let in and did not return")
        continue
    if os.WIFSIGNALED(status):
        print(name, "killed by signal", os.WTERMSIG(status))
        continue
    code = os.WEXITSTATUS(status)
    print(name, "ok" if code == 0 else errno.errorcode.get(code, code))
    if code not in REFUSED:
        breaches.append(f"{name} was let in ({errno.errorcode.get(code, code)})")

print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
