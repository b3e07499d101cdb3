"""Reading what a model answered: one JSON object, or one block of code."""

from __future__ import annotations

import json
import re

from openfingym.errors import UsageError

_BLOCK = re.compile(r"```[ \t]*([A-Za-z0-9_+-]*)[ \t]*\n(.*?)```", re.DOTALL)
LONGEST_CODE = 20_000
PYTHON = {"", "py", "python", "python3"}


def json_in(answer: str) -> dict[str, object]:
    """The one JSON object of an answer, bare or in a fenced block.

    Raises:
        UsageError: there is none, or more than one block with one; says what was wrong, for the model to read.
    """
    blocks = [text for language, text in _BLOCK.findall(answer) if language.lower() in {"", "json"}]
    if len(blocks) > 1:
        raise UsageError(f"the answer has {len(blocks)} blocks; expected one JSON object")
    text = blocks[0] if blocks else answer
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise UsageError("the answer has no JSON object")
    try:
        found = json.loads(text[start : end + 1], strict=False)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the answer's JSON cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("the answer is no JSON object")
    return found


def code_in(answer: str) -> str:
    """The one block of Python of an answer.

    Raises:
        UsageError: there is none, or more than one, or it cannot be parsed; says what was wrong, for the model.
    """
    blocks = [str(text) for language, text in _BLOCK.findall(answer) if language.lower() in PYTHON]
    if len(blocks) != 1:
        raise UsageError(f"the answer has {len(blocks)} blocks of Python; expected exactly one, fenced as ```python")
    if len(blocks[0]) > LONGEST_CODE:
        raise UsageError(f"the code has {len(blocks[0])} characters; at most {LONGEST_CODE}")
    try:
        compile(blocks[0], "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"the code is no Python: {error}") from None
    return blocks[0]
