"""Questions that only a person can decide: the operator records the outcome in the ledger, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.questions.provider import ProviderAnswer
from openfingym.questions.query import require_query

if TYPE_CHECKING:
    from openfingym.questions.question import Question


@dataclass(frozen=True)
class Manual:
    """A provider that never knows a truth: the operator's record decides."""

    name: str = "manual"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        require_query(question, optional={"url": str, "contact": str})

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:  # noqa: ARG002
        """None: there is no market."""
        return None

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer]:  # noqa: ARG002
        """For each question, that it waits for the operator."""
        waiting = ProviderAnswer("waiting", reason="waits for the operator's verdict")
        return {question.id: waiting for question in questions}

    def close(self) -> None:
        """Do nothing: there are no connections."""


def provider(secret: bytes) -> Manual:  # noqa: ARG001
    """The provider, for the registry."""
    return Manual()
