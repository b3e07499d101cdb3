"""A season in a real ledger: figures that come as scheduled, late, early, never, and again."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import SubmissionError, UsageError
from openfingym.questions import moment_ns
from openfingym.questions.providers import find_provider
from openfingym.questions.question import REAL_CLOCK, Question
from openfingym.rounds.book import Book
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.proving import prove_generation
from openfingym.rounds.tick import TickResult, tick
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.asking import problem_of, query_of, text_of
from openfingym_suites.findeepforecast.rounds.generator import GENERATOR
from openfingym_suites.findeepforecast.world.opening import vault_name

numbers = itertools.count()
TIMES = {"generated_ns": 1, "deadline_ns": 2, "evaluation_ns": 3}
PLAN = '"recurrent macro" = { US = 24 }, "recurrent corporate" = { US = 24, JP = 8 }'


def begin(folder: Path, vault: Vault, *, zone: str = "Asia/Singapore", quotas: str = PLAN, weeks: int = 4) -> Book:
    name = f"season{next(numbers)}"
    path = folder / f"{name}.toml"
    path.write_text(
        f'name = "{name}"\ntitle = "A test"\nclock = "simulated"\ntimezone = "{zone}"\nweeks = {weeks}\n'
        "start = 2025-10-27T00:00:00Z\n[schedule]\n"
        'generate = "Thursday 08:00"\ndeadline = "Sunday 23:59"\nresolve = "Monday 09:00"\npublish = "Monday 12:00"\n'
        '[[sources]]\ngenerator = "findeepforecast"\nname = "season"\ntracks = ["recurrent"]\nshare = 1.0\n'
        f'vault = "{vault_name(vault)}"\nquotas = {{ {quotas} }}\n'
    )
    return Book.begin(path, time.time_ns())


def ticked(book: Book, ledger: LedgerClient, now: str) -> TickResult:
    return tick(book, ledger, None, moment_ns(now))


def shown(ledger: LedgerClient, question: str) -> dict[str, Any]:
    return ledger._questions.show(question)


@pytest.fixture(scope="module")
def rough_book(rough: Vault, tmp_path_factory: pytest.TempPathFactory) -> Book:
    """A season whose clock no test sets forward from its first week."""
    return begin(tmp_path_factory.mktemp("rough"), rough)


@pytest.fixture
def week(rough_book: Book, ledger: LedgerClient) -> dict[str, list[str]]:
    """Ids of the first week's questions by what they are about; the week is generated."""
    if ledger.clock(rough_book.series.clock_name) is None:
        generate(rough_book, ledger)
    return first_week(rough_book, ledger)


def generate(book: Book, ledger: LedgerClient) -> None:
    found = ticked(book, ledger, "2025-10-30T00:00:00Z")
    assert [one.what for one in found.actions] == ["generated", "entered"]
    assert not found.faults


def first_week(book: Book, ledger: LedgerClient) -> dict[str, list[str]]:
    by_subject: dict[str, list[str]] = {}
    for one in ledger.questions(f"{book.series.name}/2025-W44"):
        by_subject.setdefault(str(one.question.query["subject"]), []).append(one.question.id)
    return by_subject


def test_a_question_is_its_problem_and_says_that_it_is_simulated(
    rough_book: Book, ledger: LedgerClient, week: dict[str, list[str]], rough: Vault
) -> None:
    assert week.keys() >= {"US0", "US5", "JP0"}
    for one in ledger.questions(f"{rough_book.series.name}/2025-W44"):
        question, problem = one.question, problem_of(one.question)
        assert question.text.startswith("SIMULATED: ")
        assert question.text == text_of(problem, simulated=True)
        assert dict(question.query) == query_of(problem, vault_name(rough))
        assert (question.category, question.market) == (problem.quadrant, problem.market)
        assert question.deadline_ns < problem.settled_ns <= question.evaluation_ns
        assert GENERATOR.problem(question) == problem
    said = json.loads((rough_book.folder / "2025-W44" / "generated-season.json").read_text())
    assert said["vault"] == vault_name(rough)
    assert sum(said["made"].values()) == sum(map(len, week.values()))


def test_naive_repeats_the_last_figure_and_no_market_is_made_up(
    ledger: LedgerClient, week: dict[str, list[str]]
) -> None:
    question = week["US0"][0]
    [one] = ledger._questions.forecasts(question=question)
    assert one["agent"] == "naive"
    reference = one["reference"]
    assert one["answer"]["value"] == reference["last"]
    assert not reference.keys() & {"price", "probability"}


def test_figures_come_early_a_day_late_never_and_again(rough: Vault, tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path, rough)
    generate(book, ledger)
    week = first_week(book, ledger)
    early, late, never = week["US5"][0], week["US0"][0], week["JP0"][0]

    ticked(book, ledger, "2025-11-01T00:00:00Z")  # it came on 31 October, three days before its time
    with pytest.raises(SubmissionError) as refused:
        ledger._questions.forecast(
            early, {"value": 1.0, "unit": shown(ledger, early)["question"]["unit"]}, agent="late"
        )
    assert refused.value.problem == "truth-known"

    ticked(book, ledger, "2025-11-10T01:00:00Z")
    found = shown(ledger, early)
    assert (found["state"], found["reason"]) == ("void", "known before the deadline")
    found = shown(ledger, late)
    assert found["state"] == "scored"
    [resolution] = found["resolutions"]
    assert resolution["vintage"] == "2025-11-04T13:30:00Z"  # a day after its time, 8:30 in New York in winter
    assert found["question"]["query"]["expected"] == "2025-11-03T13:30:00Z"
    ticked(book, ledger, "2025-11-16T04:00:00Z")
    assert len(shown(ledger, late)["resolutions"]) == 1

    ticked(book, ledger, "2025-11-17T00:59:59Z")  # it was to be there at 8:50 in Tokyo, before the resolution
    assert shown(ledger, never)["state"] == "resolvable"
    ticked(book, ledger, "2025-11-17T01:00:00Z")
    found = shown(ledger, never)
    assert found["state"] == "void"
    assert "not published yet" in found["reason"]

    # What is restated is recorded, and decides nothing.
    ticked(book, ledger, "2025-12-22T04:00:00Z")
    asked = [one for names in week.values() for one in names]
    for number in range(45, 48):
        asked += [one.question.id for one in ledger.questions(f"{book.series.name}/2025-W{number}")]
    restated = [one for one in asked if "US:CPI.level.2025-10-31" in one]
    assert restated
    for question in restated:
        found = shown(ledger, question)
        first, later = found["resolutions"]
        assert (first["kind"], later["kind"]) == ("resolved", "vintage")
        assert later["truth"] == pytest.approx(1.5 * first["truth"])
        assert later["vintage"] == "2025-12-10T00:00:00Z"


def test_the_rounds_of_the_series_are_proved(
    rough_book: Book, ledger: LedgerClient, week: dict[str, list[str]]
) -> None:
    [(source, proof)] = prove_generation(rough_book, ledger, weeks=1)
    assert source == "season"
    assert proof.proved, proof.differences
    assert proof.questions == sum(map(len, week.values()))


def test_a_missed_week_is_made_up_for_by_the_others(smooth: Vault, tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path, smooth, quotas='"recurrent macro" = { US = 12 }', weeks=3)
    ticked(book, ledger, "2025-10-30T00:00:00Z")
    ledger.advance(book.series.clock_name, moment_ns("2025-11-13T00:00:00Z"))
    found = tick(book, ledger, None)

    assert ("missed", "2025-W45") in [(one.what, one.week) for one in found.actions]
    counts = [len(ledger.questions(f"{book.series.name}/2025-W{week}")) for week in (44, 45, 46)]
    assert counts[1] == 0
    assert counts[2] > counts[0]
    assert sum(counts) == 12


def test_a_season_that_lacks_questions_says_so(smooth: Vault, tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path, smooth, quotas='"recurrent corporate" = { UK = 40 }', weeks=1)
    found = ticked(book, ledger, "2025-10-30T00:00:00Z")
    [short] = [one.detail for one in found.actions if one.what == "short"]
    assert short.startswith("season lacks recurrent corporate UK ")


def test_where_clocks_were_set_back_the_deadline_is_an_hour_later(
    smooth: Vault, tmp_path: Path, ledger: LedgerClient
) -> None:
    """New York's Sunday of the first deadline has 25 hours: what Tokyo publishes in the meantime is not asked for."""
    book = begin(tmp_path, smooth, zone="America/New_York", weeks=1)
    ticked(book, ledger, "2025-10-30T12:00:00Z")
    asked = ledger.questions(f"{book.series.name}/2025-W44")
    assert {one.question.deadline_ns for one in asked} == {moment_ns("2025-11-03T04:59:00Z")}
    subjects = {str(one.question.query["subject"]) for one in asked}
    assert "US0" in subjects  # 13:30 UTC, after it
    assert "JP0" not in subjects  # 23:50 UTC of the day before
    ticked(book, ledger, "2025-11-10T14:00:00Z")
    assert {one.state for one in ledger.questions(f"{book.series.name}/2025-W44") if "US0" in one.question.id} == {
        "scored"
    }


def test_a_season_keeps_to_its_vault(smooth: Vault, rough: Vault, tmp_path: Path, ledger: LedgerClient) -> None:
    book = begin(tmp_path, smooth, quotas='"recurrent macro" = { US = 6 }', weeks=2)
    ticked(book, ledger, "2025-10-30T00:00:00Z")
    changed = tmp_path / "changed.toml"
    definition = (book.folder / "definition.toml").read_text()
    changed.write_text(definition.replace(vault_name(smooth), vault_name(rough)))
    Book.begin(changed, time.time_ns())
    [fault] = ticked(Book.find(book.series.name), ledger, "2025-11-06T00:00:00Z").faults
    assert "the season began with the vault findeepforecast@" in fault.reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vault": "findeepforecast"}, "with its digest after an @"),
        ({"vault": "bundled@c443f09c0eff"}, "is no vault of simulated-world"),
        ({"vault": "nothing@c443f09c0eff"}, "is no vault of a world"),
        ({"period": "yesterday"}, "expected a day such as"),
        ({"more": "x"}, "its query has 'more'"),
    ],
)
def test_what_no_world_can_resolve_is_refused(
    ledger: LedgerClient, week: dict[str, list[str]], changes: dict[str, str], said: str
) -> None:
    content = shown(ledger, week["US0"][0])["question"]
    provider = find_provider("simulated-world")
    question = Question.from_dict({**_plain(content), "query": {**content["query"], **changes}} | TIMES)
    with pytest.raises(UsageError, match=said):
        provider.check(question)


def test_by_the_real_clock_its_truths_are_known(ledger: LedgerClient, week: dict[str, list[str]]) -> None:
    content = shown(ledger, week["US0"][0])["question"]
    question = Question.from_dict({**_plain(content), "clock": REAL_CLOCK} | TIMES)
    with pytest.raises(UsageError, match="are known already"):
        find_provider("simulated-world").check(question)


def _plain(content: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "text", "form", "provider", "query", "unit", "measure", "category", "market", "rules", "clock")
    return {name: content[name] for name in (*names, "round") if name in content}
