"""The tools that an agent is offered, and what each of them does when it is called.

=============================  ===========================================================================
``run_python(code)``           a program in the rollout's workspace; files stay from one to the next
``read_file(path)``            of the workspace, or of the task in ``/task``
``write_file(path, content)``  below ``/work``
``submit(path)``               submits the array of a ``.npy`` file, through the gate as a program would; not where the
                               windows of a task are walked through, which only programs do
``start_episode(practice)``    the next episode of a sequential task, begun by this side with the rollout's token
``step(action, wait)``         the next step of it, taken by this side as well
``answer(answer)``             the answer to a question; beside it, the tools that the question has
=============================  ===========================================================================
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from openfingym.agents.llm.episodes import Player
from openfingym.agents.llm.program_runner import ProgramRunner
from openfingym.agents.llm.questions import ANSWER, QuestionPlayer
from openfingym.models.messages import Tool, ToolCall
from openfingym.workspace import Execution, WorkspaceError

if TYPE_CHECKING:
    from openfingym.verifiers.client import RolloutTicket, VerifierClient

OBSERVATION = "observation.json"
"""File below ``/work`` in which programs find the latest observation of an episode that is stepped by tool."""
MAX_TOLD = 12_000
"""Most characters of an output or a file that a model is told."""
_WAIT = re.compile(r"\bwait \d+(\.\d+)? s\b", re.IGNORECASE)
"""What a verifier's refusal of too many requests says, which reaches the model as a program's output."""
_TEXT = {"type": "string"}
_KINDS: Mapping[object, tuple[type, str]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}
"""Types of arguments in a JSON schema: the Python type, and what it is called in a message to the model."""

RUN_PYTHON = Tool(
    "run_python",
    "Run a Python program in /work and get what it prints. Each call is a new process; files in /work stay. "
    "`import interface` gives the task's data.",
    {"type": "object", "properties": {"code": {**_TEXT, "description": "The whole program."}}, "required": ["code"]},
)
READ_FILE = Tool(
    "read_file",
    "Read a text file: a path in /work, or an absolute one such as /task/instruction.md.",
    {"type": "object", "properties": {"path": _TEXT}, "required": ["path"]},
)
WRITE_FILE = Tool(
    "write_file",
    "Write a text file below /work, whole.",
    {"type": "object", "properties": {"path": _TEXT, "content": _TEXT}, "required": ["path", "content"]},
)
SUBMIT = Tool(
    "submit",
    "Submit the predictions in a .npy file below /work, as saved by numpy.save. Answers the feedback on the public "
    "part of the hidden set, or what is wrong. The last accepted submission counts.",
    {
        "type": "object",
        "properties": {"path": {**_TEXT, "description": "For example predictions.npy."}},
        "required": ["path"],
    },
)
START_EPISODE = Tool(
    "start_episode",
    "Begin the next episode and get its first observation. The next one that counts, or with `practice` one on earlier "
    "bars that does not count. Each that counts is played once, and is followed by the next by itself.",
    {"type": "object", "properties": {"practice": {"type": "boolean"}}, "required": []},
)
STEP = Tool(
    "step",
    "Take the next step of the episode and get the next observation. Only this tool takes steps; programs cannot.",
    {
        "type": "object",
        "properties": {
            "action": {"description": "The action as the instruction states it, a JSON object; null does nothing."},
            "wait": {
                "type": "integer",
                "description": "Steps in which nothing more is done before you are shown the next observation.",
            },
        },
        "required": ["action"],
    },
)

SUBMISSION = """
import sys
import numpy
import interface
from openfingym_agent import SubmissionRefused

path = {path!r}
try:
    values = numpy.load(path, allow_pickle=False)
except Exception as error:
    sys.exit(f"{{path!r}} is no array saved by numpy.save: {{error}}")
try:
    print(interface.submit(values))
except SubmissionRefused as refused:
    sys.exit(f"refused: {{refused}}")
"""
"""The program behind the tool ``submit``: it goes through the gate, and so through the same limits, as any other."""


@dataclass(frozen=True)
class ToolOutcome:
    """The result of a tool call."""

    text: str
    """Text of the result, for the model to read."""
    failed: bool = False
    """Whether the call was refused, or what it ran failed."""
    malformed: bool = False
    """Whether nothing was done because there is no such tool or its arguments cannot be read."""

    @property
    def limited(self) -> bool:
        """Whether it failed with a request to wait, as a rate limit does: the same may well succeed later."""
        return self.failed and _WAIT.search(self.text) is not None


class Malformed(Exception):  # noqa: N818  # an answer for the model, not a failure
    """A call that cannot be made."""


class Toolbox:
    """The tools of one rollout.

    Attributes:
        programs: runs the programs of the rollout.
        player: takes the steps of a sequential task; None where programs take them, or where there are no steps.
        questions: asks the questions of a task that has them; None for any other task.
        complete: whether nothing more can be submitted or played.
    """

    def __init__(
        self,
        programs: ProgramRunner,
        client: VerifierClient,
        ticket: RolloutTicket,
        player: Player | None,
        questions: QuestionPlayer | None = None,
        windows: int = 0,
    ) -> None:
        """Offer the tools that fit the task.

        Args:
            programs: runs the programs of the rollout.
            client: the verifier.
            ticket: the rollout's ticket, with its token.
            player: takes the steps of a sequential task; None where there are none for the agent to take.
            questions: asks the questions of a task that has them; None for any other.
            windows: windows of the walk that counts, of a task that is walked through; 0 for any other.
        """
        self.programs = programs
        self.player = player
        self.questions = questions
        self.complete = False
        self._client = client
        self._ticket = ticket
        self._windows = windows
        self._calls = 0
        """Requests that programs had made of the verifier when it was last asked for the rollout's status."""
        self._tools: dict[str, tuple[Tool, Callable[[Mapping[str, object]], Awaitable[ToolOutcome]]]] = {}
        if questions is not None:
            self._tools = {tool.name: (tool, partial(self._ask, tool.name)) for tool in questions.offered}
            self._tools[ANSWER.name] = (ANSWER, self._answer_question)
        for tool, run in (
            ()
            if questions is not None
            else (
                (RUN_PYTHON, self._run_python),
                (READ_FILE, self._read_file),
                (WRITE_FILE, self._write_file),
                *(
                    [(START_EPISODE, self._start_episode), (STEP, self._step)]
                    if player is not None
                    else []
                    if windows
                    else [(SUBMIT, self._submit)]
                ),
            )
        ):
            self._tools[tool.name] = (tool, run)
        self._message = 0
        """Position in the record of the message whose call is being made."""
        self._written: Mapping[str, object] | None = None
        """The observation that the file :data:`OBSERVATION` holds."""

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools that a model is told of."""
        # The agent's settings may have left it a subset of a question's tools.
        if self.questions is not None:
            return self.questions.offered
        return tuple(tool for tool, _ in self._tools.values())

    async def use(self, call: ToolCall, *, message: int) -> ToolOutcome:
        """Make a call; a mistake of the agent's is an answer to the model, not an error.

        Args:
            call: the call that the model asks for.
            message: position in the record of the message that the call stands in.

        Raises:
            Ended: the workspace is no more.
            RuntimeFailureError: our machinery failed, not the program.
            VerifierError: the verifier does not answer, or fails.
        """
        self._message = message
        try:
            names = [tool.name for tool in self.offered]
            if call.name not in names:
                raise Malformed(f"There is no tool {call.name!r}; there are {', '.join(names)}.")
            tool, run = self._tools[call.name]
            arguments = _checked(call, tool)
        except Malformed as error:
            return ToolOutcome(str(error), failed=True, malformed=True)
        try:
            return await run(arguments)
        except WorkspaceError as error:
            return self._refused(error)

    async def run(self, program: str) -> ToolOutcome:
        """Run a program in the workspace and tell what came of it.

        Raises:
            Ended: the workspace is no more.
            RuntimeFailureError: our machinery failed, not the program.
        """
        try:
            execution = await self.programs.run(program)
        except WorkspaceError as error:
            return self._refused(error)
        await self._check_complete()
        return ToolOutcome(execution_text(execution), failed=execution.exit_code != 0)

    def _refused(self, error: WorkspaceError) -> ToolOutcome:
        # A workspace that is alive refused this one request; one that is not has ended the rollout.
        self.programs.require_alive("killed")
        return ToolOutcome(str(error), failed=True)

    async def answered(self) -> bool:
        """Whether there is something to score."""
        if self.player is not None:
            return self.player.over
        if self.questions is not None:
            return self.questions.over
        if self._windows:
            return await asyncio.to_thread(self._client.windows_left, self._ticket.token) == 0
        status = await asyncio.to_thread(self._client.rollout_status, self._ticket.rollout_id)
        return status.submissions_accepted > 0

    async def _check_complete(self) -> None:
        """Find out whether the budget is spent, where programs have called the verifier since it was last asked."""
        if self.player is None and self.questions is None and self.programs.calls > self._calls:
            self._calls = self.programs.calls
            if self._windows:
                self.complete = await self.answered()
                return
            status = await asyncio.to_thread(self._client.rollout_status, self._ticket.rollout_id)
            # Where programs step through a sequential task, nothing is left as soon as the last episode is begun, and
            # it has no submissions: that one is still to be played.
            self.complete = status.remaining == 0 and bool(status.submissions)

    async def _run_python(self, arguments: Mapping[str, object]) -> ToolOutcome:
        seen = None if self.player is None else self.player.observation
        # Each step makes an observation of its own, so identity tells whether the file is of the latest.
        if seen is not None and seen is not self._written:
            await (await self.programs.workspace()).write_file(OBSERVATION, json.dumps(seen).encode())
            self._written = seen
        return await self.run(str(arguments["code"]))

    async def _submit(self, arguments: Mapping[str, object]) -> ToolOutcome:
        last, ends = self.programs.program, len(self.programs.ends)
        try:
            outcome = await self.run(SUBMISSION.format(path=str(arguments["path"])))
        finally:
            # This program is ours: it must not stand on record as the agent's, nor count in how its programs ended.
            self.programs.program = last
            del self.programs.ends[ends:]
        return outcome

    async def _read_file(self, arguments: Mapping[str, object]) -> ToolOutcome:
        # Of a file of up to so many bytes the model reads the beginning and the end; a longer one is refused.
        content = await (await self.programs.workspace()).read_file(str(arguments["path"]), max_bytes=8 * MAX_TOLD)
        return ToolOutcome(shorten(content.decode("utf-8", "replace")) or "(the file is empty)")

    async def _write_file(self, arguments: Mapping[str, object]) -> ToolOutcome:
        content = str(arguments["content"]).encode("utf-8", "replace")
        await (await self.programs.workspace()).write_file(str(arguments["path"]), content)
        return ToolOutcome(f"{len(content)} bytes written to {arguments['path']}.")

    async def _start_episode(self, arguments: Mapping[str, object]) -> ToolOutcome:
        assert self.player is not None
        text, failed = await self.player.start(practice=arguments.get("practice") is True)
        return ToolOutcome(text, failed=failed)

    async def _ask(self, tool: str, arguments: Mapping[str, object]) -> ToolOutcome:
        assert self.questions is not None
        text, failed = await self.questions.call(tool, arguments)
        self.complete = self.questions.over
        return ToolOutcome(text, failed=failed)

    async def _answer_question(self, arguments: Mapping[str, object]) -> ToolOutcome:
        assert self.questions is not None
        text, failed = await self.questions.on_answer(str(arguments["answer"]))
        self.complete = self.questions.over
        return ToolOutcome(text, failed=failed)

    async def _step(self, arguments: Mapping[str, object]) -> ToolOutcome:
        assert self.player is not None
        action, wait = arguments["action"], arguments.get("wait", 0)
        assert isinstance(wait, int)
        # Models often write an object of theirs as a text once more.
        if isinstance(action, str):
            try:
                action = json.loads(action)
            except ValueError:
                return ToolOutcome(f"An action is a JSON object or null, found the text {action[:100]!r}.", failed=True)
        text, failed = await self.player.step(action, wait, message=self._message)
        self.complete = self.player.over
        return ToolOutcome(text, failed=failed)


def execution_text(execution: Execution) -> str:
    """A program's run as a model is told of it: its output, and how it ended where it did not end well."""
    output = shorten(execution.output.rstrip()) or "(it printed nothing)"
    if execution.ended_by == "exit" and execution.exit_code == 0:
        return output
    ends = {
        "timeout": f"it was stopped after {execution.wall_s:.0f} s, its time limit",
        "memory": "it was stopped at its memory limit",
        "output": "it was stopped for printing too much",
        "killed": "it ended its workspace",
    }
    return f"{output}\n[{ends.get(execution.ended_by, f'it ended with status {execution.exit_code}')}]"


def shorten(text: str) -> str:
    """A text without its middle, where it is too long to tell, and without zero bytes, which some endpoints refuse."""
    text = text.replace("\0", "\ufffd")
    if len(text) <= MAX_TOLD:
        return text
    # The end gets the larger part: results and tracebacks are printed last.
    head, tail = text[: MAX_TOLD // 3], text[-2 * MAX_TOLD // 3 :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"


def _checked(call: ToolCall, tool: Tool) -> Mapping[str, object]:
    """The arguments of a call, checked against the tool's schema.

    Raises:
        Malformed: the arguments cannot be read, or do not fit the schema; the message says what was expected.
    """
    try:
        arguments = call.parsed()
    except ValueError as error:
        raise Malformed(f"{str(error)[:300]}. Nothing was done.") from None
    required = tool.parameters["required"]
    assert isinstance(required, list)
    for name in required:
        if name not in arguments:
            raise Malformed(
                f"{tool.name} needs the argument {name!r}; found {', '.join(map(repr, arguments)) or 'none'}."
            )
    # Models fill in every argument that the schema has, and write null where one may be left out.
    arguments = {name: value for name, value in arguments.items() if value is not None or name in required}
    for name, value in arguments.items():
        schema = tool.properties.get(name)
        kind, what = _KINDS.get(schema.get("type") if isinstance(schema, Mapping) else None, (object, "anything"))
        if not isinstance(value, kind):
            raise Malformed(f"The argument {name!r} of {tool.name} is {what}, found {type(value).__name__}.")
    return arguments
