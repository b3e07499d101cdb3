"""A vector autoregression of all channels, shrunk, and iterated over the horizon.

It is fitted to returns, to the steps of levels, or to log volatilities about their mean, each channel in
units of its own deviation. Order, penalty and the share of the forecast that is kept are those with the
smallest errors relative to a forecast of no move, over three later and later parts of training; without skill
there, none is kept.
"""

from itertools import pairwise

import interface
import numpy as np

contract = interface.contract
SEMANTICS = contract["value_semantics"]
LOOKBACK, STEPS = contract["lookback"], np.array(contract["steps"])
ORDERS = (1, 2, 5)
PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""As multiples of the number of rows."""
KEPT = (0.0, 0.25, 0.5, 0.75, 1.0)
SKILL = 0.999
"""Relative error that a forecast must reach in validation to be trusted; and it must be below 1 in every part."""


def states_of(windows):
    """Float64[n, L, d] -> what the autoregression is of, float64[n, L - 1 or L, d]."""
    if SEMANTICS == "realised_vol":
        return np.log(windows)
    levels = np.where(logged, np.log(np.maximum(windows, floor)), windows)
    return levels if SEMANTICS == "log_return" else np.diff(levels, axis=1)


def moves_of(states, path):
    """Predicted states, float64[n, h, d], as moves of the targets at the steps asked for."""
    if SEMANTICS == "realised_vol":
        return (np.exp(path) - np.exp(states[:, -1:]))[:, STEPS - 1][:, :, columns]
    moves = path if SEMANTICS == "log_return" else path.cumsum(axis=1)
    return moves[:, STEPS - 1][:, :, columns]


def moves_from(last, levels):
    """Float64[n, h, k] targets as moves from float64[n, 1, k]: returns as they are, log moves of prices, moves of other
    levels.
    """
    if SEMANTICS == "log_return":
        return levels
    return np.log(levels / last) if SEMANTICS == "price_level" else levels - last


def values_from(last, moves):
    """The inverse of moves_from."""
    if SEMANTICS == "log_return":
        return moves
    return last * np.exp(moves) if SEMANTICS == "price_level" else last + moves


def fit(series, order, penalty):
    """Fit float64[t, d]; return a forecast of states, float64[n, L, d] -> float64[n, h, d]."""
    mean, scale = series.mean(axis=0), series.std(axis=0) + 1e-12
    rows = (series - mean) / scale
    past = np.concatenate([rows[order - lag : len(rows) - lag] for lag in range(1, order + 1)], axis=1)
    gram = past.T @ past + penalty * len(past) * np.eye(past.shape[1])
    weights = np.linalg.solve(gram, past.T @ rows[order:])

    def forecast(states):
        known = ((states - mean) / scale)[:, -order:]
        for _ in range(STEPS[-1]):
            following = known[:, : -order - 1 : -1].reshape(len(known), -1) @ weights
            known = np.concatenate([known, following[:, None]], axis=1)
        # A drift cannot be told from zero: steps and returns get none.
        return known[:, order:] * scale + (mean if SEMANTICS == "realised_vol" else 0.0)

    return forecast


def error(moves, truth):
    """Log of the geometric mean of the two errors relative to those of no move."""
    ratios = (
        np.abs(moves - truth).mean() / np.abs(truth).mean(),
        (((moves - truth) ** 2).mean() / (truth**2).mean()) ** 0.5,
    )
    return float(np.log(ratios).mean())


inputs, targets = interface.load_train()
columns = [contract["channels"].index(name) for name in contract["targets"]]
lowest = inputs.min(axis=(0, 1))
logged = (lowest > 0) & (SEMANTICS == "price_level")
# What is shown later may be zero, though nothing in training was.
floor = np.where(logged, 1e-3 * lowest, 1.0)
states, moves = states_of(inputs), moves_from(inputs[:, -1:, columns], targets)
times = interface.load("train_times")
stamps, first = np.unique(times[:, LOOKBACK - states.shape[1] : LOOKBACK], return_index=True)
series = states.reshape(-1, states.shape[2])[first]

losses = {}
for start, end in pairwise((np.linspace(0.55, 1.0, 4) * len(inputs)).astype(int)):
    known = series[stamps <= times[start, LOOKBACK - 1]]
    for order in (order for order in ORDERS if order <= states.shape[1]):
        for penalty in PENALTIES:
            found = moves_of(states[start:end], fit(known, order, penalty)(states[start:end]))
            for kept in KEPT:
                losses.setdefault((order, penalty, kept), []).append(error(kept * found, moves[start:end]))
scores = {choice: float(np.exp(np.mean(logs))) for choice, logs in losses.items()}
order, penalty, kept = min(scores, key=scores.get)
print(
    f"validation: relative error {scores[order, penalty, kept]:.4f} with order {order}, penalty {penalty:g}, "
    f"share kept {kept:g}"
)
if scores[order, penalty, kept] > SKILL or max(losses[order, penalty, kept]) > 0.0:
    print("no skill in validation: no move is forecast")
    kept = 0.0

forecast = fit(series, order, penalty)


def answer(windows):
    """Float64[n, L, d] -> float64[n, h, k]."""
    shown = states_of(windows)
    found = kept * moves_of(shown, forecast(shown))
    return np.clip(values_from(windows[:, -1:, columns], found), contract["low"], contract["high"])


interface.predict_each(answer)
