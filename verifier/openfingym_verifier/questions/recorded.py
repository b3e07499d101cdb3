"""The provider ``recorded``: truths of a past season, kept in the ledger until the clock of its replay reaches them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json
from openfingym.errors import OpenFinGymError, UsageError
from openfingym.questions import ProviderAnswer
from openfingym.questions.provider import RECORDED
from openfingym.questions.question import REAL_CLOCK, utc_text
from openfingym.questions.scoring import check_truth

if TYPE_CHECKING:
    from openfingym.questions import Question
    from openfingym_verifier.ledger import Ledger

LONGEST_RECORD = 16 * 1024
"""Bytes of a recorded truth with its source and reference."""


def record(question: Question, document: Mapping[str, Any]) -> str:
    """A recorded truth as the ledger keeps it.

    Args:
        question: the question that it answers.
        document: ``available_ns``, from which on it was known; ``truth``, None where there was none, with a
            ``reason``; ``source``; and ``reference``, what a market showed when the question was made, None where
            nothing is known of that.

    Raises:
        UsageError: it is none.
    """
    known = {"available_ns", "truth", "reason", "source", "reference"}
    if unknown := sorted(document.keys() - known):
        raise UsageError(f"a recorded truth has no {unknown[0]!r}; expected some of {', '.join(sorted(known))}")
    available = document.get("available_ns")
    if type(available) is not int or available < question.deadline_ns:
        raise UsageError(f"the truth of {question.id} is available from its deadline on at the earliest")
    if document.get("truth") is not None:
        check_truth(question, document["truth"])
    elif not document.get("reason"):
        raise UsageError(f"{question.id} has neither a truth nor a reason why it has none")
    text = canonical_json({name: document[name] for name in sorted(document)}).decode()
    if len(text.encode()) > LONGEST_RECORD:
        raise UsageError(f"the recorded truth of {question.id} has more than {LONGEST_RECORD} bytes")
    return text


class RecordedTruths:
    """Answers from the ledger's own table. Its times are those of simulated clocks alone."""

    name = RECORDED
    simulated = False

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def check(self, question: Question) -> None:
        """Return if its clock is simulated: on the real one its truth would be known already."""
        if question.clock == REAL_CLOCK:
            raise UsageError(
                f"question {question.id}: a recorded truth needs a simulated clock; its clock is the real one"
            )

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:  # noqa: ARG002  # the protocol's
        """What was recorded of the market when the question was made."""
        found = self._records([question]).get(question.id)
        return None if found is None else found.get("reference")

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """The recorded truths of these questions, as far as they were known by then."""
        found = self._records(questions)
        return {one.id: _answer(one, found.get(one.id), now_ns) for one in questions}

    def close(self) -> None:
        """Nothing is held."""

    def _records(self, questions: Sequence[Question]) -> dict[str, dict[str, Any]]:
        query = (
            "SELECT name, recordings.content FROM recordings JOIN questions ON question = questions.id"
            " WHERE name IN (SELECT value FROM json_each(?))"
        )
        with self._ledger.read() as connection:
            rows = connection.execute(query, (json.dumps([one.id for one in questions]),))
            return {name: json.loads(content) for name, content in rows}


def _answer(question: Question, found: dict[str, Any] | None, now_ns: int) -> ProviderAnswer:
    if found is None:
        return ProviderAnswer("waiting", reason="no truth is recorded")
    if found["available_ns"] > now_ns:
        return ProviderAnswer("waiting", reason=f"known from {utc_text(found['available_ns'])} on")
    source = str(found.get("source", ""))
    if found.get("truth") is None:
        return ProviderAnswer("void", reason=str(found["reason"]), source=source)
    truth = found["truth"]
    return ProviderAnswer(
        "resolved",
        tuple(truth) if isinstance(truth, list) else float(truth),
        source=source,
        evidence={"recorded": truth},
        provider_ns=max(found["available_ns"], question.deadline_ns),
    )
