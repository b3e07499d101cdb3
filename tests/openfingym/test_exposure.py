"""What tasks show and hide, which of them conflict, and that outside a conflict nothing hidden is shown.

The proof is by change: every cell of a real series that other tasks hide, outside a task's conflict group, is given
another value, and no byte of what the task shows may change. Where names of instruments tell less than the numbers do,
the series themselves are compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym import catalog, data
from openfingym.cli import cli
from openfingym.cli.task import _exposed
from openfingym.data import Panel
from openfingym.data.dataset import datasets
from openfingym.data.instruments import instrument
from openfingym.held_out import HELD_OUT, exposures, kept_apart, training_tasks
from openfingym.kinds import kind_of
from openfingym.kinds.exposing import exposure_of
from openfingym.kinds.qa_contract import qa_contract
from openfingym.packages.build import build
from openfingym.packages.exposure import exposure_of_package
from openfingym.suites.registry import find_suite
from openfingym.suites.suite import QuestionSet
from openfingym.task.exposure import NOTHING, Conflict, Exposure, conflicts, group_of

TASKS = {info.name: info for info in catalog.tasks()}
REAL = sorted(name for name, info in TASKS.items() if info.data_kind == "real" and info.family != "questions")
ASKED = sorted(name for name, info in TASKS.items() if info.kind == "qa")


@cache
def known() -> dict[str, Exposure | None]:
    return exposures(TASKS)


@cache
def met() -> tuple[Conflict, ...]:
    return tuple(conflicts(known()))


def of(name: str) -> Exposure:
    exposure = known()[name]
    assert exposure is not None, name
    return exposure


@cache
def on_given_tapes() -> dict[str, Exposure]:
    """What tasks of questions show and hide, of the world that all rollouts on given tapes share."""
    contracts = {name: qa_contract(catalog.load_task(name).spec.contract) for name in ASKED}
    return {name: one.asked_by.exposure(TASKS[name].dataset, one.chosen) for name, one in contracts.items()}


def test_two_tasks_conflict_if_one_shows_what_the_other_hides() -> None:
    day = "2020-01-{:02}".format
    early, late = ((day(1), day(9)),), ((day(10), day(20)),)
    tasks = {
        "hides": Exposure({"a": early}, {"a": late, "b": late}),
        "shows": Exposure({"a": ((day(20), day(31)),)}, {"a": early[:0]}),
        "beside": Exposure({"a": ((day(21), day(31)),), "c": late}, {"c": late}),
        "plays": Exposure({}, {}, {"a": late}),
        "unknown": None,
    }
    (found,) = conflicts(tasks)
    assert (found.tasks, found.instruments, found.days) == (("hides", "shows"), ("a",), (day(20), day(20)))
    assert str(found) == "a, 2020-01-20 to 2020-01-20"
    assert group_of("shows", [found]) == ("hides", "shows")
    assert group_of("beside", [found]) == ()


def test_an_instrument_has_one_name_in_all_datasets() -> None:
    infos = {info.name: info for info in datasets()}
    named = {(name, channel): instrument(infos[name], channel) for name in infos for channel in infos[name].channels}
    assert named["us-stocks-ohlcv", "aapl_adj_close"] == named["us-large-caps", "aapl"] == "share aapl"
    assert named["us-stocks-ohlcv", "ibm_low"] == "share ibm"
    assert named["goog-ohlcv", "volume"] == "share goog"
    assert named["ecb-fx", "usd_jpy"] == named["ecb-fx-8", "usd_jpy"] == "exchange rate usd_jpy"
    assert named["ust-par-yields", "5y"] == named["ust-par-yields-1993", "5y"]
    # Of a simulator no two datasets have a series in common.
    made = next(info for info in infos.values() if info.kind == "simulated")
    assert instrument(made, made.channels[0]) == f"{made.name} {made.channels[0]}"
    assert instrument(None, "aapl", "ab" * 32) == "abababababab aapl"


def test_series_that_move_alike_have_one_name() -> None:
    names, columns = [], []
    days = np.arange("1990-01-01", "2027-01-01", dtype="datetime64[D]")
    for info in datasets():
        panel = data.load_panel(info.name) if info.kind == "real" else None
        for place, channel in enumerate(panel.channels if panel else ()):
            if panel and not channel.endswith("volume"):
                values = panel.values[:, place]
                column = np.full(len(days), np.nan)
                rows = np.searchsorted(days, panel.times[1:].astype("datetime64[D]"))
                column[rows] = np.diff(values if info.measure == "yield" else np.log(values))
                names.append(instrument(info, channel))
                columns.append(column)
    moves = np.stack(columns)
    for place, name in enumerate(names):
        common = np.isfinite(moves) & np.isfinite(moves[place])
        same = np.nansum(np.abs(moves - moves[place]) < 1e-4, axis=1) / np.maximum(common.sum(axis=1), 200)
        assert {names[other] for other in np.flatnonzero(same > 0.9)} <= {name}, (name, same.max())


def test_finsearch_serves_the_series_that_others_hide_and_is_kept_apart_from_them() -> None:
    shown = of("finsearch").shows
    assert shown["US Department of the Treasury 5y"][-1][1] == "2019-08-26"
    assert shown["exchange rate eur_usd"][-1][1] > "2026-10"
    assert of("finsearch").hides == {}
    assert {"treasury-forecast", "fx-forecast", "equity-trading"} <= set(group_of("finsearch", met()))
    assert "finsearch" in kept_apart(["treasury-forecast"])
    assert {"treasury-forecast", "exchange-rate-forecast", "timegan-stock-generation"} <= kept_apart(["finsearch"])
    assert "finsearch" not in training_tasks("questions")
    assert "findeepforecast" in training_tasks("questions")


def test_contexts_of_windows_to_generate_are_played_and_not_shown() -> None:
    found, stock = of("us5-stock-generation"), "share aapl"
    assert found.shows[stock][-1][1] < "2003-04-01", "public files end with training"
    assert found.plays[stock][0][0] >= "2003-04-01"
    assert found.plays[stock][-1][1] > "2022-12-01"
    assert found.hides[stock][0][0] >= "2008-04-01"
    assert group_of("us5-stock-generation", met()) == ("finsearch", "us5-stock-generation")


def test_worlds_that_are_drawn_anew_are_hidden_from_nobody() -> None:
    for name in ASKED:
        drawn_anew = TASKS[name].dataset in {"mirai-simulated", "findeepforecast"}
        assert (of(name) == NOTHING) == drawn_anew
        assert group_of(name, met()) == () or not drawn_anew


def test_the_exposure_of_mirai_is_that_of_its_questions() -> None:
    suite = find_suite("mirai")
    for name in ASKED:
        if TASKS[name].dataset == "mirai-simulated":
            task = catalog.load_task(name)
            found = kind_of(task).load(task)
            assert isinstance(found, QuestionSet)
            exposure = on_given_tapes()[name]
            (hidden,), (shown,) = (days["world mirai-simulated of mirai"] for days in (exposure.hides, exposure.shows))
            assert all(hidden[0] <= str(question.query["date"]) <= hidden[1] for question in found.private)
            assert found.private[-1].as_of[:10] <= shown[1]
    assert suite.serves(suite.options({})) == ()


def test_imported_questions_show_what_their_tools_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "own.jsonl"
    times = ("2016-01-01", "2017-03-04")
    records = [{"id": time, "question": "Up?", "answer": "yes", "as_of": time} for time in times]
    file.write_text("\n".join(map(json.dumps, records)))
    CliRunner().invoke(cli, ["questions", "import", str(file), "--tools", "finsearch"], catch_exceptions=False)
    found = exposure_of(catalog.load_task(tmp_path / "own"))
    assert found.shows["US Department of the Treasury 5y"][-1][1] == "2017-03-04"
    assert found.hides == {}


@pytest.mark.parametrize(
    "name", ["treasury-forecast", "equity-trading", "stock-generation", "us5-stock-generation", "finsearch"]
)
def test_a_package_says_what_its_task_says(name: str) -> None:
    package = build(catalog.load_task(name))
    assert exposure_of_package(package, package.read_truth()) == of(name)


def test_the_command_says_what_is_shown_and_hidden_and_which_tasks_conflict() -> None:
    rows = json.loads(CliRunner().invoke(cli, ["tasks", "--json"], catch_exceptions=False).stdout)
    by_name = {row["name"]: row for row in rows}
    assert Exposure.of(by_name["treasury-forecast"]["exposure"]) == of("treasury-forecast")
    assert "US Department of the Treasury" in by_name["treasury-forecast"]["conflicts"]["finsearch"]
    assert by_name["findeepforecast"]["conflicts"] == {}
    text = CliRunner().invoke(cli, ["tasks", "--family", "questions"], catch_exceptions=False).stdout
    assert "finsearch conflicts with " in text
    assert "findeepforecast conflicts" not in text


def changed(hidden: Sequence[Exposure], name: str, channels: Sequence[str] | None = None) -> Panel:
    """A dataset in which every cell that one of some tasks hides has another value."""
    panel = load_panel(name, channels)
    values, days = panel.values.copy(), panel.times.astype("datetime64[D]")
    # Every other row: prices, and also what is computed from one row to the next, are others then.
    factor = 1.0 + 0.1 * (np.arange(len(days)) % 2)
    for place, channel in enumerate(panel.channels):
        for exposure in hidden:
            for first, last in exposure.hides.get(instrument(panel.info, channel), ()):
                rows = (days >= np.datetime64(first)) & (days <= np.datetime64(last))
                values[rows, place] = (panel.values[:, place] * factor)[rows]
    return replace(panel, values=values)


load_panel = data.load_panel


@pytest.mark.parametrize("name", REAL)
def test_no_file_of_another_task_tells_a_hidden_cell(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = catalog.load_task(name)
    kind, group = kind_of(task), {name, *group_of(name, met())}
    shown = kind.shape(task, kind.load(task)).public
    monkeypatch.setattr(data, "load_panel", partial(changed, [of(other) for other in REAL if other not in group]))
    again = kind.shape(task, kind.load(task)).public
    for array, found in shown.items():
        assert np.array_equal(found, again[array]), array
    # With the cells of its group, and all that it shows itself, changed too, it does change.
    everything = Exposure({}, of(name).shows)
    monkeypatch.setattr(data, "load_panel", partial(changed, [everything]))
    other = kind.shape(task, kind.load(task)).public
    assert any(not np.array_equal(found, other[array]) for array, found in shown.items())


def questions_of(name: str) -> QuestionSet:
    task = catalog.load_task(name)
    found = kind_of(task).load(task)
    assert isinstance(found, QuestionSet)
    return found


def told(name: str, other: str) -> int:
    """How many truths of another task the tools of a task tell as of its last question, when they know the most."""
    contract, theirs = (qa_contract(catalog.load_task(each).spec.contract) for each in (name, other))
    found, asked, suite = questions_of(name), questions_of(other), contract.asked_by
    lookup = suite.lookup(suite.vault(found.snapshot), found.private[-1], contract.chosen)
    pairs = zip(asked.private, asked.truths[-len(asked.private) :], strict=True)
    return sum(
        suite.reveals(question, truth, [lookup(*call) for call in suite.revealing(question, theirs.chosen)])
        for question, truth in pairs
    )


@pytest.mark.parametrize("name", ASKED)
def test_no_tool_of_another_task_tells_a_truth(name: str) -> None:
    # On given tapes, since on fresh ones the worlds are others.
    group = {name, *group_of(name, conflicts(on_given_tapes()))}
    suite = qa_contract(catalog.load_task(name).spec.contract).asked_by
    for other in ASKED:
        # Other suites search other worlds, whose questions these tools cannot even be asked.
        if other not in group and qa_contract(catalog.load_task(other).spec.contract).suite == suite.name:
            assert told(name, other) == 0, other
    # Of real series the tools serve what is declared, and nothing else.
    found = questions_of(name)
    vault = suite.vault(found.snapshot)
    assert vault is not None
    if "market" in {table.name for table in vault.manifest.tables}:
        rows = vault.as_of(found.private[-1].as_of).sql(
            "SELECT dataset, channel, CAST(min(date) AS VARCHAR) AS first, CAST(max(date) AS VARCHAR) AS last "
            "FROM market GROUP BY ALL"
        )
        infos = {info.name: info for info in datasets()}
        assert rows
        for row in rows:
            days = of(name).shows[instrument(infos[str(row["dataset"])], str(row["channel"]))]
            assert any(first <= str(row["first"]) and str(row["last"]) <= last for first, last in days), row


def test_within_a_group_tools_do_tell() -> None:
    assert told("mirai-relation-forecast", "mirai-relation-forecast-30d") > 50


def test_the_flagships_are_in_few_groups() -> None:
    flagships = {*HELD_OUT, "findeepforecast", "mirai-relation-forecast", "crypto-trading", "equity-trading"}
    pairs = {conflict.tasks for conflict in met() if set(conflict.tasks) <= {*flagships, "finsearch"}}
    # FinSearchComp asks about the real series that others forecast; beside it, shares are forecast and traded.
    assert {pair for pair in pairs if "finsearch" not in pair} <= {("equity-forecast", "equity-trading")}
    assert all({"mirai-relation-forecast", "findeepforecast"}.isdisjoint(pair) for pair in pairs)


def test_what_is_not_known_of_a_task_is_not_said_to_conflict_with_nothing() -> None:
    assert _exposed("own", None, []) == {"exposure": None, "conflicts": None}
    assert _exposed("own", NOTHING, [])["conflicts"] == {}
