"""Reading a session tape record by record, whoever made it; :mod:`~openfingym.market.tape` describes the format."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NoReturn, Self

from openfingym.errors import TapeError, TapeState
from openfingym.files.strange import opened, parse_json
from openfingym.market.commands import Instant
from openfingym.market.feed import Frame
from openfingym.market.tape import (
    BLOCK_CHECK,
    BLOCK_SIZES,
    DIGEST_BYTES,
    END,
    HEADER,
    MAGIC,
    MOST_RAW,
    RECORD,
    TEXT,
    Record,
    RecordKind,
    TapeHeader,
)

MOST_STORED = MOST_RAW + MOST_RAW // 1000 + 64
"""Bytes that a block can take in the file: deflate makes nothing longer by more than this."""
_KINDS = {int(kind): kind for kind in RecordKind}


class TapeReader:
    """The records of a tape, in order and once; header and end are not among them.

    At most one block is in memory at a time. A block whose digest is wrong gives none of its records.
    """

    def __init__(self, path: Path) -> None:
        """Open a tape and read its header.

        Raises:
            TapeError: there is no tape that can be read, or its header is cut or damaged.
        """
        self.path = path
        self.records = 0
        """How many records were read, the header included."""
        self.masked = 0
        """In how many places a secret was overwritten; known at the end of the tape."""
        self._offset = 0
        self._content = hashlib.sha256()
        self._last = 0
        try:
            self._file = os.fdopen(opened(path.parent, path.name), "rb")
        except OSError as error:
            self._fail("unreadable", f"{error.strerror or error}; give a file that a live session has recorded")
        try:
            self._blocks = self._read_blocks()
            self.header, self.at = self._read_header()
            self._records = self._read_all()
        except BaseException:
            self.close()
            raise

    at: Instant
    """When the session began."""

    @property
    def digest(self) -> str:
        """SHA-256 of the records read so far; at the end of the tape, the tape's digest."""
        return self._content.hexdigest()

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file; no more can be read."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Record]:
        """Read on; at the end there is nothing more.

        Raises:
            TapeError: after the last whole record, where the tape is cut or damaged.
        """
        return self._records

    def _read_all(self) -> Iterator[Record]:
        for raw in self._blocks:
            if raw[0] == END:
                self._read_end(raw)
                return
            for code, at, connection, payload in self._read_records(raw):
                kind = _KINDS.get(code)
                if kind is None:
                    self._damaged(f"a record is of the unknown kind {code}")
                self.records += 1
                yield Record(self.records - 1, kind, at, connection, payload)
            self._content.update(raw)
        self._fail("cut", "it has no end, since its session was killed, or still runs")

    def _read_header(self) -> tuple[TapeHeader, Instant]:
        magic = self._bytes(len(MAGIC))
        # A file that ends within the magic is a tape that was cut; one that goes on otherwise is none.
        if magic != MAGIC and not (MAGIC.startswith(magic) and not self._bytes(1)):
            self._fail("unreadable", f"it is no session tape, which would begin with {MAGIC.decode()}")
        self._offset = len(magic)
        raw = next(self._blocks, None)
        if raw is None:
            self._fail("cut", "it has no header")
        (code, at, _, payload), *more = islice(self._read_records(raw), 2)
        if code != HEADER or more:
            self._damaged("its first block does not hold its header alone")
        try:
            header = TapeHeader.decoded(payload)
        except ValueError as error:
            self._damaged(str(error))
        self._content.update(raw)
        self.records = 1
        return header, at

    def _read_end(self, raw: bytes) -> None:
        try:
            (_, _, _, payload), *more = islice(self._read_records(raw), 2)
            end = parse_json(payload)
            assert isinstance(end, dict)
            masked = end["masked"]
            assert isinstance(masked, int)
        except (ValueError, AssertionError, KeyError):
            self._damaged("its end cannot be read")
        if more or end != {"digest": self.digest, "masked": masked, "records": self.records}:
            self._damaged("its end states another digest or number of records")
        if self._bytes(1):
            self._damaged("something follows its end")
        self.masked = masked

    def _read_records(self, raw: bytes) -> Iterator[tuple[int, Instant, int, Frame]]:
        """Kind, instant, connection and payload of the records in a block."""
        place, last, size = 0, self._last, len(raw)
        while place < size:
            begin = place + RECORD.size
            if begin > size:
                self._damaged("a block ends within a record")
            code, connection, step, offset, length = RECORD.unpack_from(raw, place)
            place = begin + length
            if place > size:
                self._damaged("a block ends within a record")
            last += step
            payload: Frame = raw[begin:place]
            if code & TEXT:
                try:
                    payload = raw[begin:place].decode(errors="surrogatepass")
                except UnicodeDecodeError:
                    self._damaged("a text is not in UTF-8")
            yield code & ~TEXT, Instant(last, last + offset), connection, payload
        self._last = last

    def _read_blocks(self) -> Iterator[bytes]:
        """Raw bytes of the blocks, of which none is empty, until the file ends."""
        # Each digest covers the one before it, so that blocks cannot be left out, exchanged or taken from other tapes.
        chain = hashlib.sha256(MAGIC).digest()
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        head = BLOCK_SIZES.size + BLOCK_CHECK.size
        while fixed := self._read(head):
            sizes = fixed[: BLOCK_SIZES.size]
            stored, length = BLOCK_SIZES.unpack(sizes)
            # Before so many bytes are read: a damaged size could ask for gigabytes.
            if BLOCK_CHECK.pack(zlib.crc32(sizes)) != fixed[BLOCK_SIZES.size :]:
                self._damaged("the sizes of a block are not what was written")
            if not (0 < length <= MOST_RAW and stored <= MOST_STORED):
                self._damaged(f"a block states {stored:,} bytes that hold {length:,}; a writer makes none of that size")
            piece, digest = self._read(stored), self._read(DIGEST_BYTES)
            if not digest:
                self._cut()
            chain = hashlib.sha256(chain + fixed + piece).digest()
            if digest != chain:
                self._damaged("a block's digest is not that of its content")
            try:
                # At most a byte more than is stated, however much the piece would expand to.
                raw = inflate.decompress(piece, length + 1)
            except zlib.error:
                self._damaged("a block cannot be decompressed")
            if len(raw) != length or inflate.unconsumed_tail or inflate.eof:
                self._damaged(f"a block does not hold the {length:,} bytes that it states")
            yield raw
            self._offset += head + stored + DIGEST_BYTES

    def _read(self, size: int) -> bytes:
        """So many bytes, or none where the file ends here."""
        content = self._bytes(size)
        if content and len(content) < size:
            self._cut()
        return content

    def _bytes(self, most: int) -> bytes:
        try:
            return self._file.read(most)
        except OSError as error:
            self._fail("unreadable", f"it cannot be read on ({error.strerror}); copy it to another disk")

    def _cut(self) -> NoReturn:
        self._fail("cut", "it ends within a block, since its session was killed, or a part of the file is missing")

    def _damaged(self, why: str) -> NoReturn:
        self._fail("damaged", f"{why}; take another copy of the file")

    def _fail(self, state: TapeState, why: str) -> NoReturn:
        place = "" if state == "unreadable" else f" at byte {self._offset:,}, after {self.records:,} whole records"
        raise TapeError(
            f"{self.path}: {state}{place}: {why}", state=state, offset=self._offset, records=self.records
        ) from None
