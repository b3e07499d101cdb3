"""The last curve, and quantiles of what a month changed in training of each country."""

import interface
import numpy as np

contract = interface.contract
inputs, targets = interface.load_train()
test = interface.load_test_inputs()
country, asked = interface.load("train_series"), interface.load("test_series")
outside = (1.0 - contract["coverage"]) / 2.0
changes = targets - inputs[:, -1]

answer = np.empty(interface.SUBMISSION_SHAPE)
for name in np.unique(asked):
    own = changes[country == name] if (country == name).sum() > 30 else changes
    low, high = np.quantile(own, (outside, 1.0 - outside), axis=0)
    last = test[asked == name, -1]
    answer[asked == name] = np.stack([last + np.minimum(low, 0.0), last, last + np.maximum(high, 0.0)], axis=1)
answer = np.clip(answer, contract["low"], contract["high"])
