"""Values of a metric that a model wrote, on arrays of ours, computed in the sandbox."""

from __future__ import annotations

import io
import json
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym_forge.asking import CodeLimits, run_in_sandbox
from openfingym_forge.asking.loop import after_nonce

Call = Mapping[str, NDArray[Any]]
"""Arrays by the names of the metric's arguments."""
Value = float | str
"""A number, or what was wrong in place of one."""
LIMITS = CodeLimits(timeout_s=30.0)
"""Limits of all calls together; a slow metric takes seconds, by loops over single cells."""
# As in the harness of openfingym_forge.asking.loop, the number that marks the report is read before the code runs, and
# the process ends right behind the report. Each call gets copies, so that the code cannot change what later calls see.
EVALUATE = """
import json, math, os, sys
import numpy as np
with open("/task/given/nonce.txt") as stream:
    nonce = stream.read()
print_line = sys.stdout.write
with open("/task/given/calls.json") as stream:
    calls = json.load(stream)
arrays = np.load("/task/given/arrays.npz", allow_pickle=False)
np.seterr(all="ignore")
values = []
try:
    scope = {"__name__": "candidate"}
    with open("/task/given/candidate.py") as stream:
        exec(compile(stream.read(), "candidate.py", "exec"), scope)
    for call in calls:
        try:
            value = scope["metric"](**{name: arrays[key].copy() for name, key in call.items()})
            number = float(value)
            values.append(repr(number))
        except Exception as error:
            values.append(f"error: {type(error).__name__}: {error}"[:200])
except BaseException as error:
    values = f"{type(error).__name__}: {error}"[:200]
print_line("\\n" + nonce + json.dumps(values) + "\\n")
sys.stdout.flush()
os._exit(0)
"""


def evaluate(code: str, calls: Sequence[Call], limits: CodeLimits = LIMITS) -> list[Value] | str:
    """The values of the function ``metric`` of some code, one for each call.

    Args:
        code: source text that :func:`openfingym_forge.rewards.screened.screen` has nothing against.
        calls: arguments of each call.
        limits: limits of all calls together.

    Returns:
        A value for each call, in order; a text where the code gave none at all.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed.
    """
    if not calls:
        return []
    stored: dict[str, NDArray[Any]] = {}
    named = [{name: _kept(stored, np.asarray(values)) for name, values in call.items()} for call in calls]
    packed, nonce = io.BytesIO(), secrets.token_hex(24)
    np.savez(packed, **stored)  # type: ignore[arg-type]
    given = {
        "candidate.py": code.encode(),
        "calls.json": json.dumps(named).encode(),
        "arrays.npz": packed.getvalue(),
        "nonce.txt": nonce.encode(),
    }
    outcome = run_in_sandbox(EVALUATE, given, limits)
    values = after_nonce(outcome, nonce)
    if isinstance(values, str):
        return values
    if not isinstance(values, list) or len(values) != len(calls):
        how = f"status {outcome.exit_code}" if outcome.ended_by == "exit" else outcome.ended_by
        return f"it ended by {how} without its values; it printed: {outcome.output[-300:]!r}"
    return [_value(value) for value in values]


def _kept(stored: dict[str, NDArray[Any]], values: NDArray[Any]) -> str:
    """The key of an array among those that are sent, to which it is added if it is not there."""
    # Calls share most of their arrays, each of which is sent once.
    for key, other in stored.items():
        if other is values or (
            other.shape == values.shape and other.dtype == values.dtype and np.array_equal(other, values)
        ):
            return key
    key = f"a{len(stored)}"
    stored[key] = values
    return key


def _value(printed: object) -> Value:
    """A value as the program printed it; one that is not finite is none, and what it is is said."""
    text = str(printed)
    if text.startswith("error: "):
        return text.removeprefix("error: ")
    value = float(text)
    return value if math.isfinite(value) else f"gives {value}"
