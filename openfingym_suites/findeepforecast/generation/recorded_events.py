"""Generating problems about events of the real past that a rule decides: filings with the SEC, decisions of the Federal
Reserve, moves of markets, and changes between two prints.

Each is about a stretch of days that begins on the day after the deadline, so that nothing can have happened in it yet,
and asks about the margin: how often, by which day, by how much at least. Only events are asked about that happened in
10 to 90 percent of similar stretches of the past, as far as these were known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from openfingym.errors import UsageError
from openfingym.questions.question import moment_at, moment_ns
from openfingym_suites.findeepforecast.generation.keys import plain
from openfingym_suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym_suites.findeepforecast.generation.sampling import by_turns, lot
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy
from openfingym_suites.findeepforecast.world.known import Company, KnownWorld
from openfingym_suites.findeepforecast.world.periods import month_end
from openfingym_suites.findeepforecast.world.recorded import RecordedWorld
from openfingym_suites.findeepforecast.world.recorded_rules import POINTS, known_after, since_text
from openfingym_suites.findeepforecast.world.recorded_tables import series_lines

LOW, HIGH = 0.1, 0.9
"""Base rates between which the end of an event is open."""
ITEMS: Mapping[str, tuple[int, str]] = {
    "1.01": (36, "Entry into a Material Definitive Agreement"),
    "2.01": (45, "Completion of Acquisition or Disposition of Assets"),
    "2.03": (29, "Creation of a Direct Financial Obligation"),
    "2.05": (35, "Costs Associated with Exit or Disposal Activities"),
    "2.06": (17, "Material Impairments"),
    "3.01": (48, "Notice of Delisting or Failure to Satisfy a Continued Listing Rule"),
    "3.02": (30, "Unregistered Sales of Equity Securities"),
    "4.01": (60, "Changes in Registrant's Certifying Accountant"),
    "4.02": (16, "Non-Reliance on Previously Issued Financial Statements"),
    "5.02": (3, "Departure or Election of Directors or Certain Officers"),
    "5.03": (70, "Amendments to Articles of Incorporation or Bylaws"),
    "7.01": (10, "Regulation FD Disclosure"),
    "8.01": (10, "Other Events"),
}
"""Items of Form 8-K, each with the number of the closest event type and its title. The mapping is ours: an item says
less than a type (5.02 is about any officer or director, 1.01 about any agreement).
"""
COUNTS = (1, 2, 3)
"""How many filings are asked about at least."""
CURRENCIES = ("CN", "HK", "JP", "UK", "DE", "FR", "SG")
"""Economies whose exchange rate is asked about."""
MOVES = (0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Moves of an exchange rate within five trading days that are asked about, in percent; 3 is the threshold of the
grounding table for Japan, the United Kingdom and Germany.
"""
YIELD, YIELD_MOVES = "US:INTEREST_RATE_1YR", (5.0, 10.0, 15.0, 25.0)
"""The yield that is asked about, and its moves within five trading days, in basis points."""
POINTS_MOVED = (25.0, 50.0, 75.0)
"""Changes of the federal funds target that are asked about, in basis points."""
PRINTS: Mapping[str, tuple[str, tuple[float, ...]]] = {
    "US:UNRATE": ("H1", (0.1, 0.2, 0.5)),
    "US:PAYEMS": ("H1", (0.1, 0.15, 0.2)),
    "US:JTSJOL": ("H1", (1.0, 2.0, 5.0)),
    "US:INDPRO": ("E1", (0.2, 0.5, 1.0, 3.0)),
    "US:DGORDER": ("E1", (1.0, 2.0, 5.0)),
    "US:GACDISA": ("E1", (2.0, 5.0, 10.0)),
    "US:GACDFSA": ("E1", (2.0, 5.0, 10.0)),
    "US:RSAFS": ("E2", (0.2, 0.5, 1.0, 2.0)),
    "US:PCEC96": ("E2", (0.1, 0.3, 0.5)),
    "US:HOUST": ("E3", (2.0, 5.0, 10.0, 20.0)),
    "US:PERMIT": ("E3", (2.0, 5.0, 10.0)),
    "US:HSN1F": ("E3", (2.0, 5.0, 10.0)),
    "US:DSPIC96": ("H2", (0.1, 0.3, 0.5, 2.0)),
    "US:BOPTEXP": ("C3", (0.5, 1.0, 2.0)),
}
"""Series whose next print is asked about, each with its subcategory in the grounding table of the United States and
thresholds around the table's own, in percent or points.
"""
EXTREME, UNKNOWN = "happens too seldom or too often", "no base rate"
"""Reasons why a candidate is refused."""


@dataclass(frozen=True)
class _Candidate:
    """An event that could be asked about."""

    event: ForecastEvent
    text: str
    subtype: str
    settled: datetime
    """When its truth is expected to be known, in UTC."""
    base_rate: float | None
    details: Mapping[str, str]
    group: str
    """The company or topic; groups take turns when candidates are drawn."""
    company: Company | None = None
    """The company that it is about; None for an event of an economy."""

    @property
    def key(self) -> str:
        """The key of its problem, the same in any week that asks about an event by the same day."""
        about = self.event
        parts = (about.subject, about.condition, f"{about.threshold:g}", f"by-{about.by.isoformat()}")
        return ".".join(plain(part) for part in parts)


@dataclass(frozen=True)
class RecordedEvents:
    """Generates problems about events of the recorded world."""

    corporate: int = 10
    """The most problems about companies in a week."""
    macro: int = 6
    """The most problems about economies in a week."""

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym_suites.findeepforecast.generation.protocols.NonRecurrentGenerator`.

        Raises:
            UsageError: the world is not that of the recorded past.
        """
        if not isinstance(world, RecordedWorld):
            raise UsageError("events by filings need the recorded world; give the definition the vault `bundled`")
        refused: Counter[str] = Counter()
        problems: list[ForecastProblem] = []
        for candidates, most in ((_corporate(world, week), self.corporate), (_macro(world, week), self.macro)):
            undecided = list(_undecided(candidates, asked, refused))
            # Drawn by lot, but so that companies and topics take turns.
            order = by_turns(undecided, lambda each: each.group, lambda each: lot(seed, week.name, each.key))
            problems += _within(order, week, wanted, most)
        return DrawnProblems(tuple(problems), refused)


def _undecided(candidates: Iterator[_Candidate], asked: Collection[str], refused: Counter[str]) -> Iterator[_Candidate]:
    """Candidates whose end is open by their base rate, and that the season has not asked; counts the others."""
    for candidate in candidates:
        if candidate.key in asked:
            continue
        if candidate.base_rate is None:
            refused[UNKNOWN] += 1
        elif LOW <= candidate.base_rate <= HIGH:
            yield candidate
        else:
            refused[EXTREME] += 1


def _within(
    order: Sequence[_Candidate], week: Week, wanted: Mapping[Stratum, int], most: int
) -> Iterator[ForecastProblem]:
    """The first problems in an order for which their strata have room, at most one for each subject and rule.

    Args:
        order: the candidates in the order in which they are drawn.
        week: the week that asks.
        wanted: how many problems of each stratum are wanted.
        most: the most problems in all.
    """
    made: Counter[Stratum] = Counter()
    rules: set[tuple[str, str]] = set()
    for candidate in order:
        problem = _problem(candidate, week)
        stratum = Stratum(problem.quadrant, problem.market)
        # The same rule by another day or threshold would ask nearly the same.
        rule = (candidate.event.subject, candidate.event.condition)
        if made.total() >= most or made[stratum] >= wanted.get(stratum, 0) or rule in rules:
            continue
        made[stratum] += 1
        rules.add(rule)
        yield problem


def _problem(candidate: _Candidate, week: Week) -> ForecastProblem:
    settled = moment_ns(candidate.settled)
    company = candidate.company
    return ForecastProblem(
        key=candidate.key,
        text=candidate.text,
        track="non-recurrent",
        level="macro" if company is None else "corporate",
        market=candidate.event.subject if company is None else company.economy,
        horizon=week.horizon(settled),
        subtype=candidate.subtype,
        about=candidate.event,
        generated_ns=week.generated_ns,
        deadline_ns=week.deadline_ns,
        settled_ns=settled,
        details=candidate.details,
        base_rate=candidate.base_rate,
    )


def _corporate(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    """Filings of companies: Forms 8-K by item, day and number, and notices of late reports."""
    since = _since(week)
    for company in world.companies():
        details = {"Company": company.name, "Ticker": company.symbol}
        for item, (number, title) in ITEMS.items():
            for by in _days(since):
                for count in COUNTS:
                    event = ForecastEvent(
                        company.symbol, str(number), since_text(since), f"8-K:{item}", float(count), by
                    )
                    often = "a" if count == 1 else f"at least {count}"
                    forms = "Form 8-K" if count == 1 else "Forms 8-K"
                    what = f"{company.name} ({company.symbol}) file {often} {forms} with item {item} ({title})"
                    yield _filed(world, event, f"Will {what} with the SEC {_between(since, by)}?", company, details)
        for by in _days(since):
            event = ForecastEvent(company.symbol, "58", since_text(since), "form:NT", 1.0, by)
            what = f"{company.name} ({company.symbol}) notify the SEC (Form NT 10-Q or NT 10-K) of a late report"
            yield _filed(world, event, f"Will {what} {_between(since, by)}?", company, details)


def _filed(
    world: RecordedWorld, event: ForecastEvent, text: str, company: Company, details: Mapping[str, str]
) -> _Candidate:
    """The candidate of a company's filings."""
    subtype = read_taxonomy().corporate_events[int(event.kind)].name
    stated = {**details, "Event Type": subtype, "Authority": "SEC"}
    settled = known_after(event.by)
    return _Candidate(event, text, subtype, settled, world.rules.base_rate(event), stated, company.symbol, company)


def _macro(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    """Moves of exchange rates and of a yield, changes of the federal funds target, and changes between two prints."""
    since = _since(week)
    for by in _days(since):
        for economy in CURRENCIES:
            series = f"{economy}:FX_RATE"
            for size in MOVES:
                event = ForecastEvent(economy, "C2", since_text(since), f"week:{series}", size, by)
                line = series_lines()[series]
                text = (
                    f"On any day {_between(since, by)}, will {line.title} ({line.unit}, the ECB's reference rates) be "
                    f"{size:g} % or more away, up or down, from where it was five trading days before?"
                )
                yield _moved(world, event, text, "European Central Bank")
        for size in YIELD_MOVES:
            event = ForecastEvent("US", "A2", since_text(since), f"week:{YIELD}", size, by)
            text = (
                f"On any day {_between(since, by)}, will {series_lines()[YIELD].title} be {size:g} basis points or "
                "more away, up or down, from where it was five trading days before?"
            )
            yield _moved(world, event, text, "US Treasury")
        for direction, verb in (("any", "changed"), ("up", "raised"), ("down", "lowered")):
            for size in POINTS_MOVED:
                event = ForecastEvent("US", "A1", since_text(since), f"target:{direction}", size, by)
                text = (
                    "Will the upper bound of the target range for the federal funds rate be "
                    f"{verb} by {size:g} basis points or more at once {_between(since, by)}?"
                )
                yield _moved(world, event, text, "Federal Reserve (FOMC)")
    yield from _printed(world, week)


def _printed(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    """Changes between the last print and the next one, which nobody can know by the deadline."""
    begin, end = moment_at(week.deadline_ns), moment_at(week.ends_ns)
    for release in world.releases(begin, end):
        # A release at the very deadline would be known to whoever answers last.
        if release.subject not in PRINTS or moment_ns(release.at) <= week.deadline_ns:
            continue
        kind, sizes = PRINTS[release.subject]
        line, last = series_lines()[release.subject], world.prints(release.subject).history(1)
        # A percentage moves by points; of everything else the change is in percent.
        unit = "points" if line.unit in POINTS else "percent"
        for name, verb in (("rise", "above"), ("fall", "below")):
            for size in sizes:
                condition = f"{name}:{release.subject}:{release.period.isoformat()}"
                event = ForecastEvent("US", kind, since_text(_since(week)), condition, size, release.at.date())
                text = (
                    f"Will the first print of {line.title} for {release.label} be at least {size:g} {unit} {verb} the "
                    f"first print for the {line.frequency} before ({last[0].value:g} {line.unit})?"
                )
                yield _moved(world, event, text, "the agency that publishes it", release.at)


def _moved(
    world: RecordedWorld, event: ForecastEvent, text: str, authority: str, settled: datetime | None = None
) -> _Candidate:
    """The candidate of an event of an economy.

    Args:
        world: what is known when the week is generated.
        event: the event that is asked about.
        text: the text of the question.
        authority: name of the authority whose figures decide.
        settled: when the truth is expected to be known; None for after the last day on which it counts.
    """
    subtype = read_taxonomy().macro_events[event.kind].name
    stated = {"Economy": event.subject, "Event Type": f"{event.kind} {subtype}", "Authority": authority}
    grounding = read_taxonomy().grounding(event.subject, event.kind)
    stated["Trigger of the taxonomy"] = "none is stated" if grounding is None else grounding.trigger
    # Exchange rates take turns by economy, everything else by the kind of its rule.
    group = event.subject if event.condition.startswith("week") else event.condition.partition(":")[0]
    settled = settled or known_after(event.by)
    return _Candidate(event, text, subtype, settled, world.rules.base_rate(event), stated, group)


def _since(week: Week) -> date:
    """The day after the deadline."""
    return moment_at(week.deadline_ns).date() + timedelta(days=1)


def _days(since: date) -> tuple[date, ...]:
    """The days by which events are asked for, one for each horizon: a Friday, and the ends of two months."""
    ends = (since + timedelta(days=ahead) for ahead in (14, 46))
    return since + timedelta(days=4), *(month_end(day.year, day.month) for day in ends)


def _between(since: date, by: date) -> str:
    return f"from {_long(since)} to {_long(by)}, both days included"


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
