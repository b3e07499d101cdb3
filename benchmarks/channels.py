"""Bits a second that two programs of two rollouts at once pass to each other, by each way that was tried.

    python benchmarks/channels.py [docker|cold|warm] [NAME,NAME]

The two take turns as this program tells them, so that nothing has to be agreed on. Capacity is that of a symmetric
channel with the errors that were seen: bits a second times 1 - H(error).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from size import sized

from openfingym_runtime.backends import select
from openfingym_runtime.job import Job, Limits
from tests.adversarial import signals

BITS = sized(200, 8)
LIMITS = Limits(timeout_s=300, memory_mb=512, cpus=1, pids=64, storage_mb=16, output_bytes=1 << 18)


def measure(kind: str, channel: signals.Channel) -> None:
    """Print what comes across one channel."""
    os.environ["OPENFINGYM_WARM"] = str(int(kind == "warm"))
    backend = select("docker" if kind == "docker" else "sandbox", trusted=False)
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        data, gate = place / "data", place / "gate"
        data.mkdir()
        gate.mkdir()
        (data / "contract.json").write_bytes(b"{}" * (1 << 17))
        with (data / "large").open("wb") as file:
            file.write(os.urandom(signals.LARGE_STEP) * (BITS + 2))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        job = Job("channels", "", {"data": data}, gate, LIMITS)
        heard = signals.transfer(signals.rollouts(backend, job), channel, gate, BITS)
    sys.stdout.write(f"{kind:7} {channel.name:18} {heard.errors:6.1%} wrong {heard.bits_per_second:9.1f} bit/s\n")
    sys.stdout.flush()


def main() -> None:
    kinds = sys.argv[1:2] or sized(["docker", "cold", "warm"], ["cold"])
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else None
    for kind in kinds:
        for channel in (*signals.CLOSED, *signals.CLOSED_IN_SANDBOX, *signals.KNOWN):
            if names is None or channel.name in names:
                measure(kind, channel)


if __name__ == "__main__":
    main()
