"""One ARIMA model a channel (statsmodels, Hannan-Rissanen), of order (p, 0, q) for returns and volatilities and (p, 1,
q) for other levels.

The order is the one with the smallest squared errors of whole paths over the last third of training, of models
fitted on what lies before; (0, 0) is no move. Forecasts use the weights of past values that a model implies
(its AR form), cut off at what a window shows. There is no drift: over these horizons it cannot be told from zero.
"""

import warnings

import interface
import numpy as np
from statsmodels.tsa.arima.estimators.hannan_rissanen import hannan_rissanen
from statsmodels.tsa.arima_process import arma2ar

contract = interface.contract
SEMANTICS = contract["value_semantics"]
LOOKBACK, STEPS = contract["lookback"], np.array(contract["steps"])
ORDERS = ((1, 0), (0, 1), (1, 1), (2, 0), (2, 1), (5, 0))
SKILL = 0.998
"""Squared error, relative to that of no move, that an order must reach in both halves of validation."""


def states_of(windows):
    """Float64[n, L, k] -> stationary states: returns, steps of levels or of log prices, log volatilities."""
    if SEMANTICS == "log_return":
        return windows
    if SEMANTICS == "realised_vol":
        return np.log(windows)
    return np.diff(np.log(windows) if SEMANTICS == "price_level" else windows, axis=1)


def moves_of(states, path):
    """Predicted states of one channel, float64[n, h], as moves at the steps asked for; states float64[n, L]."""
    if SEMANTICS == "realised_vol":
        return (np.exp(path) - np.exp(states[:, -1:]))[:, STEPS - 1]
    return (path if SEMANTICS == "log_return" else path.cumsum(axis=1))[:, STEPS - 1]


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


def fit(series, order):
    """Fit float64[t]; return a forecast of states, float64[n, L] -> float64[n, h]."""
    mean = series.mean()
    with warnings.catch_warnings():
        # Estimates outside the stationary region are judged by their forecasts, like all others.
        warnings.simplefilter("ignore")
        found, _ = hannan_rissanen(series - mean, *order, demean=False)
        weights = -arma2ar(found.reduced_ar_poly.coef, found.reduced_ma_poly.coef, lags=LOOKBACK)[1:]

    def forecast(states):
        known = states - mean
        used = min(len(weights), known.shape[1])
        for _ in range(STEPS[-1]):
            following = known[:, : -used - 1 : -1] @ weights[:used]
            known = np.concatenate([known, following[:, None]], axis=1)
        return known[:, states.shape[1] :] + (mean if SEMANTICS == "realised_vol" else 0.0)

    return forecast


inputs, targets = interface.load_train()
columns = [contract["channels"].index(name) for name in contract["targets"]]
states = states_of(inputs[:, :, columns])
moves = moves_from(inputs[:, -1:, columns], targets)
times = interface.load("train_times")
stamps, first = np.unique(times[:, LOOKBACK - states.shape[1] : LOOKBACK], return_index=True)
cuts = (np.array([4, 5, 6]) * len(inputs) // 6).tolist()

models = {}
for k, name in enumerate(contract["targets"]):
    series = states[:, :, k].reshape(-1)[first]
    early = series[stamps <= times[cuts[0], LOOKBACK - 1]]
    errors = {}
    for order in ORDERS:
        forecast = fit(early, order)
        for half in (slice(*cuts[:2]), slice(*cuts[1:])):
            shown, truth = states[half, :, k], moves[half, :, k]
            ratio = ((moves_of(shown, forecast(shown)) - truth) ** 2).mean() / (truth**2).mean()
            errors.setdefault(order, []).append(ratio)
    order = min(errors, key=lambda order: sum(errors[order]))
    skilled = max(errors[order]) <= SKILL
    verdict = "kept" if skilled else "no move is forecast"
    print(
        f"{name}: ({order[0]}, {order[1]}), validation error {np.mean(errors[order]):.4f} of that of no move: {verdict}"
    )
    if skilled:
        models[k] = fit(series, order)


def answer(windows):
    """Float64[n, L, d] -> float64[n, h, k]."""
    own = windows[:, :, columns]
    shown = states_of(own)
    found = np.zeros((len(windows), len(STEPS), len(columns)))
    for k, forecast in models.items():
        found[:, :, k] = moves_of(shown[:, :, k], forecast(shown[:, :, k]))
    return np.clip(values_from(own[:, -1:], found), contract["low"], contract["high"])


interface.predict_each(answer)
