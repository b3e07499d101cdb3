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
    from openfingym_verifier.ledger.ledger import Ledger

LONGEST_RECORD = 16 * 1024
"""Largest number of bytes of a recorded truth, with its source and reference."""


def record(question: Question, document: Mapping[str, Any]) -> str:
    """A recorded truth as the ledger keeps it.

    Args:
        question: the question that the truth answers.
        document: ``available_ns``, from which on the truth was known; ``truth``, None where there was none, with a
            ``reason``; ``source``; and ``reference``, what a market showed when the question was made, None where
            nothing is known of that.

    Raises:
        DataError: the truth is not of the question's form.
        UsageError: the document is no recorded truth of the question.
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
        """Return if a question's clock is simulated: on the real one the truth would be known already.

        Raises:
            UsageError: the question has the real clock.
        """
        if question.clock == REAL_CLOCK:
            raise UsageError(
                f"question {question.id}: a recorded truth needs a simulated clock; its clock is the real one"
            )

    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """What was recorded of the market when the question was made; None where nothing was."""
        return self.references([question], now_ns)[question.id]

    def references(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002  # the protocol's
    ) -> dict[str, Mapping[str, Any] | None]:
        """What was recorded of the markets of these questions."""
        records = self._records(questions)
        return {question.id: records.get(question.id, {}).get("reference") for question in questions}

    def answers(self, questions: Sequence[Question], now_ns: int) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """The recorded truths of these questions, as far as they were known at a time."""
        records = self._records(questions)
        return {question.id: _answer(question, records.get(question.id), now_ns) for question in questions}

    def close(self) -> None:
        """Do nothing: there is no connection to close."""

    def _records(self, questions: Sequence[Question]) -> dict[str, dict[str, Any]]:
        query = (
            "SELECT name, recordings.content FROM recordings JOIN questions ON question = questions.id"
            " WHERE name IN (SELECT value FROM json_each(?))"
        )
        with self._ledger.read() as connection:
            rows = connection.execute(query, (json.dumps([one.id for one in questions]),))
            return {name: json.loads(content) for name, content in rows}


def _answer(question: Question, record: dict[str, Any] | None, now_ns: int) -> ProviderAnswer:
    """What a record says of a question by a time on its clock."""
    if record is None:
        return ProviderAnswer("waiting", reason="no truth is recorded")
    if record["available_ns"] > now_ns:
        return ProviderAnswer("waiting", reason=f"known from {utc_text(record['available_ns'])} on")
    source = str(record.get("source", ""))
    if record.get("truth") is None:
        return ProviderAnswer("void", reason=str(record["reason"]), source=source)
    truth = record["truth"]
    return ProviderAnswer(
        "resolved",
        tuple(truth) if isinstance(truth, list) else float(truth),
        source=source,
        evidence={"recorded": truth},
        # Never before the deadline: forecasts from that time on are left out, as made with the truth known.
        provider_ns=max(record["available_ns"], question.deadline_ns),
    )
