"""The agent that generates non-recurrent problems: three stages, a review, and a selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from openfingym.errors import BudgetSpentError
from openfingym.suites.findeepforecast.generation.base_rates import base_rate
from openfingym.suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym.suites.findeepforecast.generation.relevance import RelevanceAssessor, RuleRelevance
from openfingym.suites.findeepforecast.generation.review import horizon_of, review, select, settled_ns
from openfingym.suites.findeepforecast.generation.signals import RuleSignals, SignalDetector, stories
from openfingym.suites.findeepforecast.generation.writing import (
    ProposedQuestion,
    QuestionWriter,
    RuleQuestions,
    event_details,
    subtype_of,
)
from openfingym.suites.findeepforecast.problem import Event, ForecastProblem
from openfingym.suites.findeepforecast.world.known import Company, KnownWorld

LOOK_BACK = timedelta(weeks=14)
"""How far back news is read."""


@dataclass(frozen=True)
class EventGenerator:
    """Generates problems about events from the news of a world: by rules, or with other stages in their place."""

    detector: SignalDetector = field(default_factory=RuleSignals)
    assessor: RelevanceAssessor = field(default_factory=RuleRelevance)
    writer: QuestionWriter = field(default_factory=RuleQuestions)

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """As :class:`~openfingym.suites.findeepforecast.generation.protocols.NonRecurrentGenerator` has it.

        ``refused`` counts stories that are no signal by why, drafts by the rule that they broke, and ``not selected``.
        The seed is not used: everything follows from the news.
        """
        del seed
        drafts, refused = self.drafts(world, week)
        reviewed = review(drafts, week, asked)
        refused.update(reviewed.refused)
        companies = {one.symbol: one for one in world.companies()}
        now = datetime.fromtimestamp(week.generated_ns / 10**9, UTC)
        rate = base_rate(stories(world.news(now - LOOK_BACK, now)), now)
        problems = []
        for stratum in sorted(wanted):
            track, level = stratum.quadrant.rsplit(" ", 1)
            if track != "non-recurrent":
                continue
            its = [one for one in reviewed.drafts if (one.signal.level, one.signal.market) == (level, stratum.market)]
            taken = select(its, week, wanted[stratum])
            refused["not selected"] += len(its) - len(taken)
            problems += [problem_of(one, week, companies, rate) for one in taken]
        return DrawnProblems(
            tuple(sorted(problems, key=lambda one: one.key)), {k: v for k, v in sorted(refused.items()) if v}
        )

    def drafts(self, world: KnownWorld, week: Week) -> tuple[list[ProposedQuestion], Counter[str]]:
        """Every question that the news of a week gives rise to, unreviewed, and why other stories gave none."""
        now = datetime.fromtimestamp(week.generated_ns / 10**9, UTC)
        detected = self.detector.detect(world, now - LOOK_BACK, now)
        refused = Counter(detected.refused)
        companies = {one.symbol: one for one in world.companies()}
        drafts = []
        for number, signal in enumerate(detected.signals):
            try:
                assessment = self.assessor.assess(signal)
                draft = None if assessment is None else self.writer.write(signal, assessment, companies)
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
        week: when it is asked.
        companies: the companies of the world, by symbol.
        rate: how often the like happened, as known when it is asked; the same for all questions of a week.
    """
    assert draft.by is not None  # a reviewed draft has a day
    signal = draft.signal
    return ForecastProblem(
        key=draft.key,
        text=draft.text,
        track="non-recurrent",
        level=signal.level,
        market=signal.market,
        horizon=horizon_of(draft.by, week),
        subtype=subtype_of(signal.level, draft.kind),
        about=Event(signal.subject, draft.kind, signal.story, draft.condition, draft.threshold, draft.by),
        generated_ns=week.generated_ns,
        deadline_ns=week.deadline_ns,
        settled_ns=settled_ns(draft.by),
        details=event_details(draft, companies.get(signal.subject)),
        base_rate=rate,
    )
