"""A question as an episode: its tools are called step by step, until it is answered or a limit is reached.

======================================  ============================================================
action                                  leads to
======================================  ============================================================
``{"tool": name, "arguments": {}}``     the tool's answer as of the question's time, or a description
                                        of what a call should look like
``{"answer": answer}``                  the end of the question, if the answer can be parsed; else a
                                        description of what is expected
``{"message": text}``                   a description of what is expected: a message that is neither a
                                        call nor an answer is an invalid action
``{"code": text, "tools": [name]}``     the start of a block of code; calls of tools in it (of the named
                                        ones only, if any are) belong to this one action
``{"ran": true}`` or ``false``          the end of that block; one that failed was an invalid action
``{"attempt": n, "of": m}``             the start of one of several attempts at the question. Limits then
                                        hold for an attempt, and end it instead of the question.
                                        ``before``, here and in the answer, is what the attempt that
                                        ends with it came to; it is only recorded
null                                    nothing
======================================  ============================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from openfingym.digests import canonical_json
from openfingym.errors import DataError, StoreError, SubmissionError, VerifierError
from openfingym.suites.suite import Observation, UnreadableAnswerError
from openfingym.task.episodes import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import AnswerForm, Lookup, SuiteQuestion, SuiteTool

EXPECTED = '{"tool": name, "arguments": {...}}, {"answer": ...} or null'
CALLS_IN_BLOCK = 100
"""Most calls of tools that one block of code may make."""
DEEPEST = 20
"""Most lists and objects inside one another in an action."""
MOST_TEXT = 20_000
"""Most characters of an observation that are shown; the rest is cut off."""


class AnswerState(IntEnum):
    """How a question ended: the first number of its row of a submission."""

    ANSWERED = 0
    NOT_ANSWERED = 1
    """All steps were taken without an answer, or nobody played the question."""
    UNPARSED = 2
    """Answers were given, and none could be parsed."""
    INVALID = 3
    """Too many actions in a row were invalid."""
    REPEATED = 4
    """The same call was made too often."""


class QuestionEpisode:
    """One question, as it is played; an :class:`~openfingym.task.episodes.SteppedEpisode`."""

    def __init__(
        self,
        question: SuiteQuestion,
        form: AnswerForm,
        tools: tuple[SuiteTool, ...],
        open_tools: Callable[[], Lookup],
        *,
        steps: int,
        invalid: int,
        repeated: int,
        attempts: int = 1,
    ) -> None:
        """Ask a question.

        Args:
            question: the question to ask.
            form: the form of an answer to it.
            tools: the tools that may be called.
            open_tools: opens the tools as of the question's time; called when a tool is first needed.
            steps: most actions that may be taken.
            invalid: number of invalid actions in a row that ends the question.
            repeated: how often the same call may be made.
            attempts: most attempts at the question, if it is attempted several times.
        """
        self._question = question
        self._form = form
        self._tools = {tool.name: tool for tool in tools}
        self._open_tools = open_tools
        self._lookup: Lookup | None = None
        self._limits = steps, invalid, repeated
        self._left = steps
        self._invalid = 0
        self._calls: Counter[bytes] = Counter()
        self._state = AnswerState.NOT_ANSWERED
        self._numbers = np.zeros(len(form.labels))
        self._over = False
        self._attempt, self._of, self._attempts = 1, 1, attempts
        self._halted = False
        """Whether the current attempt is over, and the question is not."""
        self._taken = False
        """Whether any action has been taken."""
        self._block: int | None = None
        """Calls that the current block of code has left; None outside of a block."""
        self._allowed = frozenset(self._tools)
        """Names of the tools that the current block may call."""

    def start(self) -> Step:
        """The question, the form of its answer, and the names of its tools."""
        question = self._question
        return Step(
            {
                "question": question.text,
                "as_of": question.as_of,
                "query": dict(question.query),
                "answer": self._form.expected,
                "tools": list(self._tools),
            },
            info={"id": question.id, "steps_left": self._left},
        )

    def step(self, action: object) -> Step:
        """Take one action; the module's table has all forms.

        Args:
            action: the action as a JSON value.

        Raises:
            SubmissionError: the action has none of these forms, or does not fit the state of the question; the episode
                is unchanged.
            VerifierError: the tools cannot look anything up, which is no fault of the agent's.
        """
        if _deeper(action, DEEPEST):
            # Actions are recorded, and whoever reads a record descends into them by recursion.
            raise SubmissionError(f"an action is nested at most {DEEPEST} deep", problem="malformed-action")
        if self._halted and not (isinstance(action, dict) and action.keys() & {"attempt", "answer"}):
            raise SubmissionError("this attempt is over; begin the next, or answer", problem="malformed-action")
        match action:
            case None:
                self._block = None
                return self._shown(Observation("Nothing was done."))
            case {"answer": answer, **rest} if not rest or (self._of > 1 and rest.keys() == {"before"}):
                return self._answer(answer)
            case {"tool": str(name), **rest} if rest.keys() <= {"arguments"}:
                arguments = rest.get("arguments", {})
                if isinstance(arguments, dict):
                    return self._call(name, arguments)
            case {"message": str(), **rest} if not rest:
                self._block = None
                expected = "call a tool" if self._tools else "answer"
                return self._shown(Observation(f"Expected: {expected}, or {self._form.expected}", valid=False))
            case {"code": str(text), **rest} if rest.keys() <= {"tools"}:
                named = rest.get("tools", list(self._tools))
                if isinstance(named, list) and all(isinstance(name, str) for name in named):
                    return self._begin_block(text, frozenset(named))
            case {"ran": bool(succeeded), **rest} if not rest and self._block is not None:
                return self._end_block(succeeded)
            case {"attempt": int(number), "of": int(total), **rest} if rest.keys() <= {"before"}:
                return self._begin_attempt(number, total)
        raise SubmissionError(f"expected {EXPECTED}; found {str(action)[:200]}", problem="malformed-action")

    def outcome(self) -> NDArray[np.float64]:
        """How the question ended, and the numbers of its answer (0 without one); float64[1 + numbers]."""
        return np.concatenate([[float(self._state)], self._numbers])

    def _answer(self, answer: object) -> Step:
        """End the question with an answer, or say what is expected."""
        self._block = None
        try:
            self._numbers = self._form.read(answer)
        except UnreadableAnswerError as error:
            self._state = AnswerState.UNPARSED
            # Between attempts an answer is the final one, for which there is no second try.
            self._over = self._halted
            return self._shown(Observation(f"{error}\nExpected: {self._form.expected}", valid=False))
        self._state, self._over = AnswerState.ANSWERED, True
        return self._shown(Observation("The question is answered."))

    def _call(self, name: str, arguments: Mapping[str, object]) -> Step:
        """Call a tool; within a block of code, the call is a part of the block's action."""
        again = ""
        if self._block is None:
            count = self._repeat(name, dict(arguments))
            if self._over or self._halted:
                return self._shown(Observation(f"The same call was made {count} times.", valid=False))
            if count > 1:
                again = f"(The same call was made before: {count} times now, at most {self._limits[2]}.)\n"
        else:
            self._block -= 1
            if self._block < 0:
                text = f"A block of code calls tools {CALLS_IN_BLOCK} times at most."
                return self._shown(Observation(text, valid=False), counted=False)
        offered = [tool for tool in self._tools if self._block is None or tool in self._allowed]
        if name not in offered:
            known = f"there are {', '.join(offered)}" if offered else "this question has none"
            return self._shown(Observation(f"There is no tool {name[:60]!r}; {known}.", valid=False))
        answer = self._looked_up(name, arguments)
        return self._shown(Observation(again + answer.text, answer.valid, answer.value))

    def _looked_up(self, name: str, arguments: Mapping[str, object]) -> Observation:
        """The answer of a tool.

        Raises:
            VerifierError: the vault of the tools is missing or cannot be read, which is no fault of the call.
        """
        try:
            if self._lookup is None:
                self._lookup = self._open_tools()
            return self._lookup(name, arguments)
        except (DataError, StoreError) as error:
            raise VerifierError(f"question {self._question.id}: the tools cannot look anything up: {error}") from error

    def _begin_block(self, text: str, allowed: frozenset[str]) -> Step:
        """Take a block of code as one action; the agent runs it, and sends its calls of tools one by one."""
        self._block = None
        count = self._repeat("code", text)
        if self._over or self._halted:
            return self._shown(Observation(f"The same code was run {count} times.", valid=False))
        # Counted here, but valid or invalid only once it has run. The block begins after that, since within one
        # nothing is counted.
        shown = self._shown(Observation("Run it."), neutral=True)
        self._block, self._allowed = CALLS_IN_BLOCK, allowed
        return shown

    def _end_block(self, succeeded: bool) -> Step:
        """Take note of whether a block of code ran to its end."""
        self._block = None
        return self._shown(Observation("It ran." if succeeded else "It failed.", valid=succeeded), counted=False)

    def _begin_attempt(self, number: int, total: int) -> Step:
        """Begin an attempt, whose limits start anew."""
        # The first before any other action, and then one after the other, of a total that stays the same.
        first = number == 1 and not self._taken
        follows = total == self._of and 1 < number == self._attempt + 1 <= total
        if not (2 <= total <= self._attempts and (first or follows)):
            raise SubmissionError(
                f"attempt {number} of {total} cannot follow attempt {self._attempt} of {self._of}; the first begins a "
                f"question, which has at most {self._attempts}",
                problem="malformed-action",
            )
        # int(), because True is an int for the pattern that has read it.
        self._attempt, self._of, self._halted, self._block = int(number), total, False, None
        self._left, self._invalid = self._limits[0], 0
        self._calls.clear()
        return self._shown(Observation(f"Attempt {number} of {total}."), counted=False)

    def _repeat(self, *what: object) -> int:
        """How often something was done in this attempt, this time included; once too often ends attempt or question."""
        # As JSON, so that calls with the same arguments in another order are the same.
        key = canonical_json(list(what))
        self._calls[key] += 1
        if self._calls[key] > self._limits[2]:
            self._end(AnswerState.REPEATED)
        return self._calls[key]

    def _end(self, state: AnswerState) -> None:
        """End the question, or the current one of several attempts, because a limit is reached."""
        # An agent that has tried to answer keeps that state, to tell it apart from one that never did.
        if self._state is not AnswerState.UNPARSED:
            self._state = state
        self._over, self._halted = self._of == 1, self._of > 1

    def _shown(self, observation: Observation, *, counted: bool = True, neutral: bool = False) -> Step:
        """Count an action, and show what it led to.

        Args:
            observation: what the action led to.
            counted: whether it takes one of the steps.
            neutral: whether it is neither valid nor invalid.
        """
        self._taken = True
        text = observation.text
        if len(text) > MOST_TEXT:
            text = f"{text[:MOST_TEXT]}\n[cut off]"
        # Calls within a block of code are part of its action, and count for nothing by themselves.
        if self._block is None:
            self._left -= counted
            if not neutral:
                self._invalid = 0 if observation.valid else self._invalid + 1
            _, invalid, _ = self._limits
            if not (self._over or self._halted) and self._invalid >= invalid:
                self._end(AnswerState.INVALID)
                what = "question" if self._over else "attempt"
                text = f"{text}\n{invalid} invalid actions in a row: the {what} is over."
            elif self._of > 1 and self._left <= 0:
                self._halted = not self._over
        return Step(
            {"text": text, "valid": observation.valid, "value": observation.value},
            terminated=self._over,
            truncated=not self._over and self._of == 1 and self._left <= 0,
            info={
                "id": self._question.id,
                "steps_left": max(self._left, 0),
                **({"attempt": self._attempt, "attempt_over": self._halted} if self._of > 1 else {}),
            },
        )


def _deeper(value: object, most: int) -> bool:
    """Whether lists and objects of a JSON value are nested more than ``most`` deep."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most <= 0 or _deeper(item, most - 1) for item in inside)
