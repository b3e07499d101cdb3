"""Inputs that know more about hidden targets than inputs can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Statistic = Literal["Pearson", "rank"]
Reason = Literal["stronger than in training", "nearly the target"]

ERROR_RATE = 1e-3
"""Probability that anything is reported of an honest task, shared out among all pairs compared (Bonferroni)."""
LEAST_INCREASE = 0.1
"""How much stronger than in training a correlation must be to be of interest at all."""
NEARLY = 0.9
BLOCKS = 25
"""Contiguous blocks of rows that sampling errors are estimated from, so that serial dependence and heavy tails
count."""
FEWEST_ROWS = 20
CONTROLS = 40
"""Principal components of an input row that are regressed out, at most; and no more than a quarter of the rows."""
ROW_LIMIT = 10_000
"""Rows used at most, evenly spaced."""
_COLUMNS = 512


@dataclass(frozen=True)
class Suspicion:
    """One input whose correlation with a hidden target wants an explanation."""

    feature: int
    """Channel of the inputs, or column of the features."""
    lag: int
    """Rows before the first target (1 is the last input row); for features in rows, by how many rows they stand after
    the target's."""
    target: tuple[int, ...]
    """(step, channel) of the target; empty where a row has a single one."""
    statistic: Statistic
    hidden: float
    """Correlation with the hidden target."""
    train: float
    """The same correlation in training."""
    limit: float
    """What sampling error explains at most."""
    reason: Reason

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
    targets: NDArray[np.float64]
    used: int = 0
    """Degrees of freedom spent on controls."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """Inputs at one lag, of both parts: plain, and free of what the series' own past explains."""

    lag: int
    feature: int
    """The first one."""
    plain: tuple[_Side, _Side]
    own: tuple[_Side, _Side]


def suspicious_features(
    test_inputs: NDArray[np.float64],
    targets: NDArray[np.float64],
    train_inputs: NDArray[np.float64],
    train_targets: NDArray[np.float64],
    *,
    max_shift: int,
) -> list[Suspicion]:
    """Inputs that are suspiciously correlated with hidden targets.

    Two things are suspicious, for Pearson's and for rank correlation: that an input is more strongly
    correlated with a hidden target than the same input with the training target, by more than
    sampling error; and that it is nearly the target (0.9 or more), by more than copies of the series
    shifted by one to ``max_shift`` rows are correlated with each other. Honest predictive power is
    the same in training and hidden parts, and honest persistence is in the series itself. Since
    two series that wander are correlated by accident, the first must also hold for what is left of
    both when the last input row has been regressed out (for features in rows: the row before).

    It is a screen: a change of regime between training and hidden part can raise a suspicion, too.

    Args:
        test_inputs: float64[n, lookback, d] in time order, or features float64[n, f] in rows.
        targets: float64[n, horizon, d_out], [n, d_out] or [n], hidden.
        train_inputs: inputs of the training rows, of the form of ``test_inputs``.
        train_targets: targets of the training rows, of the form of ``targets``.
        max_shift: input rows before the target that are looked at, at most; for features in rows,
            by how many rows a feature may stand before or after the row of its target.

    Returns:
        For each input, lag and statistic the target for which the excess is largest, the
        largest excess first; empty if there are fewer than 20 rows to go by on either side.
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
    found: list[Suspicion] = []
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
                found.append(Suspicion(piece.feature + column, piece.lag, target, statistic, *numbers, reason))
    return _strongest(found)


def _strongest(found: list[Suspicion]) -> list[Suspicion]:
    best: dict[tuple[int, int, str], Suspicion] = {}
    for one in sorted(found, key=lambda one: one.limit - abs(one.hidden)):
        best.setdefault((one.feature, one.lag, one.statistic), one)
    return list(best.values())


_Part = tuple[NDArray[np.float64], NDArray[np.float64]]
_Parts = tuple[_Part, _Part]
"""(inputs, targets) of the hidden and of the training part."""


def _window_pieces(parts: _Parts, statistic: Statistic) -> Iterator[_Piece]:
    """One piece an input row; what the last row says, or for that one the row before, is regressed out."""
    lookback = parts[0][0].shape[1]
    thinned = [
        (inputs[:: -(-len(inputs) // ROW_LIMIT)], targets[:: -(-len(targets) // ROW_LIMIT)])
        for inputs, targets in parts
    ]
    goals = [_standard(targets.reshape(len(targets), -1), statistic) for _, targets in thinned]
    controls = {
        row: [_basis(_standard(inputs[:, row], statistic)) for inputs, _ in thinned]
        for row in {lookback - 1, max(lookback - 2, 0)}
    }
    left = {
        row: [_residual(goal, basis) for goal, basis in zip(goals, bases, strict=True)]
        for row, bases in controls.items()
    }
    for row in range(lookback):
        own = lookback - 1 if row < lookback - 1 else max(lookback - 2, 0)
        columns = [_standard(inputs[:, row], statistic) for inputs, _ in thinned]
        plain = [_Side(column, goal) for column, goal in zip(columns, goals, strict=True)]
        adjusted = plain
        if own != row:
            adjusted = [
                _Side(_residual(column, basis), goal, basis.shape[1])
                for column, basis, goal in zip(columns, controls[own], left[own], strict=True)
            ]
        yield _Piece(lookback - row, 0, (plain[0], plain[1]), (adjusted[0], adjusted[1]))


def _row_pieces(parts: _Parts, statistic: Statistic, max_shift: int) -> Iterator[_Piece]:
    """Some columns a piece, standing ``shift`` rows after the target; a column's row before is regressed out."""
    for shift in range(-max_shift, max_shift + 1):
        for begin in range(0, parts[0][0].shape[1], _COLUMNS):
            plain: list[_Side] = []
            own: list[_Side] = []
            for inputs, targets in parts:
                n = len(targets) - abs(shift)
                # Neighbours in the thinned rows must be neighbours in time: the latest rows are kept whole.
                rows = np.arange(max(n - ROW_LIMIT, 0), n)
                x = _standard(inputs[rows + max(shift, 0), begin : begin + _COLUMNS], statistic)
                y = _standard(targets.reshape(len(targets), -1)[rows + max(-shift, 0)], statistic)
                plain.append(_Side(x, y))
                own.append(_Side(_innovations(x), _innovations(y), 1))
            yield _Piece(shift, begin, (plain[0], plain[1]), (own[0], own[1]))


def _basis(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """An orthonormal basis of the columns' leading principal components: float64[n, k]."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    count = min(
        int(np.count_nonzero(sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300))), CONTROLS, len(columns) // 4
    )
    basis: NDArray[np.float64] = left[:, :count]
    return basis


def _residual(columns: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    return _standard(columns - basis @ (basis.T @ columns), "Pearson", floor=1e-6)


def _innovations(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a column's row before does not say, by a first-order autoregression."""
    persistence = np.mean(columns[1:] * columns[:-1], axis=0)
    return _standard(columns[1:] - persistence * columns[:-1], "Pearson", floor=1e-6)


def _standard(columns: NDArray[np.float64], statistic: Statistic, floor: float = 0.0) -> NDArray[np.float64]:
    """Columns of mean 0 and variance 1; constant ones, and those that vary less than ``floor``, become 0."""
    from scipy.stats import rankdata

    values = np.asarray(rankdata(columns, axis=0) if statistic == "rank" else columns, dtype=np.float64)
    centred = values - values.mean(axis=0)
    size = np.sqrt(np.mean(centred**2, axis=0))
    # What is left of a constant after subtracting its rounded mean is no variation.
    moves = size > np.maximum(1e-12 * np.abs(values).max(axis=0, initial=0.0), floor)
    standard: NDArray[np.float64] = np.divide(centred, size, out=np.zeros_like(centred), where=moves)
    return standard


_Correlations = tuple[NDArray[np.float64], NDArray[np.float64], int]
"""(correlations [f, g], their standard errors on Fisher's scale [f, g], degrees of freedom)."""


def _correlations(side: _Side) -> _Correlations:
    n = len(side.inputs)
    r = (side.inputs.T @ side.targets / n).clip(-1.0 + 1e-12, 1.0 - 1e-12)
    count = min(BLOCKS, n // 4)
    total = np.zeros_like(r)
    for rows in np.array_split(np.arange(n), count):
        x, y = side.inputs[rows], side.targets[rows]
        # The influence of a row on the correlation; its mean over all rows is 0.
        influence = (x.T @ y - 0.5 * r * ((x**2).sum(axis=0)[:, None] + (y**2).sum(axis=0))) / len(rows)
        total += influence**2
    error = np.sqrt(total / (count * (count - 1))) / (1.0 - r**2)
    return r, np.maximum(error, 1.0 / np.sqrt(n - 3 - side.used)), count - 1


def _excesses(
    piece: _Piece, level: float, persistence: float
) -> Iterator[tuple[int, int, tuple[float, float, float], Reason]]:
    """(input column, target column, (hidden, training correlation, limit), reason) of what is beyond both limits."""
    from scipy.stats import t

    plain = [_correlations(side) for side in piece.plain]
    (hidden, error, freedom), train = plain[0], plain[1][0]
    nearly = np.tanh(np.arctanh(max(persistence, NEARLY)) + float(t.isf(level, freedom)) * error)
    close = np.abs(hidden) > nearly
    stronger = _explained(plain[0], plain[1], level)
    # An input or a target that does not move in training is compared with nothing.
    moves = np.outer(piece.plain[1].inputs.any(axis=0), piece.plain[1].targets.any(axis=0))
    beyond = (np.abs(hidden) > stronger) & moves & ~close
    if beyond.any():
        own = [_correlations(side) for side in piece.own]
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
    """The largest hidden correlation that the training one and the sampling errors of both explain: float64[f, g]."""
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
            # The median over positions: one planted row must not explain itself.
            largest = max(largest, float(np.median(spread)))
    return min(largest, 1.0 - 1e-12)


def _positions(count: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, count - 1, 5).round().astype(np.int64))


def _paired(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest correlation of a standard column with its partner."""
    return float(np.abs(np.einsum("ij,ij->j", one, other) / len(one)).max(initial=0.0))
