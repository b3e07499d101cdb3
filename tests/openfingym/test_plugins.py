"""Entry points are looked for again when something was installed or removed, and only then."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path

import pytest

from openfingym.plugins import entry_points

GROUP = "openfingym.tests_of_entry_points"


def install(site: Path, name: str) -> Path:
    info = site / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:THING\n")
    return info


def test_what_is_installed_meanwhile_is_found_and_what_is_removed_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert entry_points(GROUP) == ()
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    install(second, "beta")
    monkeypatch.syspath_prepend(first)
    monkeypatch.syspath_prepend(second)
    assert [one.name for one in entry_points(GROUP)] == ["beta"]
    gone = install(first, "alpha")
    assert sorted(one.name for one in entry_points(GROUP)) == ["alpha", "beta"]
    shutil.rmtree(gone)
    assert [one.name for one in entry_points(GROUP)] == ["beta"]


def test_nothing_is_looked_through_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {one.name for one in entry_points("console_scripts")} >= {"openfingym", "pytest"}
    monkeypatch.setattr(metadata, "entry_points", None)
    assert entry_points("console_scripts")
