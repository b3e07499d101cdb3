"""What authors write without leaking anything passes: prose, code, dates, tables, indices; encoded text may hide
anything."""

from __future__ import annotations

import base64
import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.leaks import LeakSearch, entropy, find_leaks, streams
from openfingym.leaks.entropy import stretches
from openfingym.leaks.known import coarse_told
from openfingym.leaks.number_words import spelled_out
from openfingym.packages.package import BuiltPackage
from tests.sweeps import ALL, fixed_part

Floats = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[3]
MOST = 1 << 20 if ALL else 6000
"""Characters of a text that are searched."""


@pytest.fixture(scope="module")
def search(treasury: BuiltPackage) -> LeakSearch:
    manifest = treasury.manifest
    return LeakSearch.of(treasury.read_truth(), folds=(manifest.n_public, manifest.n_private), public_bytes=3 << 20)


def _dates() -> Iterator[str]:
    first = np.datetime64("2019-01-01")
    yield from (str(first + np.timedelta64(day, "D")) for day in range(120))


def _table(treasury: BuiltPackage) -> str:
    """Training windows as they are, which anybody may see."""
    rows = treasury.array("train_targets")[-40:].reshape(-1, 6)
    return "\n".join(",".join(f"{value:.2f}" for value in row) for row in rows)


INNOCENT: dict[str, Callable[[BuiltPackage], str]] = {
    "the README": lambda _: (ROOT / "README.md").read_text()[:MOST],
    "documentation": lambda _: (ROOT / "docs" / "metrics.md").read_text()[:MOST],
    "code": lambda _: inspect.getsource(streams),
    "dates": lambda _: "\n".join(_dates()),
    "an index": lambda _: "\n".join(str(i) for i in range(500)),
    "an index and a constant": lambda _: "\n".join(f"{i},0.25" for i in range(500)),
    "powers of two": lambda _: " ".join(str(2**i) for i in range(40)),
    "a table of known yields": _table,
    "a grid of parameters": lambda _: " ".join(
        f"{a:.2f},{b:.3f}" for a in np.linspace(0, 1, 21) for b in np.geomspace(1e-3, 1, 10)
    ),
    "random numbers": lambda _: " ".join(f"{x:.4f}" for x in np.random.default_rng(0).standard_normal(2000)),
    "a peg with a jump": lambda _: " ".join(["7.75"] * 7 + ["7.76"] + ["7.75"] * 30 + ["7.7501"] * 8),
    "a digest": lambda _: f"The data's SHA-256 is {hashlib.sha256(b'x').hexdigest()}.",
    "addresses": lambda _: (
        "See https://doi.org/10.1016/j.jfineco.2019.04.001 and https://arxiv.org/abs/2606.26350v2?utm_source=feed."
    ),
    "German": lambda _: (
        "Gefragt sind die Renditen der Staatsanleihen für die nächsten fünf Handelstage, in Prozent und Jahr. " * 5
    ),
    "Chinese": lambda _: (
        "预测美国国债收益率曲线的短端：未来五个交易日的三个月、六个月、一年、二年、三年和五年期收益率。" * 20
    ),
    "an emoji of several": lambda _: "Good luck 👩‍💻 and have fun 👨‍👩‍👧‍👦!\ufe0f",
    "lines that end in spaces": lambda _: "a line\t \nanother one  \n" * 3,
}


@pytest.mark.parametrize("text", fixed_part(INNOCENT, 3))
def test_what_authors_write_is_no_leak(text: str, search: LeakSearch, treasury: BuiltPackage, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(INNOCENT[text](treasury), encoding="utf-8")
    assert [str(leak) for leak in search.leaks(tmp_path)] == []


@pytest.mark.parametrize(
    "encode", [base64.b64encode, base64.b32encode, base64.b85encode, lambda content: content.hex().upper().encode()]
)
def test_what_cannot_be_explained_is_said_to_be_so(
    encode: Callable[[bytes], bytes], search: LeakSearch, tmp_path: Path
) -> None:
    """A logo, or a row of labels under a good cipher: the check cannot know, and the author may say in a waiver."""
    (tmp_path / "notes.md").write_text("Logo: " + encode(np.random.default_rng(0).bytes(120)).decode())
    assert [leak.finding for leak in search.leaks(tmp_path)] == ["text of unexplained entropy"]


def test_a_stretch_is_where_the_odd_text_is() -> None:
    odd = base64.b64encode(np.random.default_rng(0).bytes(90)).decode()
    text = f"The inputs are levels of yields in percent.\n{odd}\nThe targets are the next five days.\n"
    (found,) = stretches(text)
    assert odd[4:-4] in text[found.begin : found.end]
    assert found.end - found.begin < 1.2 * len(odd)


def _pegged(generator: np.random.Generator, n: int) -> Floats:
    """A rate that stands at a level of its own in each window, but for one jump, beside one that moves."""
    levels = 3.75 + 1e-4 * np.arange(n)[:, None] + np.zeros((n, 8))
    levels[np.arange(n), generator.integers(1, 8, n)] += 0.013 * (1 + np.arange(n) % 7)
    return np.stack([levels, 100.0 + generator.standard_normal((n, 8)).cumsum(axis=1)], axis=2)


@pytest.mark.parametrize("seed", range(3))
def test_seven_equal_levels_and_a_jump_tell_nothing(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    truth = _pegged(generator, 60)
    public = _pegged(generator, 400)
    # The same levels, each with the same jump, as a peg has them again and again, though not in this order.
    public[generator.permutation(400)[:60], :, 0] = truth[:, :, 0]
    np.save(tmp_path / "train.npy", public)
    assert [str(leak) for leak in find_leaks(tmp_path, {"targets": truth})] == []


def test_signs_tell_what_the_one_before_them_leaves_open() -> None:
    """Windows of price paths keep their signs for long: two of one model agree in hundreds of signs, which is no
    copy."""
    flips = np.random.default_rng(0).random((500, 200, 2)) < [0.02, 0.5]
    signs = np.where(flips.cumsum(axis=1) % 2, 1.0, -1.0)
    bits = -sum(p * np.log2(p) for p in (0.02, 0.98)), 1.0
    np.testing.assert_allclose(coarse_told(signs)[:, 1:].mean(axis=(0, 1)), bits, rtol=0.02)
    assert not coarse_told(np.ones((5, 9, 1))).any()


NEARLY_CONSTANT: dict[str, Callable[[np.random.Generator], Floats]] = {
    "constant": lambda g: np.full((40, 5, 3), 1.5),
    "constant in each window": lambda g: np.repeat(g.integers(0, 9, (40, 1, 3)) / 4.0, 5, axis=1),
    "one jump in all": lambda g: np.concatenate([np.zeros((20, 5, 3)), np.ones((20, 5, 3))]),
    "rounded to integers": lambda g: np.rint(g.standard_normal((40, 5, 1))),
}


@pytest.mark.parametrize("name", NEARLY_CONSTANT)
def test_constants_and_nearly_constant_values_tell_nothing(name: str, tmp_path: Path) -> None:
    make = NEARLY_CONSTANT[name]
    np.save(tmp_path / "train.npy", make(np.random.default_rng(1)))
    (tmp_path / "notes.md").write_text(" ".join(f"{value:g}" for value in make(np.random.default_rng(2)).ravel()))
    assert not any(find_leaks(tmp_path, {"targets": make(np.random.default_rng(0))}))


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("two point three four, one point nine seven", "2.34 , 1.97 "),
        ("two point three four one point nine seven", "2.34 1.97 "),
        ("minus twenty-three point zero five", "-23.05 "),
        ("one hundred and five thousand three hundred", "105300 "),
        ("nineteen eighty four", "19 84 "),
        ("seven eight nine", "7 8 9 "),
        ("point", "point "),
    ],
)
def test_number_words(words: str, number: str) -> None:
    assert spelled_out(words) == number


def test_what_is_reported_follows_from_a_counted_table_and_from_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_source(path: Path, *_: object, **__: object) -> str:
        raise AssertionError(f"{path} is read")

    key = base64.b64encode(np.random.default_rng(3).bytes(192)).decode()
    text = f"The first sentence is one of many. {key} So is the last one."
    entropy._model.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", no_source)
        (found,) = stretches(text)
    assert key in text[found.begin : found.end + 1]
    assert found.excess == pytest.approx(988.6, abs=0.1), "as the model was counted"
    one, two, three = entropy._model()
    assert one.sum() == pytest.approx(1.0)
    # After what was never counted there is no model.
    assert {0.0, 1.0} >= set(np.round(two.sum(axis=1), 9))
    assert {0.0, 1.0} >= set(np.round(three.sum(axis=2), 9).ravel())
