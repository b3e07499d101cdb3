"""The configuration of one job's container, as the engine's API takes it."""

from __future__ import annotations

import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.docker.seccomp import profile
from openfingym_runtime.job import BROUGHT, Job, program_environment
from openfingym_runtime.owner import owner_id

OWNER_LABEL = "openfingym.owner"
"""Label of a container that names the process it belongs to, by which containers of dead ones are found."""
ROLLOUT_LABEL = "openfingym.rollout"
"""Label of a container that names its rollout, for people who look at what an engine runs."""
SITE = "/opt/agent/site-packages"
"""Folder of the agent image that holds the agent's client."""
PYTHON_PATH = f"/task:{SITE}"
FIRST_PROCESS = f"{SITE}/openfingym_agent/first_process.py"
OVERTIME_S = 5.0
"""Seconds that a container may run beyond its program's time: only one whose launcher hangs does."""
MIB = 1024 * 1024
BYTES_PER_INODE = 16 * 1024
"""Bytes of a tmpfs for each file that it may hold: empty files take none of its size, but memory of the kernel."""
SHARED_MEMORY_MIB = 64
"""Size of ``/dev/shm``."""
TCP_BUFFERS = dict.fromkeys(("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"), "4096 16384 65536")
"""Least, usual and most bytes that a TCP socket may hold in each direction: control groups of version 1 do not count
them as a container's memory."""
OPEN_FILES = 1024
"""Descriptors that one process may have open."""

# It replaces the engine's own list, which it therefore repeats, and adds what reveals the host's hardware or kernel,
# and what counts something for all of the machine, as terminals do.
MASKED = (
    "/dev/pts",
    "/proc/acpi",
    "/proc/asound",
    "/proc/buddyinfo",
    "/proc/bus",
    "/proc/cgroups",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/diskstats",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/latency_stats",
    "/proc/loadavg",
    "/proc/locks",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/pagetypeinfo",
    "/proc/partitions",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/schedstat",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/softirqs",
    "/proc/stat",
    "/proc/swaps",
    "/proc/sys/fs",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
    "/proc/vmstat",
    "/proc/zoneinfo",
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices/virtual",
    "/sys/firmware",
    "/sys/hypervisor",
    "/sys/kernel",
    "/sys/module",
    "/sys/power",
)
READ_ONLY = ("/proc/sys",)


def name_of(job: Job) -> str:
    """A new name for a container, which shows whose rollout it is."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in job.rollout_id[:40])
    # Partly random: the name is chosen before the container is made, and another attempt may have the same rollout.
    return f"openfingym-{plain}-{secrets.token_hex(6)}"


def config(
    job: Job, image: str, image_environment: Sequence[str], program: Path, user: int, deadline: float
) -> dict[str, Any]:
    """The body of the engine's create call.

    Args:
        job: the job to run in the container.
        image: name or id of the image to start.
        image_environment: variables that the image sets, as ``NAME=VALUE``; those that are not ours are taken away.
        program: path on the host of the file with the program's text.
        user: id of the user, and of the group, that the program runs as.
        deadline: Unix time at which the program will be stopped, which it is told.
    """
    return {
        "Image": image,
        "Entrypoint": ["python3", FIRST_PROCESS, str(job.limits.timeout_s + OVERTIME_S)],
        "Cmd": command(job),
        "Env": environment(program_environment(job, deadline, PYTHON_PATH), image_environment),
        "User": f"{user}:{user}",
        "WorkingDir": "/work",
        "Hostname": "agent",
        "NetworkDisabled": True,
        # The lifeline: its other end is the launcher's, which never writes, and it closes when the launcher dies.
        "AttachStdin": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdout": True,
        "AttachStderr": True,
        # A health check of the image would be a process beside the agent's, and count towards its limits.
        "Healthcheck": {"Test": ["NONE"]},
        "Labels": {OWNER_LABEL: owner_id(), ROLLOUT_LABEL: job.rollout_id},
        "HostConfig": _host_config(job, program, user),
    }


def command(job: Job) -> list[str]:
    """Further arguments of the container's first process."""
    # Command lines that people bring along are made for a whole system, and some end if they cannot read /proc.
    return [] if job.brought is None else ["brought"]


def environment(ours: Mapping[str, str], image_environment: Sequence[str]) -> list[str]:
    """The variables of ``ours`` and no others, as the engine takes them."""
    # To the engine a name without a value removes the variable. The image's own say how it was built, and HOSTNAME is
    # set by the engine.
    others = {entry.partition("=")[0] for entry in image_environment} | {"HOSTNAME"}
    return [*(f"{name}={value}" for name, value in ours.items()), *sorted(others - ours.keys())]


def _host_config(job: Job, program: Path, user: int) -> dict[str, Any]:
    limits = job.limits
    scratch = (
        f"rw,exec,nosuid,nodev,size={limits.storage_mb * MIB},"
        f"nr_inodes={max(1024, limits.storage_mb * MIB // BYTES_PER_INODE)},"
        f"uid={user},gid={user},mode=0700"
    )
    return {
        "NetworkMode": "none",
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true", f"seccomp={profile(tcp=job.brought is not None)}"],
        "MaskedPaths": list(MASKED),
        "ReadonlyPaths": list(READ_ONLY),
        "Memory": limits.memory_mb * MIB,
        # This is memory and swap together, so where it equals the memory there is no swap.
        "MemorySwap": limits.memory_mb * MIB,
        "NanoCpus": limits.cpus * 1_000_000_000,
        "PidsLimit": limits.pids + 1,  # the first process is not the agent's
        # Where the host runs out of memory, it ends an agent's program before anything else of its user's.
        "OomScoreAdj": 500,
        "ShmSize": min(SHARED_MEMORY_MIB, limits.storage_mb) * MIB,
        "Tmpfs": {"/work": scratch, "/tmp": scratch},  # noqa: S108 (inside the container)
        "Sysctls": {} if job.brought is None else TCP_BUFFERS,
        "Ulimits": [
            {"Name": "nofile", "Soft": OPEN_FILES, "Hard": OPEN_FILES},
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "memlock", "Soft": 65536, "Hard": 65536},
            {"Name": "msgqueue", "Soft": 0, "Hard": 0},
        ],
        # The engine's log would put all output on the host's disk, without a bound.
        "LogConfig": {"Type": "none"},
        "Mounts": [
            _bind(program, "/agent/program.py"),
            _bind(job.gate_directory, "/run/openfingym"),
            *(_bind(path, f"/task/{name}") for name, path in job.task_files.items()),
            *([] if job.brought is None else [_bind(job.brought, BROUGHT)]),
        ],
    }


def _bind(source: Path, target: str) -> dict[str, Any]:
    # A recursive mount would bring along what is mounted below the host's folder, and leave that writable.
    options = {"Propagation": "rprivate", "NonRecursive": True}
    return {"Type": "bind", "Source": str(source.resolve()), "Target": target, "ReadOnly": True, "BindOptions": options}


def check_readable(job: Job) -> None:
    """Check that the container's user can read the job's task files.

    A mounted file keeps its mode. Only the modes from the mounted file or folder downwards count;
    private folders above it do not matter.

    Raises:
        RuntimeFailureError: a task file is missing, or other users may not read it.
    """
    for path in job.task_files.values():
        for entry in (path, *path.rglob("*")) if path.is_dir() else (path,):
            try:
                mode = entry.stat().st_mode
            except OSError as error:
                raise RuntimeFailureError(
                    f"{entry} cannot be shown to the agent ({error}); rebuild its task: "
                    "`openfingym task build TASK --force`"
                ) from error
            needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
            if mode & needed != needed:
                expected = "0755" if stat.S_ISDIR(mode) else "0644"
                raise RuntimeFailureError(
                    f"{entry} has mode {stat.S_IMODE(mode):04o}; the agent's user needs {expected}; rebuild its "
                    "task: `openfingym task build TASK --force`"
                )
