"""Volatility targeting (Moreira and Muir 2017, in spirit): equal parts of all symbols, more when markets are calm, less
when they are not.

The volatility of the whole is that of the lookback, with correlations; the target is what it usually was in training,
times 0.7, so that there is room to go up. Without borrowing, the parts add up to at most 1.
"""

import interface
import numpy as np

contract = interface.contract
width = len(contract["symbols"])
EVERY = max(1, contract["lookback"] // 6)
"""Bars between two rebalancings."""


def volatility(bars):
    """Standard deviation of the return of all symbols in equal parts."""
    return np.diff(np.log(bars[:, :, 3]), axis=0).mean(axis=1).std()


bars, _ = interface.load_train()
TARGET = 0.7 * volatility(bars)
print(f"target: {TARGET * np.sqrt(contract['periods_per_year']):.1%} a year")

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    step, done = 0, False
    while not done:
        share = min(1.0, TARGET / max(volatility(observation["bars"]), 1e-12))
        action = {"weights": [share / width] * width} if step % EVERY == 0 else None
        observation, reward, terminated, truncated, info = env.step(action)
        step, done = step + 1, terminated or truncated
    print(f"equity {observation['equity']:.2f}")
