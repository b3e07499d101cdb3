"""One rollout as its agent sees it: the task's brief, a model to ask, tools to call, and limits that hold.

An agent talks and acts through a :class:`Conversation` alone. The session keeps the conversation, charges what is
spent, says when little is left, and ends the agent by raising :class:`Ended`, which the agent lets pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from openfingym.agents.llm.asking import ModelAsker, Sampling
from openfingym.agents.llm.ending import Ended, EndName
from openfingym.agents.llm.tools import Toolbox, ToolOutcome
from openfingym.agents.llm.usefulness import Usefulness
from openfingym.digests import sha256_of_text
from openfingym.errors import ModelUnavailableError, UsageError
from openfingym.models.driven import Stopped
from openfingym.models.messages import Completion, Message, ToolCall
from openfingym.models.meter import Allowance, Meter
from openfingym.models.model import LanguageModel
from openfingym.models.text_tools import HOW_TO_CALL
from openfingym.trajectory.record import ToolUse, Turn

NOTICE_SHARE = 0.2
"""Share of a limit; once no more than this is left, the model is told what is left."""
AGAIN = "You did this before, and it failed in the same way. Change what you do, or the rollout ends."
CALLS_A_TURN = 16
Listener = Callable[[int, Turn], None]
"""Told the number of each message, from 0, and the message: when it is there, and again with each result of its
calls."""
OUTAGE_S = 300.0
"""Who waited so long for one answer waited for an endpoint that was away, not for a model that thought."""


class ModelAgent(Protocol):
    """An agent: something that acts in a session until it is done. A frozen dataclass, so that its settings are on
    record.
    """

    @property
    def takes_steps(self) -> bool:
        """Whether it takes the steps of a sequential task by the tool ``step``; else its programs do."""

    async def act(self, session: Conversation) -> None:
        """Act until there is nothing more to do.

        Raises:
            Ended: by the session, when the rollout is over for another reason.
        """


@dataclass(frozen=True)
class Assignment:
    """The task as it is put to the agent."""

    task: str
    instruction: str
    """The task's ``instruction.md``."""
    sequential: bool
    """Whether it is stepped through."""
    seed: int = 0


class Conversation:
    """The conversation of one rollout.

    Attributes:
        brief: the task as the agent is told it.
        tools: what can be called, and what it came to so far.
        meter: what may be spent, and what was.
        turns: the conversation so far, for the record.
        asker: what asks the model.
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
        self.turns: list[Turn] = []
        self.asker = ModelAsker(model, meter, seed=brief.seed)
        self._listener = listener
        self._messages: list[Message] = []
        self._answers: list[int] = []
        """Positions of the model's messages."""
        self._offering = False
        """Whether the model was offered tools when it was last asked."""
        self._usefulness = Usefulness(meter.allowance.useless)

    @property
    def messages(self) -> list[Message]:
        """What the model has been told and has said, as it would be shown it next."""
        return list(self._messages)

    @property
    def prompt_sha256(self) -> str | None:
        """Digest of the system message; None without one."""
        first = self.turns[0] if self.turns else None
        return sha256_of_text(first.content) if first and first.role == "system" else None

    def instruct(self, text: str) -> None:
        """Give the system message, before anything else."""
        assert not self.turns, "the system message is the first"
        self._add(Turn(role="system", content=text, at=datetime.now(UTC)))
        self._messages.append(Message("system", text))

    def tell(self, text: str) -> None:
        """Send the model a message, with what is left of its limits where that is little."""
        text = self._noticed(text)
        self._add(Turn(role="user", content=text, at=datetime.now(UTC)))
        self._messages.append(Message("user", text))

    def present(self, *more: str) -> None:
        """Send the task, its limits, and whatever else the agent wants to say first."""
        self.tell(
            "\n\n".join(part for part in (self.brief.instruction.strip(), *more, _limits(self.meter.allowance)) if part)
        )

    def begin(self, text: str, *, system: str, sampling: Sampling) -> None:
        """Begin a conversation of its own with a text, of which the model is shown nothing that came before. A
        conversation that only grows goes on instead.

        Args:
            text: the user's message.
            system: the system message; empty for none.
            sampling: how the model is asked.
        """
        self._close_calls()
        if sampling.append_only and self.turns:
            last = next((message.content for message in self._messages if message.role == "system"), "")
            self.tell(text if system in {"", last} else f"{system}\n\n{text}")
            return
        self._messages.clear()
        self._answers.clear()
        if system:
            shown = next((turn.content for turn in reversed(self.turns) if turn.role == "system"), None)
            self._messages.append(Message("system", system))
            if system != shown:
                self._add(Turn(role="system", content=system, at=datetime.now(UTC)))
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
            last: show the model its latest so many answers and what followed them alone, beside what came before the
                first. Ignored where the sampling says ``append_only``.
            once: end the rollout at the first useless answer.
            sampling: sampling parameters of the request, such as temperature.
            anything: whether an answer of no use is one too, for who judges it: an empty one, or one that was cut off.

        Raises:
            Ended: a limit is reached, or the model refuses or is useless once too often.
            ModelUnavailableError: no answer can be had.
        """
        self._offering, sampling = tools, sampling or Sampling()
        offered = self.tools.offered if tools else ()
        while True:
            shown = self._shown(None if sampling.append_only else last)
            try:
                completion = await self.asker.ask(shown, offered, sampling)
            except Stopped as stopped:
                raise await self._stopped(str(stopped)) from None
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
        """Show the model this as its latest answer, which was read as this alone."""
        place = self._answers[-1]
        self._messages[place] = Message("assistant", text or "(nothing)")

    def record(self, completion: Completion, *, append_only: bool = False) -> None:
        """Charge a completion and make it the latest message; with ``append_only``, as it is."""
        try:
            self.meter.charge(completion)
        except UsageError as error:
            raise ModelUnavailableError(f"the endpoint did not count its tokens: {error}") from None
        self._add(Turn.from_completion(completion, at=datetime.now(UTC)))
        message = completion.message
        self._answers.append(len(self._messages))
        # Some endpoints take no empty message back, and no call that is none.
        self._messages.append(
            message
            if append_only
            else replace(message, tool_calls=tuple(call.sendable() for call in message.tool_calls))
            if message.content or message.tool_calls
            else Message("assistant", "(nothing)")
        )

    async def call(self, calls: Sequence[ToolCall], *, judged: bool = True) -> bool:
        """Do what the model's latest message calls for, one after the other, and tell it what came of each.

        Args:
            calls: the calls.
            judged: whether calls that lead nowhere end the rollout once there were too many.

        Returns:
            Whether the rollout is complete: nothing more can be submitted or played. Where calls are not judged:
            whether any of them could be made.

        Raises:
            Ended: the calls are malformed once too often or bring nothing new, or the workspace has ended.
        """
        made, last = [], min(len(calls), CALLS_A_TURN)
        for number, call in enumerate(calls[:CALLS_A_TURN], 1):
            if self.tools.complete:
                break
            started = time.monotonic()
            found = await self.tools.use(call, message=len(self.turns) - 1)
            made.append((call, found))
            told = self._noticed(found.text) if number == last else found.text
            self._answer(call.id, told, failed=found.failed, wall_s=time.monotonic() - started)
        for call in calls[CALLS_A_TURN:]:
            self._answer(
                call.id,
                f"This was not done: at most {CALLS_A_TURN} calls of one message are made.",
                failed=True,
                wall_s=0.0,
            )
        if not judged:
            return not all(found.malformed for _, found in made)
        if self.tools.complete:
            return True
        if all(found.malformed for _, found in made):
            self.useless("bad-calls", None)
        else:
            self.weigh(made, told=AGAIN)
        return False

    def note(self, call: ToolUse) -> None:
        """Record a call that was made and answered elsewhere, as a message of its own."""
        self._add(Turn(role="assistant", tool_calls=(call,), at=datetime.now(UTC)))

    def useful(self) -> None:
        """Record that an answer was of use."""
        self._usefulness.useful()

    def weigh(self, made: Sequence[tuple[ToolCall, ToolOutcome]], *, told: str | None) -> None:
        """Record whether an answer was of use, by the calls that it made and what came of them.

        Args:
            made: the calls, and the outcome of each.
            told: what the model is told where they failed as they had before; None for nothing.

        Raises:
            Ended: it was useless once too often.
        """
        again = self._usefulness.failed_again(made)
        if again is not None:
            self.useless("no-progress", told, found=again)

    def useless(self, how: EndName, told: str | None, *, once: bool = False, found: str | None = None) -> None:
        """Record that an answer was of no use, and tell the model why unless it was told already.

        Args:
            how: how the rollout ends if this was once too often.
            told: what the model is told.
            once: whether the first time is once too often.
            found: what the answer was, for the people who read why the rollout ended.

        Raises:
            Ended: the model has given too many useless answers.
        """
        self._usefulness.useless(how, once=once, found=found)
        self._close_calls()
        if told is not None:
            self.tell(told)

    async def run_block(self, program: str, told: str = "") -> None:
        """Run the program in the text of the model's latest message, which calls no tool, and tell it the output,
        with ``told`` before it.

        Raises:
            Ended: the workspace is no more, or such programs failed in the same way once too often.
            RuntimeFailureError: our machinery failed, not the program.
        """
        index = next(index for index in range(len(self.turns) - 1, -1, -1) if self.turns[index].role == "assistant")
        self.turns[index] = self.turns[index].called_by_block()
        await self.run_program(program, told)

    async def run_program(self, program: str, told: str = "") -> None:
        """Run a program and tell the model its output, with ``told`` before it.

        Raises:
            Ended: the workspace is no more, or the same program failed in the same way once too often.
            RuntimeFailureError: our machinery failed, not the program.
        """
        found = await self.tools.run(program)
        again = self._usefulness.failed_again([(ToolCall("", "run_python", program), found)])
        self.tell("\n\n".join(part for part in (told, f"Output:\n{found.text}", AGAIN if again else "") if part))
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
        """The model says that it is done: so it is if it has answered the task; else it is told so.

        Raises:
            Ended: it has nothing to submit even when asked again.
        """
        if await self.tools.answered():
            return True
        how: EndName = "stopped" if self._usefulness.ever else "no-program"
        missing = "the episodes are not over" if self.brief.sequential else "nothing was accepted by the verifier"
        told = f"The task is not answered yet: {missing}. Go on, or the rollout ends without a score."
        self.useless(how, f"{told} {HOW_TO_CALL}" if self._offering else told)
        return False

    async def _stopped(self, why: str) -> Ended:
        """How the rollout ends where whoever answers for the model has had enough."""
        if await self.tools.answered():
            return Ended("finished", "it answered the task")
        return Ended("stopped", f"{why}, and the task was not answered")

    def check_limits(self) -> None:
        """Raise :class:`Ended` where a limit is reached."""
        self.asker.check_limits()

    def _shown(self, last: int | None) -> list[Message]:
        """The messages that the model is given."""
        self._close_calls()
        if last is None or len(self._answers) <= last:
            return list(self._messages)
        return [*self._messages[: self._answers[0]], *self._messages[self._answers[-last] :]]

    def _close_calls(self) -> None:
        """Every call must have a result before anybody speaks again."""
        # Endpoints refuse a conversation in which a call has no result.
        if self._answers:
            answered = {message.tool_call_id for message in self._messages[self._answers[-1] + 1 :]}
            for call in self._messages[self._answers[-1]].tool_calls:
                if call.id not in answered:
                    self._answer(call.id, "This was not done.", failed=True, wall_s=0.0)

    def _answer(self, call_id: str, text: str, *, failed: bool, wall_s: float) -> None:
        index = next(index for index in range(len(self.turns) - 1, -1, -1) if self.turns[index].role == "assistant")
        self.turns[index] = self.turns[index].with_result(call_id, text, failed=failed, wall_s=wall_s)
        self._heard(index)
        self._messages.append(Message("tool", text, tool_call_id=call_id))

    def _add(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._heard(len(self.turns) - 1)

    def _heard(self, index: int) -> None:
        if self._listener is not None:
            self._listener(index, self.turns[index])

    def _noticed(self, text: str) -> str:
        notice = self.meter.notice(share=NOTICE_SHARE)
        return f"{text}\n\n{notice}" if notice else text


def _limits(allowance: Allowance) -> str:
    """The limits of an allowance, in one line."""
    stated = (
        (allowance.turns, "{} answers"),
        (allowance.tokens, "{} tokens, input and output together"),
        (allowance.cost_usd, "{} US dollars"),
        (allowance.wall_s, "{:g} seconds"),
    )
    said = [text.format(value) for value, text in stated if value is not None]
    return f"You have {', '.join(said)} for all of this." if said else ""


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[:200]}..." if len(text) > 200 else text or "no reason was given"
