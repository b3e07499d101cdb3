"""Where a series stands: its rounds, what is due, and what comes next."""

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
"""Latest rounds that are told of."""
SETTLED = frozenset({"scored", "void"})


@dataclass(frozen=True)
class RoundStatus:
    """A round as it stands."""

    week: str
    state: str
    """``ungenerated``, ``open``, ``closed``, ``settled`` (all its questions are scored or void) or ``missed``."""
    generated_ns: int
    deadline_ns: int
    resolved_ns: int
    forecasts: int
    """Forecasts that count, of all forecasters."""
    questions: Mapping[str, int]
    """Its questions by their states."""
    due: tuple[str, ...]
    """What a tick would do about it now."""

    def to_dict(self) -> dict[str, Any]:
        """It as JSON."""
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
    """A series as it stands."""

    now_ns: int
    """By its own clock."""
    rounds: tuple[RoundStatus, ...]
    """The latest, in order."""
    earlier: int
    """How many rounds there were before these."""
    next_ns: int
    """When something is due next."""
    next_what: str
    """What that is."""


def status(book: Book, ledger: LedgerClient, shown: int = SHOWN) -> SeriesStatus:
    """Where a series stands, by its own clock; changes nothing.

    Args:
        book: the folder of the series.
        ledger: a client of the verifier that holds its questions.
        shown: how many rounds to tell of, the latest ones.
    """
    series = book.series
    now_ns = ledger.clock(series.clock_name)
    # A clock that is moved, and that nobody has moved yet stands at its beginning.
    now_ns = book.since_ns if now_ns is None else now_ns
    times = list(series.rounds(book.since_ns, now_ns))
    found = [_round(book, one, ledger.questions(round_name(series.name, one.week)), now_ns) for one in times[-shown:]]
    schedule = series.schedule
    by_name = {"generate": schedule.generate, "close": schedule.deadline}
    by_name |= {"resolve": schedule.resolve, "publish": schedule.publish}
    coming = {name: at.first(series.zone, now_ns) for name, at in by_name.items()}
    following = min(coming.values())
    what = ", ".join(name for name, at in coming.items() if at == following)
    return SeriesStatus(now_ns, tuple(found), len(times) - len(found), following, what)


def _round(book: Book, times: RoundTimes, asked: list[AskedQuestion], now_ns: int) -> RoundStatus:
    states = Counter(one.state for one in asked)
    over_ns = deadline_of(times, asked)
    late = now_ns >= over_ns
    due = []
    if not late and now_ns < times.deadline_ns:
        prefix = f"{round_name(book.series.name, times.week)}/"
        sources = {one.question.id.removeprefix(prefix).partition("/")[0] for one in asked}
        due += [f"generate {name}" for name in book.series.asked if name not in sources]
    elif late and not asked and not book.has(times.week, MISSED):
        due.append("record as missed")
    waiting = sum(one.state not in SETTLED and one.question.evaluation_ns <= now_ns for one in asked)
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
        sum(one.forecasts for one in asked),
        dict(states),
        tuple(due),
    )
