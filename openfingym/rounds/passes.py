"""Passes of a season: a clock that is moved passes once more, for forecasters who come after the first deadlines.

A forecast after the deadline is no forecast, and no clock goes back. So a newcomer to a season that is being played, or
was, has a pass of its own: the same questions at the same moments, under another name and by another clock, from the
first round on. What a pass shows is the world as of its own time, as in the first one. Reports put the forecasts of all
passes beside each other (:func:`first_name`).

That needs truths that are the same each time. They are where the questions are about a recorded or made-up world; a
simulated market draws others for every clock, so that there is no second pass of it: a newcomer forecasts what is left
of the first one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from openfingym import store
from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, write_json, write_text
from openfingym.questions.question import LATEST_NS
from openfingym.rounds.book import BEGUN, DEFINITION, PASSES, Book, file_name
from openfingym.rounds.forecaster import Forecaster, KnowsWorld, isolation_of
from openfingym.rounds.records import FOLDER
from openfingym.rounds.tick import CLOSED, MISSED

if TYPE_CHECKING:
    from openfingym.results import Isolation
    from openfingym.rounds.series import Series

_LATER = re.compile(r"([^/+]*)\+[0-9]+/")


def first_name(name: str) -> str:
    """The name that a round or a question has in the first pass, given that of any pass."""
    return _LATER.sub(r"\1/", name, count=1) if _LATER.match(name) else name


def later_bounds(series: str) -> dict[str, str]:
    """The names between which those of the rounds of later passes of a series are, as ``first`` and ``behind``."""
    return {"first": f"{series}+", "behind": f"{series}{chr(ord('+') + 1)}"}


def passes_of(book: Book) -> list[Book]:
    """The passes of a series that were begun, the first one included."""
    numbers = sorted(int(path.parent.name) for path in (book.folder / PASSES).glob(f"[0-9]*/{BEGUN}"))
    return [book, *(Book(book.folder / PASSES / str(number)) for number in numbers)]


@dataclass(frozen=True)
class Newcomer:
    """A forecaster who comes to a season after the first deadlines."""

    agent: str
    """Name of the forecaster."""
    passed: int
    """How many deadlines of the first pass have passed."""
    number: int
    """Number of the pass that it plays: 1 if it forecasts what is left of the first one, and lacks the rest."""
    isolation: Isolation
    """What of the forecaster runs in isolation."""

    def to_dict(self) -> dict[str, Any]:
        """The values as JSON."""
        return {"agent": self.agent, "isolation": self.isolation, "passed": self.passed, "pass": self.number}


def assigned(
    book: Book, forecasters: Sequence[Forecaster], weeks: int | None
) -> tuple[list[tuple[Book, tuple[Forecaster, ...]]], list[Newcomer]]:
    """The pass that each forecaster plays: that in which it has begun, or the first whose deadlines all lie ahead.

    Args:
        book: the folder of the series.
        forecasters: who is to forecast.
        weeks: how many rounds are to be played, counted from the first; None for all.

    Returns:
        Each pass that is to be played, with its forecasters; the first pass alone if nobody is named. And the
        forecasters who come after a deadline.

    Raises:
        UsageError: a forecaster comes after all deadlines, and there can be no other pass.
        StoreError: the folder of a pass cannot be written.
    """
    passed = _passed(book)
    if not forecasters or not book.series.moved or not passed:
        return [(book, tuple(forecasters))], []
    known = passes_of(book)
    homes = [next((one for one in known if _has_begun(one, forecaster)), None) for forecaster in forecasters]
    late = [forecaster for forecaster, home in zip(forecasters, homes, strict=True) if home is None]
    new = book
    if late and is_repeatable(book.series):
        new = next((one for one in known if not _passed(one)), None) or _begun_again(book, known)
    elif late:
        _require_left(book, [forecaster.name for forecaster in late], weeks)
    groups: dict[int, tuple[Book, list[Forecaster]]] = {}
    for forecaster, home in zip(forecasters, homes, strict=True):
        groups.setdefault((home or new).number, (home or new, []))[1].append(forecaster)
    newcomers = [Newcomer(one.name, passed, new.number, isolation_of(one)) for one in late]
    return [(one, tuple(group)) for _, (one, group) in sorted(groups.items())], newcomers


def is_repeatable(series: Series) -> bool:
    """Whether the truths of a series are the same by every clock: those of a world, which its generators know."""
    return series.moved and all(isinstance(source.generator, KnowsWorld) for source in series.asked.values())


def _require_left(book: Book, late: Sequence[str], weeks: int | None) -> None:
    """Return if some round of a series is left, which those can forecast who come late."""
    series = book.series
    rounds = islice(series.rounds(book.since_ns, LATEST_NS), weeks)
    if all(_is_closed(book, times.week) for times in rounds):
        raise UsageError(
            f"{', '.join(late)}: all deadlines of {series.name} have passed, and its simulated markets would have "
            "other truths in another pass; name all agents and models in the command that begins a season, or begin a "
            "series of another name with `openfingym rounds init`"
        )


def _passed(book: Book) -> int:
    """How many rounds have a deadline that has passed."""
    return sum(_is_closed(book, folder.name) for folder in book.folder.glob("*-W*"))


def _is_closed(book: Book, week: str) -> bool:
    """Whether the deadline of a round has passed."""
    return book.has(week, CLOSED) or book.has(week, MISSED)


def _has_begun(book: Book, forecaster: Forecaster) -> bool:
    """Whether a forecaster was asked something in a pass."""
    return any(book.folder.glob(f"*/{FOLDER}/{file_name(forecaster.name)}.jsonl"))


def _begun_again(book: Book, known: Sequence[Book]) -> Book:
    """Begin another pass, by the definition as it is now."""
    number = max([1, *(one.number for one in known)]) + 1
    folder = book.folder / PASSES / str(number)
    with store_errors(folder, store.ELSEWHERE):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / DEFINITION, (book.folder / DEFINITION).read_text(encoding="utf-8"))
        # Written last: a pass is there as soon as this file is.
        begun = json.loads((book.folder / BEGUN).read_text(encoding="utf-8"))
        write_json(folder / BEGUN, begun | {"pass": number})
    return Book(folder)


def same_questions(book: Book, series: Book, question: str) -> Iterator[str]:
    """The ids of a question in all passes.

    Args:
        book: the pass in which it is asked.
        series: the folder of the series, which is the first pass.
        question: its id in that pass.
    """
    rest = question.removeprefix(f"{book.series.name}/")
    for one in passes_of(series):
        yield f"{one.series.name}/{rest}"
