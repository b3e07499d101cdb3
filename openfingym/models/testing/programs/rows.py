"""Ridge regression on ranks of the characteristics, shrunk hard towards no return."""

import interface
import numpy as np

contract = interface.contract
features, returns = interface.load_train()
centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-12
x = np.tanh((features - centre) / scale)
weights = np.linalg.solve(x.T @ x + 2.0 * len(x) * np.eye(x.shape[1]), x.T @ (returns - returns.mean()))


def model(window):
    """The return of each row that is shown."""
    found = 0.5 * np.tanh((window.inputs - centre) / scale) @ weights
    return np.clip(found.reshape(window.shape), contract["low"], contract["high"])
