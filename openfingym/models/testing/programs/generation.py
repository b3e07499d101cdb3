"""Paths drawn step by step: each value is regressed on the two before it, and gets a random training residual."""

import interface
import numpy as np

contract = interface.contract
rng = np.random.default_rng(interface.seed)
contexts, windows = interface.load_train()
test = interface.load_test_inputs()
shape = interface.SUBMISSION_SHAPE
count = int(np.prod(shape[:-2]))
lookback, horizon, width = contexts.shape[1], shape[-2], shape[-1]

whole = np.concatenate([contexts, windows], axis=1)
paths = np.zeros((count, lookback + horizon, width))
paths[:, :lookback] = np.repeat(test, count // len(test), axis=0) if lookback else 0.0
for step in range(lookback, lookback + horizon):
    past = [part[:, max(0, step - 2) : step].reshape(len(part), -1) for part in (whole, paths)]
    x, z = (np.column_stack([np.ones(len(part)), part]) for part in past)
    weights = np.linalg.lstsq(x, whole[:, step], rcond=None)[0]
    residuals = whole[:, step] - x @ weights
    # Slightly spread, so that no path is a training path with another name, and scaled back to the same variance.
    chosen = residuals[rng.integers(0, len(residuals), count)]
    drawn = chosen + 0.2 * residuals.std(axis=0) * rng.standard_normal((count, width))
    paths[:, step] = z @ weights + drawn / 1.04**0.5
answer = paths[:, lookback:].clip(whole.min(axis=(0, 1)), whole.max(axis=(0, 1))).reshape(shape)
