"""Filtered historical simulation: an AR(1) with GARCH(1, 1) errors a channel, driven by shocks that really came
together.

Models are fitted by Gaussian likelihood to all training windows at once, each filtered from the long run's variance.
Shocks (errors over their volatility) are drawn as whole rows, so that channels stay as correlated, and as heavy-tailed,
as they were. Paths start from the filtered state of the context, or from the last of a training window drawn at random.
Prices are simulated as log returns from where a window starts.
"""

import interface
import numpy as np
from scipy.optimize import minimize

contract = interface.contract
rng = np.random.default_rng(interface.seed)
PRICES = contract["value_semantics"] == "price_level"
LOOKBACK, HORIZON = contract["lookback"], contract["horizon"]
WINDOWS = 3000
"""Training windows used at most."""


def variances_of(errors, alpha, beta):
    """Float64[n, t, d] of errors -> float64[n, t + 1, d]: the variance before each error, the first the long run's, and
    after the last.
    """
    out = np.empty((errors.shape[0], errors.shape[1] + 1, errors.shape[2]))
    out[:, 0] = long_run
    for t in range(errors.shape[1]):
        out[:, t + 1] = (1.0 - alpha - beta) * long_run + alpha * errors[:, t] ** 2 + beta * out[:, t]
    return out


def fit(errors, k):
    """(alpha, beta) of channel k, by the likelihood of the last two thirds of each window: the first show how calm it
    is.
    """
    burn = errors.shape[1] // 3
    own, target = errors[:, :, k], long_run[k]

    def loss(free):
        alpha, beta = parameters(free)
        variance, total = np.full(len(own), target), 0.0
        for t in range(own.shape[1]):
            if t >= burn:
                total += (np.log(variance) + own[:, t] ** 2 / variance).mean()
            variance = (1.0 - alpha - beta) * target + alpha * own[:, t] ** 2 + beta * variance
        return total

    return parameters(minimize(loss, [3.0, -2.0], method="Nelder-Mead", options={"maxfev": 60}).x)


def parameters(free):
    """Two unbounded numbers as (alpha, beta), stationary."""
    persistence, share = 0.999 / (1.0 + np.exp(-free))
    return persistence * share, persistence * (1.0 - share)


def returns_of(windows):
    """Returns of windows: as they are, or of prices."""
    return np.diff(np.log(windows), axis=1) if PRICES else windows


def drawn(test):
    """Paths, or futures of each context, of the form of a submission with these items alone."""
    shape = (len(test), *interface.SUBMISSION_SHAPE[1:])
    count = int(np.prod(shape[: len(shape) - 2]))
    if LOOKBACK:
        context = np.repeat(test, count // len(test), axis=0)
        past = returns_of(context) - mean
        felt = past[:, 1:] - ar * past[:, :-1]
        variance, before, origin = variances_of(felt, alpha, beta)[:, -1], past[:, -1], context[:, -1]
        steps = HORIZON
    else:
        chosen = rng.integers(0, len(known), count)
        variance, before, origin = variances[chosen, -1], away[chosen, -1], known[chosen, 0]
        steps = HORIZON - PRICES
    path = np.empty((count, steps, d))
    for t in range(steps):
        error = np.sqrt(variance) * shocks[rng.integers(0, len(shocks), count)]
        before = ar * before + error
        path[:, t] = mean + before
        variance = (1.0 - alpha - beta) * long_run + alpha * error**2 + beta * variance
    if PRICES:
        path = origin[:, None] * np.exp(path.cumsum(axis=1))
        path = path if LOOKBACK else np.concatenate([origin[:, None], path], axis=1)
    return np.clip(path.reshape(shape), contract["low"], contract["high"])


contexts, windows = interface.load_train()
d = windows.shape[2]
picked = np.sort(rng.permutation(len(windows))[:WINDOWS])
known = np.concatenate([contexts[picked], windows[picked]], axis=1)
returns = returns_of(known)

mean = returns.mean(axis=(0, 1))
away = returns - mean
ar = (away[:, 1:] * away[:, :-1]).sum(axis=(0, 1)) / (away[:, :-1] ** 2).sum(axis=(0, 1))
errors = away[:, 1:] - ar * away[:, :-1]
long_run = (errors**2).mean(axis=(0, 1))
alpha, beta = np.array([fit(errors, k) for k in range(d)]).T
for k, name in enumerate(contract["channels"]):
    print(f"{name}: AR {ar[k]:.3f}, alpha {alpha[k]:.3f}, beta {beta[k]:.3f}")
variances = variances_of(errors, alpha, beta)
shocks = (errors / np.sqrt(variances[:, :-1])).reshape(-1, d)
shocks = (shocks - shocks.mean(axis=0)) / shocks.std(axis=0)

if "window" in contract:
    interface.predict_each(drawn)
else:
    print(interface.submit(drawn(interface.load_test_inputs())))
