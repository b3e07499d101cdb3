"""What notebooks show of results and reports."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from openfingym.reports.report import make_report
from openfingym.reports.runs import DamagedRun, FoundRuns
from openfingym.results.notebook import ROWS
from openfingym.results.result import RolloutResults
from tests.openfingym.reports.made import HOSTILE, PLAYED, failed, scored


def cells(page):
    """Texts of all rows; raises unless every element is closed, and none is of another kind."""
    tree = ET.fromstring(f"<body>{page}</body>")
    assert {node.tag for node in tree.iter()} <= {"body", "div", "p", "strong", "table", "tr", "th", "td"}
    assert not any(node.attrib for node in tree.iter())
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_a_result_is_a_table():
    result = scored(0.5, relative_interval=(0.4, 0.6), data_kind="simulated")
    page = result._repr_html_()
    shown = dict(cells(page))
    assert "<strong>SIMULATED data</strong>" in page
    assert (shown["relative total"], shown["skill"]) == ("0.5 [0.4, 0.6]", "0.5 [0.4, 0.6]")
    assert shown["beside naive"] == "better"
    assert "SIMULATED" not in PLAYED._repr_html_()
    assert dict(cells(failed("rejected", reason="empty")._repr_html_()))["state"] == "rejected: empty"


def test_results_are_a_row_each():
    results = RolloutResults([scored(0.5, data_kind="simulated"), failed("error", seed=7), *[PLAYED] * ROWS])
    page = results._repr_html_()
    head, first, second, *rest = cells(page)
    assert dict(zip(head, first, strict=True))["data"] == "SIMULATED"
    assert dict(zip(head, second, strict=True)) | {"seed": "7", "state": "error", "relative total": "–"} == dict(
        zip(head, second, strict=True)
    )
    assert len(rest) == ROWS - 2
    assert f"{ROWS + 2} rollouts: {ROWS + 1} scored, 1 error; the first {ROWS} are shown" in page
    assert cells(RolloutResults()._repr_html_())[1:] == []
    assert results == list(results)


def test_a_report_has_a_table_for_each_kind_of_data():
    runs = [scored(0.5, task=f"t{n}", data_kind=kind) for n in range(6) for kind in ("real", "simulated")]
    report = make_report(FoundRuns(tuple(runs), (DamagedRun(Path("x"), "why"),)))
    page = report._repr_html_()
    assert page.count("<table>") == 2
    assert "SIMULATED data: " in page
    assert "12 runs; 1 damaged runs are in no figure" in page
    assert any("0.5" in " ".join(row) for row in cells(page))


@pytest.mark.parametrize("name", ["task", "agent", "model", "reason", "data_kind", "baseline"])
def test_no_text_is_markup(name):
    hostile = replace(failed("rejected"), **{name: HOSTILE})
    for page in (hostile._repr_html_(), RolloutResults([hostile])._repr_html_()):
        cells(page)
    report = make_report(FoundRuns((hostile,)))._repr_html_()
    cells(report)
    assert HOSTILE in unescape(hostile._repr_html_())
