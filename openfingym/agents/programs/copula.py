"""A Gaussian copula over whole windows: every cell keeps its own distribution, and all are tied by one correlation
matrix.

Cells are turned into normal scores by their ranks in training. Their correlation matrix is shrunk (Ledoit and
Wolf 2004), normal vectors are drawn from it, and turned back by the quantiles of training. Given a context, the
vectors are drawn from the conditional law. Time order, channels and steps are all just cells: what the normal
law cannot hold, such as clusters of volatility, is lost.
"""

import interface
import numpy as np
from scipy.stats import norm
from sklearn.covariance import ledoit_wolf

contract = interface.contract
rng = np.random.default_rng(interface.seed)
WINDOWS = 6000
"""Training windows used at most."""


def scores_of(cells, ordered):
    """Normal scores of float64[n, c] by the sorted training cells, ties in the middle."""
    scores = np.empty(cells.shape)
    for c in range(cells.shape[1]):
        below, upto = (np.searchsorted(ordered[:, c], cells[:, c], side=side) for side in ("left", "right"))
        scores[:, c] = norm.ppf(np.clip((below + upto + 1.0) / (2.0 * len(ordered) + 2.0), 1e-4, 1.0 - 1e-4))
    return scores


def cells_of(scores, ordered):
    """The inverse: quantiles of training, interpolated."""
    place = np.clip(norm.cdf(scores) * len(ordered) - 0.5, 0.0, len(ordered) - 1.0)
    below = place.astype(int)
    above = np.minimum(below + 1, len(ordered) - 1)
    columns = np.arange(ordered.shape[1])
    return ordered[below, columns] + (place - below) * (ordered[above, columns] - ordered[below, columns])


def drawn(test):
    """Windows, or futures of each context, of the form of a submission with these items alone."""
    shape = (len(test), *interface.SUBMISSION_SHAPE[1:])
    count = int(np.prod(shape[: len(shape) - 2]))
    asked = np.repeat(scores_of(test.reshape(len(test), -1), ordered[:, :given]), count // len(test), axis=0)
    scores = asked @ weights + rng.standard_normal((count, len(left))) @ root.T
    return np.clip(cells_of(scores, ordered[:, given:]).reshape(shape), contract["low"], contract["high"])


contexts, windows = interface.load_train()
picked = np.sort(rng.permutation(len(windows))[:WINDOWS])
known = contexts[picked].reshape(len(picked), -1)
cells = np.concatenate([known, windows[picked].reshape(len(picked), -1)], axis=1)
given = known.shape[1]

ordered = np.sort(cells, axis=0)
covariance, shrinkage = ledoit_wolf(scores_of(cells, ordered))
deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-6))
covariance[np.diag_indices_from(covariance)] = deviation**2 * (1.0 + 1e-6)
correlation = covariance / np.outer(deviation, deviation)
print(f"{len(cells)} windows of {cells.shape[1]} cells; correlations shrunk by {shrinkage:.3f}")

weights = np.linalg.solve(correlation[:given, :given], correlation[:given, given:])
left = correlation[given:, given:] - correlation[given:, :given] @ weights
left[np.diag_indices_from(left)] += 1e-6
root = np.linalg.cholesky(left)
if "window" in contract:
    interface.predict_each(drawn)
else:
    print(interface.submit(drawn(interface.load_test_inputs())))
