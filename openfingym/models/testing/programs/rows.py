"""Ridge regression on ranks of the characteristics, shrunk hard towards no return."""

import interface
import numpy as np

contract = interface.contract
features, returns = interface.load_train()
test = interface.load_test_inputs()
centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-12
x, z = np.tanh((features - centre) / scale), np.tanh((test - centre) / scale)
weights = np.linalg.solve(x.T @ x + 2.0 * len(x) * np.eye(x.shape[1]), x.T @ (returns - returns.mean()))
answer = np.clip(0.5 * (z @ weights).reshape(interface.SUBMISSION_SHAPE), contract["low"], contract["high"])
