"""An instance is a package like any other, and the same whoever builds it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import DigestMismatchError, StoreError, TaskError, UsageError
from openfingym.instances import INSTANCE_COUNT, InstanceSource, build_instance, place_of
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task


def bytes_of(folder: Path) -> dict[str, str]:
    """Digest of each file below a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def source(treasury: BuiltPackage) -> InstanceSource:
    return InstanceSource.of(treasury)


@pytest.fixture(scope="module")
def built(source: InstanceSource, tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    return build_instance(source, "train", 3, tmp_path_factory.mktemp("instance"))


def test_another_process_builds_the_same_bytes(treasury: BuiltPackage, built: BuiltPackage, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from openfingym.instances import build_instance; "
        "from openfingym.packages.package import BuiltPackage; "
        "build_instance(BuiltPackage(Path(sys.argv[1]), Path('/nowhere')), 'train', 3, Path(sys.argv[2]))"
    )
    subprocess.run([sys.executable, "-c", code, str(treasury.public), str(tmp_path)], check=True)
    assert bytes_of(tmp_path / "public") == bytes_of(built.public)
    assert bytes_of(tmp_path / "truth") == bytes_of(built.truth)


def test_it_is_a_package_that_says_of_itself_what_it_is(built: BuiltPackage, treasury: BuiltPackage) -> None:
    afresh = BuiltPackage(built.public, built.truth)
    hidden = afresh.read_truth()["targets"]
    assert hidden.shape == afresh.manifest.submission_shape == tuple(afresh.contract["submission_shape"])
    assert afresh.manifest == built.manifest
    assert afresh.manifest.digest != treasury.manifest.digest
    assert afresh.manifest.name == treasury.manifest.name
    assert afresh.task.file == built.task.file
    contract = afresh.task.spec.contract
    assert afresh.shown_array("test_inputs").shape[1] == contract.lookback == afresh.contract["lookback"]
    assert hidden.shape[1] == contract.horizon == afresh.manifest.horizon
    assert (built.truth.stat().st_mode & 0o777, (built.truth / "targets.npy").stat().st_mode & 0o777) == (0o700, 0o600)


def test_its_instruction_has_the_authors_words_and_its_own_numbers(built: BuiltPackage, treasury: BuiltPackage) -> None:
    text, ours = built.read_instruction(), treasury.read_instruction()
    assert text.partition("\n## Data\n")[0] == ours.partition("\n## Data\n")[0]
    assert "Real data: US Department of the Treasury, Daily Treasury Par Yield Curve Rates. This is a part" in text
    _, lookback, channels = built.shown_array("test_inputs").shape
    _, horizon, targets = built.manifest.submission_shape
    assert f"float64 (1, {lookback}, {channels}) -> (1, {horizon}, {targets})" in text
    assert text.partition("## How it is scored")[2] == ours.partition("## How it is scored")[2]


def test_no_hidden_value_of_it_is_a_hidden_value_of_the_task(
    source: InstanceSource, treasury: BuiltPackage, tmp_path: Path
) -> None:
    first = treasury.shown_array("test_times").min()
    for index in range(5):
        (tmp_path / str(index)).mkdir()
        one = build_instance(source, "validation" if index % 2 else "train", index, tmp_path / str(index))
        assert one.shown_array("test_times").max() < first
        with pytest.raises(StoreError):  # an agent is shown it window by window
            one.array("test_times")


def test_instances_differ(source: InstanceSource, tmp_path: Path) -> None:
    digests = set()
    for split, index in (("train", 0), ("train", 1), ("validation", 0), ("validation", INSTANCE_COUNT - 1)):
        folder = tmp_path / f"{split}{index}"
        folder.mkdir()
        digests.add(build_instance(source, split, index, folder).manifest.digest)  # type: ignore[arg-type]
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("split", "index"),
    [("train", -1), ("train", INSTANCE_COUNT), ("train", True), ("train", 1.0), ("trian", 0), ("test", 0)],
)
def test_what_is_no_instance(source: InstanceSource, split: str, index: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        build_instance(source, split, index, tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_task_as_it_is_has_no_number() -> None:
    assert place_of("test", None) is None
    assert place_of("train", 3) == ("train", 3)
    with pytest.raises(UsageError, match="leave out the instance"):
        place_of("test", 3)
    with pytest.raises(UsageError, match="say which"):
        place_of("train", None)


def test_a_changed_hidden_value_is_found(source: InstanceSource, tmp_path: Path) -> None:
    one = build_instance(source, "train", 9, tmp_path)
    np.save(one.truth / "targets.npy", 1.5 * np.load(one.truth / "targets.npy"))
    with pytest.raises(DigestMismatchError):
        one.read_truth()


def test_the_contract_is_changed_however_it_is_written(own_task: Path, tmp_path: Path) -> None:
    toml = own_task / "task.toml"
    toml.write_text(toml.read_text().replace("lookback = 20", "lookback   =   20  # a comment"))
    (own_task / "instruction.md").write_text("# Mine\n\n## Data\n\nIt has a heading of ours.\n")
    package = BuiltPackage(tmp_path / "public", tmp_path / "truth")
    write_package(Task.read(own_task), package.public, package.truth)
    source = InstanceSource.of(package)
    assert source.written.instruction == "# Mine\n\n## Data\n\nIt has a heading of ours."
    task, written = source.with_contract({"lookback": 10, "horizons": [1, 5]})
    assert (task.spec.contract.lookback, task.spec.contract.horizons) == (10, (1, 5))  # type: ignore[attr-defined]
    assert b"a comment" not in written.config
    with pytest.raises(TaskError, match="horizons must increase"):
        source.with_contract({"horizons": [5, 1]})


def test_a_contract_that_is_no_table_of_its_own_is_refused(own_task: Path, tmp_path: Path) -> None:
    toml = own_task / "task.toml"
    text = toml.read_text()
    begin = text.index("[metadata.openfingym.contract]\n")
    end = text.index("\n[", begin)
    lines = [line.partition("   #")[0] for line in text[begin:end].splitlines()[1:] if line.strip()]
    inline = f"contract = {{ {', '.join(lines)} }}\n"
    toml.write_text((text[:begin] + text[end:]).replace("[metadata.openfingym]\n", f"[metadata.openfingym]\n{inline}"))
    package = BuiltPackage(tmp_path / "public", tmp_path / "truth")
    write_package(Task.read(own_task), package.public, package.truth)
    with pytest.raises(TaskError, match="needs another lookback; write the contract as a table"):
        InstanceSource.of(package).with_contract({"lookback": 10})


def test_a_full_disk_is_named_and_leaves_nothing(source: InstanceSource, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system can be mounted by root alone")
    try:
        with pytest.raises(StoreError, match="the disk is full"):
            build_instance(source, "train", 0, small)
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)
