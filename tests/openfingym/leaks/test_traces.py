"""Hidden values told by what is no number: lengths of words, dates, section numbers, bullets. No code of them is known
to the search, which finds that one predicts what is new in the other; and nothing else does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.leaks import LeakSearch, find_leaks
from openfingym.leaks.innovations import Target, targets
from openfingym.leaks.low_digits import array_traces
from openfingym.leaks.prediction import Predicted, predicted
from openfingym.leaks.traces import text_traces
from openfingym.packages.build import build
from tests.openfingym.leaks.planted_kinds import DEVELOPED, KEPT
from tests.openfingym.leaks.planted_packages import KINDS as PACKAGES
from tests.sweeps import ALL, fixed_part

Floats = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[3]
INSTRUCTION = (ROOT / "tasks" / "treasury-forecast" / "instruction.md").read_text(encoding="utf-8")
WINDOWS, FOLD = 40, 20


def _yields(seed: int, windows: int = WINDOWS) -> Floats:
    """Windows of five days of six yields that move together, quoted to two decimals, five weeks apart."""
    generator = np.random.default_rng(seed)
    common, own = generator.standard_normal((windows * 25, 1)), generator.standard_normal((windows * 25, 6))
    curve = 1.5 + 0.15 * np.arange(6) + np.cumsum(0.04 * common + 0.02 * own, axis=0)
    return np.round(np.abs(curve).reshape(windows, 25, 6)[:, :5], 2)


@pytest.fixture(scope="module")
def hidden() -> Floats:
    return _yields(1)


@pytest.fixture(scope="module")
def wanted(hidden: Floats) -> list[Target]:
    return targets({"targets": hidden}, (FOLD, WINDOWS - FOLD))


def _found(text: str, wanted: list[Target]) -> Iterator[Predicted]:
    return predicted(text_traces(f"{INSTRUCTION}\n{text}\n\nGood luck.\n"), wanted)


@pytest.mark.parametrize("kind", ["word lengths", "ISO dates"])
def test_a_fold_told_by_what_is_no_number_is_found(kind: str, hidden: Floats, wanted: list[Target]) -> None:
    assert next(_found(DEVELOPED[kind](hidden[FOLD:]), wanted), None) is not None


@pytest.mark.parametrize("kind", DEVELOPED)
def test_kinds_that_the_search_was_made_with(kind: str, hidden: Floats, wanted: list[Target]) -> None:
    assert next(_found(DEVELOPED[kind](hidden[FOLD:]), wanted), None) is not None


@pytest.mark.parametrize("kind", ["word lengths", "ISO dates"])
def test_the_same_made_of_other_values_tells_nothing(kind: str, wanted: list[Target]) -> None:
    """Of an independent walk of the same kind, which rises and falls as slowly."""
    assert list(_found(DEVELOPED[kind](_yields(2, FOLD)), wanted)) == []


@pytest.mark.parametrize("kind", [*DEVELOPED, *KEPT])
def test_no_kind_of_text_tells_anything_of_values_it_was_not_made_of(kind: str, wanted: list[Target]) -> None:
    assert list(_found((DEVELOPED | KEPT)[kind](_yields(2, FOLD)), wanted)) == []


HONEST: dict[str, Callable[[], str]] = {
    "an index": lambda: "\n".join(str(i) for i in range(300)),
    "dates": lambda: "\n".join(str(np.datetime64("2019-01-01") + i) for i in range(300)),
    "a trend": lambda: "\n".join(f"page {i * i}" for i in range(300)),
    "a season": lambda: " ".join("abcdefghij"[: 1 + i % 6] for i in range(600)),
}


@pytest.mark.parametrize("text", HONEST)
def test_a_trend_or_a_season_in_common_is_no_leak(text: str, wanted: list[Target]) -> None:
    assert list(_found(HONEST[text](), wanted)) == []


def test_innovations_of_a_walk_are_its_steps_and_say_nothing_of_one_another(wanted: list[Target]) -> None:
    """As for independent values, the sums of which have a variance of their number."""
    whole = next(target for target in wanted if target.channel < 0 and target.close and not target.changes)
    assert whole.news.shape == (WINDOWS * 30,)
    assert whole.excess < 2.0
    walk = np.cumsum(np.random.default_rng(0).standard_normal((400, 1, 1)), axis=0)
    (step, *_) = targets({"walk": walk})
    agreed = np.corrcoef(step.news[1:], np.sign(np.diff(walk[:, 0, 0])))[0, 1]
    assert agreed > 0.9


def test_windows_that_overlap_have_only_what_is_new_in_them() -> None:
    walk = np.cumsum(np.random.default_rng(0).standard_normal(304))
    windows = np.lib.stride_tricks.sliding_window_view(walk, 5)[:, :, None]
    whole = targets({"targets": windows})[0]
    assert np.count_nonzero(whole.news) < 310, "300 windows of five values have 304 different ones"


SIMULATED: tuple[Callable[[np.random.Generator], Floats], ...] = (
    lambda g: 0.01 * g.standard_t(3, (300, 1, 4)),
    lambda g: np.exp(np.cumsum(0.1 * g.standard_normal((300, 5, 2)), axis=1)),
    lambda g: (g.random(1500) < 0.1).astype(np.float64),
    # Windows of a price that overlap.
    lambda g: np.lib.stride_tricks.sliding_window_view(100.0 * np.exp(np.cumsum(0.01 * g.standard_normal(404))), 5)[
        :, :, None
    ],
    # A season of 24 hours.
    lambda g: np.exp(0.5 * g.standard_normal((60, 24, 1)) + np.sin(np.arange(24.0) / 4.0)[:, None]),
)


@pytest.mark.parametrize("part", range(20) if ALL else fixed_part(range(20), 3))
def test_what_authors_write_tells_nothing_of_simulated_values(part: int) -> None:
    for number, folder in enumerate(sorted((ROOT / "tasks").iterdir())[part::20]):
        values = SIMULATED[(part + number) % len(SIMULATED)](np.random.default_rng([part, number]))
        wanted = targets({"targets": values})
        for path in folder.glob("*.*"):
            assert list(predicted(text_traces(path.read_text(encoding="utf-8")), wanted)) == [], path


def test_a_message_says_what_predicts_what(hidden: Floats, tmp_path: Path) -> None:
    (tmp_path / "instruction.md").write_text(f"{INSTRUCTION}\n{DEVELOPED['word lengths'](hidden[FOLD:])}\n")
    messages = [str(leak) for leak in find_leaks(tmp_path, {"targets": hidden}, folds=(FOLD, WINDOWS - FOLD))]
    assert any("instruction.md: " in message and " that predict " in message for message in messages), messages


@pytest.mark.parametrize(
    "content", [b"\x93NUMPY\x01\x00", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran", b"\x93NUMPY"]
)
def test_a_damaged_array_ends_in_no_error(content: bytes, hidden: Floats, tmp_path: Path) -> None:
    (tmp_path / "extra.npy").write_bytes(content)
    list(find_leaks(tmp_path, {"targets": hidden}))


def test_public_files_of_a_built_task_tell_nothing() -> None:
    package = build(load_task("treasury-forecast"))
    wanted = targets(
        {"targets": package.read_truth()["targets"]}, (package.manifest.n_public, package.manifest.n_private)
    )
    for path in (package.instruction, package.interface):
        assert list(predicted(text_traces(path.read_text(encoding="utf-8")), wanted)) == []


ALWAYS_FOUND = (
    "low decimals of an array",
    "low bits of an array",
    "payloads of missing values",
    "times of members",
    "order of members",
    "order of keys",
    "order of rows",
    "colours of a drawing",
    "version numbers",
)
"""Of the kinds of :mod:`tests.openfingym.leaks.planted_packages` those that traces find; see docs/tasks.md."""


def _search(wanted: list[Target]) -> LeakSearch:
    """A search that has nothing but targets, so that whatever is found is a trace."""
    return replace(LeakSearch.of({}), targets=wanted)


@pytest.mark.parametrize("kind", ALWAYS_FOUND)
def test_what_arrays_archives_and_orders_tell_is_found(kind: str, hidden: Floats, tmp_path: Path) -> None:
    wanted = targets({"targets": hidden}, (FOLD, WINDOWS - FOLD))
    PACKAGES[kind](tmp_path, hidden[FOLD:])
    assert any("that predict" in str(leak) for leak in _search(wanted).leaks(tmp_path))


@pytest.mark.parametrize("kind", PACKAGES)
def test_files_of_other_values_tell_nothing(kind: str, wanted: list[Target], tmp_path: Path) -> None:
    """What a simulation with another seed made: a twin of the package, of the same form."""
    PACKAGES[kind](tmp_path, _yields(2, FOLD))
    assert not any("that predict" in str(leak) for leak in _search(wanted).leaks(tmp_path))


def test_times_of_files_are_read(hidden: Floats, tmp_path: Path) -> None:
    for number, value in enumerate(hidden[FOLD:].ravel()):
        file = tmp_path / f"part-{number:04d}.txt"
        file.write_text("x")
        os.utime(file, (1_600_000_000, 1_600_000_000 + 10 * round(100.0 * value)))
    wanted = targets({"targets": hidden}, (FOLD, WINDOWS - FOLD))
    found = [str(leak) for leak in _search(wanted).leaks(tmp_path)]
    assert any(message.startswith("the files of the package: ") for message in found), found


@pytest.mark.parametrize(
    "array",
    [
        np.round(1.5 + np.cumsum(0.02 * np.random.default_rng(4).standard_normal((400, 6)), axis=0), 2),
        np.cumsum(np.random.default_rng(5).integers(-3, 4, 900)),
        np.random.default_rng(6).standard_normal(900).astype(np.float32),
        np.full(300, np.nan),
        np.zeros(300),
        np.arange(300.0),
        np.array([np.inf, 1e308, -1e308, 5e-324] * 40),
        np.zeros((0, 3)),
        np.array(3.0),
        np.zeros(100, dtype=np.bool_),
    ],
)
def test_an_honest_array_has_no_digits_that_tell(array: NDArray[np.generic], wanted: list[Target]) -> None:
    with np.errstate(all="ignore"):
        assert list(predicted(array_traces(array), wanted)) == []
