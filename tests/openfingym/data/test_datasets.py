"""The bundled datasets: provenance complete, digests right, facts as stated, damage noticed."""

import dataclasses
import gzip
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from datetime import date

import numpy as np
import pytest

import openfingym.data
from openfingym.data import dataset, dataset_info, datasets, load_panel, panel
from openfingym.data.csvfile import canonical_csv, read_csv_panel
from openfingym.errors import DataError
from tests.sweeps import fixed_part

REAL = ("ecb-fx", "ecb-fx-8", "goog-ohlcv", "us-large-caps", "us-stocks-ohlcv", "ust-par-yields", "ust-par-yields-1993")
SIMULATED = (
    "sim-commodities",
    "sim-crypto",
    "sim-crypto-bars",
    "sim-crypto-seconds",
    "sim-crypto-wide",
    "sim-global-indices",
    "sim-lob-bars",
    "sim-nifty50",
    "sim-stock-minutes",
    "sim-us-60",
    "sim-us-equities",
)
STEPS = {"intraday": np.timedelta64(1, "m"), "hourly": np.timedelta64(1, "h"), "daily": np.timedelta64(1, "D")}


def test_what_is_bundled():
    assert {info.name for info in datasets()} == {*REAL, *SIMULATED}
    assert {info.name for info in datasets() if info.kind == "simulated"} == set(SIMULATED)


@pytest.mark.parametrize("info", datasets(), ids=lambda info: info.name)
def test_provenance_is_complete(info):
    for field in dataclasses.fields(info):
        value = getattr(info, field.name)
        if field.name not in {"instruments", "missing", "originals", "prepared", "units"}:
            assert value, field.name
    assert isinstance(info.first, date)
    assert isinstance(info.last, date)
    assert info.kind in {"real", "simulated", "specified"}
    # What is drawn anew for a dataset is of no series that another one holds.
    assert (len(info.instruments) > 0) == (info.kind == "real")
    assert info.measure in {"price", "yield", "mixed"}
    assert len(info.units) == (len(info.channels) if info.measure == "mixed" else 0)
    assert info.missing == 0
    assert info.prepared == (), "only an author's own table is prepared"
    assert len(info.sha256) == 64
    assert bool(info.originals) == (info.kind == "real")
    assert all(len(digest) == 64 and int(digest, 16) for _, digest in info.originals)
    if info.kind == "simulated":
        assert "simulated" in info.title
        assert info.notes[0].startswith("SIMULATED")


@pytest.mark.parametrize("info", fixed_part(datasets(), 2), ids=lambda info: info.name)
def test_the_rows_are_what_the_provenance_states(info):
    loaded = load_panel(info.name)
    assert loaded.digest == info.sha256
    assert loaded.values.shape == (info.rows, len(info.channels))
    assert loaded.channels == info.channels
    assert (loaded.times[0].astype("datetime64[D]").item(), loaded.times[-1].astype("datetime64[D]").item()) == (
        info.first,
        info.last,
    )
    assert loaded.times.dtype == np.dtype("datetime64[ns]")
    assert (np.diff(loaded.times) > np.timedelta64(0, "ns")).all()
    assert np.isfinite(loaded.values).all()
    assert loaded.values.flags.c_contiguous
    assert not loaded.values.flags.writeable
    if info.measure == "price":
        assert (loaded.values > 0).all()
    step = np.timedelta64(5, "s") if info.name == "sim-crypto-seconds" else STEPS[info.frequency]
    assert np.median(np.diff(loaded.times)) == step


@pytest.mark.parametrize("name", REAL)
def test_the_committed_file_is_deterministic_gzip_of_the_canonical_text(name):
    raw = (dataset.SERIES / f"{name}.csv.gz").read_bytes()
    assert raw[4:8] == bytes(4)  # modification time
    assert not raw[3] & 0x08  # no file name
    text = gzip.decompress(raw)
    loaded = load_panel(name)
    assert text == canonical_csv(loaded.times, loaded.channels, loaded.values)
    assert hashlib.sha256(text).hexdigest() == dataset_info(name).sha256


def test_the_committed_files_are_small():
    assert sum(path.stat().st_size for path in dataset.SERIES.iterdir()) < 2_000_000


@pytest.mark.parametrize(
    ("name", "day", "expected"),
    [
        ("ust-par-yields", "2006-02-09", {"1m": 4.32, "3m": 4.52, "2y": 4.66, "10y": 4.54, "30y": 4.51}),
        ("ust-par-yields", "2012-07-25", {"10y": 1.43}),  # the record low of that time
        ("ust-par-yields", "2019-08-26", {"1m": 2.09, "2y": 1.54, "30y": 2.04}),
        (
            "ecb-fx",
            "2009-01-02",
            {"eur_usd": 1.3866, "usd_jpy": 126.64 / 1.3866, "gbp_usd": 1.3866 / 0.961, "usd_try": 2.138 / 1.3866},
        ),
        ("ecb-fx", "2015-01-15", {"eur_usd": 1.1708, "usd_chf": 1.028 / 1.1708}),
        ("ust-par-yields-1993", "1993-10-01", {"3m": 2.98, "10y": 5.34, "30y": 5.98}),
        ("ust-par-yields-1993", "2002-02-15", {"3m": 1.74, "2y": 2.97, "10y": 4.86, "30y": 5.37}),
        ("ecb-fx-8", "2016-06-24", {"gbp_usd": 1.1066 / 0.8075}),
        ("goog-ohlcv", "2004-08-19", {"open": 100.01, "close": 100.335, "volume": 44_659_000.0}),
        (
            "us-stocks-ohlcv",
            "2000-03-01",
            {"aapl_close": 130.31 / 4, "aapl_volume": 4 * 9_616_100.0, "aapl_adj_close": 4.186662803811},
        ),
        ("us-stocks-ohlcv", "2013-03-01", {"aapl_close": 430.47, "ibm_close": 202.91, "msft_close": 27.95}),
        ("us-large-caps", "1990-01-02", {"aapl": 0.264, "xom": 4.068}),
        ("us-large-caps", "2022-12-28", {"aapl": 125.674, "ko": 62.609}),
    ],
)
def test_values_published_on_a_day(name, day, expected):
    loaded = load_panel(name, list(expected))
    row = loaded.values[int(np.flatnonzero(loaded.times == np.datetime64(day))[0])]
    assert row == pytest.approx(list(expected.values()), rel=1e-6)


def test_yields_are_percent_with_two_decimals_and_zero_only_at_the_short_end():
    loaded = load_panel("ust-par-yields")
    assert (loaded.values == loaded.values.round(2)).all()
    assert 0.0 <= loaded.values.min() < loaded.values.max() < 6.0
    zeros = dict(zip(loaded.channels, (loaded.values == 0).sum(axis=0).tolist(), strict=True))
    assert {channel: count for channel, count in zeros.items() if count} == {"1m": 90, "3m": 19}
    assert np.diff(loaded.times).max() == np.timedelta64(4, "D")


def test_the_defects_of_the_equities_are_as_described():
    loaded = load_panel("us-large-caps", ["rrc", "aapl"])
    moves = np.diff(np.log(loaded.values[:, 0]))
    worst = int(moves.argmin())
    assert loaded.times[worst + 1] == np.datetime64("1990-04-10")
    assert loaded.values[worst : worst + 2, 0].tolist() == [3.322, 1.107]
    assert loaded.values[:, 1].min() == 0.098


def test_the_spans_of_the_treasury_do_not_meet():
    early, late = load_panel("ust-par-yields-1993"), load_panel("ust-par-yields")
    assert early.times[-1] < late.times[0]
    assert (early.values == early.values.round(2)).all()
    assert 1.5 < early.values.min() < early.values.max() < 8.5
    assert np.diff(early.times).max() == np.timedelta64(4, "D")


def test_the_two_exchange_rate_sets_agree_where_they_meet():
    both = ["gbp_usd", "usd_cad", "usd_chf", "usd_cny", "usd_jpy", "nzd_usd", "usd_sgd"]
    eight, sixteen = load_panel("ecb-fx-8", both), load_panel("ecb-fx", both)
    shared = np.isin(eight.times, sixteen.times)
    assert (eight.times[shared] == sixteen.times).all()
    assert (eight.values[shared] == sixteen.values).all()


@pytest.mark.parametrize(("name", "prefixes"), [("us-stocks-ohlcv", ("aapl_", "ibm_", "msft_")), ("goog-ohlcv", ("",))])
def test_bars_are_consistent(name, prefixes):
    loaded = load_panel(name)
    column = dict(zip(loaded.channels, loaded.values.T, strict=True))
    for prefix in prefixes:
        bar = {field: column[prefix + field] for field in ("open", "high", "low", "close", "volume", "adj_close")}
        assert (bar["low"] <= np.minimum(bar["open"], bar["close"])).all()
        assert (bar["high"] >= np.maximum(bar["open"], bar["close"])).all()
        assert (bar["volume"] > 0).all()
        assert (bar["volume"] == bar["volume"].round()).all()
        assert (bar["adj_close"] < bar["close"]).all()


def test_the_stocks_have_no_split_left_and_the_defects_described():
    loaded = load_panel("us-stocks-ohlcv")
    column = dict(zip(loaded.channels, loaded.values.T, strict=True))
    days = loaded.times[1:].astype("datetime64[D]").astype(str)
    moves = {
        name: dict(zip(days, np.diff(np.log(column[f"{name}_close"])), strict=True)) for name in ("aapl", "ibm", "msft")
    }
    assert {(name, day) for name, by_day in moves.items() for day, move in by_day.items() if abs(move) > 0.2} == {
        ("aapl", "2000-09-29")
    }
    assert math.exp(moves["aapl"]["2000-09-29"]) == pytest.approx(0.48, abs=0.005)
    # Dividends are all that is left between close and adjusted close, and Microsoft's special one is the largest.
    for name in moves:
        change = np.diff(np.log(column[f"{name}_adj_close"] / column[f"{name}_close"]))
        assert np.abs(change).max() < (0.11 if name == "msft" else 0.01)
    i = int(np.flatnonzero(days == "2003-01-29")[0])
    prices = loaded.values[i : i + 2, :4]
    assert (prices[0] == prices[1]).all()
    assert column["aapl_volume"][i] != column["aapl_volume"][i + 1]


def test_the_adjusted_close_of_google_is_its_close():
    close, adjusted = load_panel("goog-ohlcv", ["close", "adj_close"]).values.T
    assert adjusted == pytest.approx(0.50154823 * close, rel=1e-7)


def test_channels_are_chosen_in_the_order_asked():
    whole, part = load_panel("ecb-fx"), load_panel("ecb-fx", ["usd_jpy", "eur_usd"])
    assert part.channels == ("usd_jpy", "eur_usd")
    assert (part.values == whole.values[:, [3, 0]]).all()
    assert part.info == whole.info
    assert part.digest != whole.digest
    assert part.digest == load_panel("ecb-fx", ("usd_jpy", "eur_usd")).digest


@pytest.mark.parametrize(
    ("name", "channels", "words"),
    [
        ("ecbfx", None, "no dataset 'ecbfx'; did you mean 'ecb-fx'"),
        ("../secret", None, "no dataset"),
        ("ecb-fx", ["usd_jpn"], "no channel 'usd_jpn'; did you mean 'usd_jpy'"),
        ("ecb-fx", [], "different names"),
        ("ecb-fx", ["usd_jpy", "usd_jpy"], "different names"),
    ],
)
def test_names_that_are_not_there(name, channels, words):
    with pytest.raises(DataError, match=words):
        load_panel(name, channels)


@pytest.fixture
def series(tmp_path, monkeypatch):
    """A copy of the bundled folder that a test may damage."""
    copy = tmp_path / "series"
    shutil.copytree(dataset.SERIES, copy)
    monkeypatch.setattr(dataset, "SERIES", copy)
    monkeypatch.setattr(panel, "SERIES", copy)
    return copy


def test_one_changed_digit_is_noticed(series):
    path = series / "ust-par-yields.csv.gz"
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text.replace(b"4.32", b"4.33", 1)))
    with pytest.raises(DataError, match=r"SHA-256 .* expected .*; reinstall"):
        load_panel("ust-par-yields")


def test_a_file_that_is_gone_or_torn_is_noticed(series):
    path = series / "ecb-fx.csv.gz"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DataError, match="cannot be read"):
        load_panel("ecb-fx")
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        load_panel("ecb-fx")


def test_a_changed_simulator_is_noticed(series):
    path = series / "sim-commodities.toml"
    path.write_text(path.read_text().replace("seed = 20260626", "seed = 1"))
    with pytest.raises(DataError, match="the simulator made data with SHA-256"):
        load_panel("sim-commodities")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("title =", "titel =", "titel"),
        ("[originals]", "[originals", "not a readable provenance file"),
        ('name = "ecb-fx"', 'name = "fx"', "names itself 'fx'"),
        ("calendar =", "calender =", "calender"),
        ('measure = "price"', 'measure = "mixed"', "0 units for 16 channels"),
    ],
)
def test_damaged_provenance_is_noticed(series, old, new, words):
    path = series / "ecb-fx.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=words):
        datasets()


def test_columns_that_are_not_the_stated_channels_are_noticed(series):
    path = series / "ust-par-yields.toml"
    path.write_text(path.read_text().replace('"1m", "3m"', '"3m", "1m"'))
    with pytest.raises(DataError, match="not the channels"):
        load_panel("ust-par-yields")


def test_an_exported_dataset_reads_back_as_an_authors_file(tmp_path):
    loaded = load_panel("ecb-fx", ["usd_chf"])
    (tmp_path / "own.csv").write_bytes(canonical_csv(loaded.times, loaded.channels, loaded.values))
    again = read_csv_panel(tmp_path / "own.csv", measure="price", kind="real", source="s", licence="l", name="own")
    assert again.digest == loaded.digest


def test_the_same_bytes_on_a_processor_with_fewer_instructions():
    """The simulators and the log returns must not depend on which vector units NumPy finds."""
    program = (
        "import hashlib, json, sys; from openfingym.data import load_panel\n"
        "from openfingym.data.recipe import to_values\n"
        "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f\n"
        "made = {name: load_panel(name) for name in sys.argv[1:]}\n"
        "prices = {n: p for n, p in made.items() if p.info.measure == 'price'}\n"
        "returns = {n: hashlib.sha256(to_values(p, 'log_return')[1].tobytes()).hexdigest() for n, p in "
        "prices.items()}\n"
        "digests = {n: p.digest for n, p in made.items()}\n"
        "print(json.dumps({'digests': digests, 'returns': returns, 'features': [x for x in d if f.get(x)]}))\n"
    )

    def run(disabled):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "NPY_DISABLE_CPU_FEATURES": disabled,
        }
        done = subprocess.run(
            [sys.executable, "-c", program, *tried],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return json.loads(done.stdout)

    tried = {info.name: info.sha256 for info in fixed_part(datasets(), 6)}
    full = run("")
    plain = run(" ".join(full["features"]))
    assert plain["features"] == []
    assert plain["digests"] == full["digests"] == tried
    assert plain["returns"] == full["returns"]


def test_public_names_are_there():
    assert all(hasattr(openfingym.data, name) for name in openfingym.data.__all__)
