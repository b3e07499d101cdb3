"""A reviewer's tests of a table: reading them from an answer, and running them in the sandbox."""

from __future__ import annotations

import ast
import json
from typing import Final

from openfingym_forge.prompts import AnswerError

# Each test gets a copy, so that one cannot change what the next one sees. The outcome is the last line that begins with
# RESULT, since tests may print.
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


def read_tests(answer: object) -> str:
    """The source of tests in an answer.

    Args:
        answer: the JSON value of the answer.

    Raises:
        AnswerError: the answer has no tests.
    """
    source = answer.get("tests") if isinstance(answer, dict) else None
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
    """Which tests a table does not pass, and why; empty where it passes all.

    Args:
        tests: source of the tests: functions ``test_...`` of one argument, the table.
        content: the table as a CSV file, whose first column is ``date`` or ``row``.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed.
    """
    from openfingym_forge.asking.sandboxed import CodeLimits, run_in_sandbox

    program = f"TESTS = {tests!r}\n{_RUNNER}"
    outcome = run_in_sandbox(program, {"data.csv": content}, CodeLimits(timeout_s=60))
    for line in reversed(outcome.output.splitlines()):
        if line.startswith("RESULT "):
            try:
                failed = json.loads(line.removeprefix("RESULT "))
            except ValueError:
                break
            return [str(each) for each in failed]
    return [f"the tests did not end well ({outcome.ended_by}): {outcome.output.strip()[-300:]}"]
