"""Locks between processes: they exclude, and end with their owner, whatever its children do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from openfingym.files.locks import take

HOLD = """
import os, signal, sys
from pathlib import Path
from openfingym.files.locks import take
lock = take(Path(sys.argv[1]))
child = os.fork() if sys.argv[2] == "fork" else 1
if child == 0:
    signal.pause()
print(child, flush=True)
signal.pause()
"""


def holder(path: Path, how: str) -> tuple[subprocess.Popen[str], int]:
    """A process that holds the lock, and its child."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_a_lock_ends_with_its_owner_though_a_child_lives_on(tmp_path: Path, how: str) -> None:
    path = tmp_path / "lock"
    process, child = holder(path, how)
    try:
        with pytest.raises(BlockingIOError):
            take(path, wait=False)
        process.send_signal(signal.SIGKILL)
        process.wait()
        take(path).release()
    finally:
        if how == "fork":
            os.kill(child, signal.SIGKILL)
        process.communicate()


def test_a_child_that_ends_takes_no_lock_with_it(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from openfingym.files.locks import take\n"
        "with take(Path(sys.argv[1])) as lock:\n"
        "    child = os.fork()\n"
        "    if child == 0: lock.release(); os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(BlockingIOError):
        take(tmp_path / "lock", wait=False)
    process.communicate()
    assert process.returncode == 0
    take(tmp_path / "lock", wait=False).release()


def test_threads_take_turns(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(100):
            with take(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_lock_of_a_file_that_was_removed_meanwhile_is_taken_on_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = take(path)
    taken = threading.Event()

    def second() -> None:
        with take(path):
            taken.set()

    thread = threading.Thread(target=second)
    thread.start()
    # Until the other thread has opened the file that is removed.
    while sum(os.path.realpath(link) == str(path) for link in Path("/proc/self/fd").iterdir()) < 2:
        time.sleep(0.001)
    path.unlink()
    with take(path):
        first.release()
        assert not taken.wait(0.2)
    thread.join()
    assert taken.is_set()


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic link"):
        take(tmp_path / "lock")
    assert not (tmp_path / "mine").exists()
    with pytest.raises(FileNotFoundError):
        take(tmp_path / "nothing", flags=0)
    with pytest.raises(FileExistsError):
        take(tmp_path / "lock", flags=os.O_CREAT | os.O_EXCL)
