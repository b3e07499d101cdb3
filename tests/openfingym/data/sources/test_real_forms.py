"""``--real``: what is pulled takes the place of a task's own data, from the publisher's files to a verified score."""

import io
import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pytest

from openfingym.catalog import load_task, task_folders
from openfingym.data.curves import simulated_curves
from openfingym.data.months import month_ends
from openfingym.data.sources import pull
from openfingym.data.sources.eiopa import PAGES
from openfingym.errors import DataError, TaskError
from openfingym.kinds import kind_of
from openfingym.kinds.real_forms import real_form
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
