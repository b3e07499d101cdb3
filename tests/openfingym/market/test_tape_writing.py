"""Writing a tape: killed in the middle, on a disk that is slow or full, and handed over in time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openfingym.errors import StoreError
from openfingym.market import tape_writer
from openfingym.market.tape import (
    RecordKind,
)
from openfingym.market.tape_summary import summarize
from openfingym.market.tape_writer import FLUSH_BYTES, TapeWriter
from tests.openfingym.market.tapes import (
    BEGAN,
    VENUE,
    later,
    read,
    trade,
)

WRITER = """
import sys
import time
from pathlib import Path
from openfingym.market.commands import Instant
from openfingym.market.tape import RecordKind, TapeHeader
from openfingym.market.tape_writer import FLUSH_BYTES, TapeWriter

tape, how = TapeWriter(Path(sys.argv[1]), TapeHeader("local"), Instant(0, 0)), sys.argv[2]
for number in range(1000):
    tape.record(RecordKind.FRAME, Instant(number, number), 1, f"frame {number}")
if how == "flush":
    tape.flush()
elif how == "quiet":  # nothing more is recorded, so that the thread itself writes what there is
    while tape._waiting or tape._buffer:
        pass
print("written", flush=True)
number = 1000
while True:
    tape.record(RecordKind.FRAME, Instant(number, number), 1, f"frame {number}")
    number += 1
    time.sleep(0.0001)
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
            tape.record(RecordKind.PASSED, later(millisecond / 1000))
            handed += [millisecond] if not tape._buffer else []
    assert handed == [250, 500, 750, 1000]


def test_records_are_handed_over_every_so_many_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TapeWriter, "_work", lambda _: None)
    with TapeWriter(tmp_path / "a.tape", VENUE, BEGAN) as tape:
        for _ in range(5 * FLUSH_BYTES // 1000):
            tape.record(RecordKind.FRAME, BEGAN, 1, bytes(1000))
        assert [len(piece) // FLUSH_BYTES for piece in tape._queue] == [1] * 5


def test_a_slow_disk_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, path = threading.Event(), tmp_path / "slow.tape"
    monkeypatch.setattr(tape_writer, "LAG_BYTES", 200_000)
    tape = TapeWriter(path, VENUE, BEGAN)
    write = tape._write
    monkeypatch.setattr(tape, "_write", lambda content: opened.wait() and write(content))
    count = 0
    while not tape.lagging:
        tape.record(RecordKind.FRAME, later(0), 1, trade(count))
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
            tape.record(RecordKind.FRAME, later(0), 1, trade(count))
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
    tape.record(RecordKind.FRAME, later(1), 1, trade(1))
    with pytest.raises(StoreError, match=r"full\.tape.*free some space"):
        tape.flush()
    with pytest.raises(StoreError, match="free some space"):
        tape.record(RecordKind.FRAME, later(1), 1, trade(1))
    with pytest.raises(StoreError, match="free some space"):
        tape.close()
    assert summarize(path).state == "cut"


def test_any_failure_of_the_thread_reaches_whoever_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = TapeWriter(tmp_path / "a.tape", VENUE, BEGAN)
    monkeypatch.setattr(tape, "_deflate", None)
    tape.record(RecordKind.FRAME, later(1), 1, trade(1))
    for act in (tape.flush, lambda: asyncio.run(tape.settle()), tape.close):
        with pytest.raises(StoreError, match="begin another one"):
            act()
