"""Telling what a dead process left behind from what is in use."""

from __future__ import annotations

import os
import subprocess
import sys

from openfingym_runtime import owned_directory
from openfingym_runtime.owner import is_alive, owner_id


def test_this_process_is_alive():
    assert is_alive(owner_id())
    assert owner_id() == owner_id()


def owner_of_a_finished_process() -> str:
    code = "from openfingym_runtime.owner import owner_id; print(owner_id())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_finished_process_is_dead():
    assert not is_alive(owner_of_a_finished_process())


def test_a_reused_process_id_is_not_its_first_owner():
    parts = owner_id().split(",")
    assert not is_alive(",".join((*parts[:4], "1")))


def test_another_boot_is_dead_and_what_cannot_be_known_is_alive():
    host, boot, namespace, pid, start = owner_id().split(",")
    assert not is_alive(",".join((host, "another-boot", namespace, pid, start)))
    assert is_alive(",".join(("another-host", boot, namespace, "1", "1")))
    assert is_alive(",".join((host, boot, "another-namespace", pid, "1")))
    assert is_alive("not ours")


def test_reaping_takes_the_dead_only(short_dir):
    alive = owned_directory.create(short_dir)
    dead = owned_directory.create(short_dir)
    (dead / "owner").write_text(owner_of_a_finished_process())
    (dead / "left").mkdir()
    unnamed = owned_directory.create(short_dir)
    (unnamed / "owner").unlink()
    stale = owned_directory.create(short_dir)
    (stale / "owner").unlink()
    os.utime(stale, (0, 0))
    stray = alive.parent / "stray-file"
    stray.touch()
    assert owned_directory.reap(short_dir) == 2
    assert set(alive.parent.iterdir()) == {alive, unnamed, stray}


KILLED_WHILE_REMOVING = """
import os, sys
from pathlib import Path
from openfingym_runtime import owned_directory

for removals in range(7):
    if not (pid := os.fork()):
        folder = owned_directory.create(Path(sys.argv[1]))
        (folder / "below").mkdir()
        for name in ("below/a", "below/b", "aa", "zz"):
            (folder / name).touch()
        left = [removals]
        def audit(event, arguments):
            if event in ("os.remove", "os.rmdir"):
                if not left[0]:
                    os._exit(9)
                left[0] -= 1
        sys.addaudithook(audit)
        owned_directory.remove(folder)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_what_a_process_leaves_that_is_killed_while_it_removes_is_found(short_dir):
    command = [sys.executable, "-c", KILLED_WHILE_REMOVING, str(short_dir)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["9"] * 7
    assert owned_directory.reap(short_dir) == 6
    (last,) = owned_directory.private_root(short_dir).iterdir()
    assert not any(last.iterdir()), "its name was the last to go"


def test_an_owned_directory_goes_with_its_block(short_dir):
    with owned_directory.owned_directory(short_dir) as folder:
        (folder / "x").touch()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
