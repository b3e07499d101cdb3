"""Ticks: whatever came when, the same rounds; nothing twice, nothing late, and nothing lost when one is killed."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym.questions import moment_ns
from openfingym.receipts.checkpoint import unsigned
from openfingym.rounds.book import Book
from openfingym.rounds.generator import round_name
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.status import status
from openfingym.rounds.tick import CHECKPOINT, CLOSED, MISSED, REPORT, TickResult, tick
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.rounds.definitions import RAIN, definition

START = "2026-10-26T00:00:00Z"
HOUR = 3_600 * 10**9
ONE = RAIN.replace("[7]", "[1]")
numbers = itertools.count()


def begin(folder: Path, *, source: str = ONE, timezone: str = "Asia/Singapore", schedule: str = "") -> Book:
    """Begin a simulated series of a name of its own, so that one verifier serves many."""
    name = f"s{next(numbers)}-{os.getpid()}"
    path = folder / f"{name}.toml"
    path.write_text(definition(name, timezone=timezone, start=START, schedule=schedule, source=source))
    return Book.begin(path, time.time_ns())


def ticked(book: Book, ledger: LedgerClient, now: int | str | None = None) -> TickResult:
    moment = moment_ns(now) if isinstance(now, str) else now
    return tick(book, ledger, lambda times, at: book.write(times.week, REPORT, {"at": at}), moment)


def asked(book: Book, ledger: LedgerClient, until_ns: int) -> set[str]:
    """Weeks that have questions."""
    weeks = [one.week for one in book.series.schedule.rounds(book.series.zone, book.since_ns, until_ns)]
    return {week for week in weeks if ledger.questions(round_name(book.series.name, week))}


def actions(found: TickResult) -> list[tuple[str, str]]:
    return [(one.what, one.week) for one in found.actions]


def test_a_round_from_its_generation_to_its_report(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)

    assert ticked(book, ledger, "2026-10-28T23:59:59Z").actions == []
    assert actions(ticked(book, ledger, "2026-10-29T00:00:00Z")) == [("generated", "2026-W44"), ("entered", "2026-W44")]
    assert actions(ticked(book, ledger, "2026-11-01T15:58:59Z")) == []
    assert actions(ticked(book, ledger, "2026-11-01T15:59:00Z")) == [("closed", "2026-W44")]
    assert actions(ticked(book, ledger, "2026-11-02T01:00:00Z")) == [("resolved", "")]
    assert actions(ticked(book, ledger, "2026-11-02T04:00:00Z")) == [("published", "2026-W44")]
    [question] = ledger.questions(f"{book.series.name}/2026-W44")
    assert question.state == "scored"
    assert question.forecasts == 2
    closed = json.loads((book.folder / "2026-W44" / CLOSED).read_text())
    assert (closed["questions"], closed["forecasts"]) == (1, 2)
    assert unsigned((book.folder / "2026-W44" / CHECKPOINT).read_text()).size > 3


def test_a_tick_that_is_repeated_does_nothing(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)
    first = ticked(book, ledger, "2026-11-19T12:00:00Z")

    assert [week for what, week in actions(first) if what == "generated"] == [f"2026-W{week}" for week in range(44, 48)]
    assert ticked(book, ledger, "2026-11-19T12:00:00Z").actions == []
    assert ticked(book, ledger).actions == []
    with pytest.raises(UsageError, match="stands at 2026-11-19T12:00:00Z already, and never goes back"):
        ticked(book, ledger, "2026-11-19T11:59:59Z")


def test_a_lost_folder_is_written_anew_from_the_ledger(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)
    ticked(book, ledger, "2026-11-06T00:00:00Z")
    for path in book.folder.glob("2026-W*"):
        shutil.rmtree(path)

    again = actions(ticked(book, ledger))

    assert again == [("closed", "2026-W44"), ("entered", "2026-W45"), ("published", "2026-W44")]
    assert [one.forecasts for one in ledger.questions(f"{book.series.name}/2026-W45")] == [2]


def test_a_round_whose_deadline_has_passed_is_missed(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)
    ticked(book, ledger, "2026-10-29T00:00:00Z")
    # As the real clock, which waits for no tick.
    ledger.advance(book.series.clock_name, moment_ns("2026-11-13T00:00:00Z"))

    found = ticked(book, ledger)

    assert actions(found)[:4] == [
        ("closed", "2026-W44"),
        ("missed", "2026-W45"),
        ("generated", "2026-W46"),
        ("entered", "2026-W46"),
    ]
    assert asked(book, ledger, found.now_ns) == {"2026-W44", "2026-W46"}
    [late] = ledger.questions(f"{book.series.name}/2026-W46")
    assert late.question.generated_ns == found.now_ns  # and not when it should have been
    assert [one.state for one in status(book, ledger).rounds] == ["settled", "missed", "open"]


@settings(
    deadline=None, max_examples=7, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    zone=st.sampled_from(["Asia/Singapore", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]),
    steps=st.lists(st.tuples(st.integers(0, 24 * 12), st.booleans()), min_size=1, max_size=6),
)
def test_whatever_ticks_came_when(
    tmp_path: Path, ledger: LedgerClient, zone: str, steps: list[tuple[int, bool]]
) -> None:
    """Each step lets some hours pass, in which the clock runs without ticks, or is moved by one."""
    book = begin(tmp_path, timezone=zone)
    now = ledger.advance(book.series.clock_name, book.since_ns)
    covered: list[tuple[int, int]] = []
    for hours, moved in steps:
        before, now = now, now + hours * HOUR
        if moved:
            ticked(book, ledger, now)
        else:
            ledger.advance(book.series.clock_name, now)
            ticked(book, ledger)
        covered.append((before if moved else now, now))

    for one in book.series.schedule.rounds(ZoneInfo(zone), book.since_ns, now):
        # Generated if and only if a tick came between generation and deadline; moving ticks come all the time.
        generated = any(first < one.deadline_ns and one.generated_ns <= last for first, last in covered)
        questions = ledger.questions(round_name(book.series.name, one.week))
        assert len(questions) == generated
        assert book.has(one.week, MISSED) == (not generated and now >= one.deadline_ns)
        for found in questions:
            assert one.generated_ns <= found.question.generated_ns < found.question.deadline_ns == one.deadline_ns
            assert found.question.deadline_ns < found.question.evaluation_ns
            assert found.forecasts == 2


def test_two_ticks_at_once_do_everything_once(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)
    found: list[TickResult] = []
    threads = [
        threading.Thread(target=lambda: found.append(ticked(Book(book.folder), ledger, "2026-11-12T12:00:00Z")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    generated = [one.week for each in found for one in each.actions if one.what == "generated"]
    assert sorted(generated) == ["2026-W44", "2026-W45", "2026-W46"]


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from openfingym.files import whole
from openfingym.rounds.book import Book
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.tick import tick
from openfingym.verifiers.client import VerifierClient

count, left = itertools.count(1), int(sys.argv[4])

def killing(function):
    def call(*arguments, **named):
        if next(count) == left:
            os.kill(os.getpid(), signal.SIGKILL)
        found = function(*arguments, **named)
        if next(count) == left:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return call

# Before and after every request and every file.
VerifierClient.json = killing(VerifierClient.json)
VerifierClient.checkpoint = killing(VerifierClient.checkpoint)
Book.write = killing(Book.write)
book = Book(Path(sys.argv[1]))
with VerifierClient(uds=Path(sys.argv[2]), admin_token=sys.stdin.readline().strip()) as client:
    publish = lambda times, at: book.write(times.week, "report.json", {"at": at})
    tick(book, LedgerClient(client), publish, int(sys.argv[3]))
"""


def test_a_tick_may_be_killed_anywhere(tmp_path: Path, ledger: LedgerClient, verifier: EmbeddedVerifier) -> None:
    target = moment_ns("2026-11-09T05:00:00Z")
    whole = begin(tmp_path)
    ticked(whole, ledger, target)
    wanted = sorted(path.relative_to(whole.folder).as_posix() for path in whole.folder.glob("2026-W*/*"))

    killed = 0
    book = begin(tmp_path)
    for left in itertools.count(3, 11):
        arguments = [str(book.folder), str(verifier.uds), str(target), str(left)]
        done = subprocess.run(
            [sys.executable, "-c", KILLED, *arguments], input=verifier.admin_token, text=True, check=False
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        killed += 1

    assert killed >= 3
    assert sorted(path.relative_to(book.folder).as_posix() for path in book.folder.glob("2026-W*/*")) == wanted
    for week in ("2026-W44", "2026-W45"):
        [one] = ledger.questions(f"{book.series.name}/{week}")
        assert (one.state, one.forecasts) == ("scored", 2)
    assert ticked(book, ledger).actions == []


TWO = f"""{ONE}
[[sources]]
generator = "away.py"
category = "c"
market = "m"
"""
AWAY = """
from pathlib import Path
from openfingym.errors import DataError
from openfingym.rounds import Options

class Away:
    options = Options
    def make(self, one, options):
        if not Path(__file__).with_name("back").exists():
            raise DataError("the service is away")
        return [one.question("q", text="Is it?", form="probability", settled_ns=one.after(1), provider="manual",
                             category="c", market="m")]

GENERATOR = Away()
"""


def test_a_source_that_is_away_is_asked_again_and_holds_nobody_up(tmp_path: Path, ledger: LedgerClient) -> None:
    (tmp_path / "away.py").write_text(AWAY)
    book = begin(tmp_path, source=TWO)

    found = ticked(book, ledger, "2026-10-29T00:00:00Z")
    assert [fault.reason for fault in found.faults] == ["away: the service is away"]
    assert [one.detail for one in found.actions if one.what == "generated"] == ["1 questions (simulated 1)"]
    assert status(book, ledger).rounds[0].due == ("generate away",)

    (tmp_path / "back").touch()
    found = ticked(book, ledger, "2026-10-30T00:00:00Z")
    assert not found.faults
    assert [one.detail for one in found.actions if one.what == "generated"] == ["1 questions (away 1)"]


def test_a_simulated_clock_stands_until_a_round_is_whole(tmp_path: Path, ledger: LedgerClient) -> None:
    """Otherwise the same tick that failed to ask would go on behind the deadline, and the questions would be lost."""
    (tmp_path / "away.py").write_text(AWAY)
    book = begin(tmp_path, source=TWO)

    found = ticked(book, ledger, "2026-11-19T12:00:00Z")
    assert [fault.reason for fault in found.faults] == ["away: the service is away"]
    assert found.now_ns == ledger.clock(book.series.clock_name) == moment_ns("2026-10-29T00:00:00Z")

    (tmp_path / "back").touch()
    assert not ticked(book, ledger, "2026-11-19T12:00:00Z").faults
    for week in range(44, 48):
        found_in_week = ledger.questions(f"{book.series.name}/2026-W{week}")
        assert {one.question.id.split("/")[2] for one in found_in_week} == {"simulated", "away"}


def test_a_question_without_a_truth_is_void_when_the_series_has_waited_enough(
    tmp_path: Path, ledger: LedgerClient
) -> None:
    (tmp_path / "away.py").write_text(AWAY)
    (tmp_path / "back").touch()
    book = begin(tmp_path, source=TWO, schedule="void_after_days = 6")
    ticked(book, ledger, "2026-11-08T00:59:59Z")
    assert {one.state for one in ledger.questions(f"{book.series.name}/2026-W44")} == {"scored", "resolvable"}

    found = ticked(book, ledger, "2026-11-08T01:00:00Z")

    assert actions(found)[0] == ("voided", "2026-W44")
    assert {one.state for one in ledger.questions(f"{book.series.name}/2026-W44")} == {"scored", "void"}
    assert ticked(book, ledger).actions == []


def test_the_real_clock_is_nobodys_to_move(tmp_path: Path, ledger: LedgerClient) -> None:
    """A round of last hour, which is late but not too late, and one of last week, which is."""
    (tmp_path / "away.py").write_text(AWAY)
    (tmp_path / "back").touch()
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    times = {"generate": now - timedelta(hours=1), "deadline": now + timedelta(hours=2)}
    times |= dict.fromkeys(("resolve", "publish"), now + timedelta(hours=3))
    path = tmp_path / "real.toml"
    path.write_text(
        'name = "hourly"\ntitle = "A test"\nclock = "real"\ntimezone = "UTC"\n'
        f"start = {(now - timedelta(days=8)).isoformat()}\n[schedule]\n"
        + "".join(f'{name} = "{at:%A %H:%M}"\n' for name, at in times.items())
        + '[[sources]]\ngenerator = "away.py"\ncategory = "c"\nmarket = "m"\n'
    )
    book = Book.begin(path, time.time_ns())

    with pytest.raises(UsageError, match="hourly goes by the real clock, which nobody moves"):
        ticked(book, ledger, "2030-01-01T00:00:00Z")
    found = ticked(book, ledger)

    assert [one.what for one in found.actions] == ["missed", "generated", "entered"]
    assert abs(found.now_ns - time.time_ns()) < HOUR
    [one] = ledger.questions(f"hourly/{found.actions[1].week}")
    assert one.question.generated_ns == found.now_ns > moment_ns(times["generate"])
    assert one.question.deadline_ns == moment_ns(times["deadline"])
    assert one.forecasts == 1  # naive: no market shows anything
    assert [one.state for one in status(book, ledger).rounds] == ["missed", "open"]
    assert ticked(book, ledger).actions == []


def test_a_changed_definition_keeps_the_rounds_there_were(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path)
    ticked(book, ledger, "2026-10-29T00:00:00Z")
    path = tmp_path / f"{book.series.name}.toml"
    path.write_text(path.read_text().replace("Thursday 08:00", "Wednesday 08:00"))
    changed = Book.begin(path, time.time_ns())

    # This week's round was generated by the old time, and is not generated again by the new one.
    found = ticked(changed, ledger, "2026-11-04T00:00:00Z")
    assert [week for what, week in actions(found) if what == "generated"] == ["2026-W45"]
    path.write_text(path.read_text().replace('clock = "simulated"', 'clock = "real"'))
    with pytest.raises(UsageError, match="makes up its truths"):
        Book.begin(path, time.time_ns())


@pytest.mark.parametrize("deadline", ["Friday 23:59", "Wednesday 23:59"])
def test_a_round_is_closed_at_the_deadline_that_its_questions_have(
    tmp_path: Path, ledger: LedgerClient, deadline: str
) -> None:
    book = begin(tmp_path)
    ticked(book, ledger, "2026-10-29T00:00:00Z")
    path = tmp_path / f"{book.series.name}.toml"
    path.write_text(path.read_text().replace("Sunday 23:59", deadline))
    changed = Book.begin(path, time.time_ns())

    # A checkpoint before the last forecast would prove nothing of it.
    assert "closed" not in [what for what, _ in actions(ticked(changed, ledger, "2026-11-01T15:58:59Z"))]
    [one] = ledger.questions(round_name(book.series.name, "2026-W44"))
    ledger.forecast(one.question.id, {"probability": 0.9}, agent="last", version="")
    found = ticked(changed, ledger, "2026-11-01T15:59:00Z")
    assert (actions(found), found.faults) == ([("closed", "2026-W44")], [])
    closed = json.loads((changed.folder / "2026-W44" / CLOSED).read_text())
    assert (closed["deadline"], closed["forecasts"]) == ("2026-11-01T15:59:00Z", 3)
    assert [one.state for one in status(changed, ledger).rounds] == ["closed"]


def test_a_market_that_closes_early_stops_no_round(
    tmp_path: Path, ledger: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = begin(tmp_path)
    monkeypatch.setattr(LedgerClient, "shown", lambda *_: {"closed": True})
    found = ticked(book, ledger, "2026-10-29T00:00:00Z")
    assert (actions(found), found.faults) == ([("generated", "2026-W44")], [])
    [one] = ledger.questions(round_name(book.series.name, "2026-W44"))
    assert one.forecasts == 0
