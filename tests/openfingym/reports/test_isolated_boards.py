"""Boards of rounds and seasons mark forecasters of which something ran outside isolation, and can leave them out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import openfingym_suites
from openfingym.agents import resolve
from openfingym.agents.forecasting.command import CommandForecaster
from openfingym.agents.forecasting.model import ModelForecaster
from openfingym.cli import cli
from openfingym.cli.rounds_place import publisher
from openfingym.reports.forecasts.columns import ForecasterId
from openfingym.reports.forecasts.isolation import StatedIsolation
from openfingym.rounds.book import Book
from openfingym.rounds.forecaster import ProgramForecaster, Said, find_program, isolation_of
from openfingym.rounds.records import Records
from tests.openfingym.reports.forecasts.made import Said as Scored
from tests.openfingym.reports.forecasts.made import ledger
from tests.openfingym.rounds.definitions import definition
from tests.openfingym_suites.seasons.made import SERIES, Asked, season_ledger
from tests.openfingym_suites.seasons.test_season_tables import line, records

STATED = {"command": "outside", "react": "programs inside", "older": None, "consensus": "none", "odd": ["inside"]}
"""What is on record of each of the operator's agents; ``guest`` is another principal's, and ``naive`` a reference."""
LEFT_OUT = ["command", "consensus", "guest", "odd", "older"]
TOLD = (
    "1 forecaster (command) ran outside isolation, with the rights of whoever launched it, who could read hidden data",
    "Of 3 forecasters (guest, odd, older) it is not known what ran outside isolation.",
)


def begin(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = SERIES) -> Book:
    """A series of a store of its own, with records of what was isolated."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(folder / "home"))
    file = folder / f"{name}.toml"
    schedule = {"generate": "Thursday 00:00", "deadline": "Sunday 00:00"}
    file.write_text(definition(name, timezone="UTC", start="2025-10-27T00:00:00Z", **schedule))
    book = Book.begin(file, time.time_ns())
    # The records of its own agent are no statement on a participant's of the same name.
    stated = {**STATED, "guest": "inside"}
    lines = {
        agent: [line("q", **({} if isolation is None else {"isolation": isolation}))]
        for agent, isolation in stated.items()
    }
    records(book.folder, **lines)
    return book


def boards(folder: Path, *more: str) -> list[str]:
    """Every form of the board that each command draws of a ledger, in the order of commands and forms."""
    drawn = []
    for words in (("rounds", "report", SERIES), ("ledger", "report")):
        command = [*words, "--state-folder", str(folder), *more]
        for form in (["--html", str(folder / "page.html")], ["--json"]):
            shown = CliRunner().invoke(cli, [*command, *form], catch_exceptions=False)
            assert shown.exit_code == 0
            drawn.append(shown.output)
        drawn.append((folder / "page.html").read_text())
    return drawn


def check(folder: Path, book: Book) -> None:
    """Check every board of a ledger, with and without forecasters that were not isolated, and the published page."""
    for text in boards(folder):
        if text.startswith("{"):
            assert [who for who, one in _stated(text) if one == "outside"] == ["command"]
            continue
        assert all(sentence in " ".join(text.split()) for sentence in TOLD)
        assert "command (outside)" in text
        assert all(f"{who} (outside)" not in text for who in (*STATED, "guest", "naive") if who != "command")
    for text in boards(folder, "--isolated-only"):
        if text.startswith("{"):
            assert {who for who, _ in _stated(text)} == {"react", "naive"}
            document = json.loads(text)
            of = document["seasons"][0] if "seasons" in document else document
            assert sorted(who["agent"] for who in of["left_out"]) == LEFT_OUT
        else:
            told = f"5 forecasters ({', '.join(LEFT_OUT)}) ran outside isolation, or may have, and are in no figure."
            assert told in " ".join(text.split())
            assert "(outside)" not in text
    times = next(book.series.schedule.rounds(book.series.zone, book.since_ns, 2**62))
    for isolated_only in (False, True):
        publisher(book, folder, isolated_only=isolated_only)(times, time.time_ns())
        page = (book.folder / times.week / "report.html").read_text()
        assert ("command (outside)" in page) is not isolated_only


def _stated(text: str) -> list[tuple[str, str | None]]:
    document = json.loads(text)
    parts = document.get("seasons") or document["tracks"]
    return [(row["forecaster"]["agent"], row["isolation"]) for part in parts for row in part["rows"]]


def test_boards_of_seasons_mark_or_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = begin(tmp_path, monkeypatch)
    said: dict[str | tuple[str, str], float] = dict.fromkeys((*STATED, "naive", ("guest", "guest")), 0.4)
    folder = season_ledger(tmp_path / "ledger", [Asked("q", "non-recurrent macro", said=said)])
    check(folder, book)
    command = ["ledger", "show", f"{SERIES}/2025-W44/source/q", "--state-folder", str(folder)]
    shown = CliRunner().invoke(cli, command, catch_exceptions=False).output
    assert shown.count("(outside)") == shown.count("command (outside)") == 1
    document = json.loads(CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False).stdout)
    stated = {one["agent"]: one["isolation"] for one in document["forecasts"]}
    assert [agent for agent, word in stated.items() if word == "outside"] == ["command"]
    assert (stated["react"], stated["guest"], stated["naive"]) == ("programs inside", None, "none")
    table = openfingym_suites.read_season(SERIES, state_folder=folder)
    stated = dict(zip(table["agent"], table["isolation"].fillna("-"), strict=True))
    assert stated == {
        **{agent: word if isinstance(word, str) else "-" for agent, word in STATED.items()},
        "guest": "-",
        "naive": "none",
    }


def test_boards_of_other_rounds_mark_or_leave_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = begin(tmp_path, monkeypatch)
    operators = [Scored(who, "q", 0.4, 1.0, f"{SERIES}/2025-W44") for who in (*STATED, "naive")]
    guest = Scored("guest", "q", 0.4, 1.0, f"{SERIES}/2025-W44", principal="guest")
    (tmp_path / "ledger").mkdir()
    check(ledger(tmp_path / "ledger", [*operators, guest]), book)


def test_a_statement_holds_for_the_rounds_of_its_records() -> None:
    stated = StatedIsolation()
    for question, isolation in (("s/1/a/q", "inside"), ("s+2/2/a/q", "inside"), ("s/2/a/r", "none"), ("s/4/a/q", "in")):
        stated.add({"question": question, "agent": "a", "version": "1", "isolation": isolation})
    stated.add({"question": 1, "agent": "a", "version": "1", "isolation": "inside"})
    who = ForecasterId("a", "1", "operator")
    for rounds, expected in (
        (["s/1"], "inside"),
        (["s/2"], "none"),  # the least of both passes
        (["s+7/1", "s/2"], "none"),
        (["s/1", "s/3"], None),  # of the third there is no record: what ran there is not known
        (["s/4"], None),
        ([""], None),
        ([], None),
    ):
        assert stated.of(who, rounds) == expected, rounds
    assert stated.of(who._replace(principal="guest"), ["s/1"]) is None
    assert stated.of(who._replace(version="2"), ["s/1"]) is None


class Boasting:
    """A program, and a forecaster, of somebody else."""

    name = version = "boasting"
    uses_others = False
    isolation = "inside"

    def forecast(self, *_: object) -> None: ...


def test_who_plays_a_series_states_what_runs_in_isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, nothing = cast("Any", Boasting()), cast("Any", None)
    of_model = ModelForecaster(resolve("direct"), nothing, nothing, nothing, nothing, nothing)
    for forecaster, expected in (
        (find_program("seasonal"), "none"),
        (ProgramForecaster(theirs), "outside"),
        (theirs, "outside"),
        (CommandForecaster(("true",)), "outside"),
        (of_model, "programs inside"),
        (ModelForecaster(cast("Any", Boasting()), nothing, nothing, nothing, nothing, nothing), "outside"),
    ):
        if isinstance(forecaster, ModelForecaster) and forecaster is not of_model:
            monkeypatch.setattr(Boasting, "acts", theirs, raising=False)
        assert isolation_of(forecaster) == expected
    # A forecaster's own record does not replace it.
    with Records(tmp_path / "a.jsonl", "a", "1", "outside") as kept:
        kept.keep(Said("s/1/a/q", "declined", record={"isolation": "inside"}), 0)
    assert json.loads((tmp_path / "a.jsonl").read_text())["isolation"] == "outside"
