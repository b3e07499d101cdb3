"""Hidden data drawn anew: the same for the same seed, other for another, by the same law, and none of it in what an
agent sees."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.checks import check, hidden
from openfingym.checks.finding import silent
from openfingym.errors import UsageError
from openfingym.kinds import kind_of
from openfingym.kinds.material import Array
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.packages.tapes import Drawn, Tape, choose, draw, renewal, require_renewal
from openfingym.packages.view import seen_with
from tests.sweeps import fixed_part, sweep

SECRET = 2**255 + 12345
"""Of the size of a seed that a verifier draws."""
FRESH = [
    "crypto-forecast",  # log returns
    "crypto-price-forecast",  # levels
    "commodity-forecast",
    "nifty50-forecast",  # unlike columns
    "lob-forecast",  # bars of an order book
    "global-volatility-forecast",  # graphs beside the inputs
    "yield-curve-forecast",
    "equity-excess-return-forecast",
    "ba2motifs-fraud",
    "crypto-trading",
    "crypto-rolling-forecast",
    "crypto-return-generation",
]
SAMPLE = ["crypto-forecast", "equity-excess-return-forecast", "ba2motifs-fraud", "crypto-rolling-forecast"]
"""Checked as `openfingym task check` checks a package, which takes seconds each."""
TWIN = ["equity-trading", "equity-rolling-forecast"]
GIVEN = ["treasury-forecast", "equity-forecast", "exchange-generation", "amazon-fraud"]
RETURNS = {"crypto-forecast", "equity-excess-return-forecast"}
WITH_INPUTS = {"ba2motifs-fraud"}
"""Of which public arrays are drawn anew too; of what is walked through all is hidden until it is due."""


class Packages(dict[str, BuiltPackage]):
    """The packages of tasks, each built when it is first asked for."""

    def __missing__(self, name: str) -> BuiltPackage:
        return self.setdefault(name, build(load_task(name)))


@pytest.fixture(scope="module")
def packages(store_home: Path) -> Mapping[str, BuiltPackage]:
    return Packages()


def drawn(package: BuiltPackage, seed: int) -> Drawn:
    return draw(package, Tape(renewal(package), seed), package.read_truth())


def values(hidden: Mapping[str, Array]) -> dict[str, Array]:
    """What is really hidden: no times, no numbers of series, no splits and dividends, of which there are none."""
    return {name: array for name, array in hidden.items() if not name.endswith(("_times", "_actions", "_series"))}


@pytest.mark.parametrize("name", fixed_part([*FRESH, *TWIN], 2))
def test_a_tape_follows_from_its_seed_alone(packages: Mapping[str, BuiltPackage], name: str) -> None:
    package = packages[name]
    assert renewal(package) == ("twin" if name in TWIN else "fresh")
    one, again, other = drawn(package, SECRET), drawn(package, SECRET), drawn(package, SECRET + 1)
    truth = package.read_truth()
    assert one.hidden.keys() == again.hidden.keys() == truth.keys()
    for key, array in one.hidden.items():
        assert array.tobytes() == again.hidden[key].tobytes()
        assert (array.shape, array.dtype) == (truth[key].shape, truth[key].dtype)
    for key, array in values(one.hidden).items():
        assert not np.array_equal(array, other.hidden[key])
        assert not np.array_equal(array, truth[key])
    assert bool(one.public) == (name in WITH_INPUTS)
    assert not [key for key in one.public if key.startswith("train_")]
    for key, array in one.public.items():
        assert array.tobytes() == again.public[key].tobytes()
        assert not np.array_equal(array, other.public[key])
    package.verify_public()


def ordered(name: str, package: BuiltPackage, hidden: Mapping[str, Array]) -> str:
    """What the check says of the order of the truth, the baseline and the worst answer."""
    task = load_task(name)
    oracle = cache(lambda: kind_of(task).oracle(task.spec.contract, hidden, package.manifest.submission_shape))
    return check._ordering(package, hidden, oracle, silent)


@pytest.mark.parametrize("name", fixed_part(SAMPLE, 4))
def test_what_holds_of_the_package_holds_of_a_tape(packages: Mapping[str, BuiltPackage], name: str) -> None:
    """The truth is best and the baseline beats the worst; nothing hidden is in any file the agent sees, and no input
    tells more."""
    package = packages[name]
    found = drawn(package, SECRET)
    with seen_with(package, found.public) as seen:
        assert ordered(name, seen, found.hidden)
        assert hidden.leak_search(seen, found.hidden)
        assert hidden.features(seen, found.hidden)


@pytest.mark.parametrize(
    "name", ["crypto-forecast", "yield-curve-forecast", "equity-excess-return-forecast", "lob-forecast"]
)
def test_the_law_is_that_of_the_package(packages: Mapping[str, BuiltPackage], name: str) -> None:
    """Location and spread of the hidden targets of some tapes, put together, beside those of training."""
    package = packages[name]
    targets = np.stack([np.asarray(drawn(package, SECRET + i).hidden["targets"]) for i in range(4)])
    train = np.asarray(package.array("train_targets"))
    spread = np.median(np.abs(train - np.median(train)))
    assert 0.6 < np.median(np.abs(targets - np.median(targets))) / spread < 1.7
    assert abs(np.median(targets) - np.median(train)) < 2.0 * spread
    if name in RETURNS:
        assert abs(np.corrcoef(targets[0].ravel(), targets[1].ravel())[0, 1]) < 0.1, "one tape tells of another"


@pytest.mark.parametrize("name", sweep([*TWIN, "crypto-trading", "yield-curve-forecast"], 2))
def test_the_truth_is_best_and_the_baseline_beats_the_worst(packages: Mapping[str, BuiltPackage], name: str) -> None:
    package = packages[name]
    found = drawn(package, SECRET)
    with seen_with(package, found.public) as seen:
        assert ordered(name, seen, found.hidden)


def test_prices_go_on_from_the_last_training_price(packages: Mapping[str, BuiltPackage]) -> None:
    for name, most in (("crypto-trading", 0.25), ("equity-trading", 0.25)):
        package = packages[name]
        last = np.asarray(package.array("train_bars"))[-1, :, 3]
        first = drawn(package, SECRET).hidden["public_bars"][0, :, 0]
        assert (np.abs(np.log(first / last)) < most).all()


def test_classes_of_each_fold_stay_and_labels_move(packages: Mapping[str, BuiltPackage]) -> None:
    package = packages["ba2motifs-fraud"]
    known, found = package.read_truth()["labels"], drawn(package, SECRET).hidden["labels"]
    folds = slice(package.manifest.n_public), slice(package.manifest.n_public, None)
    for rows in folds:
        assert found[rows].sum() == known[rows].sum()
        assert 0.3 < (found[rows] == known[rows]).mean() < 0.7


@pytest.mark.parametrize("name", GIVEN)
def test_real_hidden_data_cannot_be_drawn(store_home: Path, name: str) -> None:
    package = build(load_task(name))
    assert renewal(package) == "given"
    with pytest.raises(UsageError, match="cannot be drawn anew"):
        require_renewal(package)
    truth = package.read_truth()
    with pytest.raises(UsageError, match="cannot be 'fresh'"):
        draw(package, Tape("fresh", SECRET), truth)
    assert draw(package, Tape(), truth).hidden is truth


def test_a_real_tape_is_played_once() -> None:
    assert choose("twin", wanted=True, played_before=False) == "given"
    assert choose("twin", wanted=True, played_before=True) == "twin"
    assert choose("fresh", wanted=True, played_before=False) == "fresh"
    assert choose("given", wanted=True, played_before=True) == "given"
    assert {choose(kind, wanted=False, played_before=True) for kind in ("given", "fresh", "twin")} == {"given"}


def test_a_view_is_the_package_but_for_what_it_replaces(packages: Mapping[str, BuiltPackage]) -> None:
    package = packages["ba2motifs-fraud"]
    found = drawn(package, SECRET)
    with seen_with(package, found.public) as seen:
        folder = seen.public
        files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
        assert files == {path.relative_to(package.public) for path in package.public.rglob("*") if path.is_file()}
        different = {
            str(path) for path in files if (folder / path).read_bytes() != (package.public / path).read_bytes()
        }
        assert different == {f"environment/data/{name}.npy" for name in found.public} != set()
        for name, array in found.public.items():
            np.testing.assert_array_equal(seen.array(name), array)
        assert {path.stat().st_mode & 0o777 for path in (folder / "environment" / "data").iterdir()} == {0o644}
    assert not folder.exists()
    package.verify_public()
    with seen_with(package, {}) as same:
        assert same is package
