"""Keeps all symbols at equal parts of equity: back to them every so often, which sells what has risen and buys what has
fallen.
"""

import interface

contract = interface.contract
width = len(contract["symbols"])
EVERY = max(1, contract["lookback"] // 3)
"""Bars between two rebalancings."""

env = interface.make()
while env.episodes_left:
    env.reset()
    step, done = 0, False
    while not done:
        action = {"weights": [1 / width] * width} if step % EVERY == 0 else None
        observation, reward, terminated, truncated, info = env.step(action)
        step, done = step + 1, terminated or truncated
    print(f"equity {observation['equity']:.2f}")
