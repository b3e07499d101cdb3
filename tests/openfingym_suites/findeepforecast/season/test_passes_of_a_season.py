"""Who comes to a season after its deadlines plays it once more, and is compared with others on the same questions."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.rounds.book import Book, series_names
from openfingym.rounds.forecaster import Batch, Said, said_of
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.passes import first_name, passes_of
from openfingym.rounds.running import SeriesOutcome, run
from openfingym.vault import Vault
from openfingym.verifiers.client import VerifierClient
from openfingym_suites.seasons.reading import read_season
from openfingym_suites.seasons.records import SeasonRecords
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.rounds.definitions import definition
from tests.openfingym_suites.findeepforecast.season.test_season_in_the_ledger import begin

WEEKS = 2
QUOTAS = '"recurrent corporate" = { US = 8 }'


@dataclass
class Fixed:
    """Says the last value, moved by a share of it, and notes what it was shown."""

    name: str
    share: float = 0.0
    version: str = "1"
    uses_others: bool = False
    seen: list[Any] = field(default_factory=list)

    def forecast(self, batch: Batch) -> None:
        for one in batch.asked:
            assert one.problem is not None
            assert one.world is not None
            self.seen.append((first_name(one.question.id), one.question.text, batch.as_of, sorted(one.others)))
            about = one.problem.about
            (last,) = one.world.history(about.subject, about.measure, 1)
            answer = {"value": last.value * (1 + self.share), "unit": one.question.unit}
            batch.keep(said_of(one.question, answer))


@dataclass
class Played:
    """A season after five commands, which tests only read."""

    book: Book
    outcomes: dict[str, SeriesOutcome] = field(default_factory=dict)
    """Of the first pass with `a`, of `b` and `c`, who come later one by one, and of `b` and `a` once more."""
    seen: dict[str, list[Any]] = field(default_factory=dict)
    """What each was shown."""


@pytest.fixture(scope="module")
def played(rough: Vault, verifier: EmbeddedVerifier, tmp_path_factory: pytest.TempPathFactory) -> Played:
    found = Played(begin(tmp_path_factory.mktemp("season"), rough, quotas=QUOTAS, weeks=WEEKS))
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client:
        for name, forecasters in {
            "a": [Fixed("a")],
            "b": [Fixed("b", 0.001)],
            "c": [Fixed("c", 0.5)],
            "again": [Fixed("b"), Fixed("a")],
            "follower": [Fixed("follower", uses_others=True)],
        }.items():
            found.outcomes[name] = run(found.book, LedgerClient(client), None, forecasters)
            found.seen[name] = forecasters[0].seen
    return found


def test_five_commands_make_one_season(verifier: EmbeddedVerifier, played: Played) -> None:
    book, outcomes = played.book, played.outcomes
    assert all(one.complete and not one.faults for one in outcomes.values())
    assert {name: [(new.agent, new.passed, new.number) for new in one.newcomers] for name, one in outcomes.items()} == {
        "a": [],
        "b": [("b", WEEKS, 2)],
        "c": [("c", WEEKS, 3)],
        "again": [],
        "follower": [("follower", WEEKS, 4)],
    }
    assert [one.series.name for one in passes_of(book)] == [book.series.name + more for more in ("", "+2", "+3", "+4")]
    assert book.series.name in series_names()
    assert not [name for name in series_names() if "+" in name]

    # Each was shown the same at the same moments, whichever pass it plays.
    assert played.seen["a"]
    assert played.seen["a"] == played.seen["b"] == played.seen["c"]
    assert not played.seen["again"], "the same command again asks nobody anything, in no pass"

    # The report has all of them on the same questions, and the reference forecaster once.
    state = Path(verifier.state)
    (season,) = read_season(state, book.series.name, SeasonRecords(book.folder))
    assert [who.agent for who in season.forecasters] == ["a", "b", "c", "follower", "naive"]
    assert len(season.questions) == len({name for name, *_ in played.seen["a"]}) == season.took_part.shape[1]
    assert not [question.name for question in season.questions if "+" in question.name]
    assert season.took_part.all()
    a, b, c, *_ = season.forecast
    assert np.allclose(b, a * 1.001, equal_nan=True)
    assert np.allclose(c, a * 1.5, equal_nan=True)
    # Accuracy of `b`, which differs from `a` by less than any tolerance, is that of `a`; `c` is further away.
    right = np.nansum(season.correct, axis=1)
    assert right[0] == right[1] > right[2]


def test_status_and_proof_are_of_every_pass(
    verifier: EmbeddedVerifier, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", verifier.admin_token)

    def said(*arguments: str) -> Any:
        place = ["--verifier", str(verifier.uds)]
        name = played.book.series.name
        done = CliRunner().invoke(cli, ["rounds", *arguments, name, *place], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    status = json.loads(said("status", "--json"))
    assert [one["pass"] for one in status["later_passes"]] == [2, 3, 4]
    rounds = status["rounds"][:WEEKS]
    for one in status["later_passes"]:
        assert [row["questions"] for row in one["rounds"][:WEEKS]] == [row["questions"] for row in rounds]
        assert one["now"] == status["now"]
    assert said("status").count("next: ") == 4
    proofs = json.loads(said("prove", "--json"))["proofs"]
    assert [(one["pass"], one["week"], one["proved"]) for one in proofs] == [
        (number, week["round"], True) for number in (1, 2, 3, 4) for week in rounds
    ]


def test_who_uses_others_sees_those_of_all_passes(played: Played) -> None:
    everybody, reference = ("local/a", "local/b", "local/c", "local/naive"), ("local/naive",)
    # A question whose truth came early takes no forecasts but those that were entered before.
    assert {tuple(others) for *_, others in played.seen["follower"]} == {everybody, reference}


def test_newcomers_of_one_command_share_a_pass_with_none_who_has_begun(
    rough: Vault, tmp_path: Path, ledger: LedgerClient, verifier: Any
) -> None:
    book = begin(tmp_path, rough, quotas=QUOTAS, weeks=WEEKS)
    run(book, ledger, None, [Fixed("a")], weeks=1)
    done = run(book, ledger, None, [Fixed("a"), Fixed("b"), Fixed("c")], weeks=WEEKS)
    assert [(new.agent, new.passed, new.number) for new in done.newcomers] == [("b", 1, 2), ("c", 1, 2)]
    counts = {(one.agent, one.week): sum(one.counts.values()) for one in done.forecasts}
    assert {agent for agent, _ in counts} == {"a", "b", "c"}
    # `a` goes on with the second week; the others begin with the first.
    assert [sorted(week for agent, week in counts if agent == name) for name in "abc"] == [
        ["2025-W45"],
        ["2025-W44", "2025-W45"],
        ["2025-W44", "2025-W45"],
    ]


def test_a_truth_that_another_pass_lacks_yet_makes_nobody_wrong(
    rough: Vault, tmp_path: Path, ledger: LedgerClient, verifier: Any
) -> None:
    book = begin(tmp_path, rough, quotas=QUOTAS, weeks=WEEKS)
    run(book, ledger, None, [Fixed("a")])
    run(book, ledger, None, [Fixed("b")], weeks=1)
    (season,) = read_season(Path(verifier.state), book.series.name, SeasonRecords(book.folder))
    mine = {who.agent: line for line, who in enumerate(season.forecasters)}
    judged = np.isfinite(season.correct)
    asked = season.took_part & np.array([question.is_scored for question in season.questions])
    assert asked[mine["a"]].any()
    for name in "ab":
        assert (judged[mine[name]] == asked[mine[name]]).all(), name


def test_a_definition_that_was_changed_is_not_taken_for_the_same_question(
    rough: Vault, tmp_path: Path, ledger: LedgerClient, verifier: Any
) -> None:
    book = begin(tmp_path, rough, quotas=QUOTAS, weeks=1)
    run(book, ledger, None, [Fixed("a")])
    path = book.folder / "definition.toml"
    path.write_text(path.read_text().replace('deadline = "Sunday 23:59"', 'deadline = "Sunday 20:00"'))
    run(Book(book.folder), ledger, None, [Fixed("b")])
    (season,) = read_season(Path(verifier.state), book.series.name, SeasonRecords(book.folder))
    assert "b" not in {who.agent for who in season.forecasters}


EVENTS = """generator = "simulated"
category = "events"
market = "US"
horizons_days = [1]
events = ["Does it rain"]
"""


class Declines(Fixed):
    """Has nothing to say."""

    def forecast(self, batch: Batch) -> None:
        for one in batch.asked:
            batch.keep(Said(one.question.id, "declined"))


def test_where_truths_are_drawn_anew_a_newcomer_takes_what_is_left_or_is_told_so(
    tmp_path: Path, ledger: LedgerClient
) -> None:
    path = tmp_path / "drawn.toml"
    path.write_text(definition("drawn", clock="simulated", more="weeks = 2", source=EVENTS))
    book = Book.begin(path, time.time_ns())
    run(book, ledger, None, [Declines("a")], weeks=1)
    joined = run(book, ledger, None, [Declines("b")])
    assert [(new.agent, new.passed, new.number) for new in joined.newcomers] == [("b", 1, 1)]
    assert [one.week for one in joined.forecasts] == ["2026-W45"]
    with pytest.raises(UsageError, match=r"^c: all deadlines of drawn have passed.*name all agents and models"):
        run(book, ledger, None, [Declines("c")])
    assert len(passes_of(book)) == 1
