"""Reads everything it can see (files, mounts, environments, processes).

It searches all of that for fingerprints of hidden rows.
"""

import os
import stat
from pathlib import Path

NEEDLES = "/task/needles.bin"
ALLOWED = ("/run/openfingym", "/task/")
CHUNK = 16 * 1024**2
SKIPPED_IN_PROC = {"kmsg", "trace_pipe", "clear_refs", "pagemap", "kpagecgroup", "acpi"}

needles = []
if os.path.exists(NEEDLES):
    blob = Path(NEEDLES).read_bytes()
    while blob:
        size = int.from_bytes(blob[:4], "little")
        needles.append(bytes(byte ^ 0x5A for byte in blob[4 : 4 + size]))
        blob = blob[4 + size :]

breaches = []
seen = {"files": 0, "bytes": 0, "unreadable": 0, "processes": 0}


def search(where, content):
    for number, needle in enumerate(needles):
        if needle in content:
            breaches.append(f"needle {number} in {where}")


def read(path):
    """Search one file in overlapping chunks, without blocking on what never ends."""
    tail = b""
    total = 0
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        seen["unreadable"] += 1
        return
    try:
        while total < 4 * 1024**3:
            block = os.read(descriptor, CHUNK)
            if not block:
                break
            search(path, tail + block)
            tail = block[-256:]
            total += len(block)
    except OSError:
        seen["unreadable"] += 1
    finally:
        os.close(descriptor)
    seen["files"] += 1
    seen["bytes"] += total


def walk(top, skip=frozenset()):
    for folder, folders, files in os.walk(top):
        seen = [name for name in folders if os.path.join(folder, name) not in skip]
        folders[:] = [name for name in seen if not (folder == "/proc" and name.isdigit())]
        for name in folders + files:
            path = os.path.join(folder, name)
            search(f"the name {path}", os.fsencode(path))
            if "openfingym" in path and "openfingym_agent" not in path and not path.startswith(ALLOWED):
                breaches.append(f"sees {path}")
            if name in {"truth.json", "targets.npy"}:
                breaches.append(f"sees {path}")
        for name in files:
            path = os.path.join(folder, name)
            try:
                info = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode) and name not in SKIPPED_IN_PROC:
                read(path)
            elif stat.S_ISLNK(info.st_mode):
                try:
                    search(f"the link {path}", os.fsencode(os.readlink(path)))
                except OSError:
                    continue


walk("/", skip={"/proc", "/sys"})
walk("/sys")
walk("/proc")
own = os.getpid()
for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
    seen["processes"] += 1
    for name in ("environ", "cmdline", "maps", "mountinfo", "status", "cgroup", "stat", "limits", "auxv"):
        read(f"/proc/{pid}/{name}")
    for name in os.listdir(f"/proc/{pid}/fd") if os.access(f"/proc/{pid}/fd", os.R_OK | os.X_OK) else ():
        try:
            search(f"/proc/{pid}/fd/{name}", os.fsencode(os.readlink(f"/proc/{pid}/fd/{name}")))
        except OSError:
            continue
    if pid != own:
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
                for line in maps:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    of_kernel = "vvar" in line or "vsyscall" in line
                    if "r" in line.split()[1] and end - start < 1024**3 and not of_kernel:
                        memory.seek(start)
                        search(f"the memory of process {pid}", memory.read(end - start))
        except (OSError, ValueError, OverflowError) as error:
            print("memory", pid, error)

for line in Path("/proc/self/mountinfo").read_text().splitlines():
    print("mount", line)
for name, value in sorted(os.environ.items()):
    print("env", f"{name}={value}")
print("groups", os.getresuid(), os.getresgid(), os.getgroups(), "host name", os.uname().nodename)
print("saw", seen, "searched for", len(needles), "needles")
print("\n".join(f"BREACH: {line}" for line in breaches[:40]) or "CONTAINED")
