"""A snapshot is written whole or not at all, is what its digest says, and says what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from openfingym.errors import DataError, StoreError, UsageError
from openfingym.vault import Source, TableSpec, Vault, VaultWriter

from .worlds import START, frames, world

SPEC = TableSpec(name="prices", columns={"asset": "VARCHAR", "price": "DOUBLE"}, key=("asset",))
ROWS = pd.DataFrame({"asset": ["a", "b"], "price": [1.0, 2.0], "known_at": ["2024-01-01", "2024-01-02T00:00:00-05:00"]})
BUILD = """
import sys, pandas as pd
from pathlib import Path
from openfingym.errors import OpenFinGymError
from openfingym.vault import TableSpec, VaultWriter
spec = TableSpec(name="prices", columns={"asset": "VARCHAR", "price": "DOUBLE"}, text=("asset",))
count = int(sys.argv[2])
rows = pd.DataFrame({"asset": [f"asset {n} " + "x" * 50 for n in range(count)], "price": 1.0, "known_at": "2024-01-01"})
try:
    with VaultWriter(Path(sys.argv[1]), name="prices", title="Prices", sources=[]) as writer:
        for number in range(100):
            writer.add(TableSpec(name=f"prices{number}", columns=spec.columns, text=spec.text), rows)
            print("added", flush=True)
        writer.finish()
except OpenFinGymError as error:
    print(type(error).__name__, error)
"""


def writer(folder: Path) -> VaultWriter:
    return VaultWriter(folder, name="prices", title="Prices", sources=[Source(name="me", licence="none")])


def written(folder: Path, rows: Any = ROWS, spec: TableSpec = SPEC) -> Vault:
    with writer(folder) as opened:
        opened.add(spec, rows)
        return opened.finish()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_equal_rows_have_equal_digests_however_they_come(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS.to_csv(index=False))
    other = ROWS.iloc[::-1].assign(known_at=pd.to_datetime(ROWS.known_at, format="ISO8601", utc=True))
    forms = [ROWS, [ROWS.iloc[:1], ROWS.iloc[1:]], other, tmp_path / "rows.csv", [tmp_path / "rows.csv"]]
    vaults = [written(tmp_path / f"v{number}", form) for number, form in enumerate(forms)]
    vaults.append(written(tmp_path / "v", vaults[0].folder / "prices.parquet"))
    assert len({vault.digest for vault in vaults}) == 1
    assert all(vault.verify() == [] for vault in vaults)
    assert written(tmp_path / "w", ROWS.assign(price=[1.0, 2.5])).digest != vaults[0].digest
    assert vaults[0].as_of("2024-01-02T04:59:59Z").count("prices") == 1


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    vault = written(tmp_path / "v", ROWS.iloc[:0])
    view = vault.as_of(START)
    assert (view.rows("prices"), view.count("prices", {"asset": "a"}), view.counts("prices", "asset")) == ([], 0, {})
    assert (view.latest("prices", asset="a"), view.current("prices"), vault.verify()) == (None, [], [])


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    spec = TableSpec(
        name="all",
        columns={"t": "VARCHAR", "l": "VARCHAR[]", "b": "BOOLEAN", "i": "INTEGER", "g": "BIGINT", "d": "DOUBLE",
                 "y": "DATE", "s": "TIMESTAMP"},
    )  # fmt: skip
    rows = [
        {"t": "", "l": [""], "b": False, "i": -(2**31), "g": 2**63 - 1, "d": 5e-324, "y": pd.Timestamp("0001-01-01"),
         "s": datetime(1677, 10, 1, 2, 3, 4, 567891, UTC)},
        {"t": "é\0'\"\n", "l": ["a", "a", "é,[]'"], "b": True, "i": 2**31 - 1, "g": -(2**63) + 1, "d": -1.7e308,
         "y": pd.Timestamp("2262-01-01"), "s": datetime(2100, 1, 1, tzinfo=UTC)},
        dict.fromkeys("tlbigdys"),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, dtype=object).assign(known_at=START)
    found = written(tmp_path / "v", frame, spec).as_of(START).rows("all", columns=list("tlbigdys"))
    rows[2]["l"] = []
    assert found == [{**row, "y": row["y"] and row["y"].date()} for row in rows]


def test_nothing_is_left_of_a_snapshot_that_was_not_finished(tmp_path: Path) -> None:
    with pytest.raises(DataError), writer(tmp_path / "v") as opened:
        opened.add(SPEC, [ROWS, ROWS.drop(columns="price")])
    forgotten = writer(tmp_path / "v").__enter__()
    forgotten.add(SPEC, ROWS)
    with pytest.raises(UsageError, match="was not finished"):
        forgotten.__exit__(None, None, None)
    assert names(tmp_path) == []


def test_a_snapshot_never_changes(tmp_path: Path) -> None:
    written(tmp_path / "v")
    with pytest.raises(UsageError, match="exists already; a snapshot never changes"):
        writer(tmp_path / "v")


def test_a_killed_writer_leaves_nothing_that_the_next_does_not_remove(tmp_path: Path) -> None:
    target = tmp_path / "v"
    process = subprocess.Popen([sys.executable, "-c", BUILD, str(target), "100"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "added\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert names(tmp_path) == [".v.partial", ".v.partial.lock"]
    with pytest.raises(StoreError, match="is no folder"):
        Vault.open(target)
    assert written(tmp_path / "w").verify() == []
    assert names(tmp_path) == ["w"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.parametrize("rows", ["1000", "20000"])
def test_a_full_disk_leaves_nothing_and_is_said(tmp_path: Path, rows: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(tmp_path)], check=True)
    try:
        program = [sys.executable, "-c", BUILD, str(tmp_path / "v"), rows]
        said = subprocess.run(program, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        assert said.startswith("StoreError ")
        assert "No space left on device" in said
        assert "free some space" in said
        assert names(tmp_path) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


WRONG_ROWS: list[tuple[pd.DataFrame, str]] = [
    (ROWS.drop(columns="price"), "table prices: the rows lack price; they need asset, price, known_at"),
    (ROWS.assign(more=1, known=2), "the rows have known, more, which is unknown"),
    (ROWS.assign(known_at=["2024-01-01", None]), "1 of 2 rows have no known_at"),
    (ROWS.assign(known_at="infinity"), "2 of 2 rows have no known_at"),
    (ROWS.assign(known_at="soon"), "table prices: .*soon"),
    (ROWS.assign(price="much"), "table prices: .*much"),
]


@pytest.mark.parametrize(("rows", "said"), WRONG_ROWS, ids=[said for _, said in WRONG_ROWS])
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, rows: pd.DataFrame, said: str) -> None:
    with pytest.raises(DataError, match=said):
        written(tmp_path / "v", rows)
    assert names(tmp_path) == []


WRONG_SPECS: list[tuple[dict[str, Any], str]] = [
    ({"name": "Prices"}, "'Prices' is no name"),
    ({"columns": {"a; DROP": "VARCHAR"}}, "is no name of a table or column"),
    ({"columns": {}}, "has no columns"),
    ({"columns": {"known_at": "TIMESTAMP"}}, "known_at is added to every table"),
    ({"columns": {"a": "JSON"}}, "type 'JSON' is none of VARCHAR"),
    ({"key": ("b",)}, "table t has no column 'b'; it has a, d"),
    ({"key": ("d",)}, "column d is DOUBLE; a key is of"),
    ({"about": "a"}, "is DATE or TIMESTAMP"),
    ({"text": ("d",)}, "it is VARCHAR and not in the key"),
    ({"text": ("a",), "key": ("a",)}, "it is VARCHAR and not in the key"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG_SPECS, ids=[said for _, said in WRONG_SPECS])
def test_a_spec_that_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        TableSpec(**{"name": "t", "columns": {"a": "VARCHAR", "d": "DOUBLE"}, **wrong})


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("file", ["events.parquet", "events.columns", "documents.search"])
@pytest.mark.parametrize("harm", [cut, flip, Path.unlink], ids=["cut", "flip", "missing"])
def test_verify_names_what_is_damaged(tmp_path: Path, file: str, harm: Callable[[Path], None]) -> None:
    vault = world(tmp_path / "v", rows=20)
    harm(vault.folder / file)
    (wrong,) = Vault.open(vault.folder).verify()
    assert wrong.startswith(f"{file}: {'missing' if harm is Path.unlink else 'damaged'}")


@pytest.mark.parametrize("harm", [cut, Path.unlink], ids=["cut", "missing"])
@pytest.mark.parametrize("file", ["events.parquet", "events.columns", "documents.search"])
def test_a_file_that_cannot_be_read_is_an_error_of_ours(
    tmp_path: Path, file: str, harm: Callable[[Path], None]
) -> None:
    folder = world(tmp_path / "v", rows=20).folder
    harm(folder / file)
    view = Vault.open(folder).as_of(START)
    read: dict[str, Callable[[], object]] = {
        ".search": lambda: view.search("documents", "vote"),
        ".columns": lambda: view.count("events"),
        ".parquet": lambda: view.sql("SELECT * FROM events"),
    }
    with pytest.raises(StoreError):
        read[Path(file).suffix]()


def changed(folder: Path, **values: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_manifest_that_is_not_what_was_written_is_refused(tmp_path: Path) -> None:
    whole = world(tmp_path / "v", rows=20).folder

    def refused(said: str, harm: Callable[[Path], None]) -> None:
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        harm(folder)
        with pytest.raises(StoreError, match=said):
            Vault.open(folder)

    refused(
        "in format 2 by a newer version; this one reads 1: update", lambda folder: changed(folder, format=2, new={})
    )
    refused("not what its digest", lambda folder: changed(folder, simulated=False))
    refused("damaged or not readable", lambda folder: changed(folder, tables=3))
    refused("damaged or not readable", lambda folder: cut(folder / "manifest.json"))
    refused("damaged or not readable", lambda folder: (folder / "manifest.json").write_text("[]") and None)
    refused("is no snapshot of a vault", lambda folder: (folder / "manifest.json").unlink())


def test_the_store_keeps_snapshots_by_name_and_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))

    def kept(price: float) -> Vault:
        with VaultWriter(name="prices", title="Prices", sources=[]) as opened:
            opened.add(SPEC, ROWS.assign(price=price))
            return opened.finish()

    first, again, second = kept(1.0), kept(1.0), kept(2.0)
    assert first.folder == again.folder == tmp_path / "vaults" / "prices" / first.digest[:12]
    os.utime(second.folder / "manifest.json", (2e9, 2e9))
    assert Vault.open("prices").digest == second.digest
    assert (
        Vault.open(f"prices@{first.digest[:6]}").digest == Vault.open(f"prices@{first.digest}").digest == first.digest
    )
    assert names(tmp_path / ".staging") == []
    with pytest.raises(UsageError, match=f"there are bundled, prices@{second.digest[:12]}, prices@{first.digest[:12]}"):
        Vault.open("price")


def test_one_name_one_table(tmp_path: Path) -> None:
    with writer(tmp_path / "v") as opened:
        opened.add(SPEC, ROWS)
        with pytest.raises(UsageError, match="a table prices already"):
            opened.add(SPEC, ROWS)
        opened.finish()
    with pytest.raises(UsageError, match="no name of a vault"):
        VaultWriter(tmp_path / "w", name="../x", title="", sources=[])


def test_rows_known_at_one_time_keep_their_order(tmp_path: Path) -> None:
    rows = frames(3)["documents"].assign(known_at=START)
    spec = TableSpec(name="docs", columns={"number": "BIGINT"})
    found = written(tmp_path / "v", rows[["number", "known_at"]].sample(frac=1, random_state=1), spec).as_of(START)
    shuffled = rows.number.sample(frac=1, random_state=1).tolist()
    assert [row["number"] for row in found.rows("docs")] == shuffled
