"""The session tape: what is written is read, whatever cuts or alters the file is told, and no secret is on it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.cli import cli
from openfingym.digests import canonical_json
from openfingym.errors import DataError, StoreError, TapeError, UsageError
from openfingym.market import tape_writer
from openfingym.market.commands import Answer, Instant, Tell
from openfingym.market.feed import Address, Frame, Request
from openfingym.market.redaction import LEFT_OUT, without_secrets
from openfingym.market.tape import (
    BLOCK_CHECK,
    BLOCK_SIZES,
    END,
    HEADER,
    MAGIC,
    MOST_PAYLOAD,
    RECORD,
    Kind,
    NoRecorder,
    Record,
    Recorder,
    TapeHeader,
    answered,
    asked,
    read_answer,
    told,
)
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_summary import summarize
from openfingym.market.tape_writer import FLUSH_BYTES, TapeWriter

Entry = tuple[Kind, Instant, int, Frame]
BEGAN = Instant(5_000_000_000, 1_763_800_000_000_000_000)
VENUE = TapeHeader("local", {"symbols": ["BTCUSDT"]}, simulated=True, task="ab" * 32, seeds={"flow": 7})

instants = st.builds(Instant, st.integers(0, 2**62), st.integers(0, 2**62))
payloads = st.binary(max_size=60) | st.text(st.characters(), max_size=40)
entries = st.tuples(st.sampled_from(list(Kind)), instants, st.integers(0, 2**32 - 1), payloads)


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


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tape of three blocks with records, of every kind and both forms of frames."""
    each = [(kind, later(0.01 * kind), kind % 3, trade(kind)) for kind in Kind]
    block = [(Kind.FRAME, later(1), 1, b"\x82\xa1T\xa1t"), (Kind.PASSED, later(2), 0, b"")]
    return written(tmp_path_factory.mktemp("tapes") / "short.tape", [each, block, block])


@settings(max_examples=60, deadline=None)
@given(blocks=st.lists(st.lists(entries, max_size=8), max_size=5))
def test_what_is_written_is_read(blocks: list[list[Entry]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any.tape", blocks)
    found, error = read(path)
    assert error is None
    assert [entry_of(record) for record in found] == [entry for block in blocks for entry in block]
    assert [type(record.payload) for record in found] == [type(entry[3]) for block in blocks for entry in block]
    assert [record.number for record in found] == list(range(1, len(found) + 1))


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
    assert counts == {0, len(Kind), len(Kind) + 2, len(Kind) + 4}


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
    assert (len(found), error.state, error.offset) == (len(Kind), "damaged", begins[2])


def test_what_follows_the_end_is_told(short: Path, tmp_path: Path) -> None:
    path = tmp_path / "longer.tape"
    path.write_bytes(short.read_bytes() + b"x")
    found, error = read(path)
    assert error is not None
    assert error.state == "damaged"
    assert "follows its end" in str(error)
    assert found == read(short)[0]


def block_begins(content: bytes) -> Iterator[int]:
    place = len(MAGIC)
    while place < len(content):
        yield place
        place += BLOCK_SIZES.unpack_from(content, place)[0] + 12 + 32


def test_the_digest_is_of_the_records_however_they_are_stored(tmp_path: Path) -> None:
    each = [(Kind.FRAME, later(number), 1, trade(number)) for number in range(50)]
    one = summarize(written(tmp_path / "one.tape", [each]))
    many = summarize(written(tmp_path / "many.tape", [[entry] for entry in each]))
    other = summarize(written(tmp_path / "other.tape", [each[:-1]]))
    assert one.digest == many.digest != other.digest
    assert one.file_bytes < many.file_bytes
    assert {one.state, many.state, other.state} == {"complete"}


WRITER = """
import sys
from pathlib import Path
from openfingym.market.commands import Instant
from openfingym.market.tape import Kind, TapeHeader
from openfingym.market.tape_writer import FLUSH_BYTES, TapeWriter

tape, how = TapeWriter(Path(sys.argv[1]), TapeHeader("local"), Instant(0, 0)), sys.argv[2]
for number in range(1000):
    tape.record(Kind.FRAME, Instant(number, number), 1, f"frame {number}")
if how == "flush":
    tape.flush()
elif how == "quiet":  # nothing more is recorded, so that the thread itself writes what there is
    while tape._waiting or tape._buffer:
        pass
print("written", flush=True)
number = 1000
while True:
    tape.record(Kind.FRAME, Instant(number, number), 1, f"frame {number}")
    number += 1
"""


@pytest.mark.parametrize("how", ["flush", "quiet"])
def test_a_killed_session_leaves_a_tape_up_to_its_last_flush(how: str, tmp_path: Path) -> None:
    path = tmp_path / "killed.tape"
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), how], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    found, error = read(path)
    assert error is not None
    assert error.state == "cut"
    assert len(found) >= 1000
    assert [record.payload for record in found] == [f"frame {number}" for number in range(len(found))]


def test_records_are_handed_over_every_quarter_second_of_the_machines_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TapeWriter, "_work", lambda _: None)  # the thread would take what waits by its own time
    with TapeWriter(tmp_path / "a.tape", VENUE, BEGAN) as tape:
        handed = []
        for millisecond in range(0, 1001, 50):
            tape.record(Kind.PASSED, later(millisecond / 1000))
            handed += [millisecond] if not tape._buffer else []
    assert handed == [250, 500, 750, 1000]


def test_records_are_handed_over_every_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TapeWriter, "_work", lambda _: None)
    with TapeWriter(tmp_path / "a.tape", VENUE, BEGAN) as tape:
        for _ in range(5 * FLUSH_BYTES // 1000):
            tape.record(Kind.FRAME, BEGAN, 1, bytes(1000))
        assert [len(piece) // FLUSH_BYTES for piece in tape._queue] == [1] * 5


KEYS = {
    "ALPACA_API_KEY": "PKTESTKEYTESTKEY0001",
    "ALPACA_SECRET": "Sl/ash+secret=of=forty=characters=0123456",
    "BINANCE_TOKEN": "b" * 64,
}


def test_no_secret_is_on_a_tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    key, secret, token = KEYS.values()
    address = Address("wss://stream.example/v2", {"APCA-API-KEY-ID": key, "APCA-API-SECRET-KEY": secret})
    feed = {
        "symbols": ["AAPL"],
        "key": key,
        "keys": [{"api_secret": "short"}],
        "url": "wss://someone:password-1@stream.example/v2?listenKey=abcdef&x=1",
        "address": str(address),
        "unnamed": secret,
    }
    path = tmp_path / "session.tape"
    with TapeWriter(path, TapeHeader("alpaca", feed), BEGAN) as tape:
        tape.record(Kind.FRAME, later(1), 1, json.dumps({"T": "error", "msg": f"{key} is not {secret}"}))
        tape.record(Kind.FRAME, later(2), 1, b"\x82\xa1T\xa7success\xa3key\xb4" + key.encode())
        tape.record(Kind.FRAME, later(2), 1, json.dumps({"echo": secret}).replace("/", r"\/"))
        tape.record(Kind.CLOSED, later(3), 1, f"403 for wss://stream.example/?key={key}")
        tape.record(Kind.NOTE, later(3), 0, f"percent: Sl%2Fash%2Bsecret%3Dof%3Dforty%3Dcharacters%3D0123456 {token}")
        request = Request(
            "POST", "/order?symbol=BTC&signature=0a1b2c&apiKey=xyz", 1, address.headers, '{"token": "t1"}'
        )
        tape.record(Kind.ASKED, later(3), 4, asked(request))
        tape.hide("a-listen-key-of-this-hour")
        tape.record(Kind.ANSWERED, later(4), 4, answered(Answer(200, b'{"listenKey": "a-listen-key-of-this-hour"}')))
    with TapeReader(path) as reader:
        header, found = reader.header, list(reader)
        masked = reader.masked
    shown = CliRunner().invoke(cli, ["tape", "show", str(path), "--json"]).output
    seen = repr(found) + repr(header) + shown + inflated(path).decode("utf-8", "replace")
    for hidden in (*KEYS.values(), "Sl\\/ash", "Sl%2F", "password-1", "abcdef", "short", "0a1b2c", "xyz", "t1", "hour"):
        assert hidden not in seen, hidden
    assert masked >= 8
    assert header.feed["symbols"] == ["AAPL"]
    assert header.feed["key"] == LEFT_OUT
    assert found[0].json() == {"T": "error", "msg": f"{'*' * len(key)} is not {'*' * len(secret)}"}
    path_asked = found[5].json()
    assert isinstance(path_asked, dict)
    assert path_asked["path"] == f"/order?symbol=BTC&signature={LEFT_OUT}&apiKey={LEFT_OUT}"


def inflated(path: Path) -> bytes:
    """Everything in the blocks of a tape, read without the reader."""
    content, inflate, raw = path.read_bytes(), zlib.decompressobj(-zlib.MAX_WBITS), b""
    for begin in block_begins(content):
        raw += inflate.decompress(content[begin + 12 :][: BLOCK_SIZES.unpack_from(content, begin)[0]])
    return raw


def test_ordinary_text_is_recorded_as_it_is() -> None:
    assert without_secrets({"url": "https://a.example/x?symbol=A&limit=5", "n": [1, 2.5, None]}) == {
        "url": "https://a.example/x?symbol=A&limit=5",
        "n": [1, 2.5, None],
    }


def test_a_secret_too_short_to_be_told_from_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 8"):
        TapeWriter(tmp_path / "a.tape", VENUE, BEGAN, secrets=["BTC"])
    assert not list(tmp_path.iterdir())


def test_answers_and_what_was_told_come_back() -> None:
    for answer in (Answer(200, b"{}"), Answer(0, b"", None, 0), Answer(429, b"x", 1.5, 6000), Answer(503, b"", 0.0)):
        assert read_answer(answered(answer)) == answer
    with pytest.raises(DataError, match="expected 18 bytes"):
        read_answer(b"\x00")
    assert json.loads(told(Tell("gap", "BTCUSDT", "ids 4 to 9"))) == {
        "kind": "gap",
        "symbol": "BTCUSDT",
        "text": "ids 4 to 9",
    }


def test_a_slow_disk_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, path = threading.Event(), tmp_path / "slow.tape"
    monkeypatch.setattr(tape_writer, "LAG_BYTES", 200_000)
    tape = TapeWriter(path, VENUE, BEGAN)
    write = tape._write
    monkeypatch.setattr(tape, "_write", lambda content: opened.wait() and write(content))
    count = 0
    while not tape.lagging:
        tape.record(Kind.FRAME, later(0), 1, trade(count))
        count += 1

    async def settle() -> None:
        waiting = asyncio.create_task(tape.settle())
        await asyncio.sleep(0)
        assert not waiting.done()
        opened.set()
        await waiting
        assert not tape.lagging

    asyncio.run(settle())
    tape.close()
    assert [record.payload for record in read(path)[0]] == [trade(number) for number in range(count)]


def test_a_disk_that_never_keeps_up_ends_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, path = threading.Event(), tmp_path / "slow.tape"
    monkeypatch.setattr(tape_writer, "MOST_WAITING", 300_000)
    tape = TapeWriter(path, VENUE, BEGAN)
    write = tape._write
    monkeypatch.setattr(tape, "_write", lambda content: opened.wait() and write(content))
    count = 0

    def record_on() -> None:
        nonlocal count
        while True:
            tape.record(Kind.FRAME, later(0), 1, trade(count))
            count += 1

    with pytest.raises(StoreError, match="a disk that keeps up"):
        record_on()
    opened.set()
    with pytest.raises(StoreError, match="a disk that keeps up"):
        tape.close()
    found, error = read(path)
    assert error is not None
    assert error.state == "cut"
    assert len(found) == count


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_recording_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "full.tape"
    tape = TapeWriter(path, VENUE, BEGAN)
    with Path("/dev/full").open("wb") as full:
        os.dup2(full.fileno(), tape._file.descriptor)
    tape.record(Kind.FRAME, later(1), 1, trade(1))
    with pytest.raises(StoreError, match=r"full\.tape.*free some space"):
        tape.flush()
    with pytest.raises(StoreError, match="free some space"):
        tape.record(Kind.FRAME, later(1), 1, trade(1))
    with pytest.raises(StoreError, match="free some space"):
        tape.close()
    assert summarize(path).state == "cut"


def test_any_failure_of_the_thread_reaches_whoever_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = TapeWriter(tmp_path / "a.tape", VENUE, BEGAN)
    monkeypatch.setattr(tape, "_deflate", None)
    tape.record(Kind.FRAME, later(1), 1, trade(1))
    for act in (tape.flush, lambda: asyncio.run(tape.settle()), tape.close):
        with pytest.raises(StoreError, match="begin another one"):
            act()


def test_threads_record_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "threads.tape"
    with TapeWriter(path, VENUE, BEGAN) as tape:
        threads = [
            threading.Thread(
                target=lambda name=name: [
                    tape.record(Kind.OBSERVATION, later(number), name, str(number)) for number in range(2000)
                ]
            )
            for name in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found, error = read(path)
    assert error is None
    for name in range(4):
        mine = [(record.at, record.payload) for record in found if record.connection == name]
        assert mine == [(later(number), str(number)) for number in range(2000)]


def test_a_tape_is_never_written_over(short: Path, tmp_path: Path) -> None:
    before = short.read_bytes()
    (tmp_path / "link.tape").symlink_to(tmp_path / "elsewhere")
    for path in (short, tmp_path / "link.tape", tmp_path / "none" / "a.tape"):
        with pytest.raises(StoreError, match="name a file that is not there yet"):
            TapeWriter(path, VENUE, BEGAN)
    assert short.read_bytes() == before
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_tape_does_not_take_is_refused_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tape"
    with TapeWriter(path, VENUE, BEGAN) as tape:
        tape.record(Kind.NOTE, later(1), 0, "one")
        for wrong in (
            (later(1), -1, ""),
            (later(1), 2**32, ""),
            (Instant(2**70, 0), 0, ""),
            (Instant(0, -(2**64)), 0, ""),
        ):
            with pytest.raises(UsageError, match="a tape takes connections"):
                tape.record(Kind.NOTE, *wrong)
        with pytest.raises(UsageError, match="bytes; a tape takes up to"):
            tape.record(Kind.NOTE, later(1), 0, bytes(MOST_PAYLOAD + 1))
        tape.record(Kind.NOTE, later(1), 0, "two")
    with pytest.raises(UsageError, match="closed"):
        tape.record(Kind.NOTE, later(1), 0, "three")
    tape.close()
    assert [record.payload for record in read(path)[0]] == ["one", "two"]
    with pytest.raises(UsageError, match="written as JSON"):
        TapeWriter(tmp_path / "b.tape", TapeHeader("local", {"symbols": {1, 2}}), BEGAN)


def test_a_reader_reads_once_and_goes_on_where_it_was(short: Path) -> None:
    with TapeReader(short) as tape:
        first = next(iter(tape))
        rest = list(tape)
        assert [first, *rest] == read(short)[0]
        assert list(tape) == []
        assert tape.digest == summarize(short).digest


def test_both_recorders_are_recorders(tmp_path: Path) -> None:
    with TapeWriter(tmp_path / "a.tape", VENUE, BEGAN) as tape:
        recorders: list[Recorder] = [tape, NoRecorder()]
        for recorder in recorders:
            recorder.record(Kind.START, BEGAN)
            assert not recorder.lagging
            asyncio.run(recorder.settle())
            recorder.close()
    assert [record.kind for record in read(tmp_path / "a.tape")[0]] == [Kind.START]


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
    "a record longer than its block": (HEAD, record_of(Kind.NOTE, b"abc", 2**32 - 1)),
    "half of a record": (HEAD, record_of(Kind.NOTE, b"abc")[:10]),
    "an unknown kind": (HEAD, record_of(99, b"abc")),
    "a second header": (HEAD, HEAD),
    "a text that is not UTF-8": (HEAD, record_of(Kind.NOTE | 0x80, b"\xff\xff")),
    "no header": (record_of(Kind.NOTE, b"abc"),),
    "more than a header": (HEAD + record_of(Kind.NOTE, b"abc"),),
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
    path = forged(tmp_path / "hostile.tape", HEAD, record_of(Kind.NOTE, b"abc" * 1000), sizes=sizes)
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


def test_reading_is_lazy(tmp_path: Path) -> None:
    noise = [(Kind.FRAME, later(number), 1, os.urandom(60_000)) for number in range(200)]
    path = written(tmp_path / "long.tape", [[entry] for entry in noise])
    tracemalloc.start()
    try:
        with TapeReader(path) as tape:
            assert sum(1 for _ in tape) == 200
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2 << 20 < path.stat().st_size


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/etc/passwd"), lambda _: None])
def test_what_is_no_file_is_not_read(make: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "strange.tape"
    make(path)
    with pytest.raises(TapeError, match="unreadable") as caught:
        TapeReader(path)
    assert caught.value.state == "unreadable"


def test_commands_say_what_a_tape_holds(short: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = json.loads(run(cli, ["tape", "show", str(short), "--json"]).stdout)
    assert shown["state"] == "complete"
    assert shown["records"] == len(Kind) + 4
    assert shown["by_kind"]["frame"] == 3
    assert (shown["frames_text"], shown["frames_binary"]) == (1, 2)
    assert shown["frame_bytes"] == len(trade(3)) + 10
    assert shown["duration_s"] == 2
    assert shown["header"]["seeds"] == {"flow": 7}
    assert "local (simulated)" in run(cli, ["tape", "show", str(short)]).output
    verified = run(cli, ["tape", "verify", str(short)])
    assert (verified.exit_code, verified.output) == (
        0,
        f"complete: {shown['records']} records, digest {shown['digest']}\n",
    )

    cut = tmp_path / "cut.tape"
    cut.write_bytes(short.read_bytes()[:-3])
    said = run(cli, ["tape", "verify", str(cut), "--json"])
    assert said.exit_code == 6
    assert json.loads(said.stdout)["state"] == "cut"
    assert json.loads(said.stdout)["digest"] == shown["digest"]
    assert f"{cut}: cut at byte" in said.stderr
    assert run(cli, ["tape", "show", str(cut)]).exit_code == 0


def test_a_summary_adds_up_what_was_told_and_the_longest_silence(tmp_path: Path) -> None:
    gap = told(Tell("gap", "BTCUSDT", "ids"))
    path = written(
        tmp_path / "a.tape",
        [
            [
                (Kind.FRAME, later(1), 1, trade(1)),
                (Kind.TOLD, later(2), 0, gap),
                (Kind.TOLD, later(2), 0, gap),
                (Kind.TOLD, later(2), 0, b"[]"),
                (Kind.FRAME, later(31), 1, trade(2)),
                (Kind.CHECKPOINT, later(32), 0, "ab" * 32),
                (Kind.PASSED, later(90), 0, b""),
            ]
        ],
    )
    summary = summarize(path)
    assert summary.told == {"gap": 2}
    assert summary.longest_silence_s == 30
    assert (summary.checkpoints, summary.last_checkpoint) == (1, "ab" * 32)
    assert summary.duration_s == 90
    assert summary.began_ns == BEGAN.wall


def test_a_typical_trade_takes_less_than_sixty_bytes(tmp_path: Path) -> None:
    import random

    rng = random.Random(5)
    frames = [
        f'{{"stream":"btcusdt@trade","data":{{"e":"trade","E":{1763800000000 + 3 * k + rng.randrange(3)},"s":"BTCUSDT",'
        f'"t":{4_000_000_000 + k},"p":"{97000 + rng.gauss(0, 20):.2f}000000","q":"{rng.expovariate(10):.5f}000",'
        f'"T":{1763800000000 + 3 * k},"m":{rng.choice(("true", "false"))},"M":true}}}}'
        for k in range(5000)
    ]
    path = tmp_path / "a.tape"
    with TapeWriter(path, VENUE, BEGAN) as tape:
        for number, frame in enumerate(frames):
            tape.record(Kind.FRAME, later(number * 0.003 + rng.random() * 0.002), 1, frame)
    assert path.stat().st_size / len(frames) < 60
    assert struct.calcsize(RECORD.format) == 25
