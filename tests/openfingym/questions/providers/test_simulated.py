from __future__ import annotations

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.questions.providers import find_provider
from openfingym.questions.sim.market import ORIGIN_NS, TICK_NS, PricePath
from openfingym.questions.sim.path import brownian
from tests.openfingym.questions.providers.questions import DAY, END, HOUR, ask

KEY = b"key of the verifier"


@pytest.fixture
def simulated():
    return find_provider("simulated", KEY)


def event(number: int, form="probability", **more):
    return ask("simulated", {"market": f"m{number}"}, form, id=f"q{number}", **more)


def truths(simulated, questions):
    return np.array([simulated.answers([one], END)[one.id].truth for one in questions])


def test_the_price_of_an_event_is_calibrated(simulated):
    questions = [event(number) for number in range(4000)]
    shown = np.array([simulated.reference(one, END - DAY)["probability"] for one in questions])
    truth = truths(simulated, questions)
    assert set(truth) == {0.0, 1.0}
    # The expected Brier score of a calibrated p is p (1 - p), and the truth's mean is p in every bin.
    assert np.mean((shown - truth) ** 2) == pytest.approx(np.mean(shown * (1 - shown)), abs=0.012)
    for low in np.arange(0.0, 1.0, 0.2):
        bin_ = (shown >= low) & (shown < low + 0.2)
        assert truth[bin_].mean() == pytest.approx(shown[bin_].mean(), abs=4 * 0.5 / np.sqrt(bin_.sum()))
    earlier = np.array([simulated.reference(one, END - 3 * DAY)["probability"] for one in questions])
    gained = np.mean((earlier - truth) ** 2) - np.mean((shown - truth) ** 2)
    assert gained > 0.015, "the price must learn as the end comes near"
    assert np.mean(shown - earlier) == pytest.approx(0.0, abs=0.02)


def test_prices_of_many_outcomes_are_calibrated_and_end_at_one_of_them(simulated):
    questions = [event(number, "choice", outcomes=("a", "b", "c")) for number in range(2000)]
    shown = np.array([simulated.reference(one, END - DAY)["probabilities"] for one in questions])
    truth = truths(simulated, questions)
    np.testing.assert_allclose(shown.sum(axis=1), 1.0)
    assert sorted(map(tuple, np.unique(truth, axis=0))) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    expected = np.sum(shown * (1 - shown), axis=1).mean()
    assert np.sum((shown - truth) ** 2, axis=1).mean() == pytest.approx(expected, abs=0.03)


def test_a_price_moves_by_its_volatility_without_drift(simulated):
    paths = [simulated.prices({"symbol": f"S{number}", "volatility": 0.4}) for number in range(2000)]
    for before, after in ((END - 9 * DAY, END), (ORIGIN_NS - 8 * DAY, ORIGIN_NS + DAY)):
        ratio = np.array([path.at(after)[0] / path.at(before)[0] for path in paths])
        spread = 0.4 * np.sqrt(9 / 365.25)
        assert np.log(ratio).std() == pytest.approx(spread, rel=0.07)
        assert ratio.mean() == pytest.approx(1.0, abs=4 * spread / np.sqrt(len(paths)))


def test_the_probability_of_a_level_is_calibrated(simulated):
    questions = [
        ask("simulated", {"symbol": f"S{number}", "above": simulated.prices({"symbol": f"S{number}"}).at(END - DAY)[0]})
        for number in range(1000)
    ]
    shown = [simulated.reference(one, END - DAY)["probability"] for one in questions]
    assert truths(simulated, questions).mean() == pytest.approx(np.mean(shown), abs=0.06)


def test_values_at_halves_of_a_brownian_motion_are_of_one_path():
    def value(tick):
        return brownian(KEY, "p", tick, 12)

    steps = np.diff([value(tick) for tick in range((1 << 12) + 1)])
    assert value(0) == 0.0
    assert steps.std() == pytest.approx(2.0**-6, rel=0.05)
    assert abs(np.corrcoef(steps[1:], steps[:-1])[0, 1]) < 0.06


def test_a_price_looks_no_tick_ahead():
    path = PricePath(KEY, "A")
    price, at_ns = path.at(END)
    assert at_ns <= END < at_ns + TICK_NS
    assert path.at(at_ns) == path.at(at_ns + TICK_NS - 1) == (price, at_ns)
    assert path.at(ORIGIN_NS) == (100.0, ORIGIN_NS)


@pytest.mark.parametrize("form", ["value", "quantiles", "interval"])
def test_a_number_is_the_price_at_the_evaluation_time(simulated, form):
    question = ask("simulated", {"symbol": "A", "start": 20.0}, form, unit="USD")
    assert simulated.answers([question], END - 1)[question.id].status == "waiting"
    found = simulated.answers([question], END + 5 * DAY)[question.id]
    assert found.truth == simulated.reference(question, END)["price"]
    assert (found.provider_ns, found.evidence["at_ns"] <= END) == (END, True)
    assert found.evidence["simulated"] is True


def test_another_key_makes_another_market_and_the_same_key_the_same(simulated):
    questions = [event(number) for number in range(64)]
    first = truths(simulated, questions)
    assert (first == truths(find_provider("simulated", KEY), questions)).all()
    assert (first != truths(find_provider("simulated", KEY + b"!"), questions)).any()


def test_without_a_key_nothing_is_made_up():
    with pytest.raises(UsageError, match="has no key"):
        find_provider("simulated").answers([event(1)], END)
    assert "key of" not in repr(find_provider("simulated", KEY))


def test_two_questions_about_one_event_have_one_truth(simulated):
    one, other = event(1), ask("simulated", {"market": "m1"}, id="q2")
    assert simulated.answers([one, other], END)["q1"].truth == simulated.answers([other], END)["q2"].truth
    assert simulated.reference(one, END - HOUR) == simulated.reference(other, END - HOUR)


@pytest.mark.parametrize(
    ("query", "form", "why"),
    [
        ({}, "probability", "lacks 'market'"),
        ({"market": "m", "seed": 1.0}, "probability", "has 'seed'"),
        ({"market": "m"}, "value", "its form is value"),
        ({"symbol": "A"}, "probability", "lacks 'above'"),
        ({"symbol": "A", "above": 1.0}, "value", "has 'above'"),
        ({"symbol": "A", "volatility": 9.0}, "value", "volatility of its query is 9.0; expected 0 to 5"),
        ({"symbol": 3.0}, "value", "symbol of its query is 3.0; expected a text"),
        ({"market": "m", "half_known_h": True}, "probability", "expected a number"),
    ],
)
def test_a_query_that_it_does_not_know_is_refused(simulated, query, form, why):
    with pytest.raises(UsageError, match=why):
        simulated.check(ask("simulated", query, form))


def test_a_clock_that_is_ahead_shows_nothing_of_what_comes_by_another():
    simulated = find_provider("simulated", KEY)

    def said(clock, query, form, **more):
        questions = [ask("simulated", {**query, "symbol": f"S{n}"} if form == "value" else {"market": f"M{n}"}, form,
                         id=f"q{n}", clock=clock, **more) for n in range(40)]  # fmt: skip
        return [found.truth for found in simulated.answers(questions, END).values()]

    for form in ("value", "probability"):
        ahead, behind = said("season", {}, form), said("another", {}, form)
        assert ahead == said("season", {}, form)
        assert ahead != behind
        if form == "value":
            assert not set(ahead) & set(behind)
