"""Reporting to the launcher which step of the setup failed."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Final

from . import channel

LOST: Final = 1
"""Exit status of a process that has lost its launcher."""
FAILED: Final = 2
"""Exit status of a process in which a step failed."""


class StepError(Exception):
    """A step of the setup failed.

    Attributes:
        step: name of the step.
        errno: number of the kernel's error; None if there is none.
    """

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.step = step
        self.errno = getattr(error, "errno", None)


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Report any failure in the block as one of the step ``name``."""
    try:
        yield
    except (EOFError, StepError):
        raise
    except Exception as error:
        raise StepError(name, error) from error


@contextlib.contextmanager
def reporting(link: socket.socket) -> Iterator[None]:
    """Report a failure in the block to the launcher, unless the channel itself is gone, and end the process."""
    try:
        yield
    except StepError as error:
        with contextlib.suppress(OSError):
            channel.send(link, {"state": "failed", "step": error.step, "errno": error.errno, "detail": str(error)})
        os._exit(FAILED)
    except (EOFError, OSError):
        os._exit(LOST)
