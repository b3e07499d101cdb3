"""Mean reversion: buys what lies far below the mean of its lookback, sells it again near the mean; short the other way
round.

A position is entered when a log close is ENTER standard deviations from the mean and left when it is back within EXIT,
so that noise between the two costs nothing.
"""

import interface
import numpy as np

contract = interface.contract
width = len(contract["symbols"])
SHORT = contract["low"] < 0
ENTER, EXIT = 2.0, 0.5


def sides(bars, held):
    """-1, 0 or 1 for each symbol, from bars float64[lookback, symbols, 5] and the sides held now."""
    logs = np.log(bars[:, :, 3])
    spread = logs.std(axis=0)
    score = np.divide(logs[-1] - logs.mean(axis=0), spread, out=np.zeros(width), where=spread > 0)
    side = np.where(np.abs(score) < EXIT, 0.0, held)
    side = np.where(score <= -ENTER, 1.0, np.where(score >= ENTER, -1.0, side))
    return side if SHORT else np.maximum(side, 0.0)


env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    held, done = np.zeros(width), False
    while not done:
        wanted = sides(observation["bars"], held)
        action = None if (wanted == held).all() else {"weights": wanted / width}
        held = wanted
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
    print(f"equity {observation['equity']:.2f}")
