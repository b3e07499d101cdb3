"""A score has one name and its interval, wherever it is printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from openfingym.cli import cli
from openfingym.cli.report_baselines import COLUMNS
from openfingym.cli.run_results import print_results
from tests.openfingym.reports.made import scored, write

RESULT = scored(0.8, total_interval=(0.01, 0.2), relative_interval=(0.7, 0.9))


def test_where_a_run_ends(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (folder,) = write(tmp_path, RESULT)
    print_results([replace(RESULT, path=folder, verifier_s=2.0)])
    out = capsys.readouterr().out
    assert "total" in out.split("\n")[1]
    assert "relative total" in out.split("\n")[1]
    assert "0.08 [0.01, 0.2]" in out
    assert "0.8 [0.7, 0.9]" in out
    assert "the agent's own; the verifier took 2.0 s beside them" in out
    assert {"total", "relative total"} <= set(COLUMNS)


def test_where_a_run_is_viewed(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder,) = write(tmp_path, RESULT)
    cli.main(["view", str(folder)], standalone_mode=False)
    assert "skill 0.2 [0.1, 0.3], total 0.08 [0.01, 0.2]" in capsys.readouterr().out
