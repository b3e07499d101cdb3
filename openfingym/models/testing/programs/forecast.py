"""Ridge regression of moves on the window's moves, blended with no move by its fit on the last third of training."""

import interface
import numpy as np

contract = interface.contract
inputs, targets = interface.load_train()
test = interface.load_test_inputs()
columns = [0] if "series" in contract else [contract["channels"].index(name) for name in contract["targets"]]
returns = contract["value_semantics"] == "log_return"

last, asked = (0.0, 0.0) if returns else (inputs[:, -1:, columns], test[:, -1:, columns])
known, new = (windows if returns else windows - windows[:, -1:] for windows in (inputs, test))
x, y = known[:, -10:].reshape(len(known), -1), (targets - last).reshape(len(targets), -1)
centre, scale = x.mean(axis=0), x.std(axis=0) + 1e-12
x, z = (x - centre) / scale, (new[:, -10:].reshape(len(new), -1) - centre) / scale

cut = 2 * len(x) // 3
gram = x[:cut].T @ x[:cut] + cut * np.eye(x.shape[1])
later = x[cut:] @ np.linalg.solve(gram, x[:cut].T @ y[:cut])
blend = min((0.0, 0.25, 0.5, 0.75), key=lambda share: ((share * later - y[cut:]) ** 2).mean())
weights = np.linalg.solve(x.T @ x + len(x) * np.eye(x.shape[1]), x.T @ y)
answer = asked + blend * (z @ weights).reshape(len(test), *targets.shape[1:])
answer = np.clip(answer.reshape(interface.SUBMISSION_SHAPE), contract["low"], contract["high"])
