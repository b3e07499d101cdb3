"""Inputs that tell more of hidden targets than honest inputs can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Statistic = Literal["Pearson", "rank"]
Reason = Literal["stronger than in training", "nearly the target"]

ERROR_RATE = 1e-3
"""Largest probability that an honest task is reported, shared out among all pairs compared (Bonferroni)."""
LEAST_INCREASE = 0.1
"""How much stronger than in training a correlation must be to be reported, however certain the difference is."""
NEARLY = 0.9
"""Correlation from which on an input is nearly the target."""
BLOCKS = 25
"""Number of contiguous blocks of rows from which sampling errors are estimated, so that serial dependence and heavy
tails are taken into account."""
FEWEST_ROWS = 20
"""Fewest rows on either side for a comparison."""
CONTROLS = 40
"""Most principal components of an input row that are regressed out; and no more than a quarter of the rows."""
ROW_LIMIT = 10_000
"""Most rows that are used, evenly spaced."""
_COLUMNS = 512
"""Columns of features that are compared at a time."""


@dataclass(frozen=True)
class Suspicion:
    """An input whose correlation with a hidden target needs an explanation."""

    feature: int
    """Channel of the inputs, or column of the features."""
    lag: int
    """Rows from the input to the first target (1 for the last input row); for features in rows, the number of rows by
    which the feature comes after the target."""
    target: tuple[int, ...]
    """Step and channel of the target; empty if a row has a single target."""
    statistic: Statistic
    """Whether it is Pearson's correlation or that of ranks."""
    hidden: float
    """Correlation with the hidden target."""
    train: float
    """The same correlation in training."""
    limit: float
    """Largest correlation that sampling errors explain."""
    reason: Reason
    """Why it is suspicious."""

    def __str__(self) -> str:
        where = f"target {self.target}" if self.target else "the target"
        return (
            f"input {self.feature} at lag {self.lag}: {self.statistic} correlation {self.hidden:.3f} with {where}, "
            f"{self.train:.3f} in training; {self.reason} (limit {self.limit:.3f})"
        )


@dataclass(frozen=True, eq=False)
class _Side:
    """Some inputs and all targets of one part, as columns of mean 0 and variance 1."""

    inputs: NDArray[np.float64]
    """The inputs, float64[n, f]."""
    targets: NDArray[np.float64]
    """The targets, float64[n, g]."""
    used: int = 0
    """Degrees of freedom that were spent on controls."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """Inputs at one lag, of the hidden and of the training part."""

    lag: int
    """Lag of the inputs; see :attr:`Suspicion.lag`."""
    feature: int
    """Number of the first of these inputs."""
    plain: tuple[_Side, _Side]
    """Inputs and targets as they are."""
    own: Callable[[], tuple[_Side, _Side]]
    """Computes inputs and targets without what the series' own past explains: costly, and seldom asked for."""


def suspicious_features(
    test_inputs: NDArray[np.float64],
    targets: NDArray[np.float64],
    train_inputs: NDArray[np.float64],
    train_targets: NDArray[np.float64],
    *,
    max_shift: int,
) -> list[Suspicion]:
    """Inputs that are suspiciously correlated with hidden targets.

    Two things are suspicious, for Pearson's and for rank correlation: that an input is more strongly correlated with a
    hidden target than the same input with the training target, by more than sampling error; and that it is nearly the
    target (0.9 or more), by more than copies of the series shifted by one to ``max_shift`` rows are correlated with
    each other. Honest predictive power is the same in training and in the hidden part, and honest persistence is in the
    series itself. Two series that wander are correlated by accident; so the first must also hold for what remains of
    both when the last input row has been regressed out (for features in rows: the row before).

    It is a screen: a change of regime between training and hidden part can raise a suspicion too.

    Args:
        test_inputs: inputs of the hidden items, float64[n, lookback, d] in time order, or features in rows,
            float64[n, f].
        targets: the hidden targets, float64[n, horizon, d_out], [n, d_out] or [n].
        train_inputs: inputs of the training items, in the form of ``test_inputs``.
        train_targets: targets of the training items, in the form of ``targets``.
        max_shift: most input rows before the target that are compared; for features in rows, most rows by which a
            feature may be before or after its target.

    Returns:
        For each input, lag and statistic the target with the largest excess; the largest excess first. Empty if there
        are fewer than 20 rows on either side.
    """
    if min(len(targets), len(train_targets)) < FEWEST_ROWS:
        return []
    if test_inputs.ndim == 3:
        test_inputs, train_inputs = test_inputs[:, -max_shift:], train_inputs[:, -max_shift:]
    pairs = (
        int(np.prod(test_inputs.shape[1:]))
        * int(np.prod(targets.shape[1:]))
        * (2 * max_shift + 1 if test_inputs.ndim == 2 else 1)
    )
    level = ERROR_RATE / (4 * pairs)
    suspicions: list[Suspicion] = []
    statistics: tuple[Statistic, ...] = ("Pearson", "rank")
    for statistic in statistics:
        persistence = max(
            _persistence(test_inputs, targets, statistic, max_shift),
            _persistence(train_inputs, train_targets, statistic, max_shift),
        )
        parts = ((test_inputs, targets), (train_inputs, train_targets))
        pieces = _window_pieces(parts, statistic) if test_inputs.ndim == 3 else _row_pieces(parts, statistic, max_shift)
        for piece in pieces:
            for column, goal, numbers, reason in _excesses(piece, level, persistence):
                target = tuple(int(i) for i in np.unravel_index(goal, targets.shape[1:])) if targets.ndim > 1 else ()
                suspicions.append(Suspicion(piece.feature + column, piece.lag, target, statistic, *numbers, reason))
    return _strongest(suspicions)


def _strongest(suspicions: list[Suspicion]) -> list[Suspicion]:
    """The suspicion with the largest excess for each input, lag and statistic, the largest first."""
    best: dict[tuple[int, int, str], Suspicion] = {}
    for suspicion in sorted(suspicions, key=lambda suspicion: suspicion.limit - abs(suspicion.hidden)):
        best.setdefault((suspicion.feature, suspicion.lag, suspicion.statistic), suspicion)
    return list(best.values())


_Part = tuple[NDArray[np.float64], NDArray[np.float64]]
_Parts = tuple[_Part, _Part]
"""(inputs, targets) of the hidden and of the training part."""


def _window_pieces(parts: _Parts, statistic: Statistic) -> Iterator[_Piece]:
    """A piece for each input row; the last row, and for that row the one before it, is regressed out."""
    lookback = parts[0][0].shape[1]
    thinned = [
        (inputs[:: -(-len(inputs) // ROW_LIMIT)], targets[:: -(-len(targets) // ROW_LIMIT)])
        for inputs, targets in parts
    ]
    goals = [_standard(targets.reshape(len(targets), -1), statistic) for _, targets in thinned]

    @cache
    def control(row: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Of each part, a basis of an input row, and what remains of the targets without it."""
        bases = [_basis(_standard(inputs[:, row], statistic)) for inputs, _ in thinned]
        return [(basis, _residual(goal, basis)) for basis, goal in zip(bases, goals, strict=True)]

    def adjusted(row: int, plain: tuple[_Side, _Side]) -> tuple[_Side, _Side]:
        own = lookback - 1 if row < lookback - 1 else max(lookback - 2, 0)
        if own == row:
            return plain
        hidden, train = (
            _Side(_residual(side.inputs, basis), left, basis.shape[1])
            for side, (basis, left) in zip(plain, control(own), strict=True)
        )
        return hidden, train

    for row in range(lookback):
        columns = [_standard(inputs[:, row], statistic) for inputs, _ in thinned]
        plain = _Side(columns[0], goals[0]), _Side(columns[1], goals[1])
        yield _Piece(lookback - row, 0, plain, partial(adjusted, row, plain))


def _row_pieces(parts: _Parts, statistic: Statistic, max_shift: int) -> Iterator[_Piece]:
    """Pieces of some columns of features, for each shift; from each column, the row before is regressed out."""
    for shift in range(-max_shift, max_shift + 1):
        for begin in range(0, parts[0][0].shape[1], _COLUMNS):
            plain: list[_Side] = []
            for inputs, targets in parts:
                n = len(targets) - abs(shift)
                # The latest rows, all of them, and not every n-th: rows that follow one another must do so in time.
                rows = np.arange(max(n - ROW_LIMIT, 0), n)
                x = _standard(inputs[rows + max(shift, 0), begin : begin + _COLUMNS], statistic)
                y = _standard(targets.reshape(len(targets), -1)[rows + max(-shift, 0)], statistic)
                plain.append(_Side(x, y))
            sides = plain[0], plain[1]
            yield _Piece(shift, begin, sides, partial(_unexplained, sides))


def _unexplained(sides: tuple[_Side, _Side]) -> tuple[_Side, _Side]:
    """Both parts without what the row before explains."""
    hidden, train = (_Side(_innovations(side.inputs), _innovations(side.targets), 1) for side in sides)
    return hidden, train


def _basis(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis of the columns' leading principal components: float64[n, k]."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    count = min(
        int(np.count_nonzero(sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300))), CONTROLS, len(columns) // 4
    )
    basis: NDArray[np.float64] = left[:, :count]
    return basis


def _residual(columns: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """What remains of columns when a basis has been regressed out, with variance 1."""
    return _standard(columns - basis @ (basis.T @ columns), "Pearson", floor=1e-6)


def _innovations(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """What remains of columns when a first-order autoregression has been removed, with variance 1."""
    persistence = np.mean(columns[1:] * columns[:-1], axis=0)
    return _standard(columns[1:] - persistence * columns[:-1], "Pearson", floor=1e-6)


def _standard(columns: NDArray[np.float64], statistic: Statistic, floor: float = 0.0) -> NDArray[np.float64]:
    """Columns of mean 0 and variance 1; constant ones, and those that vary less than ``floor``, become 0."""
    from scipy.stats import rankdata

    values = np.asarray(rankdata(columns, axis=0) if statistic == "rank" else columns, dtype=np.float64)
    centred = values - values.mean(axis=0)
    size = np.sqrt(np.mean(centred**2, axis=0))
    # A constant less its rounded mean is not exactly 0, but does not vary.
    moves = size > np.maximum(1e-12 * np.abs(values).max(axis=0, initial=0.0), floor)
    standard: NDArray[np.float64] = np.divide(centred, size, out=np.zeros_like(centred), where=moves)
    return standard


_Correlations = tuple[NDArray[np.float64], NDArray[np.float64], int]
"""Correlations float64[f, g], their standard errors on Fisher's scale float64[f, g], and degrees of freedom."""


def _correlations(side: _Side) -> _Correlations:
    """Correlations of all inputs with all targets of one part, with standard errors from blocks of rows."""
    n = len(side.inputs)
    r = (side.inputs.T @ side.targets / n).clip(-1.0 + 1e-12, 1.0 - 1e-12)
    count = min(BLOCKS, n // 4)
    total = np.zeros_like(r)
    for rows in np.array_split(np.arange(n), count):
        x, y = side.inputs[rows], side.targets[rows]
        # The mean influence of the rows of a block on the correlation; its mean over all rows is 0.
        influence = (x.T @ y - 0.5 * r * ((x**2).sum(axis=0)[:, None] + (y**2).sum(axis=0))) / len(rows)
        total += influence**2
    # On Fisher's scale, the derivative of arctanh; never less than for independent Gaussian rows.
    error = np.sqrt(total / (count * (count - 1))) / (1.0 - r**2)
    return r, np.maximum(error, 1.0 / np.sqrt(n - 3 - side.used)), count - 1


def _excesses(
    piece: _Piece, level: float, persistence: float
) -> Iterator[tuple[int, int, tuple[float, float, float], Reason]]:
    """Pairs whose hidden correlation is beyond what is explained.

    Args:
        piece: inputs and targets of both parts at one lag.
        level: probability of a false alarm that a single test may have.
        persistence: how strongly the series are correlated with their own past.

    Yields:
        Columns of the input and of the target; their hidden correlation, that in training and the limit; and the
        reason.
    """
    from scipy.stats import t

    plain = [_correlations(side) for side in piece.plain]
    (hidden, error, freedom), train = plain[0], plain[1][0]
    nearly = np.tanh(np.arctanh(max(persistence, NEARLY)) + float(t.isf(level, freedom)) * error)
    close = np.abs(hidden) > nearly
    stronger = _explained(plain[0], plain[1], level)
    # An input or a target that is constant in training has no correlation there to compare with.
    moves = np.outer(piece.plain[1].inputs.any(axis=0), piece.plain[1].targets.any(axis=0))
    beyond = (np.abs(hidden) > stronger) & moves & ~close
    # The expensive comparison of what the own past leaves unexplained, only if the plain one raises a suspicion.
    if beyond.any():
        own = [_correlations(side) for side in piece.own()]
        beyond &= np.abs(own[0][0]) > _explained(own[0], own[1], level)
    tests: tuple[tuple[NDArray[np.bool_], NDArray[np.float64], Reason], ...] = (
        (close, nearly, "nearly the target"),
        (beyond, stronger, "stronger than in training"),
    )
    for reported, limit, reason in tests:
        for column, goal in np.argwhere(reported):
            numbers = (float(hidden[column, goal]), float(train[column, goal]), float(limit[column, goal]))
            yield int(column), int(goal), numbers, reason


def _explained(hidden: _Correlations, train: _Correlations, level: float) -> NDArray[np.float64]:
    """The largest hidden correlation that the one in training and both sampling errors explain, float64[f, g]."""
    from scipy.stats import t

    quantile = float(t.isf(level, min(hidden[2], train[2])))
    explained = np.tanh(np.arctanh(np.abs(train[0])) + quantile * np.hypot(hidden[1], train[1]))
    limit: NDArray[np.float64] = np.maximum(explained, np.abs(train[0]) + LEAST_INCREASE)
    return limit


def _persistence(
    inputs: NDArray[np.float64], targets: NDArray[np.float64], statistic: Statistic, max_shift: int
) -> float:
    """The largest correlation between the series of a task and copies of it shifted by one to ``max_shift`` rows."""
    largest = 0.0
    if targets.ndim < 3:
        flat = targets.reshape(len(targets), -1)
        for shift in range(1, min(max_shift, len(flat) - FEWEST_ROWS) + 1):
            rows = np.arange(0, len(flat) - shift, -(-(len(flat) - shift) // ROW_LIMIT))
            largest = max(largest, _paired(_standard(flat[rows], statistic), _standard(flat[rows + shift], statistic)))
    for windows in (inputs, targets):
        if windows.ndim != 3:
            continue
        rows = np.arange(0, len(windows), -(-len(windows) // ROW_LIMIT))
        at = {}
        for shift in range(1, min(max_shift, windows.shape[1] - 1) + 1):
            spread = []
            for i in _positions(windows.shape[1] - shift):
                for place in (i, i + shift):
                    if place not in at:
                        at[place] = _standard(windows[rows, place], statistic)
                spread.append(_paired(at[i], at[i + shift]))
            # The median over positions: a single planted row would otherwise explain itself.
            largest = max(largest, float(np.median(spread)))
    return min(largest, 1.0 - 1e-12)


def _positions(count: int) -> NDArray[np.int64]:
    """Five evenly spaced positions below ``count``, or fewer."""
    return np.unique(np.linspace(0, count - 1, 5).round().astype(np.int64))


def _paired(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest correlation of a standardised column with that of the same number."""
    return float(np.abs(np.einsum("ij,ij->j", one, other) / len(one)).max(initial=0.0))
