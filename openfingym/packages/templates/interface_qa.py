"""The task, as an agent's program sees it.

    import interface

    questions, answers = interface.load_train()   # known questions, and the numbers of their answers
    env = interface.make()
    while env.episodes_left:
        observation, info = env.reset()           # observation["question"], ["as_of"], ["query"]
        observation, *_ = env.step({"tool": "name", "arguments": {}})   # observation["text"], ["value"]
        env.step({"answer": "..."})

Tools and the form of an answer are in ``interface.contract``: ``tools``, ``answer``, ``steps``. Editing this file changes
nothing: what counts is what the verifier receives.
"""

import json
import os
from pathlib import Path

from openfingym_agent import Interface

_task = Interface(Path(__file__).resolve().parent)

contract = _task.contract
KIND = contract["kind"]
TOOLS = tuple(tool["name"] for tool in contract["tools"])
LABELS = tuple(contract["channels"])
STEPS = contract["steps"]
DTYPE = contract["dtype"]
SUBMISSION_SHAPE = tuple(contract["submission_shape"])


def load_train() -> tuple[list[dict[str, object]], object]:
    """Known questions as dictionaries, and the numbers of their answers, float64[questions, LABELS]."""
    questions, answers = _task.load_train()
    return [json.loads(str(question)) for question in questions], answers


load = _task.load
make = _task.make
load_test_inputs = _task.load_test_inputs  # says that there are none
submit = _task.submit  # says what to do instead
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
