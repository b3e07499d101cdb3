"""The three stages of generation by a model in place of rules; what it writes is reviewed by the same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

import msgspec

from openfingym.errors import BudgetSpentError
from openfingym_suites.findeepforecast.generation.relevance import Assessment
from openfingym_suites.findeepforecast.generation.signals import Detected, Signal, stories
from openfingym_suites.findeepforecast.generation.writing import ProposedQuestion
from openfingym_suites.findeepforecast.model_asking import (
    AsksModel,
    UnreadableReplyError,
    filled,
    prompt_text,
    shown,
    typed,
)
from openfingym_suites.findeepforecast.problem import ECONOMIES, Level
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import Company, Document, KnownWorld

Text = Annotated[str, msgspec.Meta(max_length=500)]
Short = Annotated[str, msgspec.Meta(max_length=120)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Condition = Literal["happens", "at_least", "at_most", "detail"]
RECENT = timedelta(days=7)
"""How far back signals are looked for; earlier news of a story is read once it is a signal."""
BATCH = 40
"""The most documents in a prompt."""
MOST_DOCUMENTS = 400
"""The most documents in which signals are looked for in a week."""


class SignalAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A candidate for a signal, as a model answers it."""

    documents: Annotated[list[Short], msgspec.Meta(min_length=1, max_length=BATCH)]
    kind: Short
    phrase: Text
    binary: bool
    uncertain: bool
    routine: bool


class SignalsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """The candidates of a batch of documents, as a model answers them."""

    candidates: Annotated[list[SignalAnswer], msgspec.Meta(max_length=BATCH)]


class AssessmentAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What is open about a signal, as a model answers it."""

    due: date | None
    condition: Condition
    threshold: float
    detail: Text
    unknowns: Annotated[list[Text], msgspec.Meta(max_length=20)]
    conflicts: Annotated[list[Text], msgspec.Meta(max_length=20)]
    delay: bool
    leaning: Share
    uncertainty: Share


class QuestionAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A question, as a model answers it; an empty one if nothing can be asked."""

    question: Text
    authority: Text
    condition: Condition
    threshold: float
    detail: Text
    by: date | None


class ModelSignals:
    """Signal detection by a model, over the news of the last days in batches.

    Args:
        model: the model to ask.
        most: the most documents of a week that it is shown.
    """

    def __init__(self, model: AsksModel, *, most: int = MOST_DOCUMENTS) -> None:
        self._model, self._most = model, most

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """See :class:`~openfingym_suites.findeepforecast.generation.signals.SignalDetector`."""
        refused: Counter[str] = Counter()
        companies = {company.symbol: company for company in world.companies()}
        news = world.news(begin, end)
        of_story = stories(news)
        # Of more documents than it may be shown, the latest.
        recent = [document for document in news if document.at >= end - RECENT][-self._most :]
        signals: dict[str, Signal] = {}
        for start in range(0, len(recent), BATCH):
            batch = recent[start : start + BATCH]
            try:
                answer = typed(self._model, "signals", _signals_prompt(batch), SignalsAnswer)
            # What was found so far is used; the rest is counted, so that the week says what it lacks and why.
            except BudgetSpentError:
                refused["budget"] += len(recent) - start
                break
            except UnreadableReplyError:
                refused["unreadable answer"] += 1
                continue
            for candidate in answer.candidates:
                why, signal = _candidate(candidate, batch, of_story, companies)
                if signal is None:
                    refused[why] += 1
                else:
                    # A story may come up in several batches; it is one signal, of all its documents.
                    signals.setdefault(signal.story, signal)
        return Detected(tuple(signals[name] for name in sorted(signals)), dict(sorted(refused.items())))


def _signals_prompt(batch: Sequence[Document]) -> str:
    types = read_taxonomy()
    macro = "\n".join(f"{event.code}: {event.name}" for event in types.macro_events.values())
    corporate = "\n".join(f"{event.number}: {event.name}" for event in types.corporate_events.values())
    return filled(prompt_text(__package__, "signals"), macro=macro, corporate=corporate, documents=shown(batch))


def _candidate(
    answer: SignalAnswer,
    batch: Sequence[Document],
    of_story: Mapping[str, list[Document]],
    companies: Mapping[str, Company],
) -> tuple[str, Signal | None]:
    """The signal of a candidate, or the reason why it is none: what a model says is checked against what it was shown.

    Args:
        answer: the candidate, as the model answered it.
        batch: the documents that the model was shown.
        of_story: the documents of each story, of the whole look-back.
        companies: the companies of the world, by symbol.
    """
    by_id = {document.id: document for document in batch}
    if any(document not in by_id for document in answer.documents):
        return "nonsense", None
    if answer.routine:
        return "routine", None
    if not (answer.binary and answer.uncertain):
        return "no uncertainty", None
    # The subject is the document's and not the model's word.
    first = by_id[answer.documents[0]]
    subject = first.subject
    company = companies.get(subject)
    market = company.economy if company else subject
    level: Level = "corporate" if company else "macro"
    types = read_taxonomy()
    kinds = types.macro_events if level == "macro" else {str(number) for number in types.corporate_events}
    if market not in ECONOMIES or answer.kind not in kinds:
        return "taxonomy", None
    stories_with_it = (
        story for story, documents in of_story.items() if any(document.id == first.id for document in documents)
    )
    name = next(stories_with_it, first.id)
    documents = tuple(of_story.get(name, (first,)))
    return "", Signal(name, subject, market, level, answer.kind, answer.phrase, documents)


class ModelRelevance:
    """Relevance by a model, from what is reported about a signal.

    Args:
        model: the model to ask.
    """

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def assess(self, signal: Signal) -> Assessment | None:
        """See :class:`~openfingym_suites.findeepforecast.generation.relevance.RelevanceAssessor`."""
        prompt = filled(
            prompt_text(__package__, "relevance"),
            phrase=signal.phrase,
            subject=signal.subject,
            documents=shown(signal.documents[-BATCH:]),
        )
        try:
            answer = typed(self._model, "relevance", prompt, AssessmentAnswer)
        except UnreadableReplyError:
            return None
        return Assessment(
            due=answer.due,
            condition=answer.condition,
            threshold=answer.threshold,
            detail=answer.detail,
            unknowns=tuple(answer.unknowns),
            conflicts=tuple(answer.conflicts),
            delay=answer.delay,
            leaning=answer.leaning,
            uncertainty=answer.uncertainty,
        )


class ModelQuestions:
    """Questions by a model, which is not shown which way the news leans, so that no question can tell it.

    Args:
        model: the model to ask.
    """

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """See :class:`~openfingym_suites.findeepforecast.generation.writing.QuestionWriter`."""
        company = companies.get(signal.subject)
        prompt = filled(
            prompt_text(__package__, "question"),
            phrase=signal.phrase,
            subject=f"{company.name} ({company.symbol})" if company else signal.subject,
            due=str(assessment.due),
            condition=assessment.condition,
            threshold=f"{assessment.threshold:g}",
            detail=assessment.detail,
            unknowns="\n".join(f"- {unknown}" for unknown in assessment.unknowns),
        )
        try:
            answer = typed(self._model, "question", prompt, QuestionAnswer)
        except UnreadableReplyError:
            return None
        if not answer.question.strip():
            return None
        return ProposedQuestion(
            text=" ".join(answer.question.split()),
            signal=signal,
            kind=signal.kind,
            condition=answer.condition,
            threshold=answer.threshold,
            detail=answer.detail,
            by=answer.by,
            authority=answer.authority.strip(),
            leaning=assessment.leaning,
            uncertainty=assessment.uncertainty,
        )
