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
"""Answers that lead nowhere before the conversation is ended, unless the allowance says otherwise."""


class Usefulness:
    """What the answers of one rollout were worth, by what came of them.

    Attributes:
        ever: whether any of them called something that could be called.
    """

    def __init__(self, most: int | None) -> None:
        """End the rollout at so many useless answers in a row; None for :data:`USELESS_IN_A_ROW`."""
        self.ever = False
        self._most = most or USELESS_IN_A_ROW
        self._useless: list[EndName] = []
        """What was of no use in the latest answers, since one was of use."""
        self._done: Counter[str] = Counter()
        """How often each call was made with the same result, by its digest."""

    def useful(self) -> None:
        """Record that an answer was of use."""
        self._useless, self.ever = [], True

    def useless(self, how: EndName, *, once: bool = False, found: str | None = None) -> None:
        """Record that an answer was of no use.

        Args:
            how: how the rollout ends if this was once too often.
            once: whether the first time is once too often.
            found: what the answer was, for the people who read why the rollout ended.

        Raises:
            Ended: the model has given too many useless answers.
        """
        self._useless.append(how)
        if once or len(self._useless) >= self._most:
            reason = _why(self._useless)
            raise Ended(how, reason if found is None else f"{reason}: {found}")

    def failed_again(self, made: Sequence[tuple[ToolCall, ToolOutcome]]) -> str | None:
        """Which call failed as it had failed before, where the answer brought nothing new; else None.

        An answer that only repeats what succeeded, or what is to be tried later, as who waits does, is neither of use
        nor useless.
        """
        self.ever = True
        counted = [(call, found, _digest(call, found)) for call, found in made if not found.limited]
        known = all(self._done[digest] for *_, digest in counted)
        self._done.update(digest for *_, digest in counted)
        if not known:
            self.useful()
            return None
        failed = [(self._done[digest], call.name) for call, found, digest in counted if found.failed]
        return "the same call of {1} failed {0} times".format(*max(failed)) if failed else None


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
