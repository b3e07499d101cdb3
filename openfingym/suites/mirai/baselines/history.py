"""Events of a view as arrays, and training questions cut from them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import DataError
from openfingym.suites.mirai import taxonomy

if TYPE_CHECKING:
    from openfingym.vault import View

Codes = NDArray[np.int64]

RELATIONS = tuple(relation.code for relation in taxonomy.relations(2))
COUNTRIES = tuple(country.iso3 for country in taxonomy.countries())
RELATION_NUMBER = {code: number for number, code in enumerate(RELATIONS)}
COUNTRY_NUMBER = {code: number for number, code in enumerate(COUNTRIES)}
_KEPT = 4
"""Views whose events are kept."""
_histories: OrderedDict[tuple[str, object, bool], History] = OrderedDict()


@dataclass(frozen=True, eq=False)
class History:
    """All events that were known, in the order of their days."""

    first: date
    """Day 0."""
    day: Codes
    """Days since the first, int64[events]; so are the others, as places in :data:`COUNTRIES` and :data:`RELATIONS`."""
    head: Codes
    relation: Codes
    tail: Codes

    @property
    def last(self) -> int:
        """The last day with an event."""
        return int(self.day[-1])

    def number(self, day: date) -> int:
        """Days since the first."""
        return (day - self.first).days

    def questions(self, start: int, stop: int, most: int, rng: np.random.Generator) -> Codes:
        """Questions whose answer is known: (day, head, tail) with events on these days, int64[questions, 3].

        Args:
            start: first day.
            stop: behind the last day.
            most: at most so many, drawn.
            rng: draws them.
        """
        inside = slice(*np.searchsorted(self.day, (start, stop)))
        found = np.unique(np.stack((self.day[inside], self.head[inside], self.tail[inside]), axis=1), axis=0)
        return found if len(found) <= most else found[np.sort(rng.choice(len(found), most, replace=False))]

    def answers(self, questions: Codes) -> NDArray[np.bool_]:
        """Which relations each question has, bool[questions, relations]."""
        found = np.zeros((len(questions), len(RELATIONS)), dtype=bool)
        place = {tuple(question): number for number, question in enumerate(questions.tolist())}
        events = zip(self.day.tolist(), self.head.tolist(), self.tail.tolist(), self.relation.tolist(), strict=True)
        for day, head, tail, relation in events:
            if (number := place.get((day, head, tail))) is not None:
                found[number, relation] = True
        return found


def history_of(view: View) -> History:
    """The events of a view; those of the last few views are kept.

    Raises:
        DataError: none was known.
    """
    key = (view.digest, view.time, view.hindsight)
    if key not in _histories:
        rows = view.rows("events", columns=["date", "head", "relation", "tail"], order=["date"])
        if not rows:
            raise DataError(f"no event was known at {view.time}; choose a later time")
        days = np.array([row["date"] for row in rows], dtype="datetime64[D]").astype(np.int64)
        first = rows[0]["date"]
        assert isinstance(first, date)
        columns = [
            np.array([numbers[str(row[name])] for row in rows])
            for name, numbers in (("head", COUNTRY_NUMBER), ("relation", RELATION_NUMBER), ("tail", COUNTRY_NUMBER))
        ]
        _histories[key] = History(first, days - days[0], *columns)
        while len(_histories) > _KEPT:
            _histories.popitem(last=False)
    return _histories[key]
