"""``openfingym report RUN...``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from openfingym.cli import main
from openfingym.reports.report import make_report
from openfingym.reports.runs import find_runs
from tests.openfingym.reports.made import HOSTILE, OWN_DATA, failed, scored, write

ROOT = Path(__file__).parents[3]
TASKS = list(OWN_DATA)


@pytest.fixture
def folder(tmp_path):
    results = [
        scored(0.5 if agent == "ridge" else 0.9, agent=agent, task=task)
        for agent in ("ridge", "naive")
        for task in TASKS
    ]
    write(tmp_path / "runs", *results, failed("error", reason="ours"))
    return tmp_path / "runs"


@pytest.fixture
def invoke(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["openfingym", "report", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            main()
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return call


def test_folders_are_taken_directly(invoke, folder):
    status, out, err = invoke(folder)
    assert (status, err) == (0, "")
    assert out.startswith("Real data\n")
    for words in (
        "Skill by family",
        "Reward and success by family",
        "+0.500",
        "+0.100",
        "1 error",
        "error: verifier",
        "13 runs",
    ):
        assert words in out
    assert "ridge is better than naive on real data: its loss is 44.4% lower" in out
    assert "Every task" not in out
    assert invoke("compare", folder) == (status, out, err)


def test_options_may_come_first(invoke, folder):
    assert "fx-forecast-v2" in invoke("--tasks", folder)[1]
    status, out, _ = invoke("--json", "--by", "agent", folder)
    assert status == 0
    found, expected = json.loads(out), json.loads(json.dumps(make_report(find_runs([folder]), ("agent",)).to_dict()))
    # A second may have begun between the two.
    assert found | {"made_at": None} == expected | {"made_at": None}


def test_a_folder_may_be_called_runs(invoke, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert "13 runs" in invoke("runs")[1]


def test_the_page_and_the_csv_are_written(invoke, folder, tmp_path):
    status, out, _ = invoke(folder, "--html", tmp_path / "page.html", "--csv", tmp_path / "cells.csv")
    assert status == 0
    assert out.endswith(f"{tmp_path / 'cells.csv'}\n{tmp_path / 'page.html'}\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "cells.csv").read_text(encoding="utf-8") == make_report(find_runs([folder])).to_csv()


def test_each_run_has_a_page_and_links_survive_moving_both(invoke, folder, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    assert invoke(folder, "--html", site / "a #1.html", "--pages")[0] == 0
    site = site.rename(tmp_path / "moved")
    report = (site / "a #1.html").read_text(encoding="utf-8")
    links = [unquote(link) for link in re.findall(r'href="([^#"][^"]*)"', report)]
    assert len(links) == len(set(links)) == 13
    for link in links:
        back = re.search(r'href="([^#"][^"]*)"', (site / link).read_text(encoding="utf-8"))
        assert back is not None
        assert (site / link).parent.joinpath(unquote(back[1])).resolve() == site / "a #1.html"
    # What failed is listed with its reason before any figure, and its page says it too.
    first = report[report.index('id="failed"') : report.index('id="runs"')]
    assert "ours" in first
    assert len(re.findall("<a ", first)) == 1
    assert "ours" in (site / links[0]).read_text(encoding="utf-8")
    status, _, err = invoke(folder, "--pages")
    assert (status, "--pages goes with --html" in err) == (2, True)


def test_without_pages_failed_runs_are_listed_too(invoke, folder, tmp_path):
    invoke(folder, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Failed runs" in page
    assert not re.findall(r'href="[^#]', page)
    assert not (tmp_path / "page-pages").exists()


def test_what_cannot_be_done_is_said(invoke, folder, tmp_path):
    assert invoke(tmp_path / "missing")[0] == 2
    (tmp_path / "empty").mkdir()
    status, _, err = invoke(tmp_path / "empty")
    assert (status, "no run was found" in err) == (2, True)
    status, _, err = invoke(folder, "--html", tmp_path / "no" / "page.html")
    assert (status, "choose another file" in err) == (6, True)


def test_damaged_runs_are_named_and_names_cannot_steer_the_terminal(invoke, tmp_path):
    hostile = f"\x1b[31m{HOSTILE}"
    good, bad = write(tmp_path, scored(0.5, agent=hostile), scored(0.5, seed=1))
    (bad / "result.json").write_text("{")
    status, out, _ = invoke(tmp_path, "--tasks")
    assert status == 0
    assert f"damaged, in no figure: {bad / 'result.json'}" in out
    assert "\x1b" not in out
    assert "[/red]" in out
    assert good.exists()


@pytest.mark.parametrize("command", ["baselines", "tearsheet", "surface", "compare"])
def test_other_reports_are_still_there(invoke, command):
    status, out, _ = invoke(command, "--help")
    assert (status, f"report {command}" in out) == (0, True)


def test_help_of_the_group_is_not_a_folder(invoke):
    status, out, _ = invoke("--help")
    assert status == 0
    assert "RUN... | COMMAND" in out
    assert "baselines" in out


def test_of_many_damaged_runs_some_are_named(invoke, tmp_path):
    for folder in write(tmp_path, *(scored(0.5, seed=seed) for seed in range(25)))[1:]:
        (folder / "result.json").unlink()
    out = invoke(tmp_path)[1]
    assert out.count("damaged, in no figure") == 20
    assert "and 4 more damaged runs" in out
    assert len(json.loads(invoke(tmp_path, "--json")[1])["damaged"]) == 24


def test_the_documentation_is_true(folder, monkeypatch, capsys):
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    report = make_report(find_runs([folder])).to_dict()
    documented = set(re.findall(r"`(\w+)`", text))
    assert documented >= report.keys()
    for records in ("cells", "tasks", "comparisons", "failures"):
        assert documented >= report[records][0].keys(), records
    frame, program = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (folder / "t4").mkdir()
    for run in folder.iterdir():
        if run.name != "t4":
            run.rename(folder / "t4" / run.name)
    monkeypatch.chdir(folder.parent)
    exec(frame, names := {})
    table = names["table"]
    assert set(table.index.get_level_values("agent")) == {"naive", "ridge"}
    exec(program, {})
    assert "ridge is better than naive" in capsys.readouterr().out
    assert "booktabs" in (folder.parent / "t4.tex").read_text()
    assert (folder.parent / "t4.html").is_file()
