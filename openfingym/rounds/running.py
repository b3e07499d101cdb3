"""Playing a series: time passes, forecasters answer each week's questions before the deadline, truths come.

A simulated or replayed clock stands an hour before each deadline while the week is forecast, and goes on when every
forecaster has answered or declined every question. What was said is in a file before anything else is asked, so that
the same command continues a run that was killed anywhere: no question is asked twice, and no forecast is lost or
entered twice. By the real clock nothing is waited for: open questions are forecast, and the outcome says when there is
something to do again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from openfingym.errors import OpenFinGymError, UsageError, VerifierError
from openfingym.questions.question import LATEST_NS
from openfingym.rounds.forecaster import (
    AsksWithTools,
    Batch,
    Forecaster,
    KnowsWorld,
    QuestionInContext,
    Said,
    isolation_of,
)
from openfingym.rounds.generator import round_name
from openfingym.rounds.passes import Newcomer, assigned, same_questions
from openfingym.rounds.records import Records
from openfingym.rounds.references import MARKET, NAIVE
from openfingym.rounds.status import SETTLED
from openfingym.rounds.tick import CLOSED, MISSED, Publisher, TickAction, TickFailure, deadline_of, tick

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.questions.question import Question
    from openfingym.results import Isolation
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import AskedQuestion, LedgerClient
    from openfingym.rounds.schedule import RoundTimes

LEAD_NS = 3_600 * 10**9
"""How long before the deadline a week's questions are answered, in nanoseconds: an hour."""
ENTERED = frozenset({NAIVE, MARKET})
"""Names of the reference forecasters, which every tick enters."""


@dataclass(frozen=True)
class Forecasted:
    """How many questions of a week a forecaster answered or did not."""

    week: str
    """ISO week of the round."""
    agent: str
    """Name of the forecaster."""
    counts: dict[str, int]
    """How many questions there are in each state of :data:`openfingym.rounds.forecaster.State`."""
    isolation: Isolation
    """What of the forecaster runs in isolation."""

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON, with round, agent and its isolation."""
        return {"round": self.week, "agent": self.agent, "isolation": self.isolation, **self.counts}


Listener = Callable[[TickAction | Forecasted | TickFailure | Newcomer], None]
"""Receives what was done or could not be done, as soon as it was."""


@dataclass
class SeriesOutcome:
    """All that a run did, and where it ended."""

    now_ns: int
    """The time on the clock of the series at the end, in nanoseconds since the epoch."""
    complete: bool = False
    """Whether every question of the series is settled, and no round is left."""
    forecasts: list[Forecasted] = field(default_factory=list)
    """What forecasters answered, for each week and forecaster that something was asked."""
    actions: list[TickAction] = field(default_factory=list)
    """What ticks did, in order."""
    faults: list[TickFailure] = field(default_factory=list)
    """Why the run ended early; the same command continues it."""
    unsettled: int = 0
    """How many questions of the rounds so far wait for their truth."""
    receipt: Path | None = None
    """Path of the receipt of one of the forecasts; None if there is none."""
    again_ns: int | None = None
    """When there is something to do again, in nanoseconds since the epoch; None for a clock other than the real one."""
    newcomers: list[Newcomer] = field(default_factory=list)
    """The forecasters who came after a deadline."""


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
    """Play a series, or continue one; the caller holds the lock of ``book.running()``.

    A forecaster who comes after a deadline plays a pass of its own (:mod:`openfingym.rounds.passes`).

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        publish: writes a report; None to publish nothing.
        forecasters: the forecasters to ask, besides the reference forecasters, which every tick enters.
        weeks: how many rounds to play, counted from the first; None for all of the definition. If the definition does
            not say how many rounds there are, the series has this many from now on.
        week_limit_s: seconds that a forecaster has for the questions of a week; None for as long as it takes.
        listener: receives what was done or could not be done, as soon as it was.

    Raises:
        UsageError: the number of weeks is not stated anywhere, two forecasters have the same name, the clock is the
            real one and ``weeks`` is given, or a forecaster comes too late.
        VerifierError: the verifier does not answer, or refuses.
        StoreError: a folder cannot be written.
    """
    # Forecasters of one name would write to the same file of records, and to the same name in the ledger.
    names = [forecaster.name for forecaster in forecasters]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UsageError(f"{twice[0]} is named twice; each forecaster has a name of its own")
    if not book.series.moved:
        if weeks is not None:
            raise UsageError(f"{book.series.name} goes by the real clock, which nobody moves on; leave --weeks out")
    elif book.series.weeks is None:
        if weeks is None:
            raise UsageError(f"how many weeks? {book.series.name} has no end of its own; give --weeks")
        book = book.lasting(weeks)
    passes, newcomers = assigned(book, forecasters, weeks)
    for newcomer in newcomers:
        listener(newcomer)
    outcomes = []
    for one, group in passes:
        # The published report of a round is that of its first pass; the one made on demand has all passes.
        publishing = publish if one is book else None
        lasting = one.lasting(weeks) if one.series.weeks is None and weeks is not None else one
        outcomes.append(_Run(lasting, book, ledger, publishing, group, week_limit_s, listener).play(weeks))
    return _joined(outcomes, newcomers)


def _joined(outcomes: Sequence[SeriesOutcome], newcomers: Sequence[Newcomer]) -> SeriesOutcome:
    """The outcome of several passes as one: complete if all are; the time is that of the last one."""
    last = outcomes[-1]
    return SeriesOutcome(
        last.now_ns,
        all(one.complete for one in outcomes),
        [forecast for one in outcomes for forecast in one.forecasts],
        [action for one in outcomes for action in one.actions],
        [fault for one in outcomes for fault in one.faults],
        sum(one.unsettled for one in outcomes),
        next((one.receipt for one in reversed(outcomes) if one.receipt is not None), None),
        last.again_ns,
        list(newcomers),
    )


@dataclass
class _Run:
    """A run of a series. Steps that return a truth value say whether the clock may move on."""

    book: Book
    """The pass that is played."""
    series: Book
    """The first pass."""
    ledger: LedgerClient
    publish: Publisher | None
    forecasters: tuple[Forecaster, ...]
    week_limit_s: float | None
    listener: Listener

    def __post_init__(self) -> None:
        self.outcome = SeriesOutcome(0)

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
            # `map` is lazy: the first round that cannot be completed ends the run.
            rounds = list(series.rounds(self.book.since_ns, LATEST_NS))[:weeks]
            if all(map(self._play_round, rounds)) and self._go_to(rounds[-1].published_ns):
                self._settle(rounds, whole=len(rounds) == all_weeks)
        return self._ended()

    def _play_round(self, times: RoundTimes) -> bool:
        """Generate a round and have it answered."""
        if self.book.has(times.week, CLOSED) or self.book.has(times.week, MISSED):
            return True
        moment = max(times.generated_ns, times.deadline_ns - LEAD_NS)
        # The clock stops at the generation if that fails, which then has time until the deadline to be tried again.
        return self._go_to(times.generated_ns) and self._go_to(moment) and self._forecast(times)

    def _settle(self, rounds: Sequence[RoundTimes], *, whole: bool) -> None:
        """Let time pass until every question has its truth or is void.

        Args:
            rounds: the rounds that were played.
            whole: whether these are all rounds of the series; otherwise time passes when the later ones are played.
        """
        open_rounds = list(rounds)
        while True:
            waiting = [(times, left) for times in open_rounds if (left := self._unsettled(times))]
            self.outcome.unsettled = sum(len(left) for _, left in waiting)
            self.outcome.complete = whole and not waiting
            if not waiting or not whole:
                return
            open_rounds = [times for times, _ in waiting]
            # To the next evaluation, but always forward: a question may wait for its truth past its evaluation.
            due_ns = min(row.question.evaluation_ns for _, left in waiting for row in left)
            series = self.book.series
            if not self._go_to(max(due_ns, series.schedule.resolve.first(series.zone, self.outcome.now_ns))):
                return

    def _unsettled(self, times: RoundTimes) -> list[AskedQuestion]:
        """The questions of a round that are neither scored nor void."""
        asked = self.ledger.questions(round_name(self.book.series.name, times.week))
        return [row for row in asked if row.state not in SETTLED]

    def _play_now(self) -> None:
        """By the real clock: do what is due, and have open questions answered."""
        series = self.book.series
        self._tick(None)
        now = self.outcome.now_ns
        for times in series.rounds(self.book.since_ns, now):
            if now < times.deadline_ns and not self._forecast(times):
                break
        schedule = series.schedule
        moments = [at.first(series.zone, now) for at in (schedule.generate, schedule.resolve)]
        self.outcome.again_ns = min(moments)

    def _go_to(self, moment_ns: int) -> bool:
        """Move the clock to a moment, and do what is due on the way; whether all of it could be done."""
        series = self.book.series
        moments = series.schedule.moments(series.zone, self.outcome.now_ns, moment_ns - 1)
        return all(self._tick(moment) for moment in (*moments, moment_ns) if moment > self.outcome.now_ns)

    def _tick(self, now_ns: int | None) -> bool:
        """Do what is due; whether all of it could be done."""
        done = tick(self.book, self.ledger, self.publish, now_ns)
        self.outcome.now_ns = done.now_ns
        for action in done.actions:
            self.outcome.actions.append(action)
            self.listener(action)
        for fault in done.faults:
            self._failed(fault)
        return not done.faults

    def _failed(self, fault: TickFailure) -> None:
        self.outcome.faults.append(fault)
        self.listener(fault)

    def _forecast(self, times: RoundTimes) -> bool:
        """Have every forecaster answer the questions of a round; whether all of them could."""
        asked = self.ledger.questions(round_name(self.book.series.name, times.week))
        if not asked or self.outcome.now_ns >= deadline_of(times, asked):
            return True
        open_now = [row.question for row in asked if row.state == "pending"]
        well = True
        # Forecasters that use the others' answers come last, and only if those are complete.
        for forecaster in sorted(self.forecasters, key=lambda forecaster: forecaster.uses_others):
            if well or not forecaster.uses_others:
                well = self._ask(times, forecaster, open_now) and well
        return well

    def _ask(self, times: RoundTimes, forecaster: Forecaster, questions: Sequence[Question]) -> bool:
        """Have one forecaster answer the questions of a round that it has not answered yet; whether it could."""
        now, reason = self.outcome.now_ns, ""
        records = Records.of(self.book, times.week, forecaster.name, forecaster.version, isolation_of(forecaster))
        # What was recorded, but not entered before a kill, is entered first: the forecaster is not asked again.
        recorded = [question for question in questions if question.id in records.said]
        left = [question for question in questions if question.id not in records.said]
        with records:
            try:
                self._send(times, records, recorded)
                if left:
                    begun = time.monotonic()
                    batch = Batch(
                        tuple(self._about(left, forecaster)),
                        datetime.fromtimestamp(now / 1e9, UTC),
                        lambda said: records.keep(said, now),
                        lambda: self.week_limit_s is not None and time.monotonic() - begun > self.week_limit_s,
                    )
                    # A forecaster that fails half-way has answers too, which are entered before the deadline.
                    try:
                        forecaster.forecast(batch)
                    finally:
                        self._send(times, records, left)
            # Without the verifier nothing can go on; any other failure is this forecaster's.
            except OpenFinGymError as error:
                if isinstance(error, VerifierError):
                    raise
                reason = str(error)
            missing = sum(question.id not in records.said for question in questions)
            if missing and not reason:
                reason = f"it said nothing of {missing} questions"
        if left or reason:
            counts = Counter[str](said.state for said in records.said.values())
            said = Forecasted(times.week, forecaster.name, dict(counts), isolation_of(forecaster))
            self.outcome.forecasts.append(said)
            self.listener(self.outcome.forecasts[-1])
        if reason:
            self._failed(TickFailure(now, times.week, f"{forecaster.name}: {reason}"))
        return not reason

    def _send(self, times: RoundTimes, records: Records, questions: Sequence[Question]) -> None:
        """Enter the recorded answers that have no receipt yet."""
        for question in questions:
            said = records.said.get(question.id)
            path = self.book.receipt(times.week, records.agent, question.id)
            if said is None or said.answer is None or said.state != "sent" or path.exists():
                continue
            entry = self.ledger.forecast(question.id, said.answer, agent=records.agent, version=records.version)
            if entry.receipt is None:
                refused = Said(question.id, "refused", reason=entry.refused)
                records.keep(refused, self.outcome.now_ns)
            else:
                self.book.write_receipt(times.week, records.agent, question.id, entry.receipt)

    def _about(self, questions: Sequence[Question], forecaster: Forecaster) -> Iterator[QuestionInContext]:
        """The questions with what a forecaster may know about them, as far as their generators say."""
        series, worlds = self.book.series, dict[str, Any]()
        as_of = datetime.fromtimestamp(self.outcome.now_ns / 1e9, UTC)
        for question in questions:
            name = question.id.removeprefix(f"{question.round}/").partition("/")[0]
            # A definition that was changed may lack the source by now.
            source = series.asked.get(name)
            problem = world = with_tools = None
            if source is not None and isinstance(source.generator, KnowsWorld):
                # A world takes time to open, and is the same for all questions of a source.
                if name not in worlds:
                    vault = str(question.query.get("vault", ""))
                    worlds[name] = source.generator.world(source.options, as_of, vault)
                problem, world = source.generator.problem(question), worlds[name]
                if isinstance(source.generator, AsksWithTools):
                    with_tools = partial(source.generator.with_tools, question, world)
            others = self._others(question, forecaster) if forecaster.uses_others else {}
            yield QuestionInContext(question, problem, world, others, with_tools)

    def _others(self, question: Question, forecaster: Forecaster) -> dict[str, Any]:
        """The latest answers of the other forecasters to a question, by principal and agent.

        Both are in the name, because a participant may give an agent any name.
        """
        followers = {other.name for other in self.forecasters if other.uses_others}
        left_out = followers | {forecaster.name, MARKET}
        # Those of other passes too: each was made as of this moment. Who is in several has the same answer in each.
        return {
            f"{principal}/{agent}": answer
            for one in same_questions(self.book, self.series, question.id)
            for (principal, agent), answer in self.ledger.answers(one).items()
            if agent not in left_out
        }

    def _ended(self) -> SeriesOutcome:
        """The outcome, with one of the receipts as an example."""
        names = [forecaster.name for forecaster in self.forecasters] or [NAIVE]
        series = self.book.series
        for times in series.rounds(self.book.since_ns, self.outcome.now_ns):
            for name in (*names, NAIVE):
                folder = self.book.receipt(times.week, name, "").parent
                if receipt := min(folder.glob("*.json"), default=None):
                    self.outcome.receipt = receipt
                    return self.outcome
        return self.outcome
