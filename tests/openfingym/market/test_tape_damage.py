"""Tapes that were cut, altered or made with ill will: what is before the place is read, and the place is named."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.digests import canonical_json
from openfingym.errors import TapeError
from openfingym.market.tape import (
    BLOCK_CHECK,
    BLOCK_SIZES,
    END,
    HEADER,
    MAGIC,
    RECORD,
    RecordKind,
)
from openfingym.market.tape_reader import TapeReader
from tests.openfingym.market.tapes import (
    VENUE,
    block_begins,
    read,
)


def test_a_cut_at_any_byte_leaves_a_prefix(short: Path, tmp_path: Path) -> None:
    content, (whole, _), counts = short.read_bytes(), read(short), set()
    path = tmp_path / "cut.tape"
    for size in range(len(content)):
        path.write_bytes(content[:size])
        found, error = read(path)
        assert error is not None
        assert error.state == "cut", error
        assert found == whole[: len(found)]
        assert error.records == len(found) + 1 or not found
        assert error.offset <= size
        counts.add(len(found))
    assert counts == {0, len(RecordKind), len(RecordKind) + 2, len(RecordKind) + 4}


@pytest.mark.parametrize("change", [0x01, 0x80, 0xFF])
def test_any_altered_byte_is_told_with_its_place(short: Path, tmp_path: Path, change: int) -> None:
    content, (whole, _) = short.read_bytes(), read(short)
    path = tmp_path / "altered.tape"
    for place in range(len(content)):
        altered = bytearray(content)
        altered[place] ^= change
        path.write_bytes(altered)
        found, error = read(path)
        assert error is not None, place
        assert error.state == ("unreadable" if place < len(MAGIC) else "damaged"), place
        assert found == whole[: len(found)]
        assert place < len(MAGIC) or error.offset <= place


def test_blocks_that_change_places_are_told(short: Path, tmp_path: Path) -> None:
    content = short.read_bytes()
    begins = list(block_begins(content))
    first, second, third = (content[a:b] for a, b in pairwise(begins[1:5]))
    path = tmp_path / "swapped.tape"
    path.write_bytes(content[: begins[1]] + first + third + second + content[begins[4] :])
    found, error = read(path)
    assert error is not None
    assert (len(found), error.state, error.offset) == (len(RecordKind), "damaged", begins[2])


def test_what_follows_the_end_is_told(short: Path, tmp_path: Path) -> None:
    path = tmp_path / "longer.tape"
    path.write_bytes(short.read_bytes() + b"x")
    found, error = read(path)
    assert error is not None
    assert error.state == "damaged"
    assert "follows its end" in str(error)
    assert found == read(short)[0]


# Tapes that somebody made by hand, with digests that are right.


def record_of(code: int, payload: bytes, length: int | None = None) -> bytes:
    return RECORD.pack(code, 0, 1, 2, len(payload) if length is None else length) + payload


def forged(path: Path, *blocks: bytes, sizes: Callable[[int, int], tuple[int, int]] = lambda *given: given) -> Path:
    """A tape of these raw blocks; ``sizes`` makes of the last one's stored and raw size what is stated."""
    deflate, chain = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS), hashlib.sha256(MAGIC).digest()
    content = MAGIC
    for number, raw in enumerate(blocks, 1):
        piece = deflate.compress(raw) + deflate.flush(zlib.Z_SYNC_FLUSH)
        stated = BLOCK_SIZES.pack(*(sizes(len(piece), len(raw)) if number == len(blocks) else (len(piece), len(raw))))
        block = stated + BLOCK_CHECK.pack(zlib.crc32(stated)) + piece
        chain = hashlib.sha256(chain + block).digest()
        content += block + chain
    path.write_bytes(content)
    return path


HEAD = record_of(HEADER, VENUE.encoded())


def header_with(**changes: object) -> bytes:
    return record_of(HEADER, canonical_json(json.loads(VENUE.encoded()) | changes))


HOSTILE: dict[str, tuple[bytes, ...]] = {
    "a record longer than its block": (HEAD, record_of(RecordKind.NOTE, b"abc", 2**32 - 1)),
    "half of a record": (HEAD, record_of(RecordKind.NOTE, b"abc")[:10]),
    "an unknown kind": (HEAD, record_of(99, b"abc")),
    "a second header": (HEAD, HEAD),
    "a text that is not UTF-8": (HEAD, record_of(RecordKind.NOTE | 0x80, b"\xff\xff")),
    "no header": (record_of(RecordKind.NOTE, b"abc"),),
    "more than a header": (HEAD + record_of(RecordKind.NOTE, b"abc"),),
    "a header that is no JSON": (record_of(HEADER, b"{"),),
    "a deep header": (record_of(HEADER, b"[" * 100_000),),
    "a long number": (record_of(HEADER, b'{"format":' + b"9" * 100_000 + b"}"),),
    "another format": (header_with(format=2),),
    "no number": (record_of(HEADER, VENUE.encoded().replace(b"7", b"NaN")),),
    "a list of seeds": (header_with(seeds=[1]),),
    "a seed that is a text": (header_with(seeds={"a": "1"}),),
    "an unknown field": (header_with(more=1),),
    "an end that is no JSON": (HEAD, record_of(END, b"{")),
    "an end that is a list": (HEAD, record_of(END, b"[]")),
    "an end of another tape": (HEAD, record_of(END, b'{"digest":"00","masked":0,"records":1}')),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_tape_is_damaged_and_nothing_worse(what: str, tmp_path: Path) -> None:
    path = forged(tmp_path / "hostile.tape", *HOSTILE[what])
    found, error = read(path)
    assert not found
    assert error is not None
    assert error.state == "damaged"
    for command in ("show", "verify"):
        result = CliRunner().invoke(cli, ["tape", command, str(path)], standalone_mode=False)
        assert result.exception is None or isinstance(result.exception, TapeError)


@pytest.mark.parametrize(
    "sizes",
    [
        lambda stored, raw: (stored, raw - 1),
        lambda stored, raw: (stored, raw + 1),
        lambda stored, raw: (stored, 0),
        lambda stored, raw: (stored, 2**32 - 1),
        lambda stored, raw: (2**32 - 1, raw),
    ],
)
def test_sizes_that_are_not_so_are_damage(sizes: Callable[[int, int], tuple[int, int]], tmp_path: Path) -> None:
    path = forged(tmp_path / "hostile.tape", HEAD, record_of(RecordKind.NOTE, b"abc" * 1000), sizes=sizes)
    found, error = read(path)
    assert not found
    assert error is not None
    assert error.state == "damaged"


def test_a_block_that_inflates_to_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    path = forged(tmp_path / "bomb.tape", HEAD, bytes(64 << 20), sizes=lambda stored, _: (stored, 1000))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        found, error = read(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not found
    assert error is not None
    assert "does not hold the 1,000 bytes" in str(error)
    assert most < 4 << 20


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/etc/passwd"), lambda _: None])
def test_what_is_no_file_is_not_read(make: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "strange.tape"
    make(path)
    with pytest.raises(TapeError, match="unreadable") as caught:
        TapeReader(path)
    assert caught.value.state == "unreadable"
