"""Session tapes that tests make and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from openfingym.errors import TapeError
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.tape import (
    BLOCK_SIZES,
    MAGIC,
    Record,
    RecordKind,
    TapeHeader,
)
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_writer import TapeWriter

Entry = tuple[RecordKind, Instant, int, Frame]
BEGAN = Instant(5_000_000_000, 1_763_800_000_000_000_000)
VENUE = TapeHeader("local", {"symbols": ["BTCUSDT"]}, simulated=True, task="ab" * 32, seeds={"flow": 7})


def later(seconds: float) -> Instant:
    return Instant(BEGAN.monotonic + round(seconds * 1e9), BEGAN.wall + round(seconds * 1e9) + 70)


def trade(number: int) -> str:
    return json.dumps({"stream": "btcusdt@trade", "data": {"e": "trade", "t": number, "p": "97000.10", "q": "0.2"}})


def written(path: Path, blocks: list[list[Entry]], header: TapeHeader = VENUE) -> Path:
    """A whole tape of at least so many blocks."""
    path.unlink(missing_ok=True)
    with TapeWriter(path, header, BEGAN) as tape:
        for block in blocks:
            for entry in block:
                tape.record(*entry)
            tape.flush()
    return path


def read(path: Path) -> tuple[list[Record], TapeError | None]:
    """What can be read of a tape, and why no more."""
    found: list[Record] = []
    try:
        with TapeReader(path) as tape:
            found.extend(tape)
    except TapeError as error:
        return found, error
    return found, None


def entry_of(record: Record) -> Entry:
    return record.kind, record.at, record.connection, record.payload


def short_tape(path: Path) -> Path:
    """A tape of three blocks with records, of every kind and both forms of frames."""
    each = [(kind, later(0.01 * kind), kind % 3, trade(kind)) for kind in RecordKind]
    block = [(RecordKind.FRAME, later(1), 1, b"\x82\xa1T\xa1t"), (RecordKind.PASSED, later(2), 0, b"")]
    return written(path, [each, block, block])


def block_begins(content: bytes) -> Iterator[int]:
    place = len(MAGIC)
    while place < len(content):
        yield place
        place += BLOCK_SIZES.unpack_from(content, place)[0] + 12 + 32
