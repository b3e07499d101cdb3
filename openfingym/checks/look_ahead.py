"""A learned look-ahead: whether what a task shows later helps an earlier answer.

Where hidden items have a time and are shown at once, a model that may see an item's followers is compared with the same
model that may not. Both are fitted on the training items, of which followers are known as well, and measured on the
hidden ones. Of a task that is walked through nothing later is shown, so that there is nothing to compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.checks.finding import FailedCheckError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array

FOLLOWERS = 2
"""Later items that the model may see."""
ALLOWED = 0.01
"""Share of the loss that seeing them may save."""
CERTAIN = 3.0
"""Standard errors beyond which a saving is none of chance."""
PENALTY = 0.1
"""Penalty of the ridge regression, as a multiple of the number of items."""
MOST_FEATURES = 64
"""Numbers of an item that the model sees, evenly spread; the last ones first."""


def look_ahead(train: tuple[Array, Array, Array], hidden: tuple[Array, Array, Array]) -> str:
    """Compare the model that sees what is shown later with the one that does not.

    Args:
        train: inputs, targets and times of the training items, each with items on the first axis.
        hidden: the same of the hidden items.

    Returns:
        What was found, as a sentence.

    Raises:
        FailedCheckError: seeing later items saves more than :data:`ALLOWED` of the loss, and more than chance explains.
    """
    losses = []
    for followers in (0, FOLLOWERS):
        (x, y), (z, truth) = (_ordered(*part, followers) for part in (train, hidden))
        mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-12
        known, asked, centre = (x - mean) / scale, (z - mean) / scale, y.mean(axis=0)
        gram = known.T @ known + PENALTY * len(known) * np.eye(known.shape[1])
        weights = np.linalg.solve(gram, known.T @ (y - centre))
        losses.append((((asked @ weights + centre - truth) / (y.std(axis=0) + 1e-12)) ** 2).mean(axis=1))
    blind, seeing = losses
    saved = blind - seeing
    share, error = float(saved.mean() / blind.mean()), float(saved.std(ddof=1) / len(saved) ** 0.5 / blind.mean())
    if share > ALLOWED and share > CERTAIN * error:
        raise FailedCheckError(
            f"a model that sees the next {FOLLOWERS} hidden items saves {share:.1%} of its loss (standard error "
            f"{error:.1%}); at most {ALLOWED:.0%} is allowed. Show items in the order of time (Kind.walks)"
        )
    return f"seeing the next {FOLLOWERS} hidden items saves {max(share, 0.0):.1%} of a model's loss"


def _ordered(
    inputs: Array, targets: Array, times: Array, followers: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Features and targets of items in the order of time, without the last ones, which have too few followers."""
    order = np.argsort(np.asarray(times), kind="stable")
    x = np.asarray(inputs, dtype=np.float64)[order]
    y = np.nan_to_num(np.asarray(targets, dtype=np.float64)).reshape(len(order), -1)[order]
    # Of a window its last row, and the steps that led there: a follower's are told as where it begins from there.
    last, steps = (x[:, -1], np.diff(x, axis=1)) if x.ndim > 2 else (x, x[:, :0])
    first = x[:, 0] if x.ndim > 2 else x
    own = [_thinned(part) for part in (last, steps)]
    rows = len(x) - FOLLOWERS
    seen = [_thinned(first[k : rows + k] - last[:rows]) for k in range(1, followers + 1)]
    return np.concatenate([*(part[:rows] for part in own), *seen], axis=1), y[:rows]


def _thinned(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some numbers of each item, float64[items, numbers]."""
    flat = part.reshape(len(part), -1)
    return flat[:, :: -max(-(-flat.shape[1] // MOST_FEATURES), 1)]
