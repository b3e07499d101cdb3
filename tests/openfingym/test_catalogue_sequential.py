"""The tasks that are stepped through: against the source paper's catalogue, and each sound as it ships."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import describe, load_task, task_folders
from openfingym.checks.check import check_task
from openfingym.data.sources import SOURCES
from openfingym.data.sources.catalog import PULLABLE
from openfingym.errors import DataError, UsageError
from openfingym.kinds import is_live, is_sequential, kind_of, sequential_kind
from openfingym.kinds.bars.data import BarSource
from openfingym.kinds.rolling import RollingContract
from openfingym.kinds.trading.contract import TradingContract
from openfingym.packages.build import build
from openfingym.task import Task
from openfingym.verifiers.scorecard import score_files
from tests.sweeps import fixed_part

ROWS = {
    "equity-rolling-forecast": "offline_stock_forecasting",
    "crypto-rolling-forecast": "offline_crypto_forecasting",
    "equity-trading": "offline_stock_trading",
    "crypto-trading": "offline_crypto_trading",
}
FEWEST_STEPS = 400
"""Of the private episodes together: a Sharpe ratio of fewer says nothing at all."""


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    """Those that are played on bars alone; of live ones see ``tests/openfingym/kinds/test_live.py``."""
    return {
        name: task
        for name, task in ((name, load_task(name)) for name in task_folders())
        if is_sequential(task.spec.contract) and not is_live(task.spec.contract)
        if sequential_kind(task.spec.contract).symbols(task.spec.contract)
    }


def test_every_offline_row_of_the_catalogue_has_exactly_one_task(tasks: dict[str, Task]) -> None:
    assert {name: task.spec.provenance.catalogue_id for name, task in tasks.items()} == ROWS


@pytest.mark.parametrize("name", fixed_part(ROWS, 4))
def test_a_task_passes_every_check(name: str) -> None:
    report = check_task(load_task(name))
    assert report.passed, report
    time = next(finding.detail for finding in report.findings if finding.name == "time")
    assert "in the order of time" in time


def test_what_the_catalogue_says_is_kept(tasks: dict[str, Task]) -> None:
    contract = tasks["equity-trading"].spec.contract
    assert isinstance(contract, TradingContract)
    assert (contract.initial_cash, contract.steps) == (100_000.0, 200)
    assert tasks["crypto-trading"].spec.contract.symbols == ("btc", "eth", "sol")  # type: ignore[union-attr]


def test_trading_costs_something(tasks: dict[str, Task]) -> None:
    for name in ("equity-trading", "crypto-trading"):
        contract = tasks[name].spec.contract
        assert isinstance(contract, TradingContract)
        assert contract.fee_bps > 0.0
        assert contract.slippage_bps > 0.0
        assert contract.borrow_bps_per_year > 0.0


def test_there_are_enough_steps_to_say_something(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        contract = task.spec.contract
        assert isinstance(contract, RollingContract | TradingContract)
        manifest = build(task).manifest
        assert manifest.n_private * contract.steps >= FEWEST_STEPS
        assert manifest.n_public >= 1
        assert describe(task).channels == 3


def test_what_is_simulated_says_so_and_nothing_else_does(tasks: dict[str, Task]) -> None:
    for name, task in tasks.items():
        simulated = kind_of(task).data_kind(task) == "simulated"
        assert simulated == name.startswith("crypto")
        assert ("simulated" in task.file.task.keywords) == simulated
        assert ("simulated" in task.file.task.description) == simulated
        assert ("SIMULATED" in str(task.spec.provenance.note)) == simulated
        text = task.instruction_path.read_text()
        assert ("simulated" in text) == simulated
        assert "SIMULATED" not in text, "with --real the same text is read above real data"
        assert "The section Data below says whether" in text


def test_an_agent_is_told_the_rules_the_costs_and_what_counts(tasks: dict[str, Task]) -> None:
    text = build(tasks["crypto-trading"]).instruction.read_text()
    for said in (
        "14 episodes count",
        "at most 10 times on earlier bars",
        "SIMULATED data, not a real market",
        "10 bps fee, 2 bps slippage, 1000 bps a year for borrowing",
        "never at a price you have seen",
        "env = interface.make()",
        "relative to the buy-and-hold baseline's",
    ):
        assert said in text, said
    assert "interface.submit" not in text
    assert (
        "Every number must be finite and between -2 and 2"
        in build(tasks["crypto-rolling-forecast"]).instruction.read_text()
    )


def test_no_public_file_has_a_date_of_a_hidden_bar(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        package = build(task)
        hidden = package.read_truth()
        assert package.array("train_times").max() < hidden["public_times"].min() < hidden["private_times"].min()
        assert set(package.contract["arrays"]) == {"train_bars", "train_times"}


def test_pulled_symbols_are_those_of_the_contract(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        contract, pulled = task.spec.contract, task.spec.dataset.pulled
        assert isinstance(contract, RollingContract | TradingContract)
        assert pulled is not None
        known = PULLABLE.get(pulled.source)
        assert known is not None or pulled.source in SOURCES
        assert known is None or set(pulled.symbols) <= set(known.request.symbols)
        assert [symbol.removesuffix("USDT").lower() for symbol in pulled.symbols] == list(contract.symbols)


def test_real_bars_that_were_not_pulled_say_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"Run this once, with a network: openfingym data pull binance-hourly$"):
        build(load_task("crypto-trading", real=True))
    with pytest.raises(DataError, match=r"openfingym data pull yahoo --symbols AAPL,IBM,MSFT$"):
        build(load_task("equity-trading", real=True))


def test_a_file_is_no_evidence_of_what_was_done_step_by_step(tmp_path: Path) -> None:
    package = build(load_task("equity-rolling-forecast"))
    np.save(tmp_path / "answer.npy", np.zeros(package.manifest.submission_shape))
    with pytest.raises(UsageError, match="is stepped through, and scored from what the verifier saw"):
        score_files(package, tmp_path / "answer.npy", package.truth)


def test_the_source_of_bars_says_where_they_are_from(tasks: dict[str, Task]) -> None:
    source = kind_of(tasks["equity-trading"]).load(tasks["equity-trading"])
    assert isinstance(source, BarSource)
    assert source.info.kind == "real"
    assert source.bars.tradable.all()
    assert any("corporate actions" in step for step in source.recipe)
