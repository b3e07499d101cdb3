"""Sets and rankings of codes against scikit-learn, SciPy and rankings sorted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import rel_entr
from sklearn import metrics as sk

from openfingym.errors import DataError, UsageError
from openfingym.metrics.codes import FIRST_LEVEL, METRICS
from openfingym.metrics.registry import find_metric

WIDTH = FIRST_LEVEL + 30


def value(name, relevant, answer):
    metric = find_metric(name)
    return metric.compute({"y_true": np.asarray(relevant), metric.answers[0]: np.asarray(answer)})


def marks(*rows):
    """0 and 1 of rows of column numbers."""
    found = np.zeros((len(rows), WIDTH), dtype=int)
    for row, columns in enumerate(rows):
        found[row, list(columns)] = 1
    return found


def drawn(seed, rows, share):
    rng = np.random.default_rng(seed)
    relevant = (rng.random((rows, WIDTH)) < 0.15).astype(int)
    relevant[:, rng.integers(FIRST_LEVEL)] = relevant[:, FIRST_LEVEL + rng.integers(30)] = 1
    return relevant, (rng.random((rows, WIDTH)) < share).astype(int), rng


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 12), share=st.sampled_from((0.0, 0.03, 0.2, 1.0)))
def test_sets_agree_with_scikit_learn(seed, rows, share):
    relevant, chosen, _ = drawn(seed, rows, share)
    levels = {"first_level": slice(0, FIRST_LEVEL), "second_level": slice(FIRST_LEVEL, None), "set": slice(None)}
    for level, columns in levels.items():
        for name, theirs in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
            expected = theirs(relevant[:, columns], chosen[:, columns], average="samples", zero_division=0)
            assert value(f"{level}_{name}", relevant, chosen) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 8), share=st.sampled_from((0.0, 0.05, 0.4)))
def test_divergence_agrees_with_scipy(seed, rows, share):
    relevant, chosen, _ = drawn(seed, rows, share)
    for name, edges in (("binary_kl", (0, 8, 20)), ("quad_kl", (0, 4, 8, 16, 20))):
        total = 0.0
        for true, guess in zip(relevant, chosen, strict=True):
            bins = [np.histogram(np.flatnonzero(row[:20]), edges)[0].astype(float) for row in (true, guess)]
            p, q = (counts / max(counts.sum(), 1.0) + 1e-10 for counts in bins)
            total += rel_entr(p, q).sum()
        assert value(name, relevant, chosen) == pytest.approx(total / rows, abs=1e-9)


def test_an_empty_answer_costs_twenty_three():
    truth = marks({0, 3, 25})
    nothing = marks(())
    assert value("binary_kl", truth, nothing) == pytest.approx(np.log(1e10), abs=1e-6)
    assert value("quad_kl", truth, nothing) == pytest.approx(23.02585, abs=1e-5)
    for name in ("precision", "recall", "f1"):
        assert value(f"first_level_{name}", truth, nothing) == value(f"second_level_{name}", truth, nothing) == 0.0
    # Conflict alone named, and the other half missed: the largest penalty times its share.
    assert value("binary_kl", marks({0, 10, 25}), marks({10})) == pytest.approx(
        0.5 * np.log(0.5e10) + 0.5 * np.log(0.5)
    )


def test_the_papers_example_by_hand():
    """The answer of F.1.5 and its truth: one of three roots, no second-level code."""
    truth, answer = marks({0, 4, 20, 41}), marks({2, 3, 4, 30, 31, 32, 33})
    assert value("first_level_precision", truth, answer) == pytest.approx(1 / 3)
    assert value("first_level_recall", truth, answer) == 0.5
    assert value("first_level_f1", truth, answer) == pytest.approx(0.4)
    assert value("second_level_f1", truth, answer) == 0.0
    assert value("binary_kl", truth, answer) == pytest.approx(0.0, abs=1e-9)
    expected = 0.5 * np.log(0.5 / (2 / 3)) + 0.5 * np.log(0.5 / (1 / 3))
    assert value("quad_kl", truth, answer) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 8))
def test_rankings_agree_with_sorting_one_by_one(seed, rows):
    relevant, _, rng = drawn(seed, rows, 0.0)
    scores = rng.permuted(np.tile(np.maximum(np.arange(WIDTH) - 9.0, 0.0), (rows, 1)), axis=1)
    ranks, firsts = [], []
    for true, row in zip(relevant[:, FIRST_LEVEL:], scores[:, FIRST_LEVEL:], strict=True):
        order = [column for column in np.argsort(-row) if row[column] > 0.0]
        found = []
        for code in np.flatnonzero(true):
            others = [column for column in order if column == code or not true[column]]
            found.append(others.index(code) + 1 if code in others else np.inf)
        ranks.extend(found)
        firsts.append(min((order.index(c) + 1 for c in np.flatnonzero(true) if c in order), default=np.inf))
    assert value("filtered_mrr", relevant, scores) == pytest.approx(np.mean(1.0 / np.array(ranks)))
    assert value("filtered_hits_at_10", relevant, scores) == pytest.approx(np.mean(np.array(ranks) <= 10))
    assert value("first_code_mrr", relevant, scores) == pytest.approx(np.mean(1.0 / np.array(firsts)))
    assert value("first_code_hits_at_10", relevant, scores) == pytest.approx(np.mean(np.array(firsts) <= 10))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 8), share=st.sampled_from((0.0, 0.05, 0.4)))
def test_items_are_sets_and_rankings_of_all_columns(seed, rows, share):
    """Against scikit-learn, and against codes behind a first level that is another's."""
    relevant, chosen, rng = drawn(seed, rows, share)
    for name, theirs in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        expected = theirs(relevant, chosen, average="samples", zero_division=0)
        assert value(f"item_{name}", relevant, chosen) == pytest.approx(expected, abs=1e-12)
    before = np.ones((rows, FIRST_LEVEL))
    scores = chosen * rng.random(chosen.shape)
    for name in ("mrr", "hits_at_10"):
        behind = value(f"filtered_{name}", np.hstack([before, relevant]), np.hstack([before, scores]))
        assert value(f"item_{name}", relevant, scores) == behind
    one = np.eye(1, 3)
    assert [value(f"item_{name}", one, np.array([[0.5, 1.0, 0.0]])) for name in ("mrr", "hits_at_10")] == [0.5, 1.0]


def second(*row):
    """A second level, behind a first one that the metrics of rankings do not look at."""
    return np.array([[1.0] * FIRST_LEVEL + list(row)])


def test_filtering_takes_the_other_true_codes_out():
    truth, scores = second(1, 1, 0, 1), second(9, 8, 7, 6)
    assert value("filtered_mrr", truth, scores) == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert value("first_code_mrr", truth, scores) == 1.0


def test_ties_gain_nothing_and_unnamed_codes_are_no_hits():
    truth = np.eye(1, 60, FIRST_LEVEL)
    assert value("filtered_mrr", truth, np.ones((1, 60))) == pytest.approx(1 / 20.5)
    for metric in METRICS:
        if metric.name.endswith(("mrr", "hits_at_10")):
            assert value(metric.name, truth, np.zeros((1, 60))) == 0.0
            assert value(metric.name, truth, truth) == 1.0
    # One true and one false code in front: the first true one stands at 1 or 2 with equal chance.
    assert value("first_code_mrr", truth, truth + np.eye(1, 60, FIRST_LEVEL + 1)) == pytest.approx(1 / 1.5)


def test_samples_are_chosen_and_voted():
    truth = marks({0, 20, 21, 22, 23})
    samples = np.stack([marks({20, 30}), marks({20, 21, 31}), marks({21, 22, 23, 20})], axis=2)
    assert value("second_level_f1_best", truth, samples) == 1.0
    assert value("second_level_f1_best", truth, samples[:, :, :2]) == pytest.approx(4 / 7)
    assert value("second_level_f1_voted", truth, samples) == pytest.approx(4 / 6)  # 20 and 21
    assert value("second_level_f1_voted", truth, samples[:, :, :1]) == pytest.approx(2 / 6)
    assert find_metric("second_level_f1_voted").compute({"y_true": truth, "samples": samples}, 0) < 1.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_faults(metric):
    (name,) = metric.answers
    good = np.ones((2, WIDTH, 3), dtype=int) if name == "samples" else np.ones((2, WIDTH), dtype=int)
    truth = np.ones((2, WIDTH), dtype=int)
    assert 0.0 <= metric.compute({"y_true": truth, name: good}) <= 1.0
    bare = truth.copy()
    bare[1] = 0
    with pytest.raises(DataError, match="row 1 of y_true has no true code"):
        metric.compute({"y_true": bare, name: good})
    with pytest.raises(DataError, match="y_true must be 0 or 1"):
        metric.compute({"y_true": 2 * truth, name: good})
    with pytest.raises(UsageError, match=f"{name} must not be negative|y_pred must not be negative"):
        metric.compute({"y_true": truth, name: -good})
    with pytest.raises(UsageError, match="shape"):
        metric.compute({"y_true": truth, name: good[:1]})
    if metric.problem != "items":
        with pytest.raises(DataError, match="20 of first-level codes and more"):
            metric.compute({"y_true": truth[:, :20], name: good[:, :20]})
