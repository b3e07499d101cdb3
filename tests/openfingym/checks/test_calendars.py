"""One calendar for each real series: what one task hides for good, no other shows."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import date
from pathlib import Path

import gymnasium
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import openfingym
from openfingym import catalog
from openfingym.catalog import load_task
from openfingym.checks.calendars import (
    ALIKE,
    Calendar,
    Days,
    bundled_calendars,
    calendar_of,
    cautions,
    check_calendar,
    conflicts,
    recognised,
)
from openfingym.checks.finding import FailedCheckError
from openfingym.cli import cli
from openfingym.data import dataset_info, load_panel
from openfingym.data.recipe import to_values
from openfingym.kinds import kind_of
from openfingym.kinds.panels import panel_of
from openfingym.packages.scaffold import new_task
from openfingym.task import Task
from openfingym.task.model import Split

# Of each task on real data: the shares of rows and the numbers of public and of private windows that it had before
# there was one calendar, when hidden windows tiled their blocks.
BEFORE = {
    "equity-forecast": (0.7, 0.15, 0.15, 24, 24),
    "equity-rolling-forecast": (0.6, 0.2, 0.2, 5, 5),
    "equity-trading": (0.5, 0.2, 0.3, 2, 4),
    "exchange-generation": (0.6, 0.16, 0.24, 125, 188),
    "exchange-rate-forecast": (0.4, 0.3, 0.3, 20, 20),
    "fx-forecast": (0.7, 0.15, 0.15, 19, 19),
    "fx-forecast-v2": (0.38, 0.31, 0.31, 20, 20),
    "fx-forecast-v3": (0.8, 0.1, 0.1, 41, 41),
    "fx-forecast-v4": (0.26, 0.37, 0.37, 15, 15),
    "fx-forecast-v5": (0.54, 0.23, 0.23, 21, 21),
    "fx-forecast-v6": (0.7, 0.15, 0.15, 31, 31),
    "fx-forecast-v7": (0.36, 0.32, 0.32, 19, 19),
    "stock-generation": (0.35, 0.28, 0.37, 37, 49),
    "stock-ohlcv-forecast": (0.34, 0.33, 0.33, 15, 15),
    "stock-ohlcv-generation": (0.34, 0.265, 0.395, 40, 60),
    "stock-return-generation": (0.6, 0.15, 0.25, 248, 414),
    "stock10-forecast": (0.34, 0.33, 0.33, 17, 17),
    "timegan-stock-generation": (0.46, 0.26, 0.28, 21, 23),
    "treasury-forecast": (0.7, 0.15, 0.15, 20, 20),
    "treasury-forecast-v2": (0.36, 0.32, 0.32, 15, 15),
    "treasury-forecast-v3": (0.62, 0.19, 0.19, 20, 20),
    "treasury-forecast-v4": (0.4, 0.3, 0.3, 17, 17),
    "treasury-forecast-v5": (0.34, 0.33, 0.33, 15, 15),
    "treasury-forecast-v6": (0.7, 0.15, 0.15, 28, 28),
    "treasury-forecast-v7": (0.7, 0.15, 0.15, 84, 84),
    "us5-stock-generation": (0.6, 0.15, 0.25, 124, 207),
}


def changed(task: Task, split: Split, **dataset: object) -> Task:
    """The task with another split."""
    spec = task.spec
    spec = spec.model_copy(update={"split": split, "dataset": spec.dataset.model_copy(update=dataset)})
    return replace(task, file=task.file.model_copy(update={"metadata": task.file.metadata.model_copy(update={
        "openfingym": spec})}))  # fmt: skip


def by_shares(name: str) -> Task:
    """A task of the catalogue as its rows were divided before."""
    train, public, private, *_ = BEFORE[name]
    embargo = load_task(name).spec.rows.embargo
    period = {"first": date(2010, 1, 1), "last": None} if name == "stock10-forecast" else {}
    return changed(load_task(name), Split(train=train, public=public, private=private, embargo=embargo), **period)


def test_the_calendars_are_those_of_all_tasks_on_real_series() -> None:
    real = {info.name for info in catalog.tasks() if info.data_kind == "real" and info.folder.startswith(
        str(catalog.builtin_root())) and info.dataset in {path.stem for path in _series()}}  # fmt: skip
    assert {calendar.task for calendar in bundled_calendars()} == real == BEFORE.keys()


def _series() -> list[Path]:
    from openfingym.data.dataset import SERIES

    return sorted(SERIES.glob("*.toml"))


def test_no_task_of_the_catalogue_shows_what_another_one_hides() -> None:
    calendars = bundled_calendars()
    assert [str(found) for calendar in calendars for found in conflicts(calendar, calendars)] == []


def test_the_shares_of_before_showed_what_others_hid() -> None:
    calendars = [calendar for name in BEFORE if (calendar := calendar_of(by_shares(name))) is not None]
    found = {(one.shows, one.hides) for calendar in calendars for one in conflicts(calendar, calendars)}
    assert len(calendars) == len(BEFORE)
    assert ("fx-forecast-v3", "fx-forecast") in found
    assert ("treasury-forecast", "treasury-forecast-v2") in found
    # The same stock in two datasets, and forecasts against generation, trading and rolling forecasts.
    assert {("equity-forecast", "equity-trading"), ("equity-rolling-forecast", "equity-trading")} <= found
    assert ("equity-forecast", "stock-generation") in found
    # Years that nobody else has, and a stock that no other task has.
    assert not [pair for pair in found if {"treasury-forecast-v5", "timegan-stock-generation"} & {*pair}]
    assert len({name for pair in found for name in pair}) == len(BEFORE) - 2


@pytest.mark.parametrize("name", BEFORE)
def test_the_windows_of_a_task_are_of_the_days_that_its_calendar_says_and_no_fewer_than_before(name: str) -> None:
    task = load_task(name)
    kind = kind_of(task)
    source, calendar = kind.load(task), calendar_of(task)
    assert calendar is not None
    material = kind.shape(task, source)
    assert material.n_public >= BEFORE[name][3]
    assert material.n_private >= BEFORE[name][4]
    arrays = {**material.public, **material.hidden}
    if "private_times" in arrays:
        train, public, private = (arrays[f"{part}_times"] for part in ("train", "public", "private"))
    elif "test_times" in arrays:
        train, test = arrays["train_times"], np.asarray(arrays["test_times"])
        public, private = test[: material.n_public], test[material.n_public :]
    else:
        train, public, private = (_days_of(task, windows) for windows in (source.train, source.public, source.private))
    for times, days in ((train, calendar.train), (public, calendar.public), (private, calendar.private)):
        stamps = np.asarray(times).astype("datetime64[D]")
        assert days.first <= stamps.min()
        assert stamps.max() <= days.last


def _days_of(task: Task, windows: np.ndarray) -> np.ndarray:
    """The days of the first rows of generated windows, found by their values."""
    times, values = to_values(panel_of(task), task.spec.contract.value_semantics)
    if task.spec.rows.scaling == "start":
        times, values = times[1:], values[1:] / values[:-1]
    # A day that is like another one, as where nothing moved, says nothing.
    rows, counts = np.unique(values, axis=0, return_counts=True)
    once = {row.tobytes() for row in rows[counts == 1]}
    known = {row.tobytes(): time for row, time in zip(values, times, strict=True) if row.tobytes() in once}
    found = [known[row.tobytes()] for row in np.asarray(windows)[:, 0] if row.tobytes() in once]
    assert len(found) > 0.9 * len(windows)
    return np.array(found)


def days(first: str, last: str) -> Days:
    return Days(np.datetime64(first), np.datetime64(last))


def calendar(task: str, *cuts: str, instruments: tuple[str, ...] = ("a",)) -> Calendar:
    """A calendar of four days: the first of all, of public, of private, and the last."""
    first, public, private, last = (np.datetime64(day) for day in cuts)
    day = np.timedelta64(1, "D")
    blocks = Days(first, public - day), Days(public, private - day), Days(private, last)
    return Calendar(task, frozenset(instruments), *blocks)


def test_conflicts_by_hand() -> None:
    early = calendar("early", "2000-01-01", "2001-01-01", "2002-01-01", "2002-12-31")
    late = calendar("late", "2000-01-01", "2001-06-01", "2002-03-01", "2003-12-31", instruments=("a", "b"))
    assert [str(one) for one in conflicts(early, [early, late])] == [
        "late shows 2002-01-01 to 2002-02-28 of a, which early hides"
    ]
    assert [str(one) for one in conflicts(late, [early])] == [str(one) for one in conflicts(early, [late])]
    after = calendar("after", "2003-01-01", "2004-01-01", "2005-01-01", "2006-01-01")
    assert conflicts(after, [early]) == []
    # Its training rows are days that the late one hides.
    assert [(one.shows, one.hides, one.days) for one in conflicts(after, [late])] == [
        ("after", "late", days("2003-01-01", "2003-12-31"))
    ]
    other = calendar("other", "2000-01-01", "2001-06-01", "2002-03-01", "2003-12-31", instruments=("b",))
    assert conflicts(other, [early]) == []


def test_every_real_dataset_says_which_series_its_channels_are() -> None:
    assert dataset_info("us-stocks-ohlcv").instruments_of(["aapl_open", "ibm_volume"]) == {"aapl", "ibm"}
    assert dataset_info("us-large-caps").instruments_of(()) >= {"aapl", "msft", "xom"}
    curves = [dataset_info(name).instruments_of(["2y"]) for name in ("ust-par-yields", "ust-par-yields-1993")]
    assert curves == [{"us-treasury-curve"}] * 2
    assert dataset_info("sim-crypto").instruments == ()


@pytest.mark.parametrize(
    ("dataset", "channel", "change"),
    [
        ("goog-ohlcv", "close", lambda x: 0.3 * x),  # in another unit
        ("us-large-caps", "cvx", lambda x: np.append(0.0, np.diff(np.log(x)))),  # as returns
        ("ecb-fx", "usd_mxn", lambda x: 1.0 / x),  # quoted the other way round
        ("ust-par-yields-1993", "10y", lambda x: x),
    ],
)
def test_a_series_is_recognised_under_any_name(dataset: str, channel: str, change: object) -> None:
    panel = load_panel(dataset, [channel])
    values = change(column(dataset, channel))  # type: ignore[operator]
    noise = np.random.default_rng(1).normal(size=len(values))
    found = recognised(panel.times, np.column_stack([noise, values]))
    assert found == panel.info.instruments_of([channel])
    assert recognised(panel.times, noise[:, None]) == set()
    # On other days they are nobody's.
    assert recognised(panel.times + np.timedelta64(200 * 365, "D"), values[:, None]) == set()


def column(dataset: str, channel: str) -> np.ndarray:
    """The values of one channel, float64[rows]."""
    return load_panel(dataset, [channel]).values[:, 0]  # noqa: PD011 - no frame


def test_adjusted_and_unadjusted_prices_are_one_series_and_two_banks_are_not() -> None:
    times = load_panel("us-stocks-ohlcv").times
    # Which the bars are not adjusted for, as large caps are; and a split that a publisher did not take out.
    assert recognised(times, column("us-stocks-ohlcv", "ibm_close")[:, None]) == {"ibm"}
    aapl = column("us-large-caps", "aapl")[np.isin(load_panel("us-large-caps").times, times)]
    aapl[:900] *= 28.0
    assert recognised(times, aapl[:, None]) == {"aapl"}
    banks = pd.DataFrame({name: column("us-large-caps", name) for name in ("jpm", "bac")})
    ranks = np.log(banks).diff().corr("spearman").to_numpy()[0, 1]
    assert 0.5 < ranks < ALIKE


def own_prices(folder: Path, table: pd.DataFrame, *options: str) -> tuple[Path, str]:
    """A task on a table of one's own, and what the command said."""
    table.to_csv(folder / "mine.csv", index=False)
    command = ["task", "new", "mine", "--from", str(folder / "mine.csv"), "--to", str(folder), *options]
    run = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert run.exit_code == 0, run.output
    return folder / "mine", run.stdout


def test_a_new_task_on_a_bundled_series_says_what_it_costs(tmp_path: Path) -> None:
    table = pd.DataFrame({"date": load_panel("us-large-caps").times.astype("datetime64[D]").astype(str)})
    folder, said = own_prices(
        tmp_path, table.assign(oil=column("us-large-caps", "cvx"), other=column("us-large-caps", "xom"))
    )
    (told,) = cautions(load_task(folder))
    # 70 and 15 % of 8,313 rows: what is shown ends in 2018.
    assert "mine shows days of cvx, xom (2008-04-01 to 2018-01-" in told
    assert "worth nothing on equity-forecast, stock-generation, stock10-forecast" in told
    assert f"odd: {told}" in said


def test_a_new_task_that_hides_what_others_show_and_one_on_the_same_days(tmp_path: Path) -> None:
    days = load_panel("ust-par-yields").times.astype("datetime64[D]").astype(str)
    table = pd.DataFrame({"date": days, "short": column("ust-par-yields", "2y")})
    folder, said = own_prices(tmp_path, table, "--like", "treasury-forecast-v6", "--measure", "yield")
    assert "bundled tasks" not in said
    config = folder / "task.toml"
    text = config.read_text()
    assert "public_from" not in text
    assert "train = 0.7\npublic = 0.15\nprivate = 0.15\n" in text
    by_days = "public_from = 2010-01-04\nprivate_from = 2016-07-01\n"
    config.write_text(text.replace("train = 0.7\npublic = 0.15\nprivate = 0.15\n", by_days))
    (told,) = cautions(load_task(folder))
    assert "mine hides days of us-treasury-curve (2016-07-01 to 2017-08-10) that bundled tasks show" in told


def test_own_data_of_nobody_else_is_not_compared(own_task: Path) -> None:
    assert calendar_of(load_task(own_task)) is None
    assert cautions(load_task(own_task)) == ()
    assert check_calendar(load_task(own_task)) == "rests on no real series that is bundled"


def test_the_check_says_the_days() -> None:
    assert check_calendar(load_task("treasury-forecast")) == (
        "us-treasury-curve: train 2006-02-09 to 2015-07-30, public 2015-07-31 to 2017-08-10, private 2017-08-11 to "
        "2019-08-26; no bundled task differs"
    )


def test_a_bundled_task_that_differs_fails_and_an_own_one_is_told() -> None:
    wrong = by_shares("fx-forecast-v3")
    with pytest.raises(FailedCheckError, match=r"fx-forecast-v3 shows 2021-09-01 to 2025-01-.* which exchange-gen"):
        check_calendar(wrong)
    assert cautions(wrong) == ()


def test_a_scaffold_of_bars_passes_and_says_what_it_shows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests list what is registered, in this process.
    monkeypatch.setattr(catalog, "_registered", [])
    folder = new_task("my-bars", tmp_path, "rolling")
    assert "my-bars shows 2008-04-01 to" in check_calendar(load_task(folder))
    with caplog.at_level(logging.WARNING, "openfingym"):
        openfingym.register(folder)
    assert "my-bars shows days of" in caplog.text
    del gymnasium.registry["openfingym/my-bars-v0"]
