"""Questions about what has not happened yet: what is asked until when, what is an answer, and who knows the truth.

Nothing here is stored: the verifier's ledger records questions, forecasts and resolutions. Whatever asks a question, be
it a task's rollout, a round of a live benchmark, or a file of an earlier season, it is a :class:`Question`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.questions.provider import Provider, ProviderAnswer
    from openfingym.questions.question import Question, moment_ns, utc_text
    from openfingym.questions.scoring import scores

__all__ = [
    "Provider",
    "ProviderAnswer",
    "Question",
    "moment_ns",
    "scores",
    "utc_text",
]

_HOMES = {
    "Provider": "provider",
    "ProviderAnswer": "provider",
    "Question": "question",
    "moment_ns": "question",
    "scores": "scoring",
    "utc_text": "question",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
