"""Playing a series: every question is answered once by everybody, whatever ends the run in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openfingym.agents.forecasting import find_forecasters
from openfingym.agents.forecasting.command import CommandForecaster
from openfingym.errors import ModelUnavailableError, OpenFinGymError, UsageError
from openfingym.questions.question import REPLAYED, moment_ns
from openfingym.receipts import Receipt
from openfingym.rounds.book import Book
from openfingym.rounds.forecaster import Batch, Said, said_of
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.records import Records
from openfingym.rounds.running import SeriesOutcome, run
from openfingym.rounds.tick import tick
from tests.openfingym.rounds.definitions import definition

EVENTS = """generator = "simulated"
category = "events"
market = "US"
horizons_days = [1, 9]
events = ["Does it rain", "Does it snow"]
"""
QUESTIONS = 4
"""Of a week, two of which are known a day after the deadline, and two a week later."""


def begun(folder: Path, name: str, more: str = "weeks = 2", clock: str = "simulated") -> Book:
    path = folder / f"{name}.toml"
    path.write_text(definition(name, clock=clock, more=more, source=EVENTS))
    return Book.begin(path, time.time_ns())


@dataclass
class Sure:
    """Says 0.9 of everything, and counts how often it was asked."""

    name: str = "sure"
    version: str = "1"
    uses_others: bool = False
    asked: Counter[str] = field(default_factory=Counter)
    fails_at: int = -1
    """Number of the question at which its service is away, once."""

    def forecast(self, batch: Batch) -> None:
        for one in batch.asked:
            if sum(self.asked.values()) == self.fails_at:
                self.fails_at = -1
                batch.keep(Said(one.question.id, "error", reason="away", record={"cost_usd": 0.1}))
                raise ModelUnavailableError("the endpoint is away")
            self.asked[one.question.id] += 1
            if batch.over():
                batch.keep(Said(one.question.id, "late"))
            else:
                batch.keep(said_of(one.question, {"probability": 0.9}, {"raw": "I am sure."}))


def forecasts_of(ledger: LedgerClient, name: str) -> Counter[tuple[str, str]]:
    """How many forecasts there are of each question and agent."""
    asked = [one.question.id for week in (44, 45) for one in ledger.questions(f"{name}/2026-W{week}")]
    found = (one for question in asked for one in ledger._questions.forecasts(question=question))
    return Counter((one["question"], one["agent"]) for one in found)


def entries(played: SeriesOutcome, state: str = "sent") -> int:
    return sum(one.counts.get(state, 0) for one in played.forecasts)


def test_two_weeks_are_played_to_the_last_truth(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begun(tmp_path, "whole")
    heard: list[Any] = []
    played = run(book, ledger, None, [Sure()], listener=heard.append)

    assert (played.complete, played.unsettled, played.faults) == (True, 0, [])
    assert entries(played) == 2 * QUESTIONS
    assert set(forecasts_of(ledger, "whole").values()) == {1}
    assert len(forecasts_of(ledger, "whole")) == 3 * 2 * QUESTIONS  # naive and market-implied are in every round
    assert [one.state for week in (44, 45) for one in ledger.questions(f"whole/2026-W{week}")] == ["scored"] * 8
    assert ledger.questions("whole/2026-W46") == []  # no third week, though the clock has passed it
    assert heard[0].what == "generated"
    lines = [json.loads(line) for line in (book.folder / "2026-W44/records/sure.jsonl").read_text().splitlines()]
    assert {line["at"] for line in lines} == {"2026-11-01T14:59:00Z"}  # an hour before the deadline
    assert {line["raw"] for line in lines} == {"I am sure."}
    assert played.receipt is not None
    receipt = Receipt.from_json(played.receipt.read_bytes())
    receipt.checked()
    opened = receipt.leaves[0].opened
    assert opened is not None
    assert json.loads(opened.content) == {"probability": 0.9}

    asked = Counter[str]()
    again = run(book, ledger, None, [Sure(asked=asked)])
    assert (again.complete, again.actions, again.forecasts) == (True, [], [])
    assert not asked


class Killed(BaseException):
    """In the place of a signal that ends a process between two requests to the verifier, or within one."""


class Mortal(LedgerClient):
    """A client that is killed at its n-th request: before it is sent, or after it was done and nothing was told."""

    def __init__(self, client: Any, at: int, *, done: bool) -> None:
        super().__init__(client)
        self.left, self._done = at, done
        for name in ("clock", "advance", "questions", "ask", "forecast", "resolve", "waiting", "checkpoint"):
            setattr(self, name, self._mortal(getattr(self, name)))

    def _mortal(self, method: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self._done:
                raise Killed
            found = method(*arguments, **named)
            if self.left == 0:
                raise Killed
            return found

        return called


@pytest.mark.parametrize("done", [False, True])
def test_a_run_that_is_killed_anywhere_is_gone_on_with(
    tmp_path: Path, verifier: Any, ledger: LedgerClient, *, done: bool
) -> None:
    name, at, runs, asked = f"killed-{done}".lower(), 1, 0, Counter[str]()
    book = begun(tmp_path, name)
    while runs < 200:  # each run is killed a little later than the one before
        runs += 1
        client = Mortal(ledger._client, at, done=done)
        try:
            played = run(Book(book.folder), client, None, [Sure(asked=asked)])
            break
        except Killed:
            at += 2 if runs % 3 else -1
    assert runs > 15
    assert played.complete
    assert set(asked.values()) == {1}  # what was said was kept before anything else
    assert len(asked) == 2 * QUESTIONS
    assert set(forecasts_of(ledger, name).values()) == {1}
    assert len(forecasts_of(ledger, name)) == 3 * 2 * QUESTIONS
    receipts = list((book.folder / "2026-W44/receipts/sure").glob("*.json"))
    assert len(receipts) == QUESTIONS


def test_a_service_that_is_away_stops_the_clock(tmp_path: Path, ledger: LedgerClient) -> None:
    book, sure = begun(tmp_path, "away"), Sure(fails_at=2)
    follower = Sure(name="follower", uses_others=True)
    stopped = run(book, ledger, None, [follower, sure])
    assert [fault.reason for fault in stopped.faults] == ["sure: the endpoint is away"]
    assert entries(stopped) == 2
    assert not follower.asked  # who follows the others waits for them
    assert stopped.now_ns == moment_ns("2026-11-01T14:59:00Z")

    played = run(book, ledger, None, [follower, sure])
    assert played.complete
    assert set(sure.asked.values()) == {1}
    assert forecasts_of(ledger, "away")["away/2026-W44/simulated/does-it-rain-1d", "follower"] == 1
    kept = Records.of(book, "2026-W44", "sure", "1")
    assert len(kept.path.read_text().splitlines()) == QUESTIONS + 1  # the failure stays on record
    assert {said.state for said in kept.said.values()} == {"sent"}


def test_what_is_not_said_in_time_is_missing(tmp_path: Path, ledger: LedgerClient) -> None:
    played = run(begun(tmp_path, "hurried", "weeks = 1"), ledger, None, [Sure()], week_limit_s=1e-9)
    assert (entries(played), entries(played, "late")) == (0, QUESTIONS)
    assert played.complete


def test_others_are_told_to_who_uses_them(tmp_path: Path, ledger: LedgerClient) -> None:
    @dataclass
    class Follower(Sure):
        name: str = "follower"
        uses_others: bool = True
        heard: set[str] = field(default_factory=set)

        def forecast(self, batch: Batch) -> None:
            self.heard |= {name for one in batch.asked for name in one.others}
            super().forecast(batch)

    follower = Follower()
    run(begun(tmp_path, "others", "weeks = 1"), ledger, None, [follower, Sure()])
    assert follower.heard == {"local/sure", "local/naive"}


def test_half_a_line_was_never_said(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begun(tmp_path, "torn", "weeks = 1")
    path = book.folder / "2026-W44/records/sure.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"question": "torn/2026-W44/simulated/does-it-rain-1d", "state": "se')
    assert entries(run(book, ledger, None, [Sure()])) == QUESTIONS
    assert [json.loads(line)["state"] for line in path.read_text().splitlines()] == ["sent"] * QUESTIONS


def test_what_a_full_disk_does_not_take_was_not_said(tmp_path: Path) -> None:
    kept = Records(tmp_path / "sure.jsonl", "sure", "1")
    with kept:
        whole, kept._descriptor = kept._descriptor, os.open("/dev/full", os.O_WRONLY)
        with pytest.raises(OpenFinGymError, match="free some space"):
            kept.keep(Said("q", "declined"), 0)
        os.close(kept._descriptor)
        kept._descriptor = whole
    assert not kept.said


def test_one_run_at_a_time(tmp_path: Path) -> None:
    book = begun(tmp_path, "twice")
    with book.running(), pytest.raises(UsageError, match="is being played by another"):
        book.running()
    book.running().release()


def test_how_many_weeks(tmp_path: Path, ledger: LedgerClient) -> None:
    endless = begun(tmp_path, "endless", "")
    with pytest.raises(UsageError, match="how many weeks"):
        run(endless, ledger, None, [])
    assert run(endless, ledger, None, [], weeks=1).complete
    assert Book(endless.folder).series.weeks == 1
    partly = begun(tmp_path, "partly")
    played = run(partly, ledger, None, [Sure()], weeks=1)
    assert (played.complete, played.unsettled, entries(played)) == (False, 2, QUESTIONS)
    assert run(partly, ledger, None, [Sure()]).complete
    with pytest.raises(UsageError, match="has 2 weeks, and 3 are asked for"):
        run(partly, ledger, None, [], weeks=3)


def test_a_missed_week_is_left_out_and_the_clock_never_goes_back(tmp_path: Path, ledger: LedgerClient) -> None:
    book = begun(tmp_path, "passed")
    ledger.advance("passed", moment_ns("2026-11-03T00:00:00Z"))  # somebody moved it past the first deadline
    played = run(book, ledger, None, [Sure()])
    assert next((one.what, one.week) for one in played.actions) == ("missed", "2026-W44")
    assert entries(played) == QUESTIONS
    with pytest.raises(UsageError, match="never goes back"):
        tick(book, ledger, None, moment_ns("2026-11-03T00:00:00Z"))


GENERATOR = """
from openfingym.rounds import Options


class Recorded(Options):
    @property
    def clocks(self):
        return frozenset({"replayed"})


class Past:
    options = Recorded

    def make(self, one, options):
        yield one.question("it", text="Did it?", form="probability", settled_ns=one.after(1), provider="manual",
                           category=options.category, market=options.market)


GENERATOR = Past()
"""


def test_a_recorded_past_is_replayed_and_never_called_simulated(tmp_path: Path, ledger: LedgerClient) -> None:
    (tmp_path / "past.py").write_text(GENERATOR)
    path = tmp_path / "past.toml"
    source = 'generator = "past.py"\ncategory = "events"\nmarket = "US"\n'
    path.write_text(definition("past", clock="replayed", more="weeks = 1", source=source))
    for clock in ("simulated", "real"):
        with pytest.raises(UsageError, match=r"asks of a recorded past, which needs clock = 'replayed'"):
            Book.begin(path, time.time_ns(), clock=clock)
    book = Book.begin(path, time.time_ns())
    played = run(book, ledger, None, [Sure()])

    assert played.complete  # nobody decided it, so that it is void in the end
    (row,) = ledger._questions.list(round_name="past/2026-W44")
    assert (row["simulated"], row["question"]["clock"]) == (False, f"{REPLAYED}past")
    assert (book.series.simulated, book.series.replayed, book.series.mark) == (False, True, "REPLAYED")
    simulated = tmp_path / "simulated.toml"
    simulated.write_text(definition("m", clock="replayed", source=EVENTS))
    with pytest.raises(UsageError, match=r"makes up its truths, which needs clock = 'simulated'; found 'replayed'"):
        Book.begin(simulated, time.time_ns())


PROGRAM = """
import json, sys, time
asked = json.load(sys.stdin)["question"]
if "rain" in asked["text"]:
    print("thinking aloud")
    print(json.dumps({"probability": 0.25}))
elif asked["id"].endswith("1d"):
    print("NO")
else:
    time.sleep(60)
"""


def test_a_command_of_ones_own(tmp_path: Path, ledger: LedgerClient) -> None:
    program = tmp_path / "mine.py"
    program.write_text(PROGRAM)
    mine = CommandForecaster((sys.executable, str(program)), question_s=1.5, parallel=4)
    book = begun(tmp_path, "own", "weeks = 1")
    played = run(book, ledger, None, [mine])
    assert played.forecasts[0].counts == {"sent": 2, "unparsed": 1, "late": 1}
    kept = Records.of(book, "2026-W44", "command", "1").said
    assert kept["own/2026-W44/simulated/does-it-snow-1d"].reason == "its last line is no JSON: 'NO'"
    stopped = run(begun(tmp_path, "none", "weeks = 1"), ledger, None, [CommandForecaster(("/nowhere",))])
    assert "cannot be started" in stopped.faults[0].reason


def test_names_of_forecasters() -> None:
    for names, message in (
        (["nobody"], "there is no forecaster 'nobody'"),
        (["react"], "needs a model"),
        (["ridge"], "forecasts no rounds"),
        (["react:action=block"], "blocks of code"),
    ):
        from openfingym.models.spec import ModelSpec

        specs = [ModelSpec.parse("stand-in/competent")] if "block" in names[0] else []
        with pytest.raises(UsageError, match=message), find_forecasters(names, specs=specs):
            pass
    with find_forecasters(["naive"]) as found:
        assert found == []  # the operator enters it at every tick


def test_a_model_without_tools_is_asked_in_words(tmp_path: Path, ledger: LedgerClient) -> None:
    from openfingym.models.spec import ModelSpec

    book = begun(tmp_path, "asked", "weeks = 1")
    with find_forecasters(["direct"], specs=[ModelSpec.parse("stand-in/competent")], parallel=2) as found:
        played = run(book, ledger, None, found)
    assert entries(played) + entries(played, "unparsed") == QUESTIONS
    (line, *_) = (book.folder / "2026-W44/records").glob("*.jsonl").__next__().read_text().splitlines()
    kept = json.loads(line)
    assert (kept["method"], kept["model"]) == ("T", "stand-in/competent")
    assert kept["completion_tokens"] > 0
    assert "2026-11-01T14:59:00Z" in kept["conversation"][1]["content"]


SLOW = """
import json, pathlib, sys, time
asked = json.load(sys.stdin)["question"]
with open(pathlib.Path(__file__).with_name("asked"), "a") as stream:
    print(asked["id"], file=stream)
time.sleep(0.2)
print(json.dumps({"probability": 0.25}))
"""


def test_the_command_is_killed_by_a_signal_and_repeated(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    book = begun(tmp_path, "signal", "weeks = 1")
    command = [sys.executable, "-m", "openfingym", "rounds", "run", "--parallel", "1", "--json"]
    command += ["--command", f"{sys.executable} {tmp_path / 'slow.py'}"]
    kept = book.folder / "2026-W44/records/command.jsonl"
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while not (kept.exists() and kept.read_bytes().count(b"\n") >= 2):
        assert first.poll() is None
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    before = kept.read_bytes().count(b"\n")

    done = subprocess.run(command, capture_output=True, check=True)

    found = json.loads(done.stdout)
    assert (found["complete"], found["faults"]) == (True, [])
    asked = Counter((tmp_path / "asked").read_text().split())
    assert len(asked) == QUESTIONS
    assert sum(asked.values()) <= QUESTIONS + 1  # but for the one that was being asked
    assert before <= 3
    assert kept.read_bytes().count(b"\n") == QUESTIONS
    assert found["forecasts"][0]["sent"] == QUESTIONS
    shown = subprocess.run(
        [*command[:3], "receipt", "verify", found["receipt"], "--json"], capture_output=True, check=True
    )
    assert json.loads(shown.stdout)[0]["holds"] is True
    assert b"nobody vouches" not in shown.stderr  # the key was met when the forecast was entered
