"""A slice of the questions of a task: those of its private fold from one to another."""

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


@dataclass(frozen=True)
class QuestionRange:
    """Which of the questions that count are asked, counted from 1.

    Raises:
        UsageError: there is no such range.
    """

    first: int
    last: int
    """Asked as well."""

    def __post_init__(self) -> None:
        if self.first < 1:
            raise UsageError(f"questions are counted from 1; found {self}")
        if self.last < self.first:
            raise UsageError(f"questions {self} is backwards; the first one comes first, such as 1-10")

    def __str__(self) -> str:
        """As it is stated everywhere: ``1-10``, or ``7-7`` of one question."""
        return f"{self.first}-{self.last}"

    def __len__(self) -> int:
        """How many questions these are."""
        return self.last - self.first + 1

    @classmethod
    def parse(cls, text: str) -> Self:
        """The range that a text states: ``1-10`` with both ends, or ``7``.

        Raises:
            UsageError: it states none.
        """
        found = FORM.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"expected a range of questions, counted from 1, such as 1-10; found {text[:60]!r}")
        return cls(int(found[1]), int(found[2] or found[1]))

    def require_asking(self, contract: Contract, task: str) -> None:
        """Return if a task asks questions at all.

        Args:
            contract: the contract of the task.
            task: its name.

        Raises:
            UsageError: it asks none.
        """
        if not asks_questions(contract):
            raise UsageError(f"{task} asks no questions one by one; leave out questions {self}, of which it has none")

    def require(self, contract: Contract, task: str, count: int) -> None:
        """Return if a task has these questions.

        Args:
            contract: the contract of the task.
            task: its name.
            count: how many of its questions count.

        Raises:
            UsageError: it asks none, or not as many.
        """
        self.require_asking(contract, task)
        if self.last > count:
            raise UsageError(f"{task} has questions 1 to {count}; found {self}")


def asked_part(contract: Contract, fold: Fold, asked: QuestionRange, outcome: tuple[int, ...]) -> Fold:
    """The private fold of a task with some of its questions alone.

    Args:
        contract: the contract of the task.
        fold: the fold with all of them.
        asked: which ones are left.
        outcome: shape of what one of them came to.
    """
    count, places = fold.rows.stop - fold.rows.start, np.arange(asked.first - 1, asked.last)
    part, _ = kind_named(contract).resampled(contract, fold, np.zeros((count, *outcome)), places)
    start = fold.rows.start + asked.first - 1
    return replace(part, rows=slice(start, start + len(asked)))
