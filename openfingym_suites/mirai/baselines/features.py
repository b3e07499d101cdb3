"""A learned forecaster from features of the past: boosted trees (scikit-learn) on how often and how lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from openfingym_suites.mirai.answers import CodeAnswer
from openfingym_suites.mirai.baselines.history import COUNTRY_NUMBER, RELATIONS, Codes, History, history_of
from openfingym_suites.mirai.baselines.past import best_threshold, named

if TYPE_CHECKING:
    from openfingym.vault import View
    from openfingym_suites.mirai.baselines.past import Forecaster
    from openfingym_suites.mirai.question import RelationQuestion

SPANS = (3, 7, 30, 90, 10_000)
"""Days back over which events are counted; the last is longer than any database."""
NEVER_DAYS = 1000.0
"""Days since a relation that never was there."""


def fit_features(view: View, horizon: int = 1, *, seed: int = 0, questions: int = 700) -> Forecaster:
    """Fit on what was known at a time.

    Args:
        view: the view to learn from; its last 30 days choose the threshold.
        horizon: days from the current date to the day that is asked about.
        seed: seed of the drawing of questions, and of the trees.
        questions: the most questions to train on; half as many choose the threshold.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    history, rng = history_of(view), np.random.default_rng(seed)
    training, validation = history.drawn(questions, rng)
    # One model for all relations: a row is a question and a relation, and what it learns is how past makes future.
    model = HistGradientBoostingClassifier(max_iter=120, learning_rate=0.1, random_state=seed)
    model.fit(_stacked(history, training, horizon), history.answers(training).ravel())

    def chances(x: NDArray[np.float64]) -> list[dict[str, float]]:
        # So few rows are done sooner by one thread than handed to several. Only OpenMP's, whose limit is this thread's:
        # that of BLAS is the whole process's.
        with threadpool_limits(1, user_api="openmp"):
            scores = model.predict_proba(x)[:, 1].reshape(-1, len(RELATIONS))
        return [dict(zip(RELATIONS, row, strict=True)) for row in scores.tolist()]

    answers = [{RELATIONS[place] for place in np.flatnonzero(row)} for row in history.answers(validation)]
    threshold = best_threshold(chances(_stacked(history, validation, horizon)), answers)

    def forecast(view: View, question: RelationQuestion) -> CodeAnswer:
        known = history_of(view)
        head, tail = COUNTRY_NUMBER[question.head], COUNTRY_NUMBER[question.tail]
        return named(chances(_features(known, known.number(question.day), head, tail, question.horizon))[0], threshold)

    return forecast


def _stacked(history: History, questions: Codes, horizon: int) -> NDArray[np.float64]:
    """The features of questions, float64[questions * relations, features]."""
    return np.concatenate([_features(history, day, head, tail, horizon) for day, head, tail in questions.tolist()])


def _features(history: History, day: int, head: int, tail: int, horizon: int) -> NDArray[np.float64]:
    """What is known ``horizon`` days before a day, float64[relations, features].

    Args:
        history: the events of the view.
        day: the day that is asked about, as a number of the history.
        head: place of the country that acts in :data:`~openfingym_suites.mirai.baselines.history.COUNTRIES`.
        tail: place of the country that is acted upon.
        horizon: days from the current date to the day.
    """
    # Days are sorted, so the events that are known are a prefix.
    stop = int(np.searchsorted(history.day, day - horizon + 1))
    heads, tails = history.head[:stop] == head, history.tail[:stop] == tail
    back = (history.head[:stop] == tail) & (history.tail[:stop] == head)
    columns: list[NDArray[np.float64]] = []
    # Of the pair, of the pair the other way round, and of either country with anybody.
    for rows in (heads & tails, back, heads, tails):
        relations, ages = history.relation[:stop][rows], day - history.day[:stop][rows]
        columns.extend(_counted(relations, ages))
    # Of all countries, in the last 30 days and ever.
    starts = np.searchsorted(history.day, day - horizon + 1 - np.array([30, 10_000]))
    columns.extend(np.log1p(_count(history.relation[start:stop])) for start in starts)
    pair = int((heads & tails).sum())
    return np.stack([*columns, np.full(len(RELATIONS), np.log1p(pair))], axis=1)


def _counted(relations: Codes, ages: Codes) -> list[NDArray[np.float64]]:
    """Columns about some events: counts of each relation in each span, days since its last event, and the number of
    events of any relation in the last week.
    """
    counts = [np.log1p(_count(relations[ages <= span])) for span in SPANS]
    last = np.full(len(RELATIONS), NEVER_DAYS)
    np.minimum.at(last, relations, ages.astype(np.float64))
    recent = np.full(len(RELATIONS), np.log1p(float((ages <= 7).sum())))
    return [*counts, np.log1p(last), recent]


def _count(relations: Codes) -> NDArray[np.float64]:
    return np.bincount(relations, minlength=len(RELATIONS)).astype(np.float64)
