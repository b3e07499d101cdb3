"""Train a small PPO agent on 256 trading environments at once, and ask whether it has learnt anything.

Two SIMULATED markets of one symbol: in one, a bar tells a little about the next (the planted signal);
in the other prices are a martingale, so that nothing can be learnt. An honest learner beats random
trading in the first and does not in the second. Plain NumPy; takes about half a minute, and longer
the first time, when the trading core is compiled.

    python examples/train_ppo_vec.py
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from gymnasium.vector import AutoresetMode

from openfingym.data import Bars
from openfingym.envs import TradingVectorEnv
from openfingym.trading import MarketRules

VOLATILITY = 0.01
SIGNAL = 0.15  # of a bar's return that the next one repeats, in the planted market
LOOKBACK, STEPS = 4, 128
MARKET = MarketRules(lot=0.0)  # without costs: on a martingale every policy then earns 0 on average
WEIGHTS = np.array([-1.0, 0.0, 1.0])  # the actions: short, flat, long

NUM_ENVS, EPOCHS, MINIBATCH = 256, 4, 4096
DISCOUNT, GAE_LAMBDA, CLIP, ENTROPY, RATE = 0.9, 0.9, 0.2, 1e-3, 0.02


def simulate(rows: int, signal: float, rng: np.random.Generator) -> Bars:
    """Bars that open at the last close; with ``signal`` 0 the price is a martingale."""
    shocks = VOLATILITY * rng.standard_normal(rows)
    returns = np.empty(rows)
    before = 0.0
    for t in range(rows):
        before = returns[t] = signal * before + shocks[t] - VOLATILITY**2 / 2.0
    close = 100.0 * np.exp(np.cumsum(returns))[:, None]
    opened = np.vstack([[[100.0]], close[:-1]])
    times = np.datetime64("2000-01-01T00", "ns") + np.arange(rows) * np.timedelta64(1, "h")
    high, low = np.maximum(opened, close), np.minimum(opened, close)
    return Bars.from_arrays(
        times, ("sim",), open=opened, high=high, low=low, close=close, volume=np.full_like(close, 1e6)
    )


@dataclass
class Agent:
    """A softmax policy and a value function, both linear in a few features, trained by PPO (Schulman et al. 2017)."""

    policy: np.ndarray  # [features, 3]
    value: np.ndarray  # [features]

    @classmethod
    def fresh(cls, features: int) -> Agent:
        """One that acts at random."""
        return cls(np.zeros((features, len(WEIGHTS))), np.zeros(features))

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Of each action, [n, 3]."""
        logits = x @ self.policy
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def act(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An action for each row, drawn from its probabilities."""
        return (
            (rng.random(len(x))[:, None] > np.cumsum(self.probabilities(x), axis=1))
            .sum(axis=1)
            .clip(max=len(WEIGHTS) - 1)
        )


class Adam:
    """Kingma and Ba 2015, for one array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.m, self.v, self.t = np.zeros(shape), np.zeros(shape), 0

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """The change of the array for this gradient, uphill."""
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * gradient
        self.v = 0.999 * self.v + 0.001 * gradient**2
        return RATE * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.999**self.t)) + 1e-8)


def features_of(env: TradingVectorEnv, observations: np.ndarray) -> np.ndarray:
    """Close returns over the lookback in standard deviations, the position, and a constant."""
    window, weight = env.layout["features"], env.layout["weights"]
    returns = observations[:, window.place].reshape(-1, *window.shape)[:, :, 0, 0] / VOLATILITY
    return np.column_stack([returns, observations[:, weight.place], np.ones(len(observations))]).astype(np.float64)


def train(bars: Bars, rounds: int, rng: np.random.Generator) -> tuple[Agent, int]:
    """PPO, for some rounds of an episode in each environment; returns the agent and the environment steps it took."""
    env = TradingVectorEnv(
        NUM_ENVS, bars, MARKET, lookback=LOOKBACK, steps=STEPS, autoreset_mode=AutoresetMode.SAME_STEP
    )
    observations, _ = env.reset(seed=int(rng.integers(2**31)))
    x = features_of(env, observations)
    agent, adam_policy, adam_value = Agent.fresh(x.shape[1]), Adam((x.shape[1], len(WEIGHTS))), Adam((x.shape[1],))
    for _ in range(rounds):
        xs, actions, rewards, alive = [], [], [], []
        for _ in range(STEPS):
            action = agent.act(x, rng)
            observations, reward, terminated, truncated, _ = env.step(WEIGHTS[action][:, None])
            xs.append(x)
            actions.append(action)
            rewards.append(reward / VOLATILITY)
            alive.append(~(terminated | truncated))
            x = features_of(env, observations)
        advantages, targets = gae(agent, np.array(xs), x, np.array(rewards), np.array(alive))
        flat = np.concatenate(xs), np.concatenate(actions), advantages.ravel(), targets.ravel()
        improve(agent, flat, adam_policy, adam_value, rng)
    env.close()
    return agent, NUM_ENVS * STEPS * rounds


def gae(
    agent: Agent, xs: np.ndarray, last: np.ndarray, rewards: np.ndarray, alive: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Advantages and value targets (Schulman et al. 2016)."""
    values = np.concatenate([xs @ agent.value, (last @ agent.value)[None]])
    advantages, running = np.zeros_like(rewards), np.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        error = rewards[t] + DISCOUNT * values[t + 1] * alive[t] - values[t]
        advantages[t] = running = error + DISCOUNT * GAE_LAMBDA * alive[t] * running
    return advantages, advantages + values[:-1]


def improve(agent: Agent, batch: tuple[np.ndarray, ...], policy: Adam, value: Adam, rng: np.random.Generator) -> None:
    """A few epochs of the clipped objective, its gradient written out."""
    x, action, advantage, target = batch
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    before = agent.probabilities(x)[np.arange(len(x)), action]
    for _ in range(EPOCHS):
        for rows in np.array_split(rng.permutation(len(x)), max(1, len(x) // MINIBATCH)):
            xb, ab = x[rows], action[rows]
            p = agent.probabilities(xb)
            chosen = p[np.arange(len(xb)), ab]
            ratio = chosen / before[rows]
            free = np.where(advantage[rows] > 0.0, ratio < 1.0 + CLIP, ratio > 1.0 - CLIP)
            push = (free * ratio * advantage[rows])[:, None] * (np.eye(len(WEIGHTS))[ab] - p)
            log_p = np.log(p + 1e-12)
            spread = -p * (log_p - (p * log_p).sum(axis=1, keepdims=True))
            agent.policy += policy.step(xb.T @ (push + ENTROPY * spread) / len(xb))
            agent.value += value.step(xb.T @ (target[rows] - xb @ agent.value) / len(xb))


def evaluate(bars: Bars, agent: Agent | None, rng: np.random.Generator) -> np.ndarray:
    """Simple return of every bar of a fresh market, all bars once: the likeliest action, or a random one for no
    agent.
    """
    count = (len(bars) - LOOKBACK) // STEPS - 1
    env = TradingVectorEnv(count, bars, MARKET, lookback=LOOKBACK, steps=STEPS)
    observations, _ = env.reset(options={"start": LOOKBACK + STEPS * np.arange(count)})
    rewards = []
    for _ in range(STEPS):
        if agent is None:
            action = rng.integers(len(WEIGHTS), size=count)
        else:
            action = agent.probabilities(features_of(env, observations)).argmax(axis=1)
        observations, reward, *_ = env.step(WEIGHTS[action][:, None])
        rewards.append(reward)
    env.close()
    return np.expm1(np.array(rewards).ravel())


def main() -> None:
    """Train and judge on both markets."""
    parser = argparse.ArgumentParser(description="Train PPO on a market with a planted signal, and on one without.")
    parser.add_argument("--rounds", type=int, default=16, help="episodes of each environment (default: 16)")
    rounds = parser.parse_args().rounds
    print(f"SIMULATED markets, one symbol, volatility {VOLATILITY:.0%} a bar, no costs\n")
    for name, signal in (("planted signal", SIGNAL), ("martingale", 0.0)):
        rng = np.random.default_rng(1)
        train_bars, test_bars = simulate(20_000, signal, rng), simulate(120_000, signal, rng)
        began = time.perf_counter()
        agent, steps = train(train_bars, rounds, rng)
        seconds = time.perf_counter() - began
        learnt, random = evaluate(test_bars, agent, rng), evaluate(test_bars, None, rng)
        difference = learnt - random
        errors = difference.mean() / (difference.std() / np.sqrt(len(difference)))
        verdict = "beats random trading" if errors > 3.0 else "does not beat random trading"
        print(f"{name}: {steps:,} environment steps in {seconds:.1f} s, learning included")
        ppo_bps, random_bps = 1e4 * learnt.mean(), 1e4 * random.mean()
        print(
            f"  return a bar on {len(difference):,} unseen bars: PPO {ppo_bps:+.2f} bps, random {random_bps:+.2f} bps"
        )
        print(f"  difference {errors:+.1f} standard errors: {verdict}\n")


if __name__ == "__main__":
    main()
