"""A question as an episode: its tools are called step by step, until it is answered or a limit is reached.

======================================  ============================================================
action                                  leads to
======================================  ============================================================
``{"tool": name, "arguments": {}}``     what the tool answers as of the question's time, or what a
                                        call should look like
``{"answer": answer}``                  the end, where the answer can be parsed; else what is
                                        expected
``{"message": text}``                   what is expected: a message that neither calls nor answers is
                                        an invalid action
``{"code": text, "tools": [name]}``     a block of code, whose calls of tools, of these alone where
                                        they are named, are part of this one action
``{"ran": true}`` or ``false``          the end of that block; one that failed was an invalid action
``{"attempt": n, "of": m}``             the first or another of several attempts at the question: limits
                                        are those of an attempt, and end it and not the question.
                                        ``before``, here and in the answer, is what the attempt that
                                        ends with it came to, for the record
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
"""Calls of tools that are part of one block of code."""
DEEPEST = 20
"""Lists and objects within each other in an action."""
MOST_TEXT = 20_000
"""Characters of an observation that are shown."""


class AnswerState(IntEnum):
    """How a question ended: the first number of its row of a submission."""

    ANSWERED = 0
    NOT_ANSWERED = 1
    """Its steps were spent, or nobody played it."""
    UNPARSED = 2
    """There were answers, and none could be parsed."""
    INVALID = 3
    """Too many calls in a row were none."""
    REPEATED = 4
    """One call was made once too often."""


class QuestionEpisode:
    """One question, as it is played; an :class:`~openfingym.task.episodes.Episode`."""

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
            question: the question.
            form: what an answer to it is.
            tools: what may be called.
            open_tools: opens the tools as of the question's time; called when they are first needed.
            steps: actions that may be taken.
            invalid: invalid actions in a row that end it.
            repeated: how often the same call may be made.
            attempts: how often it may be attempted.
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
        """Whether the attempt at hand is over, and the question is not."""
        self._taken = False
        """Whether any action was."""
        self._block: int | None = None
        """Calls that the block of code at hand has left; None outside of one."""
        self._allowed = frozenset(self._tools)
        """Tools that the block may call."""

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
        """Call a tool, or answer.

        Raises:
            SubmissionError: the action is of no form that there is; the episode is unchanged.
        """
        if _deeper(action, DEEPEST):
            # What is taken is recorded, and every reader of a record descends into it.
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
            case {"ran": bool(well), **rest} if not rest and self._block is not None:
                return self._end_block(well)
            case {"attempt": int(number), "of": int(of), **rest} if rest.keys() <= {"before"}:
                return self._begin_attempt(number, of)
        raise SubmissionError(f"expected {EXPECTED}; found {str(action)[:200]}", problem="malformed-action")

    def outcome(self) -> NDArray[np.float64]:
        """float64[1 + numbers]: how it ended, and the numbers of the answer; those are 0 where there is none."""
        return np.concatenate([[float(self._state)], self._numbers])

    def _answer(self, answer: object) -> Step:
        self._block = None
        try:
            self._numbers = self._form.read(answer)
        except UnreadableAnswerError as error:
            self._state = AnswerState.UNPARSED
            self._over = self._halted
            return self._shown(Observation(f"{error}\nExpected: {self._form.expected}", valid=False))
        self._state, self._over = AnswerState.ANSWERED, True
        return self._shown(Observation("The question is answered."))

    def _call(self, name: str, arguments: Mapping[str, object]) -> Step:
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
        offered = self._tools if self._block is None else {key: 0 for key in self._tools if key in self._allowed}
        if name not in offered:
            known = f"there are {', '.join(offered)}" if offered else "this question has none"
            return self._shown(Observation(f"There is no tool {name[:60]!r}; {known}.", valid=False))
        found = self._looked_up(name, arguments)
        return self._shown(Observation(again + found.text, found.valid, found.value))

    def _looked_up(self, name: str, arguments: Mapping[str, object]) -> Observation:
        """What a tool answers.

        Raises:
            VerifierError: there is no world to look into, or it cannot be read, which is no fault of the call.
        """
        try:
            if self._lookup is None:
                self._lookup = self._open_tools()
            return self._lookup(name, arguments)
        except (DataError, StoreError) as error:
            raise VerifierError(f"question {self._question.id}: the tools cannot look anything up: {error}") from error

    def _begin_block(self, text: str, allowed: frozenset[str]) -> Step:
        self._block = None
        count = self._repeat("code", text)
        if self._over or self._halted:
            return self._shown(Observation(f"The same code was run {count} times.", valid=False))
        shown = self._shown(Observation("Run it."), neutral=True)
        self._block, self._allowed = CALLS_IN_BLOCK, allowed
        return shown

    def _end_block(self, well: bool) -> Step:
        self._block = None
        return self._shown(Observation("It ran." if well else "It failed.", valid=well), counted=False)

    def _begin_attempt(self, number: int, of: int) -> Step:
        first = number == 1 and not self._taken
        if not (2 <= of <= self._attempts and (first or (of == self._of and 1 < number == self._attempt + 1 <= of))):
            raise SubmissionError(
                f"attempt {number} of {of} cannot follow attempt {self._attempt} of {self._of}; the first begins a "
                f"question, which has at most {self._attempts}",
                problem="malformed-action",
            )
        self._attempt, self._of, self._halted, self._block = int(number), of, False, None
        self._left, self._invalid = self._limits[0], 0
        self._calls.clear()
        return self._shown(Observation(f"Attempt {number} of {of}."), counted=False)

    def _repeat(self, *what: object) -> int:
        """How often this was done in this attempt; once too often ends the question."""
        key = canonical_json(list(what))
        self._calls[key] += 1
        if self._calls[key] > self._limits[2]:
            self._end(AnswerState.REPEATED)
        return self._calls[key]

    def _end(self, state: AnswerState) -> None:
        # Whoever tried to answer is told apart from who never did.
        if self._state is not AnswerState.UNPARSED:
            self._state = state
        self._over, self._halted = self._of == 1, self._of > 1

    def _shown(self, found: Observation, *, counted: bool = True, neutral: bool = False) -> Step:
        """What is shown; ``counted`` as an action, and where it is not ``neutral``, as a valid or invalid one."""
        self._taken = True
        text = found.text if len(found.text) <= MOST_TEXT else f"{found.text[:MOST_TEXT]}\n[cut off]"
        if self._block is None:
            self._left -= counted
            if not neutral:
                self._invalid = 0 if found.valid else self._invalid + 1
            _, invalid, _ = self._limits
            if not (self._over or self._halted) and self._invalid >= invalid:
                self._end(AnswerState.INVALID)
                what = "question" if self._over else "attempt"
                text = f"{text}\n{invalid} invalid actions in a row: the {what} is over."
            elif self._of > 1 and self._left <= 0:
                self._halted = not self._over
        return Step(
            {"text": text, "valid": found.valid, "value": found.value},
            terminated=self._over,
            truncated=not self._over and self._of == 1 and self._left <= 0,
            info={
                "id": self._question.id,
                "steps_left": max(self._left, 0),
                **({"attempt": self._attempt, "attempt_over": self._halted} if self._of > 1 else {}),
            },
        )


def _deeper(value: object, most: int) -> bool:
    """Whether lists and objects are nested deeper than this."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most <= 0 or _deeper(one, most - 1) for one in inside)
