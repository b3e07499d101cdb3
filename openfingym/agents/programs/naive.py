"""The baseline of each kind: last value or zero, Gaussian draws, random scores; equal weights, bought and held."""

import interface
import numpy as np

contract = interface.contract


def forecast(inputs):
    """The last value or curve, a return of zero, or draws, of the form of a submission with these items alone."""
    shape = (len(inputs), *interface.SUBMISSION_SHAPE[1:])
    if interface.KIND == "generation":
        return draws(shape)
    if interface.KIND == "curves":
        return inputs[:, -1:] + width * np.array([-1.0, 0.0, 1.0])[:, None]
    if interface.KIND == "rows" or contract["value_semantics"] == "log_return":
        return np.zeros(shape)
    columns = [contract["channels"].index(name) for name in contract["targets"]]
    return np.repeat(inputs[:, -1:, columns], shape[1], axis=1)


def draws(shape):
    """Windows or futures with the moments of training, float64 of a shape."""
    normal = rng.standard_normal(shape)
    drawn = mean + deviation * normal
    # Windows that wander are random walks: independent increments make those of training likelier than independent
    # values.
    walk = np.concatenate([drawn[..., :1, :], step + spread * normal[..., 1:, :]], axis=-2).cumsum(axis=-2)
    known = (deviation[1:] > 0) & (spread > 0)
    return walk if np.log(deviation[1:][known] / spread[known]).mean() > np.log(2.5) else drawn


rng = np.random.default_rng(interface.seed)
if interface.KIND == "generation":
    _, windows = interface.load_train()
    steps = np.diff(windows, axis=1)
    mean, deviation, step, spread = windows.mean(axis=0), windows.std(axis=0), steps.mean(axis=0), steps.std(axis=0)

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
elif "window" in contract:
    if interface.KIND == "curves":
        # The last curve, give or take what a month changed in 95 % of training, were changes normal.
        known, changed = interface.load_train()
        width = 1.96 * (changed - known[:, -1]).std(axis=0)
    interface.predict_each(lambda inputs: np.clip(forecast(inputs), contract["low"], contract["high"]))
    print("every window answered")
else:
    shape = interface.SUBMISSION_SHAPE
    scores = draws(shape) if interface.KIND == "generation" else rng.uniform(contract["low"], contract["high"], shape)
    print(interface.submit(np.clip(scores, contract["low"], contract["high"])))
