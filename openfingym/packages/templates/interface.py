"""The task, as an agent's program sees it.

    import interface

    inputs, targets = interface.load_train()      # what is known, with its answers
    test = interface.load_test_inputs()           # what an answer is wanted for
    feedback = interface.submit(predictions)      # float64 of shape interface.SUBMISSION_SHAPE

What the arrays are depends on the kind of task; ``interface.contract`` holds every shape, axis, unit,
name and limit. Editing this file changes nothing: what counts is what the verifier receives.
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
load_test_inputs = _task.load_test_inputs
load_graph = _task.load_graph
load = _task.load
submit = _task.submit
budget = _task.budget
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
