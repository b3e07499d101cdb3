"""Time-series momentum (Moskowitz, Ooi and Pedersen 2012): long what has risen over the lookback, short what has
fallen.

Each symbol has an equal part of equity, scaled by how large its move was against what its volatility explains: a
move of one standard deviation or more takes the whole part. Weights change every so often, since trading costs.
"""

import interface
import numpy as np

contract = interface.contract
width = len(contract["symbols"])
SHORT = contract["low"] < 0
EVERY = max(1, contract["lookback"] // 3)
"""Bars between two rebalancings."""


def weights(bars):
    """Target weights from bars float64[lookback, symbols, 5]."""
    logs = np.log(bars[:, :, 3])
    moved, usual = logs[-1] - logs[0], np.diff(logs, axis=0).std(axis=0) * np.sqrt(len(logs) - 1)
    signal = np.clip(np.divide(moved, usual, out=np.zeros(width), where=usual > 0), -1, 1)
    return (signal if SHORT else np.maximum(signal, 0)) / width


env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    step, done = 0, False
    while not done:
        action = {"weights": weights(observation["bars"])} if step % EVERY == 0 else None
        observation, reward, terminated, truncated, info = env.step(action)
        step, done = step + 1, terminated or truncated
    print(f"equity {observation['equity']:.2f}")
