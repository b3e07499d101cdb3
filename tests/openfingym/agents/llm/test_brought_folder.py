"""Folders that may be shown to an agent's programs, and those that may not.

The attack: a folder that holds the store, runs, a task, a home or a key, or links to them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openfingym import store
from openfingym.agents.llm.brought_folder import read_folder
from openfingym.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cli"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "main").write_text("echo hello\n")
    for path in (folder, folder / "bin"):
        path.chmod(0o755)
    (folder / "bin" / "main").chmod(0o755)
    return folder


def test_it_is_known_by_what_is_in_it(folder: Path, tmp_path: Path) -> None:
    found = read_folder(folder)
    assert found.path == str(folder)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert read_folder(link) == found
    # Caches and history change nothing of what it does; everything else does.
    (folder / "__pycache__").mkdir()
    (folder / ".git").mkdir()
    (folder / "__pycache__" / "main.pyc").write_bytes(b"1")
    assert read_folder(folder).digest == found.digest
    seen = {found.digest}
    changes: list[Callable[[], object]] = [
        lambda: (folder / "bin" / "main").write_text("echo other\n"),
        lambda: (folder / "bin" / "main").rename(folder / "bin" / "again"),
        lambda: (folder / "empty").mkdir(mode=0o755),
        lambda: (folder / "linked").symlink_to("/etc/shadow"),
        lambda: _link_anew(folder / "linked", "/etc/passwd"),
    ]
    for change in changes:
        change()
        seen.add(read_folder(folder).digest)
    assert len(seen) == 6


def _link_anew(path: Path, aim: str) -> None:
    path.unlink()
    path.symlink_to(aim)


def _task(folder: Path) -> None:
    (folder / "a").mkdir(mode=0o755)
    (folder / "a" / "task.toml").write_text("")


def _run(folder: Path) -> None:
    for name in ("result.json", "config.json"):
        (folder / name).write_text("{}")


def _series(folder: Path) -> None:
    (folder / "statsmodels" / "datasets" / "macrodata").mkdir(parents=True)
    (folder / "statsmodels" / "datasets" / "macrodata" / "macrodata.csv").write_text("1")


def _at(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o755)
    path.write_text(text)


def _library(folder: Path) -> None:
    (folder / "site" / "openfingym").mkdir(parents=True)
    (folder / "site" / "openfingym" / "version.py").write_text("")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_task, "task.toml: is part of a task"),
        (_run, "result.json: is part of a run"),
        (_series, "historical data"),
        (_library, "this library"),
        (lambda folder: (folder / "truth.json").write_text("{}"), "hidden half of a task"),
        (lambda folder: (folder / "bin" / "main").chmod(0o750), "chmod -R a\\+rX"),
        (lambda folder: (folder / "bin").chmod(0o700), "chmod -R a\\+rX"),
        (lambda folder: os.mkfifo(folder / "pipe"), "neither a file nor a folder"),
        (lambda folder: _at(folder / ".git" / "config", "url = https://sk-very-secret@example"), "MY_API_KEY"),
        (lambda folder: _at(folder / "__pycache__" / "truth.json", "{}"), "hidden half of a task"),
        (
            lambda folder: (folder / ".env").write_text("KEY=sk-very-secret\n"),
            r"\.env: holds the value of \$MY_API_KEY",
        ),
    ],
)
def test_what_may_not_be_shown(
    folder: Path, spoil: Callable[[Path], object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret")
    read_folder(folder)
    spoil(folder)
    with pytest.raises(UsageError, match=reason):
        read_folder(folder)


def test_a_run_is_told_by_both_of_its_files(folder: Path) -> None:
    (folder / "result.json").write_text("{}")
    read_folder(folder)


def test_short_values_are_no_secrets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "echo")
    read_folder(folder)


@pytest.mark.parametrize("where", ["store", "below the store", "above the store", "home", "above home", "runs", "/"])
def test_places_that_may_not_be_shown(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, held = tmp_path / "users" / "me", tmp_path / "held" / "store"
    for path in (home, held / "packages", tmp_path / "here" / "runs"):
        path.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OPENFINGYM_HOME", str(held))
    monkeypatch.chdir(tmp_path / "here")
    assert store.home() == held
    places = {
        "store": held, "below the store": held / "packages", "above the store": held.parent, "home": home,
        "above home": home.parent, "runs": tmp_path / "here", "/": Path("/"),
    }  # fmt: skip
    link = tmp_path / "a link"
    link.symlink_to(places[where])
    for path in (places[where], link):
        with pytest.raises(UsageError, match=r"apart|folder of its own"):
            read_folder(path)


def test_what_is_no_folder(folder: Path) -> None:
    for path in (folder / "bin" / "main", folder / "missing"):
        with pytest.raises(UsageError, match="give the folder"):
            read_folder(path)
