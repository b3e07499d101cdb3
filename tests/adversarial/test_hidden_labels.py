"""Hidden labels written into the public half of real tasks in every way that was thought of: each is found, or not
accepted.

Each way once gave away what was written: one row in the instruction, or the whole private fold in the interface, be it
reordered, in logarithms, differenced, cumulated, in another unit, in base32 or base85, spaced, reversed, in words,
invisible or XORed; a fold also as ranks or signs. `test_dates.py` of the leak search has dates and headers of arrays.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.leaks import LeakSearch
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from tests.sweeps import fixed_part, sweep

Floats = NDArray[np.float64]
ROW = 24
"""A row of the private fold, of twenty windows: five days of six yields, quoted to two decimals."""


@pytest.fixture(scope="module")
def search(few_windows: BuiltPackage) -> LeakSearch:
    manifest = few_windows.manifest
    # As a check of the task does, which takes what windows show for what is asked for in windows before.
    return LeakSearch.of(
        {"targets": few_windows.read_truth()["targets"]},
        folds=(manifest.n_public, manifest.n_private),
        channels=manifest.labels,
        public_bytes=3 << 20,
    )


@pytest.fixture(scope="module")
def targets(few_windows: BuiltPackage) -> Floats:
    found: Floats = few_windows.read_truth()["targets"]
    return found


def _text(values: Floats, pattern: str = "{:.6g}", between: str = " ") -> str:
    return between.join(pattern.format(value) for value in np.ravel(values))


def _bytes(values: Floats, dtype: str = "<f4") -> bytes:
    return np.ascontiguousarray(values).astype(dtype).tobytes()


def _b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _xor(content: bytes, key: int) -> bytes:
    return bytes(byte ^ key for byte in content)


def _uu(content: bytes) -> str:
    return (
        "begin 644 x\n"
        + "".join(binascii.b2a_uu(content[i : i + 45]).decode() for i in range(0, len(content), 45))
        + "end"
    )


def _zero_width(content: bytes) -> str:
    return "".join("\u200b\u200c"[int(bit)] for byte in content for bit in f"{byte:08b}")


NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "point", "minus")
WORDS = dict(zip("0123456789.-", NAMES, strict=True))


def _words(values: Floats) -> str:
    return ", ".join(" ".join(WORDS[character] for character in f"{value:.2f}") for value in values.ravel())


def _among(values: Floats, others: int) -> str:
    noise = np.random.default_rng(1).standard_normal((values.size, others))
    return _text(np.column_stack([values.ravel(), noise]))


def _signs(values: Floats, marks: str) -> str:
    return "".join(marks[int(step > 0) - int(step < 0)] for step in np.diff(values, axis=-2).ravel())


def _shuffled(values: Floats) -> Floats:
    return np.random.default_rng(0).permutation(values.ravel())


READINGS: dict[str, Callable[[Floats], str]] = {
    "as they are": _text,
    "reordered": lambda t: _text(_shuffled(t)),
    "sorted": lambda t: _text(np.sort(t.ravel())),
    "negated and reordered": lambda t: _text(-_shuffled(t)),
    "backwards": lambda t: _text(t.ravel()[::-1]),
    "channel after channel": lambda t: _text(np.swapaxes(t, -1, -2)),
    "in columns": lambda t: "\n".join(f"{i};{_text(row, between=';')}" for i, row in enumerate(t.reshape(-1, 6))),
    "logarithms": lambda t: _text(np.log(t)),
    "logarithms, reordered": lambda t: _text(np.log(_shuffled(t))),
    "square roots": lambda t: _text(np.sqrt(t)),
    "reciprocals": lambda t: _text(1.0 / t),
    "exponentials": lambda t: _text(np.exp(t)),
    "differences in time": lambda t: _text(np.diff(t, axis=-2)),
    "differences along the row": lambda t: _text(np.diff(t.ravel())),
    "log returns": lambda t: _text(np.diff(np.log(t), axis=-2)),
    "sums in time": lambda t: _text(np.cumsum(t, axis=-2)),
    "sums along the row": lambda t: _text(
        np.cumsum(t.ravel()) if t.ndim == 2 else np.cumsum(t.reshape(len(t), -1), axis=1)
    ),
    "a price path": lambda t: _text(100.0 * np.exp(np.cumsum(t / 100.0, axis=-2)), "{:.8g}"),
    "basis points": lambda t: _text(np.rint(100.0 * t), "{:.0f}"),
    "standard scores": lambda t: _text((t - t.mean()) / t.std(), "{:.4f}"),
    "another unit and level": lambda t: _text(3.0 + 0.37 * t),
    "float16, in text": lambda t: _text(t.astype(np.float16), "{:.4g}"),
    "decimal commas": lambda t: _text(t).replace(".", ","),
    "among others, one in two": lambda t: _among(t, 1),
    "among others, one in three": lambda t: _among(t, 2),
    "with words between": lambda t: ", ".join(f"day {i // 6 + 1} is {value:.2f}" for i, value in enumerate(t.ravel())),
    "number words": _words,
    "digits of full width": lambda t: _text(t).translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    "integers that are their bits": lambda t: str(np.ascontiguousarray(t).view(np.int64).ravel().tolist()),
    "a list of bytes": lambda t: str(list(_bytes(t))),
    "backwards, character by character": lambda t: _text(t)[::-1],
}
"""What is made of hidden values, in characters that stand for numbers."""

ENCODINGS: dict[str, Callable[[Floats], str]] = {
    "hex": lambda t: _bytes(t).hex(),
    "hex, spaced": lambda t: _bytes(t).hex(" "),
    "percent signs": lambda t: "".join(f"%{byte:02x}" for byte in _text(t).encode()),
    "quoted-printable": lambda t: "".join(f"={byte:02X}" for byte in _text(t).encode()),
    "entities": lambda t: "".join(f"&#{byte};" for byte in _text(t).encode()),
    "escapes": lambda t: "".join(f"\\x{byte:02x}" for byte in _text(t).encode()),
    "base64": lambda t: _b64(_bytes(t)),
    "base64 of float16": lambda t: _b64(_bytes(t, "<f2")),
    "base64 of big-endian doubles": lambda t: _b64(_bytes(t, ">f8")),
    "base64, spaced": lambda t: " ".join(re.findall(".{1,4}", _b64(_bytes(t)))),
    "base64 backwards": lambda t: _b64(_bytes(t))[::-1],
    "base64 of gzip": lambda t: _b64(gzip.compress(_text(t).encode())),
    "base32": lambda t: base64.b32encode(_bytes(t)).decode(),
    "base85": lambda t: base64.b85encode(_bytes(t)).decode(),
    "ascii85": lambda t: base64.a85encode(_bytes(t)).decode(),
    "uuencode": lambda t: _uu(_bytes(t)),
    "bits": lambda t: " ".join(f"{byte:08b}" for byte in _bytes(t)),
    "zero-width characters": lambda t: f"x{_zero_width(_bytes(t))}y",
    "zero-width characters, of text": lambda t: f"x{_zero_width(_text(t).encode())}y",
    "doubles XORed with a byte": lambda t: _b64(_xor(_bytes(t, "<f8"), 0x5A)),
    "text XORed with a byte": lambda t: _b64(_xor(_text(t).encode(), 0xC7)),
    "text XORed with a byte, in hex": lambda t: _xor(_text(t).encode(), 0x33).hex(),
}
"""What they are encoded in."""

ONLY_FOLDS: dict[str, Callable[[Floats], str]] = {
    "ranks": lambda t: _text(t.ravel().argsort(kind="stable").argsort(), "{:.0f}"),
    "signs": lambda t: _signs(t, "0+-"),
    "signs, in words": lambda t: (
        " ".join(_signs(t, "0+-")).replace("+", "up").replace("-", "down").replace("0", "flat")
    ),
}
"""What one row of values quoted so coarsely tells too little of."""


def _planted(folder: Path, name: str, text: str, package: BuiltPackage) -> Path:
    """A public half that is honest but for one file."""
    for path in (package.instruction, package.interface):
        shutil.copy(path, folder / path.name)
    path = folder / name
    path.chmod(0o644)
    before = path.read_text(encoding="utf-8")
    path.write_text(
        f"{before}\n# {text}\n" if name.endswith(".py") else f"{before}\nNote: {text}\n\nGood luck.\n", encoding="utf-8"
    )
    return folder


@pytest.mark.parametrize(
    ("reading", "part", "name"),
    # Each reading is tried on a row or on a fold.
    [(reading, "row", "instruction.md") for reading in fixed_part(READINGS, 2)]
    + [(reading, "fold", "interface.py") for reading in fixed_part(READINGS, 2, first=1)],
)
def test_hidden_values_are_found_whatever_is_made_of_them(
    reading: str, part: str, name: str, search: LeakSearch, targets: Floats, few_windows: BuiltPackage, tmp_path: Path
) -> None:
    values = targets[ROW] if part == "row" else targets[few_windows.manifest.n_public :]
    folder = _planted(tmp_path, name, READINGS[reading](values), few_windows)
    found = next(search.leaks(folder), None)
    assert found is not None
    assert found.file == name
    assert "targets" in found.finding
    assert found.found.row is not None


@pytest.mark.parametrize("encoding", sweep(ENCODINGS, 2))
def test_a_hidden_row_is_found_whatever_it_is_encoded_in(
    encoding: str, search: LeakSearch, targets: Floats, few_windows: BuiltPackage, tmp_path: Path
) -> None:
    folder = _planted(tmp_path, "instruction.md", ENCODINGS[encoding](targets[ROW]), few_windows)
    found = next(search.leaks(folder), None)
    assert found is not None
    assert "targets" in found.finding, found


@pytest.mark.parametrize(
    "encoding",
    [
        "percent signs",
        "base64 of float16",
        "base64 of gzip",
        "base85",
        "zero-width characters",
        "text XORed with a byte",
    ],
)
def test_a_hidden_fold_is_found_or_reported_as_text_that_may_hide_anything(
    encoding: str, search: LeakSearch, targets: Floats, few_windows: BuiltPackage, tmp_path: Path
) -> None:
    folder = _planted(
        tmp_path, "interface.py", ENCODINGS[encoding](targets[few_windows.manifest.n_public :]), few_windows
    )
    assert next(search.leaks(folder), None) is not None


@pytest.mark.parametrize("reading", ONLY_FOLDS)
def test_what_says_little_of_a_row_is_found_for_a_fold(
    reading: str, search: LeakSearch, targets: Floats, few_windows: BuiltPackage, tmp_path: Path
) -> None:
    folder = _planted(
        tmp_path, "instruction.md", ONLY_FOLDS[reading](targets[few_windows.manifest.n_public :]), few_windows
    )
    found = next(search.leaks(folder), None)
    assert found is not None
    assert "targets" in found.finding, found


@pytest.mark.parametrize("reading", ["reordered", "logarithms", "sums along the row"])
def test_most_rows_are_found_and_not_the_one_alone(
    reading: str, search: LeakSearch, targets: Floats, few_windows: BuiltPackage, tmp_path: Path
) -> None:
    """A row of a quiet week of yields in steps of a basis point tells hardly 30 bits in another order."""
    first, met = few_windows.manifest.n_public, 0
    for row in range(first, first + few_windows.manifest.n_private):
        folder = tmp_path / str(row)
        folder.mkdir()
        (folder / "notes.md").write_text(f"Note: {READINGS[reading](targets[row])}\n")
        met += any(search.leaks(folder))
    assert met >= 14


def _npz(values: Floats) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, noise=np.arange(50), extra=values)
    return buffer.getvalue()


def _parquet(values: Floats) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({"extra": values.ravel()}), buffer)
    return buffer.getvalue()


def _csv(values: Floats) -> bytes:
    return ("i,extra\n" + "\n".join(f"{i},{value:.8g}" for i, value in enumerate(values.ravel()))).encode()


FILES: dict[str, Callable[[Floats], bytes]] = {
    "csv": _csv,
    "json": lambda t: json.dumps({"extra": t.ravel().tolist()}).encode(),
    "npz": _npz,
    "parquet": _parquet,
    "bin": lambda t: b"junk" + _xor(np.ascontiguousarray(t).tobytes(), 0xA5),
}
VALUES: dict[str, Callable[[Floats], Floats]] = {
    "reordered": _shuffled,
    "logarithms": np.log,
    "differences": lambda t: np.diff(t.ravel()),
    "sums": lambda t: np.cumsum(t, axis=-2),
    "exponentials": np.exp,
}


@pytest.mark.parametrize(
    ("ending", "values"),
    [*zip(FILES, VALUES, strict=True), ("npz", "reordered"), ("csv", "sums"), ("parquet", "logarithms")],
)
def test_a_hidden_row_is_found_in_any_kind_of_data_file(
    ending: str, values: str, search: LeakSearch, targets: Floats, tmp_path: Path
) -> None:
    (tmp_path / f"extra.{ending}").write_bytes(FILES[ending](VALUES[values](targets[ROW])))
    found = next(search.leaks(tmp_path), None)
    assert found is not None
    assert "targets" in found.finding


def test_a_message_names_file_row_and_channel(search: LeakSearch, targets: Floats, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(f"Note: {_text(np.log(targets[20:, :, 4]))}\n")
    messages = [str(leak) for leak in search.leaks(tmp_path)]
    assert messages
    assert all(message.startswith("notes.md: ") for message in messages)
    assert any("channel 4 (3y)" in message and "hidden row" in message for message in messages), messages


# ---- labels of two classes: an order of 0 and 1, of which each tells less than a bit


@pytest.fixture(scope="module")
def fraud() -> tuple[LeakSearch, NDArray[np.uint8]]:
    package = build(load_task("amazon-fraud"))
    truth = package.read_truth()
    return LeakSearch.of(truth, ids=package.array("test_nodes"), public_bytes=8 << 20), truth["labels"].astype(np.uint8)


LABELS: dict[str, Callable[[NDArray[np.uint8]], str]] = {
    "digits": lambda t: "".join(map(str, t)),
    "digits in a list": lambda t: str(t.tolist()),
    "inverted": lambda t: "".join(map(str, 1 - t)),
    "letters": lambda t: "".join("nf"[label] for label in t),
    "words": lambda t: " ".join(("legal", "fraud")[label] for label in t),
    "marks, spaced": lambda t: " ".join("-+"[label] for label in t),
    "hex of bits": lambda t: np.packbits(t).tobytes().hex(),
    "base64 of bits": lambda t: _b64(np.packbits(t).tobytes()),
    "base32 of bits": lambda t: base64.b32encode(np.packbits(t).tobytes()).decode(),
    "base85 of bits, from the right": lambda t: base64.b85encode(np.packbits(t, bitorder="little").tobytes()).decode(),
    "base64 of bytes XORed": lambda t: _b64(_xor(t.tobytes(), 0x5A)),
    "zero-width characters": lambda t: "x" + "".join("\u200b\u200c"[label] for label in t) + "y",
}


@pytest.mark.parametrize("encoding", fixed_part(LABELS, 2))
def test_hidden_labels_are_found_in_text(
    encoding: str, fraud: tuple[LeakSearch, NDArray[np.uint8]], tmp_path: Path
) -> None:
    search, labels = fraud
    (tmp_path / "instruction.md").write_text(
        f"# Task\n\nNote: {LABELS[encoding](labels[len(labels) // 2 :])}\n", encoding="utf-8"
    )
    found = next(search.leaks(tmp_path), None)
    assert found is not None
    assert "labels of hidden rows" in found.finding or "labels in order" in found.finding, found


def test_from_how_many_labels_on_they_are_found(fraud: tuple[LeakSearch, NDArray[np.uint8]], tmp_path: Path) -> None:
    """An eighth of the labels in order holds one of the stretches that are looked for; eighty bits are the least that
    counts."""
    search, labels = fraud
    (tmp_path / "notes.md").write_text("Note: " + "".join(map(str, labels[: len(labels) // 7])))
    assert any("labels" in leak.finding for leak in search.leaks(tmp_path))
    (tmp_path / "notes.md").write_text("Note: " + "".join(map(str, labels[:60])))
    assert not any(search.leaks(tmp_path))
