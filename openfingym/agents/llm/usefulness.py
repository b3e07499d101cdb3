"""Whether a model's answers lead anywhere: after a few in a row that do not, the rollout is over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from openfingym.agents.llm.ending import Ended, EndName
from openfingym.agents.llm.tools import ToolOutcome
from openfingym.digests import sha256_of_text
from openfingym.models.messages import ToolCall

USELESS_IN_A_ROW = 3
"""Answers in a row that lead nowhere, at which the conversation is ended unless the allowance says otherwise."""


class Usefulness:
    """Which answers of one rollout were of use, judged by what came of them.

    Attributes:
        ever: whether any answer called something that could be called.
    """

    def __init__(self, most: int | None) -> None:
        """Begin with no answer.

        Args:
            most: useless answers in a row at which the rollout ends; None for :data:`USELESS_IN_A_ROW`.
        """
        self.ever = False
        self._most = most or USELESS_IN_A_ROW
        self._useless: list[EndName] = []
        """Why each of the latest answers was of no use, since the last that was."""
        self._done: Counter[str] = Counter()
        """How often each call came to each result, by the digest of the two."""

    def useful(self) -> None:
        """Record that an answer was of use."""
        self._useless, self.ever = [], True

    def useless(self, how: EndName, *, once: bool = False, found: str | None = None) -> None:
        """Record that an answer was of no use.

        Args:
            how: how the rollout ends if this was once too often.
            once: whether the first useless answer is once too often.
            found: what the answer was, for the people who read why the rollout ended; None to leave it out.

        Raises:
            Ended: the model has given too many useless answers.
        """
        self._useless.append(how)
        if once or len(self._useless) >= self._most:
            reason = _why(self._useless)
            raise Ended(how, reason if found is None else f"{reason}: {found}")

    def failed_again(self, made: Sequence[tuple[ToolCall, ToolOutcome]]) -> str | None:
        """Which call failed as it had failed before, where the answer brought nothing new; else None.

        An answer that only repeats what succeeded, or what a rate limit asked to try later, is neither of use nor
        useless: it may be how an agent waits.

        Args:
            made: the calls of the answer, each with its outcome.

        Returns:
            One clause on the call that has failed most often in this way.
        """
        self.ever = True
        counted = [(call, outcome, _digest(call, outcome)) for call, outcome in made if not outcome.limited]
        # Looked up before they are counted: the calls of this answer must not make each other known.
        known = all(self._done[digest] for *_, digest in counted)
        self._done.update(digest for *_, digest in counted)
        if not known:
            self.useful()
            return None
        failed = [(self._done[digest], call.name) for call, outcome, digest in counted if outcome.failed]
        return "the same call of {1} failed {0} times".format(*max(failed)) if failed else None


_USELESS: Mapping[EndName, str] = {
    "endless": "{} cut off for length",
    "silent": "{} empty",
    "bad-calls": "{} with calls of tools that do not exist, or with arguments that cannot be read",
    "no-program": "{} without a program or a call",
    "failed": "{} not understood",
    "no-progress": "no progress in {}",
    "stopped": "{} that it was done, while nothing was answered",
}
"""The reason for people, with the place where the answers are counted."""


def _why(useless: Sequence[EndName]) -> str:
    """The reason for people why answers in a row, at least one, were of no use."""
    counts = {how: useless.count(how) for how in useless}
    if len(counts) == 1:
        answers = f"{len(useless)} answers in a row" if len(useless) > 1 else "its answer"
        return _USELESS.get(useless[0], useless[0]).format(answers)
    parts = "; ".join(_USELESS.get(how, f"{{}} {how}").format(number) for how, number in counts.items())
    return f"{len(useless)} useless answers in a row: {parts}"


def _digest(call: ToolCall, outcome: ToolOutcome) -> str:
    """Digest of a call and its result, without addresses in memory, which differ in every process."""
    return sha256_of_text("\0".join((call.name, call.arguments, re.sub(r"0x[0-9a-f]{6,}", "0x", outcome.text))))
