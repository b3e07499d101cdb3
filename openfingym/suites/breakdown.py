"""What a report says of a suite's tasks beyond their scores.

A suite states what it has; reports draw what any suite states, and know none by name. Everything here is asked after a
rollout, of its record: what its agent called and answered, and, by whoever holds them, the true answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion
    from openfingym.vault import Vault

    Numbers = NDArray[np.float64]

FindFault = Callable[["SuiteQuestion", str, Mapping[str, object], "Vault | None"], str | None]
"""What was wrong with a call, in a word, from its question, tool and arguments; None for a call that was answered.
Without a vault it is told of the arguments alone."""


@dataclass(frozen=True)
class AnsweredCall:
    """A call of a tool that was answered."""

    tool: str
    arguments: str
    """As canonical JSON."""


FindFailures = Callable[["SuiteQuestion", Sequence[AnsweredCall], "Numbers", "Numbers"], tuple[str, ...] | None]
"""What a wrong answer looks like, in a few words each, from its question, the calls that were answered, and the true
and the given numbers; None for a right one."""


@dataclass(frozen=True)
class ShownMetric:
    """A metric of the bank, as tables of a suite have it: of the numbers of all answers together."""

    metric: str
    title: str
    """Heading of its column; tables of papers have short ones."""


@dataclass(frozen=True)
class Axis:
    """An option of tasks by which their scores are drawn, such as days ahead."""

    option: str
    title: str


@dataclass(frozen=True, eq=False)
class Breakdown:
    """What a suite's answers and calls are told apart by; nothing where it has no such thing."""

    figures: tuple[ShownMetric, ...] = ()
    score: Callable[[Numbers, Numbers], Numbers] | None = None
    """float64[questions] from 0 to 1 of float64[questions, numbers] of true and of given answers: a score of one
    question, whose mean is that of the questions. An answer is called correct if it has more than 0."""
    score_title: str = "score"
    classes: Callable[[Numbers, Numbers], Mapping[str, Numbers]] | None = None
    """The same score within each class of answers by its name; NaN for a question that has none of a class."""
    classes_title: str = "class"
    voted: Callable[[Numbers], Numbers] | None = None
    """One answer to each question, float64[questions, numbers], from several, [samples, questions, numbers]."""
    axis: Axis | None = None
    tool_groups: Mapping[str, str] | None = None
    """Groups of tools by name of the tool."""
    fault: FindFault | None = None
    day: Callable[[SuiteQuestion], date] | None = None
    """The day that a question is about, which a model may have read of if it was trained later."""
    tiers: tuple[str, ...] = ()
    """Tags of questions that are columns where agents with and without tools are compared."""
    failures: FindFailures | None = None
    failures_note: str = ""
    """How failures are told, below their table."""
