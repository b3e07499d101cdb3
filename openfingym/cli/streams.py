"""Standard streams whose reader may go away, which neither ends the work nor changes its exit status."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from openfingym.errors import RuntimeFailureError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Lasting(io.FileIO):
    """Accepts everything that is written, also after its reader has gone or its disk is full."""

    def __init__(self, number: int, *, needed: bool) -> None:
        """Write to a file descriptor.

        Args:
            number: the file descriptor, which stays open.
            needed: whether a full disk is an error; a reader who has gone never is.
        """
        super().__init__(number, "wb", closefd=False)
        self._needed = needed
        self._lost = False
        """Whether what is written is dropped."""

    def write(self, data: ReadableBuffer, /) -> int:
        size = memoryview(data).nbytes
        if size and not self._lost:  # an empty write only asks whether the stream can be written to
            try:
                return super().write(data)
            except OSError as error:
                # An error is raised once: what is still in buffers is written again, at the latest when the
                # interpreter ends.
                self._lost = True
                if self._needed and not isinstance(error, BrokenPipeError):
                    raise RuntimeFailureError(
                        f"what there is to say cannot be written to the standard output ({error.strerror}); "
                        "free some space, or send it elsewhere"
                    ) from error
        return size


def lasting(stream: TextIO, *, needed: bool) -> TextIO:
    """A stream like another one, which drops what is written once its reader has closed it.

    Args:
        stream: a text stream of a file descriptor, which stays open; its encoding and buffering are kept.
        needed: whether any other failure to write raises; otherwise it drops what follows as well.

    Raises:
        RuntimeFailureError: when written to, and only where ``needed``: the disk is full, or the device fails.
    """
    stream.flush()
    raw = _Lasting(stream.fileno(), needed=needed)
    # As with `python -u`, whose streams have no buffer for bytes.
    unbuffered = getattr(stream, "write_through", False)
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        stream.encoding,
        stream.errors,
        line_buffering=bool(stream.line_buffering),
        write_through=unbuffered,
    )


def outlast_readers() -> None:
    """Let this process outlive the readers of its standard output and error, or be started with these closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken; otherwise the next file or socket that is opened would get it, and with
            # it what is printed.
            os.open(os.devnull, os.O_RDWR)
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream, own = getattr(sys, name), getattr(sys, f"__{name}__")
        if stream is own:  # otherwise somebody has replaced it, such as a test, and looks after it
            setattr(sys, name, lasting(stream or os.fdopen(number, "w", closefd=False), needed=name == "stdout"))
