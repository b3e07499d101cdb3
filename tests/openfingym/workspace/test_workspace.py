"""A workspace of either kind: what stays, what ends, how files are read and written, and whose fault an end is."""

from __future__ import annotations

import asyncio
import json
import signal
import time

import docker
import pytest

from openfingym.errors import RuntimeFailureError, UsageError
from openfingym.workspace import FolderEntry, WorkspaceError, open_workspace
from openfingym_runtime.backends import select
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.sandbox.inside import landlock

from .conftest import DOCKER, LIMITS, SANDBOX, Open, verifier

DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        while True:
            with open("/work/beat", "a") as f: f.write("x")
            time.sleep(0.01)
    os._exit(0)
time.sleep(0.2)
print("daemon started", flush=True)
"""

FORK_BOMB = """
import os, time
print("go", flush=True)
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)
"""


LOOK = """
import json, numpy, os, resource, signal, subprocess, sys, threading, warnings
main = sys.modules["__main__"]
print(json.dumps({
    "main": {
        name: repr(value)[:40]
        for name, value in vars(main).items()
        if name.startswith("__") and name != "__annotations__"
    },
    "arguments": [sys.argv, sys.orig_argv],
    "path": sys.path,
    "environment": dict(os.environ) | {"FRESH": ""},
    "folder": [os.getcwd(), oct(os.umask(0o22))],
    "session": os.getsid(0) == os.getpgid(0) == os.getpid(),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
    "limits": [resource.getrlimit(number) for number in range(16)],
    "oom": open("/proc/self/oom_score_adj").read(),
    "streams": [(s.encoding, s.errors, s.line_buffering, s.write_through) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "stdin": sys.stdin.read(),
    "threads": [thread.name for thread in threading.enumerate()],
    # What is imported already has filters of its own.
    "warnings": [str(f) for f in warnings.filters if "scipy" not in str(f) and "matrix" not in str(f)],
}))
if "FRESH" not in os.environ:
    command = [sys.executable, "-s", "-P", *sys.argv]
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    subprocess.run(command, env=os.environ | {"FRESH": ""}, start_new_session=True, **streams)
"""

ENDINGS = {
    "import sys; sys.exit('said')": ("said\n", 1),
    "import sys; sys.exit(3)": ("", 3),
    "import atexit, sys; atexit.register(print, 'last'); sys.stdout.write('first ')": ("first last\n", 0),
    "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()": ("late\n", 0),
    "import os; os._exit(4)": ("", 4),
    "try: 1 / 0\nexcept ZeroDivisionError: raise KeyError('k') from None": (
        """Traceback (most recent call last):
  File "/tmp/program.py", line 2, in <module>
    except ZeroDivisionError: raise KeyError('k') from None
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
KeyError: 'k'
""",
        1,
    ),
    "import sys; sys.excepthook = lambda *found: print(found[0].__name__)\nraise OSError": ("OSError\n", 1),
    "import multiprocessing, time\ndef double(n): return 2 * n\n"
    "if __name__ == '__main__':\n"
    " with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(double, [1, 2]))": ("[2, 4]\n", 0),
    # The numerical libraries were loaded, threads and all, before the program was there.
    "import numpy; x = numpy.eye(600); print((x @ x).sum(), len(numpy.linalg.svd(x)[1]))": ("600.0 600\n", 0),
}


@pytest.mark.usefixtures("processes_shown")
def test_a_program_finds_what_a_fresh_interpreter_finds(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            done = await space.run_python(LOOK, timeout_s=30)
            found, fresh = map(json.loads, done.output.splitlines())
            assert found == fresh

    asyncio.run(scenario())


def test_programs_end_as_in_a_fresh_interpreter(opened: Open) -> None:
    async def scenario() -> None:
        async with opened(cpus=2) as space:
            for code, (output, status) in ENDINGS.items():
                done = await space.run_python(code, timeout_s=30)
                assert (done.output, done.ended_by, done.exit_code) == (output, "exit", status), code

    asyncio.run(scenario())


def test_no_program_is_touched_by_an_earlier_one(opened: Open) -> None:
    spoil = """
import json, numpy, openfingym_agent, os, sys
numpy.zeros = json.dumps = openfingym_agent.Interface = None
sys.path.clear()
os.environ.clear()
"""
    use = """
import random, interface, numpy
print(random.random(), numpy.random.random())
print(numpy.zeros(2).tolist(), interface.HORIZON > 0)
"""

    async def scenario() -> None:
        async with opened() as space:
            assert (await space.run_python(spoil, timeout_s=30)).exit_code == 0
            outputs = [(await space.run_python(use, timeout_s=30)).output.splitlines() for _ in range(2)]
            assert [lines[1] for lines in outputs] == ["[0.0, 0.0] True"] * 2
            numbers = [float(number) for lines in outputs for number in lines[0].split()]
            assert len(set(numbers)) == 4, "random numbers are not those of the program before"

    asyncio.run(scenario())


def test_files_stay_and_programs_know_their_rollout(opened: Open, short_dir) -> None:
    async def scenario() -> None:
        async with verifier(short_dir) as tokens, opened("r-one") as space:
            first = await space.run_python(
                "import os\nopen('kept', 'w').write('here')\nos.environ['X'] = '1'\nprint('é', end='')", timeout_s=20
            )
            assert (first.output, first.ended_by, first.exit_code, first.truncated) == ("é", "exit", 0, False)
            assert 0 < first.wall_s < 20
            second = await space.run_python(
                "import os, sys, time, interface\n"
                "print(open('/work/kept').read(), os.getcwd(), os.environ.get('X'), sys.stdin.read() == '')\n"
                "print(os.environ['OPENFINGYM_ROLLOUT'], os.environ['OPENFINGYM_SEED'])\n"
                "print(5 < float(os.environ['OPENFINGYM_DEADLINE']) - time.time() <= 8)\n"
                "print(interface.budget())",
                timeout_s=8,
            )
            assert second.output.splitlines() == [
                "here /work None True",
                "r-one 7",
                "True",
                "Budget(total=5, remaining=4)",
            ]
            assert tokens == ["token-of-r-one"]
            await space.write_file("mine/module.py", b"VALUE = 42")
            assert (
                await space.run_python("from mine.module import VALUE; print(VALUE)", timeout_s=20)
            ).output == "42\n"
            assert space.alive
            assert space.ended is None
        assert not space.alive
        assert space.ended is not None
        assert (space.ended.ended_by, space.ended.exit_code) == ("exit", 0)

    asyncio.run(scenario())


def test_how_programs_end(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            failed = await space.run_python("x = 1\n1 / 0", timeout_s=20)
            assert failed.exit_code == 1
            assert "line 2, in <module>\n    1 / 0" in failed.output
            assert (await space.run_python("import os; os.abort()", timeout_s=20)).exit_code == -signal.SIGABRT
            assert (
                await space.run_python("import os; os.kill(os.getpid(), 9)", timeout_s=20)
            ).exit_code == -signal.SIGKILL
            assert "SyntaxError" in (await space.run_python("x = '\ud800'", timeout_s=20)).output
            exact = await space.run_python("print('x' * 99_999)", timeout_s=20)
            assert (len(exact.output), exact.ended_by) == (100_000, "exit")
            raw = await space.run_python("import os; os.write(1, b'\\xff\\x00ok')", timeout_s=20)
            assert raw.output == "\ufffd\x00ok"
            slow = await space.run_python("import time; print('up', flush=True); time.sleep(60)", timeout_s=4.0)
            assert (slow.output, slow.ended_by, slow.exit_code) == ("up\n", "timeout", None)
            assert 4.0 <= slow.wall_s < 30
            flood = await space.run_python("import os\nwhile True: os.write(1, b'x' * 65536)", timeout_s=20)
            assert (flood.ended_by, flood.exit_code, flood.truncated, flood.output) == (
                "output",
                None,
                True,
                "x" * 100_000,
            )
            assert flood.wall_s < 19
            assert (await space.run_python("print(2)", timeout_s=20)).output == "2\n"
            for wrong in (0, -1, float("nan"), float("inf")):
                with pytest.raises(UsageError, match="timeout_s"):
                    await space.run_python("", timeout_s=wrong)
            with pytest.raises(WorkspaceError, match="at most"):
                await space.run_python("#" * (1 << 21), timeout_s=1)

    asyncio.run(scenario())


def test_nothing_outlives_an_execution(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            for end, expected in (
                ("", "exit"),
                ("time.sleep(60)", "timeout"),
                ("os.write(1, bytes(200_000))", "output"),
            ):
                done = await space.run_python(DAEMON + end, timeout_s=3)
                assert done.output.startswith("daemon started")
                assert done.ended_by == expected
                before = await space.read_file("beat")
                await asyncio.sleep(0.1)
                assert await space.read_file("beat") == before != b""
            bomb = await space.run_python(FORK_BOMB, timeout_s=2)
            assert (bomb.output, bomb.ended_by) == ("go\n", "timeout")
            code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', '']).returncode)"
            assert (await space.run_python(code, timeout_s=20)).output == "0\n"

    asyncio.run(scenario())


def test_memory_runs_out(opened: Open, backend) -> None:
    hog = "x = []\nwhile True: x.append(b'x' * (1 << 24))"

    async def scenario() -> None:
        async with opened() as space:
            done = await space.run_python(hog, timeout_s=30)
            assert (done.ended_by, done.exit_code) == ("memory", None)
            if backend.name == "docker":  # the kernel takes the program, and the workspace lives on
                assert (await space.run_python("print(1)", timeout_s=20)).output == "1\n"
                return
            assert not space.alive
            assert space.ended is not None
            assert space.ended.ended_by == "memory"
            with pytest.raises(WorkspaceError, match="memory"):
                await space.run_python("print(1)", timeout_s=20)

    asyncio.run(scenario())


KERNEL_KEEPS_SIGNALS_IN = landlock.abi_version() >= 6


@pytest.mark.skipif(not KERNEL_KEEPS_SIGNALS_IN, reason="needs Linux 6.12")
def test_a_program_cannot_kill_or_stop_the_server(opened: Open) -> None:
    attack = """
import os
for number in (9, 15, 19):
    for target in (os.getppid(), 1):
        try:
            os.kill(target, number)
        except PermissionError:
            print("refused")
os.kill(-1, 9)
"""

    async def scenario() -> None:
        async with opened() as space:
            done = await space.run_python(attack, timeout_s=30)
            assert done.output == "refused\n" * 6
            assert (await space.run_python("print(1)", timeout_s=30)).output == "1\n"

    asyncio.run(scenario())


@pytest.mark.skipif(KERNEL_KEEPS_SIGNALS_IN, reason="Linux 6.12 and later refuse it")
def test_a_program_that_kills_the_server_has_ended_its_workspace(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            done = await space.run_python("import os, time; os.kill(os.getppid(), 9); time.sleep(60)", timeout_s=30)
            assert (done.ended_by, done.exit_code, done.output) == ("killed", None, "")
            assert not space.alive
            with pytest.raises(WorkspaceError, match="a program ended it") as refused:
                await space.read_file("x")
            assert refused.value.problem == "ended"

    asyncio.run(scenario())


@DOCKER
def test_the_time_of_a_workspace_is_bounded(opened: Open) -> None:
    async def scenario() -> None:
        async with opened(timeout_s=1.5) as space:
            done = await space.run_python("import time; time.sleep(60)", timeout_s=30)
            assert done.ended_by == "timeout"
            assert done.wall_s < 25
            await asyncio.sleep(0.3)
            with pytest.raises(WorkspaceError, match="its time is up"):
                await space.run_python("", timeout_s=1)
        assert space.ended is not None
        assert space.ended.ended_by == "timeout"

    asyncio.run(scenario())


async def refused(call) -> str:
    with pytest.raises(WorkspaceError) as error:
        await call
    return error.value.problem


def test_reading(opened: Open) -> None:
    setup = """
import os
os.mkdir("folder"); os.mkfifo("fifo"); open("big", "wb").write(bytes(70_000))
os.symlink("/etc/shadow", "shadow"); os.symlink("/task/instruction.md", "task"); os.symlink("loop", "loop")
os.symlink("/dev/urandom", "random")
"""

    async def scenario() -> None:
        async with opened() as space:
            assert (await space.run_python(setup, timeout_s=20)).output == ""
            with_own_rights = await space.run_python("print(open('/work/task').read(), end='')", timeout_s=20)
            assert (await space.read_file("task")).decode() == with_own_rights.output != ""
            assert await space.read_file("/task/instruction.md") == await space.read_file("../task/instruction.md")
            assert len(await space.read_file("big", max_bytes=70_000)) == 70_000
            problems = {
                path: await refused(space.read_file(path))
                for path in ("big", "folder", "fifo", "random", "missing", "loop")
            }
            assert problems == {
                "big": "too-large",
                "folder": "folder",
                "fifo": "no-file",
                "random": "no-file",
                "missing": "missing",
                "loop": "failed",
            }
            # What its programs cannot read is not read for it either.
            for path in ("shadow", "/etc/shadow"):
                assert (await space.run_python(f"open({path!r}).read(1)", timeout_s=20)).exit_code == 1
                assert await refused(space.read_file(path)) in {"failed", "missing"}
            for path in ("", "a\0b", "\ud800", "x" * 5000):
                assert await refused(space.read_file(path)) == "bad-path"
            for size in (-1, 1 << 30):
                with pytest.raises(UsageError, match="max_bytes"):
                    await space.read_file("big", max_bytes=size)

    asyncio.run(scenario())


def test_writing(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            await space.run_python(
                "import os; os.mkdir('d'); os.symlink('/tmp', 'tmp'); os.symlink('/nowhere/x', 'dangling'); "
                "os.mkfifo('f')",
                timeout_s=20,
            )
            for path in (
                "../x",
                "/etc/x",
                "/tmp/x",
                "a/../../x",
                "/work/../x",
                "/",
                ".",
                "/work",
                "tmp/x",
                "dangling/x",
            ):
                assert await refused(space.write_file(path, b"")) == "outside", path
            assert await refused(space.write_file("d", b"")) == "folder"
            assert await refused(space.write_file("y" * 300, b"")) == "failed"
            assert await refused(space.write_file("big", bytes(9 << 20))) == "too-large"
            await space.write_file("/work/a/b/c", b"\x00\xff" * 1_000_000)
            assert await space.read_file("a/b/c", max_bytes=1 << 21) == b"\x00\xff" * 1_000_000
            for path in ("dangling", "f", "tmp"):  # replaced, not followed
                await space.write_file(path, path.encode())
                assert await space.read_file(path) == path.encode()
            entries = await space.list_files()
            assert entries == [
                FolderEntry("a", "folder", 60),
                FolderEntry("d", "folder", 40),
                *(FolderEntry(n, "file", len(n)) for n in ("dangling", "f", "tmp")),
            ]
            await space.write_file("old", b"old")
            await space.run_python("open('fill', 'wb').write(bytes(12 << 20))", timeout_s=20)
            assert await refused(space.write_file("old", bytes(8 << 20))) == "failed"
            assert await space.read_file("old") == b"old"
            assert [entry.name for entry in await space.list_files()] == [
                "a",
                "d",
                "dangling",
                "f",
                "fill",
                "old",
                "tmp",
            ]

    asyncio.run(scenario())


def test_listing(opened: Open) -> None:
    setup = """
import os
os.makedirs("n"); os.makedirs("many"); open(b"n/\\xff\\n", "w"); os.symlink("x", "n/l"); os.mkfifo("n/p")
for i in range(1001): open(f"many/{i}", "w")
"""

    async def scenario() -> None:
        async with opened() as space:
            await space.run_python(setup, timeout_s=20)
            assert [(entry.name, entry.kind) for entry in await space.list_files("n")] == [
                ("?\n", "file"),
                ("l", "link"),
                ("p", "other"),
            ]
            problems = [await refused(space.list_files(path)) for path in ("many", "missing", "n/l", "n/p")]
            assert problems == ["too-many", "missing", "missing", "failed"]
            assert "data" in {entry.name for entry in await space.list_files("/task")}

    asyncio.run(scenario())


@SANDBOX
def test_full_disks_do_not_lock_the_agent_out(opened: Open) -> None:
    fill = """
for name in ("/tmp/x", "/work/x"):
    try:
        with open(name, "wb", 0) as file:
            while True: file.write(bytes(1 << 16))
    except OSError as error: print(error.errno)
"""

    async def scenario() -> None:
        async with opened() as space:
            assert (await space.run_python(fill, timeout_s=20)).output == "28\n28\n"
            freed = await space.run_python(
                "import os; os.unlink('/work/x'); print('#' * 10)" + "\n" + "#" * 100_000, timeout_s=20
            )
            assert freed.output == "#" * 10 + "\n"

    asyncio.run(scenario())


def test_no_network_and_no_other_socket(opened: Open) -> None:
    look = """
import os, socket
print(sorted(os.listdir("/run/openfingym")))
for address in ("1.1.1.1", 53), ("127.0.0.1", 80), "/run/openfingym/workspace.sock":
    try:
        socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET).connect(address)
        print("BREACH", address)
    except OSError: pass
"""

    async def scenario() -> None:
        async with opened("r-one") as one, opened("r-two") as two:
            await one.write_file("secret", b"one")
            for space in (one, two):
                assert (await space.run_python(look, timeout_s=20)).output == "['gate.sock']\n"
            assert await refused(two.read_file("secret")) == "missing"

    asyncio.run(scenario())


def test_sixteen_at_once(opened: Open) -> None:
    async def one(number: int) -> str:
        async with opened(f"r-{number}") as space:
            await space.run_python(f"open('n', 'w').write('{number}')", timeout_s=60)
            return (await space.run_python("print(open('n').read())", timeout_s=60)).output

    async def scenario() -> None:
        assert await asyncio.gather(*(one(number) for number in range(16))) == [f"{number}\n" for number in range(16)]

    asyncio.run(scenario())


@SANDBOX
def test_requests_take_turns_and_a_cancelled_one_ends_the_workspace(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            turns = await asyncio.gather(*(space.run_python(f"print({n})", timeout_s=20) for n in range(3)))
            assert [turn.output for turn in turns] == ["0\n", "1\n", "2\n"]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(space.run_python("import time; time.sleep(60)", timeout_s=60), 0.3)
            assert not space.alive
            started = time.monotonic()
        assert time.monotonic() - started < 30

    asyncio.run(scenario())


@DOCKER
def test_closing_twice_and_while_a_program_runs(opened: Open) -> None:
    async def scenario() -> None:
        async with opened() as space:
            running = asyncio.ensure_future(space.run_python("import time; time.sleep(60)", timeout_s=60))
            await asyncio.sleep(0.3)
            assert (await space.close()).exit_code == 0
            assert (await running).ended_by == "killed"
            assert (await space.close()).exit_code == 0

    asyncio.run(scenario())


def test_inline_is_refused(gates, treasury) -> None:
    async def scenario() -> None:
        with gates.open(rollout_id="r", token="t") as gate:
            inline = select("inline", trusted=True)
            async with open_workspace(inline, treasury, gate, seed=0, limits=LIMITS, rollout_id="r"):
                pytest.fail("it was opened")

    with pytest.raises(UsageError, match="docker, sandbox"):
        asyncio.run(scenario())


@DOCKER
@pytest.mark.parametrize("when", ["busy", "idle for long"])
def test_a_container_killed_from_outside_is_not_the_agents_fault(opened: Open, when: str) -> None:
    def kill() -> None:
        engine = docker.from_env()
        (found,) = engine.containers.list(filters={"label": f"{docker_container.ROLLOUT_LABEL}=r-killed"})
        found.kill()
        engine.close()

    async def scenario() -> None:
        async with opened("r-killed") as space:
            await space.run_python("print(1)", timeout_s=20)
            running = (
                asyncio.ensure_future(space.run_python("import time; time.sleep(60)", timeout_s=60))
                if when == "busy"
                else None
            )
            await asyncio.sleep(0.3)
            await asyncio.to_thread(kill)
            await asyncio.sleep(0 if running else 1)  # by then it is known
            await (running or space.list_files())

    with pytest.raises(RuntimeFailureError, match="killed from outside"):
        asyncio.run(scenario())
