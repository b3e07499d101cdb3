"""Cutting windows: no hidden target is visible anywhere, and the counts are those of the closed form."""

import math
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from openfingym.data import DatasetInfo, Panel, cut, load_panel
from openfingym.data.recipe import block_starts, to_values
from openfingym.errors import DataError, TaskError
from openfingym.task.model import Split

START = np.datetime64("2000-01-01", "ns")


@dataclass(frozen=True)
class Lengths:
    lookback: int
    horizon: int


def window(lookback, horizon):
    return {"lookback": lookback, "horizon": horizon}


def rows(n, d=1):
    """Values that carry their own row number, so that a window tells which rows it came from."""
    return np.arange(float(n))[:, None] + np.zeros(d), START + np.arange(n) * np.timedelta64(1, "D")


@st.composite
def cases(draw):
    lookback, horizon = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    percent = draw(st.integers(10, 80))
    public = draw(st.integers(5, 95 - percent))
    split = Split(
        train=percent / 100,
        public=public / 100,
        private=(100 - percent - public) / 100,
        train_stride=draw(st.integers(1, 5)),
        hidden_stride=draw(st.none() | st.integers(horizon, horizon + 7)),
        embargo=draw(st.integers(horizon, horizon + 4)),
    )
    return draw(st.integers(20, 600)), split, Lengths(lookback, horizon)


def attempt(n, split, agreed):
    values, times = rows(n)
    try:
        return cut(values, times, split=split, lookback=agreed.lookback, horizon=agreed.horizon)
    except TaskError:
        assume(False)


@given(cases())
def test_no_hidden_target_is_shown_before_it_is_asked_for(case):
    windows = attempt(*case)
    hidden = windows.test_targets.ravel().tolist()
    assert not set(hidden) & set(np.concatenate([windows.train_inputs.ravel(), windows.train_targets.ravel()]).tolist())
    assert len(set(hidden)) == len(hidden), "each row is asked for once"
    for number, inputs in enumerate(windows.test_inputs):
        assert inputs.max() < windows.test_targets[number:].min()


@given(cases())
def test_blocks_are_in_order_with_an_embargo_between(case):
    n, split, agreed = case
    windows = attempt(*case)
    k = windows.n_public
    tests = np.concatenate([windows.test_inputs, windows.test_targets], axis=1)[:, :, 0]
    train = np.concatenate([windows.train_inputs, windows.train_targets], axis=1)[:, :, 0]
    first, second = int(Fraction(str(split.shares[0])) * n), int(Fraction(str(split.shares[1])) * n)
    assert train.max() < first
    assert tests[:k].min() == first + split.embargo
    assert tests[:k].max() < first + second
    assert tests[k:].min() == first + second + split.embargo
    assert tests.max() < n
    assert split.embargo >= agreed.horizon
    for windowed in (train, tests):
        assert (np.diff(windowed, axis=1) == 1).all()
        assert (np.diff(windowed[:, 0]) > 0).all()


@given(cases())
def test_counts_by_closed_form(case):
    n, split, agreed = case
    windows = attempt(*case)
    length = agreed.lookback + agreed.horizon
    first, second = math.floor(Fraction(str(split.shares[0])) * n), math.floor(Fraction(str(split.shares[1])) * n)
    assert len(windows.train_inputs) == (first - length) // split.train_stride + 1
    stride = split.hidden_stride or agreed.horizon
    assert windows.n_public == (second - split.embargo - length) // stride + 1
    assert windows.n_private == (n - first - second - split.embargo - length) // stride + 1
    assert len(windows.test_inputs) == windows.n_public + windows.n_private


@given(cases())
def test_times_belong_to_their_rows(case):
    windows = attempt(*case)
    for inputs, targets, times in (
        (windows.train_inputs, windows.train_targets, windows.train_times),
        (windows.test_inputs, windows.test_targets, windows.test_times),
    ):
        row = np.concatenate([inputs, targets], axis=1)[:, :, 0]
        assert (times == START + row.astype(int) * np.timedelta64(1, "D")).all()
        assert times.dtype == np.dtype("datetime64[ns]")
        assert inputs.dtype == targets.dtype == np.float64
        assert all(array.flags.c_contiguous for array in (inputs, targets, times))


@given(cases())
def test_the_stated_number_of_rows_is_enough(case):
    n, split, agreed = case
    values, times = rows(n)
    try:
        cut(values, times, split=split, lookback=agreed.lookback, horizon=agreed.horizon)
    except TaskError as error:
        enough = int(str(error).split(", ")[-1].split()[0])
        assert enough > n
        assert cut(*rows(enough), split=split, lookback=agreed.lookback, horizon=agreed.horizon).n_private >= 1


def test_a_small_example_by_hand():
    values, times = rows(40, d=2)
    windows = cut(
        values, times, split=Split(train=0.5, public=0.25, private=0.25, train_stride=8, embargo=2), **window(3, 1)
    )
    assert windows.train_inputs[:, :, 0].tolist() == [[0, 1, 2], [8, 9, 10], [16, 17, 18]]
    assert windows.train_targets[:, :, 1].tolist() == [[3], [11], [19]]
    assert windows.test_inputs[:, 0, 0].tolist() == [22, 23, 24, 25, 26, 32, 33, 34, 35, 36]
    assert windows.test_inputs[3, :, 0].tolist() == [25, 26, 27]
    assert windows.test_targets[:, :, 0].tolist() == [[25], [26], [27], [28], [29], [35], [36], [37], [38], [39]]
    assert (windows.n_public, windows.n_private) == (5, 5)
    assert windows.train_inputs.shape == (3, 3, 2)
    assert windows.mean.tolist() == [0.0, 0.0]
    assert windows.scale.tolist() == [1.0, 1.0]


def test_a_stride_below_the_horizon_would_ask_twice():
    split = Split(train=0.5, public=0.25, private=0.25, embargo=2, hidden_stride=1)
    with pytest.raises(TaskError, match=r"split\.hidden_stride: is 1; expected at least the 2 rows"):
        cut(*rows(40), split=split, **window(3, 2))


def test_a_share_is_the_decimal_that_was_written():
    windows = cut(*rows(100), split=Split(train=0.29, public=0.57, private=0.14, embargo=1), **window(1, 1))
    assert windows.train_targets.max() == 28.0  # 0.29 * 100 is 28.999... in binary
    assert windows.test_inputs.min() == 30.0


def test_scaling_looks_at_training_rows_only():
    rng = np.random.default_rng(0)
    values = rng.normal([5.0, -300.0], [2.0, 40.0], (200, 2))
    values[140:] += 1000.0
    times = rows(200)[1]
    split = Split(train=0.7, public=0.15, private=0.15, embargo=1, scaling="standard")
    windows = cut(values, times, split=split, **window(4, 1))
    scaler = StandardScaler().fit(values[:140])
    assert windows.mean == pytest.approx(scaler.mean_, rel=1e-12)
    assert windows.scale == pytest.approx(scaler.scale_, rel=1e-12)
    assert windows.train_inputs[0] == pytest.approx(scaler.transform(values[:4]), rel=1e-9)
    assert windows.test_inputs[0] == pytest.approx(scaler.transform(values[141:145]), rel=1e-9)
    plain = cut(values, times, split=split.model_copy(update={"scaling": "none"}), **window(4, 1))
    assert windows.test_targets * windows.scale + windows.mean == pytest.approx(plain.test_targets, rel=1e-12)


def test_a_constant_channel_cannot_be_standardised():
    values, times = rows(100, d=2)
    values[:, 1] = 3.3
    with pytest.raises(DataError, match="channel 1 is constant"):
        cut(
            values,
            times,
            split=Split(train=0.7, public=0.15, private=0.15, embargo=1, scaling="standard"),
            **window(4, 1),
        )


def test_the_rows_given_are_left_alone():
    values, times = rows(100)
    values.flags.writeable = times.flags.writeable = False
    windows = cut(values, times, split=Split(train=0.7, public=0.15, private=0.15, embargo=1), **window(4, 1))
    windows.train_inputs[:] = 0.0
    windows.test_targets[:] = 0.0
    assert values.ravel().tolist() == list(range(100))


@pytest.mark.parametrize(
    ("n", "shares", "block"),
    [(14, (0.7, 0.15, 0.15), "train"), (60, (0.7, 0.15, 0.15), "public"), (60, (0.5, 0.4, 0.1), "private")],
)
def test_a_block_too_short_says_how_many_rows_it_takes(n, shares, block):
    split = Split(train=shares[0], public=shares[1], private=shares[2], embargo=2)
    with pytest.raises(
        TaskError, match=rf"split\.{block}: the {block} block has .* one window needs 10 .* rows are enough"
    ):
        cut(*rows(n), split=split, **window(8, 2))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda v, t: (v[:, 0], t), "float64 values"),
        (lambda v, t: (v.astype(np.float32), t), "float32"),
        (lambda v, t: (v, t[:-1]), "one time a row"),
        (lambda v, t: (np.where(np.arange(100)[:, None] == 7, np.nan, v), t), "row 7, channel 0"),
        (lambda v, t: (v, t[::-1]), "row 1: its time"),
        (lambda v, t: (v, np.where(np.arange(100) == 5, t[4], t)), "row 5: its time 2000-01-05"),
    ],
)
def test_rows_that_do_not_fit_together(damage, words):
    values, times = damage(*rows(100))
    with pytest.raises(DataError, match=words):
        cut(values, times, split=Split(train=0.7, public=0.15, private=0.15, embargo=1), **window(4, 1))


def panel(values, measure):
    values = np.asarray(values, dtype=np.float64)
    times = rows(len(values))[1]
    info = DatasetInfo(
        name="own",
        title="own",
        kind="real",
        source="s",
        provenance="p",
        licence="l",
        frequency="daily",
        measure=measure,
        unit="u",
        calendar="c",
        corporate_actions="none",
        first=date(2000, 1, 1),
        last=date(2000, 1, 2),
        rows=len(values),
        channels=("a",),
        missing=0,
        sha256="",
    )
    return Panel(times, values, ("a",), info)


def test_log_returns_carry_the_later_time():
    times, values = to_values(panel([[100.0], [110.0], [99.0]], "price"), "log_return")
    assert values == pytest.approx(np.array([[math.log(1.1)], [math.log(0.9)]]), abs=1e-10)
    assert times.tolist() == rows(3)[1][1:].tolist()


def test_levels_stay_as_they_are():
    for measure, semantics in (
        ("price", "price_level"),
        ("yield", "yield_level"),
        ("mixed", "mixed"),
        ("mixed", "price_level"),
    ):
        times, values = to_values(panel([[1.0], [2.0]], measure), semantics)
        assert values.tolist() == [[1.0], [2.0]]
        assert len(times) == 2


@pytest.mark.parametrize(
    ("measure", "semantics"),
    [
        ("yield", "log_return"),
        ("yield", "price_level"),
        ("price", "yield_level"),
        ("mixed", "log_return"),
        ("mixed", "realised_vol"),
    ],
)
def test_a_yield_is_not_a_price(measure, semantics):
    with pytest.raises(TaskError, match=r"contract\.value_semantics: .* needs a dataset of"):
        to_values(panel([[1.0], [2.0]], measure), semantics)


def test_semantics_that_are_not_known_and_too_few_rows():
    with pytest.raises(TaskError, match="unknown 'spread'"):
        to_values(panel([[1.0], [2.0]], "price"), "spread")
    with pytest.raises(DataError, match="needs two rows"):
        to_values(panel([[1.0]], "price"), "log_return")


def test_returns_of_real_prices_add_up_to_the_whole_move():
    prices = load_panel("ecb-fx", ["usd_jpy", "eur_usd"])
    _, returns = to_values(prices, "log_return")
    assert returns.sum(axis=0) == pytest.approx(np.log(prices.values[-1] / prices.values[0]), abs=1e-6)


def days_of(count: int, first: str = "2020-01-01") -> np.ndarray:
    return np.arange(np.datetime64(first), np.datetime64(first) + count).astype("datetime64[ns]")


def test_blocks_that_begin_on_days_by_hand() -> None:
    split = Split(public_from=date(2020, 1, 21), private_from=date(2020, 2, 5), embargo=2)
    values = np.arange(60.0)[:, None]
    windows = cut(values, days_of(60), split=split, lookback=3, horizon=2)
    # Rows 0 to 19 are training; 20 and 21, and 35 and 36, are embargoes.
    assert (windows.train_targets.max(), windows.test_inputs[0, 0, 0]) == (19.0, 22.0)
    assert windows.test_starts[: windows.n_public].tolist() == [22, 24, 26, 28, 30]
    assert windows.test_starts[windows.n_public :].tolist() == [37, 39, 41, 43, 45, 47, 49, 51, 53, 55]
    # A day without a row: the block begins with the first row behind it.
    some = np.delete(np.arange(60), [20, 21, 35])
    assert block_starts(days_of(60)[some], split) == (20, 33)
    by_shares = Split(train=0.4, public=0.3, private=0.3, embargo=2)
    assert block_starts(days_of(60), by_shares) == block_starts(np.arange(60), by_shares) == (24, 42)


@pytest.mark.parametrize(
    ("public", "private", "key", "words"),
    [
        (date(2020, 1, 3), date(2020, 2, 5), "split.public_from", "the train block has 2 rows, but one window needs 5"),
        (date(2020, 1, 21), date(2020, 1, 24), "split.public_from", "the public block has 1 rows"),
        (date(2020, 1, 21), date(2021, 1, 1), "split.private_from", "the private block has 0 rows"),
    ],
)
def test_a_block_of_days_that_is_too_short_names_the_rows_and_the_days(
    public: date, private: date, key: str, words: str
) -> None:
    split = Split(public_from=public, private_from=private, embargo=2)
    with pytest.raises(TaskError) as error:
        cut(np.arange(60.0)[:, None], days_of(60), split=split, lookback=3, horizon=2)
    assert error.value.key == key
    assert f"of rows from 2020-01-01 to 2020-02-29, {words}" in str(error.value)
    assert f"the public block begins on {public}, the private one on {private}" in str(error.value)


def test_rows_without_dates_have_no_days_to_split_by() -> None:
    split = Split(public_from=date(2020, 1, 21), private_from=date(2020, 2, 5), embargo=2)
    with pytest.raises(TaskError, match=r"split\.public_from.*rows have no dates; give train, public and private"):
        cut(np.arange(60.0)[:, None], np.arange(60), split=split, lookback=3, horizon=2)
