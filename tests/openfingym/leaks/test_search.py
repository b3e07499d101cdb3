"""Hidden values are found in any common encoding and after any common transformation; honest data are left alone."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from openfingym.leaks import LeakSearch, find_leak
from openfingym.leaks.arrays import search_array
from openfingym.leaks.runs import build_tables
from tests.sweeps import ALL, fixed_part, sweep

Floats = NDArray[np.float64]
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]}


def _npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _npz(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, noise=np.arange(50), answers=array)
    return buffer.getvalue()


def _zip(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.bin", content)
    return buffer.getvalue()


def _tar(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("inner.bin")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _csv(rows: Floats, pattern: str, index: bool = False) -> bytes:
    lines = [",".join(([str(i)] if index else []) + [pattern.format(v) for v in row]) for i, row in enumerate(rows)]
    return ("t,a,b,c\n" * index + "\n".join(lines)).encode()


def _rows(t: Floats) -> Floats:
    return t.reshape(-1, t.shape[2])


def _parquet(t: Floats) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    rows = _rows(t)
    table = {"id": np.arange(len(rows)), **{f"c{i}": rows[:, i] for i in range(rows.shape[1])}}
    parquet.write_table(pyarrow.table(table), buffer, compression="snappy")
    return buffer.getvalue()


def _arrow(t: Floats) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    buffer = io.BytesIO()
    table = pyarrow.table({"windows": [window.reshape(-1).tolist() for window in t]})
    with pyarrow.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _fields(t: Floats) -> bytes:
    rows = _rows(t)
    table = np.zeros(len(rows), dtype=[("i", "<i4"), ("a", "<f8"), ("b", "<f8")])
    table["i"], table["a"], table["b"] = np.arange(len(rows)), rows[:, 0], rows[:, 1]
    return _npy(table)


ENCODINGS: dict[str, Callable[[Floats], bytes]] = {
    "npy": _npy,
    "npy flattened": lambda t: _npy(t.reshape(-1)),
    "npy as rows": lambda t: _npy(_rows(t)),
    "npy float32": lambda t: _npy(t.astype(np.float32)),
    "npy big-endian": lambda t: _npy(t.astype(">f8")),
    "npy in Fortran order": lambda t: _npy(np.asfortranarray(t)),
    "npy rounded to 6": lambda t: _npy(np.round(t, 6)),
    "npy rounded to 4": lambda t: _npy(np.round(t, 4)),
    "npy channels first": lambda t: _npy(np.swapaxes(t, 1, 2)),
    "npy time first": lambda t: _npy(np.swapaxes(t, 0, 1)),
    "npy among other columns": lambda t: _npy(
        np.concatenate([np.ones((*t.shape[:2], 2)), t, np.zeros((*t.shape[:2], 1))], axis=2)
    ),
    "npy among other windows": lambda t: _npy(
        np.concatenate([np.random.default_rng(1).standard_normal((60, 5, 3)), t])
    ),
    "npy bits as integers": lambda t: _npy(t.view(np.int64)),
    "npy millionths as integers": lambda t: _npy(np.rint(t * 1e6).astype(np.int32)),
    "npy with fields": _fields,
    "npz": _npz,
    "raw little-endian": lambda t: b"junk" + t.tobytes(),
    "raw big-endian": lambda t: b"x" + t.astype(">f8").tobytes(),
    "raw float32": lambda t: t.astype("<f4").tobytes(),
    "raw float32 big-endian": lambda t: b"abc" + t.astype(">f4").tobytes(),
    "json": lambda t: json.dumps(t.tolist()).encode(),
    "json indented": lambda t: json.dumps(t.tolist(), indent=1).encode(),
    "csv, 6 significant digits": lambda t: _csv(_rows(t), "{:.6g}"),
    "csv, 6 decimals": lambda t: _csv(_rows(t), "{:.6f}"),
    "csv with an index": lambda t: _csv(_rows(t), "{:.10g}", index=True),
    "a column a channel's series": lambda t: " ".join(f"{v:.5g}" for v in np.swapaxes(t, 1, 2).reshape(-1)).encode(),
    "hex": lambda t: t.tobytes().hex().encode(),
    "HEX": lambda t: t.tobytes().hex().upper().encode(),
    "hex, odd start": lambda t: b"KEY=f" + t.tobytes().hex().encode(),
    "escapes": lambda t: b"DATA = b'" + "".join(f"\\x{byte:02x}" for byte in t.tobytes()).encode() + b"'",
    "base64": lambda t: base64.b64encode(b"ab" + t.tobytes()),
    "base64 in lines": lambda t: b"DATA = '''\n" + base64.encodebytes(t.tobytes()) + b"'''",
    "base64 url-safe, after a word": lambda t: b"/a/" + base64.urlsafe_b64encode(t.astype("<f4").tobytes()),
    "base64 of gzip of json": lambda t: (
        b"X = '" + base64.b64encode(gzip.compress(json.dumps(t.tolist()).encode())) + b"'"
    ),
    "gzip": lambda t: gzip.compress(t.tobytes()),
    "xz of csv": lambda t: lzma.compress(_csv(_rows(t), "{:.8g}")),
    "zlib of npy": lambda t: zlib.compress(_npy(t)),
    "bzip2 of json": lambda t: bz2.compress(json.dumps(t.tolist()).encode()),
    "zip of npy": lambda t: _zip(_npy(t)),
    "tar.gz of npy": lambda t: _tar(_npy(t)),
    "parquet": _parquet,
    "arrow file of lists": _arrow,
}


def _truth(seed: int) -> Floats:
    return 0.01 * np.random.default_rng(seed).standard_normal((40, 5, 3))


@pytest.fixture(scope="module")
def search() -> LeakSearch:
    return LeakSearch.of({"targets": _truth(7)}, public_bytes=1 << 14)


@pytest.mark.parametrize("encoding", sweep(ENCODINGS, 2))
def test_a_few_hidden_windows_are_found_in_any_common_encoding(
    encoding: str, search: LeakSearch, tmp_path: Path
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(ENCODINGS[encoding](_truth(7)[17:20]))
    found = next(search.leaks(tmp_path), None)
    assert found is not None
    assert "deep/file" in str(found)
    assert "cannot be searched" not in str(found)


@pytest.mark.parametrize("encoding", fixed_part(ENCODINGS, 3))
def test_other_values_of_the_same_kind_are_not_a_leak(encoding: str, search: LeakSearch, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(ENCODINGS[encoding](_truth(8)))
    # Encoded text may hide anything, and is reported as that.
    assert {leak.finding for leak in search.leaks(tmp_path)} <= {"text of unexplained entropy"}


def test_constant_targets_are_no_fingerprint(tmp_path: Path) -> None:
    np.save(tmp_path / "zeros.npy", np.zeros((50, 20, 3)))
    assert find_leak(tmp_path, {"targets": np.zeros((10, 5, 3))}) is None


TRANSFORMATIONS: dict[str, Callable[[Floats], Floats]] = {
    "standardised by channel": lambda t: (t - t.mean(axis=(0, 1))) / t.std(axis=(0, 1)),
    "standardised as a whole": lambda t: (t - t.mean()) / t.std(),
    "percent": lambda t: 100.0 * t,
    "negated": lambda t: -t,
    "shifted float32": lambda t: (3.0 + 0.25 * t).astype(np.float32).astype(np.float64),
    "standardised, 4 decimals": lambda t: np.round((t - t.mean()) / t.std(), 4),
    "cumulated": lambda t: np.cumsum(t, axis=1),
    "compounded": lambda t: 100.0 * np.exp(np.cumsum(t, axis=1)),
    "differenced": lambda t: np.diff(t, axis=1),
    "exponential": np.exp,
    "reversed in time": lambda t: t[:, ::-1].copy(),
    "reversed and scaled": lambda t: -7.0 * t[:, ::-1],
    "windows shuffled": lambda t: np.random.default_rng(0).permutation(t),
    "windows shuffled and standardised": lambda t: np.random.default_rng(0).permutation(
        (t - t.mean(axis=(0, 1))) / t.std(axis=(0, 1))
    ),
}


@pytest.fixture(scope="module")
def windows() -> tuple[Floats, LeakSearch]:
    truth = 0.01 * np.random.default_rng(9).standard_normal((60, 10, 3))
    return truth, LeakSearch.of({"targets": truth}, public_bytes=60_000)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_transformed_hidden_windows_are_found(
    transformation: str, windows: tuple[Floats, LeakSearch], tmp_path: Path
) -> None:
    truth, search = windows
    generator = np.random.default_rng(10)
    public = np.concatenate([generator.standard_normal((200, 10, 3)), np.zeros((1, 10, 3))])
    changed = TRANSFORMATIONS[transformation](truth)
    public = np.concatenate([public[:, : changed.shape[1]], changed])
    np.save(tmp_path / "features.npy", public)
    assert next(search.leaks(tmp_path), None) is not None
    np.save(tmp_path / "features.npy", public[:201])
    assert next(search.leaks(tmp_path), None) is None


@pytest.mark.parametrize("name", ["logarithm", "log returns", "levels"])
def test_prices_are_found_as_logarithms_and_returns(name: str, tmp_path: Path) -> None:
    prices = 100.0 * np.exp(np.cumsum(0.01 * np.random.default_rng(3).standard_normal((50, 12, 2)), axis=1))
    forms = {
        "logarithm": np.log(prices),
        "log returns": np.diff(np.log(prices), axis=1),
        "levels": prices / prices[:, :1],
    }
    np.save(tmp_path / "a.npy", forms[name])
    assert find_leak(tmp_path, {"targets": prices}) is not None


SHAPES = {
    "one value a row": (400,),
    "two axes": (180, 150),
    "one step, one channel": (300, 1, 1),
    "one step": (120, 1, 8),
    "two steps": (120, 2, 5),
    "many channels": (30, 4, 60),
    "long windows": (40, 100, 5),
    "four axes": (30, 4, 12, 2),
}


@pytest.mark.parametrize("name", fixed_part(SHAPES, 3))
def test_every_shape_of_hidden_array_is_searched_for(name: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    truth = generator.standard_normal(SHAPES[name])
    np.save(tmp_path / "a.npy", generator.standard_normal(SHAPES[name]))
    assert find_leak(tmp_path, {"real": truth}) is None
    np.save(tmp_path / "b.npy", truth[10:25])
    found = find_leak(tmp_path, {"other": generator.standard_normal((50, 3, 2)), "real": truth})
    assert found is not None
    assert "real" in str(found)


def test_rows_in_another_order_are_found(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    truth = generator.standard_normal(500)
    features = generator.standard_normal((500, 6))
    np.save(tmp_path / "a.npy", features)
    assert find_leak(tmp_path, {"targets": truth}) is None
    features[:, 4] = -np.sort(truth)
    np.save(tmp_path / "a.npy", features)
    found = find_leak(tmp_path, {"targets": truth})
    assert found is not None
    assert "another order" in str(found)


def test_a_container_that_cannot_be_opened_is_said_so(tmp_path: Path) -> None:
    content = json.dumps(list(range(100))).encode()
    for _ in range(8):
        content = gzip.compress(content)
    (tmp_path / "matryoshka.gz").write_bytes(content)
    found = find_leak(tmp_path, {"targets": np.random.default_rng(0).standard_normal((20, 5, 2))})
    assert found is not None
    assert "cannot be searched" in str(found)


def test_damaged_files_are_searched_as_far_as_they_go(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    truth = generator.standard_normal((40, 5, 3))
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "header.npy").write_bytes(b"\x93NUMPY\x01\x00\xff")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04" + generator.bytes(400))
    (tmp_path / "short.gz").write_bytes(gzip.compress(generator.bytes(4000))[:500])
    (tmp_path / "x.txt").write_bytes(b"x\x9c" + b" 1e999 nan " * 50)
    search = LeakSearch.of({"targets": truth}, public_bytes=1 << 14)
    assert next(search.leaks(tmp_path), None) is None
    (tmp_path / "short.gz").write_bytes(gzip.compress(truth.tobytes())[:-400])
    assert next(search.leaks(tmp_path), None) is not None


@settings(max_examples=10 if ALL else 5, **QUIET)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(20, 80), st.integers(1, 12), st.integers(1, 6)).filter(lambda s: s[1] * s[2] >= 6),
    first=st.integers(0, 1000),
    encoding=st.sampled_from(
        sorted(set(ENCODINGS) - {"npy with fields", "npy among other windows", "parquet", "arrow file of lists"})
    ),
)
def test_random_walks_planted_anywhere_are_found(
    seed: int, shape: tuple[int, int, int], first: int, encoding: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("walk")
    generator = np.random.default_rng(seed)
    truth = np.cumsum(generator.standard_normal(shape), axis=1)
    first %= shape[0] - 6
    train = np.cumsum(generator.standard_normal((300, *shape[1:])), axis=1)
    np.save(folder / "train.npy", train)
    search = LeakSearch.of({"targets": truth}, public_bytes=train.nbytes)
    assert next(search.leaks(folder), None) is None
    (folder / "planted").write_bytes(ENCODINGS[encoding](truth[first : first + 6]))
    assert next(search.leaks(folder), None) is not None


@settings(max_examples=12, **QUIET)
@given(
    seed=st.integers(0, 2**32 - 1),
    row=st.integers(0, 1899),
    channel=st.integers(0, 7),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-10.0, 10.0),
)
def test_an_affine_copy_is_found_at_any_place(seed: int, row: int, channel: int, scale: float, shift: float) -> None:
    generator = np.random.default_rng(seed)
    truth = 0.01 * generator.standard_normal((50, 20, 4))
    public = generator.standard_normal((2000, 8))
    tables = build_tables({"targets": truth}, public.size)
    assert not [*search_array(public, tables)]
    public[row : row + 20, channel] = shift + scale * truth[seed % 50, :, seed % 4]
    assert [*search_array(public, tables)]


def test_a_large_array_needs_little_memory(tmp_path: Path) -> None:
    """20 MB, searched block by block: far less than one copy of it is held."""
    generator = np.random.default_rng(1)
    values = 0.01 * generator.standard_normal((5_000, 100, 5))
    values[4_321, 40:50] = 3.0
    truth = 0.01 * generator.standard_normal((200, 10, 5))
    np.save(tmp_path / "a.npy", values)
    del values
    find_leak(tmp_path, {"targets": truth[:1]})  # what is imported on first use is no part of the search
    before, peak, done = _anonymous(), [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            peak[0] = max(peak[0], _anonymous())
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        search = LeakSearch.of({"targets": truth}, public_bytes=(tmp_path / "a.npy").stat().st_size)
        assert next(search.leaks(tmp_path), None) is None
    finally:
        done.set()
        watcher.join()
    assert peak[0] - before < 200_000_000
    stored = np.load(tmp_path / "a.npy", mmap_mode="r+")
    stored[4_321, 40:50] = truth[123]
    del stored
    assert next(search.leaks(tmp_path), None) is not None


def _anonymous() -> int:
    """Bytes of this process's own memory, mapped files left out."""
    status = Path("/proc/self/status")
    if not status.is_file():
        pytest.skip("needs /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])
