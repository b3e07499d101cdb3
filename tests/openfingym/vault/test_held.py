"""A vault in memory answers as the one on the disk does, and leaves nothing there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

from openfingym import store
from openfingym.errors import StoreError, UsageError
from openfingym.vault import Source, TableSpec, Vault, VaultWriter
from openfingym.vault.held import held, opened

from .worlds import START

SPEC = TableSpec(name="docs", columns={"number": "INTEGER", "outlet": "VARCHAR", "body": "VARCHAR"}, text=("body",))
NOW = START + timedelta(hours=2)


def written(folder: Path) -> Vault:
    rows = pd.DataFrame(
        {
            "number": [1, 2, 3],
            "outlet": ["wire", "post", "wire"],
            "body": ["talks of trade", "trade and more trade", "secretword of tomorrow"],
            "known_at": [START, START + timedelta(hours=1), START + timedelta(days=1)],
        }
    )
    with VaultWriter(folder, name="docs", title="Documents", sources=[Source(name="me", licence="none")]) as writer:
        writer.add(SPEC, [rows])
        return writer.finish()


def test_it_answers_as_the_one_on_the_disk(tmp_path: Path) -> None:
    on_disk, in_memory = written(tmp_path / "docs"), opened(held(written))
    assert in_memory.digest == on_disk.digest
    for vault in (in_memory, in_memory.looking_ahead()):
        there = on_disk.looking_ahead() if vault is not in_memory else on_disk
        one, other = vault.as_of(NOW), there.as_of(NOW)
        assert one.rows("docs", {"outlet": "wire"}) == other.rows("docs", {"outlet": "wire"})
        assert one.search("docs", "trade") == other.search("docs", "trade")
        assert one.holding("docs", ["secretword"]) == other.holding("docs", ["secretword"])
    assert in_memory.as_of(NOW).holding("docs", ["secretword"]) == []
    with pytest.raises(UsageError, match="in memory alone"):
        in_memory.as_of(NOW).sql("SELECT 1 FROM docs")


def test_nothing_of_it_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    modes = []

    def writing(folder: Path) -> Vault:
        modes.append(folder.parent.stat().st_mode & 0o777)
        return written(folder)

    files = held(writing)
    assert modes == [store.TRUTH_FOLDER]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    # Still there for whoever has the arrays.
    assert len(opened(files).as_of(NOW).rows("docs")) == 2


def test_damaged_files_are_refused() -> None:
    files = held(written)
    with pytest.raises(StoreError, match="held in memory"):
        opened({**files, "docs.columns": files["docs.columns"][:-9]}).table("docs")
