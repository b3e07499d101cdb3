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
from openfingym.reports.seasons.reading import read_season
from openfingym.reports.seasons.records import SeasonRecords
from openfingym.rounds.book import Book, series_names
from openfingym.rounds.forecaster import Batch, Said, said_of
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.passes import first_name, passes_of
from openfingym.rounds.running import run
from openfingym.vault import Vault
from tests.openfingym.rounds.definitions import definition
from tests.openfingym.suites.findeepforecast.season.test_season_in_the_ledger import begin

WEEKS = 2


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


@pytest.fixture
def book(rough: Vault, tmp_path: Path) -> Book:
    return begin(tmp_path, rough, quotas='"recurrent corporate" = { US = 8 }', weeks=WEEKS)


@pytest.fixture
def played(book: Book, ledger: LedgerClient) -> dict[str, Any]:
    """The first pass with `a`, then `b` and `c`, each in a command of its own; then `a` again."""
    found: dict[str, Any] = {}
    for name, share in (("a", 0.0), ("b", 0.001), ("c", 0.5)):
        forecaster = Fixed(name, share)
        found[name] = (run(book, ledger, None, [forecaster]), forecaster)
    return found


def test_five_commands_make_one_season(book: Book, ledger: LedgerClient, verifier: Any, played: dict[str, Any]) -> None:
    outcomes = {name: outcome for name, (outcome, _) in played.items()}
    assert all(one.complete and not one.faults for one in outcomes.values())
    assert {name: [(new.agent, new.passed, new.number) for new in one.newcomers] for name, one in outcomes.items()} == {
        "a": [],
        "b": [("b", WEEKS, 2)],
        "c": [("c", WEEKS, 3)],
    }
    assert [one.series.name for one in passes_of(book)] == [book.series.name + more for more in ("", "+2", "+3")]
    assert book.series.name in series_names()
    assert not [name for name in series_names() if "+" in name]

    # Each was shown the same at the same moments, whichever pass it plays.
    shown = {name: forecaster.seen for name, (_, forecaster) in played.items()}
    assert shown["a"]
    assert shown["a"] == shown["b"] == shown["c"]

    # The report has all of them on the same questions, and the reference forecaster once.
    state = Path(verifier.state)
    (season,) = read_season(state, book.series.name, SeasonRecords(book.folder))
    assert [who.agent for who in season.forecasters] == ["a", "b", "c", "naive"]
    assert len(season.questions) == len({name for name, *_ in shown["a"]}) == season.took_part.shape[1]
    assert not [question.name for question in season.questions if "+" in question.name]
    assert season.took_part.all()
    a, b, c, _ = season.forecast
    assert np.allclose(b, a * 1.001, equal_nan=True)
    assert np.allclose(c, a * 1.5, equal_nan=True)
    # Accuracy of `b`, which differs from `a` by less than any tolerance, is that of `a`; `c` is further away.
    right = np.nansum(season.correct, axis=1)
    assert right[0] == right[1] > right[2]
    # The same command again asks nobody anything, in no pass.
    again = Fixed("b")
    assert run(book, ledger, None, [again, Fixed("a")]).complete
    assert not again.seen


def test_status_and_proof_are_of_every_pass(
    book: Book, verifier: Any, played: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", verifier.admin_token)

    def said(*arguments: str) -> Any:
        place = ["--verifier", str(verifier.uds)]
        done = CliRunner().invoke(cli, ["rounds", *arguments, book.series.name, *place], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    status = json.loads(said("status", "--json"))
    assert [one["pass"] for one in status["later_passes"]] == [2, 3]
    rounds = status["rounds"][:WEEKS]
    for one in status["later_passes"]:
        assert [row["questions"] for row in one["rounds"][:WEEKS]] == [row["questions"] for row in rounds]
        assert one["now"] == status["now"]
    assert said("status").count("next: ") == 3
    proofs = json.loads(said("prove", "--json"))["proofs"]
    assert [(one["pass"], one["week"], one["proved"]) for one in proofs] == [
        (number, week["round"], True) for number in (1, 2, 3) for week in rounds
    ]


def test_who_uses_others_sees_those_of_all_passes(book: Book, ledger: LedgerClient, played: dict[str, Any]) -> None:
    follower = Fixed("follower", uses_others=True)
    run(book, ledger, None, [follower])
    assert follower.seen
    everybody, reference = ("local/a", "local/b", "local/c", "local/naive"), ("local/naive",)
    # A question whose truth came early takes no forecasts but those that were entered before.
    assert {tuple(others) for *_, others in follower.seen} == {everybody, reference}


def test_newcomers_of_one_command_share_a_pass_with_none_who_has_begun(
    rough: Vault, tmp_path: Path, ledger: LedgerClient, verifier: Any
) -> None:
    book = begin(tmp_path, rough, quotas='"recurrent corporate" = { US = 8 }', weeks=WEEKS)
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
    book = begin(tmp_path, rough, quotas='"recurrent corporate" = { US = 8 }', weeks=WEEKS)
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
    book = begin(tmp_path, rough, quotas='"recurrent corporate" = { US = 8 }', weeks=1)
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
