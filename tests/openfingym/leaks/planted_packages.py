"""Fifteen more ways to tell values, in files of any kind: written without a look at how the search works, and tried on
it as it stood.

They are apart from :mod:`tests.openfingym.leaks.planted_kinds`, whose kept half is no longer unknown. Of what the
search found at the first try, docs/tasks.md tells; whoever changes the search since then knows these kinds too.
"""

from __future__ import annotations

import io
import json
import struct
import uuid
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Planter = Callable[[Path, Floats], None]
"""Puts a file, or a change of one, into a folder of public files; the values are those of a fold or a part of it."""

_WORDS = [
    "market",
    "curve",
    "yield",
    "note",
    "bond",
    "swap",
    "desk",
    "quote",
    "trade",
    "level",
    "range",
    "week",
    "month",
    "price",
    "spread",
    "carry",
    "roll",
    "index",
    "auction",
    "dealer",
    "tenor",
    "basis",
    "point",
    "repo",
    "bill",
    "coupon",
    "rate",
    "hedge",
    "fund",
    "book",
    "limit",
    "order",
    "flow",
    "risk",
    "model",
    "loss",
]


def _random() -> np.random.Generator:
    return np.random.default_rng(11)


def _levels(values: Floats, count: int) -> NDArray[np.int64]:
    """Values on a scale of so many steps between the least and the largest."""
    flat = values.ravel()
    return np.rint((flat - flat.min()) / np.ptp(flat) * (count - 1)).astype(np.int64)


def _order(values: Floats) -> NDArray[np.int64]:
    return np.argsort(values.ravel(), kind="stable")


def _word(rng: np.random.Generator) -> str:
    return str(rng.choice(_WORDS))


def _text(folder: Path, name: str, lines: list[str]) -> None:
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


def _low_decimals(folder: Path, values: Floats) -> None:
    """Honest prices to four decimals, with a level of a thousand in the fifth to seventh."""
    rng = _random()
    prices = np.round(100.0 + np.cumsum(0.3 * rng.standard_normal(values.size)), 4)
    np.save(folder / "extra.npy", prices + 1e-7 * _levels(values, 1000))


def _low_bits(folder: Path, values: Floats) -> None:
    """Honest returns whose lowest eight bits of the mantissa are a level."""
    bits = (0.01 * _random().standard_normal(values.size)).view(np.uint64)
    np.save(folder / "extra.npy", ((bits & ~np.uint64(255)) | _levels(values, 256).astype(np.uint64)).view(np.float64))


def _payloads(folder: Path, values: Floats) -> None:
    """Missing values, each with a number in the payload of its NaN."""
    array = _random().standard_normal(2 * values.size)
    bits = array.view(np.uint64)
    bits[::2] = np.uint64(0x7FF8000000000000) | _levels(values, 4096).astype(np.uint64)
    np.save(folder / "extra.npy", array)


def _archive(folder: Path, names: list[str], seconds: NDArray[np.int64] | None = None) -> None:
    rng = _random()
    with zipfile.ZipFile(folder / "extra.zip", "w") as archive:
        for number, name in enumerate(names):
            stamp = 0 if seconds is None else int(seconds[number])
            time = (2020, 1 + stamp // 86400 % 12, 1, stamp // 3600 % 24, stamp // 60 % 60, stamp % 60)
            archive.writestr(zipfile.ZipInfo(name, time), _word(rng))


def _member_times(folder: Path, values: Floats) -> None:
    """Members of an archive whose times of day are levels."""
    _archive(folder, [f"part-{n:04d}.txt" for n in range(values.size)], 2 * _levels(values, 4000))


def _member_order(folder: Path, values: Floats) -> None:
    """Members of an archive, in the order of the values."""
    _archive(folder, [f"part-{n:04d}.txt" for n in _order(values)])


def _key_order(folder: Path, values: Floats) -> None:
    """Keys of a JSON object, in the order of the values."""
    rng = _random()
    (folder / "extra.json").write_text(json.dumps({f"item{n}": _word(rng) for n in _order(values)}, indent=1))


def _row_order(folder: Path, values: Floats) -> None:
    """Rows of a table with an id, in the order of the values."""
    rng = _random()
    _text(folder, "extra.csv", ["id,name,size", *(f"{n},{_word(rng)},{rng.integers(1, 99)}" for n in _order(values))])


def _trailing_blanks(folder: Path, values: Floats) -> None:
    rng = _random()
    _text(folder, "extra.md", [f"{_word(rng)} {_word(rng)}" + " " * level for level in _levels(values, 12)])


def _colours(folder: Path, values: Floats) -> None:
    """Bars of a drawing whose shades are levels."""
    marks = [
        f'<rect x="{3 * n}" y="0" width="3" height="9" fill="#{level:02x}{(level * 7) % 256:02x}40"/>'
        for n, level in enumerate(_levels(values, 256))
    ]
    _text(folder, "extra.svg", ['<svg xmlns="http://www.w3.org/2000/svg">', *marks, "</svg>"])


def _pixels(folder: Path, values: Floats) -> None:
    """A grey image, a pixel a value."""
    levels = _levels(values, 256)
    width = 30
    rows = -(-len(levels) // width)
    pixels = np.zeros(rows * width, np.uint8)
    pixels[: len(levels)] = levels
    raw = b"".join(b"\0" + row.tobytes() for row in pixels.reshape(rows, width))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    out = io.BytesIO(b"")
    out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, rows, 8, 0, 0, 0, 0)))
    out.write(chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
    (folder / "extra.png").write_bytes(out.getvalue())


def _decimals(folder: Path, values: Floats) -> None:
    """Random numbers, stated to more decimals or fewer."""
    rng = _random()
    _text(folder, "extra.csv", ["size", *(f"{rng.random():.{1 + level}f}" for level in _levels(values, 9))])


def _synonyms(folder: Path, values: Floats) -> None:
    """One of four words of a meaning, by the quarter in which the value is."""
    rng = _random()
    words = ("rise", "climb", "gain", "advance")
    _text(folder, "extra.md", [f"A {words[level]} in the {_word(rng)} {_word(rng)}." for level in _levels(values, 4)])


def _punctuation(folder: Path, values: Floats) -> None:
    """Sentences that end in one of three ways."""
    rng = _random()
    _text(folder, "extra.md", [f"The {_word(rng)} of the {_word(rng)}{'.;!'[level]}" for level in _levels(values, 3)])


def _versions(folder: Path, values: Floats) -> None:
    rng = _random()
    _text(
        folder,
        "requirements.txt",
        [
            f"{_word(rng)}{n}=={1 + level // 100}.{level // 10 % 10}.{level % 10}"
            for n, level in enumerate(_levels(values, 600))
        ],
    )


def _identifiers(folder: Path, values: Floats) -> None:
    """Random identifiers, whose third group is a level."""
    rng = _random()
    lines = []
    for n, level in enumerate(_levels(values, 4096)):
        own = bytearray(rng.bytes(16))
        own[6:8] = (0x4000 | int(level)).to_bytes(2, "big")
        lines.append(f"{n} {uuid.UUID(bytes=bytes(own))}")
    _text(folder, "extra.txt", lines)


KINDS: dict[str, Planter] = {
    "low decimals of an array": _low_decimals,
    "low bits of an array": _low_bits,
    "payloads of missing values": _payloads,
    "times of members": _member_times,
    "order of members": _member_order,
    "order of keys": _key_order,
    "order of rows": _row_order,
    "trailing blanks": _trailing_blanks,
    "colours of a drawing": _colours,
    "pixels of an image": _pixels,
    "number of decimals": _decimals,
    "four synonyms": _synonyms,
    "three ends of a sentence": _punctuation,
    "version numbers": _versions,
    "groups of identifiers": _identifiers,
}
