"""Programs that try to get out, and how each of them ends."""

from __future__ import annotations

import socket
import struct
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from openfingym_runtime.job import Job, Limits
from openfingym_runtime.sandbox import SandboxBackend

pytestmark = pytest.mark.sandbox

FOLDER = Path(__file__).with_name("hostile")
LIMITS = Limits(timeout_s=60, memory_mb=256, cpus=1, pids=64, storage_mb=64, output_bytes=256 << 10)
ENDINGS = {"fill_memory": "memory", "fill_memory_children": "memory", "never_end": "timeout", "print_flood": "output"}
# That one tests the gate, which has tests of its own; here it would speak to nobody.
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "abuse_gate")
ENCODING = 0x5A


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, ...]:
    """Fingerprints of hidden rows, planted wherever the launcher could leak them."""
    row = np.random.default_rng(20240229).normal(4.0, 0.1, 16)
    needles = (row.tobytes(), ",".join(f"{value:.4f}" for value in row).encode(), uuid.uuid4().hex.encode())
    truth = tmp_path / "truth"
    truth.mkdir(mode=0o700)
    (truth / "targets.npy").write_bytes(b"".join(needles))
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", needles[2].decode())
    monkeypatch.setenv("TRUTH_ROW", needles[1].decode())
    return needles


@pytest.fixture
def job(tmp_path: Path, secrets: tuple[bytes, ...]) -> Job:
    public, gate = tmp_path / "public", tmp_path / "gate"
    for folder in (public, public / "data", gate):
        folder.mkdir(mode=0o755)
    blob = b"".join(struct.pack("<I", len(needle)) + bytes(byte ^ ENCODING for byte in needle) for needle in secrets)
    files = {
        "needles.bin": blob,
        "interface.py": b"x = 1\n",
        "instruction.md": b"forecast\n",
        "data/train.npy": bytes(128),
    }
    for name, content in files.items():
        (public / name).write_bytes(content)
    mapping = {name: public / name for name in ("needles.bin", "interface.py", "instruction.md", "data")}
    return Job(f"hostile-{uuid.uuid4().hex}", "", mapping, gate, LIMITS)


@pytest.fixture
def abstract_socket() -> Iterator[str]:
    """A socket of the host that is in no file system."""
    name = f"openfingym-test-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        yield name


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("abstract_socket", "processes_shown")
def test_hostile_program_is_contained(job: Job, name: str) -> None:
    limits = replace(LIMITS, timeout_s=2) if name == "never_end" else LIMITS
    outcome = SandboxBackend().run(replace(job, program=(FOLDER / f"{name}.py").read_text(), limits=limits))
    text = outcome.output.decode(errors="replace")
    assert "BREACH" not in text
    assert outcome.ended_by == ENDINGS.get(name, "exit"), text[-2000:]
    if outcome.ended_by == "exit":
        assert outcome.exit_code == 0, text[-2000:]
        assert "CONTAINED" in text
    assert len(outcome.output) <= LIMITS.output_bytes


@pytest.mark.usefixtures("processes_shown")
def test_the_walk_would_find_a_fingerprint(job: Job, secrets: tuple[bytes, ...]) -> None:
    """The search itself works: a needle put where the program may see it is found."""
    (job.task_files["data"] / "leak.bin").write_bytes(b"xx" + secrets[0] + b"yy")
    outcome = SandboxBackend().run(replace(job, program=(FOLDER / "walk.py").read_text()))
    assert b"BREACH: needle 0 in /task/data/leak.bin" in outcome.output, outcome.output[-2000:]


def test_abstract_sockets_of_the_host_are_unreachable(job: Job, abstract_socket: str) -> None:
    program = f"""
import socket
try:
    socket.socket(socket.AF_UNIX).connect("\\0{abstract_socket}")
    print("connected")
except OSError as error:
    print(type(error).__name__)
"""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + abstract_socket)
    assert SandboxBackend().run(replace(job, program=program)).output == b"ConnectionRefusedError\n"


HIDDEN_MEMORY = {
    "memfd": "import os; os.memfd_create('x')",
    "shared anonymous map": "import mmap; mmap.mmap(-1, 4096)",
    "huge pages": "import mmap; mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)",
    "system V segment": "import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.shmget(0, 4096, 0o1600)\nif r < "
    "0: raise OSError",
    "affinity": "import os; os.sched_setaffinity(0, range(os.cpu_count() + 1))",
    "zero device": "open('/dev/zero', 'rb')",
}


@pytest.mark.parametrize("way", HIDDEN_MEMORY)
def test_memory_and_cpu_that_no_limit_would_count_is_refused(job: Job, way: str) -> None:
    program = (
        f"try:\n    {HIDDEN_MEMORY[way].replace(chr(10), chr(10) + '    ')}\n    print('got it')\nexcept OSError:\n    "
        "print('refused')\n"
    )
    assert SandboxBackend().run(replace(job, program=program)).output == b"refused\n"


def test_pages_shared_by_forked_children_are_counted_once(job: Job) -> None:
    program = """
import os, time
block = bytearray(120 << 20)
children = []
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        time.sleep(1)
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
print("done")
"""
    outcome = SandboxBackend().run(replace(job, program=program))
    assert (outcome.ended_by, outcome.output) == ("exit", b"done\n")


def test_files_in_memory_count_as_memory(job: Job) -> None:
    limits = replace(LIMITS, storage_mb=256, memory_mb=128)
    program = "open('/work/a', 'wb').write(bytes(1)); f = open('/work/a', 'ab')\nwhile True: f.write(bytes(1 << 20))"
    assert SandboxBackend().run(replace(job, program=program, limits=limits)).ended_by == "memory"


def test_the_process_limit_is_per_sandbox(job: Job) -> None:
    program = """
import os, time
count = 0
try:
    while count < 500:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        count += 1
except OSError:
    pass
print(count)
"""
    outcome = SandboxBackend().run(replace(job, program=program))
    # The program itself is one of the 64.
    assert outcome.output == b"63\n"
