"""Ridge regression of moves on the window's moves, blended with no move by its fit on the last third of training."""

import interface
import numpy as np

contract = interface.contract
inputs, targets = interface.load_train()
columns = [0] if "series" in contract else [contract["channels"].index(name) for name in contract["targets"]]
returns = contract["value_semantics"] == "log_return"


def known(windows):
    """The last moves that windows show, float64[n, f]."""
    return (windows if returns else windows - windows[:, -1:])[:, -10:].reshape(len(windows), -1)


x, y = known(inputs), (targets if returns else targets - inputs[:, -1:, columns]).reshape(len(targets), -1)
centre, scale = x.mean(axis=0), x.std(axis=0) + 1e-12
x = (x - centre) / scale
cut = 2 * len(x) // 3
gram = x[:cut].T @ x[:cut] + cut * np.eye(x.shape[1])
later = x[cut:] @ np.linalg.solve(gram, x[:cut].T @ y[:cut])
blend = min((0.0, 0.25, 0.5, 0.75), key=lambda share: ((share * later - y[cut:]) ** 2).mean())
weights = np.linalg.solve(x.T @ x + len(x) * np.eye(x.shape[1]), x.T @ y)


def model(window):
    """What comes after each item that is shown."""
    moves = blend * (((known(window.inputs) - centre) / scale) @ weights).reshape(window.shape)
    answer = moves if returns else window.inputs[:, -1:, columns] + moves
    return np.clip(answer, contract["low"], contract["high"])
