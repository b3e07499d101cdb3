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

from openfingym.forge.folder import ForgeFolder, ForgeSettings, KeptResult
from openfingym.forge.intake import take_in
from openfingym.forge.pipeline import work_on
from openfingym.forge.stages import stages_of

FORGE = Path(__file__).parents[2] / "forge"
HOST = "data.freight-rates.example"
ORDER = "Time order is preserved and nothing is normalised."
ENDS = "Each row is stamped with the Friday on which its week ends."
SMALLER = "Smaller is better for both."
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
        _serve(served / "dry-bulk.csv", table)
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
        return kept

    yield run
    server.shutdown()
    server.server_close()


def _serve(path: Path, table: Table | None) -> None:
    lines = (FORGE / "served" / "dry-bulk.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines[1:]]
    values = np.array([row[1:] for row in cells], dtype=float)
    values = values if table is None else table(values)
    rows = [",".join([row[0], *(f"{one:.6f}" for one in line)]) for row, line in zip(cells, values, strict=True)]
    path.write_text("\n".join([lines[0], *rows]) + "\n")


def _returns(values: np.ndarray) -> np.ndarray:
    """Log returns where levels are stated."""
    return np.diff(np.log(values), axis=0, prepend=np.log(values[:1]))


def _next_week(values: np.ndarray) -> np.ndarray:
    """A column that is another's of the week after."""
    return np.column_stack([values[:, 0], np.append(values[1:, 0], values[-1, 0]), values[:, 2]])


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
            {"; at each boundary four weeks are purged": "; windows of the training and the test part overlap"},
            None,
        ),
        ("look-ahead-resampling", {ENDS: "Each row is stamped with the Monday on which its week begins."}, None),
        ("metric-sign", {SMALLER: "Larger is better for both."}, None),
        ("licence-forbids", {LICENCE: "under a licence that forbids redistribution."}, None),
        ("wrong-units", {}, _returns),
        ("look-ahead-column", {}, _next_week),
        ("duplicated-rows", {}, _copied),
        ("duplicated-rows", {}, _nearly_copied),
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
    "words",
    [
        {ORDER: "The weeks stay in chronological order, and values are not rescaled."},
        {"Set-up of the experiment": "Protocol", "Data set}": "Data}"},
        {SMALLER: "For both, lower values are better."},
        {"the following $H=4$ weeks": "the following three weeks", "one to\nfour weeks": "one to\nthree weeks"},
    ],
)
def test_what_is_honest_in_other_words_passes(words: dict[str, str], forged: Forging) -> None:
    kept = forged(words, last="rewards")
    assert (kept.result.stage, kept.result.state) == ("rewards", "passed"), kept.result
