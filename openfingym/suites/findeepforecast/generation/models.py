"""The three stages of generation with a model in the place of rules. What it writes is reviewed by the same rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

import msgspec

from openfingym.errors import BudgetSpentError
from openfingym.suites.findeepforecast.generation.asking import (
    AsksModel,
    UnreadableReplyError,
    filled,
    prompt_text,
    shown,
    typed,
)
from openfingym.suites.findeepforecast.generation.relevance import Assessment
from openfingym.suites.findeepforecast.generation.signals import Detected, Signal, stories
from openfingym.suites.findeepforecast.generation.writing import ProposedQuestion
from openfingym.suites.findeepforecast.problem import ECONOMIES, Level
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.known import Company, Document, KnownWorld

Text = Annotated[str, msgspec.Meta(max_length=500)]
Short = Annotated[str, msgspec.Meta(max_length=120)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Condition = Literal["happens", "at_least", "at_most", "detail"]
RECENT = timedelta(days=7)
"""How far back signals are looked for; what came before is read once there is one."""
BATCH = 40
"""Documents in a prompt."""
MOST_DOCUMENTS = 400
"""Documents in which signals are looked for in a week."""


class SignalAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A candidate, as a model answers it."""

    documents: Annotated[list[Short], msgspec.Meta(min_length=1, max_length=BATCH)]
    kind: Short
    phrase: Text
    binary: bool
    uncertain: bool
    routine: bool


class SignalsAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """Candidates of a batch."""

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
    """A question, as a model answers it; an empty one where nothing can be asked."""

    question: Text
    authority: Text
    condition: Condition
    threshold: float
    detail: Text
    by: date | None


class ModelSignals:
    """Signal detection by a model, over the news of the last days in batches."""

    def __init__(self, model: AsksModel, *, most: int = MOST_DOCUMENTS) -> None:
        self._model, self._most = model, most

    def detect(self, world: KnownWorld, begin: datetime, end: datetime) -> Detected:
        """As :class:`~openfingym.suites.findeepforecast.generation.signals.SignalDetector` has it."""
        refused: Counter[str] = Counter()
        companies = {one.symbol: one for one in world.companies()}
        news = world.news(begin, end)
        of_story = stories(news)
        recent = [one for one in news if one.at >= end - RECENT][-self._most :]
        found: dict[str, Signal] = {}
        for start in range(0, len(recent), BATCH):
            batch = recent[start : start + BATCH]
            try:
                answer = typed(self._model, "signals", _signals_prompt(batch), SignalsAnswer)
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
                    found.setdefault(signal.story, signal)
        return Detected(tuple(found[name] for name in sorted(found)), dict(sorted(refused.items())))


def _signals_prompt(batch: Sequence[Document]) -> str:
    found = taxonomy()
    macro = "\n".join(f"{one.code}: {one.name}" for one in found.macro_events.values())
    corporate = "\n".join(f"{one.number}: {one.name}" for one in found.corporate_events.values())
    return filled(prompt_text(__package__, "signals"), macro=macro, corporate=corporate, documents=shown(batch))


def _candidate(
    answer: SignalAnswer,
    batch: Sequence[Document],
    of_story: Mapping[str, list[Document]],
    companies: Mapping[str, Company],
) -> tuple[str, Signal | None]:
    """The signal of a candidate, or why it is none: what a model says is held against what it was shown."""
    by_id = {one.id: one for one in batch}
    if any(one not in by_id for one in answer.documents):
        return "nonsense", None
    if answer.routine:
        return "routine", None
    if not (answer.binary and answer.uncertain):
        return "no uncertainty", None
    first = by_id[answer.documents[0]]
    subject = first.subject
    company = companies.get(subject)
    market = company.economy if company else subject
    level: Level = "corporate" if company else "macro"
    kinds = taxonomy().macro_events if level == "macro" else {str(one) for one in taxonomy().corporate_events}
    if market not in ECONOMIES or answer.kind not in kinds:
        return "taxonomy", None
    name = next((one for one, its in of_story.items() if any(its_one.id == first.id for its_one in its)), first.id)
    documents = tuple(of_story.get(name, (first,)))
    return "", Signal(name, subject, market, level, answer.kind, answer.phrase, documents)


class ModelRelevance:
    """Relevance by a model, from all that is reported of a signal."""

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def assess(self, signal: Signal) -> Assessment | None:
        """As :class:`~openfingym.suites.findeepforecast.generation.relevance.RelevanceAssessor` has it."""
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
    """Questions by a model. It is not shown which way the news leans."""

    def __init__(self, model: AsksModel) -> None:
        self._model = model

    def write(
        self, signal: Signal, assessment: Assessment, companies: Mapping[str, Company]
    ) -> ProposedQuestion | None:
        """As :class:`~openfingym.suites.findeepforecast.generation.writing.QuestionWriter` has it."""
        company = companies.get(signal.subject)
        prompt = filled(
            prompt_text(__package__, "question"),
            phrase=signal.phrase,
            subject=f"{company.name} ({company.symbol})" if company else signal.subject,
            due=str(assessment.due),
            condition=assessment.condition,
            threshold=f"{assessment.threshold:g}",
            detail=assessment.detail,
            unknowns="\n".join(f"- {one}" for one in assessment.unknowns),
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
