"""The task, as an agent's program sees it.

    import interface

    inputs, targets = interface.load_train()      # float64[n, lookback, channels], float64[n, horizon, channels]
    test = interface.load_test_inputs()           # float64[n_test, lookback, channels]
    feedback = interface.submit(predictions)      # predictions: float64[n_test, horizon, channels]

``interface.contract`` holds every shape, unit, channel name and limit; ``interface.SUBMISSION_SHAPE``
is the shape a submission must have. Editing this file changes nothing: what counts is what the
verifier receives.
"""

import os
from pathlib import Path

from openfingym_agent import Interface

_task = Interface(Path(__file__).resolve().parent)

contract = _task.contract
LOOKBACK = contract["lookback"]
HORIZON = contract["horizon"]
CHANNELS = tuple(contract["channels"])
DTYPE = contract["dtype"]
SUBMISSION_SHAPE = tuple(contract["submission_shape"])

load_train = _task.load_train
load_test_inputs = _task.load_test_inputs
load_times = _task.load_times
submit = _task.submit
budget = _task.budget
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
