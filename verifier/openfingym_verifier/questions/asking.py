"""Asking providers for the truths of questions, and checking what they answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.digests import canonical_json
from openfingym.errors import DataError, OpenFinGymError
from openfingym.questions import ProviderAnswer, Question
from openfingym.questions.scoring import check_truth
from openfingym_verifier.questions.resolution_events import Resolution
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym_verifier.questions.providers import Providers

PROVIDER_S = 300.0
"""Seconds that a provider may take for one batch."""
AHEAD_NS = 300_000_000_000
"""Nanoseconds that a provider's clock may be ahead of the question's: five minutes."""
LONGEST_EVIDENCE = 16 * 1024
"""Largest number of bytes of what a provider answered that are kept."""
LONGEST_REASON = 500
"""Longest reason why a question has no truth, in characters."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DueQuestion:
    """A question whose provider is to be asked."""

    row: int
    """Id of the question's row in the ledger."""
    question: Question
    state: str
    """State of the question before it is asked about."""
    attempts: int
    """How often its provider was asked without a truth."""
    restated: bool = False
    """Whether the provider says which print of a figure the truth is, so that there may be a later one."""


DueAnswer = tuple[DueQuestion, ProviderAnswer | OpenFinGymError]


async def ask(
    providers: Providers, threads: Executor, name: str, due: Sequence[DueQuestion], now_ns: int
) -> list[DueAnswer]:
    """What a provider says of questions: of each an answer, or the error that it could not be asked or that its answer
    cannot be true.

    Args:
        providers: the providers by name.
        threads: where the provider is asked.
        name: name of the provider.
        due: the questions to ask about.
        now_ns: time on the clock of the questions, in nanoseconds.
    """

    def ask_provider() -> object:
        return providers.get(name).answers([one.question for one in due], now_ns)

    try:
        async with asyncio.timeout(PROVIDER_S):
            answers = await in_threads(threads, ask_provider)
    except TimeoutError:
        failure = DataError(f"the provider {name} did not answer within {PROVIDER_S:g} s")
        return [(one, failure) for one in due]
    except Exception as error:  # a provider is code that anybody may have written
        if not isinstance(error, OpenFinGymError):
            logger.exception("the provider %s failed", name)
        failure = DataError(f"the provider {name} cannot be asked: {str(error) or type(error).__name__}")
        return [(one, failure) for one in due]
    if not isinstance(answers, Mapping):
        failure = DataError(
            f"the provider {name} answered with {type(answers).__name__}, expected an answer a question"
        )
        return [(one, failure) for one in due]
    return [(one, _checked(one.question, answers.get(one.question.id), now_ns)) for one in due]


def _checked(question: Question, answer: object, now_ns: int) -> ProviderAnswer | OpenFinGymError:
    """An answer that can be written, or an error in its place, so that one never keeps others from being written."""
    if answer is None:
        return DataError(f"the provider {question.provider} said nothing of it")
    if isinstance(answer, OpenFinGymError):
        return answer
    try:
        if not isinstance(answer, ProviderAnswer):
            raise DataError(f"it is {type(answer).__name__}, expected a ProviderAnswer")
        if answer.status not in {"resolved", "waiting", "void"}:
            raise DataError(f"its status is {str(answer.status)[:40]!r}, which means nothing")
        for print_ in (answer, *(answer.later if answer.status == "resolved" else ())):
            if answer.status == "resolved":
                check_truth(question, print_.truth)
            _require_plain(print_, now_ns)
    except Exception as error:  # whatever a provider that anybody may have written put in there
        said = str(error) or type(error).__name__
        return DataError(f"the provider {question.provider} said what is no truth: {said}")
    return answer


def _require_plain(answer: ProviderAnswer, now_ns: int) -> None:
    """Return if the fields of an answer are of their types, not from the future, and not too long.

    Raises:
        DataError: a field is none of these.
        ValueError: the evidence is not JSON.
    """
    for name in ("reason", "source", "vintage"):
        if not isinstance(getattr(answer, name), str):
            raise DataError(f"its {name} is {type(getattr(answer, name)).__name__}, expected a text")
    known_ns = answer.provider_ns
    # The exact type, since a boolean is an int by inheritance.
    if known_ns is not None and (type(known_ns) is not int or known_ns < 0):
        raise DataError(f"it was decided at {str(known_ns)[:40]}, expected nanoseconds since 1970")
    if known_ns is not None and known_ns > now_ns + AHEAD_NS:
        raise DataError("it was decided in the future")
    evidence_text(answer.evidence)


def plain(text: str, most: int) -> str:
    """The beginning of a stranger's text as a database can hold it: halves of characters are escaped."""
    return text[:most].encode(errors="backslashreplace").decode()


def resolution(
    kind: Literal["resolved", "void", "vintage", "correction"], answer: ProviderAnswer, fetched_ns: int
) -> Resolution:
    """What is written of a provider's answer.

    Args:
        kind: what it is to the question: the first truth, none, a later print, or another truth.
        answer: the answer, checked.
        fetched_ns: Unix time in nanoseconds at which it was got, by the verifier's own clock.
    """
    truth = answer.truth if answer.status == "resolved" else None
    return Resolution(
        kind=kind,
        truth=None
        if truth is None
        else canonical_json(list(truth) if isinstance(truth, tuple | list) else truth).decode(),
        value=float(truth) if isinstance(truth, int | float) else None,
        source=plain(answer.source, 2000),
        evidence=evidence_text(answer.evidence),
        vintage=plain(answer.vintage, 200),
        provider_ns=answer.provider_ns,
        fetched_ns=fetched_ns,
    )


def evidence_text(evidence: Mapping[str, object]) -> str:
    """Evidence as canonical JSON.

    Raises:
        DataError: the evidence is too long.
        ValueError: the evidence is not JSON.
    """
    text = canonical_json(dict(evidence)).decode()
    if len(text.encode()) > LONGEST_EVIDENCE:
        raise DataError(f"its evidence has {len(text)} characters, expected at most {LONGEST_EVIDENCE}")
    return text
