"""Files and folders written whole or not at all: killed in the middle, on a full disk, and where a link is in the
place.

The attack: a pipe or a hard link of yours as `.NAME.partial`, where `NAME` is written, at which a command waited
forever or your file was emptied.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openfingym.errors import StoreError
from openfingym.files.whole import (
    owned_folder,
    remove_dead,
    store_errors,
    whole_file,
    whole_folder,
    write_json,
    write_text,
)

OLD, NEW = "old\n" * 1000, "new\n" * 100_000


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    """A child that has said so when it is where the program prints."""
    child = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "in the middle\n"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.communicate()


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


HALF_A_FILE = """
import signal, sys
from pathlib import Path
from openfingym.files.whole import whole_file
with whole_file(Path(sys.argv[1])) as stream:
    stream.write("half " * 100_000)
    stream.flush()
    print("in the middle", flush=True)
    signal.pause()
"""
HALF_A_FOLDER = """
import signal, sys
from pathlib import Path
from openfingym.files.whole import whole_folder
with whole_folder(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("half")
    print("in the middle", flush=True)
    signal.pause()
"""


def test_a_writer_killed_in_the_middle_leaves_the_old_file_and_the_next_one_clears_up(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_text(OLD)
    child = started(HALF_A_FILE, path)
    assert path.read_text() == OLD
    kill(child)
    assert path.read_text() == OLD
    assert names(tmp_path) == [".record.partial", "record"]
    write_text(path, NEW)
    assert path.read_text() == NEW
    assert names(tmp_path) == ["record"]


def test_at_any_moment_a_reader_finds_all_of_one_or_the_other(tmp_path: Path) -> None:
    path = tmp_path / "record"
    program = (
        "import sys; from pathlib import Path; from openfingym.files.whole import write_text\n"
        "write_text(Path(sys.argv[1]), sys.argv[2] * 50_000); print('in the middle', flush=True)\n"
        "while True: [write_text(Path(sys.argv[1]), letter * 50_000) for letter in sys.argv[2:]]"
    )
    writers = [started(program, path, *letters) for letters in ("ab", "cd")]
    for _ in range(300):
        text = path.read_text()
        assert text == text[0] * 50_000
    for writer in writers:
        kill(writer)
    text = path.read_text()
    assert text == text[0] * 50_000
    write_text(path, NEW)
    assert names(tmp_path) == ["record"]


def test_who_writes_the_same_waits_for_his_turn(tmp_path: Path) -> None:
    path = tmp_path / "record"
    child = started(HALF_A_FILE, path)
    waiting = threading.Thread(target=write_text, args=(path, NEW))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert not path.exists()
    kill(child)
    waiting.join()
    assert path.read_text() == NEW
    assert names(tmp_path) == ["record"]


def test_an_error_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(OLD)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"x": float("nan")})
    with pytest.raises(KeyboardInterrupt), whole_file(path) as stream:
        interrupted(stream.write("half"))
    assert path.read_text() == OLD
    assert names(tmp_path) == ["record.json"]


def test_a_file_that_is_too_large_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_text(OLD)
    program = (
        "import resource, sys; from pathlib import Path; from openfingym.errors import StoreError\n"
        "from openfingym.files.whole import write_text\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: write_text(Path(sys.argv[1]), 'x' * 1_000_000)\n"
        "except StoreError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True).stdout
    assert "cannot be written (File too large)" in said
    assert path.read_text() == OLD
    assert names(tmp_path) == ["record"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_leaves_the_old_file_and_is_said(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], check=True)
    try:
        path = tmp_path / "record"
        path.write_text(OLD)
        with pytest.raises(StoreError, match=r"No space left on device.*free some space"):
            write_text(path, NEW)
        assert path.read_text() == OLD
        with (
            pytest.raises(StoreError, match="free some space"),
            store_errors(tmp_path),
            whole_folder(tmp_path / "folder") as folder,
        ):
            (folder / "x").write_text(NEW)
        assert names(tmp_path) == ["record"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("place", ["record", ".record.partial"])
@pytest.mark.parametrize("kind", ["link", "hard link", "broken link", "pipe"])
def test_nothing_is_written_through_what_is_in_the_place(tmp_path: Path, place: str, kind: str) -> None:
    mine, folder = tmp_path / "mine", tmp_path / "folder"
    folder.mkdir()
    mine.write_text(OLD)
    spot = folder / place
    if kind == "pipe":
        os.mkfifo(spot)
    elif kind == "hard link":
        spot.hardlink_to(mine)
    else:
        spot.symlink_to(mine if kind == "link" else tmp_path / "nothing")
    write_text(folder / "record", NEW)
    assert mine.read_text() == OLD
    assert names(tmp_path) == ["folder", "mine"]
    assert names(folder) == ["record"]
    assert (folder / "record").read_text() == NEW
    assert stat.S_ISREG((folder / "record").lstat().st_mode)


def test_permissions_are_those_of_the_umask_or_those_asked_for(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from openfingym.files.whole import *; os.umask(0o077); root = "
        "Path(sys.argv[1])\n"
        "with whole_file(root / 'usual') as a, whole_file(root / 'open', mode=0o644) as b, whole_folder(root / "
        "'folder'): pass"
    )
    (tmp_path / ".usual.partial").touch(0o666)
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "usual": 0o600,
        "open": 0o644,
        "folder": 0o700,
    }


def test_a_folder_whose_writer_was_killed_goes_when_another_is_written(tmp_path: Path) -> None:
    child = started(HALF_A_FOLDER, tmp_path / "a")
    with whole_folder(tmp_path / "b"):
        assert names(tmp_path) == [".a.partial", ".a.partial.lock", ".b.partial", ".b.partial.lock"], (
            "a writer that lives keeps its folder"
        )
    kill(child)
    assert not (tmp_path / "a").exists()
    with whole_folder(tmp_path / "c") as folder:
        (folder / "whole").touch()
    assert names(tmp_path) == ["b", "c"]
    assert names(tmp_path / "c") == ["whole"]


def test_a_folder_is_never_half_there_and_what_has_its_place_stays(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "a") as folder:
        interrupted((folder / "half").touch())
    assert names(tmp_path) == []
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kept").touch()
    with pytest.raises(OSError, match="not empty"), whole_folder(tmp_path / "a") as folder:
        (folder / "new").touch()
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["kept"]


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".mine.partial").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").touch()
    (tmp_path / ".link.partial.lock").touch()
    (tmp_path / ".link.partial").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".other.partial.lock").symlink_to(tmp_path / "elsewhere" / "kept")
    remove_dead(tmp_path, ".*.partial")
    assert names(tmp_path) == [".mine.partial", ".other.partial.lock", "elsewhere"]
    assert names(tmp_path / "elsewhere") == ["kept"]
    with owned_folder(tmp_path / ".mine.partial") as folder:
        assert names(folder) == []
    assert names(tmp_path) == [".other.partial.lock", "elsewhere"]
