"""A question as an episode: its tools are called step by step, until it is answered or a limit is reached.

====================================  ==========================================================
action                                leads to
====================================  ==========================================================
``{"tool": name, "arguments": {}}``   what the tool answers as of the question's time, or what a
                                      call should look like
``{"answer": answer}``                the end, where the answer can be parsed; else what is
                                      expected
null                                  nothing
====================================  ==========================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from openfingym.digests import canonical_json
from openfingym.errors import SubmissionError
from openfingym.suites.suite import Observation, UnreadableAnswerError
from openfingym.task.episodes import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import AnswerForm, Lookup, SuiteQuestion, SuiteTool

EXPECTED = '{"tool": name, "arguments": {...}}, {"answer": ...} or null'
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
        if action is None:
            return self._shown(Observation("Nothing was done."))
        if _deeper(action, DEEPEST):
            # What is taken is recorded, and every reader of a record descends into it.
            raise SubmissionError(f"an action is nested at most {DEEPEST} deep", problem="malformed-action")
        if isinstance(action, dict) and action.keys() == {"answer"}:
            return self._answer(action["answer"])
        if (
            isinstance(action, dict)
            and action.keys() <= {"tool", "arguments"}
            and isinstance(action.get("tool"), str)
            and isinstance(action.get("arguments", {}), dict)
        ):
            return self._call(action["tool"], action.get("arguments", {}))
        raise SubmissionError(f"expected {EXPECTED}; found {str(action)[:200]}", problem="malformed-action")

    def outcome(self) -> NDArray[np.float64]:
        """float64[1 + numbers]: how it ended, and the numbers of the answer; those are 0 where there is none."""
        return np.concatenate([[float(self._state)], self._numbers])

    def _answer(self, answer: object) -> Step:
        try:
            self._numbers = self._form.read(answer)
        except UnreadableAnswerError as error:
            self._state = AnswerState.UNPARSED
            return self._shown(Observation(f"{error}\nExpected: {self._form.expected}", valid=False))
        self._state, self._over = AnswerState.ANSWERED, True
        return self._shown(Observation("The question is answered."))

    def _call(self, name: str, arguments: Mapping[str, object]) -> Step:
        key = canonical_json([name, dict(arguments)])
        self._calls[key] += 1
        _, _, repeated = self._limits
        if self._calls[key] > repeated:
            self._end(AnswerState.REPEATED)
            return self._shown(Observation(f"The same call was made {self._calls[key]} times.", valid=False))
        if name not in self._tools:
            offered = f"there are {', '.join(self._tools)}" if self._tools else "this question has none"
            return self._shown(Observation(f"There is no tool {name[:60]!r}; {offered}.", valid=False))
        if self._lookup is None:
            self._lookup = self._open_tools()
        found = self._lookup(name, arguments)
        note = f"(The same call was made before: {self._calls[key]} times now, at most {repeated}.)\n"
        again = note if self._calls[key] > 1 else ""
        return self._shown(Observation(again + found.text, found.valid, found.value))

    def _end(self, state: AnswerState) -> None:
        # Whoever tried to answer is told apart from who never did.
        if self._state is not AnswerState.UNPARSED:
            self._state = state
        self._over = True

    def _shown(self, found: Observation) -> Step:
        self._left -= 1
        self._invalid = 0 if found.valid else self._invalid + 1
        _, invalid, _ = self._limits
        text = found.text if len(found.text) <= MOST_TEXT else f"{found.text[:MOST_TEXT]}\n[cut off]"
        if not self._over and self._invalid >= invalid:
            self._end(AnswerState.INVALID)
            text = f"{text}\n{invalid} invalid actions in a row: the question is over."
        return Step(
            {"text": text, "valid": found.valid, "value": found.value},
            terminated=self._over,
            truncated=not self._over and self._left == 0,
            info={"id": self._question.id, "steps_left": self._left},
        )


def _deeper(value: object, most: int) -> bool:
    """Whether lists and objects are nested deeper than this."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most <= 0 or _deeper(one, most - 1) for one in inside)
