"""An adjudicator with a model in the place of rules, over evidence whose every quotation is found in its document."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec

from openfingym.suites.findeepforecast.generation.asking import (
    AsksModel,
    UnreadableReplyError,
    filled,
    prompt_text,
    typed,
)
from openfingym.suites.findeepforecast.problem import ForecastProblem
from openfingym.suites.findeepforecast.truth.adjudicating import Proposal
from openfingym.suites.findeepforecast.truth.evidence import Evidence


class AdjudicatorAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """An outcome, as a model answers it."""

    outcome: Literal["YES", "NO", "indeterminate"]
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    documents: Annotated[list[str], msgspec.Meta(max_length=24)]


class ModelAdjudicator:
    """Proposes what a model finds in the evidence. A YES without an official document is none: it becomes a NO."""

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def propose(self, problem: ForecastProblem, evidence: Evidence) -> Proposal:
        """As :class:`~openfingym.suites.findeepforecast.truth.adjudicating.Adjudicator` has it.

        An answer that cannot be read, or that names documents which are not in the evidence, is indeterminate.
        """
        known = {one.document: one for one in evidence.findings if one.document}
        prompt = filled(
            prompt_text(__package__, "adjudicate"),
            question=problem.text,
            findings="\n".join(json.dumps(msgspec.to_builtins(one), ensure_ascii=False) for one in evidence.findings),
            over="has passed" if evidence.over else "has not passed",
        )

        def made(outcome: Literal["YES", "NO", "indeterminate"], reason: str, documents: tuple[str, ...]) -> Proposal:
            return Proposal(outcome, reason, documents, self._model.name, evidence.as_of)

        try:
            answer = typed(self._model, "adjudicate", prompt, AdjudicatorAnswer)
        except UnreadableReplyError as error:
            return made("indeterminate", f"no answer could be read: {error}", ())
        documents = tuple(dict.fromkeys(answer.documents))
        if unknown := [one for one in documents if one not in known]:
            return made("indeterminate", f"it rests on {unknown[0]!r}, which is not in the evidence", ())
        if answer.outcome == "YES" and not any(known[one].official for one in documents):
            return made("NO", f"no authority confirms it; the model said YES: {answer.reason}", documents)
        if answer.outcome == "NO" and not evidence.over and not documents:
            return made("indeterminate", "its last day has not passed", ())
        return made(answer.outcome, answer.reason, documents)
