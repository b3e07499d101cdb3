"""Replaying a session tape: the same inputs give the same state, and the first difference is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import DataError, TapeError
from openfingym.market.clock import SimulatedClock
from openfingym.market.commands import Instant, RestAnswer
from openfingym.market.feed import Frame
from openfingym.market.replay import Machine, ReplayDifference, TapeReplay, replay
from openfingym.market.tape import Record, Recorder, RecordKind, TapeHeader, answered
from openfingym.market.tape_reader import TapeReader
from openfingym.market.tape_summary import summarize
from openfingym.market.tape_writer import TapeWriter
from openfingym.market.ticks import SECOND

DAY = 86_400
START = 1_763_800_000 * SECOND


class LastPrices:
    """A small machine: the last price of each symbol, and what happened to its connections."""

    def __init__(self, *, drops: int = -1) -> None:
        self.state = hashlib.sha256()
        self.prices: dict[str, float] = {}
        self.drops = drops
        self.frames = 0

    def start(self, at: Instant) -> None:
        self._note("start", *at)

    def opened(self, connection: int, at: Instant) -> None:
        self._note("opened", connection, *at)

    def frame(self, connection: int, frame: Frame, at: Instant) -> None:
        self.frames += 1
        if self.frames != self.drops:
            value = json.loads(frame)
            self.prices[value["s"]] = value["p"]
            self._note("frame", type(frame).__name__, connection, *at)

    def closed(self, connection: int, reason: str, at: Instant) -> None:
        self._note("closed", connection, reason, *at)

    def answered(self, question: int, answer: RestAnswer, at: Instant) -> None:
        self._note("answered", question, repr(answer), *at)

    def passed(self, at: Instant) -> None:
        self._note("passed", *at)

    def refresh(self, symbols: Sequence[str], at: Instant) -> None:
        self._note("refresh", symbols, *at)

    def digest(self) -> str:
        return hashlib.sha256(self.state.digest() + json.dumps(self.prices).encode()).hexdigest()

    def _note(self, *what: object) -> None:
        self.state.update(repr(what).encode())


async def session(clock: SimulatedClock, machine: LastPrices, recorder: Recorder, days: float) -> None:
    """Some simulated days, of which every input is recorded first."""

    def now() -> Instant:
        return Instant(clock.monotonic(), clock.wall())

    rng = np.random.default_rng(3)
    recorder.record(RecordKind.START, now())
    machine.start(now())
    recorder.record(RecordKind.OPENED, now(), 1)
    machine.opened(1, now())
    for number in range(round(days * DAY / 300)):
        await clock.sleep(float(rng.exponential(300)))
        at = now()
        text = json.dumps({"s": str(rng.choice(["BTC", "ETH"])), "p": round(float(rng.normal(100, 1)), 2)})
        frame: Frame = text.encode() if number % 3 == 0 else text
        recorder.record(RecordKind.FRAME, at, 1, frame)
        machine.frame(1, frame, at)
        if number % 100 == 50:
            recorder.record(RecordKind.CLOSED, at, 1, "1006")
            machine.closed(1, "1006", at)
            answer = RestAnswer(200, b"[]", 0.5, 12)
            recorder.record(RecordKind.ANSWERED, at, number, answered(answer))
            machine.answered(number, answer, at)
            recorder.record(RecordKind.OBSERVATION, at, 0, "{}")
            recorder.record(RecordKind.PASSED, at)
            machine.passed(at)
            recorder.record(RecordKind.REFRESHED, at, 0, '["BTC"]')
            machine.refresh(["BTC"], at)
        if number % 50 == 0:
            recorder.record(RecordKind.CHECKPOINT, at, 0, machine.digest())
        if recorder.lagging:
            await recorder.settle()


def recorded(path: Path, days: float) -> LastPrices:
    clock, machine = SimulatedClock(START), LastPrices()
    with TapeWriter(path, TapeHeader("local", simulated=True), Instant(0, START)) as tape:
        clock.run(session(clock, machine, tape, days))
    return machine


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LastPrices]:
    """The tape of a simulated week, and the machine at its end."""
    path = tmp_path_factory.mktemp("replay") / "week.tape"
    return path, recorded(path, 7)


def test_a_replayed_week_ends_in_the_same_state(week: tuple[Path, LastPrices]) -> None:
    path, live = week
    machine = LastPrices()
    told: Machine = machine
    with TapeReader(path) as tape:
        found = replay(tape, told, machine.digest)
    summary = summarize(path)
    assert found == TapeReplay(inputs=2 + live.frames + 4 * 20, checkpoints=41, difference=None)
    assert machine.digest() == live.digest()
    assert summary.checkpoints == 41
    assert summary.frames_binary == 672
    assert 6 * DAY < summary.duration_s < 8 * DAY


def test_the_same_week_gives_a_tape_of_the_same_digest(week: tuple[Path, LastPrices], tmp_path: Path) -> None:
    recorded(tmp_path / "again.tape", 7)
    assert summarize(tmp_path / "again.tape").digest == summarize(week[0]).digest


@pytest.mark.parametrize("dropped", [1, 2, 51, 52, 1999])
def test_the_first_difference_is_named(week: tuple[Path, LastPrices], dropped: int) -> None:
    path, _ = week
    with TapeReader(path) as tape:
        records = list(tape)
    frames, checkpoints, before = 0, [], 0
    for record in records:
        frames += record.kind is RecordKind.FRAME
        if record.kind is RecordKind.CHECKPOINT:
            if frames >= dropped:
                checkpoints.append(record)
            else:
                before = record.number
    machine = LastPrices(drops=dropped)
    found = replay(records, machine, machine.digest).difference
    assert isinstance(found, ReplayDifference)
    assert (found.record, found.agreed) == (checkpoints[0].number, before)
    assert found.recorded == checkpoints[0].payload != found.replayed
    assert f"differ at record {found.record:,}" in str(found)


def test_a_cut_tape_is_replayed_up_to_the_cut(week: tuple[Path, LastPrices], tmp_path: Path) -> None:
    path = tmp_path / "cut.tape"
    path.write_bytes(week[0].read_bytes()[:-10])
    machine = LastPrices()
    with TapeReader(path) as tape, pytest.raises(TapeError) as caught:
        replay(tape, machine, machine.digest)
    assert caught.value.state == "cut"
    assert machine.digest() == week[1].digest()


def test_what_a_machine_fails_at_is_said_with_the_record(week: tuple[Path, LastPrices]) -> None:
    class Failing(LastPrices):
        def closed(self, connection: int, reason: str, at: Instant) -> None:
            raise RuntimeError("no such connection")

    with TapeReader(week[0]) as tape:
        number = next(record.number for record in tape if record.kind is RecordKind.CLOSED)
    failing = Failing()
    with TapeReader(week[0]) as tape, pytest.raises(RuntimeError) as caught:
        replay(tape, failing, failing.digest)
    assert caught.value.__notes__ == [f"at record {number:,} of the tape"]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (RecordKind.ANSWERED, b"x"),
        (RecordKind.ANSWERED, "x" * 40),
        (RecordKind.REFRESHED, "{}"),
        (RecordKind.REFRESHED, "[1]"),
        (RecordKind.REFRESHED, b"["),
        (RecordKind.CLOSED, b"1006"),
    ],
)
def test_a_record_that_does_not_hold_what_its_kind_says_is_said_to_be_so(kind: RecordKind, payload: Frame) -> None:
    with pytest.raises(DataError, match="the record of") as caught:
        replay([Record(7, kind, Instant(0, 0), 0, payload)], LastPrices(), str)
    assert caught.value.__notes__ == ["at record 7 of the tape"]
