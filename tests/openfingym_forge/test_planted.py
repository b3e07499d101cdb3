"""A fault that is planted in an honest paper or in its data is refused by the stages with its code, and what is honest
in other words is not.
"""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from openfingym.packages.build import write_package
from openfingym.task import Task
from openfingym_forge.folder import ForgeFolder, ForgeSettings, KeptResult
from openfingym_forge.intake import take_in
from openfingym_forge.pipeline import work_on
from openfingym_forge.stages import stages_of

FORGE = Path(__file__).parent
HOST = "data.freight-rates.example"
ORDER = "Time order is preserved and nothing is normalised."
ENDS = "Each row is stamped with the Friday on which its week ends."
SMALLER = "Smaller is better for both."
GAP = "; at each boundary four weeks are purged"
SPLIT = r"""Training uses the first 65\,\% of the weeks, model selection the following 15\,\%, and
testing the final 20\,\%; at each boundary four weeks are purged."""
OTHER_SPLIT = r"""The earliest 65\,\% of the weeks are for fitting, the next 15\,\% for choosing a model and the last
20\,\% for the test; four weeks are left out between any two parts."""
RETURNS = """We take the series of
index points to log returns, $r_t=\\log P_t-\\log P_{t-1}$."""
LEVELS = "weekly index levels for"
DATA, SETUP = (FORGE / "written" / "dry-bulk.tex").read_text().split("\\section{")[2:4]
PLANTED = "answer_is_471108"
LICENCE = "under the Creative Commons Attribution 4.0 licence (CC BY 4.0)."
Table = Callable[[np.ndarray], np.ndarray]
Forging = Callable[..., KeptResult]


@pytest.fixture
def forged(tmp_path: Path) -> Iterator[Forging]:
    """Puts the corpus's paper on freight rates, changed in its words or its data, through the real stages."""
    served = tmp_path / "served"
    served.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=served)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def run(words: dict[str, str], table: Table | None = None, last: str = "prove") -> KeptResult:
        text = (FORGE / "written" / "dry-bulk.tex").read_text()
        for old, new in words.items():
            assert old in text, old
            text = text.replace(old, new)
        (tmp_path / "paper.tex").write_text(text)
        _serve(served, words, table)
        hosts = (f"{HOST}=127.0.0.1:{server.server_port}",)
        settings = ForgeSettings("stand-in/forge", "stand-in/forge", backend="inline", local_hosts=hosts)
        forge = ForgeFolder.begin(tmp_path / "forge", settings)
        [(paper, _)] = take_in(forge, tmp_path / "paper.tex")
        asking, stages = stages_of(forge, paper)
        names = [stage.name for stage in stages]
        kept = work_on(paper, asking, stages[: names.index(last) + 1], (settings.model, settings.reviewer))
        assert kept is not None
        assert not list(forge.root.rglob("*.partial"))
        assert not forge.tasks.exists() or not list(forge.tasks.iterdir())
        assert kept.result.stage in ("assemble", "prove") or not (paper.path / "task").exists()
        return kept

    yield run
    server.shutdown()
    server.server_close()


def _serve(folder: Path, words: dict[str, str], table: Table | None) -> None:
    """The corpus's table, its columns and its file named as the words have it, with one more column where there is."""
    header, *lines = (FORGE / "served" / "dry-bulk.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    values = np.array([row[1:] for row in cells], dtype=float)
    values = values if table is None else table(values)
    header += f",{PLANTED}" * (values.shape[1] - header.count(","))
    name = "dry-bulk.csv"
    for old, new in words.items():
        header, name = header.replace(old, new), name.replace(old, new)
    rows = [",".join([row[0], *(f"{one:.6f}" for one in line)]) for row, line in zip(cells, values, strict=True)]
    (folder / name).write_text("\n".join([header, *rows]) + "\n")


def _metric(formula: str) -> dict[str, str]:
    """The paper's second metric is another."""
    absolute = r"\mathrm{MAE}=\frac1n\sum_{i=1}^{n}\lvert y_i-\hat y_i\rvert ."
    return {absolute: rf"\mathrm{{CS}}={formula} .", "Model & MSE & MAE": "Model & MSE & CS"}


def _with(other: Callable[[np.ndarray], np.ndarray]) -> Table:
    """The second column is made from the first."""
    return lambda values: np.column_stack([values[:, 0], other(values[:, 0]), values[:, 2]])


def _later(rows: int) -> Table:
    return _with(lambda column: np.concatenate([column[rows:], np.repeat(column[-1:], rows)]))


def _return_to_come(column: np.ndarray) -> np.ndarray:
    """A signal that is the log return of the four weeks that follow."""
    ahead = np.append(np.log(column[4:] / column[:-4]), np.zeros(4))
    return 1000.0 + 2000.0 * ahead


def _centred(column: np.ndarray) -> np.ndarray:
    """A mean of five weeks that is stamped at its middle."""
    return np.convolve(np.pad(column, 2, mode="edge"), np.full(5, 0.2), "valid")


def _scattered(values: np.ndarray) -> np.ndarray:
    """Single weeks of the last part stand among the first ones."""
    copied = values.copy()
    copied[100:900:4] = values[1000:]
    return copied


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def _held(values: np.ndarray) -> np.ndarray:
    """Three weeks without a quotation have that of the week before."""
    held = values.copy()
    held[[200, 640, 1100]] = values[[199, 639, 1099]]
    return held


def _returns(values: np.ndarray) -> np.ndarray:
    """Log returns where levels are stated."""
    return np.diff(np.log(values), axis=0, prepend=np.log(values[:1]))


def _copied(values: np.ndarray) -> np.ndarray:
    """The last weeks are early ones again."""
    return np.concatenate([values[:1000], values[100:300]])


def _nearly_copied(values: np.ndarray) -> np.ndarray:
    """The last weeks are early ones again, but for the last digits."""
    copied = _copied(values)
    copied[1000:] *= 1 + 1e-7 * np.random.default_rng(0).standard_normal((200, values.shape[1]))
    return copied


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("code", "words", "table"),
    [
        ("shuffled-split", {ORDER: "The weeks are shuffled at random before they are split; nothing is scaled."}, None),
        (
            "scaling-on-test",
            {ORDER: "Time order is preserved. Returns are standardised with mean and deviation of the full sample."},
            None,
        ),
        (
            "overlapping-windows",
            {GAP: "; windows of the training and the test part overlap"},
            None,
        ),
        ("overlapping-windows", {GAP: "; windows of both parts may overlap"}, None),
        (
            "overlapping-windows",
            {GAP: ". Nothing is purged, so that windows on either side of a boundary overlap"},
            None,
        ),
        ("look-ahead-resampling", {ENDS: "Each row is stamped with the Monday on which its week begins."}, None),
        ("metric-sign", {SMALLER: "Larger is better for both."}, None),
        ("licence-forbids", {LICENCE: "under a licence that forbids redistribution."}, None),
        ("wrong-units", {}, _returns),
        ("look-ahead-column", {}, _later(1)),
        ("look-ahead-column", {}, _later(4)),
        ("look-ahead-column", {}, _with(_return_to_come)),
        ("look-ahead-column", {}, _with(_centred)),
        ("target-as-feature", {}, _with(lambda column: column)),
        ("target-as-feature", {}, _with(lambda column: 3.0 * column + 5.0)),
        (
            "target-as-feature",
            {"The target is the": "The inputs also have the realised returns of the target week. The target is the"},
            None,
        ),
        ("scaling-on-test", {}, _standard),
        (
            "scaling-on-test",
            {RETURNS: "", LEVELS: "weekly log returns for"},
            lambda values: _standard(_returns(values)),
        ),
        ("scaling-on-test", {}, lambda values: (values - values.min(axis=0)) / np.ptp(values, axis=0)),
        ("duplicated-rows", {}, _copied),
        ("duplicated-rows", {}, _nearly_copied),
        ("duplicated-rows", {}, lambda values: np.concatenate([values[1000:], values[200:]])),
        ("duplicated-rows", {}, lambda values: np.concatenate([values[:999:-1], values[200:]])),
        ("duplicated-rows", {}, _scattered),
        ("metric-games", _metric(r"\frac1n\sum_{i=1}^{n}\lvert \hat y_i-\hat y_{i-1}\rvert"), None),
        ("metric-games", _metric(r"\frac1n\sum_{i=1}^{n}\frac{1}{1+\lvert \hat y_i\rvert}"), None),
        (
            "metric-games",
            _metric(r"\lvert \frac1n\sum_{i=1}^{n}\hat y_i^2-\frac1n\sum_{i=1}^{n} y_i^2\rvert"),
            None,
        ),
    ],
)
def test_a_planted_fault_is_refused_with_its_code(
    code: str, words: dict[str, str], table: Table | None, forged: Forging
) -> None:
    kept = forged(words, table)
    codes = {reason.code for reason in kept.result.reasons}
    assert (kept.result.state, code in codes) == ("refused", True), kept.result


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("words", "table", "last"),
    [
        ({ORDER: "The weeks stay in chronological order, and values are not rescaled."}, None, "rewards"),
        ({"Set-up of the experiment": "Protocol", "Data set}": "Data}"}, None, "rewards"),
        ({SMALLER: "For both, lower values are better."}, None, "rewards"),
        (
            {"the following $H=4$ weeks": "the following three weeks", "one to\nfour weeks": "one to\nthree weeks"},
            None,
            "rewards",
        ),
        ({f"{DATA}\\section{{{SETUP}": f"{SETUP}\\section{{{DATA}"}, None, "rewards"),
        ({SPLIT: OTHER_SPLIT}, None, "rewards"),
        ({GAP: "; four weeks are purged at each boundary, so that no windows of both parts overlap"}, None, "rewards"),
        ({"index points": "thousands of index points"}, lambda values: values / 1000.0, "rewards"),
        (
            {
                "No value is missing.": "Three weeks without a quotation carry the value of the week before.",
                "supramax": "handymax",
            },
            _held,
            "prove",
        ),
    ],
)
def test_what_is_honest_in_other_words_passes(
    words: dict[str, str], table: Table | None, last: str, forged: Forging
) -> None:
    kept = forged(words, table, last)
    assert (kept.result.stage, kept.result.state) == (last, "passed"), kept.result


@pytest.mark.sandbox
def test_what_a_data_file_says_beside_its_series_is_in_nothing_of_the_package(forged: Forging, tmp_path: Path) -> None:
    """An answer in the file's name, in the name of another column, and in its values, by which rows are numbered."""

    def numbered(values: np.ndarray) -> np.ndarray:
        return np.column_stack([values, 471_108_000.0 + np.argsort(np.argsort(values[:, 0]))])

    kept = forged({"dry-bulk.csv": f"{PLANTED}.csv"}, numbered, "assemble")
    assert (kept.result.stage, kept.result.state) == ("assemble", "passed"), kept.result
    assert any(PLANTED in path.read_text() for path in (tmp_path / "forge").rglob("download.py"))
    [folder] = (tmp_path / "forge").glob("papers/*/task")
    write_package(Task.read(folder), tmp_path / "public", tmp_path / "truth")
    held = [path for root in (folder, tmp_path / "public") for path in root.rglob("*") if path.is_file()]
    assert len(held) > 5
    assert [path for path in held if "471108" in path.name or b"471108" in path.read_bytes()] == []
    numbers = [np.load(path) for path in held if path.suffix == ".npy"]
    assert numbers
    assert all(float(np.abs(one).max()) < 1e6 for one in numbers if one.dtype.kind == "f")
