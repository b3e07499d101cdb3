"""The task, as an agent's program sees it.

    import interface

    known, times = interface.load_train()         # what is known before the first episode
    env = interface.make()                        # or make(transport="websocket")
    while env.episodes_left:
        observation, info = env.reset()
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(action)
            done = terminated or truncated

What the arrays and actions are depends on the kind of task; ``interface.contract`` holds every shape,
axis, unit, name and limit. Editing this file changes nothing: what counts is what the verifier receives.
"""

import os
from pathlib import Path

from openfingym_agent import Interface

_task = Interface(Path(__file__).resolve().parent)

contract = _task.contract
KIND = contract["kind"]
LOOKBACK = contract["lookback"]
HORIZON = contract["horizon"]
CHANNELS = tuple(contract["channels"])
DTYPE = contract["dtype"]
SUBMISSION_SHAPE = tuple(contract["submission_shape"])

load_train = _task.load_train
load = _task.load
make = _task.make
load_test_inputs = _task.load_test_inputs  # says that there are none
submit = _task.submit  # says what to do instead
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
