"""Baselines on the small world: closed forms, and that they beat what looks at no question."""

import subprocess
import sys
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd
import pytest

from openfingym.errors import DataError
from openfingym.metrics.registry import find_metric
from openfingym_suites.mirai.answers import labels
from openfingym_suites.mirai.baselines import fit_articles, fit_features, fit_regcn, frequency, recurrency
from openfingym_suites.mirai.baselines.history import history_of
from openfingym_suites.mirai.baselines.past import best_threshold, named
from openfingym_suites.mirai.question import RelationQuestion

from .conftest import COUNTRIES, FIRST_DAY, written

CUT = date(2023, 4, 10)


def end(day):
    return datetime.combine(day, time.max, UTC)


def asked(world, days=14):
    """Questions after the cut, and which codes are true, 0 or 1."""
    place = {code: number for number, code in enumerate(labels())}
    questions, truth = [], []
    for (day, head, tail), rows in world.events.groupby(["date", "head", "tail"]):
        if CUT < day <= CUT + timedelta(days=days):
            questions.append(RelationQuestion(day, head, tail, day - timedelta(days=1)))
            truth.append(np.zeros(len(place)))
            for code in rows["relation"]:
                truth[-1][[place[code], place[code[:2]]]] = 1.0
    return questions, np.stack(truth)


def f1(world, questions, truth, forecast):
    answers = [forecast(world.vault.as_of(end(question.today)), question).numbers() for question in questions]
    return find_metric("second_level_f1").compute({"y_true": truth, "y_pred": np.stack(answers)})


def test_recurrency_is_the_papers_formula(world):
    question = RelationQuestion(date(2023, 3, 16), "USA", "CHN", date(2023, 3, 15))
    found = recurrency(world.vault.as_of(end(question.today)), question)
    known = world.known("events", str(end(question.today)))
    pair = known[(known["head"] == "USA") & (known["tail"] == "CHN")]
    number = lambda day: (day - FIRST_DAY).days + 1  # noqa: E731
    expected = {code: number(max(rows["date"])) / number(question.day) for code, rows in pair.groupby("relation")}
    assert found.scores == pytest.approx(expected)
    assert list(found.scores.values()) == sorted(found.scores.values(), reverse=True)
    nobody = RelationQuestion(question.day, "AFG", "CHN", question.today)
    assert recurrency(world.vault.as_of(end(question.today)), nobody).codes == {}


def test_frequency_is_the_share_of_the_pairs_days(world):
    question = RelationQuestion(date(2023, 4, 16), "RUS", "UKR", date(2023, 4, 15))
    known = world.known("events", str(end(question.today)))
    pair = known[(known["head"] == "RUS") & (known["tail"] == "UKR")]
    shares = (pair["relation"].value_counts() / pair["date"].nunique()).to_dict()
    found = frequency(world.vault.as_of(end(question.today)), question)
    assert found.scores == pytest.approx({code: share for code, share in shares.items() if share >= 0.15})


def test_every_baseline_beats_the_most_frequent_relations_of_all(world):
    learned = world.vault.as_of(end(CUT))
    often = [code for code, _ in Counter(world.known("events", str(end(CUT)))["relation"]).most_common(5)]
    questions, truth = asked(world)
    blind = f1(world, questions, truth, lambda view, question: named(dict.fromkeys(often, 1.0), 0.5))
    for forecast in (
        recurrency,
        frequency,
        fit_features(learned, questions=250),
        fit_articles(world.vault, learned, questions=200),
    ):
        assert f1(world, questions, truth, forecast) > blind + 0.02


def test_regcn_gives_chances_that_are_the_same_again(world):
    pytest.importorskip("torch")
    today = FIRST_DAY + timedelta(days=47)
    view = world.vault.as_of(end(today))
    forecast = fit_regcn(view, epochs=1)
    question = RelationQuestion(today + timedelta(days=1), "USA", "CHN", today)
    answer = forecast(view, question)
    assert answer.scores
    assert forecast(view, question) == answer
    assert all(0.0 < score < 1.0 for score in answer.scores.values())


def test_what_is_fitted_and_forecast_does_not_depend_on_what_came_later(world, tmp_path):
    """The same from a vault from which everything later was deleted."""
    question = RelationQuestion(CUT + timedelta(days=1), "USA", "CHN", CUT)
    tables = {name: world.known(name, str(end(CUT))) for name in ("events", "articles", "event_articles")}
    truncated = written(tmp_path / "truncated", tables)
    answers = []
    for vault in (world.vault, truncated):
        view = vault.as_of(end(CUT))
        fitted = (fit_features(view, questions=120), fit_articles(vault, view, questions=120))
        answers.append([forecast(view, question) for forecast in (recurrency, frequency, *fitted)])
    assert answers[0] == answers[1]


def test_history_has_the_questions_and_answers_of_its_days(world):
    history = history_of(world.vault.as_of(end(CUT)))
    questions = history.questions(10, 20, 10_000, np.random.default_rng(0))
    known = world.known("events", str(end(CUT)))
    days = (pd.to_datetime(known["date"]) - pd.Timestamp(FIRST_DAY)).dt.days
    rows = known[(days >= 10) & (days < 20)]
    assert len(questions) == len(rows.groupby(["date", "head", "tail"]))
    assert history.answers(questions).sum() == len(rows)
    assert len(history.questions(10, 20, 7, np.random.default_rng(0))) == 7
    with pytest.raises(DataError, match="choose a later time"):
        history_of(world.vault.as_of("2022-01-01T00:00:00+00:00"))


def test_the_threshold_is_the_one_with_the_highest_f1():
    chances = [{"042": 0.6, "010": 0.25, "036": 0.05}, {"042": 0.55, "010": 0.25}]
    assert best_threshold(chances, [{"042"}, {"042"}]) == 0.3
    assert best_threshold(chances, [{"042", "010"}, {"042", "010"}]) == 0.1
    assert named(chances[0], 0.9).codes == {"04": ("042",)}
    assert named({}, 0.5).codes == {}


def test_baselines_load_what_they_need_alone():
    program = "import sys; from openfingym_suites.mirai.baselines import recurrency; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert len(COUNTRIES) == 10
