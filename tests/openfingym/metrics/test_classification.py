"""Ranking metrics against scikit-learn, with and without ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from openfingym.errors import DataError, UsageError
from openfingym.metrics.classification import auroc, average_precision, f1, precision, recall, recall_at_k


@given(seed=st.integers(0, 10_000), size=st.integers(2, 60), ties=st.booleans())
def test_agrees_with_scikit_learn(seed, size, ties):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    y[:2] = 0, 1
    s = rng.integers(0, 4, size) / 4 if ties else rng.random(size)
    assert auroc(y, s) == pytest.approx(sk.roc_auc_score(y, s), abs=1e-12)
    assert average_precision(y, s) == pytest.approx(sk.average_precision_score(y, s), abs=1e-12)
    called = (s >= 0.5).astype(int)
    assert recall(y, s) == pytest.approx(sk.recall_score(y, called))
    assert precision(y, s) == pytest.approx(sk.precision_score(y, called, zero_division=0))
    assert f1(y, s) == pytest.approx(sk.f1_score(y, called))
    k = y.sum()
    assert recall_at_k(y, s) == pytest.approx(y[sorted(range(size), key=lambda i: (-s[i], i))[:k]].sum() / k)


def test_constant_scores_and_everything_positive():
    y = np.array([0, 0, 0, 1, 1])
    assert auroc(y, np.zeros(5)) == 0.5
    assert recall(y, np.ones(5)) == 1.0  # which is why recall at a threshold is a diagnostic
    assert recall_at_k(y, np.ones(5)) == 0.0  # ties go to the lower index
    assert recall_at_k(y[::-1].copy(), np.ones(5)) == 1.0
    assert precision(y, np.zeros(5)) == f1(y, np.zeros(5)) == 0.0


@pytest.mark.parametrize("metric", [auroc, average_precision, recall_at_k, recall, precision, f1])
def test_faults(metric):
    for labels in (np.zeros(4), np.ones(4)):
        with pytest.raises(DataError, match="one class"):
            metric(labels, np.arange(4.0))
    with pytest.raises(DataError, match="0 or 1"):
        metric(np.array([0, 1, 2]), np.arange(3.0))
    with pytest.raises(UsageError, match=r"scores\[1\]"):
        metric(np.array([0, 1]), np.array([0.0, np.nan]))
