"""A real run in the sandbox, played again from its folder."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import openfingym
from openfingym.cli import cli
from openfingym.errors import StoreError, UsageError
from openfingym.reports.trading.replay import baseline_traces, package_of, replay
from openfingym.reports.trading.surface import rescore
from openfingym.results import RolloutResult
from openfingym.trading.orders import EventKind

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RolloutResult:
    result = openfingym.run("equity-trading", "momentum", backend="sandbox", out=tmp_path_factory.mktemp("runs"))
    assert result.state == "scored"
    return result


@pytest.fixture
def folder(run: RolloutResult, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    assert run.path is not None
    return Path(shutil.copytree(run.path, tmp_path / "copy"))


def test_the_record_comes_out_again(run: RolloutResult) -> None:
    assert run.path is not None
    replays = replay(run.path)
    kept = np.load(run.path / "submissions" / "1.npy")
    package = package_of(run)
    assert len(replays) == package.manifest.n_private
    assert np.array_equal(np.stack([found.trace.record for found in replays]), kept[package.manifest.n_public :])
    assert any(event.kind is EventKind.FILLED for found in replays for event in found.trace.events)


def test_a_live_session_is_not_drawn_on_the_bars_of_the_package(run: RolloutResult) -> None:
    session = {"venue": "binance", "simulated": True, "interval_s": 1, "duration_s": 60, "incomplete_bars": 0}
    with pytest.raises(UsageError, match="was a live session"):
        package_of(replace(run, session={**session, "left_early": False, "tape_sha256": None}))


def test_a_trace_adds_up(run: RolloutResult) -> None:
    assert run.path is not None
    for found in replay(run.path):
        trace = found.trace
        value = trace.positions * trace.prices
        np.testing.assert_allclose(np.maximum(value, 0.0).sum(axis=1), trace.record[:, 3])
        np.testing.assert_allclose(np.maximum(-value, 0.0).sum(axis=1), trace.record[:, 4], atol=1e-9)
        bought = np.zeros_like(trace.positions)
        for event in trace.events:
            if event.kind is EventKind.FILLED:
                bought[event.bar, event.symbol] += event.side * event.quantity
        np.testing.assert_allclose(np.cumsum(bought, axis=0), trace.positions)


def test_a_tape_scores_as_it_was_played(run: RolloutResult) -> None:
    assert run.path is not None
    for found in replay(run.path):
        assert np.array_equal(rescore(found.tape), found.trace.record)


def test_the_baseline_is_the_verifiers(run: RolloutResult) -> None:
    records = np.stack([trace.record for trace in baseline_traces(package_of(run))])
    total = float((records[:, -1, 0] / records[:, 0, 0] - 1.0).mean())
    assert total == pytest.approx(run.baseline_metrics["total_return"], rel=1e-12)


def test_changed_actions_do_not_pass(folder: Path) -> None:
    path = folder / "actions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    changed = next(entry for entry in lines if entry["fold"] == "private" and entry["action"])
    changed["action"] = {"weights": [0.0, 0.0, 1.0]}
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines))
    with pytest.raises(StoreError, match="comes out differently"):
        replay(folder)


def test_no_actions(folder: Path) -> None:
    (folder / "actions.jsonl").unlink()
    with pytest.raises(StoreError, match="record of actions"):
        replay(folder)


def test_another_build(folder: Path) -> None:
    path = folder / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "task_digest": "0" * 64}))
    with pytest.raises(UsageError, match="another build"):
        replay(folder)


def test_a_score_that_its_receipt_contradicts(folder: Path) -> None:
    path = folder / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "relative_total": 0.01}))
    with pytest.raises(StoreError, match=r"its receipt does not hold \(result\)"):
        replay(folder)


def test_another_kind_of_run(tmp_path: Path) -> None:
    result = openfingym.run("treasury-forecast", "naive", backend="sandbox", out=tmp_path)
    assert result.path is not None
    with pytest.raises(UsageError, match="is a forecast task"):
        replay(result.path)


def test_the_surface_on_the_command_line(run: RolloutResult) -> None:
    answer = CliRunner().invoke(cli, ["report", "surface", str(run.path), "--json"])
    assert answer.exit_code == 0, answer.output
    surface = json.loads(answer.stdout)
    assert surface["as_played"] == pytest.approx(run.metrics["total_return"], rel=1e-12)
    free, costly = surface["total_return"][0][0], surface["total_return"][-1][0]
    assert free > costly
    shown = CliRunner().invoke(cli, ["report", "surface", str(run.path)])
    assert "cost, one way" in shown.stdout
    assert f"as played {100 * run.metrics['total_return']:.2f}%" in shown.stdout


def test_trades_and_a_benchmark_on_the_command_line(run: RolloutResult, tmp_path: Path) -> None:
    page, trades = tmp_path / "page.html", tmp_path / "trades" / "all.csv"
    trades.parent.mkdir()
    options = ["--out", str(page), "--trades", str(trades), "--benchmark", "ibm", "--json"]
    shown = CliRunner().invoke(cli, ["report", "tearsheet", str(run.path), *options])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    with trades.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    won = sum(float(row["pnl"]) for row in rows) / found["performance"]["episodes"]
    assert won == pytest.approx(run.metrics["pnl"], abs=0.005)
    assert found["trades"] == str(trades)
    assert found["risk"]["regression"]["benchmark"] == "ibm"
    assert found["risk"]["drawdowns"][0]["depth"] == pytest.approx(run.metrics["max_drawdown"])
    assert '<a href="trades/all.csv">' in page.read_text(encoding="utf-8")
