"""Running a command line that the user brought along, in the folder ``/opt/cli``, with a model to speak to.

Such programs speak to their model by HTTP at an address of their own choosing. This process listens at one on the
loopback interface, which is all there is of a network, and passes bytes on to the gate as they are. The gate decides
which requests are answered; no key is ever here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

GATE = "/run/openfingym/gate.sock"
CHUNK = 1 << 16
NOT_FOUND = 127
"""Exit status where there is no such program, as a shell has it."""
LINGER_S = 1.0
"""How long a client has to read an answer that came before it had sent everything, in seconds."""
LAST_WORDS_S = 1.0
"""How long output is still read once the program has ended, in seconds: something that it left running may hold on."""


def run(
    argv: list[str],
    environment: dict[str, str],
    modules: list[str],
    prompt: str,
    prompt_file: str,
    port: int,
    output_bytes: int,
) -> NoReturn:
    """Run a command to its end, and exit with its status.

    Args:
        argv: name of the command's program, and its arguments.
        environment: variables in addition to this process's own.
        modules: folders in which Python looks for modules last.
        prompt: what the command reads from its standard input.
        prompt_file: path of a file that is made with the same text.
        port: port of the loopback interface at which the gate is reached.
        output_bytes: most bytes of its output that are kept; the rest is read and left out.
    """
    _listen(port)
    os.environ.update(environment)
    os.environ["PYTHONPATH"] = ":".join(filter(None, [os.environ.get("PYTHONPATH", ""), *modules]))
    Path(os.environ["HOME"]).mkdir(parents=True, exist_ok=True)
    Path(prompt_file).write_text(prompt, encoding="utf-8")
    with Path(prompt_file).open("rb") as stdin:
        try:
            process = subprocess.Popen(
                with_interpreter(argv), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as error:
            os.write(1, f"{argv[0]}: cannot be run ({error.strerror})\n".encode())
            sys.exit(NOT_FOUND)
    assert process.stdout is not None
    reading = threading.Thread(target=_copy, args=(process.stdout.fileno(), output_bytes), daemon=True)
    reading.start()
    status = process.wait()
    reading.join(LAST_WORDS_S)
    sys.stdout.flush()
    # Threads and whatever the command left running end with this process's container or sandbox.
    os._exit(status if status >= 0 else 128 - status)


def with_interpreter(argv: list[str]) -> list[str]:
    """A command whose program can be run here: a script that names a Python which is not here is run by the one that
    is, since the scripts that pip installs name the Python that installed them.
    """
    path = shutil.which(argv[0])
    if path is None:
        return argv
    with Path(path).open("rb") as program:
        first = program.readline(4096)
    if not first.startswith(b"#!"):
        return argv
    named = os.fsdecode(first[2:]).split()
    if named and Path(named[0]).name.startswith("python") and not Path(named[0]).exists():
        return ["python3", path, *argv[1:]]
    return argv


def _listen(port: int) -> None:
    """Pass connections on to the gate from another thread; returns once it listens.

    Raises:
        SystemExit: the port cannot be listened at.
    """
    ready, failure = threading.Event(), list[OSError]()

    async def serve() -> None:
        try:
            server = await asyncio.start_server(_pass_on, "127.0.0.1", port)
        except OSError as error:
            failure.append(error)
            return
        finally:
            ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), name="to-the-gate", daemon=True).start()
    ready.wait()
    if failure:
        sys.exit(f"the model cannot be reached from here: 127.0.0.1:{port}: {failure[0]}")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry one connection's bytes to the gate and back until either side ends."""
    try:
        from_gate, to_gate = await asyncio.open_unix_connection(os.environ.get("OPENFINGYM_GATE") or GATE)
    except OSError:
        writer.transport.abort()
        return
    asked, answered = (asyncio.ensure_future(_pump(*way)) for way in ((reader, to_gate), (from_gate, writer)))
    try:
        # Either end of a connection of HTTP that is closed closes it: neither side goes on speaking by half of one.
        await asyncio.wait((asked, answered), return_when=asyncio.FIRST_COMPLETED)
        if answered.done() and not asked.done():
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            await _linger(reader, writer)
    finally:
        for way in (asked, answered):
            way.cancel()
        await asyncio.gather(asked, answered, return_exceptions=True)
        for end in (writer, to_gate):
            end.close()


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read on for a while, and drop it: a client that is still sending could not read an answer that refuses it."""
    with contextlib.suppress(TimeoutError, OSError):
        writer.write_eof()
        async with asyncio.timeout(LINGER_S):
            while await reader.read(CHUNK):
                pass


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(CHUNK):
        writer.write(part)
        await writer.drain()


def _copy(pipe: int, most: int) -> None:
    """Print what a pipe holds, up to so many bytes, and read the rest, so that its writer never has to wait."""
    left, whole = most, True
    while chunk := os.read(pipe, CHUNK):
        os.write(1, chunk[:left])
        if len(chunk) > left and whole:
            os.write(1, b"\n[what it printed beyond this is left out]\n")
            whole = False
        left = max(0, left - len(chunk))
