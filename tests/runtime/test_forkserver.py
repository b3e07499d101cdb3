"""A program that is forked from the fork server finds what one that is executed finds, and no more."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from openfingym.errors import RuntimeFailureError
from openfingym_runtime.job import Job, Limits, Outcome
from openfingym_runtime.sandbox import SandboxBackend, first_steps, forkserver
from openfingym_runtime.sandbox.python_view import python_view

pytestmark = pytest.mark.sandbox

LIMITS = Limits(timeout_s=60, memory_mb=1024, cpus=1, pids=64, storage_mb=32, output_bytes=1 << 20)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job with a task folder, in folders whose names nobody inside is to know."""
    data = tmp_path / "store-of-alice" / "data"
    data.mkdir(parents=True)
    (data / "train.csv").write_text("1,2,3")
    gate = tmp_path / "gate-of-alice"
    gate.mkdir(mode=0o755)
    return Job("rollout-1", "", {"data": data}, gate, LIMITS, seed=7)


@pytest.fixture
def started(job: Job, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Outcome]:
    """``started(how, program)``: run a program after a ``warm`` or a ``cold`` start."""

    def run(how: str, program: str) -> Outcome:
        monkeypatch.setenv(forkserver.VARIABLE, "1" if how == "warm" else "0")
        return SandboxBackend().run(replace(job, program=textwrap.dedent(program)))

    return run


def said(outcome: Outcome) -> object:
    assert (outcome.ended_by, outcome.exit_code) == ("exit", 0), outcome.output.decode()
    return json.loads(outcome.output)


# Without FDSize: the size of the kernel's table of descriptors follows from how many files had been opened by whoever
# starts a process, here by other tests.
PROBE = """
import hashlib, json, os, resource, select, signal, socket, stat, sys
found = {}
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
names = ("Name Umask State Tgid Pid PPid TracerPid Uid Gid Groups NStgid NSpid NSpgid NSsid Kthread Threads SigQ "
         "SigPnd ShdPnd SigBlk SigIgn SigCgt CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters "
         "Cpus_allowed_count VmLck VmPin CoreDumping THP_enabled")
found["status"] = {name: status.get(name) for name in names.split()}
found["status"]["SigQ"] = status["SigQ"].split("/")[1]  # before it, what all processes of the user have queued
found["environment"] = dict(os.environ)
shown = open("/proc/self/environ", "rb").read().split(b"\\0")
found["shown environment"] = sorted(part.decode() for part in shown if part)
found["environment"].pop("OPENFINGYM_DEADLINE")
found["shown environment"] = [text for text in found["shown environment"] if "DEADLINE" not in text]
found["python"] = [sys.argv, sys.orig_argv, sys.path, sys.flags, sys.executable, sys.prefix, sys._base_executable,
                   sys.warnoptions, sys.getrecursionlimit(), sys.getswitchinterval(), sys.dont_write_bytecode,
                   sys.stdin.encoding, sys.getfilesystemencoding(), __name__, __file__, __builtins__.__name__]
found["main"] = sorted(vars(sys.modules["__main__"]))
found["streams"] = [[s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.seekable()]
                    for s in (sys.stdin, sys.stdout, sys.stderr)]
limits = [name for name in dir(resource) if name.startswith("RLIMIT")]
found["limits"] = {name: resource.getrlimit(getattr(resource, name)) for name in limits}
found["descriptors"] = [[name, os.readlink(f"/proc/self/fd/{name}").split(":")[0]] for name in ("0", "1", "2")]
found["open"] = len(os.listdir("/proc/self/fd"))
for name in ("mountinfo", "mounts", "cgroup", "uid_map", "gid_map", "setgroups", "oom_score_adj", "cmdline", "comm",
             "loginuid", "sessionid", "timerslack_ns", "personality", "coredump_filter"):
    try:
        found[name] = open(f"/proc/self/{name}").read()
        if name.endswith("id_map"):  # each has a user of its own
            found[name] = [found[name].split()[0], found[name].split()[2]]
    except OSError as error:
        found[name] = error.errno
for name in ("cwd", "root", "exe"):
    found[name] = os.readlink(f"/proc/self/{name}")
found["identity"] = [os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0),
                     os.getresuid(), os.getresgid(), os.umask(0o22)]
found["signals"] = [[int(n), str(signal.getsignal(n))] for n in signal.valid_signals()]
found["processes"] = sorted(name for name in os.listdir("/proc") if name.isdigit())
walked = [(top, folders + files) for top, folders, files in os.walk("/") if not top.startswith("/proc/")]
tree = sorted(os.path.join(top, name) for top, names in walked for name in names)
high = [path for path in tree if path.count("/") < 3]
found["tree"] = [len(tree), hashlib.sha256("".join(tree).encode()).hexdigest(), high]
def look(path):
    info = os.lstat(path)
    flags = os.statvfs(path).f_flag if not stat.S_ISLNK(info.st_mode) else 0
    return [path, stat.filemode(info.st_mode), info.st_uid, info.st_gid, flags]
places = ("/", "/task", "/task/data", "/task/data/train.csv", "/agent", "/agent/program.py", "/work", "/tmp", "/dev",
          "/dev/shm", "/dev/null", "/run/openfingym", "/proc", "/etc/passwd", "/usr/local/bin/python3")
found["places"] = [look(path) for path in places]
sizes = [os.statvfs(path) for path in ("/work", "/tmp", "/dev/shm")]
found["space"] = [[size.f_blocks, size.f_bfree, size.f_files] for size in sizes]
found["host"] = socket.gethostname()
libraries = ("/lib", "site-packages", ".so")
mapped = [line.split(None, 5) for line in open("/proc/self/maps") if not any(part in line for part in libraries)]
found["mapped"] = sorted({parts[5].strip() for parts in mapped if len(parts) == 6})
found["program"] = open("/agent/program.py").read()
found["ours"] = [name for name in sys.modules if name.split(".")[0] in ("inside", "openfingym", "openfingym_runtime")]
found["loaded"] = sorted({"numpy", "pandas", "sklearn"} & set(sys.modules))
import gc, threading, time
found["threads"] = [len(threading.enumerate()), threading.current_thread() is threading.main_thread()]
found["handlers"] = gc.get_threshold(), gc.isenabled(), gc.callbacks
found["used"] = time.process_time() < 5
import sklearn.linear_model, pandas, numpy
packages = (numpy, pandas, sklearn, json)
found["places of packages"] = [*(package.__file__ for package in packages), str(numpy.__spec__.origin)]
print(json.dumps(found, default=str))
"""


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch, job: Job) -> forkserver.Forkserver:
    """The smaller fork server of this process, which runs."""
    monkeypatch.setenv(forkserver.VARIABLE, "1")
    server = forkserver.forkserver_for(job, python_view())
    assert server is not None
    return server


def run(job: Job, program: str) -> Outcome:
    return SandboxBackend().run(replace(job, program=textwrap.dedent(program)))


@pytest.mark.usefixtures("processes_shown")
def test_a_forked_program_finds_what_an_executed_one_finds(started: Callable[[str, str], Outcome]) -> None:
    warm, cold = said(started("warm", PROBE)), said(started("cold", PROBE))
    assert isinstance(warm, dict)
    assert isinstance(cold, dict)
    assert (warm.pop("loaded"), cold.pop("loaded")) == (["numpy", "pandas", "sklearn"], []), "one of them was forked"
    different = {name: (warm[name], cold[name]) for name in cold if warm[name] != cold[name]}
    assert different == {}
    assert warm["ours"] == []


SEARCH = """
import json
import numpy as np
found = []
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps").read().splitlines():
        bounds, rights = line.split()[:2]
        low, high = (int(number, 16) for number in bounds.split("-"))
        if rights[0] != "r" or "[v" in line:
            continue
        memory.seek(low)
        content = np.frombuffer(memory.read(high - low), np.uint8)
        for place, text in enumerate(WANTED):
            # Never decoded, since it would then be found where it is decoded.
            at = np.flatnonzero(content[: len(content) - len(text)] == text[0] - 300)
            for offset, letter in enumerate(text):
                at = at[content[at + offset] == letter - 300]
            found += [place] if len(at) else []
print(json.dumps(sorted(set(found))))
"""


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.usefixtures("processes_shown")
def test_the_memory_of_a_program_tells_of_no_other_and_not_of_the_host(
    forking: forkserver.Forkserver, job: Job, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    use = "import sklearn\n" if large else ""
    marks = [uuid.uuid4().hex for _ in range(3)]
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", marks[0])
    earlier = run(replace(job, rollout_id=marks[1]), f"{use}print('{marks[2]}')")
    assert earlier.output == marks[2].encode() + b"\n"
    hidden = [*marks, "store-of-alice", "gate-of-alice", str(job.gate_directory.parent), "OPENFINGYM_ADMIN_TOKEN"]
    wanted = [[ord(letter) + 300 for letter in text] for text in (*hidden, "rollout-1")]
    # Its own name, which it may know, shows that the search works.
    assert said(run(job, f"{use}WANTED = {wanted}\n{SEARCH}")) == [len(hidden)]


@pytest.mark.parametrize("use", ["", "import sklearn\n"])
@pytest.mark.usefixtures("processes_shown")
def test_no_way_leads_to_the_server_or_to_what_it_sees(forking: forkserver.Forkserver, job: Job, use: str) -> None:
    attack = Path(__file__).with_name("forkserver_attack.py").read_text()
    outcome = run(job, use + attack)
    assert outcome.output.decode().splitlines()[-1] == "CONTAINED", outcome.output.decode()[-2000:]
    assert outcome.exit_code == 0


MESSAGE = """
import fcntl, os
for descriptor in range(3):
    print([fcntl.fcntl(descriptor, command) for command in (fcntl.F_GETFL, fcntl.F_GETOWN, fcntl.F_GETSIG)])
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, 37)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) ^ (os.O_APPEND | os.O_NONBLOCK))
    print(fcntl.fcntl(descriptor, fcntl.F_GETSIG))
"""


@pytest.mark.parametrize("how", ["warm", "cold"])
def test_no_signal_to_the_first_process_looks_like_a_failure_of_ours(
    started: Callable[[str, str], Outcome], how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the kernel is too old for Landlock to hold signals back."""
    inside = shutil.copytree(first_steps.INSIDE, tmp_path / "inside")
    landlock = inside / "landlock.py"
    text = landlock.read_text()
    landlock.write_text(text.replace("SCOPES: Final = 0b11", "SCOPES: Final = 0"))
    assert landlock.read_text() != text
    forkserver.stop()
    for module in (first_steps, forkserver):
        monkeypatch.setattr(module, "INSIDE", inside)
    signals = "signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}"
    program = f"import os, signal, time\nfor n in {signals}: os.kill(1, n)\ntime.sleep(0.3)\nprint('sent')"
    outcome = started(how, program)
    forkserver.stop()
    assert (outcome.ended_by, outcome.output) == ("exit", b"sent\n")


@pytest.mark.parametrize("use", ["", "import sklearn\n"])
def test_a_program_leaves_no_message_in_what_it_inherited(
    forking: forkserver.Forkserver, job: Job, started: Callable[[str, str], Outcome], use: str
) -> None:
    """Open files have flags, which whoever inherits them shares."""
    first = run(job, use + MESSAGE)
    assert first.output.decode().splitlines()[1] == "37", "a message was left"
    assert run(job, use + MESSAGE).output == first.output == started("cold", use + MESSAGE).output


RANDOM = """
import json, multiprocessing, random, tempfile, uuid
import numpy
print(json.dumps([random.random(), numpy.random.rand(), numpy.random.default_rng().random(), uuid.uuid4().hex,
                  multiprocessing.current_process().authkey.hex(), next(tempfile._get_candidate_names())]))
"""


def test_no_two_programs_draw_the_same_numbers(forking: forkserver.Forkserver, job: Job) -> None:
    draws = [
        said(run(job, program))
        for program in (RANDOM, RANDOM, f"import sklearn\n{RANDOM}", f"import sklearn\n{RANDOM}")
    ]
    for column in zip(*draws, strict=True):  # type: ignore[call-overload]
        assert len(set(column)) == len(draws), column


ENDS = {
    "exit": "raise SystemExit(3)",
    "text": "import sys; sys.exit('no luck')",
    "large": "raise SystemExit(256 + 5)",
    "raises": "def f():\n    raise ValueError('x')\nf()",
    "syntax": "x = (",
    "interrupted": "raise KeyboardInterrupt",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "at exit": "import atexit; atexit.register(print, 'bye'); print('first')",
    "thread": "import threading, time\nlate = lambda: (time.sleep(0.2), print('late'))\n"
    "threading.Thread(target=late).start()\nprint('main')",
    "left open": "class F:\n    def __del__(self): print('gone')\nf = F()\nf.itself = f\ng = F()",
    "child": "import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait(); print('parent')",
    "unflushed": "import os, sys\nsys.stdout = os.fdopen(os.dup(1), 'w')\nprint('kept')",
    "pool": "import multiprocessing as m\nif __name__ == '__main__':\n"
    "    print(m.get_context('fork').Pool(2).map(abs, [-1]))",
    "spawned": "import subprocess, sys\ncommand = [sys.executable, '-c', 'import numpy; print(1)']\n"
    "print(subprocess.run(command).returncode)",
    "closed": "import sys; sys.stdout.close(); sys.stderr.close()",
    "broken pipe": "import os\nr, w = os.pipe()\nos.close(r)\n"
    "try:\n    os.write(w, b'x')\nexcept BrokenPipeError:\n    print('broken')",
    "own module": "import sys\nsys.path.insert(0, '/work')\nmodule = 'f = open(\"/work/x\", \"w\"); f.write(\"1\")'\n"
    "open('/work/mine.py', 'w').write(module)\nimport mine\nprint(mine.f.name)",
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_a_forked_program_ends_as_an_executed_one(started: Callable[[str, str], Outcome], end: str) -> None:
    warm, cold = started("warm", ENDS[end]), started("cold", ENDS[end])
    if end == "interrupted":  # ours, too, is in that traceback
        assert warm.output.splitlines()[-1] == cold.output.splitlines()[-1] == b"KeyboardInterrupt"
        warm = replace(warm, output=cold.output)
    assert replace(warm, wall_s=0) == replace(cold, wall_s=0)


def test_many_at_once_start_one_server(forking: forkserver.Forkserver, job: Job) -> None:
    forking.stop()
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(
            pool.map(lambda number: run(job, f"import sys; print({number}, 'numpy' in sys.modules)"), range(16))
        )
    assert [outcome.output for outcome in outcomes] == [f"{number} True\n".encode() for number in range(16)]
    assert len([child for child in psutil.Process().children() if "inside.init" in " ".join(child.cmdline())]) <= 2


def test_a_server_that_is_killed_takes_its_programs_along_and_is_replaced(
    forking: forkserver.Forkserver, job: Job
) -> None:
    outcomes: list[Outcome | RuntimeFailureError] = []
    running = threading.Semaphore(0)

    def wait() -> None:
        try:
            outcomes.append(
                SandboxBackend().run(replace(job, program="import time; time.sleep(60)", started=running.release))
            )
        except RuntimeFailureError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert running.acquire(timeout=60)
    signal.pidfd_send_signal(forking.handle, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    assert [type(outcome) for outcome in outcomes] == [RuntimeFailureError] * 8
    assert run(job, "print(1)").exit_code == 0  # however far the server's end has come
    assert run(job, "import sys; print('numpy' in sys.modules)").output == b"True\n"


def test_a_launcher_with_many_descriptors_has_one_too(forking: forkserver.Forkserver, job: Job) -> None:
    forking.stop()
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(60)]
    try:
        assert run(job, "import sys; print('numpy' in sys.modules)").output == b"True\n"
    finally:
        for file in files:
            os.close(file)


def test_what_the_server_does_not_see_starts_cold(
    forking: forkserver.Forkserver, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "_JOBS_BEFORE", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("openfingym_runtime.sandbox.launch._identity", lambda _path: (0, 0))
        before = forking.failures
        assert run(job, "import sys; print('numpy' in sys.modules)").output == b"False\n"
        assert forking.failures == before + 1
    forking.failures = 0
    assert run(job, "import sys; print('numpy' in sys.modules)").output == b"True\n"


def test_the_first_job_starts_cold(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(forkserver.VARIABLE, raising=False)
    monkeypatch.setattr(forkserver, "_servers", [forkserver.Forkserver(forkserver.COMMON)])
    look = "import sys; print('numpy' in sys.modules)"
    assert [run(job, look).output for _ in range(3)] == [b"False\n", b"True\n", b"True\n"]
    forkserver.stop()


def test_a_server_ends_with_its_launcher_however_that_ends(job: Job) -> None:
    code = f"""
        import os, pathlib, signal, sys
        from openfingym_runtime.job import Job, Limits
        from openfingym_runtime.sandbox import SandboxBackend
        limits = Limits(60, 512, 1, 32, 16, 1 << 16)
        job = Job("x", "print(1)", {{}}, pathlib.Path({str(job.gate_directory)!r}), limits)
        assert SandboxBackend().run(job).output == b"1\\n"
        print("done", flush=True)
        sys.stdin.read(1)
    """
    path = os.pathsep.join(str(ROOT / part) for part in (".", "verifier", "runtime", "runtime/agent"))
    for end in (signal.SIGKILL, signal.SIGTERM, None):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONPATH": path, forkserver.VARIABLE: "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n"
            family = psutil.Process(process.pid).children(recursive=True)
            assert len(family) == 2
            if end is not None:
                process.send_signal(end)
            process.communicate("x" if end is None else None, timeout=30)
        _gone, alive = psutil.wait_procs(family, timeout=10)
        assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []


def test_many_programs_leave_nothing(forking: forkserver.Forkserver, job: Job) -> None:
    assert run(job, "").exit_code == 0

    def files() -> set[str]:
        """What this process holds open; a pipe or socket is named by its own inode."""
        held = set()
        for link in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                held.add(f"{link.name} {link.readlink()}")
        return held

    def traces() -> tuple[int, list[str], list[Path]]:
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "openfingym" in line]
        groups = [path for path in Path("/sys/fs/cgroup").rglob("openfingym,*") if f",{os.getpid()}," in path.name]
        children = psutil.Process().children(recursive=True)
        return len(children), mounts, groups

    def server_holds() -> int:
        (server,) = [child for child in psutil.Process().children(recursive=True) if child.pid == server_pid]
        return server.num_fds()

    server_pid = int(Path(f"/proc/self/fdinfo/{forking.handle}").read_text().partition("Pid:")[2].split()[0])
    before, held = (traces(), server_holds()), files()
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda number: run(
                    job, f"import os\nif {number} % 3: os.fork()\nos.kill(os.getpid(), {number} % 5 and 9)"
                ),
                range(24),
            )
        )
    assert (traces(), server_holds()) == before
    # Files that another test left may be closed meanwhile: only what is new was left by these programs.
    assert {file for file in files() - held if "/proc/" not in file} == set()


def test_a_server_whose_programs_are_not_confined_is_not_used(
    forking: forkserver.Forkserver, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openfingym_runtime.sandbox.backend._PROBE", "raise SystemExit('not confined')")
    forking.stop()
    look = "import sys; print('numpy' in sys.modules)"
    assert [run(job, look).output for _ in range(2)] == [b"False\n"] * 2
    forking.failures = 0
