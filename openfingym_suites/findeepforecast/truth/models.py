"""An adjudicator with a model in place of rules, over evidence whose every quotation is from its document."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec

from openfingym_suites.findeepforecast.model_asking import (
    AsksModel,
    UnreadableReplyError,
    filled,
    prompt_text,
    typed,
)
from openfingym_suites.findeepforecast.problem import ForecastProblem
from openfingym_suites.findeepforecast.truth.adjudicating import Outcome, Proposal
from openfingym_suites.findeepforecast.truth.evidence import Evidence


class AdjudicatorAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """An outcome, as a model answers it."""

    outcome: Outcome
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    documents: Annotated[list[str], msgspec.Meta(max_length=24)]


class ModelAdjudicator:
    """Proposes what a model reads in the evidence. Its YES needs an official document, or becomes a NO.

    Args:
        model: the model to ask.
    """

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:
        """See :class:`~openfingym_suites.findeepforecast.truth.adjudicating.Adjudicator`.

        An answer that cannot be read, or that names documents which are not in the evidence, is indeterminate.
        """
        known = {item.document: item for item in evidence.findings if item.document}
        prompt = filled(
            prompt_text(__package__, "adjudicate"),
            question=problem.text,
            findings="\n".join(json.dumps(msgspec.to_builtins(item), ensure_ascii=False) for item in evidence.findings),
            over="has passed" if evidence.over else "has not passed",
        )

        def proposal(outcome: Outcome, reason: str, documents: tuple[str, ...] = ()) -> Proposal:
            return Proposal(outcome, reason, documents, self._model.name, evidence.as_of)

        try:
            answer = typed(self._model, "adjudicate", prompt, AdjudicatorAnswer)
        except UnreadableReplyError as error:
            return proposal("indeterminate", f"no answer could be read: {error}")
        documents = tuple(dict.fromkeys(answer.documents))
        # What the model says is checked against the evidence, which may hold anybody's words.
        if unknown := [document for document in documents if document not in known]:
            return proposal("indeterminate", f"it rests on {unknown[0]!r}, which is not in the evidence")
        if answer.outcome == "YES" and not any(known[document].official for document in documents):
            return proposal("NO", f"no authority confirms it; the model said YES: {answer.reason}", documents)
        if answer.outcome == "NO" and not evidence.over and not documents:
            return proposal("indeterminate", "its last day has not passed")
        return proposal(answer.outcome, answer.reason, documents)
