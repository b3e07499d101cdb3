"""One rollout as its agent sees it: the task's brief, a model to ask, tools to call, and limits that hold.

An agent talks and acts through a :class:`Conversation` alone. The session keeps the conversation, charges what is
spent, says when little is left, and ends the agent by raising :class:`Ended`, which the agent lets pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from openfingym.agents.llm.asking import ModelAsker, Sampling
from openfingym.agents.llm.ending import Ended, EndName
from openfingym.agents.llm.prompts import for_task
from openfingym.agents.llm.tools import Toolbox, ToolOutcome
from openfingym.agents.llm.transcript import Transcript
from openfingym.agents.llm.usefulness import Usefulness
from openfingym.errors import ModelUnavailableError, UsageError
from openfingym.machine import Libraries
from openfingym.models.driven import Stopped
from openfingym.models.messages import Completion, Message, Tool, ToolCall
from openfingym.models.meter import Allowance, Meter
from openfingym.models.model import LanguageModel
from openfingym.models.text_tools import HOW_TO_CALL
from openfingym.trajectory.record import ToolUse, Turn

NOTICE_SHARE = 0.2
"""Share of a limit; once no more than this is left, the model is told what is left."""
AGAIN = "You did this before, and it failed in the same way. Change what you do, or the rollout ends."
CALLS_A_TURN = 16
"""Most calls of one message that are made."""
Listener = Callable[[int, Turn], None]
"""Called with the number of a message, from 0, and the message: when it is there, and again with each result of its
calls."""


class ModelAgent(Protocol):
    """An agent: something that acts in a session until it is done. A frozen dataclass, so that its settings are on
    record.
    """

    @property
    def takes_steps(self) -> bool:
        """Whether the agent takes the steps of a sequential task by the tool ``step``; else its programs take them."""

    async def act(self, session: Conversation) -> None:
        """Act until there is nothing more to do.

        Raises:
            Ended: the session ends the rollout, as at a limit; the agent lets it pass.
        """


@dataclass(frozen=True)
class Assignment:
    """The task as it is put to the agent."""

    task: str
    """Name of the task."""
    instruction: str
    """Text of the task's ``instruction.md``."""
    sequential: bool
    """Whether the task is stepped through."""
    seed: int = 0
    """Seed of the rollout, which the model is asked with too."""
    libraries: Libraries | None = None
    """The libraries that programs can import; None where it is not known where they will run."""
    windows: int = 0
    """Windows of the walk that counts, of a task that is walked through; 0 for any other."""


class Conversation:
    """The conversation of one rollout.

    Attributes:
        brief: the task as it is put to the agent.
        tools: the tools that can be called, and whether the task is answered.
        meter: what may be spent, and what was spent so far.
        asker: asks the model, within what may still be spent.
        offered_inside: tools that a program of the agent's own, inside, has offered its model; None where the agent's
            loop is on this side.
    """

    def __init__(
        self,
        brief: Assignment,
        tools: Toolbox,
        meter: Meter,
        model: LanguageModel | None,
        *,
        listener: Listener | None = None,
    ) -> None:
        self.brief = brief
        self.tools = tools
        self.meter = meter
        self.offered_inside: tuple[Tool, ...] | None = None
        self.asker = ModelAsker(model, meter, seed=brief.seed)
        self._transcript = Transcript(listener)
        self._offering = False
        """Whether the model was offered tools when it was last asked."""
        self._usefulness = Usefulness(meter.allowance.useless)

    @property
    def transcript(self) -> Transcript:
        """The record, and the messages that the model is shown."""
        return self._transcript

    @property
    def turns(self) -> list[Turn]:
        """The conversation so far, as it is recorded."""
        return self._transcript.turns

    @property
    def messages(self) -> list[Message]:
        """What the model has been told and has said, as it would be shown it next."""
        return self._transcript.messages

    @property
    def limits(self) -> str:
        """The limits in one line; empty where there is none."""
        return _limits(self.meter.allowance)

    @property
    def prompt_sha256(self) -> str | None:
        """Digest of the system message; None without one."""
        return self._transcript.prompt_sha256

    def instruct(self, text: str) -> None:
        """Give the system message, before anything else; it names no method whose library is missing, and says how the
        task is answered.
        """
        assert not self.turns, "the system message is the first"
        self._transcript.say("system", for_task(text, self.brief.libraries, walks=self.brief.windows > 0))

    def tell(self, text: str) -> None:
        """Send the model a message, with what is left of its limits where that is little."""
        self._transcript.say("user", self._with_notice(text))

    def present(self, *more: str) -> None:
        """Send the task and the limits, with what else the agent wants to say first between the two."""
        self.tell("\n\n".join(part for part in (self.brief.instruction.strip(), *more, self.limits) if part))

    def begin(self, text: str, *, system: str, sampling: Sampling) -> None:
        """Begin a conversation about something else, in which the model is shown nothing that came before. A
        conversation that may only grow goes on instead.

        Args:
            text: the user's message with which it begins.
            system: the system message; empty for none.
            sampling: how the model is asked; ``append_only`` of it says whether the conversation may only grow.
        """
        self._transcript.close_calls()
        if sampling.append_only and self.turns:
            # Many chat templates take a system message at the beginning alone, so another one is the user's words here.
            first = next((message.content for message in self.messages if message.role == "system"), "")
            self.tell(text if system in {"", first} else f"{system}\n\n{text}")
            return
        self._transcript.restart(system)
        self.tell(text)

    async def ask(
        self,
        *,
        tools: bool = False,
        last: int | None = None,
        once: bool = False,
        sampling: Sampling | None = None,
        anything: bool = False,
    ) -> Message:
        """Have the model continue the conversation.

        Args:
            tools: whether the tools are offered.
            last: how many of its latest answers the model is shown, with what followed them; None for all. What came
                before its first answer is always shown. Ignored where the sampling says ``append_only``.
            once: whether the rollout ends at the first useless answer.
            sampling: sampling parameters of the request, such as temperature.
            anything: whether an empty answer or one that was cut off is returned too, for a caller that judges answers
                itself; else the model is told of it and asked again.

        Raises:
            Ended: a limit is reached, the model refuses, or it has given too many useless answers.
            ModelUnavailableError: no answer can be had.
        """
        self._offering, sampling = tools, sampling or Sampling()
        offered = self.tools.offered if tools else ()
        while True:
            self._transcript.close_calls()
            shown = self._transcript.shown(None if sampling.append_only else last)
            try:
                completion = await self.asker.ask(shown, offered, sampling)
            except Stopped as stopped:
                raise await self.stopped(str(stopped)) from None
            # None: the endpoint itself could not read the call that the model wrote, so that there is no message.
            if completion is None and anything:
                return Message("assistant", "")
            if completion is None:
                self.useless(
                    "bad-calls",
                    "Your call could not be read: its arguments are to be one JSON object. Nothing was done.",
                    once=once,
                )
                continue
            self.record(completion, append_only=sampling.append_only)
            message = completion.message
            if anything:
                return message
            if completion.finish_reason in {"refusal", "content_filter"}:
                raise Ended("refused", f"the model refused: {_excerpt(message.content)}")
            if completion.finish_reason == "length":
                self.useless(
                    "endless", "Your answer was cut off because it was too long. Nothing was done; be brief.", once=once
                )
            elif not message.content.strip() and not message.tool_calls:
                self.useless("silent", "You answered nothing. Go on with the task.", once=once)
            else:
                return message

    def show_again(self, text: str) -> None:
        """Show the model this as its latest answer, of which the rest was not read."""
        self._transcript.show_again(text)

    def record(self, completion: Completion, *, append_only: bool = False) -> None:
        """Charge a completion and make it the latest message; where ``append_only``, it is sent back as it is.

        Raises:
            ModelUnavailableError: there is a limit on cost, and nobody knows what the completion cost.
        """
        try:
            self.meter.charge(completion)
        except UsageError as error:
            why = "" if not completion.counted else "the endpoint did not count its tokens: "
            raise ModelUnavailableError(f"{why}{error}") from None
        self._transcript.answer(completion, append_only=append_only)

    async def call(self, calls: Sequence[ToolCall], *, judged: bool = True) -> bool:
        """Make the calls of the model's latest message, one after the other, and tell it what came of each.

        Args:
            calls: the calls of the message, in their order.
            judged: whether calls that lead nowhere end the rollout once there were too many.

        Returns:
            Whether the rollout is complete: nothing more can be submitted or played. Where calls are not judged:
            whether any of them could be made.

        Raises:
            Ended: the calls are malformed once too often or bring nothing new, or the workspace has ended.
        """
        made, last = [], min(len(calls), CALLS_A_TURN)
        for number, call in enumerate(calls[:CALLS_A_TURN], 1):
            # What is left over gets its result in close_calls, before the model is asked again.
            if self.tools.complete:
                break
            started = time.monotonic()
            outcome = await self.tools.use(call, message=len(self.turns) - 1)
            made.append((call, outcome))
            # With the last result alone: behind each of them, the notice would only repeat itself.
            told = self._with_notice(outcome.text) if number == last else outcome.text
            self._transcript.result(call.id, told, failed=outcome.failed, wall_s=time.monotonic() - started)
        for call in calls[CALLS_A_TURN:]:
            self._transcript.result(
                call.id,
                f"This was not done: at most {CALLS_A_TURN} calls of one message are made.",
                failed=True,
                wall_s=0.0,
            )
        if not judged:
            return not all(outcome.malformed for _, outcome in made)
        if self.tools.complete:
            return True
        if all(outcome.malformed for _, outcome in made):
            self.useless("bad-calls", None)
        else:
            self.weigh(made, told=AGAIN)
        return False

    def note(self, call: ToolUse) -> None:
        """Record a call that was made and answered elsewhere, as a message of its own."""
        self._transcript.note(Turn(role="assistant", tool_calls=(call,), at=datetime.now(UTC)))

    def useful(self) -> None:
        """Record that an answer was of use."""
        self._usefulness.useful()

    def weigh(self, made: Sequence[tuple[ToolCall, ToolOutcome]], *, told: str | None) -> None:
        """Record whether an answer was of use, by the calls that it made and what came of them.

        Args:
            made: the calls, each with its outcome.
            told: what the model is told where they failed as they had before; None to tell it nothing.

        Raises:
            Ended: the model has given too many useless answers.
        """
        again = self._usefulness.failed_again(made)
        if again is not None:
            self.useless("no-progress", told, found=again)

    def useless(self, how: EndName, told: str | None, *, once: bool = False, found: str | None = None) -> None:
        """Record that an answer was of no use, and tell the model why unless it was told already.

        Args:
            how: how the rollout ends if this was once too often.
            told: what the model is told; None where the results of its calls have told it.
            once: whether the first useless answer is once too often.
            found: what the answer was, for the people who read why the rollout ended.

        Raises:
            Ended: the model has given too many useless answers.
        """
        self._usefulness.useless(how, once=once, found=found)
        self._transcript.close_calls()
        if told is not None:
            self.tell(told)

    async def run_block(self, program: str, told: str = "") -> None:
        """Run the program in the text of the model's latest message, which calls no tool, and tell it the output,
        with ``told`` before it.

        Raises:
            Ended: the workspace is no more, or such programs failed in the same way once too often.
            RuntimeFailureError: our machinery failed, not the program.
        """
        self._transcript.mark_block()
        await self.run_program(program, told)

    async def run_program(self, program: str, told: str = "") -> None:
        """Run a program and tell the model its output, with ``told`` before it.

        Raises:
            Ended: the workspace is no more, or the same program failed in the same way once too often.
            RuntimeFailureError: our machinery failed, not the program.
        """
        outcome = await self.tools.run(program)
        again = self._usefulness.failed_again([(ToolCall("", "run_python", program), outcome)])
        self.tell("\n\n".join(part for part in (told, f"Output:\n{outcome.text}", AGAIN if again else "") if part))
        if again is not None:
            self.useless("no-progress", None, found=again)

    async def run_once(self, program: str) -> None:
        """Run the one program of the rollout, as a program of the user's own is run; nobody sees what it prints until
        it is over.

        Raises:
            RuntimeFailureError: our machinery failed, not the program.
        """
        await self.tools.programs.run_once(program)

    async def conclude(self) -> bool:
        """Whether the rollout is over, where the model says that it is done; if it has not answered the task, it is
        told so and goes on.

        Raises:
            Ended: the model has said so too often without having answered the task.
        """
        if await self.tools.answered():
            return True
        # A model that never called anything may not know how; of one that did, it is a decision.
        how: EndName = "stopped" if self._usefulness.ever else "no-program"
        missing = (
            "the episodes are not over"
            if self.brief.sequential
            else "the private walk, `interface.iter_test()`, is not at its end"
            if self.brief.windows
            else "nothing was accepted by the verifier"
        )
        told = f"The task is not answered yet: {missing}. Go on, or the rollout ends without a score."
        self.useless(how, f"{told} {HOW_TO_CALL}" if self._offering else told)
        return False

    async def stopped(self, why: str) -> Ended:
        """How the rollout ends where whoever answers for a driven model has ended the conversation."""
        if await self.tools.answered():
            return Ended("finished", "it answered the task")
        return Ended("stopped", f"{why}, and the task was not answered")

    def check_limits(self) -> None:
        """Raise :class:`Ended` where a limit is reached."""
        self.asker.check_limits()

    def _with_notice(self, text: str) -> str:
        """A text with what is left of the limits, where that is little."""
        notice = self.meter.notice(share=NOTICE_SHARE)
        return f"{text}\n\n{notice}" if notice else text


def _limits(allowance: Allowance) -> str:
    """The limits of an allowance, in one line; an empty text where there is none."""
    stated = (
        (allowance.turns, "{} answers"),
        (allowance.tokens, "{} tokens, input and output together"),
        (allowance.cost_usd, "{} US dollars"),
        (allowance.wall_s, "{:g} seconds"),
    )
    limits = [text.format(value) for value, text in stated if value is not None]
    return f"You have {', '.join(limits)} for all of this." if limits else ""


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[:200]}..." if len(text) > 200 else text or "no reason was given"
