"""The outcome of one check of a task, and how a check says that it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openfingym.errors import OpenFinGymError


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    """Name of the check, such as ``leak``."""
    passed: bool
    detail: str
    """What was found, as a sentence."""


Progress = Callable[[str], None]
"""Called now and then with what is being done."""


def silent(_: str) -> None:
    """Progress that nobody wants to see."""


class FailedCheckError(Exception):
    """A check did not hold; the message says how."""


def run(name: str, check: Callable[[], str]) -> Finding:
    """Run a check, and make a finding of what it returns or raises.

    Args:
        name: name of the check.
        check: returns what it found, as a sentence; raises :class:`FailedCheckError` or an error of ours if the task
            fails it.
    """
    try:
        return Finding(name, True, check())
    except (FailedCheckError, OpenFinGymError) as error:
        return Finding(name, False, str(error))
