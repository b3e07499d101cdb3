"""Filtered historical simulation: past steps of all channels, drawn at random, centred, and as wild as a window is.

A plausible path, and no forecast at all. It shows what a total that compares risk statistics pays for volatility
alone: a forecast as volatile as the truth closes the gaps of Value-at-Risk and Expected Shortfall, at the price of
larger errors. The relative total does not compare them, so there it is worse than no move. The size of the draws is
the one with the best geometric mean of all metrics over the last third of training.
"""

import interface
import numpy as np

contract = interface.contract
rng = np.random.default_rng(interface.seed)
WEIGHTS = {metric["name"]: metric["weight"] for metric in contract["metrics"]}
PRICES = contract["value_semantics"] == "price_level"
SIZES = (0.25, 0.5, 0.75, 1.0, 1.25)


def risk(steps):
    """Sharpe ratio, Value-at-Risk and Expected Shortfall at 5 % of each channel: float64[3, k]."""
    flat = np.sort(steps.reshape(-1, steps.shape[2]), axis=0)
    tail = max(1, round(0.05 * len(flat)))
    return np.array([flat.mean(axis=0) / flat.std(axis=0), flat[tail - 1], flat[:tail].mean(axis=0)])


def loss(steps, truth):
    """Log of the weighted geometric mean of the task's metrics, those that do not rank among them."""
    error = (steps - truth).cumsum(axis=1) if PRICES else steps - truth
    gaps = np.abs(risk(steps) - risk(truth)).mean(axis=1)
    parts = {"mae": np.abs(error).mean(), "rmse": (error**2).mean() ** 0.5}
    parts |= dict(zip(("delta_sharpe", "delta_var", "delta_es"), gaps, strict=True))
    return sum(WEIGHTS[name] * np.log(part) for name, part in parts.items())


def size_of(windows):
    """Root mean square of the steps a window shows, float64[n, 1, k]."""
    shown = np.diff(np.log(windows[:, :, columns]), axis=1) if PRICES else windows[:, :, columns]
    return np.sqrt((shown**2).mean(axis=1, keepdims=True)) + 1e-9


def draw(unit, size):
    """Steps in units of their windows' size, drawn with replacement for windows of a given size; without drift."""
    return (unit[rng.integers(0, len(unit), len(size))] - unit.mean(axis=(0, 1))) * size


inputs, targets = interface.load_train()
columns = [contract["channels"].index(name) for name in contract["targets"]]
steps = np.diff(np.log(targets / inputs[:, -1:, columns]), axis=1, prepend=0.0) if PRICES else targets
sizes = size_of(inputs)
unit = steps / sizes

cut = 2 * len(steps) // 3
drawn = draw(unit[:cut], sizes[cut:])
size = min(SIZES, key=lambda size: loss(size * drawn, steps[cut:]))
print(f"draws of {size:g} times their natural size")


def answer(windows):
    """Float64[n, L, d] -> float64[n, h, k]."""
    found = size * draw(unit, size_of(windows))
    path = windows[:, -1:, columns] * np.exp(found.cumsum(axis=1)) if PRICES else found
    return np.clip(path, contract["low"], contract["high"])


interface.predict_each(answer)
