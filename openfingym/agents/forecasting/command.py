"""A participant's own forecaster: a program that reads a question as JSON, and prints an answer.

It is started once for each question. On its standard input it finds one JSON object with ``question``, as the ledger
has it, and ``as_of``, the time by the clock of the series. The last line of its standard output is the answer as one
JSON object, such as ``{"probability": 0.3}``; a program without an answer prints nothing. It runs with the user's own
rights and environment, so unlike a program in a container it could look anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from openfingym.agents.own_program import KeptOutput, ended_with, own_environment, without_secrets
from openfingym.errors import UsageError
from openfingym.rounds.forecaster import Batch, QuestionInContext, Said, said_of

if TYPE_CHECKING:
    from openfingym.results import Isolation

NAME = "command"
RECORDED = 20_000
"""Most characters of each of the program's two outputs that go on record."""
MOST_BYTES = 1_000_000
"""Most bytes of each output that are held in memory."""


@dataclass(frozen=True)
class CommandForecaster:
    """Runs a command for each question."""

    argv: tuple[str, ...]
    question_s: float = 900.0
    """Seconds that a question may take."""
    parallel: int = 1
    """How many questions the command is asked at once, each by a process of its own."""
    name: str = NAME
    version: str = "1"
    uses_others: bool = False

    @property
    def isolation(self) -> Isolation:
        """``outside``: it has the rights of the user."""
        return "outside"

    def forecast(self, batch: Batch) -> None:
        """See :class:`openfingym.rounds.forecaster.Forecaster`."""
        with ThreadPoolExecutor(self.parallel) as threads:
            answers = [threads.submit(self._forecast_one, batch, asked) for asked in batch.asked]
            try:
                for answer in answers:
                    answer.result()
            except BaseException:
                # Leaving the pool waits for all that was submitted, so an interrupt would ask every question first.
                for answer in answers:
                    answer.cancel()
                raise

    def _forecast_one(self, batch: Batch, asked: QuestionInContext) -> None:
        if batch.over():
            batch.keep(Said(asked.question.id, "late", reason="its time was over"))
            return
        batch.keep(self._answer(asked, {"question": asked.question.to_dict(), "as_of": batch.as_of.isoformat()}))

    def _answer(self, asked: QuestionInContext, document: Mapping[str, Any]) -> Said:
        """Run the command on one question, and read its answer.

        Raises:
            UsageError: the command cannot be started.
        """
        started, question = time.monotonic(), asked.question
        try:
            process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=own_environment(),
                start_new_session=True,  # so that whatever it starts can be ended with it
            )
        except OSError as error:
            raise UsageError(
                f"the command {self.argv[0]!r} cannot be started ({error.strerror}); give the name of an executable on "
                "$PATH, or its path"
            ) from error
        output, errors, ended = _talk(process, json.dumps(document).encode(), self.question_s)
        record: dict[str, Any] = {"method": "program", "seconds": round(time.monotonic() - started, 3)}
        # Of its remarks the end is kept: a traceback says last what went wrong.
        record |= {"command": list(self.argv), "raw": without_secrets(output)[:RECORDED], "remarks": errors[-RECORDED:]}
        if not ended:
            return Said(question.id, "late", reason=f"it took longer than {self.question_s:g} s", record=record)
        if process.returncode:
            return Said(question.id, "unparsed", reason=ended_with(process.returncode, errors), record=record)
        lines = output.strip().splitlines()
        if not lines:
            return Said(question.id, "declined", reason="it printed nothing", record=record)
        try:
            answer = json.loads(lines[-1])
        except (ValueError, RecursionError):
            reason = f"its last line is no JSON: {lines[-1][:100]!r}"
            return Said(question.id, "unparsed", reason=reason, record=record)
        return said_of(question, answer, record)


def _talk(process: subprocess.Popen[bytes], question: bytes, limit_s: float) -> tuple[str, str, bool]:
    """Write the question to a process and wait for its end.

    Args:
        process: the process, with pipes for its input and both outputs.
        question: the bytes for its standard input, which is closed after them.
        limit_s: seconds after which it is killed.

    Returns:
        What it printed to its standard output and to its standard error, and whether it ended by itself in time.
    """
    # All three pipes at once: a pipe holds 64 KiB, and a process that waits on a full one would never end.
    with ThreadPoolExecutor(3) as threads:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        threads.submit(_write_all, process.stdin, question)
        outputs = [threads.submit(_read_all, stream) for stream in (process.stdout, process.stderr)]
        try:
            process.wait(limit_s)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        finally:
            # Processes that it started may outlive it and hold its outputs open, and reading them would never end.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output, errors = (reading.result() for reading in outputs)
    return output, without_secrets(errors), ended


def _write_all(stream: IO[bytes], content: bytes) -> None:
    # A program need not read its question: it may end, or close its input, before all of it is written.
    with contextlib.suppress(OSError), stream:
        stream.write(content)


def _read_all(stream: IO[bytes]) -> str:
    """Read a stream to its end, since a full pipe would stop the writer; what is kept has :data:`MOST_BYTES`."""
    kept = KeptOutput(MOST_BYTES)
    with contextlib.suppress(OSError), stream:
        while block := stream.read(65_536):
            kept.add(block)
    return kept.text()
