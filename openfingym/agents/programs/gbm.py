"""Gradient-boosted trees (scikit-learn's histogram boosting): one model a step, shared by all channels.

A forecast is a *move*: a return, the log move of a price or a volatility since its last value, the move of any other
level; each channel is in units of its own deviation, and tells the trees which one it is. The number of trees and
boldness (a factor on the forecast) are those with the best loss of the task, relative to a forecast of no move, over
three later and later parts of training; without skill there, no move is forecast. Where the task compares risk
statistics, forecasts are centred, as in ridge.
"""

from itertools import pairwise

import interface
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

contract = interface.contract
SEMANTICS = contract["value_semantics"]
WEIGHTS = {metric["name"]: metric["weight"] for metric in contract["metrics"]}
LOGS = SEMANTICS in {"price_level", "realised_vol"}
RISK = "delta_sharpe" in WEIGHTS
RANKED = "long_short_sharpe" in WEIGHTS
TREES = (20, 60)
SETTINGS = {
    "max_leaf_nodes": 8,
    "learning_rate": 0.05,
    "min_samples_leaf": 100,
    "l2_regularization": 10.0,
    "early_stopping": False,
}
BOLDNESS = (0.0, 0.25, 0.5, 0.75, 1.0)
SKILL = 0.99
"""Relative loss that a forecast must reach in validation to be trusted; and it must be below 1 in every part."""
FEW_CHANNELS = 20


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
    """Float64[n, L, d] -> float64[n, k, f]: a row for each predicted channel, most of it in units of that channel's
    steps.
    """
    if interface.KIND == "rows":
        return windows
    levels = np.where(logged, np.log(np.maximum(windows, floor)), windows)
    steps = (levels if SEMANTICS == "log_return" else np.diff(levels, axis=1)) / scale
    own, n, k = steps[:, :, columns], len(windows), len(columns)
    recent = own[:, -5:].transpose(0, 2, 1)
    trends = [own.mean(axis=1), own[:, -10:].mean(axis=1), own[:, -10:].std(axis=1), own.std(axis=1)]
    if SEMANTICS != "log_return":
        trends.append((levels[:, -1] - levels.mean(axis=1))[:, columns] / scale[columns])
    if SEMANTICS == "realised_vol":
        trends.append(levels[:, -1][:, columns] / scale[columns])
    panel = [steps[:, -2:].mean(axis=2), steps.mean(axis=(1, 2))[:, None]]
    if 1 < steps.shape[2] <= FEW_CHANNELS:
        panel.append(steps[:, -1])
    shared = np.repeat(np.concatenate(panel, axis=1)[:, None], k, axis=1)
    number = np.broadcast_to(np.arange(k, dtype=float)[:, None], (n, k, 1))
    return np.concatenate([recent, np.stack(trends, axis=2), shared, number], axis=2)


def boost(x, y, numbers):
    """Fit float64[n, h, k] on float64[n, k, f]; return forecasts of features after each number of trees."""
    unit = y.std(axis=0) + 1e-12
    categorical = None if interface.KIND == "rows" else [x.shape[2] - 1]
    models = []
    for step in range(y.shape[1]):
        model = HistGradientBoostingRegressor(
            max_iter=numbers[-1], categorical_features=categorical, random_state=interface.seed, **SETTINGS
        )
        models.append(model.fit(x.reshape(-1, x.shape[2]), (y[:, step] / unit[step]).reshape(-1)))

    def forecasts(new):
        """Float64[n, h, k] by number of trees, without drift."""
        out = {trees: np.empty((len(new), *y.shape[1:])) for trees in numbers}
        for step, model in enumerate(models):
            for count, found in enumerate(model.staged_predict(new.reshape(-1, new.shape[2])), 1):
                if count in out:
                    out[count][:, step] = found.reshape(len(new), -1) * unit[step]
        return out

    drifts = {trees: drift_of(found) for trees, found in forecasts(x).items()} if RISK else dict.fromkeys(numbers, 0.0)
    return lambda new: {trees: found - drifts[trees] for trees, found in forecasts(new).items()}


def drift_of(moves):
    """The mean step of each channel, of moves float64[n, h, k]."""
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
levels = np.where(logged, np.log(np.maximum(inputs, floor)), inputs)
scale = (
    (levels if SEMANTICS == "log_return" else np.diff(levels, axis=1)).std(axis=(0, 1)) + 1e-12
    if levels.shape[1] > 1
    else 1.0
)
features, moves = features_of(inputs), moves_of(targets, inputs[:, -1, columns])

losses = {}
for fitted, validated in parts(interface.load("train_times"), contract["lookback"]):
    for trees, found in boost(features[fitted], moves[fitted], TREES)(features[validated]).items():
        for bold in BOLDNESS:
            losses.setdefault((trees, bold), []).append(relative_loss(bold * found, moves[validated]))
scores = {choice: float(np.exp(np.mean(logs))) for choice, logs in losses.items()}
if RANKED:  # only the order counts for a portfolio: a forecast without skill is made small, not nothing
    scores = {(trees, bold): loss for (trees, bold), loss in scores.items() if bold > 0}
trees, bold = min(scores, key=scores.get)
print(f"validation: relative loss {scores[trees, bold]:.3f} with {trees} trees, boldness {bold:g}")
if (scores[trees, bold] > SKILL or max(losses[trees, bold]) > 0.0) and not RANKED:
    print("no skill in validation: no move is forecast")
    bold = 0.0

forecasts = boost(features, moves, (trees,)) if bold else None
for window in interface.iter_test():
    shown = window.inputs[:, None] if interface.KIND == "rows" else window.inputs
    last = shown[:, -1, columns]
    found = bold * forecasts(features_of(shown))[trees] if forecasts else np.zeros((len(shown), *moves.shape[1:]))
    predictions = values_of(found, last).reshape(window.shape)
    window.predict(np.clip(predictions, contract["low"], contract["high"]))
