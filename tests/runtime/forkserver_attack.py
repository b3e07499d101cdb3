# ruff: noqa: B007, B023, PTH110, PTH123, PTH208, SIM115, T201
"""Tries to reach the process it was forked from, what that one sees of the host, and other programs."""

import ctypes
import gc
import os
import signal
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
breaches = []


def attempt(name, call):
    try:
        found = call()
    except (OSError, ValueError, AttributeError, KeyError, ImportError) as error:
        print(name, error)
        return
    if found not in (None, False, -1, [], "", b""):
        breaches.append(f"{name}: {str(found)[:200]}")


for place in (
    "/agent/host",
    "/agent/host/etc/shadow",
    "/agent/inside",
    "/agent/../agent/host/proc",
    "/.old",
    "/.old/etc",
):
    attempt(f"see {place}", lambda: os.path.lexists(place))
attempt("more in /agent", lambda: [name for name in os.listdir("/agent") if name != "program.py"])
for flags in (2, 8):  # MNT_DETACH, UMOUNT_NOFOLLOW
    for place in (b"/agent", b"/task", b"/proc", b"/work", b"/"):
        attempt(f"unmount {place}", lambda: libc.umount2(place, flags) == 0)
attempt("leave the root", lambda: libc.chroot(b"..") == 0)
for descriptor in range(3, 256):
    attempt(f"descriptor {descriptor}", lambda: os.fstat(descriptor))
for kind in ("mnt", "pid", "pid_for_children", "user", "net", "ipc", "uts", "cgroup"):
    for pid in ("self", "1"):
        attempt(f"enter {kind} of {pid}", lambda: libc.setns(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0) == 0)
attempt("new pid namespace", lambda: libc.unshare(0x20000000) == 0)
for pid in (1, os.getppid()):
    for number in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
        attempt(f"see {pid}", lambda: os.path.exists(f"/proc/{pid}"))
    for name in ("mem", "environ", "maps", "root/agent/host", "cwd", "fd/3", "exe"):
        attempt(f"read {name} of {pid}", lambda: os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
    attempt(f"trace {pid}", lambda: libc.ptrace(16, pid, 0, 0) == 0)
for path in ("/proc/self/exe", "/opt/agent/site-packages/openfingym_agent/__init__.py", os.__file__):
    attempt(f"write {path}", lambda: os.open(path, os.O_WRONLY))
shared = [line for line in open("/proc/self/maps") if line.split()[1][1] == "w" and line.split()[1][3] == "s"]
attempt("memory shared with others", lambda: shared)
attempt(
    "a library changed for others",
    lambda: os.open(f"/proc/self/map_files/{os.listdir('/proc/self/map_files')[0]}", os.O_RDWR),
)

# What is left of the process it was: frames below, modules, and everything that the collector knows.
frame, frames = sys._getframe(), []
while frame:
    frames += [value for value in {**frame.f_locals, **frame.f_globals}.values() if isinstance(value, socket.socket)]
    frame = frame.f_back
attempt("sockets in frames", lambda: frames)
gc.unfreeze()
held = [thing for thing in gc.get_objects() if isinstance(thing, socket.socket) and thing.fileno() > 2]
attempt("sockets alive", lambda: held)
attempt(
    "our modules", lambda: [name for name in sys.modules if name.partition(".")[0] in ("inside", "openfingym_runtime")]
)
print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
