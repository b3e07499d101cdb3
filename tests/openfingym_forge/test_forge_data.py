"""What the data stage finds in the library, and what it refuses of a table: planted faults, and honest ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import DataError
from openfingym_forge.blueprint import Blueprint, Quotation, Stated, Value
from openfingym_forge.data import DataStage
from openfingym_forge.data.judging import judge_protocol, judge_table
from openfingym_forge.data.matching import matches
from openfingym_forge.data.names import canonical
from openfingym_forge.data.provenance import licence_says, read_provenance
from openfingym_forge.data.tables import read_table
from openfingym_forge.paper import Paper
from openfingym_forge.stage import CandidateTask, Role

PAPER = Paper("a-paper-00000000", "A paper", "", "text", (), (), "en", "text", "a.txt", "0" * 64, "0" * 64)
YIELDS: dict[str, Value] = {
    "family": "forecasting",
    "asset_class": "rates",
    "frequency": "daily",
    "data.source": "US Department of the Treasury, constant maturity yields",
    "data.series": ["DGS2", "10-year"],
    "data.start": date(2007, 1, 2),
    "data.end": date(2018, 12, 31),
    "data.kind": "real",
    "data.measure": "yield",
    "data.unit": "percent per annum",
    "contract.horizon": 5,
}


def blueprint_of(fields: dict[str, Value]) -> Blueprint:
    quotation = Quotation(quote="as the paper says", section="2 Data", start=0)
    stated = {name: Stated(value=value, quotations=[quotation]) for name, value in fields.items()}
    return Blueprint(paper=PAPER.key, title=PAPER.title, name="a-task", fields=stated)


class NobodyAsked:
    """Of models that the library's own data leave nothing to ask."""

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        raise AssertionError(f"{role} was asked for {purpose}")


def candidate_of(folder: Path, fields: dict[str, Value]) -> CandidateTask:
    folder.mkdir(parents=True, exist_ok=True)
    return CandidateTask(folder, PAPER, NobodyAsked(), blueprint_of(fields))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DGS10", "10y"),
        ("ten-year constant maturity", "10y"),
        ("3-month", "3m"),
        ("DGS3MO", "3m"),
        ("EUR/USD", "eur_usd"),
        ("EURUSD=X", "eur_usd"),
        ("Apple Inc.", "aapl"),
        ("Microsoft (MSFT)", "msft"),
        ("BTCUSDT", "btc"),
        ("bitcoin", "btc"),
        ("Adj Close", "adj_close"),
    ],
)
def test_names_of_one_series_are_one(name: str, meant: str) -> None:
    assert canonical(name) == meant


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        (YIELDS, "ust-par-yields"),
        (
            {"asset_class": "fx", "frequency": "daily", "data.source": "reference rates of the ECB",
             "data.series": ["EUR/USD", "USDJPY"]},
            "ecb-fx",
        ),
        (
            {"asset_class": "equity", "frequency": "daily", "data.source": "US large-cap stocks",
             "data.series": ["Apple", "MSFT"], "data.kind": "real"},
            "us-large-caps",
        ),
        ({"frequency": "none", "data.source": "an Ornstein-Uhlenbeck process", "data.kind": "specified"}, "ou"),
        ({"asset_class": "graph", "frequency": "none", "data.source": "YelpChi"}, "yelpchi"),
    ],
)  # fmt: skip
def test_a_paper_s_data_are_found_under_the_library_s_name(fields: dict[str, Value], taken: str) -> None:
    best = matches(blueprint_of(fields))[0]
    assert (best.data.name, best.fits) == (taken, True), best.summary()


KEY = tomllib.loads((Path(__file__).parent / "key" / "KEY.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name", [name for name, paper in KEY.items() if {"dataset", "data.series"} <= set(paper.get("fields", {}))]
)
def test_the_corpus_s_data_are_found_though_no_publisher_is_named(name: str) -> None:
    fields = {key: value for key, value in KEY[name]["fields"].items() if key != "dataset"}
    best = matches(blueprint_of(fields))[0]
    assert (best.data.name, best.fits) == (KEY[name]["fields"]["dataset"], True), best.summary()


@pytest.mark.parametrize(
    "change",
    [
        {"data.series": ["DGS2", "libor_3m"]},
        {"frequency": "monthly"},
        {"asset_class": "fx"},
        {"data.start": date(1965, 1, 1), "data.end": date(1980, 1, 1)},
        {"data.url": "http://example.org/yields.csv"},
        {"data.source": "Bank of Ruritania"} | {"data.url": "https://bank.example/yields.csv"},
        {"data.kind": "specified"},
    ],
)
def test_what_is_not_the_same_does_not_fit(change: dict[str, Value]) -> None:
    fitting = [
        one.summary() for one in matches(blueprint_of({**YIELDS, **change})) if one.fits and one.data.how == "bundled"
    ]
    assert fitting == []


def test_a_title_or_an_abstract_may_name_the_data() -> None:
    fields: dict[str, Value] = {"asset_class": "synthetic", "frequency": "none", "data.kind": "specified"}
    plain = blueprint_of(fields)
    assert not matches(plain)[0].fits
    titled = plain.model_copy(update={"title": "Distances for an Ornstein--Uhlenbeck process"})
    abstract = "Unlike work on fractional Brownian motion, we look at what reverts."
    best, second = matches(titled, abstract=abstract)[:2]
    assert (best.data.name, best.fits, second.data.name) == ("ou", True, "fbm")


def test_library_data_are_noted_with_channels_range_and_reuse(tmp_path: Path) -> None:
    folder = tmp_path / "papers" / "one"
    result = DataStage().run(candidate_of(folder, YIELDS))
    assert (result.state, result.reasons) == ("passed", ())
    found = read_provenance(folder / "data")
    assert found is not None
    assert found.dataset == {
        "name": "ust-par-yields",
        "channels": ["2y", "10y"],
        "first": "2007-01-02",
        "last": "2018-12-31",
    }
    assert found.pass_on
    assert found.rows == 3003
    again = DataStage().run(candidate_of(tmp_path / "papers" / "two", YIELDS))
    assert again.facts["shared_with"] == ["one"]
    json.dumps(dict(again.facts))


def test_data_nobody_has_are_unavailable_with_the_quotation(tmp_path: Path) -> None:
    fields: dict[str, Value] = {"frequency": "daily", "data.source": "orders of a broker", "data.series": ["flow"]}
    result = DataStage().run(candidate_of(tmp_path / "one", fields))
    assert [reason.code for reason in result.reasons] == ["data-unavailable"]
    assert result.reasons[0].quotations


def test_traded_series_are_whole_bars_and_predicted_ones_their_closes(tmp_path: Path) -> None:
    fields: dict[str, Value] = {
        "asset_class": "equity", "frequency": "daily", "data.source": "Quandl WIKI prices",
        "data.series": ["AAPL", "IBM"],
    }  # fmt: skip
    for more, wanted in (({}, ["aapl_close", "ibm_close"]), ({"contract.steps": 120}, None)):
        result = DataStage().run(candidate_of(tmp_path / str(len(more)), {**fields, **more}))
        found = read_provenance(tmp_path / str(len(more)) / "data")
        assert (result.state, result.reasons) == ("passed", ())
        assert found is not None
        assert (found.dataset["name"], found.dataset.get("channels")) == ("us-stocks-ohlcv", wanted)


def test_bars_that_begin_where_the_last_one_ended_look_not_ahead() -> None:
    frame = prices()[["a"]].rename(columns={"a": "x_close"})
    frame["x_open"] = frame["x_close"].shift(1)
    fields = {**PRICES, "data.series": ["x_close", "x_open"]}
    assert codes(frame.iloc[1:], {**fields, "data.target": "x_open"}) == set()
    assert codes(frame.iloc[1:], {**fields, "data.target": None}) == set()


def test_a_simulator_says_that_it_is_one(tmp_path: Path) -> None:
    fields: dict[str, Value] = {
        "asset_class": "commodity", "frequency": "daily", "data.source": "front-month futures",
        "data.series": ["gold", "copper"], "data.kind": "real",
    }  # fmt: skip
    result = DataStage().run(candidate_of(tmp_path / "one", fields))
    assert result.state == "passed"
    assert any("simulated: sim-commodities" in note.text for note in result.notes)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("protocol.shuffled", True, "shuffled-split"),
        ("protocol.scaling", "all", "scaling-on-test"),
        ("protocol.overlap", True, "overlapping-windows"),
        ("protocol.resampling", "weekly bars, each stamped at the beginning of its week", "look-ahead-resampling"),
    ],
)
def test_a_leaking_protocol_is_refused_with_its_words(field: str, value: Value, code: str, tmp_path: Path) -> None:
    result = DataStage().run(candidate_of(tmp_path / "one", {**YIELDS, field: value}))
    assert [(reason.code, bool(reason.quotations)) for reason in result.reasons] == [(code, True)]


def test_an_honest_protocol_is_not_refused() -> None:
    honest = {**YIELDS, "protocol.shuffled": False, "protocol.scaling": "train", "protocol.overlap": False,
              "protocol.resampling": "weekly bars, each stamped at the end of its week"}  # fmt: skip
    assert judge_protocol(blueprint_of(honest)).refusals == ()


PRICES: dict[str, Value] = {
    "family": "forecasting",
    "asset_class": "equity",
    "frequency": "daily",
    "panel": "five stocks",
    "data.series": ["a", "b", "c", "d", "e"],
    "data.target": "a",
    "data.start": date(2015, 1, 1),
    "data.end": date(2016, 6, 30),
    "data.measure": "price",
    "data.unit": "US dollars",
    "contract.horizon": 5,
}


def prices(seed: int = 0, rows: int = 390) -> pd.DataFrame:
    steps = np.random.default_rng(seed).normal(0.0003, 0.012, (rows, 5))
    times = pd.bdate_range("2015-01-01", periods=rows)
    return pd.DataFrame(np.exp(4 + steps.cumsum(axis=0)), index=times, columns=list("abcde"))


def codes(frame: pd.DataFrame, fields: dict[str, Value]) -> set[str]:
    return {reason.code for reason in judge_table(frame, blueprint_of(fields)).refusals}


def planted(name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return {
        "ahead": lambda frame: frame.assign(signal=frame["a"].shift(-3)),
        "return ahead": lambda frame: frame.assign(signal=np.log(frame["a"]).diff().shift(-1)),
        "named": lambda frame: frame.assign(next_close=np.arange(len(frame)) % 7),
        "dates twice": lambda frame: pd.concat([frame, frame.iloc[40:45]]).sort_index(),
        "rows copied": lambda frame: frame.assign(**{k: np.r_[v[:300], v[100:190]] for k, v in frame.items()}),
        "gaps": lambda frame: frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2),
        "returns": lambda frame: frame.pct_change().iloc[1:],
        "a column gone": lambda frame: frame.drop(columns="c"),
        "short": lambda frame: frame.iloc[:200],
        "weekly": lambda frame: frame.resample("W").last(),
    }[name]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("ahead", "look-ahead-column"),
        ("return ahead", "look-ahead-column"),
        ("named", "look-ahead-column"),
        ("dates twice", "duplicated-rows"),
        ("rows copied", "duplicated-rows"),
        ("gaps", "missing-values"),
        ("returns", "wrong-units"),
        ("a column gone", "data-changed"),
        ("short", "data-changed"),
        ("weekly", "data-changed"),
    ],
)
def test_a_planted_fault_is_refused_with_its_code(fault: str, code: str) -> None:
    assert codes(planted(fault)(prices()), PRICES) == {code}


def test_survivors_of_an_index_are_refused_and_a_chosen_few_are_not() -> None:
    assert codes(prices(), {**PRICES, "panel": "the constituents of a stock index"}) == {"survivorship"}
    left = prices()
    left.loc[left.index[380] :, "e"] = np.nan
    assert codes(left, {**PRICES, "panel": "the constituents of a stock index"}) == set()


def held(frame: pd.DataFrame) -> pd.DataFrame:
    """Values that go on until the next is published, at last for a month."""
    frame = frame.copy()
    frame.iloc[-30:] = frame.iloc[-31].to_numpy()
    frame.iloc[100:118] = frame.iloc[99].to_numpy()
    return frame


def yes_or_no(frame: pd.DataFrame) -> pd.DataFrame:
    """Whether a price rose: 0 or 1."""
    return (frame.diff() > 0).astype(float)


def often_at_its_ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Shares that are often none or all."""
    return (50.0 * frame.pct_change().fillna(0.0) + 0.5).clip(0.0, 1.0)


@pytest.mark.parametrize("form", [held, yes_or_no, often_at_its_ends])
def test_what_repeats_or_ends_at_0_and_1_of_itself_is_not_refused(
    form: Callable[[pd.DataFrame], pd.DataFrame],
) -> None:
    assert codes(form(prices(rows=2000)), {"family": "forecasting"}) == set()


@pytest.mark.parametrize(
    ("inputs", "given"),
    [
        ("load, temperature and the values of the same week", True),
        ("the price of the target day", True),
        ("the values of the same week a year earlier", False),
        ("the returns of the same month in the previous year", False),
        ("last year's values of the same week", False),
        ("the target itself one week before", False),
        ("yesterday's load. The values of the same week", True),
    ],
)
def test_a_value_of_the_same_week_is_the_target_unless_it_is_a_year_old(inputs: str, given: bool) -> None:
    fields: dict[str, Value] = {"family": "forecasting", "data.features": [inputs], "data.target": ["DGS10"]}
    assert ("target-as-feature" in codes(prices(), fields)) is given


@pytest.mark.parametrize(("factor", "wrong"), [(1.0, False), (0.01, True), (100.0, True)])
def test_yields_in_percent_are_told_from_fractions_and_basis_points(factor: float, wrong: bool) -> None:
    values = 2 + np.random.default_rng(0).normal(0, 0.05, (600, 2)).cumsum(axis=0) * 0.5
    frame = pd.DataFrame(values * factor, index=pd.bdate_range("2015-01-01", periods=600), columns=["2y", "10y"])
    fields = {**YIELDS, "data.series": ["2y", "10y"], "data.start": None, "data.end": None}
    assert codes(frame, fields) == ({"wrong-units"} if wrong else set())


def test_the_target_among_the_inputs_of_a_fraud_paper_is_refused() -> None:
    draws = np.random.default_rng(0)
    frame = pd.DataFrame({"amount": draws.normal(size=500), "age": draws.normal(size=500)})
    frame["label"] = (frame["amount"] + draws.normal(size=500) > 2).astype(float)
    fields: dict[str, Value] = {
        "family": "fraud",
        "frequency": "none",
        "data.target": "label",
        "data.features": ["amount", "age"],
    }
    assert codes(frame, fields) == set()
    assert codes(frame, {**fields, "data.features": ["amount", "label"]}) == {"target-as-feature"}
    assert codes(frame.assign(flag=frame["label"] * 3 - 1), fields) == {"target-as-feature"}
    assert codes(pd.concat([frame, frame.iloc[:40]], ignore_index=True), fields) == {"duplicated-rows"}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    missing=st.floats(0, 0.02),
    late=st.integers(0, 5),
    scale=st.floats(0.1, 30),
    lag=st.integers(1, 10),
)
def test_honest_tables_are_never_refused(seed: int, missing: float, late: int, scale: float, lag: int) -> None:
    frame = prices(seed) * scale
    # What was known: a lagged value, a moving mean, a past return.
    frame = frame.assign(
        lagged=frame["a"].shift(lag), mean=frame["a"].rolling(lag + 1).mean(), past=frame["a"].pct_change(lag)
    ).iloc[11:]
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < missing).iloc[late // 3 :]
    fields = {**PRICES, "data.measure": None, "data.start": date(2015, 1, 12)}
    assert codes(frame, fields) == set()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<!DOCTYPE html>\n<html></html>", "a web page"),
        (b"," * (8 << 20), "2000 columns"),
        (b"," * 5000 + b"\n1", "2000 columns"),
        (b"date,a\n2020-01-01,ten\n2020-01-02,11\n", "'ten'"),
        (b"", "first line"),
        (b"date,a\n", "no rows"),
        (b"date,a\n2020-01-01,1,5\n2020-01-02,2,5\n", "more cells than the header"),
        (b"\xff\xfe\x00\n\x00", "no CSV"),
    ],
)
def test_what_is_no_table_is_said(content: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_table(content)


@pytest.mark.parametrize(
    ("licence", "says"),
    [
        ("Public domain (work of the US government)", "allows"),
        ("CC BY 4.0", "allows"),
        ("Proprietary; redistribution is prohibited", "forbids"),
        ("may not be redistributed", "forbids"),
        ("Yahoo terms of service: for your own use, not for redistribution", "forbids"),
        ("available from the authors", "unknown"),
    ],
)
def test_licences_are_read(licence: str, says: str) -> None:
    assert licence_says(licence) == says
