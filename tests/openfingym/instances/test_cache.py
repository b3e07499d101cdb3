"""Instances in use: built once, bounded, and gone at the end."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openfingym import store
from openfingym.errors import UsageError
from openfingym.instances import INSTANCE_COUNT, Instances
from openfingym.packages.package import BuiltPackage


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in which no other process has instances."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))


def folders() -> list[Path]:
    """Folders of instances in the store."""
    return [path for root in (store.home() / ".instances").glob("*-*") if root.is_dir() for path in root.iterdir()]


def test_a_group_builds_one(treasury: BuiltPackage) -> None:
    group = threading.Barrier(8)

    def rollout(_: int) -> Path:
        with instances.hold(treasury, "train", 5) as package:
            group.wait(60)
            assert package.read_truth()
            return package.public

    with Instances() as instances, ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(rollout, range(8)))) == 1
        assert instances.built == 1
        with instances.hold(treasury, "train", 5):
            assert instances.built == 1
    assert not folders()


def test_few_are_kept_and_none_in_use_is_removed(treasury: BuiltPackage) -> None:
    with Instances(most=2) as instances, instances.hold(treasury, "train", 0) as first:
        for index in range(1, 6):
            with instances.hold(treasury, "train", index):
                pass
        assert len(folders()) == 3
        assert first.read_truth()
    assert not folders()
    with Instances(most_bytes=1) as instances:
        with instances.hold(treasury, "train", 0):
            assert len(folders()) == 1
        assert not folders()


def test_what_was_deleted_is_built_again(treasury: BuiltPackage) -> None:
    with Instances() as instances:
        with instances.hold(treasury, "train", 0) as first:
            shutil.rmtree(store.home() / ".instances")
            with instances.hold(treasury, "train", 0) as second:
                assert second.public != first.public
                assert second.read_truth()
        with instances.hold(treasury, "train", 0) as third:
            assert third.public == second.public
            (third.data / "train_inputs.npy").unlink()
        with instances.hold(treasury, "train", 0) as fourth:
            assert fourth.array("train_inputs").size
        assert instances.built == 3
    assert not folders()


def test_a_failure_is_everybodys_and_is_not_kept(treasury: BuiltPackage, tmp_path: Path) -> None:
    public = tmp_path / "public"
    shutil.copytree(treasury.public, public)
    (public / "environment" / "data" / "train_inputs.npy").rename(tmp_path / "kept")
    broken = BuiltPackage(public, treasury.truth)
    with Instances() as instances:
        for _ in range(2):
            with pytest.raises(Exception, match="train_inputs"), instances.hold(broken, "train", 0):
                pass
        assert not folders()
        (tmp_path / "kept").rename(public / "environment" / "data" / "train_inputs.npy")
        with instances.hold(broken, "train", 0) as package:
            assert package.read_truth()
        with pytest.raises(UsageError), instances.hold(broken, "train", INSTANCE_COUNT):
            pass
