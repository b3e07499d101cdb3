"""Generating non-recurrent problems, about events: three stages, a review, and a selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from openfingym.errors import BudgetSpentError
from openfingym.questions.question import moment_at
from openfingym_suites.findeepforecast.generation.base_rates import base_rate
from openfingym_suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym_suites.findeepforecast.generation.relevance import RelevanceAssessor, RuleRelevance
from openfingym_suites.findeepforecast.generation.review import horizon_of, review, select, settled_ns
from openfingym_suites.findeepforecast.generation.signals import RuleSignals, SignalDetector, stories
from openfingym_suites.findeepforecast.generation.writing import (
    ProposedQuestion,
    QuestionWriter,
    RuleQuestions,
    event_details,
    subtype_of,
)
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.world.known import Company, KnownWorld

LOOK_BACK = timedelta(weeks=14)
"""How far back news is read."""


@dataclass(frozen=True)
class EventGenerator:
    """Generates problems about events from the news of a world: by rules, or with other stages in their place."""

    detector: SignalDetector = field(default_factory=RuleSignals)
    """The stage that finds events in the news."""
    assessor: RelevanceAssessor = field(default_factory=RuleRelevance)
    """The stage that says what is open about an event."""
    writer: QuestionWriter = field(default_factory=RuleQuestions)
    """The stage that writes a question about it."""

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym_suites.findeepforecast.generation.protocols.NonRecurrentGenerator`.

        ``refused`` counts the stories that give no signal, by the reason; drafts, by the rule that they broke; and
        drafts that were ``not selected``. The seed is not used: everything follows from the news.
        """
        del seed
        drafts, refused = self.drafts(world, week)
        reviewed = review(drafts, week, asked)
        refused.update(reviewed.refused)
        companies = {company.symbol: company for company in world.companies()}
        now = moment_at(week.generated_ns)
        rate = base_rate(stories(world.news(now - LOOK_BACK, now)), now)
        problems = []
        for stratum in sorted(wanted):
            track, level = stratum.quadrant.rsplit(" ", 1)
            if track != "non-recurrent":
                continue
            drafts_of = [
                draft
                for draft in reviewed.drafts
                if (draft.signal.level, draft.signal.market) == (level, stratum.market)
            ]
            taken = select(drafts_of, week, wanted[stratum])
            refused["not selected"] += len(drafts_of) - len(taken)
            problems += [problem_of(draft, week, companies, rate) for draft in taken]
        return DrawnProblems(
            tuple(sorted(problems, key=lambda problem: problem.key)),
            {reason: count for reason, count in sorted(refused.items()) if count},
        )

    def drafts(self, world: KnownWorld, week: Week) -> tuple[list[ProposedQuestion], Counter[str]]:
        """Every question that the news of a week gives rise to, before its review, and counts of why other stories gave
        none.

        Args:
            world: what is known when the week is generated.
            week: the week that asks.
        """
        now = moment_at(week.generated_ns)
        detected = self.detector.detect(world, now - LOOK_BACK, now)
        refused = Counter(detected.refused)
        companies = {company.symbol: company for company in world.companies()}
        drafts = []
        for number, signal in enumerate(detected.signals):
            try:
                assessment = self.assessor.assess(signal)
                draft = None if assessment is None else self.writer.write(signal, assessment, companies)
            # What was written so far is asked; the rest is counted, so that the week says what it lacks and why.
            except BudgetSpentError:
                refused["budget"] += len(detected.signals) - number
                break
            if draft is None:
                refused["unreadable answer" if assessment is None else "nothing to ask"] += 1
            else:
                drafts.append(draft)
        return drafts, refused


def problem_of(
    draft: ProposedQuestion, week: Week, companies: Mapping[str, Company], rate: float | None = None
) -> ForecastProblem:
    """A reviewed draft as a problem.

    Args:
        draft: the question that is proposed.
        week: the week that asks it.
        companies: the companies of the world, by symbol.
        rate: how often similar events happened, from 0 to 1, as known when it is asked; None if that is not known.
    """
    assert draft.by is not None  # the review refuses a draft without a day
    signal = draft.signal
    return ForecastProblem(
        key=draft.key,
        text=draft.text,
        track="non-recurrent",
        level=signal.level,
        market=signal.market,
        horizon=horizon_of(draft.by, week),
        subtype=subtype_of(signal.level, draft.kind),
        about=ForecastEvent(signal.subject, draft.kind, signal.story, draft.condition, draft.threshold, draft.by),
        generated_ns=week.generated_ns,
        deadline_ns=week.deadline_ns,
        settled_ns=settled_ns(draft.by),
        details=event_details(draft, companies.get(signal.subject)),
        base_rate=rate,
    )
