"""A participant's own forecaster: a program that reads a question as JSON, and prints an answer.

It is started once a question, with the question on its standard input as one JSON object (``question``, as the ledger
has it, and ``as_of``, the time by the clock of the series), and prints the answer as one JSON object, such as
``{"probability": 0.3}``, as the last line of its standard output; nothing, where it has nothing to say. It runs with
the user's own rights and environment, so unlike a program in a container it could look anywhere.
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
from typing import IO, Any

from openfingym.agents.llm.command import OURS
from openfingym.errors import UsageError
from openfingym.rounds.forecaster import Batch, QuestionInContext, Said, said_of

NAME = "command"
KEPT = 20_000
"""Characters of what it printed that are kept."""
MOST_BYTES = 1_000_000
"""Bytes of its output that are read."""


@dataclass(frozen=True)
class CommandForecaster:
    """Runs a command for each question."""

    argv: tuple[str, ...]
    question_s: float = 900.0
    """Seconds that a question may take."""
    parallel: int = 1
    name: str = NAME
    version: str = "1"
    uses_others: bool = False

    def forecast(self, batch: Batch) -> None:
        """See :class:`openfingym.rounds.forecaster.Forecaster`."""
        with ThreadPoolExecutor(self.parallel) as threads:
            waiting = [threads.submit(self._keep, batch, asked) for asked in batch.asked]
            try:
                for one in waiting:
                    one.result()
            except BaseException:
                for one in waiting:
                    one.cancel()
                raise

    def _keep(self, batch: Batch, asked: QuestionInContext) -> None:
        if batch.over():
            batch.keep(Said(asked.question.id, "late", reason="its time was over"))
            return
        batch.keep(self._said(asked, {"question": asked.question.to_dict(), "as_of": batch.as_of.isoformat()}))

    def _said(self, asked: QuestionInContext, document: Mapping[str, Any]) -> Said:
        started, question = time.monotonic(), asked.question
        try:
            process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: value for name, value in os.environ.items() if name not in OURS},
                start_new_session=True,  # so that whatever it starts can be ended with it
            )
        except OSError as error:
            raise UsageError(
                f"the command {self.argv[0]!r} cannot be started ({error.strerror}); give the name of an executable on "
                "$PATH, or its path"
            ) from error
        output, errors, ended = _talk(process, json.dumps(document).encode(), self.question_s)
        record: dict[str, Any] = {"method": "program", "seconds": round(time.monotonic() - started, 3)}
        record |= {"command": list(self.argv), "raw": output[:KEPT], "remarks": errors[-KEPT:]}
        if not ended:
            return Said(question.id, "late", reason=f"it took longer than {self.question_s:g} s", record=record)
        if process.returncode:
            reason = f"the command ended with status {process.returncode}"
            return Said(question.id, "unparsed", reason=reason, record=record)
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
    """Give a process its question; what it printed to its two outputs, and whether it ended in time."""
    with ThreadPoolExecutor(3) as threads:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        threads.submit(_give, process.stdin, question)
        outputs = [threads.submit(_read, one) for one in (process.stdout, process.stderr)]
        try:
            process.wait(limit_s)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        finally:
            # What it started may hold its outputs open.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output, errors = (one.result().decode("utf-8", "replace") for one in outputs)
    return output, errors, ended


def _give(stream: IO[bytes], content: bytes) -> None:
    with contextlib.suppress(OSError), stream:
        stream.write(content)


def _read(stream: IO[bytes]) -> bytes:
    """Everything that is written, of which the first part is kept: a full pipe would stop the writer."""
    kept = b""
    with contextlib.suppress(OSError), stream:
        while block := stream.read(65_536):
            kept += block[: max(0, MOST_BYTES - len(kept))]
    return kept
