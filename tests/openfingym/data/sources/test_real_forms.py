"""``--real``: what is pulled takes the place of a task's own data, from the publisher's files to a verified score."""

import hashlib
import io
import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task, task_folders
from openfingym.cli import cli
from openfingym.data.curves import simulated_curves
from openfingym.data.indicators import WARM_UP, macd, rsi
from openfingym.data.months import month_ends
from openfingym.data.sources import SOURCES
from openfingym.data.sources.catalog import PULLABLE, pull
from openfingym.data.sources.eiopa import PAGES
from openfingym.errors import DataError, TaskError
from openfingym.kinds import kind_of
from openfingym.kinds.real_forms import FORMS, real_form
from openfingym.packages.build import build
from openfingym.task.model import CONFIG


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))


@pytest.fixture
def edited(tmp_path: Path):
    """A task of the library with its ``task.toml`` changed."""

    def edited(name: str, *changes: tuple[str, str]):
        folder = tmp_path / "edited" / name
        folder.mkdir(parents=True)
        for file in task_folders()[name].iterdir():
            text = file.read_text(encoding="utf-8")
            for old, new in changes if file.name == CONFIG else ():
                assert old in text
                text = text.replace(old, new)
            (folder / file.name).write_text(text, encoding="utf-8")
        return load_task(folder, real=True)

    return edited


# ---- curves


def workbook(curves: dict[str, np.ndarray]) -> bytes:
    """``RFR_spot_no_VA`` as SpreadsheetML, from scratch: a hundred through a library would take seconds."""
    rows: list[list[object]] = [["Main menu"], [None, None, *curves]]
    rows += [[None, "VA", *[1] * len(curves)] for _ in range(8)]
    rows += [[None, year + 1, *(curve[year] for curve in curves.values())] for year in range(150)]

    def cell(value: object, row: int, column: int) -> str:
        place = f'r="{chr(65 + column)}{row}"'
        if isinstance(value, str):
            return f'<c {place} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return "" if value is None else f"<c {place}><v>{value}</v></c>"

    lines = "".join(
        f'<row r="{i}">{"".join(cell(value, i, j) for j, value in enumerate(row))}</row>'
        for i, row in enumerate(rows, 1)
    )
    main, office = (
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="RFR_spot_no_VA" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


MONTHS = 80


@pytest.fixture
def eiopa(site, client):
    """80 months at EIOPA, of the euro and of Japan, pulled; the site then answers nothing any more."""
    pytest.importorskip("python_calamine")
    days = month_ends("2015-12", MONTHS).astype("datetime64[D]").tolist()
    values = np.round(simulated_curves().values[:MONTHS, [0, 13]] / 100.0, 5)

    def eiopa(name: str, *countries: str) -> np.ndarray:
        links = "".join(f'<a href="/EIOPA_RFR_{day:%Y%m%d}.zip">x</a>' for day in days).encode()
        for page in PAGES:
            site.on(page, b"<html>" + links)
        for day, curves in zip(days, values, strict=True):
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                book = workbook({"Euro": curves[0], "Japan": curves[1]})
                archive.writestr(f"EIOPA_RFR_{day:%Y%m%d}_Term_Structures.xlsx", book)
            site.on(f"/EIOPA_RFR_{day:%Y%m%d}.zip", packed.getvalue())
        pull(name, symbols=countries, client=client, base_url=site.url)
        site.routes.clear()
        return np.round(values * 100.0, 6)

    return eiopa


def test_the_yield_curve_task_on_eiopas_curves(eiopa, tmp_path: Path, monkeypatch, capsys) -> None:
    from openfingym.cli import main

    task = load_task("yield-curve-forecast", real=True)
    with pytest.raises(DataError, match=r"Run this once, with a network: openfingym data pull eiopa-euro-curves$"):
        build(task)
    published = eiopa("eiopa-euro-curves")
    package = build(task)
    assert (package.manifest.data_kind, package.manifest.submission_shape[1:]) == ("real", (3, 150))
    inputs = np.load(package.data / "train_inputs.npy")
    np.testing.assert_array_equal(inputs[0], published[:10, 0])
    text = (package.public / "instruction.md").read_text()
    assert "Real data: European Insurance and Occupational Pensions Authority" in text
    assert "what the text above says of simulated data does not hold" in text
    assert json.loads((package.data / "contract.json").read_text())["panel"].startswith("EIOPA's monthly")

    def cli(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["openfingym", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        assert not exit_info.value.code
        return capsys.readouterr().out

    out = str(tmp_path / "runs")
    for arguments in (("--real",), ()):
        cli("run", "yield-curve-forecast", *arguments, "--backend", "inline", "--out", out)
    report = json.loads(cli("report", out, "--json"))
    found = sorted((cell["data_kind"], cell["counts"]["scored"]) for cell in report["cells"])
    assert found == [("real", 1), ("simulated", 1)]


def test_a_curves_task_takes_the_countries_that_it_states(eiopa, edited) -> None:
    stated = '[metadata.openfingym.dataset.pulled]\nsource = "eiopa"\nsymbols = ["Japan", "Euro"]\n\n'
    task = edited("yield-curve-forecast", ("[metadata.openfingym.split]", f"{stated}[metadata.openfingym.split]"))
    assert real_form(task).command == "openfingym data pull eiopa --symbols Japan,Euro"
    with pytest.raises(DataError, match=r"openfingym data pull eiopa --symbols Japan,Euro$"):
        build(task)
    published = eiopa("eiopa", "Japan", "Euro")
    kind = kind_of(task)
    source = kind.load(task)
    assert (source.countries, kind.data_kind(task), source.info.kind) == (("Japan", "Euro"), "real", "real")
    np.testing.assert_array_equal(source.values, published[:, ::-1])
    # The task states the data, so its own split holds: 0.172 of 80 months.
    assert kind.shape(task, source).n_train == 2 * (13 - 10)


@pytest.mark.parametrize(
    ("source", "more", "expected"),
    [
        ("treasury-par-yields", "", "treasury-par-yields has no curves of 1 to 150 years; use a dataset of the source"),
        ("eiopa-euro-curves", 'interval = "1d"', "eiopa-euro-curves has bars of one length; remove it"),
        ("eiopa", 'interval = "1d"', "eiopa has no bars; remove it"),
        ("eiopa-euro-curve", "", "did you mean 'eiopa-euro-curves'"),
    ],
)
def test_a_curves_task_that_states_what_has_no_curves(edited, source: str, more: str, expected: str) -> None:
    stated = f'[metadata.openfingym.dataset.pulled]\nsource = "{source}"\n{more}\n\n[metadata.openfingym.split]'
    task = edited("yield-curve-forecast", ("[metadata.openfingym.split]", stated))
    with pytest.raises((TaskError, DataError), match=expected):
        build(task)


def test_an_authors_curves_are_replaced_by_those_that_the_task_states(eiopa, tmp_path: Path) -> None:
    values = np.round(3.0 + np.random.default_rng(0).standard_normal((300, 2)).cumsum(0) * 0.02, 4)
    rows = "".join(f"{row[0]},{row[1]}\n" for row in values)
    (tmp_path / "mine.csv").write_text(f"1y,10y\n{rows}", encoding="utf-8")
    arguments = ["task", "new", "my-curves", "--kind", "curves", "--from", str(tmp_path / "mine.csv")]
    made = CliRunner().invoke(cli, [*arguments, "--to", str(tmp_path)], catch_exceptions=False)
    assert made.exit_code == 0, made.output
    folder = tmp_path / "my-curves"
    text = (folder / CONFIG).read_text(encoding="utf-8")
    stated = '[metadata.openfingym.dataset.pulled]\nsource = "eiopa-euro-curves"\nsymbols = ["Euro"]\n\n'
    before = "[metadata.openfingym.dataset.prepared]"
    assert before in text
    (folder / CONFIG).write_text(text.replace(before, stated + before), encoding="utf-8")
    task = load_task(folder, real=True)
    with pytest.raises(DataError, match=r"openfingym data pull eiopa-euro-curves$"):
        build(task)
    published = eiopa("eiopa-euro-curves")
    source = kind_of(task).load(task)
    np.testing.assert_array_equal(source.values, published[:, :1])
    assert kind_of(task).load(load_task(folder)).values.shape == (300, 1, 2)
    assert build(task).manifest.data_kind == "real"


# ---- stocks and indices, from Yahoo

FIRST = date(2015, 1, 1)


def second(day: date, hour: int = 0) -> int:
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


def walks(seed: int, days: int, symbols: tuple[str, ...]) -> np.ndarray:
    steps = 0.01 * np.random.default_rng(seed).standard_normal((days, len(symbols)))
    return np.round(3000.0 * np.exp(np.add.accumulate(steps)), 2)


def from_yahoo(site, client, name: str, days: int) -> np.ndarray:
    """Pull a dataset of Yahoo's over some business days from 2015 on; the closes, one column a symbol."""
    dates = [day for day in (FIRST + timedelta(i) for i in range(2 * days)) if day.weekday() < 5][:days]
    symbols = PULLABLE[name].request.symbols
    closes = walks(1, days, symbols)
    for symbol, column in zip(symbols, closes.T.tolist(), strict=True):
        meta = {
            "currency": "USD",
            "symbol": symbol,
            "exchangeTimezoneName": "UTC",
            "currentTradingPeriod": {"regular": {"start": second(dates[-1], 13), "end": second(dates[-1], 20)}},
            "regularMarketTime": second(dates[-1], 20),
        }
        cells = dict.fromkeys(("open", "high", "low", "close"), column) | {"volume": [100] * days}
        result = {
            "meta": meta,
            "timestamp": [second(day, 13) for day in dates],
            "events": {},
            "indicators": {"quote": [cells], "adjclose": [{"adjclose": column}]},
        }
        content = json.dumps({"chart": {"result": [result], "error": None}}).encode()
        site.on(f"/v8/finance/chart/{symbol.replace('^', '%5E').replace('=', '%3D')}", content)
    pull(name, start=FIRST, end=dates[-1], client=client, base_url=site.url)
    return closes


def test_sixty_real_stocks(site, client) -> None:
    closes = from_yahoo(site, client, "yahoo-us-60", 1400)
    task = load_task("tsfm-forecast", real=True)
    kind = kind_of(task)
    source = kind.load(task)
    assert (source.channels, source.info.kind) == (task.spec.dataset.channels, "real")
    np.testing.assert_array_equal(source.values, closes)
    assert kind.shape(task, source).n_private == 9 * 60
    assert kind.channels(task) == 60


def test_the_real_nifty_has_indicators_of_its_own_closes(site, client) -> None:
    closes = from_yahoo(site, client, "yahoo-nifty-factors", 500)
    task = load_task("nifty50-forecast", real=True)
    source = kind_of(task).load(task)
    assert (source.channels, source.info.measure) == (task.spec.dataset.channels, "mixed")
    np.testing.assert_array_equal(source.values[:, :6], closes[WARM_UP:])
    np.testing.assert_array_equal(source.values[:, 6], macd(closes[:, 0]).round(4)[WARM_UP:])
    np.testing.assert_array_equal(source.values[:, 7], rsi(closes[:, 0]).round(4)[WARM_UP:])
    assert build(task).manifest.data_kind == "real"


# ---- crypto-assets, from Binance


def from_binance(site, client) -> np.ndarray:
    """Pull a month of ``binance-hourly-pairs``; the closes, one column a pair."""
    symbols = PULLABLE["binance-hourly-pairs"].request.symbols
    first, last = date(2021, 1, 1), date(2021, 1, 31)
    closes = walks(2, 24 * last.day, symbols)
    for symbol, column in zip(symbols, closes.T.tolist(), strict=True):
        rows = []
        for hour, close in enumerate(column):
            opened = 1000 * (second(first) + 3600 * hour)
            rows.append(f"{opened},{close},{close},{close},{close},1,{opened + 3_599_999},1,1,1,1,0\n")
        stem, packed = f"{symbol}-1h-2021-01", io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{stem}.csv", "".join(rows))
        path = f"/data/spot/monthly/klines/{symbol}/1h/{stem}.zip"
        site.on(path, packed.getvalue())
        site.on(f"{path}.CHECKSUM", f"{hashlib.sha256(packed.getvalue()).hexdigest()}  {stem}.zip\n".encode())
    pull("binance-hourly-pairs", start=first, end=last, client=client, base_url=site.url)
    return closes


def test_windows_of_real_crypto_pairs(site, client) -> None:
    closes = from_binance(site, client)
    task = load_task("crypto-generation", real=True)
    package = build(task)
    assert (package.manifest.data_kind, package.manifest.labels) == ("real", FORMS["crypto-pairs"].names)
    paths = np.load(package.data / "train_targets.npy")
    # Rows from 1 on, each window over the row before it.
    np.testing.assert_allclose(paths[0], closes[1:61] / closes[0])
    assert kind_of(task).channels(task) == 20
    assert not kind_of(task).renewable(task)
    returns = build(load_task("crypto-return-generation", real=True))
    assert returns.manifest.labels == FORMS["crypto-log-returns"].names
    np.testing.assert_allclose(
        np.load(returns.data / "train_targets.npy")[0], np.diff(np.log(closes[:25, :10]), axis=0), atol=1e-9
    )


def test_a_process_set_beside_real_data_that_the_task_states(edited) -> None:
    """The split is that of the real data; the set keeps its own."""
    stated = """[metadata.openfingym.dataset.pulled]
source = "binance-rest"
symbols = ["BTCUSDT", "ETHUSDT"]
interval = "1h"

[metadata.openfingym.split]
train = 0.6
public = 0.2
private = 0.2
embargo = 24

[metadata.openfingym.contract]"""
    task = edited("crypto-return-generation", ("[metadata.openfingym.contract]", stated))
    command = "openfingym data pull binance-rest --symbols BTCUSDT,ETHUSDT --interval 1h --start 2023-01-01"
    assert real_form(task).command == command
    with pytest.raises(DataError, match=f"{command}$"):
        build(task)
    simulated = load_task(task.folder)
    assert kind_of(simulated).load(simulated).info.kind == kind_of(simulated).data_kind(simulated) == "simulated"


# ---- the table of forms


def test_every_simulated_task_has_a_real_form_or_says_why_not() -> None:
    for name in task_folders():
        task = load_task(name)
        form = real_form(task)
        assert (form.pulled is None) == bool(form.why), name
        if kind_of(task).data_kind(task) == "simulated":
            assert form.pulled is None or form.command is not None
            assert "no source is known for" not in form.why, name
            assert form.pulled is None or form.pulled.source in {*PULLABLE, *SOURCES}


def test_the_docs_have_every_form() -> None:
    text = (Path(__file__).resolve().parents[4] / "docs" / "sources.md").read_text(encoding="utf-8")
    table = text.split("## Real forms")[1].split("\n## ")[0]
    for name, form in FORMS.items():
        rows = [line for line in table.splitlines() if f"`{name}`" in line]
        assert len(rows) == 1, name
        # Without it the task's text, which says simulated, would stand above real data unchanged.
        assert bool(form.panel) == (form.pulled is not None), name
        assert (f"`{form.pulled.source}`" if form.pulled else form.why) in rows[0]


def test_what_takes_no_pulled_data_says_so(edited) -> None:
    stated = '[metadata.openfingym.dataset.pulled]\nsource = "yahoo"\n\n[metadata.openfingym.contract]'
    task = edited("ba2motifs-fraud", ("[metadata.openfingym.contract]", stated))
    with pytest.raises(
        TaskError, match=r"a graphs task takes no pulled data, so dataset\.pulled cannot be used; remove"
    ):
        build(task)


def test_a_graph_task_that_states_another_graph(edited) -> None:
    task = edited("blogcatalog-fraud", ('source = "blogcatalog-fraud-graph"', 'source = "amazon-fraud-graph"'))
    message = "amazon-fraud-graph is not the published blogcatalog graph; that is blogcatalog-fraud-graph"
    with pytest.raises(TaskError, match=message):
        build(task)


def test_symbols_that_do_not_fit_the_channels(site, client, edited) -> None:
    from_yahoo(site, client, "yahoo-nifty-factors", 200)
    task = edited(
        "equity-forecast-v1",
        ('source = "yahoo"\nsymbols = ["XOM", "CVX", "COP", "SLB", "OXY"]', 'source = "yahoo-nifty-factors"'),
    )
    with pytest.raises(TaskError, match=r"6 columns of yahoo-nifty-factors for the 5 of dataset\.channels"):
        build(task)
