"""Diebold and Li (2006): level, slope and curvature of each curve by least squares, each reverting to its mean.

The factors of the next curve are regressed on how far they are from their mean, and the curve moves by what its
factors move; what the three factors do not fit stays as it is. Decay, and the share of the forecast that is kept,
are those with the smallest errors over three later and later parts of training. Intervals, where asked for,
hold the wanted share of the errors made in those parts, in units of each country's own monthly change.
"""

import re
from itertools import pairwise

import interface
import numpy as np

contract = interface.contract
CURVES = interface.KIND == "curves"
KEPT = np.linspace(0.0, 1.0, 11)
DECAYS = (0.3, 0.45, 0.7, 1.0)
"""Of the loading, a year; 0.7 puts the hump of the curvature at two and a half years."""
SKILL = 0.99
"""Error relative to that of the last curve that a forecast must reach in validation; and it must be below 1 in every
part.
"""


def years_of(channel):
    """Maturity of a channel named like 3m, 10y or y10."""
    found = re.search(r"(\d+)\s*m", channel)
    return int(found.group(1)) / 12 if found else float(re.search(r"\d+", channel).group())


def loadings(years, decay):
    """Float64[maturities, 3]."""
    scaled = decay * years
    slope = (1.0 - np.exp(-scaled)) / scaled
    return np.stack([np.ones_like(scaled), slope, slope - np.exp(-scaled)], axis=1)


def fit(states, moves, group):
    """Fit moves of factors, float64[n, h, 3], on the deviation from the group's mean; return a forecast of (states,
    group).
    """
    means = np.stack([states[group == g].mean(axis=0) for g in range(group.max() + 1)])
    away = states - means[group]
    slopes = np.linalg.lstsq(away, moves.reshape(len(moves), -1), rcond=None)[0]
    return lambda new, of: ((new - means[of]) @ slopes).reshape(len(new), *moves.shape[1:])


inputs, targets = interface.load_train()
times = interface.load("train_times")
if CURVES:
    years, names = np.array(contract["maturities"], dtype=float), contract["channels"]
    group = interface.load("train_series")
    targets = targets[:, None]
else:
    years, names = np.array([years_of(name) for name in contract["channels"]]), contract["targets"]
    group = np.zeros(len(inputs), dtype=int)
columns = [contract["channels"].index(name) for name in names]
last = inputs[:, -1]
truth = targets - last[:, None, columns]

errors, misses = {}, {}
for decay in DECAYS:
    shapes = loadings(years, decay)
    factors = np.linalg.lstsq(shapes, last.T, rcond=None)[0].T
    # A factor's move is what the curve's move shows of it.
    moved = (truth.reshape(-1, len(columns)) @ np.linalg.pinv(shapes[columns]).T).reshape(*truth.shape[:2], 3)
    for start, end in pairwise((np.linspace(0.55, 1.0, 4) * len(inputs)).astype(int)):
        fitted = times[:, -1] < times[start, contract["lookback"] - 1]
        forecast = (
            fit(factors[fitted], moved[fitted], group[fitted])(factors[start:end], group[start:end]) @ shapes[columns].T
        )
        for kept in KEPT:
            miss = kept * forecast - truth[start:end]
            errors.setdefault((decay, kept), []).append(np.log((miss**2).mean()) / 2 + np.log(np.abs(miss).mean()))
            misses.setdefault((decay, kept), []).append(miss)
scores = {choice: float(np.mean(found)) for choice, found in errors.items()}
decay, kept = min(scores, key=scores.get)
ratio = np.exp((scores[decay, kept] - scores[decay, 0.0]) / 2)
print(f"validation: error {ratio:.4f} of that of the last curve with decay {decay:g}, share kept {kept:.1f}")
if ratio > SKILL or any(own > last for own, last in zip(errors[decay, kept], errors[decay, 0.0], strict=True)):
    print("no skill in validation: the last curve is kept")
    kept = 0.0

shapes = loadings(years, decay)
factors = np.linalg.lstsq(shapes, last.T, rcond=None)[0].T
moved = (truth.reshape(-1, len(columns)) @ np.linalg.pinv(shapes[columns]).T).reshape(*truth.shape[:2], 3)
forecast = fit(factors, moved, group)
if CURVES:
    outside = (1.0 - contract["coverage"]) / 2.0
    unit = np.stack([truth[group == g, 0].std(axis=0) for g in range(group.max() + 1)])
    first = int(0.55 * len(inputs))
    low, high = np.quantile(
        np.concatenate(misses[decay, kept])[:, 0] / unit[group[first:]], (outside, 1.0 - outside), axis=0
    )
for window in interface.iter_test():
    now = window.inputs[:, -1]
    of = window.arrays["series"] if CURVES else np.zeros(len(now), dtype=int)
    asked = np.linalg.lstsq(shapes, now.T, rcond=None)[0].T
    answer = now[:, None, columns] + kept * forecast(asked, of) @ shapes[columns].T
    if CURVES:
        # A miss is forecast less truth, so the truth lies a miss below the forecast.
        lower, upper = (answer[:, 0] - bound * unit[of] for bound in (np.maximum(high, 0.0), np.minimum(low, 0.0)))
        answer = np.stack([lower, answer[:, 0], upper], axis=1)
    window.predict(np.clip(answer, contract["low"], contract["high"]))
