"""An agent that trades on copied bars is caught as an answer without skill, and gains nothing from halts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from openfingym.adversarial.promise import EXPLOITS
from openfingym.checks.check import _skill
from openfingym.checks.finding import FailedCheckError
from openfingym.kinds.start import Given
from openfingym.kinds.trading import kind as trading
from openfingym.kinds.trading.stale import NAME, expected
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from tests.openfingym.kinds.materials import read_of

ROWS = 500


def two_symbols(gaps: slice | None, *, copies: bool) -> pd.DataFrame:
    """Bars of two random walks in a long table; of the second, some rows are missing, or copies of the bar before."""
    generator, frames = np.random.default_rng(11), []
    days = pd.date_range("2021-01-01", periods=ROWS)
    for name in ("AAA", "BBB"):
        close = 100.0 * np.exp(np.cumsum(0.01 * generator.standard_normal(ROWS)))
        opened = np.append(100.0, close[:-1])
        high = np.maximum(opened, close) * np.exp(0.005 * np.abs(generator.standard_normal(ROWS)))
        low = np.minimum(opened, close) * np.exp(-0.005 * np.abs(generator.standard_normal(ROWS)))
        bars = pd.DataFrame({"open": opened, "high": high, "low": low, "close": close, "volume": 1e5}, index=days)
        frames.append(bars.assign(ticker=name))
    # At weekends where no rows are named.
    missing = (days.day_of_week >= 5) if gaps is None else np.isin(np.arange(ROWS), np.arange(ROWS)[gaps])
    kept = frames[1][~missing]
    frames[1] = kept.reindex(days).ffill() if copies else kept
    return pd.concat(frames).rename_axis("date")


def made(tmp_path: Path, table: pd.DataFrame) -> Task:
    table.to_csv(tmp_path / "x.csv")
    return Task.read(new_task("x", tmp_path, "trading", Given((tmp_path / "x.csv",))))


def answers_of(task: Task) -> dict[str, np.ndarray]:
    kind = trading.KIND
    material = kind.shape(task, kind.load(task))
    arrays = {**material.public, **material.hidden}
    assert read_of(material)("train_bars") is not None
    return kind.skillless(task.spec.contract, arrays.__getitem__, material.shape, np.random.default_rng(0))


@pytest.mark.parametrize("gaps", [slice(430, 470), None], ids=["suspended", "weekends"])
def test_copies_of_bars_are_caught(gaps: slice | None, tmp_path: Path) -> None:
    task = made(tmp_path, two_symbols(gaps, copies=True))
    package = BuiltPackage(tmp_path / "public", tmp_path / "truth")
    write_package(task, package.public, package.truth)
    surveyed: list = []
    with pytest.raises(FailedCheckError) as failed:
        _skill(task, package, surveyed, False)
    assert f"answers without skill are better than the baseline: '{NAME}'" in str(failed.value)
    assert EXPLOITS[NAME] in str(failed.value)


@pytest.mark.parametrize("gaps", [slice(430, 470), None], ids=["suspended", "weekends"])
def test_halts_give_it_nothing_to_trade_on(gaps: slice | None, tmp_path: Path) -> None:
    assert NAME not in answers_of(made(tmp_path, two_symbols(gaps, copies=False)))


def test_it_sees_no_later_bar(tmp_path: Path) -> None:
    """Whatever follows a row, the account up to it is the same."""
    table = two_symbols(slice(430, 470), copies=True)
    before = answers_of(made(tmp_path, table))[NAME]
    changed = table.copy()
    late = (changed.index >= changed.index[460]) & (changed["ticker"] == "BBB")
    changed.loc[late, ["open", "high", "low", "close"]] *= 1.5
    (tmp_path / "other").mkdir()
    after = answers_of(made(tmp_path / "other", changed))[NAME]
    same = (before == after).all(axis=2)
    # The private fold begins at row 405, and its first 39 rows are shown before the account is opened.
    assert same[0].all()
    assert same[1, : 460 - 405 - 39].all()
    assert not same[1].all()


def test_what_is_expected_of_the_next_bar() -> None:
    week = [False] * 5 + [True] * 2
    for seen, copy in (
        ([], False),
        ([False] * 40, False),
        ([False] * 9 + [True], True),
        # A run that is as long as the one before ends.
        ([False, True, True, False, False, False, False, True], True),
        ([False, True, True, False, False, False, False, True, True], False),
        (week * 3, False),
        ([*week * 3, *[False] * 5], True),
        ([*week * 3, *[False] * 5, True], True),
        ([*week * 3, *[False] * 4], False),
    ):
        assert expected(np.array(seen, dtype=np.bool_)) is copy, seen
