"""What ran outside isolation is marked in every table and page, shares no row with what was isolated, and can be left
out.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import openfingym
from openfingym.agents import resolve
from openfingym.cli import cli
from openfingym.cli.rollout_tables import _ended
from openfingym.cli.run_results import print_results
from openfingym.errors import UsageError
from openfingym.reports.html import render
from openfingym.reports.report import make_report
from openfingym.reports.rollout.pages import write_pages
from openfingym.reports.runs import find_runs
from openfingym.results import RolloutResult, read_run
from openfingym.results.faults import fault_of
from openfingym.results.result import ISOLATION_IN_WORDS, LEAST_ISOLATED, RolloutResults
from tests.openfingym.reports.made import runs, scored, write

OUTSIDE = scored(0.3, agent="command", isolation="outside")
EVERY = (
    OUTSIDE,
    scored(0.5, agent="ridge", isolation="inside"),
    scored(0.6, agent="react", isolation="programs inside"),
    scored(0.6, agent="coder", isolation="model inside"),
    scored(0.9, agent="naive", isolation="none"),
    scored(0.4, agent="older", isolation=None),
)
MARK = "command (outside)"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=True)


def test_every_table_and_page_has_the_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = write(tmp_path / "runs", *EVERY)
    found = find_runs([tmp_path / "runs"])
    report = make_report(found)
    names = {str(row["agent"]) for row in report.to_dict()["cells"]}  # type: ignore[attr-defined]
    assert names == {MARK, "ridge", "react", "coder", "naive", "older"}
    for text in (
        render(report, found.results, ["x"] * len(found.results)),
        report.to_csv(),
        report._repr_html_(),
        RolloutResults(EVERY)._repr_html_(),
        OUTSIDE._repr_html_(),
        write_pages(tmp_path / "pages", [(folders[0], OUTSIDE), (folders[1], EVERY[1])]).read_text(),
        invoke("report", tmp_path / "runs", "--tasks").stdout,
        invoke("view", tmp_path / "runs").stdout,
        invoke("view", folders[0]).stdout,
    ):
        assert MARK in text
        assert "ridge (outside)" not in text
    page = tmp_path / "page.html"
    invoke("view", folders[0], "--html", page)
    assert MARK in page.read_text()
    assert ISOLATION_IN_WORDS["outside"] in page.read_text()
    print_results([run for run in found.results if run.agent == "command"])
    told = capsys.readouterr().out
    assert MARK in told
    assert ISOLATION_IN_WORDS["outside"] in told


@pytest.mark.parametrize(("isolation", "words"), ISOLATION_IN_WORDS.items())
def test_a_single_run_says_what_was_isolated(tmp_path: Path, isolation: str | None, words: str) -> None:
    (folder,) = write(tmp_path, scored(0.5, isolation=isolation))
    assert read_run(folder).isolation == isolation
    assert f"in isolation ran: {words}" in invoke("view", folder).stdout
    assert words in read_run(folder)._repr_html_().replace("&#x27;", "'")


def test_isolated_and_other_runs_of_one_agent_share_no_row() -> None:
    every = [scored(0.5, agent="mine", seed=seed, isolation=("inside", "outside")[seed % 2]) for seed in range(4)]
    report = make_report(runs(*every))
    assert sorted((cell.row, cell.counts.scored) for cell in report.cells) == [
        (("mine", "-"), 2),
        (("mine (outside)", "-"), 2),
    ]
    rows = {cell.row for cell in make_report(runs(*EVERY), by=("isolation",)).cells}
    assert rows == {("outside",), ("inside",), ("programs inside",), ("model inside",), ("none",), ("unknown",)}


def test_the_report_says_what_it_could_not_rely_on() -> None:
    said = [caution.sentence for caution in make_report(runs(*EVERY)).cautions if caution.concern == "isolation"]
    outside = "ran outside isolation, with the rights of whoever launched it, who could read hidden data"
    assert said == [
        f"On real data 1 run (command) {outside}; leave such runs out with --isolated-only",
        "On real data of 1 run (older) it is not known what ran outside isolation",
    ]
    assert not any(caution.concern == "isolation" for caution in make_report(runs(*EVERY[1:5])).cautions)


def test_a_board_can_refuse_what_was_not_isolated(tmp_path: Path) -> None:
    write(tmp_path / "all", *EVERY)
    found = find_runs([tmp_path / "all"], isolated_only=True)
    assert sorted(run.agent for run in found.results) == ["coder", "react", "ridge"]
    assert sorted(run.agent for run in found.outside) == ["command", "naive", "older"]
    report = make_report(found)
    (said,) = [caution.sentence for caution in report.cautions if caution.concern == "isolation"]
    assert said == "3 runs ran outside isolation, or may have (command, naive, older), and are in no figure"
    told = invoke("report", tmp_path / "all", "--isolated-only", "--json")
    document = json.loads(told.stdout)
    assert {row["agent"] for row in document["cells"]} == {"coder", "react", "ridge"}
    write(tmp_path / "none", OUTSIDE, EVERY[-1])
    with pytest.raises(UsageError, match="of none of 2 runs is it stated"):
        find_runs([tmp_path / "none"], isolated_only=True)


def test_a_word_that_nobody_knows_is_no_isolation(tmp_path: Path) -> None:
    (folder,) = write(tmp_path, OUTSIDE)
    path = folder / "result.json"
    for word in ("isolated", "", 1, ["inside"], True):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"isolation": word}))
        (damaged,) = find_runs([tmp_path]).damaged
        assert "its isolation is" in damaged.reason
    document = json.loads(path.read_text())
    del document["isolation"]
    path.write_text(json.dumps(document))
    older = read_run(folder)
    assert (older.isolation, fault_of(older)) == (None, None)


def test_the_least_isolated_of_several_counts() -> None:
    assert set(LEAST_ISOLATED) == set(ISOLATION_IN_WORDS)
    for less, more in itertools.pairwise(LEAST_ISOLATED):
        several = [scored(0.5, seed=seed, isolation=one) for seed, one in enumerate((more, less, more))]
        assert _ended(several).isolation == less


def test_rows_for_programs_have_it_too(tmp_path: Path) -> None:
    write(tmp_path, *EVERY)
    frame = openfingym.read_runs(tmp_path)
    stated = dict(zip(frame["agent"], frame["isolation"].fillna("-"), strict=True))
    assert stated == {run.agent: run.isolation or "-" for run in EVERY}


def test_a_command_on_this_machine_is_outside_whatever_isolates_its_programs(tmp_path: Path) -> None:
    command = resolve("command", command=["sh", "-c", 'echo \'{"type": "end"}\''])
    result = openfingym.run("treasury-forecast", command, backend="sandbox", out=tmp_path)
    assert isinstance(result, RolloutResult)
    assert (result.backend, result.isolation) == ("sandbox", "outside")
    assert json.loads((tmp_path / result.rollout_id / "result.json").read_text())["isolation"] == "outside"
