"""An agent whose model calls no tools: it answers from what it knows, step by step, or from what is retrieved."""

from __future__ import annotations

from dataclasses import dataclass, field

from openfingym.agents.llm.answering import Respondent
from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.session import Conversation
from openfingym.agents.llm.settings import Answering
from openfingym.errors import UsageError


@dataclass(frozen=True)
class Answerer:
    """Answers each question of a task in one message."""

    questions: Answering
    """How it answers: its method is ``direct``, ``zero-shot-cot`` or ``rag``."""
    sampling: Sampling = field(default_factory=Sampling)
    takes_steps = True

    async def act(self, session: Conversation) -> None:
        """See :class:`openfingym.agents.llm.ModelAgent`."""
        if session.tools.questions is None:
            raise UsageError(f"agent {self.questions.method!r} answers questions, and the task asks none")
        await Respondent(session, session.tools.questions, self.questions, self.sampling, "").answer_all()
