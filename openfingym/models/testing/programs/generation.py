"""Paths drawn step by step: each value is regressed on the two before it, and gets a random training residual."""

import interface
import numpy as np

contract = interface.contract
rng = np.random.default_rng(interface.seed)
contexts, windows = interface.load_train()
lookback, horizon, width = contexts.shape[1], windows.shape[1], windows.shape[2]
whole = np.concatenate([contexts, windows], axis=1)


def known(paths, step):
    """A constant and the last two rows before a step, float64[n, f]."""
    return np.column_stack([np.ones(len(paths)), paths[:, max(0, step - 2) : step].reshape(len(paths), -1)])


laws = {}
for step in range(lookback, lookback + horizon):
    weights = np.linalg.lstsq(known(whole, step), whole[:, step], rcond=None)[0]
    laws[step] = weights, whole[:, step] - known(whole, step) @ weights


def drawn(test):
    """Windows, or futures of each context, of the form of a submission with these items alone."""
    shape = (len(test), *interface.SUBMISSION_SHAPE[1:])
    count = int(np.prod(shape[:-2]))
    paths = np.zeros((count, lookback + horizon, width))
    paths[:, :lookback] = np.repeat(test, count // len(test), axis=0)
    for step, (weights, residuals) in laws.items():
        # Slightly spread, so that no path is a training path with another name, and scaled back to the same variance.
        chosen = residuals[rng.integers(0, len(residuals), count)]
        noise = chosen + 0.2 * residuals.std(axis=0) * rng.standard_normal((count, width))
        paths[:, step] = known(paths, step) @ weights + noise / 1.04**0.5
    return paths[:, lookback:].clip(whole.min(axis=(0, 1)), whole.max(axis=(0, 1))).reshape(shape)


def model(window):
    """Futures of each context that is shown."""
    return drawn(window.inputs)


if "window" not in contract:
    answer = drawn(interface.load_test_inputs())
