"""What happened on average in training: the mean return, the drift since the last value, the mean curve change.

A forecast without any condition; where it does better than naive there is a drift, and no more. Intervals of
curves hold the share of training changes that the task asks for.
"""

import interface
import numpy as np

contract = interface.contract
inputs, targets = interface.load_train()
columns = [contract["channels"].index(name) for name in contract.get("targets", contract["channels"])]
PRICES, LEVELS = contract["value_semantics"] == "price_level", contract["value_semantics"] != "log_return"


def moves():
    """What happened on average in training, of the form of one item's answer."""
    if interface.KIND == "rows":
        return targets.mean()
    if interface.KIND == "curves":
        outside = (1.0 - contract["coverage"]) / 2.0
        changes = targets - inputs[:, -1]
        low, high = np.quantile(changes, (outside, 1.0 - outside), axis=0)
        return np.stack([low, changes.mean(axis=0), high])
    if not LEVELS:
        return targets.mean(axis=(0, 1))
    # A straight line to the mean of the last step: of logarithms for prices, which grow by a factor.
    share = np.array(contract["steps"])[:, None] / contract["steps"][-1]
    last = inputs[:, -1, columns]
    return share * (np.log(targets[:, -1] / last) if PRICES else targets[:, -1] - last).mean(axis=0)


mean = moves()
for window in interface.iter_test():
    answer = np.broadcast_to(mean, window.shape)
    if interface.KIND != "rows" and LEVELS:
        last = window.inputs[:, -1:, columns]
        answer = last * np.exp(answer) if PRICES else last + answer
    window.predict(np.clip(answer, contract["low"], contract["high"]))
