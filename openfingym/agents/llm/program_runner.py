"""Running the programs of one rollout: in a workspace that is started when first needed, or one program once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.agents.llm.ending import Ended
from openfingym.errors import OpenFinGymError
from openfingym.workspace import Execution, Workspace, WorkspaceError, open_workspace
from openfingym.workspace.job_thread import JobThread
from openfingym.workspace.starting import STARTING_LIMIT_S

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage
    from openfingym.verifiers.client import RolloutTicket
    from openfingym.workspace import WorkspacePool
    from openfingym_runtime.gate.gate import Gate, GateKeeper, ModelHandler
    from openfingym_runtime.job import Backend, Job, Limits, Outcome

MAX_LOG_BYTES = 4 * 1024 * 1024
"""Most bytes that are kept of what the programs of one rollout print."""
_NOT_PYTHON = ("SyntaxError", "IndentationError", "TabError")
"""Beginnings of the last line of a traceback where the program was never compiled."""


@dataclass(frozen=True)
class ProgramEnd:
    """How a program ended."""

    well: bool
    """Whether the program ended by itself, with status 0."""
    compiled: bool
    """Whether the program was Python at all."""

    @classmethod
    def of(cls, ended_by: str, exit_code: int | None, output: str) -> ProgramEnd:
        """The end of a run, by how it ended, its exit status and what it printed."""
        well = ended_by == "exit" and exit_code == 0
        # Python prints a traceback last; nothing else in a run says why it failed.
        last = output.rstrip().rpartition("\n")[2]
        return cls(well, well or not last.startswith(_NOT_PYTHON))


class ProgramRunner:
    """The programs of one rollout, and what they printed; an async context manager.

    Attributes:
        program: the program that ran last.
        log: what programs printed, in order, as far as it is kept.
        execution_s: seconds that programs have run, in total.
        outcome: how the one program of :meth:`run_once` ended.
        ends: how each program of the agent's ended, in order.
        our_time: entered while a workspace or program is being started, in which the rollout's time does not run.
    """

    def __init__(
        self,
        backend: Backend,
        package: BuiltPackage,
        gates: GateKeeper,
        ticket: RolloutTicket,
        *,
        seed: int,
        limits: Limits,
        wall_s: float,
        max_body_bytes: int,
        max_calls: int,
        pool: WorkspacePool | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            backend: the backend that isolates programs, ``docker`` or ``sandbox``.
            package: the built package of the task.
            gates: opens the rollout's gate.
            ticket: the rollout's ticket, with its token.
            seed: seed that programs are given.
            limits: memory, process and output limits of each program.
            wall_s: seconds that the rollout as a whole may take, which is how long its workspace lives.
            max_body_bytes: longest body that programs may send to the verifier, in bytes.
            max_calls: most requests that programs may make of the verifier; 0 keeps them from submitting or playing.
            pool: the pool from which a started workspace is taken; None to start one.
        """
        self.program = ""
        self.log = bytearray()
        self.execution_s = 0.0
        self.outcome: Outcome | None = None
        self.ends: list[ProgramEnd] = []
        self.our_time: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self._backend = backend
        self._package = package
        self._gates = gates
        self._ticket = ticket
        self._seed = seed
        self._limits = limits
        self._wall_s = wall_s
        self._body, self._calls = max_body_bytes, max_calls
        self._pool = pool
        self._gate: Gate | None = None
        self._workspace: Workspace | None = None
        self._stack = contextlib.AsyncExitStack()

    @property
    def output_bytes(self) -> int:
        """Most bytes that one program may print."""
        return self._limits.output_bytes

    @property
    def calls(self) -> int:
        """Requests that programs made of the verifier so far."""
        return self._gate.calls if self._gate else 0

    @property
    def verifier_failures(self) -> int:
        """Requests of programs that our side failed."""
        return self._gate.verifier_failures if self._gate else 0

    @property
    def told(self) -> bool:
        """Whether programs were answered anything that follows from hidden data."""
        return self._gate is not None and self._gate.told

    @property
    def waited_s(self) -> float:
        """Seconds for which programs waited for the verifier."""
        return self._gate.waiting.elapsed_s if self._gate else 0.0

    async def workspace(self) -> Workspace:
        """The rollout's workspace, which is started when it is first needed.

        Raises:
            RuntimeFailureError: the workspace cannot be started.
        """
        if self._workspace is None:
            with self.our_time():
                self._workspace = await self._started()
        return self._workspace

    async def run(self, program: str, *, timeout_s: float | None = None) -> Execution:
        """Run a program in the workspace, and keep what it prints.

        Args:
            program: source of the program.
            timeout_s: seconds that it may run, where that is less than the task's limit; None for the task's.

        Raises:
            Ended: the program ended the workspace as well.
            WorkspaceError: the program cannot be run.
            RuntimeFailureError: the workspace was ended by no doing of the agent's.
        """
        workspace = await self.workspace()
        # On record before it runs: a program that ends its workspace is the one that must be seen.
        self.program = program
        limit_s = self._limits.timeout_s if timeout_s is None else min(timeout_s, self._limits.timeout_s)
        execution = await workspace.run_python(program, timeout_s=limit_s)
        self.execution_s += execution.wall_s
        self.ends.append(ProgramEnd.of(execution.ended_by, execution.exit_code, execution.output))
        status = f"status {execution.exit_code}" if execution.ended_by == "exit" else execution.ended_by
        self.write(f"{execution.output.rstrip()}\n[{status}, {execution.wall_s:.2f} s]\n".lstrip("\n"))
        self.require_alive(execution.ended_by)
        return execution

    async def run_once(self, program: str) -> Outcome:
        """Run the one program of a rollout, as the program of a ``script`` agent is run.

        Raises:
            RuntimeFailureError: our machinery failed, not the program.
        """
        from openfingym_runtime.job import Outcome

        self.program = program
        if self._pool is not None:
            # A workspace that is started already, in the place of a container or sandbox that is started for one job.
            try:
                execution = await (await self.workspace()).run_python(program, timeout_s=self._limits.timeout_s)
            except WorkspaceError as error:
                execution = Execution(str(error), "killed", None, 0.0, truncated=False)
            # A job of its own knows no "killed": there, a program that kills what it runs in ends by signal 9.
            ended_by = "exit" if execution.ended_by == "killed" else execution.ended_by
            status = -9 if execution.ended_by == "killed" else execution.exit_code
            self.outcome = Outcome(ended_by, status, execution.output.encode(), execution.wall_s)
        else:
            self.outcome = await self._run_job(self._job(program, self._open_gate()))
        return self._kept(self.outcome)

    async def run_brought(self, program: str, folder: Path, model: ModelHandler, over: asyncio.Event) -> Outcome:
        """Run a program of ours that runs a command line of the user's, in a container or sandbox of its own that lives
        as long as the rollout.

        Args:
            program: source of the program.
            folder: the folder that the user brought along, which is shown to the program.
            model: answers its requests to the rollout's model; called on the gate's event loop.
            over: set to end the program.

        Raises:
            RuntimeFailureError: our machinery failed, not the program.
        """
        job = self._job(program, self._open_gate(model))
        limits = replace(self._limits, timeout_s=self._wall_s + STARTING_LIMIT_S)
        running = asyncio.ensure_future(self._run_job(replace(job, limits=limits, brought=folder)))
        ending = asyncio.ensure_future(over.wait())
        try:
            await asyncio.wait((running, ending), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                job.cancel.set()
            return self._kept(await running)
        finally:
            for task in (running, ending):
                task.cancel()
            await asyncio.gather(running, ending, return_exceptions=True)

    def _job(self, program: str, gate: Gate) -> Job:
        from openfingym_runtime.job import Job

        return Job(
            rollout_id=self._ticket.rollout_id,
            program=program,
            task_files=self._package.agent_view(self._backend.libraries()),
            gate_directory=gate.directory,
            limits=self._limits,
            seed=self._seed,
        )

    async def _run_job(self, job: Job) -> Outcome:
        """Run a job to its end; one that is cancelled has ended when this does."""
        running = JobThread(self._backend, job)
        try:
            with self.our_time():
                await running.begun()
            return await running.finished()
        except asyncio.CancelledError:
            running.cancel()
            # Its end is waited for, since the gate must not close under a program that still runs.
            with contextlib.suppress(OpenFinGymError):
                self.outcome = await running.finished()
            raise

    def _kept(self, outcome: Outcome) -> Outcome:
        """The outcome of the rollout's one program, which is kept with what it printed."""
        self.outcome = outcome
        self.execution_s += outcome.wall_s
        output = outcome.output.decode(errors="replace")
        self.ends.append(ProgramEnd.of(outcome.ended_by, outcome.exit_code, output))
        self.write(output)
        return outcome

    def require_alive(self, ended_by: str) -> None:
        """End the rollout where its workspace is no more.

        Raises:
            Ended: the workspace is no longer running; says why.
        """
        if self._workspace is None or self._workspace.alive:
            return
        ended = self._workspace.ended
        how = ended.ended_by if ended and ended.ended_by != "exit" else ended_by
        raise Ended("workspace", _DEATHS.get(how, "its programs ended the workspace they ran in"))

    def write(self, text: str) -> None:
        """Keep a text in the log, while there is room."""
        self.log += text.encode("utf-8", "replace")[: max(0, MAX_LOG_BYTES - len(self.log))]

    async def _started(self) -> Workspace:
        """A workspace with the rollout's gate: one of the pool's, or one that is started."""
        if self._pool is not None:
            taken = await self._pool.take(
                self._ticket, seed=self._seed, max_body_bytes=self._body, max_calls=self._calls
            )
            self._gate = taken.gate
            return await self._stack.enter_async_context(taken)
        # The workspace lives as long as the rollout; each program in it has the task's own limit of time.
        limits = replace(self._limits, timeout_s=self._wall_s)
        workspace = open_workspace(
            self._backend,
            self._package,
            self._open_gate(),
            seed=self._seed,
            limits=limits,
            rollout_id=self._ticket.rollout_id,
        )
        return await self._stack.enter_async_context(workspace)

    def _open_gate(self, model: ModelHandler | None = None) -> Gate:
        self._gate = self._stack.enter_context(
            self._gates.open(
                rollout_id=self._ticket.rollout_id,
                token=self._ticket.token,
                max_body_bytes=self._body,
                max_calls=self._calls,
                model=model,
            )
        )
        return self._gate

    async def __aenter__(self) -> ProgramRunner:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


_DEATHS = {
    "timeout": "the time of its workspace was over",
    "memory": "its programs ran out of memory, and ended the workspace",
    "output": "its programs ended the workspace by printing too much",
}
"""Why a workspace is no more, by how its container or sandbox ended."""
