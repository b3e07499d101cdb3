"""The Python surface in one page: list tasks, make an environment, submit, read the verified score.

Run it with ``python examples/quickstart.py``.
"""

import numpy as np

import openfingym

for task in openfingym.tasks(family="forecasting"):
    print(f"{task.name:29} {task.data_kind:10} {task.lookback:>3} -> {task.horizon:<3} {task.panel}")

env = openfingym.make("treasury-forecast")
observation, info = env.reset(seed=0)
print(f"\n{info['task']}: submit float64{list(info['submission_shape'])}, {info['unit']}")

# The last observed curve, repeated: a random walk's forecast.
last_curve = observation["test_inputs"][:, -1:, :]
predictions = np.repeat(last_curve, info["submission_shape"][1], axis=1)

_, reward, terminated, truncated, info = env.step(predictions)
print(f"reward {reward:.4f} (verified loss {info['total']:.4f}, lower is better); metrics {info['metrics']}")
env.close()
