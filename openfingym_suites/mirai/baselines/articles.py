"""A forecaster from words, after ForecastQA: the articles that BM25 finds for a question, and a classifier of texts.

The paper's classifier is BERT; here each relation that is frequent enough in training has a logistic regression on
weighted words (scikit-learn).
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.answers import CodeAnswer
from openfingym_suites.mirai.baselines.history import COUNTRIES, RELATIONS, history_of
from openfingym_suites.mirai.baselines.past import best_threshold, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.vault import Vault, View
    from openfingym_suites.mirai.baselines.past import Forecaster
    from openfingym_suites.mirai.question import RelationQuestion

ARTICLES = 15
"""How many articles are read for a question."""
RAREST = 8
"""The fewest training questions that a relation must be an answer to, to have a classifier."""


def fit_articles(vault: Vault, view: View, horizon: int = 1, *, seed: int = 0, questions: int = 600) -> Forecaster:
    """Fit on what was known at a time; each training question reads the articles that were known at its own.

    Args:
        vault: the vault of the view. It is opened as of the times of training questions, none of which is later than
            the view's.
        view: the view to learn from; its last 30 days choose the threshold.
        horizon: days from the current date to the day that is asked about.
        seed: seed of the drawing of questions.
        questions: the most questions to train on; half as many choose the threshold.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    history, rng = history_of(view), np.random.default_rng(seed)
    training, validation = history.drawn(questions, rng)

    def read(asked: Sequence[Sequence[int]]) -> list[str]:
        """The texts of questions, each as of its own current date."""
        texts = []
        for day, head, tail in asked:
            end = datetime.combine(history.first + timedelta(days=day - horizon), time.max, UTC)
            # Never as of a time after the view, from which nothing may be learned.
            texts.append(_text(vault.as_of(min(end, view.time)), COUNTRIES[head], COUNTRIES[tail]))
        return texts

    answers = history.answers(training)
    count = answers.sum(axis=0)
    # A classifier needs questions with the relation and questions without it.
    often = np.flatnonzero((count >= RAREST) & (count < len(answers)))
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_features=20_000)
    x = words.fit_transform(read(training.tolist()))
    models = {RELATIONS[place]: LogisticRegression(C=10.0, max_iter=300).fit(x, answers[:, place]) for place in often}

    def chances(texts: Sequence[str]) -> list[dict[str, float]]:
        weighted = words.transform(texts)
        columns = {code: model.predict_proba(weighted)[:, 1].tolist() for code, model in models.items()}
        return [{code: column[number] for code, column in columns.items()} for number in range(len(texts))]

    true = [{RELATIONS[place] for place in np.flatnonzero(row)} for row in history.answers(validation)]
    threshold = best_threshold(chances(read(validation.tolist())), true)

    def forecast(view: View, question: RelationQuestion) -> CodeAnswer:
        return named(chances([_text(view, question.head, question.tail)])[0], threshold)

    return forecast


def _text(view: View, head: str, tail: str) -> str:
    """The question and its articles as one text, in which each country is a word that tells its side too."""
    names = taxonomy.country(head).name, taxonomy.country(tail).name
    hits = view.search("articles", " ".join(names), columns=["title", "text"], limit=ARTICLES)
    return " ".join([f"head_{head} tail_{tail}", *(f"{hit.row['title']} {hit.row['text']}" for hit in hits)])
