"""A policy that solves tasks: it looks, runs a program, and submits."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from openfingym.models.testing.brief import LOOK, PRACTISE, SAVE, WALK, InstructionFacts
from openfingym.models.testing.conversation import ANSWER_TOOL, Call, CompletionRequest, Reply, asks_in_words
from openfingym.plugins import Plugins

ENTRY_POINT_GROUP = "openfingym.stand_in_answers"
"""Group of the entry points by which distributions bring answers to their suites' questions: functions that are given a
request, and return a reply, or None for a conversation that is not theirs. They are asked in the order of their
names."""
_ANSWERS = Plugins("answer of the stand-in", ENTRY_POINT_GROUP, {})
INSTRUCTION = "/task/instruction.md"
"""Path of the task's instruction in the container."""
ANSWER = "predictions.npy"
"""File below ``/work`` in which the program leaves its predictions."""
FAREWELL = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""Command at which mini-swe-agent ends."""
WAIT = 20
"""Steps that pass between two orders: about a month of days."""


class Competent:
    """Answers a task with a program that is fit for its kind, or with steps where it may step."""

    def respond(self, request: CompletionRequest) -> Reply:
        """Continue the conversation."""
        for name in _ANSWERS.names():
            reply = cast("Callable[[CompletionRequest], Reply | None]", _ANSWERS.load(name))(request)
            if reply is not None:
                return reply
        if asks_in_words(request):
            return Reply("I know nothing of such questions.\nFinal Answer: unknown")
        brief = InstructionFacts.read(request.text)
        if request.form in {"tools", "text"}:
            return self._with_tools(request, brief)
        if brief is None:
            return Reply("I was given no task: its instruction says how to load the data and how to answer.")
        if request.form == "single" or request.turn == 1:
            return Reply(f"Simple, regularised and checked on later data.\n\n{block(brief.program())}")
        if request.turn == 0:
            return Reply(f"First a look at what there is.\n\n{block(LOOK)}")
        return Reply("The answer is submitted, and I leave it at that.")

    def _with_tools(self, request: CompletionRequest, brief: InstructionFacts | None) -> Reply:
        """Look at the data, run a program, submit, and say so; or step for as long as it is asked."""
        # Which of these is next follows from how often each tool was called: a policy remembers nothing.
        if ANSWER_TOOL in request.tools:
            return Reply("I know nothing of such questions.", (Call(ANSWER_TOOL, {"answer": "unknown"}),))
        if brief is None:
            if "read_file" in request.tools and not request.called("read_file"):
                return Reply("I read the instruction first.", (Call("read_file", {"path": INSTRUCTION}),))
            return Reply("I was given no task, and found no instruction.")
        if brief.sequential and "step" in request.tools:
            return step(request, brief)
        if "run_python" not in request.tools:
            shell = next((name for name, arguments in request.tools.items() if arguments >= {"command"}), None)
            if shell is not None:
                return in_shell(request, brief, shell)
            return Reply("There is no tool that runs a program, so I cannot answer.")
        runs = request.called("run_python")
        submits = "submit" in request.tools and not (brief.sequential or brief.walks)
        if runs == 0:
            return Reply("First a look at what there is.", (Call("run_python", {"code": LOOK}),))
        if runs == 1:
            end = SAVE if submits else PRACTISE if brief.walks else None
            return Reply("Simple and regularised.", (Call("run_python", {"code": brief.program(end)}),))
        if brief.walks and runs == 2:
            return Reply("It runs; now the walk that counts.", (Call("run_python", {"code": brief.program(WALK)}),))
        if submits and not request.called("submit"):
            return Reply("I submit this.", (Call("submit", {"path": ANSWER}),))
        return Reply("The answer is submitted, and I leave it at that.")


def in_shell(request: CompletionRequest, brief: InstructionFacts, tool: str) -> Reply:
    """What is done with one tool that runs commands of a shell, as coding command lines offer: look, then submit."""
    runs = request.called(tool)
    if runs < 2:
        program = (LOOK, brief.program())[runs].rstrip()
        said = ("First a look at what there is.", "Simple and regularised.")[runs]
        return Reply(said, (Call(tool, {"command": f"python3 - <<'PROGRAM'\n{program}\nPROGRAM"}),))
    # Some command lines end at a word of theirs, which they state, and not at an answer without a call.
    if FAREWELL in request.text and runs == 2:
        return Reply("The answer is submitted.", (Call(tool, {"command": FAREWELL}),))
    return Reply("The answer is submitted, and I leave it at that.")


def step(request: CompletionRequest, brief: InstructionFacts) -> Reply:
    """The next step of a sequential task: equal parts, restored every month where steps may pass without an action, or
    a small drift. Either is right at any time, so that nothing of the episode must be known.
    """
    if "start_episode" in request.tools and not (request.called("start_episode") or request.called("step")):
        return Reply("I begin.", (Call("start_episode", {}),))
    if not brief.way.waits:
        return Reply("A small drift.", (Call("step", {"action": brief.action()}),))
    wait = {"wait": WAIT} if "wait" in request.tools["step"] else {}
    return Reply("Equal parts.", (Call("step", {"action": brief.action(), **wait}),))


def block(program: str) -> str:
    """A program as a fenced block of Markdown."""
    return f"```python\n{program.rstrip()}\n```"
