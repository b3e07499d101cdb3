"""The session tape: what is written is read."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import DataError, StoreError, UsageError
from openfingym.market.commands import Instant, RestAnswer, Tell
from openfingym.market.tape import (
    MOST_PAYLOAD,
    RECORD,
    NoRecorder,
    Recorder,
    RecordKind,
    TapeHeader,
    answered,
    read_answer,
    told,
)
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_summary import summarize
from openfingym.market.tape_writer import TapeWriter
from tests.openfingym.market.tapes import (
    BEGAN,
    VENUE,
    Entry,
    entry_of,
    later,
    read,
    trade,
    written,
)

instants = st.builds(Instant, st.integers(0, 2**62), st.integers(0, 2**62))
payloads = st.binary(max_size=60) | st.text(st.characters(), max_size=40)
entries = st.tuples(st.sampled_from(list(RecordKind)), instants, st.integers(0, 2**32 - 1), payloads)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(blocks=st.lists(st.lists(entries, max_size=8), max_size=5))
def test_what_is_written_is_read(blocks: list[list[Entry]], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any.tape", blocks)
    found, error = read(path)
    assert error is None
    assert [entry_of(record) for record in found] == [entry for block in blocks for entry in block]
    assert [type(record.payload) for record in found] == [type(entry[3]) for block in blocks for entry in block]
    assert [record.number for record in found] == list(range(1, len(found) + 1))


def test_the_digest_is_of_the_records_however_they_are_stored(tmp_path: Path) -> None:
    each = [(RecordKind.FRAME, later(number), 1, trade(number)) for number in range(50)]
    one = summarize(written(tmp_path / "one.tape", [each]))
    many = summarize(written(tmp_path / "many.tape", [[entry] for entry in each]))
    other = summarize(written(tmp_path / "other.tape", [each[:-1]]))
    assert one.digest == many.digest != other.digest
    assert one.file_bytes < many.file_bytes
    assert {one.state, many.state, other.state} == {"complete"}


def test_answers_and_what_was_told_come_back() -> None:
    for answer in (
        RestAnswer(200, b"{}"),
        RestAnswer(0, b"", None, 0),
        RestAnswer(429, b"x", 1.5, 6000),
        RestAnswer(503, b"", 0.0),
    ):
        assert read_answer(answered(answer)) == answer
    with pytest.raises(DataError, match="expected 18 bytes"):
        read_answer(b"\x00")
    assert json.loads(told(Tell("gap", "BTCUSDT", "ids 4 to 9"))) == {
        "kind": "gap",
        "symbol": "BTCUSDT",
        "text": "ids 4 to 9",
    }


def test_threads_record_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "threads.tape"
    with TapeWriter(path, VENUE, BEGAN) as tape:
        threads = [
            threading.Thread(
                target=lambda name=name: [
                    tape.record(RecordKind.OBSERVATION, later(number), name, str(number)) for number in range(2000)
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
        tape.record(RecordKind.NOTE, later(1), 0, "one")
        for wrong in (
            (later(1), -1, ""),
            (later(1), 2**32, ""),
            (Instant(2**70, 0), 0, ""),
            (Instant(0, -(2**64)), 0, ""),
        ):
            with pytest.raises(UsageError, match="a tape takes connections"):
                tape.record(RecordKind.NOTE, *wrong)
        with pytest.raises(UsageError, match="bytes; a tape takes up to"):
            tape.record(RecordKind.NOTE, later(1), 0, bytes(MOST_PAYLOAD + 1))
        tape.record(RecordKind.NOTE, later(1), 0, "two")
    with pytest.raises(UsageError, match="closed"):
        tape.record(RecordKind.NOTE, later(1), 0, "three")
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
            recorder.record(RecordKind.START, BEGAN)
            assert not recorder.lagging
            asyncio.run(recorder.settle())
            recorder.close()
    assert [record.kind for record in read(tmp_path / "a.tape")[0]] == [RecordKind.START]


def test_reading_is_lazy(tmp_path: Path) -> None:
    noise = [(RecordKind.FRAME, later(number), 1, os.urandom(60_000)) for number in range(200)]
    path = written(tmp_path / "long.tape", [[entry] for entry in noise])
    tracemalloc.start()
    try:
        with TapeReader(path) as tape:
            assert sum(1 for _ in tape) == 200
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2 << 20 < path.stat().st_size


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
            tape.record(RecordKind.FRAME, later(number * 0.003 + rng.random() * 0.002), 1, frame)
    assert path.stat().st_size / len(frames) < 60
    assert struct.calcsize(RECORD.format) == 25
