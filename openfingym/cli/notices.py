"""What the library warns of while a command runs, said where the command shows its progress."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from openfingym.cli.printable import printable


class _Saying(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(printable(record.getMessage()))


@contextlib.contextmanager
def noticing(say: Callable[[str], None]) -> Iterator[None]:
    """Have each warning of the library said by ``say``, in whichever thread it arises, and by nobody else."""
    logger, handler = logging.getLogger("openfingym"), _Saying(say)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
