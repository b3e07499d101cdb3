"""The Python surface in one page: list tasks, make an environment, answer its windows, read the verified score.

Run it with ``python examples/quickstart.py``.
"""

import numpy as np

import openfingym

for task in openfingym.tasks(family="forecasting"):
    print(f"{task.name:29} {task.data_kind:10} {task.lookback:>3} -> {task.horizon:<3} {task.panel}")

env = openfingym.make("treasury-forecast")
observation, info = env.reset(seed=0)
print(f"\n{info['task']}: {info['windows_left']} windows, each float64{list(info['shape'])}, {info['unit']}")

# Each window is shown once the one before it was answered.
steps, terminated = info["shape"][0], False
while not terminated:
    # The last observed curve, repeated: a random walk's forecast.
    last_curve = observation["inputs"][0, -1:]
    observation, reward, terminated, truncated, info = env.step(np.repeat(last_curve, steps, axis=0))
print(f"reward {reward:.4f} (verified loss {info['total']:.4f}, lower is better); metrics {info['metrics']}")
env.close()
