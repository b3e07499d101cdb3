"""Building packages: contents, determinism, atomicity."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from openfingym import store
from openfingym.catalog import load_task
from openfingym.errors import DigestMismatchError, StoreError, TaskError
from openfingym.packages.build import build, build_key
from openfingym.packages.package import BuiltPackage


def test_the_package_holds_what_it_says(treasury: BuiltPackage) -> None:
    manifest = treasury.manifest
    truth = treasury.read_truth()["targets"]
    assert truth.shape == manifest.submission_shape == (manifest.n_public + manifest.n_private, 5, 6)
    assert treasury.array("train_inputs").shape == (manifest.n_train, 20, 6)
    contract = json.loads((treasury.data / "contract.json").read_text())
    assert contract["submission_shape"] == list(truth.shape)
    assert contract["data_kind"] == "real"


def test_hidden_targets_continue_their_inputs(treasury: BuiltPackage) -> None:
    """Against the dataset itself: the row after each hidden window's inputs is its first target."""
    from openfingym.data import load_panel

    panel = load_panel("ust-par-yields", treasury.manifest.labels)
    hidden = treasury.read_truth()
    times, truth = hidden["test_times"], hidden["targets"]
    for window in range(len(truth)):
        rows = np.searchsorted(panel.times, times[window])
        assert np.array_equal(panel.values[rows[:20]], hidden["test_inputs"][window])
        assert np.array_equal(panel.values[rows[20:]], truth[window])
        assert np.array_equal(np.diff(rows), np.ones(24))


def test_modes(treasury: BuiltPackage) -> None:
    assert stat.S_IMODE(treasury.truth.stat().st_mode) == 0o700
    assert stat.S_IMODE((treasury.truth / "targets.npy").stat().st_mode) == 0o600
    assert stat.S_IMODE(treasury.truth.parent.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((treasury.data / "contract.json").stat().st_mode) == 0o644


def test_the_instruction_says_what_the_data_is() -> None:
    simulated = build(load_task("crypto-forecast"))
    assert "SIMULATED data" in simulated.instruction.read_text()
    assert simulated.manifest.data_kind == "simulated"


def test_building_again_reuses_what_is_there(treasury: BuiltPackage) -> None:
    before = (treasury.public / "package.json").stat().st_mtime_ns
    assert build(load_task("treasury-forecast")).public == treasury.public
    assert (treasury.public / "package.json").stat().st_mtime_ns == before


def test_a_forced_build_gives_the_same_digest(own_task: Path) -> None:
    task = load_task(own_task)
    assert build(task).manifest == build(task, force=True).manifest


def test_the_key_follows_every_input(own_task: Path) -> None:
    keys = {build_key(load_task(own_task))}
    for name in ("task.toml", "instruction.md", "data.csv"):
        path = own_task / name
        path.write_text(
            path.read_text()
            + ("# changed\n" if name == "task.toml" else "\n" if name == "instruction.md" else "2030-01-01,100,100\n")
        )
        keys.add(build_key(load_task(own_task)))
    (own_task / "interface.py").write_text("# its own\n")
    keys.add(build_key(load_task(own_task)))
    assert len(keys) == 5


def test_an_own_interface_is_used(own_task: Path) -> None:
    (own_task / "interface.py").write_text("# its own\n")
    assert build(load_task(own_task)).interface.read_text() == "# its own\n"


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store for one test, which may damage what is in it."""
    home = tmp_path / "own-home"
    monkeypatch.setenv("OPENFINGYM_HOME", str(home))
    return home


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("half", ["public", "truth"])
def test_a_changed_byte_is_noticed(half: str, own_task: Path) -> None:
    package = build(load_task(own_task), force=True)
    path = package.data / "train_inputs.npy" if half == "public" else package.truth / "targets.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DigestMismatchError):
        package.read_truth()


@pytest.mark.usefixtures("own_home")
def test_an_added_file_is_noticed(own_task: Path) -> None:
    package = build(load_task(own_task), force=True)
    (package.data / "answers.csv").write_text("1,2,3\n")
    with pytest.raises(DigestMismatchError, match=r"answers\.csv was added"):
        package.verify_public()


def _build_in_process(folder: str, home: str, start: object) -> None:
    os.environ["OPENFINGYM_HOME"] = home
    start.wait()  # type: ignore[attr-defined]
    build(load_task(Path(folder)))


def test_two_processes_build_at_once(own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    builders = [context.Process(target=_build_in_process, args=(str(own_task), str(home), start)) for _ in range(2)]
    for builder in builders:
        builder.start()
    start.set()
    for builder in builders:
        builder.join(60)
        assert builder.exitcode == 0
    monkeypatch.setenv("OPENFINGYM_HOME", str(home))
    build(load_task(own_task)).read_truth()
    assert not list((home / ".staging").iterdir())


def test_a_build_killed_at_any_moment_leaves_a_whole_package_or_none(
    own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("OPENFINGYM_HOME", str(home))
    program = (
        "import sys; from pathlib import Path\n"
        "from openfingym.packages.build import build; from openfingym.catalog import load_task\n"
        "task = load_task(Path(sys.argv[1])); print('ready', flush=True)\n"
        "while True: build(task, force=True)\n"
    )
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05):
        builder = subprocess.Popen([sys.executable, "-c", program, str(own_task)], stdout=subprocess.PIPE)
        assert builder.stdout is not None
        builder.stdout.readline()
        time.sleep(delay)
        builder.send_signal(signal.SIGKILL)
        builder.wait()
        builder.stdout.close()
        public, _ = store.package_folders("my-task", build_key(load_task(own_task)))
        if public.exists():
            BuiltPackage(public, store.package_folders("my-task", public.name)[1]).verify_public()
        build(load_task(own_task)).read_truth()
        build(load_task(own_task), force=True).read_truth()
        assert not list((home / ".staging").iterdir()), "what the killed build left is reaped"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_leaves_nothing_half_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "small"
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(home)], check=True)
    try:
        monkeypatch.setenv("OPENFINGYM_HOME", str(home))
        with pytest.raises(StoreError, match="disk is full"):
            build(load_task("treasury-forecast"))
        assert not list((home / ".staging").iterdir())
        assert not (home / "packages" / "treasury-forecast").exists()
    finally:
        subprocess.run(["umount", str(home)], check=True)


def test_an_unwritable_store_says_what_to_do(own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(StoreError, match="OPENFINGYM_HOME"):
        build(load_task(own_task))


def test_a_dataset_link_out_of_the_task_is_refused(own_task: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("date,alpha,beta\n")
    (own_task / "data.csv").unlink()
    (own_task / "data.csv").symlink_to(secret)
    with pytest.raises(TaskError, match=r"data\.csv: is a link to"):
        build(load_task(own_task))


def test_a_missing_dataset_file_is_named(own_task: Path) -> None:
    (own_task / "data.csv").unlink()
    with pytest.raises(TaskError, match=r"dataset\.file.*'data\.csv' is not there"):
        build(load_task(own_task))
