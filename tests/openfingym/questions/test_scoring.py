"""The score of one forecast, against scikit-learn, the metrics of the library and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from openfingym.errors import DataError
from openfingym.metrics.interval import interval_score
from openfingym.metrics.probabilistic import pinball
from openfingym.questions import Question
from openfingym.questions.scoring import Scores, scores


def question(form, **more):
    if form in {"probabilities", "choice"}:
        more = {"outcomes": ("a", "b", "c")} | more
    if form == "quantiles":
        more = {"levels": (0.1, 0.5, 0.8)} | more
    if form == "interval":
        more = {"levels": (0.9,)} | more
    return Question("q", "?", form, generated_ns=1, deadline_ns=2, evaluation_ns=3, provider="manual", **more)


def test_a_probability_has_briers_loss():
    for p, y in [(0.7, 1.0), (0.2, 0.0), (0.0, 1.0), (1.0, 1.0)]:
        found = scores(question("probability"), (p,), y, {"probability": 0.6})
        assert found.loss == pytest.approx(brier_score_loss([int(y)], [p], labels=[0, 1]))
        assert (found.naive_loss, found.market_loss) == (0.25, pytest.approx((0.6 - y) ** 2))
        assert found.correct is ((p > 0.5) == (y == 1.0))


def test_probabilities_of_two_outcomes_have_the_loss_of_one_probability():
    two = question("probabilities", outcomes=("no", "yes"))
    for p, y in [(0.7, 1.0), (0.2, 0.3)]:
        assert scores(two, (1.0 - p, p), (1.0 - y, y), None).loss == pytest.approx(
            scores(question("probability"), (p,), y, None).loss
        )


def test_half_a_payout_counts_in_the_loss_and_nothing_is_correct():
    assert scores(question("probability"), (0.5,), 0.5, None) == Scores(0.0, 0.0, None, None)
    found = scores(question("choice"), (1.0,), (0.5, 0.5, 0.0), {"probabilities": {"a": 0.1, "b": 0.2, "c": 0.7}})
    assert found == Scores(0.5, 0.5, 1.0, None)
    assert scores(question("probabilities"), (0.5, 0.5, 0.0), (0.5, 0.5, 0.0), None).correct is None


def test_what_names_no_outcome_is_not_correct():
    assert scores(question("probability"), (0.5,), 1.0, None).correct is False
    assert scores(question("probabilities"), (0.4, 0.4, 0.2), (1, 0, 0), None).correct is False
    assert scores(question("probabilities"), (0.5, 0.4, 0.1), (1, 0, 0), None).correct is True
    assert scores(question("choice"), (2.0,), (0, 0, 1), None) == Scores(0.0, 1.0, None, True)


@pytest.mark.parametrize(
    ("measure", "truth", "near", "at"),
    [
        ("amount", 200.0, 209.99, 210.0),
        ("ratio", 3.0, 3.0299, 3.03),
        ("rate", 3.0, 3.002, 3.003),
        ("macro", -2.5, -2.52, -2.525),
        ("rate", 0.003, 0.0030029, 0.003003),
    ],
)
def test_a_number_is_correct_within_its_tolerance_and_not_at_it(measure, truth, near, at):
    asked = question("value", measure=measure)
    assert scores(asked, (near,), truth, None).correct is True
    assert scores(asked, (at,), truth, None).correct is False  # in binary 3.003 is less than 0.1 % above 3
    assert scores(asked, (2.0 * truth - near,), truth, None).correct is True
    assert scores(asked, (-truth,), truth, None).correct is False


def test_of_a_truth_of_zero_only_zero_is_correct():
    asked = question("value", measure="amount")
    assert scores(asked, (0.0,), 0.0, None) == Scores(0.0, None, None, True)
    assert scores(asked, (-0.0,), 0.0, None).correct is True
    assert scores(asked, (1e-12,), 0.0, None) == Scores(1e-12, None, None, False)
    assert scores(question("value"), (0.0,), 0.0, None).correct is None


def test_numbers_are_scored_over_the_price_and_beside_it():
    levels, found, truth, price = np.array([0.1, 0.5, 0.8]), (90.0, 100.0, 104.0), 103.0, 98.0
    reference = {"price": price}
    quantiles = scores(question("quantiles"), found, truth, reference)
    assert quantiles.loss == pytest.approx(2.0 * pinball(np.array([truth]), np.array([found]), levels) / price)
    flat = pinball(np.array([truth]), np.full((1, 3), price), levels)
    assert quantiles.naive_loss == quantiles.market_loss == pytest.approx(2.0 * flat / price)
    ends = scores(question("interval"), (99.0, 101.0), truth, reference)
    expected = interval_score(np.array([truth]), np.array([99.0]), np.array([101.0]), 0.9)
    assert ends.loss == pytest.approx(expected / price)
    assert scores(question("value"), (100.0,), truth, reference) == Scores(3.0 / 98.0, 5.0 / 98.0, 5.0 / 98.0, None)


def test_without_a_price_the_truth_is_the_scale_and_nothing_is_naive():
    assert scores(question("value"), (90.0,), -100.0, None) == Scores(1.9, None, None, None)
    assert scores(question("value"), (3.0,), 0.0, {"price": 0.0}) == Scores(3.0, 0.0, 0.0, None)


def test_a_tiny_scale_makes_no_infinite_loss():
    assert scores(question("value"), (1e15,), 1e-300, None).loss == 1e15


@pytest.mark.parametrize(
    ("form", "reference"),
    [
        ("probability", {"probability": 1.2}),
        ("probability", {"probability": None}),
        ("probability", {"price": 0.5}),
        ("probabilities", {"probabilities": [0.5, 0.5]}),
        ("probabilities", {"probabilities": {"a": 1.0}}),
        ("probabilities", {"probabilities": [0.0, 0.0, 0.0]}),
        ("choice", {"probabilities": "abc"}),
    ],
)
def test_a_market_that_shows_nothing_of_use_shows_nothing(form, reference):
    asked = question(form)
    values, truth = {"probability": ((0.5,), 1.0), "choice": ((0.0,), (1, 0, 0))}.get(form, ((1.0, 0, 0), (1, 0, 0)))
    found = scores(asked, values, truth, reference)
    assert found.market_loss is None
    assert found.naive_loss is not None


def test_asked_prices_of_outcomes_are_made_to_sum_to_one():
    found = scores(question("probabilities"), (1.0, 0.0, 0.0), (1, 0, 0), {"probabilities": [0.6, 0.4, 0.2]})
    assert found.market_loss == pytest.approx((0.5**2 + (1 / 3) ** 2 + (1 / 6) ** 2) / 2)


@pytest.mark.parametrize(
    ("form", "truth"),
    [
        ("probability", 1.1),
        ("probability", float("nan")),
        ("probability", True),
        ("probability", "yes"),
        ("choice", 1.0),
        ("choice", (1, 0)),
        ("probabilities", (0.5, 0.4, 0.0)),
        ("probabilities", (1, 1, -1)),
        ("value", float("inf")),
        ("value", (1.0,)),
        ("interval", None),
    ],
)
def test_what_is_no_truth_of_a_question_is_refused(form, truth):
    with pytest.raises(DataError, match="the truth of q"):
        scores(question(form), (0.0, 1.0, 0.0), truth, None)
