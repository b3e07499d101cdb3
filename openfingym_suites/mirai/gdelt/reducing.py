"""Reducing days to the rows that are kept, in processes of their own: reading rows is Python, which uses one core.

A process reads a line of JSON for each day from its input, and answers with one. It ends with its input, so that none
is left over if the process that started it is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from openfingym.errors import DataError, OpenFinGymError, StoreError
from openfingym.files.whole import store_errors
from openfingym.vault.engine import engine_errors
from openfingym_suites.mirai.gdelt.export import DayCounts, DayReader


@dataclass(frozen=True)
class Reduced:
    """The result of reducing the archives of a day."""

    counts: DayCounts
    damaged: dict[str, str]
    """Archives that cannot be read, by name, with the reason; nothing of them was taken."""


Reduce = Callable[[Sequence[Path], Path], Reduced]
"""Reads the archives of a day, in the order of their times, and writes ``records.parquet`` and ``urls.parquet`` into a
folder.
"""


def reduced(archives: Sequence[Path], folder: Path) -> Reduced:
    """Reduce a day in this process, as :data:`Reduce` says.

    Args:
        archives: paths of the archives of the day, in the order of their times.
        folder: folder that the two files are written to.

    Raises:
        StoreError: the disk is full.
    """
    reader, damaged = DayReader(), {}
    with store_errors(folder), engine_errors(f"{folder}"):
        for archive in archives:
            # One damaged archive costs its quarter of an hour, and not the day.
            try:
                reader.read(archive)
            except DataError as error:
                damaged[archive.name] = str(error)
        return Reduced(reader.write(folder / "records.parquet", folder / "urls.parquet", folder), damaged)


class Reducers:
    """Processes that reduce days, each one day at a time: a :data:`Reduce` for any number of threads.

    It is used as a context manager, which starts and ends the processes.

    Args:
        processes: how many processes to start.
    """

    def __init__(self, processes: int) -> None:
        self._count = processes
        self._idle: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        # With -P a module in the working folder cannot stand in for one of the library.
        command = [sys.executable, "-P", "-c", "from openfingym_suites.mirai.gdelt.reducing import main; main()"]
        # The library is where this process found it, which may be no installed place.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        for _ in range(self._count):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )
            self._started.append(process)
            self._idle.put(process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._started:
            # After an error nobody waits for the day that it is at.
            if kind is not None:
                process.kill()
            # Closes the input, with which the process ends, and waits for it.
            with contextlib.suppress(OSError):
                process.communicate()

    def __call__(self, archives: Sequence[Path], folder: Path) -> Reduced:
        """Reduce a day in one of the processes, as :data:`Reduce` says; waits until one is idle.

        Args:
            archives: paths of the archives of the day, in the order of their times.
            folder: folder that the two files are written to.

        Raises:
            StoreError: the disk is full, or the process was ended.
        """
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            line = ""
            with contextlib.suppress(OSError):
                print(json.dumps([[str(path) for path in archives], str(folder)]), file=process.stdin, flush=True)
                line = process.stdout.readline()
            # Its output has ended, and so has the process: killed, as for want of memory.
            if not line:
                raise StoreError(
                    f"{folder}: the process that read these archives ended (status {process.wait()}), maybe for lack "
                    "of memory; run the same command again, which goes on here"
                )
        # Even a process that has ended goes back, or the next caller would wait for ever instead of failing.
        finally:
            self._idle.put(process)
        answer = json.loads(line)
        if "error" in answer:
            raise StoreError(answer["error"])
        return Reduced(DayCounts(**answer["counts"]), answer["damaged"])


def main() -> None:
    """Reduce the days that are asked for on standard input, one a line, and answer on standard output."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin:
            archives, folder = json.loads(line)
            try:
                answer: object = asdict(reduced([Path(path) for path in archives], Path(folder)))
            except OpenFinGymError as error:
                answer = {"error": str(error)}
            print(json.dumps(answer), flush=True)  # noqa: T201
