"""Processes that score heavy submissions: one a core, started when first needed, or ahead of that.

Each has a thread of the verifier's to itself, which hands it one job at a time. A worker that
dies or takes too long therefore costs that one job and nobody else anything: the job is an
error of ours, and the next one gets a new worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import subprocess
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from openfingym.errors import SubmissionError, VerifierError
from openfingym.machine import cores
from openfingym_verifier.child import ONE_THREAD, command, environment
from openfingym_verifier.scoring.jobs import PreparationJob, ScoringJob
from openfingym_verifier.scoring.kept_scores import read_score
from openfingym_verifier.scoring.parts import joined, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.metrics import Score
    from openfingym_verifier.scoring.parts import Part
    from openfingym_verifier.scoring.truth import Action, HiddenTask

TIMEOUT_S = 300.0
"""Seconds that a single score may take."""
CLOSE_S = 10.0
"""Seconds that a process may take to end once it has closed its output."""
MAX_TAPES = 4
"""Number of tapes of single rollouts whose labels a worker keeps."""


class Workers:
    """A pool of worker processes; :meth:`score` may be called from any task of the event loop."""

    def __init__(self, count: int | None = None, timeout_s: float = TIMEOUT_S) -> None:
        """Prepare for up to ``count`` processes, None for one a core, each of which may take ``timeout_s`` a score."""
        self._timeout_s = timeout_s
        self._count = count or cores()
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="worker")
        # Each pool thread keeps a worker of its own, so that handing over a job needs no lock.
        self._own = threading.local()
        self._alive: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False

    def prepare(self, metrics: Sequence[str]) -> None:
        """Start workers, one a metric at most, and have them prepare the metrics, each some of them; does not wait.

        To be called while there is no job yet: what takes a verifier's first seconds leaves other cores idle.

        Args:
            metrics: names of the metrics that submissions will be scored by.
        """
        # No more than have something to do: a machine of many cores would start as many processes for one rollout.
        count = min(self._count, len(metrics))
        for place in range(count):
            self._threads.submit(self._prepare, PreparationJob(tuple(metrics[place::count])))

    def _prepare(self, job: PreparationJob) -> None:
        """Prepare metrics in the worker of this pool thread; a failure is that of the job which needs them."""
        with contextlib.suppress(VerifierError):
            worker = self._worker()
            try:
                worker.answer_to(job, self._timeout_s, "the process preparing metrics")
            except BaseException:
                self._drop(worker)
                raise

    async def score(
        self, task: HiddenTask, action: Action, values: NDArray[np.float64] | None = None, *, afresh: bool = False
    ) -> Score:
        """Score an array, in parts where several workers are free.

        Args:
            task: the task to score for.
            action: what to do; see :class:`~openfingym_verifier.scoring.jobs.ScoringJob`.
            values: float64 of the task's submission shape; None for the baseline.
            afresh: whether to compute all of it in a worker that is started for this job, since whatever killed one
                worker may have damaged the others.

        Raises:
            SubmissionError: the answer was refused, or cannot be scored.
            VerifierError: the worker failed, died, or took too long; trying again makes sense.
        """
        if afresh:
            return read_score(await self._run(task, action, values, afresh=True))
        parts = parts_of(task.grader, action, self._count)
        jobs = [asyncio.ensure_future(self._run(task, action, values, part)) for part in parts]
        try:
            # One after the other: why an answer is refused must not depend on which worker was quicker.
            return joined(parts, [await job for job in jobs])
        finally:
            # Of a score that failed no further part is begun, since other scores wait for the workers.
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    async def _run(
        self,
        task: HiddenTask,
        action: Action,
        values: NDArray[np.float64] | None,
        part: Part | None = None,
        *,
        afresh: bool = False,
    ) -> dict[str, Any]:
        """Have a job done by the next free worker, and return its answer; arguments and errors of :meth:`score`."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, partial(self._ask, task, action, values, part, afresh=afresh)
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers."""
        with self._lock:
            return tuple(worker.process.pid for worker in self._alive)

    def close(self) -> None:
        """End every worker, whatever it is doing, and wait for it."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        for worker in alive:
            # Threads that wait for an answer then see the end of the pipe and finish, so that shutdown returns.
            worker.process.kill()
        self._threads.shutdown(cancel_futures=True)
        with self._lock:
            remaining, self._alive = self._alive, set()
        for worker in remaining:
            worker.end()

    def _ask(
        self,
        task: HiddenTask,
        action: Action,
        values: NDArray[np.float64] | None,
        part: Part | None,
        *,
        afresh: bool,
    ) -> dict[str, Any]:
        """Hand a job to the worker of this pool thread."""
        worker = self._worker(afresh=afresh)
        try:
            answer = worker.ask(task, action, values, part, self._timeout_s)
        # Whatever happened, the next line of the worker could be the answer to this job: it serves no other.
        except BaseException:
            self._drop(worker)
            raise
        return _read(answer, task.name)

    def _worker(self, *, afresh: bool = False) -> _Worker:
        """The worker of this pool thread, started if there is none."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is not None and (afresh or worker.process.poll() is not None):
            # It is not wanted, or ended while it had nothing to do.
            self._drop(worker)
            worker = None
        if worker is None:
            worker = self._own.worker = self._start()
        return worker

    def _start(self) -> _Worker:
        # Under the lock, so that no process is started after close() has looked which there are.
        with self._lock:
            if self._closed:
                raise VerifierError("the verifier is stopping")
            worker = _Worker()
            self._alive.add(worker)
        return worker

    def _drop(self, worker: _Worker) -> None:
        """End the worker of this pool thread; its next job starts another."""
        self._own.worker = None
        with self._lock:
            self._alive.discard(worker)
        worker.end()


class _Worker:
    """One worker process, and the tasks and tapes it holds, the latest used last."""

    def __init__(self) -> None:
        try:
            self.process = subprocess.Popen(
                command("openfingym_verifier.scoring.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # There is a worker for each core; more threads in each would only get in one another's way.
                env=environment(**dict.fromkeys(ONE_THREAD, "1")),
            )
        except OSError as error:
            raise VerifierError(f"no process to score in can be started: {error}") from error
        self._knows: OrderedDict[str, None] = OrderedDict()

    def ask(
        self,
        task: HiddenTask,
        action: Action,
        values: NDArray[np.float64] | None,
        part: Part | None,
        timeout_s: float,
    ) -> bytes:
        """Have an array scored, and return the answer, a line of JSON.

        Raises:
            VerifierError: the process died, or took longer than ``timeout_s``.
        """
        return self.answer_to(
            self._job(task, action, values, part), timeout_s, f"{task.name}: the process computing its {action} score"
        )

    def answer_to(self, job: ScoringJob | PreparationJob, timeout_s: float, what: str) -> bytes:
        """Send a job to the process and return its answer, a line of JSON.

        Args:
            job: the job.
            timeout_s: seconds that it may take.
            what: what the process does, for the message of an error.

        Raises:
            VerifierError: the process died, or took longer than ``timeout_s``.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.process.kill()

        # Killing the process ends the blocking read below, which has no timeout of its own.
        timer = threading.Timer(timeout_s, stop)
        timer.daemon = True
        timer.start()
        try:
            pickle.dump(job, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        finally:
            timer.cancel()
        # A line without an end is one that its writer died over.
        if not answer.endswith(b"\n"):
            why = f"took more than {timeout_s:g} s" if late.is_set() else f"died (code {self.process.wait(CLOSE_S)})"
            raise VerifierError(f"{what} {why}")
        return answer

    def _job(
        self, task: HiddenTask, action: Action, values: NDArray[np.float64] | None, part: Part | None
    ) -> ScoringJob:
        """A job, which brings the grader where the worker lacks it, and names those to drop."""
        grader = None if task.identity in self._knows else task.grader
        self._knows[task.identity] = None
        self._knows.move_to_end(task.identity)
        # The given tape of a task is known by the task's name, and stays; tapes of rollouts have a slash in theirs.
        tapes = [identity for identity in self._knows if "/" in identity]
        forget = tuple(tapes[:-MAX_TAPES])
        for identity in forget:
            del self._knows[identity]
        return ScoringJob(task.identity, action, values, grader, part, forget)

    def end(self) -> None:
        """Kill the process and wait for its end."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # what was not yet written has no reader
                    pipe.close()


def _read(answer: bytes, task: str) -> dict[str, Any]:
    """A worker's answer, which is a score or a part of one.

    Raises:
        SubmissionError: the worker refused the values.
        VerifierError: the worker failed.
    """
    document: dict[str, Any] = json.loads(answer)
    if "refused" in document:
        raise SubmissionError(document["refused"], problem=document["problem"])
    if "failed" in document:
        raise VerifierError(f"{task}: scoring failed with {document['failed']}; the worker's log has more")
    return document
