"""The status of a series: its rounds, what is due, and what comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.questions.question import utc_text
from openfingym.rounds.generator import round_name
from openfingym.rounds.tick import MISSED, REPORT, deadline_of

if TYPE_CHECKING:
    from openfingym.rounds.book import Book
    from openfingym.rounds.ledger import AskedQuestion, LedgerClient
    from openfingym.rounds.schedule import RoundTimes

SHOWN = 12
"""How many rounds are shown by default, the latest ones."""
SETTLED = frozenset({"scored", "void"})
"""States of questions that do not wait for anything."""


@dataclass(frozen=True)
class RoundStatus:
    """The status of a round; moments are in nanoseconds since the epoch."""

    week: str
    """ISO week of the round."""
    state: str
    """``ungenerated``, ``open``, ``closed``, ``settled`` (all its questions are scored or void) or ``missed``."""
    generated_ns: int
    """The moment from which on the round is generated."""
    deadline_ns: int
    """The moment from which on it takes no more forecasts."""
    resolved_ns: int
    """The moment at which truths are asked for the first time."""
    forecasts: int
    """How many forecasts count, of all forecasters together."""
    questions: Mapping[str, int]
    """How many of its questions are in each state."""
    due: tuple[str, ...]
    """What a tick would do about the round now, in words."""

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON."""
        return {
            "round": self.week,
            "state": self.state,
            "generation": utc_text(self.generated_ns),
            "deadline": utc_text(self.deadline_ns),
            "resolution": utc_text(self.resolved_ns),
            "questions": dict(self.questions),
            "forecasts": self.forecasts,
            "due": list(self.due),
        }


@dataclass(frozen=True)
class SeriesStatus:
    """The status of a series; moments are in nanoseconds since the epoch."""

    now_ns: int
    """The time on the clock of the series."""
    rounds: tuple[RoundStatus, ...]
    """The latest rounds, in order."""
    earlier: int
    """How many rounds there were before these."""
    next_ns: int
    """The moment at which something is due next."""
    next_what: str
    """What is due at that moment, such as ``generate``."""

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON."""
        return {
            "now": utc_text(self.now_ns),
            "rounds": [row.to_dict() for row in self.rounds],
            "earlier_rounds": self.earlier,
            "next": {"at": utc_text(self.next_ns), "what": self.next_what},
        }


def status(book: Book, ledger: LedgerClient, shown: int = SHOWN) -> SeriesStatus:
    """The status of a series by its own clock; nothing is changed.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        shown: how many rounds to describe, the latest ones.
    """
    series = book.series
    now_ns = ledger.clock(series.clock_name)
    # A simulated clock is made by the first tick; until then it stands at the beginning.
    now_ns = book.since_ns if now_ns is None else now_ns
    rounds = list(series.rounds(book.since_ns, now_ns))
    described = [
        _round(book, times, ledger.questions(round_name(series.name, times.week)), now_ns) for times in rounds[-shown:]
    ]
    schedule = series.schedule
    by_name = {"generate": schedule.generate, "close": schedule.deadline}
    by_name |= {"resolve": schedule.resolve, "publish": schedule.publish}
    # Of several things that are due at the same moment, all are named.
    coming = {name: at.first(series.zone, now_ns) for name, at in by_name.items()}
    following = min(coming.values())
    what = ", ".join(name for name, at in coming.items() if at == following)
    return SeriesStatus(now_ns, tuple(described), len(rounds) - len(described), following, what)


def _round(book: Book, times: RoundTimes, asked: list[AskedQuestion], now_ns: int) -> RoundStatus:
    """The status of a round whose questions were ``asked``."""
    states = Counter(row.state for row in asked)
    over_ns = deadline_of(times, asked)
    late = now_ns >= over_ns
    # What a tick would do, by the conditions of `openfingym.rounds.tick`.
    due = []
    if not late and now_ns < times.deadline_ns:
        # An id is the name of the round, that of the source and a key. A source asks all its questions at once.
        prefix = f"{round_name(book.series.name, times.week)}/"
        sources = {row.question.id.removeprefix(prefix).partition("/")[0] for row in asked}
        due += [f"generate {name}" for name in book.series.asked if name not in sources]
    elif late and not asked and not book.has(times.week, MISSED):
        due.append("record as missed")
    waiting = sum(row.state not in SETTLED and row.question.evaluation_ns <= now_ns for row in asked)
    if waiting:
        due.append(f"resolve {waiting}")
    if late and asked and times.published_ns <= now_ns and not book.has(times.week, REPORT):
        due.append("publish")
    if not asked:
        state = "missed" if late else "ungenerated"
    elif not late:
        state = "open"
    else:
        state = "settled" if states.keys() <= SETTLED else "closed"
    return RoundStatus(
        times.week,
        state,
        times.generated_ns,
        over_ns,
        times.resolved_ns,
        sum(row.forecasts for row in asked),
        dict(states),
        tuple(due),
    )
