"""Suites of questions that agents answer with tools, and the worlds that they ask about.

A :class:`Suite` says which questions there are, what may be looked up, and how an
answer is read; it knows nothing of tasks and verifiers. :mod:`openfingym.kinds.qa` makes tasks of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.suites.breakdown import Breakdown, ShownMetric
    from openfingym.suites.example import Example
    from openfingym.suites.suite import (
        AnswerForm,
        Lookup,
        Observation,
        QuestionSet,
        Scalar,
        Suite,
        SuiteClient,
        SuiteQuestion,
        SuiteTool,
        UnreadableAnswerError,
    )
    from openfingym.suites.world import Pulled, PullOrder, World

__all__ = [
    "AnswerForm",
    "Breakdown",
    "Example",
    "Lookup",
    "Observation",
    "PullOrder",
    "Pulled",
    "QuestionSet",
    "Scalar",
    "ShownMetric",
    "Suite",
    "SuiteClient",
    "SuiteQuestion",
    "SuiteTool",
    "UnreadableAnswerError",
    "World",
]

_HOMES = {
    "AnswerForm": "suite",
    "Breakdown": "breakdown",
    "Example": "example",
    "Lookup": "suite",
    "Observation": "suite",
    "PullOrder": "world",
    "Pulled": "world",
    "QuestionSet": "suite",
    "Scalar": "suite",
    "ShownMetric": "breakdown",
    "Suite": "suite",
    "SuiteClient": "suite",
    "SuiteQuestion": "suite",
    "SuiteTool": "suite",
    "UnreadableAnswerError": "suite",
    "World": "world",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
