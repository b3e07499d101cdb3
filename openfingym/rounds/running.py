"""Playing a series: time passes, forecasters answer each week's questions before the deadline, truths come.

A clock that is moved stands an hour before each deadline while the week is forecast, and goes on when every forecaster
has spoken of every question. What was said is in a file and in the ledger before anything else is asked, so that a run
that is killed anywhere is gone on with by the same command: no question is asked twice, and no forecast is lost or
entered twice. By the real clock nobody waits for anything: what is open now is forecast, and the next time is told.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError, UsageError, VerifierError
from openfingym.questions.question import LATEST_NS
from openfingym.rounds.forecaster import Batch, Forecaster, KnowsWorld, QuestionInContext, Said
from openfingym.rounds.generator import round_name
from openfingym.rounds.records import Records
from openfingym.rounds.references import MARKET, NAIVE
from openfingym.rounds.status import SETTLED
from openfingym.rounds.tick import CLOSED, MISSED, Deed, Publisher, TickFailure, deadline_of, tick

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.questions.question import Question
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import AskedQuestion, LedgerClient
    from openfingym.rounds.schedule import RoundTimes

LEAD_NS = 3_600 * 10**9
"""How long before the deadline a week's questions are answered."""
ENTERED = frozenset({NAIVE, MARKET})
"""Forecasters that every tick enters."""


@dataclass(frozen=True)
class Forecasted:
    """What came of the questions of a week that one forecaster was asked."""

    week: str
    agent: str
    counts: dict[str, int]
    """Questions by what was said of them, as :data:`openfingym.rounds.forecaster.State` names it."""

    def to_dict(self) -> dict[str, Any]:
        """It as JSON."""
        return {"round": self.week, "agent": self.agent, **self.counts}


Listener = Callable[[Deed | Forecasted | TickFailure], None]
"""Told what was done, as it is."""


@dataclass
class SeriesOutcome:
    """What came of a run."""

    now_ns: int
    """Time on the clock of the series at its end."""
    complete: bool = False
    """Whether every question of the series is settled, and no round is left."""
    forecasts: list[Forecasted] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    faults: list[TickFailure] = field(default_factory=list)
    """Why it ended before its time; the same command goes on."""
    unsettled: int = 0
    """Questions of the rounds so far that wait for their truth."""
    receipt: Path | None = None
    """The receipt of one of the forecasts."""
    again_ns: int | None = None
    """By the real clock: when there is something to do again."""


def run(
    book: Book,
    ledger: LedgerClient,
    publish: Publisher | None,
    forecasters: Sequence[Forecaster],
    *,
    weeks: int | None = None,
    week_limit_s: float | None = None,
    listener: Listener = lambda _: None,
) -> SeriesOutcome:
    """Play a series, or go on with one; who calls this holds ``book.running()``.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        publish: writes a report; None to publish nothing.
        forecasters: who is asked, beside those that every tick enters.
        weeks: rounds to play, counted from the first; None for all that the definition says. Where that says none, the
            series has so many from now on.
        week_limit_s: seconds that a forecaster has for the questions of a week; None for as long as it takes.
        listener: told what was done.

    Raises:
        UsageError: there is no saying how many weeks, two forecasters have one name, or the clock is the real one and
            ``weeks`` is given.
        VerifierError: the verifier does not answer, or refuses.
        StoreError: a folder cannot be written.
    """
    names = [one.name for one in forecasters]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UsageError(f"{twice[0]} is named twice; each forecaster has a name of its own")
    if not book.series.moved:
        if weeks is not None:
            raise UsageError(f"{book.series.name} goes by the real clock, which nobody moves on; leave --weeks out")
    elif book.series.weeks is None:
        if weeks is None:
            raise UsageError(f"how many weeks? {book.series.name} has no end of its own; give --weeks")
        book = book.lasting(weeks)
    return _Run(book, ledger, publish, tuple(forecasters), week_limit_s, listener).play(weeks)


@dataclass
class _Run:
    book: Book
    ledger: LedgerClient
    publish: Publisher | None
    forecasters: tuple[Forecaster, ...]
    week_limit_s: float | None
    listener: Listener

    def __post_init__(self) -> None:
        self.found = SeriesOutcome(0)

    def play(self, weeks: int | None) -> SeriesOutcome:
        """Play so many rounds, or all."""
        if not self.book.series.moved:
            self._play_now()
            return self._ended()
        series, all_weeks = self.book.series, self.book.series.weeks
        assert all_weeks is not None
        if weeks is not None and weeks > all_weeks:
            raise UsageError(f"{series.name} has {all_weeks} weeks, and {weeks} are asked for")
        if self._tick(None):
            rounds = list(series.rounds(self.book.since_ns, LATEST_NS))[:weeks]
            if all(map(self._play_round, rounds)) and self._go_to(rounds[-1].published_ns):
                self._settle(rounds, whole=len(rounds) == all_weeks)
        return self._ended()

    def _play_round(self, times: RoundTimes) -> bool:
        """Generate a round and have it answered; whether the clock may move on."""
        if self.book.has(times.week, CLOSED) or self.book.has(times.week, MISSED):
            return True
        moment = max(times.generated_ns, times.deadline_ns - LEAD_NS)
        # All that was due before, and the generation, come first: they may fail, and are done once.
        return self._go_to(times.generated_ns) and self._go_to(moment) and self._forecast(times)

    def _settle(self, rounds: Sequence[RoundTimes], *, whole: bool) -> None:
        """Let time pass until every question has its truth, or none any more; of a series that goes on, leave that to
        its later rounds.
        """
        open_rounds = list(rounds)
        while True:
            waiting = [(times, left) for times in open_rounds if (left := self._unsettled(times))]
            self.found.unsettled = sum(len(left) for _, left in waiting)
            self.found.complete = whole and not waiting
            if not waiting or not whole:
                return
            open_rounds = [times for times, _ in waiting]
            due_ns = min(one.question.evaluation_ns for _, left in waiting for one in left)
            series = self.book.series
            if not self._go_to(max(due_ns, series.schedule.resolve.first(series.zone, self.found.now_ns))):
                return

    def _unsettled(self, times: RoundTimes) -> list[AskedQuestion]:
        asked = self.ledger.questions(round_name(self.book.series.name, times.week))
        return [one for one in asked if one.state not in SETTLED]

    def _play_now(self) -> None:
        """By the real clock: do what is due, and have what is open answered."""
        series = self.book.series
        self._tick(None)
        now = self.found.now_ns
        times = None
        for times in series.rounds(self.book.since_ns, now):
            if now < times.deadline_ns and not self._forecast(times):
                break
        schedule = series.schedule
        moments = [at.first(series.zone, now) for at in (schedule.generate, schedule.resolve)]
        self.found.again_ns = min(moments)

    def _go_to(self, moment_ns: int) -> bool:
        """Move the clock on to a moment, doing what is due on the way; whether it got there."""
        series = self.book.series
        moments = series.schedule.moments(series.zone, self.found.now_ns, moment_ns - 1)
        return all(self._tick(moment) for moment in (*moments, moment_ns) if moment > self.found.now_ns)

    def _tick(self, now_ns: int | None) -> bool:
        """Do what is due; whether all of it could be done."""
        done = tick(self.book, self.ledger, self.publish, now_ns)
        self.found.now_ns = done.now_ns
        for deed in done.deeds:
            self.found.deeds.append(deed)
            self.listener(deed)
        for fault in done.faults:
            self._failed(fault)
        return not done.faults

    def _failed(self, fault: TickFailure) -> None:
        self.found.faults.append(fault)
        self.listener(fault)

    def _forecast(self, times: RoundTimes) -> bool:
        """Have every forecaster answer the questions of a round; whether all of them could."""
        asked = self.ledger.questions(round_name(self.book.series.name, times.week))
        if not asked or self.found.now_ns >= deadline_of(times, asked):
            return True
        open_now = [one.question for one in asked if one.state == "pending"]
        well = True
        for forecaster in sorted(self.forecasters, key=lambda one: one.uses_others):
            # Who follows the others is asked when they have all spoken.
            if well or not forecaster.uses_others:
                well = self._ask(times, forecaster, open_now) and well
        return well

    def _ask(self, times: RoundTimes, forecaster: Forecaster, questions: Sequence[Question]) -> bool:
        now, reason = self.found.now_ns, ""
        records = Records.of(self.book, times.week, forecaster.name, forecaster.version)
        # What was said before it could be sent is sent first.
        waiting = [one for one in questions if one.id in records.said]
        left = [one for one in questions if one.id not in records.said]
        with records:
            try:
                self._send(times, records, waiting)
                if left:
                    begun = time.monotonic()
                    batch = Batch(
                        tuple(self._about(left, forecaster)),
                        datetime.fromtimestamp(now / 1e9, UTC),
                        lambda said: records.keep(said, now),
                        lambda: self.week_limit_s is not None and time.monotonic() - begun > self.week_limit_s,
                    )
                    try:
                        forecaster.forecast(batch)
                    finally:
                        self._send(times, records, left)
            except OpenFinGymError as error:
                if isinstance(error, VerifierError):
                    raise
                reason = str(error)
            missing = sum(one.id not in records.said for one in questions)
            if missing and not reason:
                reason = f"it said nothing of {missing} questions"
        if left or reason:
            counts = Counter[str](said.state for said in records.said.values())
            self.found.forecasts.append(Forecasted(times.week, forecaster.name, dict(counts)))
            self.listener(self.found.forecasts[-1])
        if reason:
            self._failed(TickFailure(now, times.week, f"{forecaster.name}: {reason}"))
        return not reason

    def _send(self, times: RoundTimes, records: Records, questions: Sequence[Question]) -> None:
        """Enter the answers that have no receipt yet."""
        for question in questions:
            said = records.said.get(question.id)
            path = self.book.receipt(times.week, records.agent, question.id)
            if said is None or said.answer is None or said.state != "sent" or path.exists():
                continue
            entered = self.ledger.forecast(question.id, said.answer, agent=records.agent, version=records.version)
            if entered.receipt is None:
                refused = Said(question.id, "refused", reason=entered.refused)
                records.keep(refused, self.found.now_ns)
            else:
                self.book.write_receipt(times.week, records.agent, question.id, entered.receipt)

    def _about(self, questions: Sequence[Question], forecaster: Forecaster) -> Iterator[QuestionInContext]:
        """Questions with what they are about, as far as their generators say."""
        series, worlds = self.book.series, dict[str, Any]()
        as_of = datetime.fromtimestamp(self.found.now_ns / 1e9, UTC)
        for question in questions:
            name = question.id.removeprefix(f"{question.round}/").partition("/")[0]
            source = series.asked.get(name)
            problem = world = None
            if source is not None and isinstance(source.generator, KnowsWorld):
                if name not in worlds:
                    vault = str(question.query.get("vault", ""))
                    worlds[name] = source.generator.world(source.options, as_of, vault)
                problem, world = source.generator.problem(question), worlds[name]
            others = self._others(question, forecaster) if forecaster.uses_others else {}
            yield QuestionInContext(question, problem, world, others)

    def _others(self, question: Question, forecaster: Forecaster) -> dict[str, Any]:
        """The latest answers of the others; a participant's own name may be anybody's."""
        ours = {one.name for one in self.forecasters if one.uses_others} | {forecaster.name, MARKET}
        found = self.ledger.answers(question.id)
        return {f"{principal}/{agent}": answer for (principal, agent), answer in found.items() if agent not in ours}

    def _ended(self) -> SeriesOutcome:
        """What came of it, with one of the receipts."""
        names = [one.name for one in self.forecasters] or [NAIVE]
        series = self.book.series
        for times in series.rounds(self.book.since_ns, self.found.now_ns):
            for name in (*names, NAIVE):
                folder = self.book.receipt(times.week, name, "").parent
                if found := min(folder.glob("*.json"), default=None):
                    self.found.receipt = found
                    return self.found
        return self.found
