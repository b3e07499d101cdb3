"""Looks for the host behind /proc and /sys."""

import os
from pathlib import Path

breaches = []
visible = sorted(int(path.name) for path in Path("/proc").glob("[0-9]*"))
if len(visible) > 8:
    breaches.append(f"sees {len(visible)} processes")

for name in (
    "kcore",
    "kmem",
    "keys",
    "sched_debug",
    "timer_list",
    "timer_stats",
    "scsi/scsi",
    "kpagecount",
    "kpageflags",
    "iomem",
    "vmallocinfo",
):
    try:
        content = Path("/proc", name).open("rb").read(4096)
    except OSError:
        continue
    if name == "iomem":  # unprivileged readers get the layout with every address zero
        content = b"".join(line for line in content.splitlines() if not line.strip().startswith(b"00000000-00000000"))
    if content.strip():
        breaches.append(f"read /proc/{name}: {content[:60]!r}")

writable = (
    "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/hostname", "/proc/irq/0/smp_affinity", "/proc/1/oom_score_adj", "/proc/self/uid_map",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs",
    "/sys/power/state",
)  # fmt: skip
for name in writable:
    try:
        descriptor = os.open(name, os.O_WRONLY)
    except OSError:
        continue
    try:
        os.write(descriptor, b"x")
        breaches.append(f"wrote {name}")
    except OSError as error:
        print(name, error)
    finally:
        os.close(descriptor)

for pid in visible:
    for link in ("root", "cwd"):
        try:
            entries = os.listdir(f"/proc/{pid}/{link}/")
        except OSError:
            continue
        if (
            {"boot", "home", "lost+found"} & set(entries)
            and os.path.exists(f"/proc/{pid}/{link}/etc/shadow-")
            and os.access(f"/proc/{pid}/{link}/etc/shadow", os.R_OK)
        ):
            breaches.append(f"/proc/{pid}/{link} reaches a readable /etc/shadow")

print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
