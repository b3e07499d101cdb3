"""``openfingym rounds verdicts`` and ``prove``, as an operator uses them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.errors import UsageError
from openfingym.questions.question import moment_ns
from openfingym.rounds.book import Book
from openfingym.rounds.ledger import LedgerClient
from openfingym.rounds.tick import tick
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.rounds.definitions import definition

GENERATOR = """
from datetime import date

from openfingym.rounds import Options
from openfingym_suites.findeepforecast.problem import ForecastEvent, ForecastProblem


class Silent:
    '''A world in which nothing is reported.'''

    simulated = True

    def __init__(self, as_of):
        self.as_of = as_of

    def news(self, begin, end):
        return []


class Judged:
    options = Options

    def make(self, one, options):
        for key in ("first", "second"):
            yield one.question(key, text=f"Does the {key} happen?", form="probability", settled_ns=one.after(5),
                               provider="manual", category=options.category, market=options.market)

    def problem(self, question):
        return ForecastProblem(
            key=question.id.rpartition("/")[2], text=question.text, track="non-recurrent", level="macro", market="US",
            horizon="week", subtype="strike", about=ForecastEvent("US", "A1", "", "happens", 0.0, date(2026, 11, 3)),
            generated_ns=question.generated_ns, deadline_ns=question.deadline_ns, settled_ns=question.evaluation_ns)

    def world(self, options, as_of, vault=""):
        return Silent(as_of)


GENERATOR = Judged()
"""
SOURCE = 'generator = "judged.py"\ncategory = "events"\nmarket = "US"\n'


@pytest.fixture
def judged(
    tmp_path: Path, verifier: EmbeddedVerifier, ledger: LedgerClient, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The place of a verifier whose series waits for two verdicts."""
    (tmp_path / "judged.py").write_text(GENERATOR)
    path = tmp_path / "judged.toml"
    path.write_text(definition("judged", title="What a person decides (SIMULATED)", more="weeks = 1", source=SOURCE))
    tick(Book.begin(path, time.time_ns()), ledger, None, moment_ns("2026-11-10T00:00:00Z"))
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", verifier.admin_token)
    return ["--verifier", str(verifier.uds)]


def test_what_waits_is_proposed_decided_once_and_entered(judged: list[str], ledger: LedgerClient) -> None:
    def verdicts(*arguments: str) -> Any:
        done = CliRunner().invoke(cli, ["rounds", "verdicts", *judged, *arguments, "--json"], catch_exceptions=False)
        return json.loads(done.stdout)

    first, second = (f"judged/2026-W44/judged/{key}" for key in ("first", "second"))
    waiting = verdicts()["cases"]
    assert [(one["question"], one["state"]) for one in waiting] == [(first, "pending"), (second, "pending")]
    assert waiting[0]["proposal"]["outcome"] == "NO"  # nothing was reported, and the last day has passed
    assert ledger.state(first) == "resolvable"  # a proposal decides nothing

    opinion = ("--as", "YES", "--by", "alice", "--reason", "she saw it")
    assert verdicts("--decide", first, *opinion)["cases"][0]["entered"] is True
    assert ledger.state(first) == "scored"
    with pytest.raises(UsageError, match="was decided YES by alice"):
        verdicts("--decide", first, *opinion)
    with pytest.raises(UsageError, match="needs --as, --by and --reason"):
        verdicts("--decide", second)

    verdicts("--opinions", "2", "--decide", second, "--as", "NO", "--by", "alice", "--reason", "she did not see it")
    (case,) = verdicts("--opinions", "2", "--decide", second, "--as", "YES", "--by", "bob", "--reason", "I did")[
        "cases"
    ]
    assert (case["state"], ledger.state(second)) == ("disputed", "resolvable")
    final = ("--as", "NO", "--by", "carol", "--reason", "bob was not there", "--final")
    assert verdicts("--opinions", "2", "--decide", second, *final)["cases"][0]["outcome"] == "NO"
    found = verdicts("--all")
    assert found["agreement"]["share"] == 0.5  # of two proposals of NO, one verdict agrees
    assert ledger.state(second) == "scored"


def test_what_no_vault_generates_cannot_be_proved(judged: list[str]) -> None:
    with pytest.raises(UsageError, match="none of its sources generates from a vault"):
        CliRunner().invoke(cli, ["rounds", "prove", *judged], catch_exceptions=False)
