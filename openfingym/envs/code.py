"""How the program of a code action ended, as entries of an environment's ``info``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_runtime.job import Outcome

_HEAD = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)
_CHAINED = re.compile(
    r"\n(?:During handling of the above exception, another exception occurred|"
    r"The above exception was the direct cause of the following exception):\s*\Z"
)
# The place of an error in a program that Python cannot read; of one in a traceback, "in" and a function's name follow.
_SYNTAX = re.compile(r"^  File \"[^\"\n]*\", line \d+$", re.MULTILINE)


def program_info(outcome: Outcome) -> dict[str, object]:
    """The entries of ``info`` about a program: output, traceback, how it ended, and the seconds that it ran."""
    output = outcome.output.decode("utf-8", "replace")
    crashed = outcome.ended_by == "exit" and outcome.exit_code != 0
    return {
        "output": output,
        "traceback": _traceback(output) if crashed else None,
        "ended_by": outcome.ended_by,
        "exit_code": outcome.exit_code,
        "program_s": round(outcome.wall_s, 3),
    }


def _traceback(output: str) -> str | None:
    """The last traceback in an output, with those of the exceptions that led to it; None where there is none."""
    heads = [match.start() for match in _HEAD.finditer(output)]
    if not heads:  # for a program that it cannot read, Python prints the place without a traceback
        syntax = _SYNTAX.search(output)
        return output[syntax.start() :].rstrip() if syntax else None
    start = heads.pop()
    # Backward through the chain: an exception that led to the next one is printed before it, with a sentence between.
    while heads and _CHAINED.search(output, heads[-1], start):
        start = heads.pop()
    return output[start:].rstrip()
