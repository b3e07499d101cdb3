"""A first agent: a program that runs inside the sandbox and forecasts, window by window, through the task's interface.

Run it with::

    openfingym run treasury-forecast --agent script --program examples/my_first_agent.py

It predicts that every channel goes on as it went, on average, over the input window, times a factor
that is chosen on the training windows: positive follows the trend, negative expects it to revert.
"""

import interface
import numpy as np

inputs, targets = interface.load_train()  # float64[n, lookback, channels], float64[n, horizon, channels]
is_level = interface.contract["value_semantics"] != "log_return"
steps = np.arange(1, interface.HORIZON + 1)[None, :, None]


def forecast(windows, factor):
    """Float64[n, lookback, channels] -> float64[n, horizon, channels]."""
    if is_level:
        drift = (windows[:, -1:, :] - windows[:, :1, :]) / (interface.LOOKBACK - 1)
        return windows[:, -1:, :] + factor * drift * steps
    return factor * np.repeat(windows.mean(axis=1, keepdims=True), interface.HORIZON, axis=1)


candidates = np.linspace(-1.0, 1.0, 41)
errors = [np.sqrt(((forecast(inputs, factor) - targets) ** 2).mean()) for factor in candidates]
best = candidates[int(np.argmin(errors))]
print(f"factor {best:+.2f}, training error {min(errors):.4g} {interface.contract['unit']}")

# Hidden windows are shown in the order of time. The first part of them is there to practise on, as often as the budget
# allows; the other part counts, and is walked through once.
practice = interface.predict_each(lambda windows: forecast(windows, best), practice=True)
print(f"practice on the public fold: {practice}")
interface.predict_each(lambda windows: forecast(windows, best))
