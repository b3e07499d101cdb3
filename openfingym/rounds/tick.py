"""A tick: doing whatever is due in a series, once.

A tick reads the series' clock, and does in order what is due and not done: it generates rounds, closes them, has truths
asked for, and publishes. It may come at any time, as often as one likes, from several machines, and may be killed
anywhere: what it did is in the ledger or in a file that was written whole, and the next one goes on.

Of missed ticks everything is made up for but one thing: a round whose deadline has passed is not generated, since its
questions would pretend to be older than they are. It is recorded as missed. A simulated clock is moved from one moment
of the schedule to the next, and stands where a round could not be generated whole, so that nothing is missed by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from openfingym.errors import OpenFinGymError, UsageError, VerifierError
from openfingym.questions.question import DAY_NS, utc_text
from openfingym.rounds.generator import Round, generate, round_name
from openfingym.rounds.references import VERSION, reference_answers

if TYPE_CHECKING:
    from openfingym.questions.question import Question
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import AskedQuestion, LedgerClient
    from openfingym.rounds.schedule import RoundTimes
    from openfingym.rounds.series import LoadedSource

CLOSED, CHECKPOINT, MISSED, REPORT = "closed.json", "checkpoint", "missed.json", "report.json"
PASSING = frozenset({"unavailable", "malformed-request", "deadline-passed", "idempotency-conflict"})
"""What a verifier refuses of one source, so that the others go on: its provider cannot be asked now, its questions are
none of that one's, they come too late, or a tick on another machine has asked them at this moment."""
LOOKS = 3
"""How often a provider was asked at least before a question is void by the real clock: one late look is too few."""
Publisher = Callable[["RoundTimes", int], None]
"""Writes the report of a series as of a round, at a time; its last file is :data:`REPORT`."""


@dataclass(frozen=True)
class Deed:
    """What a tick did."""

    at_ns: int
    """By the clock of the series."""
    what: Literal["generated", "short", "entered", "closed", "missed", "resolved", "voided", "published"]
    week: str
    """Of the round; empty where it was not one round's."""
    detail: str

    def to_dict(self) -> dict[str, str]:
        """It as JSON."""
        return {"at": utc_text(self.at_ns), "what": self.what, "round": self.week, "detail": self.detail}


@dataclass(frozen=True)
class TickFailure:
    """What a tick could not do, and the next one tries again."""

    at_ns: int
    week: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """It as JSON."""
        return {"at": utc_text(self.at_ns), "round": self.week, "reason": self.reason}


@dataclass
class Ticked:
    """What came of a tick."""

    now_ns: int
    """Time on the clock of the series at its end."""
    deeds: list[Deed] = field(default_factory=list)
    faults: list[TickFailure] = field(default_factory=list)


def tick(book: Book, ledger: LedgerClient, publish: Publisher | None, now_ns: int | None = None) -> Ticked:
    """Do whatever is due in a series; waits while another tick of it is at work.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        publish: writes a report; None to publish nothing.
        now_ns: where a simulated clock is to stand then; None to leave it where it is.

    Raises:
        UsageError: the clock is the real one and is to be moved, or a simulated one is to go back; or the rounds of the
            series are in another ledger.
        VerifierError: the verifier does not answer, or refuses.
        StoreError: the folder cannot be written.
    """
    series = book.series
    if now_ns is not None and not series.moved:
        raise UsageError(f"{series.name} goes by the real clock, which nobody moves; leave --now out")
    with book.lock():
        book.require_log(ledger.checkpoint())
        found = Ticked(0)
        for moment in _moments(book, ledger, now_ns):
            found.now_ns = moment
            _Tick(book, ledger, publish, moment, found).do()
            if series.moved and any(fault.week for fault in found.faults):
                break  # what a round still lacks could not be asked behind its deadline
    return found


def deadline_of(times: RoundTimes, asked: Sequence[AskedQuestion]) -> int:
    """When a round takes no more answers: its questions keep the deadline that they were asked with, whatever the
    definition says since.
    """
    return max((one.question.deadline_ns for one in asked), default=times.deadline_ns)


def _moments(book: Book, ledger: LedgerClient, now_ns: int | None) -> Iterator[int]:
    """The moments at which to do what is due; a simulated clock stands at each when it is given."""
    series = book.series
    if not series.moved:
        now = ledger.clock(series.clock_name)
        assert now is not None
        yield now
        return
    standing = ledger.clock(series.clock_name)
    if standing is None:
        standing = ledger.advance(series.clock_name, book.since_ns)
    target = standing if now_ns is None else now_ns
    if target < standing:
        raise UsageError(
            f"the clock of {series.name} stands at {utc_text(standing)} already, and never goes back to "
            f"{utc_text(target)}"
        )
    yield standing
    for moment in (*series.schedule.moments(series.zone, standing, target - 1), target):
        if moment > standing:
            yield ledger.advance(series.clock_name, moment)


@dataclass(frozen=True)
class _Tick:
    """What is due at one moment."""

    book: Book
    ledger: LedgerClient
    publish: Publisher | None
    now_ns: int
    found: Ticked

    def do(self) -> None:
        series = self.book.series
        rounds = list(series.rounds(self.book.since_ns, self.now_ns))
        for times in rounds:
            if self.book.has(times.week, CLOSED) or self.book.has(times.week, MISSED):
                continue
            asked = self.ledger.questions(round_name(series.name, times.week))
            over_ns = deadline_of(times, asked)
            if self.now_ns >= over_ns:
                self._close(times, asked, over_ns)
            elif self.now_ns < times.deadline_ns:
                self._generate(times, asked)
        self._resolve()
        self._void()
        for times in rounds:
            if times.published_ns <= self.now_ns and self.book.has(times.week, CLOSED):
                self._publish(times)

    def _generate(self, times: RoundTimes, asked: Sequence[AskedQuestion]) -> None:
        """Ask the questions of every source that has asked none yet, and enter the reference forecasters."""
        made, entered = Counter[str](), Counter[str]()
        for name, source in self.book.series.asked.items():
            # All questions of a source are asked in one transaction: where there is one, there are all.
            own = f"{round_name(self.book.series.name, times.week)}/{name}/"
            questions = [one.question for one in asked if one.question.id.startswith(own)]
            try:
                if not questions:
                    questions = self._made(times, name, source)
                    if questions:
                        self.ledger.ask(questions)
                        made[name] = len(questions)
                entered += self._enter(times, name, questions)
            except OpenFinGymError as error:
                if isinstance(error, VerifierError) and error.problem not in PASSING:
                    raise
                self.found.faults.append(TickFailure(self.now_ns, times.week, f"{name}: {error}"))
        if made:
            parts = ", ".join(f"{name} {count}" for name, count in made.items())
            self._did("generated", times.week, f"{made.total()} questions ({parts})")
        if entered:
            self._did("entered", times.week, ", ".join(f"{agent} {count}" for agent, count in entered.items()))

    def _made(self, times: RoundTimes, name: str, source: LoadedSource) -> list[Question]:
        def say(said: Mapping[str, Any]) -> None:
            self.book.write(times.week, f"generated-{name}.json", dict(said))
            if short := said.get("short"):
                parts = ", ".join(f"{what} {count}" for what, count in short.items())
                self._did("short", times.week, f"{name} lacks {parts}")

        def earlier() -> list[Question]:
            return self._earlier(times, name)

        one = Round(self.book.series, name, times, self.now_ns, self.ledger.shown, earlier, say)
        return generate(one, source.generator, source.options)

    def _earlier(self, times: RoundTimes, name: str) -> list[Question]:
        """What a source asked in the rounds before this one."""
        series, found = self.book.series, []
        for before in series.schedule.rounds(series.zone, self.book.since_ns, times.generated_ns - 1):
            round_ = round_name(series.name, before.week)
            own = (one.question for one in self.ledger.questions(round_))
            found += [one for one in own if one.id.startswith(f"{round_}/{name}/")]
        return found

    def _enter(self, times: RoundTimes, name: str, questions: Sequence[Question]) -> Counter[str]:
        """Enter the reference forecasters for the questions of a source; returns how often each answered."""
        counts, file = Counter[str](), f"entered-{name}.json"
        if not questions or self.book.has(times.week, file):
            return counts
        for question in questions:
            shown = self.ledger.shown(question) or {}
            if shown.get("closed"):  # it takes no forecasts any more
                continue
            for agent, answer in reference_answers(question, shown).items():
                entered = self.ledger.forecast(question.id, answer, agent=agent, version=VERSION)
                if entered.receipt is not None:
                    self.book.write_receipt(times.week, agent, question.id, entered.receipt)
                counts[agent] += 1
        self.book.write(times.week, file, dict(counts))
        return counts

    def _close(self, times: RoundTimes, asked: Sequence[AskedQuestion], over_ns: int) -> None:
        if not asked:
            self.book.write(
                times.week,
                MISSED,
                {"noticed_at": utc_text(self.now_ns), "generation": utc_text(times.generated_ns)}
                | {"deadline": utc_text(times.deadline_ns)},
            )
            self._did("missed", times.week, f"nothing was asked before its deadline, {utc_text(times.deadline_ns)}")
            return
        forecasts = sum(one.forecasts for one in asked)
        self.book.write(times.week, CHECKPOINT, self.ledger.checkpoint())
        self.book.write(
            times.week,
            CLOSED,
            {"closed_at": utc_text(self.now_ns), "deadline": utc_text(over_ns)}
            | {"questions": len(asked), "forecasts": forecasts},
        )
        self._did("closed", times.week, f"{len(asked)} questions, {forecasts} forecasts")

    def _resolve(self) -> None:
        found = self.ledger.resolve()
        self.found.faults += [
            TickFailure(self.now_ns, "", f"{name}: {reason}") for name, reason in found.problems.items()
        ]
        if counts := {name: count for name, count in found.counts.items() if count}:
            self._did("resolved", "", ", ".join(f"{count} {name}" for name, count in counts.items()))

    def _void(self) -> None:
        """Give up questions that waited for their truth longer than the series waits."""
        series = self.book.series
        window_ns = series.schedule.void_after_days * DAY_NS
        for one in self.ledger.waiting(series.name):
            looked = series.moved or one.attempts >= LOOKS
            if looked and self.now_ns >= one.question.evaluation_ns + window_ns:
                self.ledger.void(one.question.id, f"no truth within {series.schedule.void_after_days} days")
                self._did("voided", one.question.round.rpartition("/")[2], one.question.id)

    def _publish(self, times: RoundTimes) -> None:
        if self.publish is None or self.book.has(times.week, REPORT):
            return
        self.publish(times, self.now_ns)
        self._did("published", times.week, str(self.book.folder / times.week))

    def _did(self, what: Any, week: str, detail: str) -> None:
        self.found.deeds.append(Deed(self.now_ns, what, week, detail))
