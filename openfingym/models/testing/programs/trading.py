"""Parts in proportion to one over volatility, restored once a lookback: what is calm gets more."""

import interface
import numpy as np

env = interface.make(transport="websocket")
while env.episodes_left:
    observation, info = env.reset()
    step, done = 0, False
    while not done:
        action = None
        if step % interface.LOOKBACK == 0:
            calm = 1.0 / (np.diff(np.log(observation["bars"][:, :, 3]), axis=0).std(axis=0) + 1e-6)
            action = {"weights": 0.99 * calm / calm.sum()}
        observation, reward, terminated, truncated, info = env.step(action)
        step, done = step + 1, terminated or truncated
