"""Showing the library's warnings where a command shows its progress."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

from openfingym.cli.printable import printable


class _NoticeHandler(logging.Handler):
    """Passes the messages of warnings on."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(printable(record.getMessage()))


@contextlib.contextmanager
def noticing(say: Callable[[str], None]) -> Iterator[None]:
    """Pass each warning of the library on, for the time of the block.

    Args:
        say: called with the message, in whichever thread the warning arises.
    """
    logger, handler = logging.getLogger("openfingym"), _NoticeHandler(say)
    # With a handler of its own, Python's last resort does not print the warnings a second time.
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
