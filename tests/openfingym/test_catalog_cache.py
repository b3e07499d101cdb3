"""The rows of the catalogue that are kept: never out of date, and no error whatever becomes of their file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openfingym import catalog, catalog_cache
from openfingym.digests import sha256_of_json
from openfingym.packages.scaffold import new_task

LOADED = "import sys\nfrom openfingym.cli import cli\ncli(['tasks'], standalone_mode=False)\n"


@pytest.fixture
def read(own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks that are read, as it happens; a folder with one task, and a store of its own."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv(catalog.TASKS_VARIABLE, str(own_task.parent))
    monkeypatch.setattr(catalog, "builtin_root", lambda: empty)
    empty = tmp_path / "none"
    empty.mkdir()
    names: list[str] = []
    load = catalog.load_task

    def noted(name: str) -> object:
        names.append(name)
        return load(name)

    monkeypatch.setattr(catalog, "load_task", noted)
    return names


def test_a_known_row_is_not_read_again_and_is_the_same(read: list[str]) -> None:
    first = catalog.survey()
    assert read == ["my-task"]
    assert catalog.survey() == first
    assert read == ["my-task"]


def test_whoever_lists_tasks_a_second_time_loads_neither_models_nor_arrays(tmp_path: Path) -> None:
    script = LOADED + "print(sorted({'pydantic', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    environment = {**os.environ, "OPENFINGYM_HOME": str(tmp_path)}
    seen = [
        subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [one.stderr.strip() for one in seen] == ["['numpy', 'pydantic']", "[]"]
    assert seen[0].stdout == seen[1].stdout


def keep_times(path: Path, change: Callable[[str], str]) -> None:
    """Change a file's content, and set its time back."""
    before, text = path.stat(), path.read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_edit_of_the_same_size_and_time_is_seen(own_task: Path, read: list[str]) -> None:
    assert catalog.survey()[0][0].version == "0.1.0"
    keep_times(own_task / "task.toml", lambda text: text.replace('"0.1.0"', '"0.1.7"'))
    assert catalog.survey()[0][0].version == "0.1.7"
    assert len(read) == 2


def test_an_edit_of_the_data_is_seen(own_task: Path, read: list[str]) -> None:
    data = next(own_task.glob("*.csv"))
    catalog.survey()
    keep_times(data, lambda text: text.replace("1", "2"))
    catalog.survey()
    assert len(read) == 2


def test_a_task_that_breaks_later_is_named(own_task: Path, read: list[str]) -> None:
    assert not catalog.survey()[1]
    (own_task / "instruction.md").unlink()
    found, faults = catalog.survey()
    assert not found
    assert "instruction.md" in str(faults["my-task"])
    assert read == ["my-task"] * 2


def test_another_version_of_the_library_reads_anew(read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.survey()
    monkeypatch.setattr(catalog_cache, "__version__", "9.9")
    catalog.survey()
    assert len(read) == 2


def test_rows_of_tasks_that_are_gone_are_let_go(own_task: Path, read: list[str], tmp_path: Path) -> None:
    file = tmp_path / "home" / catalog_cache.FILE
    other = new_task("other-task", own_task.parent)
    catalog.survey()
    assert len(json.loads(file.read_text())["rows"]) == 2
    shutil.rmtree(other)
    catalog.survey()
    assert len(json.loads(file.read_text())["rows"]) == 1


def edited(path: Path) -> None:
    content = json.loads(path.read_text())
    next(iter(content["rows"].values()))["kind"] = "trading"
    path.write_text(json.dumps(content))


def of_another_form(path: Path) -> None:
    rows = ["a list"]
    path.write_text(json.dumps({"rows": rows, "sha256": sha256_of_json(rows)}))


def in_its_place(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


DAMAGES = {
    "edited": edited,
    "of another form": of_another_form,
    "half": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(bytes(range(256))),
    "deep": lambda path: path.write_text("[" * 100_000),
    "a pipe": in_its_place(os.mkfifo),
    "a folder": in_its_place(Path.mkdir),
    "a link to nowhere": in_its_place(lambda path: path.symlink_to("/nowhere")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_costs_time_alone(damage: str, read: list[str], tmp_path: Path) -> None:
    expected = catalog.survey()
    DAMAGES[damage](tmp_path / "home" / catalog_cache.FILE)
    assert catalog.survey() == expected
    assert len(read) == 2


@pytest.mark.parametrize("home", ["/proc/x", "/dev/null", "/dev/null/x"])
def test_a_store_that_cannot_be_written_is_no_error(
    home: str, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", home)
    assert [row.name for row in catalog.survey()[0]] == ["my-task"]
    assert read == ["my-task"]
