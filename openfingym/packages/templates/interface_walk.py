"""The task, as an agent's program sees it.

    import interface

    inputs, targets = interface.load_train()      # what is known, with its answers
    for window in interface.iter_test():          # hidden windows in the order of time, each answered before the next
        window.predict(model(window.inputs))      # float64 of shape window.shape

    walk = interface.iter_test(practice=True)     # the same with the windows to practise on, before
    print(walk.feedback)                          # once its last window was answered

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
iter_test = _task.iter_test
predict_each = _task.predict_each
load = _task.load
budget = _task.budget
load_test_inputs = _task.load_test_inputs  # says what to write instead
submit = _task.submit  # says what to write instead
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
