"""Problems about events of the real past that a rule decides: filings with the SEC, decisions of the Federal Reserve,
moves of markets, and changes between two prints.

Each asks of a stretch that begins on the day after the deadline, so that nothing can have happened before it, about
marginal content: how often, by which day, by how much at least. Of each kind only those are asked that happened in 10
to 90 percent of the like stretches of the past, as far as they were known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from openfingym.errors import UsageError
from openfingym.questions.question import DAY_NS, moment_ns
from openfingym.suites.findeepforecast.generation.keys import plain
from openfingym.suites.findeepforecast.generation.protocols import DrawnProblems, Stratum, Week
from openfingym.suites.findeepforecast.generation.sampling import by_turns, lot
from openfingym.suites.findeepforecast.problem import Event, ForecastProblem, Horizon
from openfingym.suites.findeepforecast.taxonomy import taxonomy
from openfingym.suites.findeepforecast.world.known import Company, KnownWorld
from openfingym.suites.findeepforecast.world.recorded import RecordedWorld
from openfingym.suites.findeepforecast.world.recorded_rules import since_text
from openfingym.suites.findeepforecast.world.recorded_tables import series_lines

LOW, HIGH = 0.1, 0.9
"""Base rates that leave it open."""
WEEK_DAYS, MONTH_DAYS = 10, 45
"""Days from the generation to the truth: a week's and a month's horizon at most."""
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
"""Items of Form 8-K with the number of the event type that is closest, and their titles. The mapping is ours: an item
says less than a type (5.02 is of any officer or director, 1.01 of any agreement).
"""
COUNTS = (1, 2, 3)
CURRENCIES = ("CN", "HK", "JP", "UK", "DE", "FR", "SG")
MOVES = (0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Percent within five figures; 3 is the grounding table's for Japan, the United Kingdom and Germany."""
YIELD, YIELD_MOVES = "US:INTEREST_RATE_1YR", (5.0, 10.0, 15.0, 25.0)
POINTS_MOVED = (25.0, 50.0, 75.0)
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
"""Series whose next print is asked about, with the subcategory that the grounding table of the United States has of
them and thresholds around its own, in percent or points.
"""
EXTREME, UNKNOWN = "happens too seldom or too often", "no base rate"


@dataclass(frozen=True)
class _Candidate:
    event: Event
    text: str
    subtype: str
    settled: datetime
    base_rate: float | None
    details: Mapping[str, str]
    group: str
    """What takes turns when some are drawn."""
    company: Company | None = None

    @property
    def key(self) -> str:
        """The same in any week for an event that is decided on the same day."""
        about = self.event
        parts = (about.subject, about.condition, f"{about.threshold:g}", f"by-{about.by.isoformat()}")
        return ".".join(plain(part) for part in parts)


@dataclass(frozen=True)
class RecordedEvents:
    """Generates problems about events of the recorded world."""

    corporate: int = 10
    """Problems of a week about companies at most."""
    macro: int = 6
    """Of economies at most."""

    def generate(
        self, world: KnownWorld, week: Week, wanted: Mapping[Stratum, int], asked: Collection[str], seed: int
    ) -> DrawnProblems:
        """See :class:`~openfingym.suites.findeepforecast.generation.protocols.NonRecurrentGenerator`.

        Raises:
            UsageError: the world is none of the recorded past.
        """
        if not isinstance(world, RecordedWorld):
            raise UsageError("events by filings need the recorded world; give the definition the vault `bundled`")
        refused: Counter[str] = Counter()
        found: list[ForecastProblem] = []
        for candidates, most in ((_corporate(world, week), self.corporate), (_macro(world, week), self.macro)):
            open_ones = list(_undecided(candidates, asked, refused))
            order = by_turns(open_ones, lambda one: one.group, lambda one: lot(seed, week.name, one.key))
            found += _within(order, week, wanted, most)
        return DrawnProblems(tuple(found), refused)


def _undecided(candidates: Iterator[_Candidate], asked: Collection[str], refused: Counter[str]) -> Iterator[_Candidate]:
    for one in candidates:
        if one.key in asked:
            continue
        if one.base_rate is None:
            refused[UNKNOWN] += 1
        elif LOW <= one.base_rate <= HIGH:
            yield one
        else:
            refused[EXTREME] += 1


def _within(
    order: Sequence[_Candidate], week: Week, wanted: Mapping[Stratum, int], most: int
) -> Iterator[ForecastProblem]:
    """The first in an order that strata have room for, and one of each group's rule alone."""
    made: Counter[Stratum] = Counter()
    rules: set[tuple[str, str]] = set()
    for one in order:
        problem = _problem(one, week)
        stratum = Stratum(problem.quadrant, problem.market)
        rule = (one.event.subject, one.event.condition)
        if made.total() >= most or made[stratum] >= wanted.get(stratum, 0) or rule in rules:
            continue
        made[stratum] += 1
        rules.add(rule)
        yield problem


def _problem(one: _Candidate, week: Week) -> ForecastProblem:
    settled = moment_ns(one.settled)
    return ForecastProblem(
        key=one.key,
        text=one.text,
        track="non-recurrent",
        level="macro" if one.company is None else "corporate",
        market=one.event.subject if one.company is None else one.company.economy,
        horizon=_horizon(settled - week.generated_ns),
        subtype=one.subtype,
        about=one.event,
        generated_ns=week.generated_ns,
        deadline_ns=week.deadline_ns,
        settled_ns=settled,
        details=one.details,
        base_rate=one.base_rate,
    )


def _corporate(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    since = _since(week)
    for company in world.companies():
        details = {"Company": company.name, "Ticker": company.symbol}
        for item, (number, title) in ITEMS.items():
            for by in _days(since):
                for count in COUNTS:
                    event = Event(company.symbol, str(number), since_text(since), f"8-K:{item}", float(count), by)
                    often = "a" if count == 1 else f"at least {count}"
                    forms = "Form 8-K" if count == 1 else "Forms 8-K"
                    what = f"{company.name} ({company.symbol}) file {often} {forms} with item {item} ({title})"
                    yield _filed(world, event, f"Will {what} with the SEC {_between(since, by)}?", company, details)
        for by in _days(since):
            event = Event(company.symbol, "58", since_text(since), "form:NT", 1.0, by)
            what = f"{company.name} ({company.symbol}) notify the SEC (Form NT 10-Q or NT 10-K) of a late report"
            yield _filed(world, event, f"Will {what} {_between(since, by)}?", company, details)


def _filed(world: RecordedWorld, event: Event, text: str, company: Company, details: Mapping[str, str]) -> _Candidate:
    subtype = taxonomy().corporate_events[int(event.kind)].name
    told = {**details, "Event Type": subtype, "Authority": "SEC"}
    settled = _over(event.by)
    return _Candidate(event, text, subtype, settled, world.rules.base_rate(event), told, company.symbol, company)


def _macro(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    since = _since(week)
    for by in _days(since):
        for economy in CURRENCIES:
            series = f"{economy}:FX_RATE"
            for size in MOVES:
                event = Event(economy, "C2", since_text(since), f"week:{series}", size, by)
                line = series_lines()[series]
                text = (
                    f"On any day {_between(since, by)}, will {line.title} ({line.unit}, the ECB's reference rates) be "
                    f"{size:g} % or more away, up or down, from where it was five trading days before?"
                )
                yield _moved(world, event, text, "European Central Bank")
        for size in YIELD_MOVES:
            event = Event("US", "A2", since_text(since), f"week:{YIELD}", size, by)
            text = (
                f"On any day {_between(since, by)}, will {series_lines()[YIELD].title} be {size:g} basis points or "
                "more away, up or down, from where it was five trading days before?"
            )
            yield _moved(world, event, text, "US Treasury")
        for direction, verb in (("any", "changed"), ("up", "raised"), ("down", "lowered")):
            for size in POINTS_MOVED:
                event = Event("US", "A1", since_text(since), f"target:{direction}", size, by)
                text = (
                    "Will the upper bound of the target range for the federal funds rate be "
                    f"{verb} by {size:g} basis points or more at once {_between(since, by)}?"
                )
                yield _moved(world, event, text, "Federal Reserve (FOMC)")
    yield from _printed(world, week)


def _printed(world: RecordedWorld, week: Week) -> Iterator[_Candidate]:
    """Changes between the last print and the next one, which nobody can know by the deadline."""
    begin, end = _moment(week.deadline_ns), _moment(week.ends_ns)
    for release in world.releases(begin, end):
        if release.subject not in PRINTS or moment_ns(release.at) <= week.deadline_ns:
            continue
        kind, sizes = PRINTS[release.subject]
        line, last = series_lines()[release.subject], world.prints(release.subject).history(1)
        unit = "percent" if line.unit not in {"percent", "points of the diffusion index"} else "points"
        for name, verb in (("rise", "above"), ("fall", "below")):
            for size in sizes:
                condition = f"{name}:{release.subject}:{release.period.isoformat()}"
                event = Event("US", kind, since_text(_since(week)), condition, size, release.at.date())
                text = (
                    f"Will the first print of {line.title} for {release.label} be at least {size:g} {unit} {verb} the "
                    f"first print for the {line.frequency} before ({last[0].value:g} {line.unit})?"
                )
                yield _moved(world, event, text, "the agency that publishes it", release.at)


def _moved(
    world: RecordedWorld, event: Event, text: str, authority: str, settled: datetime | None = None
) -> _Candidate:
    subtype = taxonomy().macro_events[event.kind].name
    told = {"Economy": event.subject, "Event Type": f"{event.kind} {subtype}", "Authority": authority}
    grounding = taxonomy().grounding(event.subject, event.kind)
    told["Trigger of the taxonomy"] = "none is stated" if grounding is None else grounding.trigger
    group = event.subject if event.condition.startswith("week") else event.condition.partition(":")[0]
    return _Candidate(event, text, subtype, settled or _over(event.by), world.rules.base_rate(event), told, group)


def _since(week: Week) -> date:
    """The day after the deadline."""
    return _moment(week.deadline_ns).date() + timedelta(days=1)


def _days(since: date) -> tuple[date, ...]:
    """The days by which events are asked for: a Friday, the end of a month, and that of one further away."""
    return since + timedelta(days=4), _month_end(since + timedelta(days=14)), _month_end(since + timedelta(days=46))


def _between(since: date, by: date) -> str:
    return f"from {_long(since)} to {_long(by)}, both days included"


def _long(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _month_end(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1) - timedelta(days=1)


def _over(day: date) -> datetime:
    """When what happened by the end of a day is known: after midnight in New York."""
    return datetime.combine(day + timedelta(days=1), time(5), UTC)


def _horizon(ahead_ns: int) -> Horizon:
    if ahead_ns <= WEEK_DAYS * DAY_NS:
        return "week"
    return "month" if ahead_ns <= MONTH_DAYS * DAY_NS else "quarter"


def _moment(moment: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment // 1000)
