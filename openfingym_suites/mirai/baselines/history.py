"""The events of a view as arrays, and training questions that are cut from them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import DataError
from openfingym_suites.mirai import taxonomy

if TYPE_CHECKING:
    from openfingym.vault import View

Codes = NDArray[np.int64]

RELATIONS = tuple(relation.code for relation in taxonomy.relations(2))
COUNTRIES = tuple(country.iso3 for country in taxonomy.countries())
RELATION_NUMBER = {code: number for number, code in enumerate(RELATIONS)}
COUNTRY_NUMBER = {code: number for number, code in enumerate(COUNTRIES)}
VALIDATION_DAYS = 30
"""Days at the end of what is known, on whose questions the threshold is chosen."""
TRAINING_DAYS = 120
"""Days before those, whose questions are trained on."""
LEAST_PAST = 30
"""Days of events that must come before the first training question, or its features would say nothing."""
_MOST_HISTORIES = 4
"""How many views' events are kept in memory."""
_histories: OrderedDict[tuple[str, object, bool], History] = OrderedDict()


@dataclass(frozen=True, eq=False)
class History:
    """All events that were known, in the order of their days."""

    first: date
    """The day of the first event, which is day 0."""
    day: Codes
    """int64[events], the day of each event in days since the first, ascending."""
    head: Codes
    """int64[events], the country that acts, by its place in :data:`COUNTRIES`."""
    relation: Codes
    """int64[events], the relation, by its place in :data:`RELATIONS`."""
    tail: Codes
    """int64[events], the country that is acted upon, by its place in :data:`COUNTRIES`."""

    @property
    def last(self) -> int:
        """The last day with an event, in days since the first."""
        return int(self.day[-1])

    def number(self, day: date) -> int:
        """A day in days since the first."""
        return (day - self.first).days

    def questions(self, start: int, stop: int, most: int, rng: np.random.Generator) -> Codes:
        """Questions whose answer is known: (day, head, tail) with events on these days, int64[questions, 3].

        Args:
            start: the first day, in days since the first event.
            stop: the day after the last one.
            most: the most questions; of more than these, so many are drawn.
            rng: generator that draws them.
        """
        inside = slice(*np.searchsorted(self.day, (start, stop)))
        asked = np.unique(np.stack((self.day[inside], self.head[inside], self.tail[inside]), axis=1), axis=0)
        return asked if len(asked) <= most else asked[np.sort(rng.choice(len(asked), most, replace=False))]

    def drawn(self, most: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Questions to train on, and later ones to choose a threshold by, half as many at most.

        Args:
            most: the most questions to train on.
            rng: generator that draws them.
        """
        # The threshold is chosen on days that the model has not seen, as those that it will forecast.
        turn = self.last + 1 - VALIDATION_DAYS
        training = self.questions(max(turn - TRAINING_DAYS, LEAST_PAST), turn, most, rng)
        return training, self.questions(turn, self.last + 1, most // 2, rng)

    def answers(self, questions: Codes) -> NDArray[np.bool_]:
        """Which relations each question has, bool[questions, relations]."""
        true = np.zeros((len(questions), len(RELATIONS)), dtype=bool)
        place = {tuple(question): number for number, question in enumerate(questions.tolist())}
        events = zip(self.day.tolist(), self.head.tolist(), self.tail.tolist(), self.relation.tolist(), strict=True)
        for day, head, tail, relation in events:
            if (number := place.get((day, head, tail))) is not None:
                true[number, relation] = True
        return true


def history_of(view: View) -> History:
    """The events of a view; those of the last few views are kept.

    Raises:
        DataError: none was known.
    """
    # Views of one vault at one time are equal, but each question opens its own: they are told apart by what they show.
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
        while len(_histories) > _MOST_HISTORIES:
            _histories.popitem(last=False)
    return _histories[key]
