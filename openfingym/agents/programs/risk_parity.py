"""Risk parity: weights with which every symbol adds the same to the variance of the whole (Maillard, Roncalli and
Teiletche 2010).

Covariances are those of the lookback, half way to their diagonal. The weights are long only and add up to 1.
"""

import interface
import numpy as np

contract = interface.contract
EVERY = max(1, contract["lookback"] // 3)
"""Bars between two rebalancings."""
SHRINKAGE = 0.5


def weights(bars):
    """Equal risk contributions from bars float64[lookback, symbols, 5], by cyclical coordinate descent (Griveau-Billion
    et al. 2013).
    """
    returns = np.diff(np.log(bars[:, :, 3]), axis=0)
    covariance = np.atleast_2d(np.cov(returns, rowvar=False))
    covariance = (
        (1 - SHRINKAGE) * covariance + SHRINKAGE * np.diag(np.diag(covariance)) + 1e-12 * np.eye(len(covariance))
    )
    deviation = np.sqrt(np.diag(covariance))
    x = 1 / deviation
    for _ in range(100):
        for i in range(len(x)):
            # x_i (covariance x)_i = 1, a quadratic equation in x_i.
            others = covariance[i] @ x - covariance[i, i] * x[i]
            x[i] = (-others + np.sqrt(others**2 + 4 * covariance[i, i])) / (2 * covariance[i, i])
    # Rounding must not make the sum exceed 1.
    return x / x.sum() * (1 - 1e-12)


env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    step, done = 0, False
    while not done:
        action = {"weights": weights(observation["bars"])} if step % EVERY == 0 else None
        observation, reward, terminated, truncated, info = env.step(action)
        step, done = step + 1, terminated or truncated
    print(f"equity {observation['equity']:.2f}")
