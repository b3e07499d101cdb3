"""What a container rollout costs over bare ``docker run`` of the same image, and sixteen of them at once.

Run: ``python benchmarks/rollout.py``. Needs an engine, its command line, and the agent image. The peer is
``docker run --rm`` with the same isolation flags and a program that does nothing; both take turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from size import sized, status

from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.docker.images import agent_image_tag
from openfingym_runtime.docker.seccomp import profile
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_runtime.job import Job, Limits

ROUNDS = sized(15, 1)
CONCURRENT = sized(16, 2)
LIMIT = 1.3
LIMITS = Limits(timeout_s=120, memory_mb=512, cpus=1, pids=64, storage_mb=64, output_bytes=1 << 20)


def isolation_flags(folder: Path) -> list[str]:
    """The backend's isolation, as the command line says it."""
    (folder / "seccomp.json").write_text(profile())
    scratch = "rw,exec,nosuid,nodev,size=64m,uid=65534,gid=65534,mode=0700"
    return [
        "--network=none",
        "--ipc=private",
        "--cgroupns=private",
        "--read-only",
        "--cap-drop=ALL",
        "--user=65534:65534",
        "--init",
        "--security-opt=no-new-privileges",
        f"--security-opt=seccomp={folder / 'seccomp.json'}",
        "--hostname=agent",
        "--log-driver=none",
        "--memory=512m",
        "--memory-swap=512m",
        "--cpus=1",
        "--pids-limit=65",
        "--ulimit=nofile=1024",
        "--ulimit=core=0",
        "--shm-size=64m",
        f"--tmpfs=/work:{scratch}",
        f"--tmpfs=/tmp:{scratch}",
        "--workdir=/work",
        f"--mount=type=bind,src={folder / 'program.py'},dst=/agent/program.py,readonly",
        f"--mount=type=bind,src={folder / 'gate'},dst=/run/openfingym,readonly",
        f"--mount=type=bind,src={folder / 'interface.py'},dst=/task/interface.py,readonly",
    ]


def bare(image: str, flags: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        ["docker", "run", "--rm", *flags, "--entrypoint=python3", image, "/agent/program.py"],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - started


def rollout(backend: DockerBackend, keeper: GateKeeper, folder: Path, name: str = "bench") -> float:
    started = time.perf_counter()
    with keeper.open(rollout_id=name, token="t") as gate:
        job = Job(name, "", {"interface.py": folder / "interface.py"}, gate.directory, LIMITS)
        outcome = backend.run(job)
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome
    return time.perf_counter() - started


def main() -> int:
    image = agent_image_tag()
    backend = DockerBackend()
    backend.check()
    with tempfile.TemporaryDirectory() as name, GateKeeper(Path("/nonexistent.sock")) as keeper:
        folder = Path(name)
        (folder / "gate").mkdir()
        for file in ("program.py", "interface.py"):
            (folder / file).touch()
        flags = isolation_flags(folder)
        bare(image, flags), rollout(backend, keeper, folder)
        times = [(bare(image, flags), rollout(backend, keeper, folder)) for _ in range(ROUNDS)]
        peer, own = (statistics.median(column) for column in zip(*times, strict=True))
        started = time.perf_counter()
        with ThreadPoolExecutor(CONCURRENT) as pool:
            together = list(pool.map(lambda n: rollout(backend, keeper, folder, f"bench-{n}"), range(CONCURRENT)))
        wall = time.perf_counter() - started
    print(f"{'path':<22}{'p50 ms':>10}{'ratio':>8}")
    print(f"{'docker run --rm':<22}{peer * 1e3:>10.0f}{1:>8.2f}")
    print(f"{'rollout of nothing':<22}{own * 1e3:>10.0f}{own / peer:>8.2f}   limit {LIMIT}")
    print(f"{CONCURRENT} at once: all ended well in {wall:.1f} s, slowest {max(together):.1f} s")
    return status(own / peer <= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
