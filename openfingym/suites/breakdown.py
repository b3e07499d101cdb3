"""What a report says of a suite's tasks beyond their scores.

A suite states a breakdown; reports draw what any suite states, and know no suite by name. All of it is asked after a
rollout, about its record: the calls and answers of its agent and, for whoever holds them, the true answers.
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
"""Says what was wrong with a call, in a word, from its question, tool and arguments; None for a call that was answered.
Without a vault it looks at the arguments alone."""


@dataclass(frozen=True)
class AnsweredCall:
    """A call of a tool that was answered."""

    tool: str
    """Name of the tool."""
    arguments: str
    """Its arguments by name, as canonical JSON."""


FindFailures = Callable[["SuiteQuestion", Sequence[AnsweredCall], "Numbers", "Numbers"], tuple[str, ...] | None]
"""Says what a wrong answer looks like, in a few words each, from its question, the calls that were answered, and the
numbers of the true and of the given answer; None for a right one."""


@dataclass(frozen=True)
class ShownMetric:
    """A metric that a suite's tables show, over the numbers of all answers together."""

    metric: str
    """Name of the metric, as in ``openfingym.metrics``."""
    title: str
    """Heading of its column; tables of papers have short ones."""


@dataclass(frozen=True)
class Axis:
    """An option of tasks along which their scores are drawn, such as days ahead."""

    option: str
    """Name of the option."""
    title: str
    """Title of the axis."""


@dataclass(frozen=True, eq=False)
class Breakdown:
    """What a suite tells its answers and calls apart by; a part is empty where the suite has nothing of the kind."""

    figures: tuple[ShownMetric, ...] = ()
    """Metrics that tables show, in the order of their columns."""
    score: Callable[[Numbers, Numbers], Numbers] | None = None
    """Scores each question: float64[questions] from 0 to 1, from the true and the given answers, float64[questions,
    numbers] each. The mean is the score of the questions, and an answer with more than 0 is called correct."""
    score_title: str = "score"
    """What the score is called in tables."""
    classes: Callable[[Numbers, Numbers], Mapping[str, Numbers]] | None = None
    """The same score within each class of answers, by name of the class; NaN for a question that has none of it."""
    classes_title: str = "class"
    """What a class is called in tables."""
    voted: Callable[[Numbers], Numbers] | None = None
    """One answer to each question, float64[questions, numbers], from several, float64[samples, questions, numbers]."""
    axis: Axis | None = None
    """Option of tasks along which scores are drawn; None for none."""
    tool_groups: Mapping[str, str] | None = None
    """Groups by which calls of tools are counted, by name of the tool."""
    fault: FindFault | None = None
    """Says what was wrong with a call."""
    day: Callable[[SuiteQuestion], date] | None = None
    """The day that a question is about, which a model may have read about if it was trained later."""
    tiers: tuple[str, ...] = ()
    """Tags of questions that are columns where agents with and without tools are compared."""
    failures: FindFailures | None = None
    """Says what a wrong answer looks like."""
    failures_note: str = ""
    """Note below the table of failures: how they are decided."""
