"""An agent of the user's own: an external program, on this machine or inside the container.

On this machine it talks over its standard input and output, with one JSON object a line::

    -> {"type": "task", "protocol": 1, "task": NAME, "instruction": TEXT, "seed": N,
        "tools": [{"name": ..., "description": ..., "parameters": {...}}, ...], "limits": {"turns": N | null, ...}}
    <- {"type": "call", "id": ID, "tool": NAME, "arguments": {...}}
    -> {"type": "result", "id": ID, "text": TEXT, "failed": BOOL, "complete": BOOL}
    <- {"type": "message", "content": TEXT, "model": NAME, "prompt_tokens": N, "completion_tokens": N, "cost_usd": X}
    <- {"type": "end"}

A ``message`` records what a model of its own said, and what that took; all but ``content`` may be left out. What it
writes to its standard error is kept in the run's log. It runs with the user's own rights and environment, so unlike a
program in the container it could look anywhere: a score of it is worth as much as the command is trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.agents.llm.ending import Ended
from openfingym.agents.llm.session import Conversation
from openfingym.agents.own_program import KeptOutput, ended_with, last_line, own_environment, without_secrets
from openfingym.errors import UsageError
from openfingym.models.messages import Completion, Message, ToolCall, estimated_usage, well_formed
from openfingym.models.stated_usage import MOST_TOKENS, StatedUsage
from openfingym.trajectory.record import ToolUse
from openfingym.workspace import WorkspaceError

if TYPE_CHECKING:
    from openfingym.results import Isolation

PROTOCOL = 1
"""Version of the protocol that is spoken."""
QUOTED = 80
"""Most characters of a line that is not understood that are shown."""
EXPECTED = (
    'a command writes one JSON object a line, such as {"type": "end"}, and its remarks to stderr (docs/agents.md)'
)
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Longest line that a command may write to its standard output."""
MAX_ERRORS_BYTES = 1024 * 1024
"""Most bytes that are kept of what a command writes to its standard error."""
STOP_S = 5.0
"""Seconds that a command has to end by itself once its input is closed."""


@dataclass(frozen=True)
class Command:
    """Runs a command, and makes the calls that it asks for."""

    argv: tuple[str, ...]
    """Name of the command's program, and its arguments."""
    inside: bool = False
    """Whether it runs in the rollout's container, with :attr:`files` in ``/work``, instead of on this machine."""
    files: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Path below ``/work`` and text of each file; for a command inside."""

    @property
    def isolation(self) -> Isolation:
        """What of it runs in isolation: all, or nothing."""
        return "inside" if self.inside else "outside"

    @property
    def takes_steps(self) -> bool:
        """Whether steps are taken by the tool ``step``: a command inside takes them itself, as programs do."""
        return not self.inside

    async def act(self, session: Conversation) -> None:
        """See :class:`openfingym.agents.llm.ModelAgent`."""
        if self.inside:
            await self._act_inside(session)
            return
        try:
            process = await asyncio.create_subprocess_exec(
                *self.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE_BYTES,
                env=own_environment(),
                # A process group of its own, so that whatever it starts can be ended with it.
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"the command {self.argv[0]!r} cannot be started ({error.strerror}); give the name of an executable on "
                "$PATH, or its path"
            ) from error
        # Read all along: a full pipe would stop the command.
        errors, kept = asyncio.ensure_future(_collect(process)), ""
        try:
            with _children_ended_with(process):
                junk = await _converse(process, session)
        finally:
            # Ended first, since its standard error is read to the end.
            await _end(process)
            kept = await errors
            session.tools.programs.write(kept)
        # A program that speaks no JSON at all is the usual mistake, so the message says what it wrote.
        if junk is None:
            return
        if junk:
            failed = f"the command ended with status {process.returncode}"
            raise Ended("failed", f"{failed}, and all it wrote was like {junk}; {EXPECTED}")
        if process.returncode != 0:
            raise Ended("failed", ended_with(process.returncode or 0, kept))

    async def _act_inside(self, session: Conversation) -> None:
        programs = session.tools.programs
        try:
            workspace = await programs.workspace()
            for path, text in self.files:
                await workspace.write_file(path, text.encode())
            execution = await programs.run(
                f"import subprocess, sys\n\nsys.exit(subprocess.run({list(self.argv)!r}).returncode)\n"
            )
        except WorkspaceError as error:
            raise Ended("failed", f"the command could not be run: {error}") from None
        if execution.exit_code != 0:
            said = last_line(execution.output) or "it printed nothing"
            raise Ended("failed", f"the command ended with {execution.ended_by} {execution.exit_code}: {said}")


async def _converse(process: asyncio.subprocess.Process, session: Conversation) -> str | None:
    """Answer the command's lines until it says that it ends, or has ended.

    Returns:
        None where it said so. Otherwise a line that was not understood, as :func:`_quoted` gives it, if none was; else
        the empty string.

    Raises:
        Ended: a limit is reached, or the command wrote too much that cannot be understood or is of no use.
    """
    brief, understood, junk = session.brief, False, ""
    await _send(
        process,
        {
            "type": "task",
            "protocol": PROTOCOL,
            "task": brief.task,
            "instruction": brief.instruction,
            "seed": brief.seed,
            "tools": [asdict(tool) for tool in session.tools.offered],
            "limits": asdict(session.meter.allowance),
        },
    )
    while (line := await _line(process)) is not None:
        session.check_limits()
        try:
            said = json.loads(line)
            kind = said["type"]
            if kind == "end":
                return None
            if kind == "message":
                session.record(_completion(said, costs=session.meter.allowance.cost_usd is not None))
                continue
            if kind != "call":
                raise ValueError(f"unknown type {kind!r}")
            call = ToolCall(well_formed(str(said["id"])), well_formed(str(said["tool"])), json.dumps(said["arguments"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            # A mistake in a line is told, as a model's mistake is; after a few in a row the rollout ends.
            junk = _quoted(line)
            told = f"not understood: {junk} ({error!r}); {EXPECTED}"
            await _send(process, {"type": "result", "id": None, "text": told, "failed": True, "complete": False})
            session.useless("failed", None, found=f"{junk}; {EXPECTED}")
            continue
        understood = True
        # The message of this call is noted once its result is there, so it is the next one of the record.
        outcome = await session.tools.use(call, message=len(session.turns))
        text, failed = outcome.text, outcome.failed
        session.note(ToolUse(id=call.id, name=call.name, arguments=call.arguments, result=text, failed=failed))
        complete = session.tools.complete
        await _send(process, {"type": "result", "id": call.id, "text": text, "failed": failed, "complete": complete})
        session.weigh([(call, outcome)], told=None)
    await process.wait()
    return "" if understood else junk


async def _send(process: asyncio.subprocess.Process, message: Mapping[str, object]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # it has ended, which reading will tell
        process.stdin.write(json.dumps(message).encode() + b"\n")
        await process.stdin.drain()


async def _line(process: asyncio.subprocess.Process) -> bytes | None:
    """The next line that is not blank; None at the end."""
    assert process.stdout is not None
    try:
        while line := await process.stdout.readline():
            if line.strip():
                return line
    except ValueError:
        raise Ended("failed", f"the command wrote a line of more than {MAX_LINE_BYTES} bytes") from None
    return None


async def _collect(process: asyncio.subprocess.Process) -> str:
    """Read the command's standard error to its end, and return what is kept of it, without secrets."""
    assert process.stderr is not None
    kept = KeptOutput(MAX_ERRORS_BYTES)
    while part := await process.stderr.read(65536):
        kept.add(part)
    return without_secrets(kept.text())


@contextlib.contextmanager
def _children_ended_with(process: asyncio.subprocess.Process) -> Iterator[None]:
    """End what the command started as soon as it ends itself: its pipes stay open as long as anybody holds them."""
    # Not Linux: the command's end is seen when its last pipe closes, or its time is up.
    if not hasattr(os, "pidfd_open"):
        yield
        return
    # A descriptor that can be read from as soon as the process has ended, whoever holds its pipes.
    loop, pidfd = asyncio.get_running_loop(), os.pidfd_open(process.pid)

    def ended() -> None:
        loop.remove_reader(pidfd)
        _kill_group(process)

    loop.add_reader(pidfd, ended)
    try:
        yield
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


def _kill_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and all that it started: closing its input asks it to, and what is left is killed."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await process.wait()
    _kill_group(process)
    await process.wait()


def _completion(said: Mapping[str, object], *, costs: bool) -> Completion:
    """A message of the command's own model, as the command states it.

    Args:
        said: the command's line, decoded.
        costs: whether there is a limit on cost, so that the message must state what it cost.

    Raises:
        ValueError: a number is missing or out of range; says which.
        KeyError: there is no ``content``.
    """
    prompt, completion, cost = said.get("prompt_tokens"), said.get("completion_tokens"), said.get("cost_usd")
    stated = [count for count in (prompt, completion) if count is not None]
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in stated):
        raise ValueError(f"tokens are whole numbers from 0 to {MOST_TOKENS}")
    if cost is None and costs:
        raise ValueError("a limit on cost is set, so a message states cost_usd")
    if cost is not None and (not isinstance(cost, int | float) or not 0 <= cost < 1e9):
        raise ValueError("cost_usd is a number of US dollars")
    message, model = (
        Message("assistant", well_formed(str(said["content"]))),
        well_formed(str(said.get("model", "unknown"))),
    )
    # What is not stated is not nothing. Of the conversation that the command's model was sent, nobody knows the length.
    usage = StatedUsage(prompt, completion).filled(estimated_usage((), message))  # type: ignore[arg-type]  # checked
    cost_usd = None if cost is None else float(cost)
    return Completion(message, "stop", usage, model, cost_usd=cost_usd, counted=len(stated) == 2)


def _quoted(line: bytes) -> str:
    """The beginning of a line in characters that do nothing to a terminal."""
    text = line.decode("utf-8", "replace").strip()
    return repr(text[:QUOTED]) + ("..." if len(text) > QUOTED else "")


def read_files(folder: Path) -> tuple[tuple[str, str], ...]:
    """The text files below a folder, for a command inside.

    Returns:
        Path below the folder and text of each file, sorted by path.

    Raises:
        UsageError: there is no file, or one of them is not UTF-8 text.
    """
    files = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            try:
                files.append((str(path.relative_to(folder)), path.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{path}: cannot be read as UTF-8 text ({error}); --files takes text alone") from error
    if not files:
        raise UsageError(f"{folder}: holds no file; give the folder of the command's text files with --files")
    return tuple(files)
