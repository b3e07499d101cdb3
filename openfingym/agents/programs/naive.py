"""The baseline of each kind: last value or zero, Gaussian draws, random scores; equal weights, bought and held."""

import interface
import numpy as np

contract = interface.contract


def answer():
    """The answer of a batch task, float64 of its submission's shape."""
    test = interface.load_test_inputs()
    rng = np.random.default_rng(interface.seed)
    if interface.KIND in {"forecast", "rows"}:
        if contract["value_semantics"] == "log_return":
            return np.zeros(interface.SUBMISSION_SHAPE)
        columns = [contract["channels"].index(name) for name in contract["targets"]]
        return np.repeat(test[:, -1:, columns], interface.SUBMISSION_SHAPE[1], axis=1)
    if interface.KIND == "curves":
        # The last curve, give or take what a month changed in 95 % of training, were changes normal.
        inputs, targets = interface.load_train()
        width = 1.96 * (targets - inputs[:, -1]).std(axis=0)
        last = test[:, -1]
        return np.stack([last - width, last, last + width], axis=1)
    if interface.KIND == "generation":
        _, windows = interface.load_train()
        steps = np.diff(windows, axis=1)
        deviation, spread = windows.std(axis=0), steps.std(axis=0)
        normal = rng.standard_normal(interface.SUBMISSION_SHAPE)
        drawn = windows.mean(axis=0) + deviation * normal
        # Windows that wander are random walks: independent increments make those of training likelier than independent
        # values.
        walk = np.concatenate([drawn[..., :1, :], steps.mean(axis=0) + spread * normal[..., 1:, :]], axis=-2).cumsum(
            axis=-2
        )
        known = (deviation[1:] > 0) & (spread > 0)
        return walk if np.log(deviation[1:][known] / spread[known]).mean() > np.log(2.5) else drawn
    return rng.uniform(contract["low"], contract["high"], interface.SUBMISSION_SHAPE)


if interface.KIND in {"rolling", "trading"}:
    env = interface.make()
    while env.episodes_left:
        # An episode that is left early goes on to its end with nothing more done: no change is forecast, positions are
        # held.
        env.reset()
        if interface.KIND == "trading":
            width = len(contract["symbols"])
            env.step({"weights": [1 / width] * width})
    print("every episode begun")
else:
    print(interface.submit(np.clip(answer(), contract["low"], contract["high"])))
