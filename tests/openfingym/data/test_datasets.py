"""The bundled datasets: provenance complete, digests right, facts as stated, damage noticed."""

import dataclasses
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from datetime import date

import numpy as np
import pytest

import openfingym.data
from openfingym.data import canonical_csv, dataset, dataset_info, datasets, load_panel, panel, read_csv_panel
from openfingym.errors import DataError

REAL = ("ecb-fx", "us-large-caps", "ust-par-yields")
SIMULATED = ("sim-commodities", "sim-crypto")


def test_what_is_bundled():
    assert [info.name for info in datasets()] == sorted([*REAL, *SIMULATED])
    assert {info.name for info in datasets() if info.kind == "simulated"} == set(SIMULATED)


@pytest.mark.parametrize("info", datasets(), ids=lambda info: info.name)
def test_provenance_is_complete(info):
    for field in dataclasses.fields(info):
        value = getattr(info, field.name)
        if field.name not in {"missing", "originals"}:
            assert value, field.name
    assert isinstance(info.first, date)
    assert isinstance(info.last, date)
    assert info.kind in {"real", "simulated", "specified"}
    assert info.measure in {"price", "yield"}
    assert info.missing == 0
    assert len(info.sha256) == 64
    assert bool(info.originals) == (info.kind == "real")
    assert all(len(digest) == 64 and int(digest, 16) for _, digest in info.originals)
    if info.kind == "simulated":
        assert "simulated" in info.title
        assert info.notes[0].startswith("SIMULATED")


@pytest.mark.parametrize("info", datasets(), ids=lambda info: info.name)
def test_the_rows_are_what_the_provenance_states(info):
    loaded = load_panel(info.name)
    assert loaded.digest == info.sha256
    assert loaded.values.shape == (info.rows, len(info.channels))
    assert loaded.channels == info.channels
    assert (loaded.times[0].astype("datetime64[D]").item(), loaded.times[-1].astype("datetime64[D]").item()) == (info.first, info.last)
    assert loaded.times.dtype == np.dtype("datetime64[ns]")
    assert (np.diff(loaded.times) > np.timedelta64(0, "ns")).all()
    assert np.isfinite(loaded.values).all()
    assert loaded.values.flags.c_contiguous
    assert not loaded.values.flags.writeable
    if info.measure == "price":
        assert (loaded.values > 0).all()
    step = np.timedelta64(1, "h") if info.frequency == "hourly" else np.timedelta64(1, "D")
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
        ("ecb-fx", "2009-01-02", {"eur_usd": 1.3866, "usd_jpy": 126.64 / 1.3866, "gbp_usd": 1.3866 / 0.961, "usd_try": 2.138 / 1.3866}),
        ("ecb-fx", "2015-01-15", {"eur_usd": 1.1708, "usd_chf": 1.028 / 1.1708}),
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
        "import hashlib, json; from openfingym.data import datasets, load_panel, to_values\n"
        "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f\n"
        "made = {i.name: load_panel(i.name) for i in datasets()}\n"
        "prices = {n: p for n, p in made.items() if p.info.measure == 'price'}\n"
        "returns = {n: hashlib.sha256(to_values(p, 'log_return')[1].tobytes()).hexdigest() for n, p in prices.items()}\n"
        "digests = {n: p.digest for n, p in made.items()}\n"
        "print(json.dumps({'digests': digests, 'returns': returns, 'features': [x for x in d if f.get(x)]}))\n"
    )

    def run(disabled):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NPY_DISABLE_CPU_FEATURES": disabled}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=120)
        return json.loads(done.stdout)

    full = run("")
    plain = run(" ".join(full["features"]))
    assert plain["features"] == []
    assert plain["digests"] == full["digests"] == {info.name: info.sha256 for info in datasets()}
    assert plain["returns"] == full["returns"]


def test_public_names_are_there():
    assert all(hasattr(openfingym.data, name) for name in openfingym.data.__all__)
