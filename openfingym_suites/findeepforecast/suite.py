"""FinDeepForecast as a suite of questions: the simulated season, tools as of each deadline, and answers by rule.

Truths are packed references. Rules compare them with answers in a canonical form: a plain number in the unit that is
asked for, or YES or NO.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.answers import Part, Reference
from openfingym.answers.packing import BYTES, pack, unpack
from openfingym.data.dataset import DatasetInfo
from openfingym.errors import DataError
from openfingym.questions.question import TOLERANCES, moment_at
from openfingym.suites.asking import Approach, Prompt
from openfingym.suites.catalogue import CatalogueEntry
from openfingym.suites.suite import (
    AnswerForm,
    Lookup,
    Observation,
    QuestionSet,
    Scalar,
    Suite,
    SuiteQuestion,
    SuiteTool,
    UnreadableAnswerError,
)
from openfingym.suites.text_answers import answer_text, right_answer
from openfingym.task.exposure import Exposure, between
from openfingym.vault.held import opened
from openfingym_suites.findeepforecast.asking import MARK
from openfingym_suites.findeepforecast.breakdown import forecast_breakdown
from openfingym_suites.findeepforecast.forecasting.prompts import AskedForecast, about, ending
from openfingym_suites.findeepforecast.forecasting.reading import ForecastReading, read_canonical, read_forecast
from openfingym_suites.findeepforecast.problem import Figure, ForecastProblem
from openfingym_suites.findeepforecast.proofs import prove, script_of
from openfingym_suites.findeepforecast.tools import SUBSETS, TOOLS, lookup_in, suite_tools

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.breakdown import Breakdown
    from openfingym.vault import Vault
    from openfingym_suites.findeepforecast.seasons import SeasonParts, SettledProblem

DATASET = "findeepforecast"
"""Name of the dataset: the simulated world."""
WIDTH = 64
"""How many numbers an answer and a reference are packed into: 256 bytes."""
PREDICTION = "prediction"
"""Name of the one part of a reference."""
NO_RATE = "NO"
"""The answer without skill if there are no events to learn from."""
ZONE = timedelta(hours=8)
"""Time of Singapore ahead of UTC, in which deadlines are stated."""


class FindeepforecastSuite(Suite):
    """What will be published and what will happen, as of deadlines of a simulated season."""

    name = "findeepforecast"
    programs = frozenset({"last-value", "last-year"})

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """``tools``: ``full``, ``search`` (documents alone, without figures and calendars) or ``none``."""
        return TOOLS.options(given)

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:  # noqa: ARG002 - one season for all
        """What decides the questions: the program that makes the world, and the one that asks about it.

        The world itself need not be made for that.
        """
        from openfingym_suites.findeepforecast.seasons import recipe_of
        from openfingym_suites.findeepforecast.world.building import recipe_of as world_recipe
        from openfingym_suites.findeepforecast.world.size import WorldSize

        return recipe_of(world_recipe(WorldSize(), 0), 0)

    def simulated(self, dataset: str) -> bool:  # noqa: ARG002 - one world for all
        """Whether the world is made up: all of it is."""
        return True

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:  # noqa: ARG002 - one set for all
        """The season's questions, and those of the four weeks before, some for practice and some with their answers.

        Every answer that is given was known when the first question of the season was asked.
        """
        if dataset != DATASET:
            raise DataError(f"no world is named {dataset!r}; there is {DATASET}")
        vault = _own_vault()
        parts = _parts(vault)
        every = [*parts.train, *parts.public, *parts.private]
        return QuestionSet(
            info=_info(every, vault),
            snapshot=vault.digest,
            train=tuple(map(_question, parts.train)),
            public=tuple(map(_question, parts.public)),
            private=tuple(map(_question, parts.private)),
            truths=_truths(every),
        )

    def renewable(self, dataset: str) -> bool:
        """Whether it is the simulated world."""
        return dataset == DATASET

    def renewed(self, dataset: str, options: Mapping[str, Scalar], seed: int) -> QuestionSet:  # noqa: ARG002
        """The season's questions in another world, in which all is different from the first day on.

        A world that went on from the one that all know would have its companies, and whoever knew what became of these
        elsewhere would know how they usually do. What is given with its answers is about the world that all know.
        """
        from openfingym_suites.findeepforecast.own_world import own_season

        given = _parts(_own_vault())
        files, parts = own_season(seed, given)
        every = [*given.train, *parts.public, *parts.private]
        vault = opened(files)
        return QuestionSet(
            info=_info(every, vault),
            snapshot=vault.digest,
            train=tuple(map(_question, given.train)),
            public=tuple(map(_question, parts.public)),
            private=tuple(map(_question, parts.private)),
            truths=_truths(every),
            world=files,
        )

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """The problems of the season and of the weeks before it, with their truths and proofs."""
        return _catalogue()

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:  # noqa: ARG002 - one form for all
        """A table, or the prediction alone."""
        return _form("", "", "a number in the unit that is asked for, or YES or NO")

    def question_form(self, question: SuiteQuestion, options: Mapping[str, Scalar]) -> AnswerForm:
        """The form for one question, whose track and unit say how its answer is read."""
        asked = _asked(question)
        if asked is None:
            return self.form(options)
        if asked.track == "non-recurrent":
            what = "YES or NO; a second row, Probability, may say how probable YES is, from 0 to 1"
        else:
            what = f"one number{f' in {asked.unit}' if asked.unit else ''}, without a range"
        return _form(asked.track, asked.unit, what)

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The tools of the subset."""
        return suite_tools(str(options["tools"]))

    def subsets(self, options: Mapping[str, Scalar]) -> Mapping[str, tuple[str, ...]]:
        """``full``, ``search`` without figures and calendars, and ``none``."""
        offered = SUBSETS[str(options["tools"])]
        return {name: tuple(tool for tool in tools if tool in offered) for name, tools in SUBSETS.items()}

    def prompt(
        self, question: SuiteQuestion, way: Approach, options: Mapping[str, Scalar], found: object = None
    ) -> Prompt:
        """The paper's layout for a model that answers at once; otherwise plain words around the question."""
        asked = _asked(question)
        if way.method != "direct" or asked is None:
            return super().prompt(question, way, options, found)
        system = "The world that is asked about is simulated: what you know of the real one does not hold in it."
        # The text of a question has its details and requirement already.
        return Prompt(system if way.simulated else "", f"{question.text}\n\n{ending(asked)}")

    def vault(self, snapshot: str) -> Vault:
        """The vault with this digest, made on this machine in less than a minute if it is the library's own."""
        vault = _own_vault()
        if vault.digest != snapshot:
            raise DataError(
                f"the questions are about the vault {snapshot[:12]}, and this version of openfingym makes "
                f"{vault.digest[:12]}; build the task anew, with this version"
            )
        return vault

    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The tools, as of the question's deadline."""
        from openfingym_suites.findeepforecast.world.simulated import SimulatedWorld

        assert vault is not None
        return lookup_in(SimulatedWorld.from_view(vault.as_of(question.as_of)), str(options["tools"]))

    def exposure(self, dataset: str, options: Mapping[str, Scalar]) -> Exposure:
        """What becomes known from the first week on is hidden; tools show it up to the last deadline. The world need
        not be made for that.
        """
        from openfingym_suites.findeepforecast.seasons import EARLIER_WEEKS, START, WEEKS

        world = self.searched(dataset)
        first, last = START - timedelta(weeks=EARLIER_WEEKS), START + timedelta(weeks=WEEKS)
        return Exposure(
            {world: between(date.min, last)} if self.tools(options) else {}, {world: between(first, date.max)}
        )

    def revealing(
        self,
        question: SuiteQuestion,
        options: Mapping[str, Scalar],  # noqa: ARG002 - calls that a subset lacks are refused
    ) -> Sequence[tuple[str, Mapping[str, object]]]:
        """The history of a figure; for an event, the latest news of its subject."""
        subject, measure = question.query["subject"], question.query.get("measure")
        if measure is None:
            return [("search_news", {"subject": subject, "limit": 20})]
        named = {} if measure == "level" else {"measure": measure}
        return [("history", {"subject": subject, **named, "periods": 40})]

    def reveals(self, question: SuiteQuestion, truth: NDArray[np.float64], replies: Sequence[Observation]) -> bool:
        """Whether the figure of its period is shown, or, of an event, news from after its time."""
        values = [reply.value for reply in replies if isinstance(reply.value, dict)]
        if "period" not in question.query:
            news = [row for value in values for row in value.get("results", ())]
            return any(datetime.fromisoformat(row["published"]) > question.moment for row in news)
        right = float(right_answer(truth, WIDTH))
        rows = [row for value in values for row in value.get("rows", ())]
        return any(row[0] == question.query["period"] and math.isclose(row[1], right, rel_tol=1e-3) for row in rows)

    def breakdown(self, options: Mapping[str, Scalar]) -> Breakdown:  # noqa: ARG002 - the same for all
        """By track and level, by tool, and how answers failed."""
        return forecast_breakdown()

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """The more frequent outcome of events in training, with the share of YES as its probability."""
        return _repeated(_most_events(truths), rows)

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Constants, coins, numbers drawn blindly, and answers of other questions."""
        texts = {"yes": "YES", "no": "NO", "half": "YES 0.5", "zero": "0", "one": "1", "hundred": "100"}
        guesses = {name: _repeated(text, rows) for name, text in texts.items()}
        coins = ["YES" if heads else "NO" for heads in generator.random(rows) < 0.5]
        guesses["coins"] = np.stack([pack(text, WIDTH) for text in coins])
        guesses["drawn"] = np.stack([pack(f"{value:.2f}", WIDTH) for value in generator.lognormal(4.0, 2.0, rows)])
        # The right answers of other questions: numbers of a usual size that know nothing of what was asked.
        known = [read_canonical(right_answer(row, WIDTH)).canonical for row in truths]
        others = generator.integers(len(known), size=rows)
        guesses["of other questions"] = np.stack([pack(known[place], WIDTH) for place in others])
        return guesses


def suite_question(problem: ForecastProblem, as_of: datetime | None = None, week: str = "") -> SuiteQuestion:
    """A problem as a question of the suite.

    Args:
        problem: the problem that is asked.
        as_of: the time at which it is answered, with its time zone; None for its deadline.
        week: ISO week of its generation, such as ``2025-W44``; empty if it is of no week.
    """
    deadline = moment_at(problem.deadline_ns)
    shown = f"{deadline + ZONE:%Y-%m-%d %H:%M} (UTC+8)"
    asked = AskedForecast.of(problem, shown)
    query: dict[str, Scalar] = {
        "track": problem.track,
        "level": problem.level,
        "market": problem.market,
        "horizon": problem.horizon,
        "subtype": problem.subtype,
        "unit": problem.unit,
        "deadline": deadline.isoformat(),
        "subject": problem.about.subject,
    }
    if isinstance(problem.about, Figure):
        query |= {"measure": problem.about.measure, "period": problem.about.period.isoformat()}
    else:
        query |= {"event": problem.about.kind, "by": problem.about.by.isoformat()}
        query |= {} if problem.base_rate is None else {"base_rate": problem.base_rate}
    tags = (problem.quadrant, problem.market, problem.horizon, *([week] if week else []), problem.subtype)
    return SuiteQuestion(
        id=f"{week}/{problem.key}" if week else problem.key,
        text=f"{MARK}{about(asked)}",
        as_of=(as_of or deadline).astimezone(UTC).isoformat().replace("+00:00", "Z"),
        query=query,
        tags=tags,
    )


def reference_of(problem: ForecastProblem, truth: float) -> Reference:
    """What an answer is compared with: YES or NO; or a number, from which it may differ by less than a share of it.

    A truth of 0 is met by 0 alone.

    Args:
        problem: the problem that is asked.
        truth: its truth: a number in its unit, or 1 or 0 for an event.
    """
    group = (problem.track, problem.level)
    if not isinstance(problem.about, Figure):
        return Reference((Part(PREDICTION, "yes_no", bool(truth)),), group=group)
    tolerance = TOLERANCES[problem.measure or "amount"]
    return Reference((Part(PREDICTION, "number", truth, rule="relative", tolerance=tolerance),), group=group)


def number_of(answer: object, problem: ForecastProblem) -> float | None:
    """The number that an answer states: a value in the unit that is asked for, or the probability of the event.

    Args:
        answer: a text, a JSON value, or the row of numbers that a question's form made of one.
        problem: the problem that was asked.

    Returns:
        The number; None if no rule can read one.
    """
    if isinstance(answer, np.ndarray):
        return read_canonical(unpack(answer)).value
    return read_forecast(answer_text(answer), problem.track, problem.unit).value


def _form(track: str, unit: str, what: str) -> AnswerForm:
    """The form of an answer.

    Args:
        track: track of the question; empty if it is not known.
        unit: unit of the figure that is asked for; empty for none.
        what: what the prediction must be, in words.
    """

    def read(answer: object) -> NDArray[np.float64]:
        reading = _read(answer_text(answer), track, unit)
        if reading.state != "answered":
            raise UnreadableAnswerError(f"The answer is {reading.state}: {reading.note}.")
        return pack(reading.canonical, WIDTH)

    return AnswerForm(
        labels=tuple(f"bytes {BYTES * i}-{BYTES * i + BYTES - 1}" for i in range(WIDTH)),
        expected=f"a table of the columns Field and Value with a row Prediction, or the prediction alone: {what}",
        read=read,
        write=lambda numbers: right_answer(numbers, WIDTH),
    )


def _read(text: str, track: str, unit: str) -> ForecastReading:
    """Read an answer of a track; of an unknown one, by what it looks like."""
    if track == "recurrent":
        return read_forecast(text, "recurrent", unit)
    if track == "non-recurrent":
        reading = read_forecast(text, "non-recurrent")
        # A vote gives the canonical form again, such as "YES 0.7", with the probability behind the word.
        return read_canonical(text) if reading.said is not None and len(text.split()) == 2 else reading
    return read_canonical(text)


def _asked(question: SuiteQuestion) -> AskedForecast | None:
    """What a prompt says about a question, from its query; None for a question of another suite."""
    track, level = question.query.get("track"), question.query.get("level")
    if track not in {"recurrent", "non-recurrent"} or level not in {"corporate", "macro"}:
        return None
    return AskedForecast(question.text, track, level, str(question.query.get("unit", "")))  # type: ignore[arg-type]


def _question(settled: SettledProblem) -> SuiteQuestion:
    return suite_question(settled.problem, week=settled.week)


def _repeated(text: str, rows: int) -> NDArray[np.float64]:
    """One answer to all questions, float64[rows, numbers]."""
    return np.repeat(pack(text, WIDTH)[None], rows, axis=0)


def _most_events(truths: NDArray[np.float64]) -> str:
    """The more frequent outcome of events among truths, with the share of YES as its probability."""
    counted = Counter(right_answer(row, WIDTH) for row in truths)
    yes, no = counted["yes"], counted["no"]
    if not yes + no:
        return NO_RATE
    share = yes / (yes + no)
    return f"{'YES' if share > 0.5 else 'NO'} {share:.3f}"


@functools.cache
def _own_vault() -> Vault:
    from openfingym_suites.findeepforecast.world.building import findeepforecast_vault

    return findeepforecast_vault()


@functools.lru_cache(maxsize=2)
def _parts(vault: Vault) -> SeasonParts:
    from openfingym_suites.findeepforecast.seasons import season_parts

    return season_parts(vault)


def _truths(every: Sequence[SettledProblem]) -> NDArray[np.float64]:
    """The references of problems, float64[problems, numbers]."""
    return np.stack([pack(reference_of(each.problem, each.truth).to_json(), WIDTH) for each in every])


@functools.cache
def _catalogue() -> tuple[CatalogueEntry, ...]:
    parts = _parts(_own_vault())
    return tuple(
        _entry(number if part == "private" else None, part, settled)
        for part in ("private", "public", "train")
        for number, settled in enumerate(getattr(parts, part), 1)
    )


def _entry(number: int | None, part: str, settled: SettledProblem) -> CatalogueEntry:
    """The entry of a problem in the list of questions.

    Args:
        number: number of its question in the task; None if it does not score.
        part: ``private``, ``public`` or ``train``.
        settled: the problem with its truth.
    """
    problem = settled.problem
    reference = reference_of(problem, settled.truth)
    vault = _own_vault()
    details = {
        "generated": moment_at(problem.generated_ns).isoformat(),
        "deadline": moment_at(problem.deadline_ns).isoformat(),
        "expected": moment_at(problem.settled_ns).isoformat(),
        "known": moment_at(settled.known_ns).isoformat(),
        "tolerance": "exact" if problem.measure is None else f"less than {100 * TOLERANCES[problem.measure]:g} %",
        "reference": reference.to_json(),
        "snapshot": vault.digest,
    }
    return CatalogueEntry(
        number,
        part,
        _question(settled),
        reference.answer(),
        details,
        lambda: script_of(settled, vault.digest),
        lambda: prove(settled, vault),
    )


def _info(every: Sequence[SettledProblem], vault: Vault) -> DatasetInfo:
    days = [moment_at(settled.problem.deadline_ns).date() for settled in every]
    return DatasetInfo(
        name=DATASET,
        title="FinDeepForecast: a season of ten weeks in a simulated world of 1,314 companies and eight economies",
        kind="simulated",
        source="openfingym.suites.findeepforecast, a simulator",
        provenance=f"vault {vault.digest[:12]}; no company, figure or event of it is real",
        licence="Apache-2.0",
        frequency="none",
        measure="mixed",
        unit="packed text",
        calendar="of each economy",
        corporate_actions="none",
        first=min(days),
        last=max(days),
        rows=len(every),
        channels=_form("", "", "").labels,
        missing=0,
        sha256=vault.digest,
    )


SUITE = FindeepforecastSuite()
