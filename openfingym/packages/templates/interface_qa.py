"""The task, as an agent's program sees it.

    import interface

    questions, answers = interface.load_train()   # known questions, and the numbers of their answers
    env = interface.make()
    while env.episodes_left:
        observation, info = env.reset()           # observation["question"], ["as_of"], ["query"]
        observation, *_ = env.step({"tool": "name", "arguments": {}})   # observation["text"], ["value"]
        env.step({"answer": "..."})

Tools and the form of an answer are in ``interface.contract``: ``tools``, ``answer``, ``steps``. Where the suite has a
module of its tools as Python objects, it lies beside this file and calls ``interface.exchange``. Editing this file changes
nothing: what counts is what the verifier receives.
"""

import json
import os
import sys
import traceback
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Literal

from openfingym_agent import Environment, Interface, SubmissionRefused

_task = Interface(Path(__file__).resolve().parent)
_made: list[Environment] = []
"""What was made last."""

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


def make(fold: Literal["private", "public"] = "private", transport: Literal["http", "websocket"] = "http") -> Environment:
    """The questions, one after the other; tools are called for the one that was begun last."""
    _made[:] = [_task.make(fold, transport)]
    return _made[0]


def exchange(tool: str, arguments: str) -> str:
    """Call a tool for the question that is open, with its arguments as JSON text.

    Returns:
        JSON text: {"value": ...}, or {"error": "what was expected"}.

    Raises:
        RuntimeError: no question is open.
    """
    if not _made:
        raise RuntimeError("no question is open: call env = interface.make() and env.reset() first")
    try:
        observation, *_ = _made[0].step({"tool": tool, "arguments": json.loads(arguments)})
    except SubmissionRefused as refused:
        if refused.problem in {"episode-over", "out-of-step"}:
            raise RuntimeError(f"no question is open: {refused}") from None
        return json.dumps({"error": str(refused)})
    value = observation["value"]
    value = value.tolist() if hasattr(value, "tolist") else value
    return json.dumps({"value": value} if observation["valid"] else {"error": observation["text"]})


def call(tool: str, **arguments: object) -> object:
    """The value that a tool answers for the question that is open.

    Raises:
        ValueError: the call is none; says what was expected.
        RuntimeError: no question is open.
    """
    answer = json.loads(exchange(tool, json.dumps(arguments)))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer["value"]


def run_block(path: str) -> None:
    """Run a block of code of an agent whose question is asked on the other side: the suite's module, or else the tools as
    functions, are there without an import, and calls are of the question that is open there.
    """
    at = _task._gate.call("GET", "/v1/rollout", {}, None, _task.deadline)
    env = make()
    env._episode, env._step = int(at["episode"] or 0), int(at["step"] or 0)
    names: dict[str, object] = {"__name__": "__main__"}
    if "client" in contract:
        names.update(vars(import_module(contract["client"])), __name__="__main__")
    else:
        names.update({tool: partial(call, tool) for tool in TOOLS})
    try:
        exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), names)  # noqa: S102 - it runs in its container
    except Exception as error:
        place = error.__traceback__
        traceback.print_exception(error.with_traceback(place.tb_next if place else None))
        sys.exit(1)


load = _task.load
load_test_inputs = _task.load_test_inputs  # says that there are none
submit = _task.submit  # says what to do instead
seed = int(os.environ.get("OPENFINGYM_SEED", "0"))
