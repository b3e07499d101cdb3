"""Trading of hidden bars: what an agent sees, what its account becomes, and what the record of it says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.data.bars import Bars
from openfingym.errors import SubmissionError
from openfingym.kinds import KINDS, is_sequential, score_fold
from openfingym.kinds.trading import kind as trading
from openfingym.kinds.trading.contract import TradingContract
from openfingym.kinds.trading.environment import RUIN
from openfingym.metrics import relative
from openfingym.task import Task
from openfingym.trading.actions import ORDER_KEYS
from openfingym.trading.hindsight import hindsight_weights
from openfingym.trading.shown import LISTED
from openfingym.verifiers.plausibility import remarks, typical_sizes
from tests.openfingym.kinds.materials import assert_refused
from tests.openfingym.kinds.stepping import episode_of, fold_rows, made, play, random_bars, reader, trading_task

LOOKBACK, STEPS = 6, 10
EQUITY, TRADED, COST, LONG, SHORT, CLOSED, WON = range(7)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return trading_task(tmp_path_factory.mktemp("trading"), fee_bps=5.0, slippage_bps=10.0, lot=0.0)


@pytest.fixture(scope="module")
def material(task: Task):
    return made(task)


def field(name: str, columns=None) -> np.ndarray:
    columns = random_bars() if columns is None else columns
    return np.stack([columns[f"aa_{name}"], columns[f"bb_{name}"]], axis=1)


def test_shapes_axes_and_counts(task: Task, material) -> None:
    assert is_sequential(task.spec.contract)
    # As for forecasts, with one row behind the last decision instead of three.
    assert (material.n_train, material.n_public, material.n_private) == (100, 3, 5)
    assert material.shape == (8, STEPS + 1, 7)
    assert material.labels == ("equity", "traded", "cost", "long", "short", "closed", "won")
    assert material.facts["market"]["fee_bps"] == 5.0
    assert material.facts["market"]["max_orders_per_batch"] == 256


def test_an_agent_is_told_every_key_of_an_order(task: Task, material) -> None:
    facts = dict(KINDS["trading"].brief(task, material).facts)
    assert [key for key in ORDER_KEYS if f"`{key}`" not in facts["an order"]] == []


def test_the_first_observation_is_an_account_of_cash_at_the_right_row(task: Task, material) -> None:
    first = fold_rows(task)[1]
    (shown,) = play(episode_of(task, material, 3), [])
    seen = shown.observation
    assert np.array_equal(np.array(seen["bars"])[:, :, 3], field("close")[first : first + LOOKBACK])
    assert (seen["cash"], seen["free_cash"], seen["equity"], seen["positions"]) == (
        100_000.0,
        100_000.0,
        100_000.0,
        [0.0, 0.0],
    )
    assert (seen["open_orders"], seen["fills"], seen["rejections"], seen["changes"], seen["unlisted"]) == (
        [],
        [],
        [],
        [],
        0,
    )
    assert (seen["splits"], seen["dividends"], seen["steps_left"]) == ([1.0, 1.0], [0.0, 0.0], STEPS)
    assert shown.info == {"time_index": LOOKBACK - 1}
    assert (shown.reward, shown.done) == (0.0, False)


def test_weights_trade_at_the_next_open_never_at_a_price_that_was_seen(task: Task, material) -> None:
    """All of the account, by hand: bought at the open of the next row with slippage and fee, valued at its close."""
    at = fold_rows(task)[1] + LOOKBACK  # the row after the first origin
    start, after = play(episode_of(task, material, 3), [{"weights": [0.5, 0.0]}])
    price = field("open")[at, 0] * (1.0 + 10e-4)
    quantity = 0.5 * 100_000.0 / field("open")[at, 0]
    fee = quantity * price * 5e-4
    (fill,) = after.observation["fills"]
    assert fill["event"] == "filled"
    assert (fill["symbol"], fill["side"], fill["order"]) == ("aa", "buy", None)
    assert [fill["quantity"], fill["price"], fill["fee"]] == pytest.approx([quantity, price, fee], rel=1e-12)
    cash = 100_000.0 - quantity * price - fee
    equity = cash + quantity * field("close")[at, 0]
    assert after.observation["cash"] == pytest.approx(cash, rel=1e-12)
    assert after.observation["equity"] == pytest.approx(equity, rel=1e-12)
    assert after.observation["positions"] == pytest.approx([quantity, 0.0], rel=1e-12)
    assert after.reward == pytest.approx(math.log(equity / 100_000.0), abs=1e-12)
    assert np.array_equal(
        after.observation["bars"][-1],
        [[field(name)[at, s] for name in ("open", "high", "low", "close", "volume")] for s in (0, 1)],
    )
    assert start.observation["steps_left"] == after.observation["steps_left"] + 1


def test_the_record_is_what_the_observations_said(task: Task, material) -> None:
    episode = episode_of(task, material, 4)
    actions = [{"weights": [1.0, 0.0]}, None, {"weights": [-0.5, 0.5]}, {"weights": [0.0, 0.0]}, *[None] * 6]
    shown = play(episode, actions)
    record = episode.outcome()
    assert record.shape == (STEPS + 1, 7)
    assert record[:, EQUITY].tolist() == [step.observation["equity"] for step in shown]
    for t, step in enumerate(shown):
        fills = step.observation["fills"]
        assert record[t, TRADED] == pytest.approx(sum(f["quantity"] * f["price"] for f in fills), rel=1e-12)
        assert record[t, COST] == pytest.approx(sum(f["fee"] + f["slippage"] for f in fills), rel=1e-12)
        closes = np.array(step.observation["bars"])[-1, :, 3]
        held = np.array(step.observation["positions"]) * closes
        assert record[t, [LONG, SHORT]] == pytest.approx([held[held > 0].sum(), -held[held < 0].sum()], rel=1e-12)
    assert math.exp(sum(step.reward for step in shown)) == pytest.approx(
        record[-1, EQUITY] / record[0, EQUITY], rel=1e-9
    )
    assert record[:, CLOSED].sum() == 3.0  # the long in aa, then both positions


def test_orders_by_name_or_number_with_ids_of_ones_own(task: Task, material) -> None:
    first = fold_rows(task)[1] + LOOKBACK - 1
    low = float(field("low")[first + 1, 1])
    far = round(low * 0.5, 2)
    orders = [
        {"symbol": "bb", "side": "buy", "quantity": 10, "type": "limit", "limit_price": far, "client_id": "far"},
        {"symbol": 0, "side": "sell", "quantity": 3, "client_id": "short"},
    ]
    episode = episode_of(task, material, 3)
    _, after, later, last = play(
        episode, [{"orders": orders}, {"orders": orders[:1], "cancels": [99]}, {"cancels": [1]}]
    )
    (waiting,) = after.observation["open_orders"]
    assert waiting == {
        "order": 1,
        "symbol": "bb",
        "side": "buy",
        "type": "limit",
        "time_in_force": "gtc",
        "remaining": 10.0,
        "limit_price": far,
        "stop_price": None,
        "triggered": False,
        "client_id": "far",
    }
    (fill,) = after.observation["fills"]
    assert (fill["order"], fill["symbol"], fill["side"], fill["client_id"]) == (2, "aa", "sell", "short")
    assert after.observation["positions"] == [-3.0, 0.0]
    # The same order with the same id again is no second one; what cannot be cancelled is told, with its reason.
    assert [order["order"] for order in later.observation["open_orders"]] == [1]
    assert [rejection["reason"] for rejection in later.observation["rejections"]] == ["unknown-order"]
    assert last.observation["open_orders"] == []
    assert [(change["event"], change["order"]) for change in last.observation["changes"]] == [("cancelled", 1)]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"symbol": "cc", "side": "buy", "quantity": 1}, "unknown-symbol"),
        ({"symbol": 7, "side": "buy", "quantity": 1}, "unknown-symbol"),
        ({"symbol": "aa", "side": "buy", "quantity": 0}, "bad-quantity"),
        ({"symbol": "aa", "side": "buy", "quantity": -5}, "bad-quantity"),
        ({"symbol": "aa", "side": "buy", "quantity": None}, "bad-quantity"),
        ({"symbol": "aa", "side": "buy", "quantity": 10**400}, "bad-quantity"),
        ({"symbol": "aa", "side": "buy", "quantity": 1, "type": "limit"}, "bad-price"),
        ({"symbol": "aa", "side": "buy", "quantity": 1e9}, "insufficient-cash"),
        ({"symbol": "aa", "side": "sell", "quantity": 1e9}, "short-cap"),
    ],
)
def test_what_the_market_refuses_is_told_and_changes_nothing(
    task: Task, material, order: dict[str, object], reason: str
) -> None:
    _, after = play(episode_of(task, material, 3), [{"orders": [order]}])
    (rejection,) = after.observation["rejections"]
    assert rejection["reason"] == reason
    assert rejection["symbol"] == (order["symbol"] if order["symbol"] == "aa" else None)
    assert after.observation["cash"] == 100_000.0
    assert after.observation["open_orders"] == []
    json.dumps(after.observation, allow_nan=False)


@pytest.mark.parametrize("weights", [[0.7, 0.7], [-0.7, -0.7], [None, 0.1], [2.0, 0.0]])
def test_weights_that_do_not_add_up_are_rejected(task: Task, material, weights: list[float]) -> None:
    _, after = play(episode_of(task, material, 3), [{"weights": weights}])
    assert [rejection["reason"] for rejection in after.observation["rejections"]] == ["bad-weights"]
    assert after.observation["positions"] == [0.0, 0.0]


def test_a_batch_of_ten_thousand_orders_is_refused_as_a_whole(task: Task, material) -> None:
    orders = [{"symbol": "aa", "side": "buy", "quantity": 1}] * 10_000
    _, after = play(episode_of(task, material, 3), [{"orders": orders}])
    seen = after.observation
    assert {rejection["reason"] for rejection in seen["rejections"]} == {"too-many-orders"}
    assert len(seen["rejections"]) <= LISTED
    assert (seen["fills"], seen["open_orders"], seen["cash"]) == ([], [], 100_000.0)


@pytest.mark.parametrize(
    "action",
    [
        "buy",
        [1.0, 0.0],
        {"weight": [1.0, 0.0]},
        {"weights": [1.0]},
        {"weights": [True, 0.0]},
        {"orders": [{"symbol": "aa"}]},
        {"orders": {}},
    ],
)
def test_a_malformed_action_changes_nothing(task: Task, material, action: object) -> None:
    episode, twin = episode_of(task, material, 3), episode_of(task, material, 3)
    play(episode, [{"weights": [0.5, 0.5]}])
    play(twin, [{"weights": [0.5, 0.5]}])
    with pytest.raises(SubmissionError) as refused:
        episode.step(action)
    assert refused.value.problem == "malformed-action"
    assert episode.step(None) == twin.step(None)


def test_ruin_ends_an_episode_with_a_finite_reward(tmp_path: Path) -> None:
    columns = random_bars()
    task = trading_task(tmp_path, columns)
    jump = fold_rows(task)[1] + LOOKBACK + 2
    for name in ("open", "high", "low", "close"):
        columns[f"aa_{name}"][jump:] *= 5.0
    task = trading_task(tmp_path, columns)
    episode = episode_of(task, made(task), 3)
    shown = play(episode, [{"weights": [-1.0, 0.0]}, *[None] * (STEPS - 1)])
    assert len(shown) == 4
    assert (shown[-1].terminated, shown[-1].truncated) == (True, False)
    assert shown[-1].observation["equity"] == 0.0
    assert shown[-1].reward == pytest.approx(math.log(RUIN * 100_000.0 / shown[-2].observation["equity"]))
    assert not episode.outcome()[3:, EQUITY].any()


def test_a_dividend_is_paid_and_a_split_is_no_loss(task: Task) -> None:
    source = trading.KIND.load(task)
    row = fold_rows(task)[1] + LOOKBACK + 1
    values, split, dividend = source.bars.to_array(), np.ones((200, 2)), np.zeros((200, 2))
    split[row, 0], dividend[row, 1] = 2.0, 1.5
    values[row:, 0, :4] /= 2.0
    values[row:, 0, 4] *= 2.0
    bars = Bars.from_array(source.bars.times, source.bars.symbols, values, split=split, dividend=dividend)
    material = trading.KIND.shape(task, replace(source, bars=bars))
    plain = episode_of(task, made(task), 3)
    acted = episode_of(task, material, 3)
    action = [{"weights": [0.5, 0.5]}, None, None]
    before, after = play(plain, action), play(acted, action)
    held = before[1].observation["positions"]
    assert after[2].observation["splits"] == [2.0, 1.0]
    assert after[2].observation["dividends"] == [0.0, 1.5]
    assert after[2].observation["positions"] == pytest.approx([2.0 * held[0], held[1]], rel=1e-12)
    assert after[2].observation["equity"] == pytest.approx(before[2].observation["equity"] + 1.5 * held[1], rel=1e-12)


ACTIONS = st.one_of(
    st.none(),
    st.builds(lambda a, b: {"weights": [a, b]}, st.floats(-1.5, 1.5), st.floats(-1.5, 1.5)),
    st.builds(
        lambda symbol, side, quantity, kind, price: {
            "orders": [{"symbol": symbol, "side": side, "quantity": quantity, **kind(price)}]
        },
        st.sampled_from(["aa", "bb", "zz", 0, 1, 9]),
        st.sampled_from(["buy", "sell"]),
        st.floats(0.0, 5_000.0),
        st.sampled_from(
            [
                lambda _: {},
                lambda price: {"type": "limit", "limit_price": price},
                lambda price: {"type": "stop", "stop_price": price, "time_in_force": "ioc"},
                lambda price: {"type": "stop-limit", "limit_price": price, "stop_price": price},
            ]
        ),
        st.floats(5.0, 80.0),
    ),
    st.builds(lambda order: {"cancels": [order]}, st.integers(0, 5)),
    st.builds(
        lambda order, quantity: {"replaces": [{"order": order, "quantity": quantity}]},
        st.integers(1, 5),
        st.floats(0.1, 10.0),
    ),
)


@settings(max_examples=80)
@given(st.lists(ACTIONS, max_size=STEPS), st.integers(0, 7))
def test_an_episode_is_a_function_of_its_actions_and_its_cash_adds_up(given_material, actions, number) -> None:
    task, material = given_material
    one, two = episode_of(task, material, number), episode_of(task, material, number)
    shown = play(one, actions)
    looked = one.outcome()
    assert shown == play(two, actions)
    assert np.array_equal(looked, two.outcome())
    cash = 100_000.0
    for step in shown:
        json.dumps(step.observation, allow_nan=False)
        for fill in step.observation["fills"]:
            cash -= (1.0 if fill["side"] == "buy" else -1.0) * fill["quantity"] * fill["price"] + fill["fee"]
        assert step.observation["cash"] == pytest.approx(cash, rel=1e-9, abs=1e-6)
        assert step.observation["cash"] >= 0.0
    # What follows is as if nothing more were done.
    for _ in range(STEPS - len(actions)):
        if not shown[-1].done:
            shown.append(one.step(None))
    assert np.array_equal(one.outcome(), looked)


@pytest.fixture(scope="module")
def given_material(task: Task, material):
    return task, material


def test_the_baseline_is_bought_at_the_first_open_and_held(task: Task, material) -> None:
    naive = trading.KIND.naive(task.spec.contract, reader(material), material.shape)
    assert naive.shape == material.shape
    for number in (0, 4, 7):
        episode = episode_of(task, material, number)
        play(episode, [trading.hold_action(task.spec)])
        assert np.array_equal(naive[number], episode.outcome())
    assert (naive[:, 1:, TRADED] > 0.0).sum() == len(naive)
    first = fold_rows(task)[1] + LOOKBACK
    closes, opened = field("close")[first : first + STEPS], field("open")[first] * (1.0 + 10e-4)
    cost = 1.0 + 5e-4
    # Equal parts of what was there at the open; the second is cut to the cash that slippage and fee have left.
    one = 50_000.0 / field("open")[first, 0]
    two = min(50_000.0 / field("open")[first, 1], (100_000.0 - one * opened[0] * cost) / (opened[1] * cost))
    left = 100_000.0 - (one * opened[0] + two * opened[1]) * cost
    assert naive[3, 1:, EQUITY] == pytest.approx(closes @ np.array([one, two]) + left, rel=1e-9)


def test_oracle_baseline_and_the_worst_rank_in_this_order(task: Task, material) -> None:
    spec = task.spec
    best = trading.KIND.oracle(spec.contract, material.hidden, material.shape)
    naive = trading.KIND.naive(spec.contract, reader(material), material.shape)
    worst = trading.KIND.worst(spec.contract, material.hidden, material.shape)
    for number in range(8):
        episode = episode_of(task, material, number)
        play(episode, trading.KIND.oracle_actions(spec, reader(material), material.hidden, number))
        assert np.array_equal(episode.outcome(), best[number])
        assert best[number, -1, EQUITY] > naive[number, -1, EQUITY] > worst[number, -1, EQUITY]
    _, private = trading.KIND.folds(spec, reader(material), material.hidden, (3, 5), 0)
    scores = [score_fold(spec.contract, spec.scoring, private, values).metrics for values in (best, naive, worst)]
    ranks = [relative(spec.scoring, found, scores[1]) for found in scores]
    assert ranks[0] < ranks[1] == 1.0 < ranks[2]


def growth_of(weights: np.ndarray, opens: np.ndarray, last: np.ndarray, cost: float) -> float:
    """What hindsight claims to maximise: the growth of a path of states, its turnover paid."""
    moves = np.concatenate([opens[1:], last[None]]) / opens - 1.0
    before = np.concatenate([np.zeros((1, opens.shape[1])), weights[:-1]])
    paid = np.log(1.0 - cost * np.abs(weights - before).sum(axis=1))
    return float((np.log1p((moves * weights).sum(axis=1)) + paid).sum())


@pytest.mark.parametrize("short", [0.0, 1.0])
@pytest.mark.parametrize("cost", [0.0, 0.003, 0.05])
def test_hindsight_is_the_best_and_the_worst_of_all_paths(short: float, cost: float) -> None:
    """Every path over five bars, tried one by one."""
    import itertools

    rng = np.random.default_rng(3)
    opens = np.exp(np.cumsum(0.02 * rng.standard_normal((5, 2)), axis=0))
    last = opens[-1] * np.exp(0.02 * rng.standard_normal(2))
    states = [np.zeros(2), *np.eye(2), *(-short * np.eye(2))]
    grown = [growth_of(np.array(path), opens, last, cost) for path in itertools.product(states, repeat=5)]
    for worst, expected in ((False, max(grown)), (True, min(grown))):
        found = hindsight_weights(opens, last, cost=cost, short=short, worst=worst)
        assert growth_of(found, opens, last, cost) == pytest.approx(expected, abs=1e-12)
        if short == 0.0:
            assert (found >= 0.0).all()


def test_an_observation_does_not_depend_on_rows_behind_it(task: Task, material) -> None:
    actions = [
        {"weights": [0.5, -0.5]},
        None,
        {"orders": [{"symbol": "aa", "side": "sell", "quantity": 5, "type": "stop", "stop_price": 45.0}]},
    ]
    for k in (1, 2, 3):
        altered = {name: array.copy() for name, array in material.hidden.items()}
        altered["private_bars"][LOOKBACK + k :] *= 3.0
        assert play(trading.KIND.episode(task.spec, reader(material), altered, 3), actions[:k]) == play(
            episode_of(task, material, 3), actions[:k]
        )


def test_a_halt_in_the_first_row_of_an_episode_is_no_fault(tmp_path: Path) -> None:
    columns = random_bars()
    task = trading_task(tmp_path, columns)
    row = fold_rows(task)[1]
    columns["bb_volume"][row : row + LOOKBACK + 1] = 0.0
    task = trading_task(tmp_path, columns)
    _, after, later = play(episode_of(task, made(task), 3), [{"weights": [0.5, 0.5]}, {"weights": [0.5, 0.5]}])
    assert after.observation["positions"][1] == 0.0
    assert later.observation["positions"][1] > 0.0


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("fee_bps = 5.0", "fee_bps = -5.0"), "contract.fee_bps: "),
        (("fee_bps = 5.0", "max_short = 0.0"), "expected 0 .minus max_short. and 1"),
        (
            ("periods_per_year = 252.0", "periods_per_year = 365.0"),
            "bars_per_year is 252 and scoring.periods_per_year 365",
        ),
        (('baseline = "buy-and-hold"', 'baseline = "naive"'), "that of a trading task is 'buy-and-hold'"),
        (('family = "trading"', 'family = "forecasting"'), "a trading task is of the family 'trading'"),
        (("fee_bps = 5.0", "fee_bsp = 5.0"), "fee_bsp: unknown key; did you mean 'fee_bps'"),
    ],
)
def test_a_mistake_in_a_trading_task_is_answered_with_its_key(
    task: Task, tmp_path: Path, edit: tuple[str, str], message: str
) -> None:
    assert_refused(task, tmp_path, edit, message)


def test_a_market_without_short_positions(tmp_path: Path) -> None:
    task = trading_task(tmp_path, max_short=0.0, low=0.0)
    assert isinstance(task.spec.contract, TradingContract)
    material = made(task)
    _, after = play(episode_of(task, material, 3), [{"weights": [-0.1, 0.0]}])
    assert [rejection["reason"] for rejection in after.observation["rejections"]] == ["bad-weights"]
    best, worst = (
        made_of(task.spec.contract, material.hidden, material.shape)
        for made_of in (trading.KIND.oracle, trading.KIND.worst)
    )
    naive = trading.KIND.naive(task.spec.contract, reader(material), material.shape)
    assert not best[:, :, SHORT].any()
    assert (best[:, -1, EQUITY] > naive[:, -1, EQUITY]).all()
    assert (worst[:, -1, EQUITY] < naive[:, -1, EQUITY]).all()


def test_where_liquidity_has_its_price_hindsight_still_is_the_best(tmp_path: Path) -> None:
    """Either alone once made it worse than buy-and-hold."""
    task = trading_task(tmp_path, impact=0.5, max_participation=0.1, initial_cash=100_000_000.0)
    assert isinstance(task.spec.contract, TradingContract)
    material = made(task)
    best, naive, worst = (
        made_of(task.spec.contract, source, material.shape)[:, -1, EQUITY]
        for made_of, source in (
            (trading.KIND.oracle, material.hidden),
            (trading.KIND.naive, reader(material)),
            (trading.KIND.worst, material.hidden),
        )
    )
    assert (best > naive).all()
    assert (worst < naive).all()


def test_a_record_has_no_unit_to_mistake(task: Task, material) -> None:
    sizes = typical_sizes(task.spec.contract, reader(material))
    assert sizes is None
    assert remarks(task.spec.contract, material.labels, sizes, np.zeros(material.shape)) == ()
