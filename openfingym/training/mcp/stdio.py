"""One client of the protocol by standard input and output, with one message a line."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import msgspec

from openfingym.training.mcp.messages import PARSE_ERROR, McpConversation, Message, error_of
from openfingym.training.mcp.played import PlayTerms

MAX_LINE = 16 * 1024 * 1024
"""Most bytes of a message that a client may send."""
AT_ONCE = 64
"""Most requests that are answered at once; the next one waits."""


def serve(terms: PlayTerms) -> str | None:
    """Serve one client until it closes the standard input, or the process is interrupted or terminated.

    Args:
        terms: the task and the instance that are played, and how.

    Returns:
        The result of the rollout in words; None where none was begun.
    """
    # The messages go to a copy of the standard output, and what else this process prints goes to the standard error: a
    # line of it between the messages would end the connection.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return asyncio.run(_served(terms, sys.stdin.buffer, out))


async def _served(terms: PlayTerms, source: BinaryIO, out: BinaryIO) -> str | None:
    """Answer the messages of one client until it has gone.

    Args:
        terms: the task and the instance that are played, and how.
        source: where messages are read.
        out: where answers are written, without a buffer.
    """
    # None ends the serving: the end of the input, or a signal.
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    room = threading.Semaphore(AT_ONCE)

    def put(line: bytes | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lines.put_nowait, line)

    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(name, lines.put_nowait, None)
    # A daemon, since a read of a terminal cannot be ended and would keep the process from ending.
    reading = partial(_read_lines, source, room, put)
    threading.Thread(target=reading, name="openfingym-mcp-input", daemon=True).start()
    writing = threading.Lock()

    async def send(message: Message | list[Message]) -> None:
        def write() -> None:
            data = memoryview(msgspec.json.encode(message) + b"\n")
            with writing, contextlib.suppress(OSError):  # a client that is gone is noticed by its input
                # Without a buffer, a write may take a part alone.
                while data:
                    data = data[out.write(data) :]

        await asyncio.to_thread(write)

    conversation = McpConversation(terms, send=send)
    going: set[asyncio.Task[None]] = set()

    async def answer(line: bytes) -> None:
        try:
            response = await _answered(conversation, line)
            if response is not None:
                await send(response)
        finally:
            room.release()

    # Each request in a task of its own: a call takes minutes, and its cancellation comes as another message.
    while (line := await lines.get()) is not None:
        if not line.strip():
            room.release()
            continue
        task = asyncio.ensure_future(answer(line))
        going.add(task)
        task.add_done_callback(going.discard)
    result = await conversation.leave()
    for task in list(going):
        task.cancel()
    return result


def _read_lines(source: BinaryIO, room: threading.Semaphore, put: Callable[[bytes | None], None]) -> None:
    """Read lines until the input ends, in a thread of its own.

    Args:
        source: where lines are read.
        room: acquired for each line, and released when it is answered.
        put: takes each line, and None at the end.
    """
    while True:
        # Not read before there is room: a client that sends faster than it is answered fills its own pipe.
        room.acquire()
        try:
            line = source.readline(MAX_LINE + 1)
        except (OSError, ValueError):
            line = b""
        # The rest of a line that is too long is skipped; what stands for it is no JSON, so that it is refused.
        long = len(line) > MAX_LINE
        while long and line and not line.endswith(b"\n"):
            line = source.readline(MAX_LINE)
        put(b"{too long" if long else line or None)
        if not line and not long:
            return


async def _answered(conversation: McpConversation, line: bytes) -> Message | list[Message] | None:
    """The response to a line; None where there is none to give."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError) as error:
        return error_of(PARSE_ERROR, f"no JSON: {error}")
    return await conversation.answered_all(message)
