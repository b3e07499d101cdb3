"""A reviewer's tests of a table: read, and run in the sandbox without a network."""

from __future__ import annotations

import ast
import json
from typing import Final

from openfingym.forge.prompts import AnswerError

_RUNNER: Final = """
import json, sys
import numpy as np, pandas as pd

frame = pd.read_csv("/task/given/data.csv")
first = frame.columns[0]
if first == "date":
    frame["date"] = pd.to_datetime(frame["date"])
    frame = frame.set_index("date")
elif first == "row":
    frame = frame.set_index("row")
space = {"pd": pd, "np": np, "__name__": "tests"}
exec(compile(TESTS, "tests.py", "exec"), space)
found = []
for name, test in list(space.items()):
    if name.startswith("test_") and callable(test):
        try:
            test(frame.copy())
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {error}"[:300])
print("\\nRESULT " + json.dumps(found))
"""


def read_tests(found: object) -> str:
    """The source of tests in an answer.

    Raises:
        AnswerError: there are none.
    """
    source = found.get("tests") if isinstance(found, dict) else None
    if not isinstance(source, str):
        raise AnswerError('expected a JSON object with the text "tests"')
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise AnswerError(f"the tests are no Python: {error}") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body):
        raise AnswerError("no function whose name begins with test_")
    return source


def failures(tests: str, content: bytes) -> list[str]:
    """Which tests a table does not pass, and why.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed.
    """
    from openfingym.forge.asking.sandboxed import CodeLimits, run_in_sandbox

    program = f"TESTS = {tests!r}\n{_RUNNER}"
    outcome = run_in_sandbox(program, {"data.csv": content}, CodeLimits(timeout_s=60))
    for line in reversed(outcome.output.splitlines()):
        if line.startswith("RESULT "):
            try:
                found = json.loads(line.removeprefix("RESULT "))
            except ValueError:
                break
            return [str(one) for one in found]
    return [f"the tests did not end well ({outcome.ended_by}): {outcome.output.strip()[-300:]}"]
