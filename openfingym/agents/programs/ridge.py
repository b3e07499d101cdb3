"""Ridge regression of everything to be predicted on everything a window shows.

A forecast is a *move*: a return, the log move of a price or a volatility since its last value, the move of any other
level. Penalty and boldness (a factor on the forecast) are those with the best loss of the task, relative to a forecast
of no move, over three later and later parts of training; without skill there, no move is forecast. Where the task
compares risk statistics, forecasts are centred: a drift cannot be told from zero in so few windows, and a small
constant has an absurd Sharpe ratio, which is reported though it does not rank.
"""

from itertools import pairwise

import interface
import numpy as np

contract = interface.contract
SEMANTICS = contract["value_semantics"]
WEIGHTS = {metric["name"]: metric["weight"] for metric in contract["metrics"]}
LOGS = SEMANTICS in {"price_level", "realised_vol"}
RISK = "delta_sharpe" in WEIGHTS
RANKED = "long_short_sharpe" in WEIGHTS
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
"""As multiples of the number of windows."""
BOLDNESS = (0.0, 0.25, 0.5, 0.75, 1.0)
SKILL = 0.99
"""Relative loss that a forecast must reach in validation to be trusted; and it must be below 1 in every part."""


def moves_of(values, last):
    """Float64[n, h, k] values as moves; last is float64[n, k]."""
    if SEMANTICS == "log_return":
        return values
    return np.log(values / last[:, None]) if LOGS else values - last[:, None]


def values_of(moves, last):
    """The inverse of moves_of."""
    if SEMANTICS == "log_return":
        return moves
    return last[:, None] * np.exp(moves) if LOGS else last[:, None] + moves


def features_of(windows):
    """Float64[n, L, d] -> float64[n, f]: returns as they are, levels less their last value; volatilities revert, so
    also that value.
    """
    if SEMANTICS == "log_return":
        return windows.reshape(len(windows), -1)
    levels = np.where(logged, np.log(np.maximum(windows, floor)), windows)
    past = (levels[:, :-1] - levels[:, -1:]).reshape(len(windows), -1)
    return np.concatenate([past, levels[:, -1]], axis=1) if SEMANTICS == "realised_vol" else past


def ridge(x, y):
    """Fit float64[n, h, k] on float64[n, f]; return a forecast of (features, penalty)."""
    mean, scale, centre = x.mean(axis=0), x.std(axis=0) + 1e-12, y.mean(axis=0)
    standard = (x - mean) / scale
    values, vectors = np.linalg.eigh(standard.T @ standard / len(x))
    projected = vectors.T @ (standard.T @ (y - centre).reshape(len(y), -1)) / len(x)

    def forecast(new, penalty):
        found = ((new - mean) / scale) @ vectors @ (projected / (values[:, None] + penalty))
        return found.reshape(len(new), *y.shape[1:]) + centre

    return forecast


def drift_of(moves):
    """The mean step of each channel, where a drift would be punished."""
    if not RISK:
        return 0.0
    if SEMANTICS == "log_return":
        return moves.mean(axis=(0, 1))
    steps = moves.shape[1]
    return moves[:, -1].mean(axis=0) * np.arange(1, steps + 1)[:, None] / steps


def losses_of(moves, truth):
    """The metrics of the task that rank and that a forecast of moves decides, as losses: errors, and no gaps of risk
    statistics.
    """
    error = moves - truth
    mse, mae = (error**2).mean(), np.abs(error).mean()
    losses = {"mae": mae, "mafe": mae, "relative_mae": mae, "rmse": mse**0.5, "nrmse": mse**0.5}
    losses |= dict.fromkeys(("mse", "relative_mse", "r2_zero", "r2_oos"), mse)
    return losses


def relative_loss(moves, truth):
    """Log of the weighted geometric mean of losses relative to those of no move."""
    own, base = losses_of(moves, truth), losses_of(np.zeros_like(truth), truth)
    weights = {name: WEIGHTS[name] for name in own if WEIGHTS.get(name)}
    logs = (weight * np.log(np.clip(own[name] / base[name], 0.01, 100.0)) for name, weight in weights.items())
    return sum(logs) / sum(weights.values())


def parts(times, lookback, count=3):
    """Positions to fit on and to validate on, in order of time: all targets fitted on lie before the origins
    validated.
    """
    rows = times.reshape(len(times), -1)
    edges = np.linspace(0.55, 1.0, count + 1) * len(rows)
    for first, last in pairwise(edges.astype(int)):
        yield np.flatnonzero(rows[:, -1] < rows[first, lookback - 1]), np.arange(first, last)


inputs, targets = interface.load_train()
if interface.KIND == "rows":
    inputs, targets = inputs[:, None], targets[:, None, None]
    columns = [0]
else:
    columns = [contract["channels"].index(name) for name in contract["targets"]] if "series" not in contract else [0]
lowest = inputs.min(axis=(0, 1))
logged = (lowest > 0) & LOGS
# What is shown later may be zero, though nothing in training was.
floor = np.where(logged, 1e-3 * lowest, 1.0)
features, moves = features_of(inputs), moves_of(targets, inputs[:, -1, columns])

losses = {}
for fitted, validated in parts(interface.load("train_times"), contract["lookback"]):
    forecast = ridge(features[fitted], moves[fitted])
    for penalty in PENALTIES:
        # On average over what was fitted, a forecast is the mean of its outcomes.
        found = forecast(features[validated], penalty) - drift_of(moves[fitted])
        for bold in BOLDNESS:
            losses.setdefault((penalty, bold), []).append(relative_loss(bold * found, moves[validated]))
scores = {choice: float(np.exp(np.mean(logs))) for choice, logs in losses.items()}
if RANKED:  # only the order counts for a portfolio: a forecast without skill is made small, not nothing
    scores = {(penalty, bold): loss for (penalty, bold), loss in scores.items() if bold > 0}
penalty, bold = min(scores, key=scores.get)
print(f"validation: relative loss {scores[penalty, bold]:.3f} with penalty {penalty:g}, boldness {bold:g}")
if (scores[penalty, bold] > SKILL or max(losses[penalty, bold]) > 0.0) and not RANKED:
    print("no skill in validation: no move is forecast")
    bold = 0.0

forecast, drift = ridge(features, moves), drift_of(moves)
for window in interface.iter_test():
    shown = window.inputs[:, None] if interface.KIND == "rows" else window.inputs
    found = bold * (forecast(features_of(shown), penalty) - drift)
    predictions = values_of(found, shown[:, -1, columns]).reshape(window.shape)
    window.predict(np.clip(predictions, contract["low"], contract["high"]))
