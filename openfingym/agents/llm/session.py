"""One rollout as its agent sees it: the task's brief, a model to ask, tools to call, and limits that hold.

An agent talks and acts through a :class:`Conversation` alone. The session keeps the conversation, charges what is
spent, says when little is left, and ends the agent by raising :class:`Ended`, which the agent lets pass.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from openfingym.agents.llm.ending import Ended, EndName
from openfingym.agents.llm.tools import Toolbox, ToolOutcome
from openfingym.digests import sha256_of_text
from openfingym.errors import ModelRefusedError, ModelUnavailableError, UsageError
from openfingym.models.messages import Completion, Message, Tool, ToolCall
from openfingym.models.meter import Allowance, Meter
from openfingym.models.model import LanguageModel
from openfingym.models.text_tools import HOW_TO_CALL, ToolModel
from openfingym.trajectory.record import ToolUse, Turn

NOTICE_SHARE = 0.2
"""Share of a limit; once no more than this is left, the model is told what is left."""
USELESS_IN_A_ROW = 3
"""Answers that lead nowhere before the conversation is ended, unless the allowance says otherwise."""
AGAIN = "You did this before, and it failed in the same way. Change what you do, or the rollout ends."
CALLS_A_TURN = 16
Listener = Callable[[int, Turn], None]
"""Told the number of each message, from 0, and the message: when it is there, and again with each result of its
calls."""
OUTAGE_S = 300.0
"""Who waited so long for one answer waited for an endpoint that was away, not for a model that thought."""


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters of requests to a model."""

    temperature: float | None = None
    """Randomness; None leaves it to the endpoint."""
    reply_tokens: int = 16_384
    """Longest answer, its reasoning included."""
    text_tools: bool | None = None
    """Have calls of tools written as text. None: only where the endpoint takes no tools; False: never."""


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
        waiting_since: since when the model is being waited for, by the monotonic clock; None where it is not.
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
        self.waiting_since: float | None = None
        self._model = model
        self._listener = listener
        self._messages: list[Message] = []
        self._answers: list[int] = []
        """Positions of the model's messages."""
        self._offering = False
        """Whether the model was offered tools when it was last asked."""
        self._useless: list[EndName] = []
        """What was of no use in the latest answers, since one was of use."""
        self._ever_useful = False
        self._done: Counter[str] = Counter()
        """How often each call was made with the same result, by its digest."""

    @property
    def prompt_sha256(self) -> str | None:
        """Digest of the system message; None without one."""
        first = self.turns[0] if self.turns else None
        return sha256_of_text(first.content) if first and first.role == "system" else None

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation so far as a model is sent it; it grows, and nobody else may change it."""
        return self._messages

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

    async def ask(
        self, *, tools: bool = False, last: int | None = None, once: bool = False, sampling: Sampling | None = None
    ) -> Message:
        """Have the model continue the conversation.

        Args:
            tools: whether the tools are offered.
            last: show the model its latest so many answers and what followed them alone, beside what came before the
                first.
            once: end the rollout at the first useless answer.
            sampling: sampling parameters of the request, such as temperature.

        Raises:
            Ended: a limit is reached, or the model refuses or is useless once too often.
            ModelUnavailableError: no answer can be had.
        """
        assert self._model is not None, "who asks a model is run with one"
        self._offering = tools
        while True:
            self.check_limits()
            completion = await self._complete(
                self._model, self._shown(last), self.tools.offered if tools else (), sampling or Sampling()
            )
            if completion is None:
                self.useless(
                    "bad-calls",
                    "Your call could not be read: its arguments are to be one JSON object. Nothing was done.",
                    once=once,
                )
                continue
            self.record(completion)
            message = completion.message
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

    def record(self, completion: Completion) -> None:
        """Charge a completion and make it the latest message."""
        try:
            self.meter.charge(completion)
        except UsageError as error:
            raise ModelUnavailableError(f"the endpoint did not count its tokens: {error}") from None
        self._add(Turn.from_completion(completion, at=datetime.now(UTC)))
        message = completion.message
        self._answers.append(len(self._messages))
        # Some endpoints take no empty message back, and no call that is none.
        self._messages.append(
            replace(message, tool_calls=tuple(call.sendable() for call in message.tool_calls))
            if message.content or message.tool_calls
            else Message("assistant", "(nothing)")
        )

    async def call(self, calls: Sequence[ToolCall]) -> bool:
        """Do what the model's latest message calls for, one after the other, and tell it what came of each.

        Returns:
            Whether the rollout is complete: nothing more can be submitted or played.

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
        self._useless, self._ever_useful = [], True

    def weigh(self, made: Sequence[tuple[ToolCall, ToolOutcome]], *, told: str | None) -> None:
        """Record whether an answer was of use, by the calls that it made and what came of them.

        Args:
            made: the calls, and the outcome of each.
            told: what the model is told where they failed as they had before; None for nothing.

        Raises:
            Ended: it was useless once too often.
        """
        again = self._failed_again(made)
        if again is not None:
            self.useless("no-progress", told, found=again)

    def _failed_again(self, made: Sequence[tuple[ToolCall, ToolOutcome]]) -> str | None:
        """Which call failed as it had failed before, where the answer brought nothing new; else None.

        An answer that only repeats what succeeded, or what is to be tried later, as who waits does, is neither of use
        nor useless.
        """
        self._ever_useful = True
        counted = [(call, found, _digest(call, found)) for call, found in made if not found.limited]
        known = all(self._done[digest] for *_, digest in counted)
        self._done.update(digest for *_, digest in counted)
        if not known:
            self.useful()
            return None
        failed = [(self._done[digest], call.name) for call, found, digest in counted if found.failed]
        return "the same call of {1} failed {0} times".format(*max(failed)) if failed else None

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
        self._useless.append(how)
        if once or len(self._useless) >= (self.meter.allowance.useless or USELESS_IN_A_ROW):
            reason = _why(self._useless)
            raise Ended(how, reason if found is None else f"{reason}: {found}")
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
        again = self._failed_again([(ToolCall("", "run_python", program), found)])
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
        how: EndName = "stopped" if self._ever_useful else "no-program"
        missing = "the episodes are not over" if self.brief.sequential else "nothing was accepted by the verifier"
        told = f"The task is not answered yet: {missing}. Go on, or the rollout ends without a score."
        self.useless(how, f"{told} {HOW_TO_CALL}" if self._offering else told)
        return False

    async def _complete(
        self, model: LanguageModel, messages: Sequence[Message], offered: Sequence[Tool], sampling: Sampling
    ) -> Completion | None:
        """The model's answer; None where its endpoint cannot read the call that the model wrote."""
        left = self.meter.left
        # An answer may not take more than is left, since it is paid for before it is counted.
        most = sampling.reply_tokens if left.tokens is None else max(1, min(sampling.reply_tokens, left.tokens))
        asked = ToolModel(model, text=sampling.text_tools)
        self.waiting_since = time.monotonic()
        try:
            completion = await asked.complete(
                messages,
                tools=offered,
                max_tokens=most,
                temperature=sampling.temperature,
                seed=self.brief.seed,
            )
        except ModelRefusedError as error:
            self.waiting_since = None
            if error.reason == "bad-call":
                return None
            # What is wrong with the request is of our making, or of the endpoint's settings: no score can come of it.
            if error.reason == "no-tools":
                raise ModelUnavailableError(f"{error}; leave out --native-tools, and its calls are text") from error
            if error.reason == "bad-request":
                hint = "; where it takes no tools, --text-tools does without" if offered else ""
                raise ModelUnavailableError(
                    f"{error}; check the model's name, its limits and --reply-tokens{hint}"
                ) from error
            raise Ended("refused", str(error)) from None
        self.waiting_since = None
        return completion

    def check_limits(self) -> None:
        """Raise :class:`Ended` where a limit is reached."""
        limit = self.meter.exhausted
        if limit is not None:
            raise Ended(limit, over(limit, self.meter.allowance))

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


_USELESS: Mapping[EndName, str] = {
    "endless": "{} cut off for length",
    "silent": "{} empty",
    "bad-calls": "{} with calls of tools that do not exist, or with arguments that are none",
    "no-program": "{} without a program or a call",
    "failed": "{} not understood",
    "no-progress": "no progress in {}",
    "stopped": "{} that it was done, while nothing was answered",
}


def _why(useless: Sequence[EndName]) -> str:
    """What was of no use in answers in a row, at least one."""
    sorts = {how: useless.count(how) for how in useless}
    if len(sorts) == 1:
        answers = f"{len(useless)} answers in a row" if len(useless) > 1 else "its answer"
        return _USELESS.get(useless[0], useless[0]).format(answers)
    parts = "; ".join(_USELESS.get(how, f"{{}} {how}").format(number) for how, number in sorts.items())
    return f"{len(useless)} useless answers in a row: {parts}"


def _digest(call: ToolCall, found: ToolOutcome) -> str:
    """Digest of a call and what came of it, without addresses in memory, which differ in every process."""
    return sha256_of_text("\0".join((call.name, call.arguments, re.sub(r"0x[0-9a-f]{6,}", "0x", found.text))))


def over(limit: EndName, allowance: Allowance) -> str:
    """One clause on a limit that is reached."""
    return {
        "turns": f"its {allowance.turns} turns were used up",
        "tokens": f"its {allowance.tokens} tokens were used up",
        "cost": f"its {allowance.cost_usd} US dollars were used up",
        "wall": f"its {allowance.wall_s:g} seconds were over" if allowance.wall_s else "its time was over",
    }[limit]


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
