"""Questions about what has not happened yet: what is asked until when, what is an answer, and who knows the truth.

Nothing here is stored: the verifier's ledger records questions, forecasts and resolutions. Whatever asks a question, be
it a task's rollout, a round of a live benchmark, or a file of an earlier season, it is a :class:`Question`.
"""

from __future__ import annotations

from openfingym.questions.answer import Answer, read_answer
from openfingym.questions.provider import Provider, ProviderAnswer
from openfingym.questions.question import FORMS, Form, Measure, Question, moment_ns, utc_text

__all__ = [
    "FORMS",
    "Answer",
    "Form",
    "Measure",
    "Provider",
    "ProviderAnswer",
    "Question",
    "moment_ns",
    "read_answer",
    "utc_text",
]
