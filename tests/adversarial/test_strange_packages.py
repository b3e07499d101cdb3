"""Task packages from strangers: whatever lies in the folder, nothing outside of it is read, and nothing hangs.

Attacks: a link in place of any file or folder, which was copied into the public package and shown to an agent; a pipe,
a device, terabytes, a gzip bomb, or a TOML key of 400,000 parts, at which `task build`, `show`, `run` or a listing
never ended or took tens of gigabytes; a hard link to a private file; a link to a folder, or a pipe, in a built package
or its hidden half, which was in no digest.
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import openfingym
from openfingym import catalog
from openfingym.cli import main
from openfingym.errors import DigestMismatchError, OpenFinGymError, StoreError, TaskError
from openfingym.files import strange as strange_files
from openfingym.packages.build import build, write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task.files import DATASET_LIMIT

SECRET = "root:$6$the-hash-of-a-password:19000:0:99999:7:::\n"
FILES = ("task.toml", "instruction.md", "interface.py", "data.csv")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "shadow"
    path.write_text(SECRET)
    return path


def as_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is at most 108 bytes long
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def as_sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2 << 30)


STRANGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (os.mkfifo, "is a pipe, expected a file"),
    "socket": (as_socket, "is a socket, expected a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a link to '/dev/zero'"),
    "dangling": (lambda path: path.symlink_to("/nowhere"), "is a link to '/nowhere'"),
    "circle": (lambda path: path.symlink_to(path.name), "is a link to"),
    "folder": (Path.mkdir, "is a folder, expected a file"),
    "endless": (as_sparse, "is larger than"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_named_and_not_read(own_task: Path, name: str, kind: str) -> None:
    make, words = STRANGE[kind]
    (own_task / name).unlink(missing_ok=True)
    make(own_task / name)
    with pytest.raises(TaskError, match=words) as caught:
        build(catalog.load_task(own_task))
    assert name in str(caught.value)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "command",
    [
        ("task", "build"),
        ("task", "check"),
        ("task", "show"),
        ("run", "--agent", "naive", "--backend", "inline"),
        ("rollout", "--dry-run"),
    ],
    ids=" ".join,
)
def test_every_command_refuses_a_link_and_names_it(
    own_task: Path, secret: Path, name: str, command: tuple[str, ...], capsys, monkeypatch
) -> None:
    """`ln -s /etc/shadow instruction.md` was copied into the public package, and read by an agent."""
    (own_task / name).unlink(missing_ok=True)
    (own_task / name).symlink_to(secret)
    out = own_task.parent / "runs"
    tasks = (
        ("--tasks", str(own_task), "--agent", "naive", "--out", str(out))
        if command[0] == "rollout"
        else (str(own_task),)
    )
    home = own_task.parent / "home"
    monkeypatch.setenv("OPENFINGYM_HOME", str(home))
    monkeypatch.setattr("sys.argv", ["openfingym", *command, *tasks])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == TaskError.exit_code
    assert f"{name}: is a link to '{secret}'" in said.err
    assert "the-hash-of" not in said.out + said.err
    assert "Traceback" not in said.err
    assert not [path for path in home.rglob("*") if path.is_file() and b"the-hash-of" in path.read_bytes()]


def test_the_library_refuses_it_too(own_task: Path, secret: Path, monkeypatch) -> None:
    (own_task / "instruction.md").unlink()
    (own_task / "instruction.md").symlink_to(secret)
    for load in (openfingym.make, catalog.load_task, catalog.register):
        with pytest.raises(TaskError, match=r"instruction\.md: is a link"):
            load(own_task)
    monkeypatch.setenv("OPENFINGYM_TASKS", str(own_task.parent))
    with pytest.raises(TaskError, match=r"instruction\.md: is a link"):
        catalog.tasks()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "link"])
def test_a_scan_of_tasks_names_what_is_strange(own_task: Path, make: Callable[[Path], None], monkeypatch) -> None:
    (own_task / "task.toml").unlink()
    make(own_task / "task.toml")
    monkeypatch.setenv("OPENFINGYM_TASKS", str(own_task.parent))
    with pytest.raises(TaskError, match=r"task\.toml: is a "):
        catalog.tasks()


def test_a_folder_that_is_a_link_leads_nowhere(own_task: Path, tmp_path: Path) -> None:
    """The guard of a path's last component is none of those before it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(own_task / "data.csv", elsewhere / "data.csv")
    (own_task / "inner").symlink_to(elsewhere)
    config = own_task / "task.toml"
    config.write_text(config.read_text().replace('"data.csv"', '"inner/data.csv"'))
    with pytest.raises(TaskError, match="inner: is a link to"):
        build(catalog.load_task(own_task))
    with pytest.raises(OSError, match="is a link to"):
        strange_files.read_bytes(own_task, "inner/data.csv", 10**6)


def test_a_link_that_nothing_reads_is_refused_too(own_task: Path, secret: Path) -> None:
    """What reads the folder next, such as whoever copies it into an image, might follow it."""
    (own_task / "solution").mkdir()
    (own_task / "solution" / "notes.md").symlink_to(secret)
    with pytest.raises(TaskError, match=r"notes\.md: is a link"):
        catalog.load_task(own_task)


def test_the_folder_itself_may_be_given_by_a_link(own_task: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / own_task.name
    link.symlink_to(own_task)
    assert build(catalog.load_task(link)).manifest.digest == build(catalog.load_task(own_task)).manifest.digest


@pytest.mark.parametrize(
    "name", ["a\\u0000b.csv", "\\u001b[2J.csv", "x" * 5000, "data.csv/inner.csv", ".", "\\u202egnp.csv"]
)
def test_odd_names_are_said_and_not_acted_on(own_task: Path, name: str, capsys, monkeypatch) -> None:
    config = own_task / "task.toml"
    config.write_text(config.read_text().replace('"data.csv"', f'"{name}"'))
    monkeypatch.setattr("sys.argv", ["openfingym", "task", "show", str(own_task)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == TaskError.exit_code
    assert "Traceback" not in said
    assert not set("\x00\x1b\u202e") & set(said)


def test_a_packed_file_does_not_fill_the_memory(own_task: Path, monkeypatch) -> None:
    """A few megabytes that unpack to terabytes; here a few kilobytes, with the limit lowered."""
    monkeypatch.setattr("openfingym.kinds.panels.DATASET_LIMIT", 1 << 20)
    assert DATASET_LIMIT > 1 << 20
    (own_task / "data.csv.gz").write_bytes(gzip.compress(bytes(4 << 20)))
    config = own_task / "task.toml"
    config.write_text(config.read_text().replace('"data.csv"', '"data.csv.gz"'))
    with pytest.raises(OpenFinGymError, match="unpacks to more than 1 MiB"):
        build(catalog.load_task(own_task))


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = " + "9" * 100_000, "a" + ".a" * 400_000 + " = 1"],
    ids=["deep", "long", "dotted"],
)
def test_toml_without_end_is_refused(own_task: Path, text: str) -> None:
    (own_task / "task.toml").write_text(text)
    with pytest.raises(TaskError, match=r"task\.toml: "):
        catalog.load_task(own_task)


def test_a_hard_link_of_somebody_elses_private_file_is_refused(own_task: Path, secret: Path, monkeypatch) -> None:
    """Kernels that do not protect hard links let anybody give a file of yours a second name in a folder of theirs."""
    secret.chmod(0o600)
    (own_task / "instruction.md").unlink()
    os.link(secret, own_task / "instruction.md")
    assert "the-hash-of" in strange_files.read_bytes(own_task, "instruction.md", 1000).decode(), (
        "as long as both are one's own"
    )
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    os.chown(own_task, 65534, 65534)
    with pytest.raises(OSError, match="hard link"):
        strange_files.read_bytes(own_task, "instruction.md", 1000)


def test_a_link_put_there_between_the_look_and_the_opening_is_not_followed(
    own_task: Path, secret: Path, monkeypatch
) -> None:
    look = os.stat

    def swapped(path, *args, **options):
        found = look(path, *args, **options)
        if path == "instruction.md":
            (own_task / "instruction.md").unlink()
            (own_task / "instruction.md").symlink_to(secret)
        return found

    monkeypatch.setattr(os, "stat", swapped)
    with pytest.raises(OSError, match="is a link to"):
        strange_files.read_bytes(own_task, "instruction.md", 1000)


# A store that a stranger gave.


@pytest.fixture
def given(own_task: Path, tmp_path: Path) -> BuiltPackage:
    package = BuiltPackage(tmp_path / "public", tmp_path / "truth")
    write_package(catalog.load_task(own_task), package.public, package.truth)
    package.read_truth()
    return BuiltPackage(package.public, package.truth)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", [kind for kind in STRANGE if kind != "endless"])
@pytest.mark.parametrize(
    "name",
    [
        "package.json",
        "instruction.md",
        "environment/interface.py",
        "environment/data/contract.json",
        "environment/data/train_inputs.npy",
        "new",
    ],
)
def test_a_strange_file_in_a_built_package_is_found(given: BuiltPackage, name: str, kind: str) -> None:
    """A link to a folder was no file, and so in no digest."""
    path = given.public / name
    path.unlink(missing_ok=True)
    STRANGE[kind][0](path)
    readers = {
        "instruction.md": given.read_instruction,
        "environment/data/contract.json": lambda: given.contract,
        "environment/data/train_inputs.npy": lambda: given.array("train_inputs"),
    }
    if name in readers:
        with pytest.raises(StoreError, match="cannot be read"):
            readers[name]()
    if not (name == "new" and kind == "folder"):
        with pytest.raises((DigestMismatchError, StoreError)):
            given.read_truth()


def test_a_link_to_a_folder_in_a_built_package_is_found(given: BuiltPackage) -> None:
    (given.data / "etc").symlink_to("/etc")
    with pytest.raises(DigestMismatchError, match="etc is a link to '/etc'"):
        given.verify_public()


@pytest.mark.parametrize("name", ["truth.json", "targets.npy"])
def test_a_strange_file_in_a_truth_half_is_found(given: BuiltPackage, name: str) -> None:
    (given.truth / name).unlink()
    os.mkfifo(given.truth / name)
    with pytest.raises(StoreError, match="is a pipe"):
        given.read_truth()


def test_an_array_that_claims_more_than_it_holds_takes_no_memory(given: BuiltPackage) -> None:
    path = given.data / "train_inputs.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 1 << 20)}
        )
    with pytest.raises(StoreError, match="not what it holds"):
        given.array("train_inputs")
