"""Suites of questions that agents answer with tools, each in a folder of its own.

A :class:`Suite` says which questions there are, what may be looked up, and how an
answer is read; it knows nothing of tasks and verifiers. :mod:`openfingym.kinds.qa` makes tasks of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.suites.breakdown import Breakdown, ShownMetric
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

__all__ = [
    "AnswerForm",
    "Breakdown",
    "Lookup",
    "Observation",
    "QuestionSet",
    "Scalar",
    "ShownMetric",
    "Suite",
    "SuiteClient",
    "SuiteQuestion",
    "SuiteTool",
    "UnreadableAnswerError",
]

_HOMES = {
    "AnswerForm": "suite",
    "Breakdown": "breakdown",
    "Lookup": "suite",
    "Observation": "suite",
    "QuestionSet": "suite",
    "Scalar": "suite",
    "ShownMetric": "breakdown",
    "Suite": "suite",
    "SuiteClient": "suite",
    "SuiteQuestion": "suite",
    "SuiteTool": "suite",
    "UnreadableAnswerError": "suite",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
