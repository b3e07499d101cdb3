"""A training loop of one's own: a group of rollouts of one instance, their rewards, and their advantages.

python examples/training/own_loop.py

The policy is scripted: each of its members shrinks the last change by another factor. A trainer would sample a model.
"""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import Any

from openfingym.training import Desk

PROGRAM = """
import numpy as np
import interface

steps = np.arange(1, interface.HORIZON + 1)[None, :, None]
for window in interface.iter_test():                 # the next one is shown when this one is answered
    x = window.inputs                                # (items, lookback, channels)
    window.predict(x[:, -1:] + SHARE * steps * (x[:, -1:] - x[:, -2:-1]))
"""


def policy(messages: list[dict[str, Any]], _tools: list[dict[str, Any]]) -> dict[str, Any] | str:
    """One program, then done; what a model would answer to the same messages."""
    if any(message["role"] == "assistant" for message in messages):
        return "I am content."
    program = PROGRAM.replace("SHARE", str(next(SHARES)))
    call = {"id": "first", "function": {"name": "run_python", "arguments": {"code": program}}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


SHARES = iter([0.0, 0.02, 0.2, 1.0])

if __name__ == "__main__":
    with Desk(["treasury-forecast"], split="train", places=4) as desk:
        group = desk.group_sync([("treasury-forecast", 0)] * 4, policy, deadline_s=120)
    known = [played.reward for played in group if played.reward is not None]  # None: a failure of ours
    for played in group:
        advantage = None if played.reward is None else (played.reward - fmean(known)) / (pstdev(known) or 1.0)
        print(f"reward {played.reward}, advantage {advantage}, {played.failure or played.result.reason or 'scored'}")
