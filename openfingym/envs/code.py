"""What running the program of a code action came to, as an environment's ``info`` tells it."""

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
_SYNTAX = re.compile(r"^  File \"[^\"\n]*\", line \d+$", re.MULTILINE)


def told_of(outcome: Outcome) -> dict[str, object]:
    """The entries of ``info``: output, traceback, how it ended, and the seconds that it ran."""
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
    if not heads:  # Python shows the place alone of a program that it cannot read
        syntax = _SYNTAX.search(output)
        return output[syntax.start() :].rstrip() if syntax else None
    start = heads.pop()
    while heads and _CHAINED.search(output, heads[-1], start):
        start = heads.pop()
    return output[start:].rstrip()
