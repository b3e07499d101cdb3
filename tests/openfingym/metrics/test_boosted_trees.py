"""Boosted trees are those of scikit-learn, to the last bit."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from openfingym.metrics.boosted_trees import log_odds
from openfingym.metrics.posthoc import FOLDS, LEARNING_RATE, LEAVES, TREES, disc_fast, window_features

SEEDS = range(24)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(getattr(request, "param", 0))


def reference(
    train: NDArray[np.float64], labels: NDArray[np.float64], leaf: int, rounds: int = TREES
) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=rounds,
        max_leaf_nodes=LEAVES,
        learning_rate=LEARNING_RATE,
        early_stopping=False,
        min_samples_leaf=leaf,
        random_state=0,
    )
    with threadpool_limits(1):
        return model.fit(train, labels.astype(int))


@pytest.mark.parametrize("rng", SEEDS, indirect=True)
def test_log_odds_are_the_librarys_on_anything_that_a_window_may_hold(rng: np.random.Generator) -> None:
    """Few values and many (above 255, bins are quantiles), ties, constants, copies, and what is beyond the last bin."""
    rows, features, asked = int(rng.integers(12, 700)), int(rng.integers(1, 40)), int(rng.integers(1, 150))
    train, test = rng.standard_normal((2 * rows, features)), rng.standard_normal((asked, features))
    train[rows:] += rng.choice([0.0, 0.1, 1.0, 1e150])
    match rng.integers(6):
        case 0:  # ties, and as many thresholds as values
            train, test = np.round(train, 1), np.round(test, 1)
        case 1:  # what is absurd is cut off at 1e300
            with np.errstate(over="ignore"):
                train, test = np.nan_to_num(train * 1e300, posinf=1e300, neginf=-1e300), test * 1e299
        case 2:  # the same rows on both sides: nothing to learn but noise
            train[:rows] = train[rows:][::-1]
        case 3:  # one feature says nothing, and half of another's values are the same
            train[:, 0] = 3.0
            train[::2, -1] = 0.5
        case 4:  # told apart at once, so that derivatives become small
            train[:rows, 0] -= 50.0
    labels, leaf = np.repeat([0.0, 1.0], rows), min(20, max(3, rows // 10))

    found = log_odds(train, labels, test, rounds=TREES, leaves=LEAVES, rate=LEARNING_RATE, leaf=leaf)

    np.testing.assert_array_equal(found, reference(train, labels, leaf)._raw_predict(test).ravel())


def test_long_boosting_in_which_rows_are_wrong_with_confidence_is_the_librarys(rng: np.random.Generator) -> None:
    """Large log odds, where derivatives lose their digits and sums depend on their order."""
    train, labels = rng.standard_normal((120, 3)), np.repeat([0.0, 1.0], 60)
    test = rng.standard_normal((50, 3))

    found = log_odds(train, labels, test, rounds=400, leaves=LEAVES, rate=LEARNING_RATE, leaf=3)

    model = reference(train, labels, 3, rounds=400)
    np.testing.assert_array_equal(found, model._raw_predict(test).ravel())
    assert np.abs(found).max() > 10.0


def test_too_few_rows_for_a_split_say_nothing(rng: np.random.Generator) -> None:
    train = rng.standard_normal((8, 2))
    found = log_odds(train, np.repeat([0.0, 1.0], 4), train, rounds=3, leaves=8, rate=0.2, leaf=5)
    assert not found.any()


@pytest.mark.parametrize(("windows", "channels"), [(1000, 1), (125, 1), (60, 3)])
def test_the_discriminative_score_is_the_one_that_the_librarys_classifier_gives(
    windows: int, channels: int, rng: np.random.Generator
) -> None:
    real = rng.standard_normal((windows, 20, channels)).cumsum(axis=1)
    fake = 1.1 * rng.standard_normal((windows, 20, channels)).cumsum(axis=1)
    generator = np.random.default_rng(7)
    order = generator.permutation(windows)
    features = [window_features(one[order]) for one in (real, fake)]
    fold = generator.permutation(windows) % FOLDS
    hits = 0
    for held in range(FOLDS):
        train, test = (np.concatenate([f[rows] for f in features]) for rows in (fold != held, fold == held))
        labels = np.repeat([0.0, 1.0], len(train) // 2)
        model = reference(train, labels, min(20, max(3, windows // 10)))
        hits += np.count_nonzero(model.predict(test) == np.repeat([0, 1], len(test) // 2))

    assert disc_fast(real, fake, 1, seed=7) == abs(hits / (2 * windows) - 0.5)
