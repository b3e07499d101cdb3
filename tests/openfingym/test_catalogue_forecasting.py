"""The batch forecasting tasks against the source paper's catalogue, and against each other."""

from __future__ import annotations

import csv
import io
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task, task_folders
from openfingym.data import dataset_info, load_panel
from openfingym.data.sources import SOURCES
from openfingym.data.sources.catalog import PULLABLE
from openfingym.kinds import is_deferred, is_sequential, kind_of
from openfingym.kinds.curves.contract import CurvesContract
from openfingym.kinds.forecast.contract import ForecastContract
from openfingym.kinds.panels import panel_of
from openfingym.kinds.rows.kind import RowsContract
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task

FEWEST_WINDOWS = 30

# One line a row of the catalogue: id without "1_" and "_forecasting", lookback, steps ahead, channels in and out,
# family, value semantics, and the assets where it names them. Semantics as here: the catalogue has excess returns for
# equity_excess_return and tsfm, "raw" for stock_OHLCV.
CATALOGUE = """\
id;lookback;steps;inputs;outputs;family;semantics;assets
commodity_logreturn;60;1-10;17;17;F1;log_return;
commodity_variant1_logreturn;30;1-5;6;6;F1;log_return;gold silver platinum palladium copper crude_oil_wti
commodity_variant2_logreturn;60;1-10;7;7;F1;log_return;crude_oil_wti gasoline heating_oil natural_gas gold copper silver
commodity_variant3_logreturn;90;1-20;8;8;F1;log_return;corn wheat soybeans kc_wheat cocoa coffee sugar cotton
commodity_variant4_logreturn;20;1-2;6;6;F1;log_return;gold silver crude_oil_wti natural_gas copper soybeans
commodity_variant5_logreturn;45;1-15;9;9;F1;log_return;gold silver platinum palladium copper crude_oil_wti \
gasoline heating_oil natural_gas
commodity_variant6_logreturn;60;1-10;7;7;F1;log_return;cocoa coffee sugar cotton corn wheat soybeans
commodity_variant7_logreturn;40;1-5;7;7;F1;log_return;copper platinum palladium crude_oil_wti \
heating_oil natural_gas cotton
crypto;72;1-3;20;20;F1;price_level;
crypto_logreturn;72;1-12;12;12;F1;log_return;
crypto_variant1_logreturn;24;1-1;6;6;F1;log_return;btc eth bnb xrp sol ada
crypto_variant2_logreturn;48;1-6;7;7;F1;log_return;link fil aave avax dot atom hbar
crypto_variant3_logreturn;72;1-12;6;6;F1;log_return;doge shib xmr zec ltc bch
crypto_variant4_logreturn;168;1-24;9;9;F1;log_return;btc eth bnb xrp sol ada avax dot link
crypto_variant5_logreturn;12;1-1;7;7;F1;log_return;btc eth sol bnb xrp trx algo
crypto_variant6_logreturn;168;1-24;8;8;F1;log_return;btc eth ltc bch etc xmr zec link
crypto_variant7_logreturn;96;1-8;7;7;F1;log_return;avax dot atom hbar algo fil aave
equity_excess_return;1;1-1;42;1;F6;log_return;
equity_logreturn;40;1-10;8;8;F1;log_return;
equity_variant1_logreturn;30;1-5;5;5;F1;log_return;xom cvx cop slb oxy
equity_variant2_logreturn;60;1-10;7;7;F1;log_return;bac gs wfc ms axp c blk
equity_variant3_logreturn;20;1-1;8;8;F1;log_return;pg ko pep wmt cost mcd cl kmb
equity_variant4_logreturn;90;1-20;9;9;F1;log_return;orcl csco ibm adbe nflx intc qcom txn amd
equity_variant5_logreturn;40;1-3;9;9;F1;log_return;cat ge ba hon de unp ups fdx mmm
equity_variant6_logreturn;30;1-5;8;8;F1;log_return;lly unh mrk pfe abt tmo dhr bmy
equity_variant7_logreturn;50;1-10;6;6;F1;log_return;low sbux tjx hd nike dis
exchange_rate;60;1-20;8;8;F3;price_level;
fx_variant1_logreturn;30;1-5;6;6;F1;log_return;eur_usd gbp_usd usd_jpy usd_chf usd_cad nzd_usd
fx_variant2_logreturn;60;1-10;7;7;F1;log_return;usd_inr usd_mxn usd_krw usd_zar usd_try usd_cny usd_sgd
fx_variant3;10;1-1;8;8;F1;price_level;eur_usd gbp_usd usd_jpy usd_chf usd_cad usd_hkd usd_sgd nzd_usd
fx_variant4_logreturn;90;1-20;8;8;F1;log_return;usd_cad usd_nok nzd_usd usd_zar usd_mxn eur_usd gbp_usd usd_chf
fx_variant5_logreturn;45;1-3;9;9;F1;log_return;usd_jpy usd_cny usd_krw usd_sgd usd_hkd usd_inr nzd_usd gbp_usd eur_usd
fx_variant6;20;1-2;7;7;F1;price_level;eur_usd usd_chf gbp_usd usd_sek usd_nok usd_cad usd_jpy
fx_variant7_logreturn;60;1-15;10;10;F1;log_return;usd_try usd_zar usd_mxn usd_inr usd_krw usd_cny usd_sgd usd_hkd \
usd_jpy eur_usd
global_index_volatility;21;1,5,15,21;8;8;F4;realised_vol;gspc gdaxi fchi ftse nsei n225 ks11 hsi
lob;72;1-3;14;5;F1;price_level;
nifty50_multifactor;30;1-1;8;1;F5;price_level;
stock10;60;1-3;10;10;F1;price_level;
stock_OHLCV;60;1-10;5;1;F3;mixed;
treasury_variant1;20;1-5;6;6;F2;yield_level;3m 6m 1y 2y 3y 5y
treasury_variant2;60;1-10;6;6;F2;yield_level;5y 7y 10y 20y 30y 3y
treasury_variant3;30;1-1;10;10;F2;yield_level;3m 6m 1y 2y 3y 5y 7y 10y 20y 30y
treasury_variant4;40;1-5;7;7;F2;yield_level;2y 3y 5y 7y 10y 20y 30y
treasury_variant5;40;1-5;7;7;F2;yield_level;2y 3y 5y 7y 10y 20y 30y
treasury_variant6;15;1-3;6;6;F2;yield_level;2y 3y 5y 7y 10y 20y
treasury_variant7;5;1-1;7;7;F2;yield_level;3m 6m 1y 2y 3y 5y 7y
tsfm;252;1-1;1;1;F7;log_return;
yieldcurve;10;1-1;150;150;F8;yield_level;
"""
ROWS = {f"1_{row['id']}_forecasting": row for row in csv.DictReader(io.StringIO(CATALOGUE), delimiter=";")}
WIDTHS = {"rows": 42, "curves": 150}
"""Inputs of the kinds whose data is no panel."""
LOST = {"log_return": 1, "realised_vol": 21}
"""Rows before the first value that is made of a panel."""
SAMPLED = ("treasury-forecast-v5", "lob-forecast", "yield-curve-forecast")


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    """Every forecasting task by its row of the catalogue; the test of exactly one task a row is that of its length."""
    return {
        str(task.spec.provenance.catalogue_id): task for task in map(load_task, task_folders()) if in_catalogue(task)
    }


def in_catalogue(task: Task) -> bool:
    """Whether a task answers one of the rows above; those that are stepped through are in
    test_catalogue_sequential.py, questions about what has not happened yet in kinds/test_questions.py."""
    contract = task.spec.contract
    return task.spec.family == "forecasting" and not is_sequential(contract) and not is_deferred(contract)


def steps_of(row: dict[str, str]) -> tuple[int, ...]:
    first, dash, last = row["steps"].partition("-")
    return tuple(range(int(first), int(last) + 1)) if dash else tuple(map(int, row["steps"].split(",")))


def widths(task: Task) -> tuple[int, int]:
    contract, channels = task.spec.contract, task.spec.dataset.channels
    if not isinstance(contract, ForecastContract):
        return WIDTHS[contract.kind], 1 if contract.kind == "rows" else WIDTHS[contract.kind]
    return (1, 1) if contract.pooled else (len(channels), len(contract.targets or channels))


def windows(task: Task, rows: int) -> tuple[int, int]:
    """Hidden windows a fold by the rule of the split alone, in windows of one time: before countries or stocks are
    counted apart."""
    split, contract = task.spec.rows, task.spec.contract
    assert isinstance(contract, ForecastContract | CurvesContract)
    length = contract.lookback + contract.horizon
    if isinstance(contract, ForecastContract) and contract.graph_window:
        # The first window of a block comes after the rows that its first volatility and its graph are made of.
        length += contract.graph_window + 20 - contract.lookback
    stride = split.hidden_stride or contract.horizon
    if split.dated:
        days = days_of(task)
        first, second = (int((days < np.datetime64(day)).sum()) for day in (split.public_from, split.private_from))
    else:
        train, public, _ = split.shares
        first = int(Fraction(str(train)) * rows)
        second = first + int(Fraction(str(public)) * rows)
    blocks = second - first - split.embargo, rows - second - split.embargo
    return (blocks[0] - length) // stride + 1, (blocks[1] - length) // stride + 1


def rows_of(task: Task) -> int:
    """Rows of values: dates of the panel, less those that a first return or volatility needs."""
    dataset, contract = task.spec.dataset, task.spec.contract
    if isinstance(contract, CurvesContract):
        return 480
    assert dataset.name is not None
    rows = dataset_info(dataset.name).rows if dataset.first is None else len(days_in_period(task))
    return rows - LOST.get(str(getattr(contract, "value_semantics", "")), 0)


def days_in_period(task: Task) -> np.ndarray:
    """The days of the rows that the task uses."""
    dataset = task.spec.dataset
    days = load_panel(str(dataset.name)).times.astype("datetime64[D]")
    first, last = np.datetime64(dataset.first or days[0], "D"), np.datetime64(dataset.last or days[-1], "D")
    return days[(days >= first) & (days <= last)]


def days_of(task: Task) -> np.ndarray:
    """The days of the values that are made of them."""
    return days_in_period(task)[LOST.get(str(getattr(task.spec.contract, "value_semantics", "")), 0) :]


def test_every_row_of_the_catalogue_has_exactly_one_task(tasks: dict[str, Task]) -> None:
    forecasting = [name for name in task_folders() if in_catalogue(load_task(name))]
    assert len(ROWS) == len(forecasting) == 48
    assert tasks.keys() == ROWS.keys()


@pytest.mark.parametrize("catalogue_id", ROWS)
def test_the_contract_is_the_catalogues(catalogue_id: str, tasks: dict[str, Task]) -> None:
    task, row = tasks[catalogue_id], ROWS[catalogue_id]
    contract = task.spec.contract
    assert isinstance(contract, ForecastContract | CurvesContract | RowsContract)
    steps = contract.steps if isinstance(contract, ForecastContract) else tuple(range(1, contract.horizon + 1))
    assert (contract.lookback, steps) == (int(row["lookback"]), steps_of(row))
    assert widths(task) == (int(row["inputs"]), int(row["outputs"]))
    assert (task.spec.scoring.family, contract.value_semantics) == (row["family"], row["semantics"])
    if row["assets"]:
        assert sorted(task.spec.dataset.channels) == sorted(row["assets"].split())


def test_names_are_the_catalogues_with_the_base_unnumbered(tasks: dict[str, Task]) -> None:
    for catalogue_id, task in tasks.items():
        family, variant = catalogue_id.split("_")[1:3]
        if variant.startswith("variant"):
            number = variant.removeprefix("variant")
            base = number == "1" and family in {"fx", "treasury"}
            assert task.name == (f"{family}-forecast" if base else f"{family}-forecast-v{number}")


def test_no_task_is_another_one_again(tasks: dict[str, Task]) -> None:
    def essence(task: Task) -> str:
        spec = task.spec
        return repr(
            (spec.dataset.name, spec.dataset.channels, spec.dataset.first, spec.dataset.last, spec.contract, spec.split)
        )

    assert len({essence(task) for task in tasks.values()}) == len(tasks)
    texts = {task.instruction_path.read_text() for task in tasks.values()}
    assert len(texts) == len({task.file.task.description for task in tasks.values()}) == len(tasks)


def test_the_two_treasury_regimes_share_no_day(tasks: dict[str, Task]) -> None:
    after, before = (panel_of(tasks[f"1_treasury_variant{number}_forecasting"]).times for number in (4, 5))
    assert after.min() > np.datetime64("2008-12-31")
    assert before.max() < np.datetime64("2008-01-01")


def test_every_fold_has_enough_windows(tasks: dict[str, Task]) -> None:
    few = {}
    for task in tasks.values():
        if isinstance(task.spec.contract, RowsContract):
            continue
        counts = windows(task, rows_of(task))
        if min(counts) < FEWEST_WINDOWS:
            few[task.name] = counts
    assert not few
    assert windows(tasks["1_tsfm_forecasting"], 22199) == (79, 199)


def test_what_is_simulated_says_so_and_nothing_else_does(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        simulated = kind_of(task).data_kind(task) == "simulated"
        assert ("simulated" in task.file.task.keywords) == simulated, task.name
        assert ("simulated" in task.file.task.description) == simulated, task.name
        assert ("simulated" in task.instruction_path.read_text().lower()) == simulated, task.name
        assert ("SIMULATED" in str(task.spec.provenance.note)) == simulated, task.name


def test_a_text_says_simulated_flatly_only_where_nothing_else_can_be_pulled(tasks: dict[str, Task]) -> None:
    """With --real the same text is read above real data."""
    for task in tasks.values():
        if task.spec.dataset.pulled is not None:
            assert "The section Data below says whether" in " ".join(task.instruction_path.read_text().split()), (
                task.name
            )
            assert "SIMULATED" not in task.instruction_path.read_text(), task.name


def test_real_data_to_pull_fits_the_channels(tasks: dict[str, Task]) -> None:
    pulled = {task.name: task.spec.dataset for task in tasks.values() if task.spec.dataset.pulled is not None}
    assert len(pulled) == 8 + 8 + 1 + 7 + 1  # commodities, crypto returns and prices, equity variants, volatility
    for name, dataset in pulled.items():
        assert dataset.pulled is not None
        assert len(dataset.pulled.symbols) == len(set(dataset.pulled.symbols)) == len(dataset.channels), name
        known = PULLABLE.get(dataset.pulled.source)
        assert known is not None or dataset.pulled.source in SOURCES
        assert known is None or set(dataset.pulled.symbols) <= set(known.request.symbols), name


def test_coins_are_paired_with_their_own_symbols(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        dataset = task.spec.dataset
        if dataset.pulled is not None and task.spec.asset_class == "crypto":
            assert dataset.pulled.symbols == tuple(f"{coin.upper()}USDT" for coin in dataset.channels)


def test_bounds_catch_percent_taken_for_decimals(tasks: dict[str, Task]) -> None:
    """A return of 3 percent given as 3, a yield of 0.03 as 3 is what a wrong unit looks like; prices are never zero."""
    for task in tasks.values():
        contract = task.spec.contract
        assert isinstance(contract, ForecastContract | CurvesContract | RowsContract)
        if contract.value_semantics == "log_return":
            assert -2.0 <= contract.low < 0.0 < contract.high <= 2.0, task.name
        elif contract.value_semantics in {"price_level", "mixed"}:
            assert 0.0 < contract.low < contract.high, task.name
        elif contract.value_semantics == "realised_vol":
            assert (contract.low, contract.high) == (0.0, 0.5)
        else:
            assert (contract.low, contract.high) == (-5.0, 30.0)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_package_is_the_same_every_time(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    packages = []
    for which in ("a", "b"):
        write_package(task, tmp_path / which / "public", tmp_path / which / "truth")
        packages.append(BuiltPackage(tmp_path / which / "public", tmp_path / which / "truth"))
    one, two = (package.manifest for package in packages)
    assert one.files
    assert one == two
    together = 24 if name == "yield-curve-forecast" else 1
    assert (one.n_public, one.n_private) == tuple(together * count for count in windows(task, rows_of(task)))
    truth = packages[0].read_truth()["targets"]
    contract = task.spec.contract
    assert contract.low < truth.min() - 1.0
    assert truth.max() + 1.0 < contract.high
