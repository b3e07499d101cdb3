"""A tick: doing whatever is due in a series, once.

A tick reads the clock of the series, and does in order what is due and not done: it generates rounds, closes them, has
truths asked for, and publishes. It may come at any time, as often as one likes, from several machines, and may be
killed anywhere: what it did is in the ledger or in a file that was written whole, and the next one goes on.

What missed ticks left undone is made up for, with one exception: a round whose deadline has passed is recorded as
missed and not generated, since its questions would pretend to be older than they are. A simulated clock is moved from
one moment of the schedule to the next, and stops where a round could not be generated completely, so that nothing is
missed by it.
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
"""Problems of a verifier's refusal that concern one source, so that the others go on: its provider cannot be asked now
or does not know its questions, they come too late, or a tick on another machine has asked them at this moment."""
LOOKS = 3
"""How often a provider must have been asked before a question is void by the real clock. After an outage, the first
time may be long after the evaluation."""
Publisher = Callable[["RoundTimes", int], None]
"""Writes the report of a series as of a round, at a time in nanoseconds since the epoch. The last file that it writes
is :data:`REPORT`, by which a report that was published is known."""


@dataclass(frozen=True)
class TickAction:
    """Something that a tick did."""

    at_ns: int
    """The time by the clock of the series, in nanoseconds since the epoch."""
    what: Literal["generated", "short", "entered", "closed", "missed", "resolved", "voided", "published"]
    """What was done; ``short`` says that a source had fewer questions than it wanted."""
    week: str
    """ISO week of the round; empty if it concerned no single round."""
    detail: str
    """What exactly was done, in words."""

    def to_dict(self) -> dict[str, str]:
        """The action as JSON."""
        return {"at": utc_text(self.at_ns), "what": self.what, "round": self.week, "detail": self.detail}


@dataclass(frozen=True)
class TickFailure:
    """Something that a tick could not do, and that the next one tries again."""

    at_ns: int
    """The time by the clock of the series, in nanoseconds since the epoch."""
    week: str
    """ISO week of the round; empty if it concerned no single round."""
    reason: str
    """What could not be done, and why."""

    def to_dict(self) -> dict[str, str]:
        """The failure as JSON."""
        return {"at": utc_text(self.at_ns), "round": self.week, "reason": self.reason}


@dataclass
class TickResult:
    """All that a tick did and could not do."""

    now_ns: int
    """The time on the clock of the series at the end of the tick, in nanoseconds since the epoch."""
    actions: list[TickAction] = field(default_factory=list)
    """What was done, in order."""
    faults: list[TickFailure] = field(default_factory=list)
    """What could not be done."""


def tick(book: Book, ledger: LedgerClient, publish: Publisher | None, now_ns: int | None = None) -> TickResult:
    """Do whatever is due in a series; waits while another tick of it is at work.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        publish: writes a report; None to publish nothing.
        now_ns: the moment up to which a simulated or replayed clock is moved, in nanoseconds since the epoch; None to
            leave the clock where it is.

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
        result = TickResult(0)
        for moment in _moments(book, ledger, now_ns):
            result.now_ns = moment
            _Tick(book, ledger, publish, moment, result).do()
            # The clock must not pass the deadline of a round that is incomplete: nothing can be asked after it.
            if series.moved and any(fault.week for fault in result.faults):
                break
    return result


def deadline_of(times: RoundTimes, asked: Sequence[AskedQuestion]) -> int:
    """The moment from which on a round takes no more answers, in nanoseconds since the epoch.

    Questions keep the deadline with which they were asked, whatever the definition has been changed to since.

    Args:
        times: the moments of the round by the definition.
        asked: the questions of the round.
    """
    return max((row.question.deadline_ns for row in asked), default=times.deadline_ns)


def _moments(book: Book, ledger: LedgerClient, now_ns: int | None) -> Iterator[int]:
    """The moments at which to do what is due; a simulated clock is moved to each before it is yielded."""
    series = book.series
    if not series.moved:
        now = ledger.clock(series.clock_name)
        assert now is not None
        yield now
        return
    current = ledger.clock(series.clock_name)
    if current is None:
        current = ledger.advance(series.clock_name, book.since_ns)
    target = current if now_ns is None else now_ns
    if target < current:
        raise UsageError(
            f"the clock of {series.name} stands at {utc_text(current)} already, and never goes back to "
            f"{utc_text(target)}"
        )
    # What is due where the clock stands comes first: a tick that was killed may have left some of it.
    yield current
    for moment in (*series.schedule.moments(series.zone, current, target - 1), target):
        if moment > current:
            yield ledger.advance(series.clock_name, moment)


@dataclass(frozen=True)
class _Tick:
    """Does what is due at one moment."""

    book: Book
    ledger: LedgerClient
    publish: Publisher | None
    now_ns: int
    result: TickResult

    def do(self) -> None:
        """Do what is due in every round of the series, and note it in the result."""
        series = self.book.series
        rounds = list(series.rounds(self.book.since_ns, self.now_ns))
        for times in rounds:
            if self.book.has(times.week, CLOSED) or self.book.has(times.week, MISSED):
                continue
            asked = self.ledger.questions(round_name(series.name, times.week))
            over_ns = deadline_of(times, asked)
            if self.now_ns >= over_ns:
                self._close(times, asked, over_ns)
            # Not between the two deadlines, if the definition's is now the earlier one.
            elif self.now_ns < times.deadline_ns:
                self._generate(times, asked)
        # Rounds are closed before truths are asked for, so that the checkpoint of a round is older than its truths; and
        # reports come last, with the truths of this moment.
        self._resolve()
        self._void()
        for times in rounds:
            if times.published_ns <= self.now_ns and self.book.has(times.week, CLOSED):
                self._publish(times)

    def _generate(self, times: RoundTimes, asked: Sequence[AskedQuestion]) -> None:
        """Ask the questions of every source that has asked none yet, and enter the reference forecasters."""
        made, entered = Counter[str](), Counter[str]()
        for name, source in self.book.series.asked.items():
            # All questions of a source are asked in one transaction: if there is one, all of them are there.
            own = f"{round_name(self.book.series.name, times.week)}/{name}/"
            questions = [row.question for row in asked if row.question.id.startswith(own)]
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
                self.result.faults.append(TickFailure(self.now_ns, times.week, f"{name}: {error}"))
        if made:
            parts = ", ".join(f"{name} {count}" for name, count in made.items())
            self._did("generated", times.week, f"{made.total()} questions ({parts})")
        if entered:
            self._did("entered", times.week, ", ".join(f"{agent} {count}" for agent, count in entered.items()))

    def _made(self, times: RoundTimes, name: str, source: LoadedSource) -> list[Question]:
        """Have the generator of a source make its questions."""

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
        """The questions that a source asked in the rounds before this one."""
        series, questions = self.book.series, []
        for before in series.schedule.rounds(series.zone, self.book.since_ns, times.generated_ns - 1):
            round_ = round_name(series.name, before.week)
            asked = (row.question for row in self.ledger.questions(round_))
            questions += [question for question in asked if question.id.startswith(f"{round_}/{name}/")]
        return questions

    def _enter(self, times: RoundTimes, name: str, questions: Sequence[Question]) -> Counter[str]:
        """Enter the reference forecasters for the questions of a source; returns how often each answered."""
        counts, file = Counter[str](), f"entered-{name}.json"
        if not questions or self.book.has(times.week, file):
            return counts
        for question in questions:
            shown = self.ledger.shown(question) or {}
            # A market that has closed early takes no more forecasts.
            if shown.get("closed"):
                continue
            for agent, answer in reference_answers(question, shown).items():
                entry = self.ledger.forecast(question.id, answer, agent=agent, version=VERSION)
                if entry.receipt is not None:
                    self.book.write_receipt(times.week, agent, question.id, entry.receipt)
                counts[agent] += 1
        # Last, since it says that all of them are entered; a killed tick enters them again, which changes nothing.
        self.book.write(times.week, file, dict(counts))
        return counts

    def _close(self, times: RoundTimes, asked: Sequence[AskedQuestion], over_ns: int) -> None:
        """Record what there was at the deadline of a round, or that it was missed."""
        if not asked:
            self.book.write(
                times.week,
                MISSED,
                {"noticed_at": utc_text(self.now_ns), "generation": utc_text(times.generated_ns)}
                | {"deadline": utc_text(times.deadline_ns)},
            )
            self._did("missed", times.week, f"nothing was asked before its deadline, {utc_text(times.deadline_ns)}")
            return
        forecasts = sum(row.forecasts for row in asked)
        # The checkpoint before the file that says that the round is closed: a killed tick closes it again.
        self.book.write(times.week, CHECKPOINT, self.ledger.checkpoint())
        self.book.write(
            times.week,
            CLOSED,
            {"closed_at": utc_text(self.now_ns), "deadline": utc_text(over_ns)}
            | {"questions": len(asked), "forecasts": forecasts},
        )
        self._did("closed", times.week, f"{len(asked)} questions, {forecasts} forecasts")

    def _resolve(self) -> None:
        """Have the truths of due questions asked for; the ledger may also have questions of other series."""
        done = self.ledger.resolve()
        # These concern no round, and do not stop a simulated clock: a truth may come later.
        self.result.faults += [
            TickFailure(self.now_ns, "", f"{name}: {reason}") for name, reason in done.problems.items()
        ]
        if counts := {name: count for name, count in done.counts.items() if count}:
            self._did("resolved", "", ", ".join(f"{count} {name}" for name, count in counts.items()))

    def _void(self) -> None:
        """Make questions void whose truth did not come within the time that the series waits."""
        series = self.book.series
        window_ns = series.schedule.void_after_days * DAY_NS
        for row in self.ledger.waiting(series.name):
            looked = series.moved or row.attempts >= LOOKS
            if looked and self.now_ns >= row.question.evaluation_ns + window_ns:
                self.ledger.void(row.question.id, f"no truth within {series.schedule.void_after_days} days")
                self._did("voided", row.question.round.rpartition("/")[2], row.question.id)

    def _publish(self, times: RoundTimes) -> None:
        """Write the report of a round, once."""
        if self.publish is None or self.book.has(times.week, REPORT):
            return
        self.publish(times, self.now_ns)
        self._did("published", times.week, str(self.book.folder / times.week))

    def _did(self, what: Any, week: str, detail: str) -> None:
        self.result.actions.append(TickAction(self.now_ns, what, week, detail))
