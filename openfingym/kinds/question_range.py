"""A slice of the questions of a task: some consecutive ones of those that count."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from openfingym.errors import UsageError
from openfingym.kinds import asks_questions, kind_named

if TYPE_CHECKING:
    from openfingym.kinds.material import Fold
    from openfingym.task.contracts import Contract

FORM = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
"""A range as text: ``1-10`` or ``7``."""


@dataclass(frozen=True)
class QuestionRange:
    """Which of the questions that count are asked, counted from 1.

    Raises:
        UsageError: the range begins below 1, or ends before it begins.
    """

    first: int
    """Number of the first question."""
    last: int
    """Number of the last question, which is asked as well."""

    def __post_init__(self) -> None:
        if self.first < 1:
            raise UsageError(f"questions are counted from 1; found {self}")
        if self.last < self.first:
            raise UsageError(f"questions {self} is backwards; the first one comes first, such as 1-10")

    def __str__(self) -> str:
        """The range in the only form in which it is written: ``1-10``, or ``7-7`` for a single question."""
        return f"{self.first}-{self.last}"

    def __len__(self) -> int:
        """Number of the questions."""
        return self.last - self.first + 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """The range that a text states: ``1-10`` with both ends, or ``7``.

        Raises:
            UsageError: the text states no range.
        """
        match = FORM.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"expected a range of questions, counted from 1, such as 1-10; found {text[:60]!r}")
        return cls(int(match[1]), int(match[2] or match[1]))

    def require_asking(self, contract: Contract, task: str) -> None:
        """Check that a task asks questions at all.

        Args:
            contract: the contract of the task.
            task: name of the task, for the message.

        Raises:
            UsageError: the task asks no questions.
        """
        if not asks_questions(contract):
            raise UsageError(f"{task} asks no questions one by one; leave out questions {self}, of which it has none")

    def require(self, contract: Contract, task: str, count: int) -> None:
        """Check that a task has these questions.

        Args:
            contract: the contract of the task.
            task: name of the task, for the message.
            count: number of the task's questions that count.

        Raises:
            UsageError: the task asks no questions, or not as many.
        """
        self.require_asking(contract, task)
        if self.last > count:
            raise UsageError(f"{task} has questions 1 to {count}; found {self}")


def asked_part(contract: Contract, fold: Fold, asked: QuestionRange, outcome: tuple[int, ...]) -> Fold:
    """The private fold of a task, restricted to some of its questions.

    Args:
        contract: the contract of the task.
        fold: the private fold with all questions.
        asked: the questions that are asked.
        outcome: shape of the outcome of one question.
    """
    count, places = fold.rows.stop - fold.rows.start, np.arange(asked.first - 1, asked.last)
    # A resample that takes each of these questions once; only its fold is of interest, so that zeros do for answers.
    part, _ = kind_named(contract).resampled(contract, fold, np.zeros((count, *outcome)), places)
    start = fold.rows.start + asked.first - 1
    return replace(part, rows=slice(start, start + len(asked)))
