"""Telling the launcher which step of the setup failed."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Final

from . import channel

LOST: Final = 1
FAILED: Final = 2


class StepError(Exception):
    """A step of the setup failed."""

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.step = step
        self.errno = getattr(error, "errno", None)


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Name the step that fails in the block."""
    try:
        yield
    except (EOFError, StepError):
        raise
    except Exception as error:
        raise StepError(name, error) from error


@contextlib.contextmanager
def reporting(link: socket.socket) -> Iterator[None]:
    """Tell the launcher of a failure; nobody is left to tell when the channel itself is gone."""
    try:
        yield
    except StepError as error:
        with contextlib.suppress(OSError):
            channel.send(link, {"state": "failed", "step": error.step, "errno": error.errno, "detail": str(error)})
        os._exit(FAILED)
    except (EOFError, OSError):
        os._exit(LOST)
