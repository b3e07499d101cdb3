"""Reading code from what a model answered."""

from __future__ import annotations

import re

from openfingym_forge.prompts import AnswerError

_BLOCK = re.compile(r"```[ \t]*([A-Za-z0-9_+-]*)[ \t]*\n(.*?)```", re.DOTALL)
LONGEST_CODE = 20_000
"""Characters of code that are accepted."""
PYTHON = {"", "py", "python", "python3"}
"""Languages of fenced blocks that count as Python; the empty one is a block without a language."""


def code_in(answer: str) -> str:
    """The code in the one block of Python of an answer.

    Raises:
        AnswerError: there is none, or more than one, or it cannot be parsed; says what was wrong, for the model.
    """
    blocks = [str(text) for language, text in _BLOCK.findall(answer) if language.lower() in PYTHON]
    if len(blocks) != 1:
        raise AnswerError(f"the answer has {len(blocks)} blocks of Python; expected exactly one, fenced as ```python")
    if len(blocks[0]) > LONGEST_CODE:
        raise AnswerError(f"the code has {len(blocks[0])} characters; at most {LONGEST_CODE}")
    # Compiled and thrown away: whether it is Python is found out here, and it is run in the sandbox alone.
    try:
        compile(blocks[0], "<answer>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise AnswerError(f"the code is no Python: {error}") from None
    return blocks[0]
