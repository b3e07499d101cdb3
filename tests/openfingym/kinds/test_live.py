"""The kind of live tasks: its terms, its arrays, and an episode on a local venue, in real time and on its tape."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.kinds import is_live, kind_of
from openfingym.kinds.bars.episodes import rows_of
from openfingym.kinds.live import LiveContract, SessionEpisode, live_contract, on_session, session_arrays, session_terms
from openfingym.kinds.trading.environment import TAIL
from openfingym.market.session.live import LiveSession
from openfingym.market.session.taped import TapedSession, replayed
from openfingym.market.session.terms import SessionOrder, SessionTerms
from openfingym.market.session.venues import simulated_venue
from openfingym.metrics.performance import RecordColumn
from openfingym.trading.market import MarketRules

NAMES = ("BTCUSDT", "ETHUSDT")
TERMS = SessionTerms(("btc", "eth"), NAMES, 1, 3, 5, 10_000.0, MarketRules(fee_bps=10.0, lot=0.0, tick=0.01))


def contract() -> LiveContract:
    return live_contract(load_task("crypto-trading-live").spec.contract)


def test_a_session_lasts_as_long_as_is_asked_for() -> None:
    own, minute = session_terms(contract()), session_terms(contract(), 60)
    assert (own.interval_s, own.steps, minute.interval_s, minute.steps) == (5, 60, 1, 60)
    assert minute.rules.bars_per_year == 5 * own.rules.bars_per_year == 365 * 86_400
    some = {59: "60 s", 61: "60 s or 120 s", 0: "60 s", -60: "60 s", 3599: "3540 s or 3600 s", 3660: "3600 s"}
    for wrong, near in some.items():
        with pytest.raises(UsageError, match=f"expected a multiple of 60 s,.*: such as {near}$"):
            session_terms(contract(), wrong)
    assert SessionTerms.from_dict(minute.to_dict()) == minute
    for document in ({}, minute.to_dict() | {"rules": 1}, minute.to_dict() | {"steps": 0}):
        with pytest.raises(DataError, match="no session"):
            SessionTerms.from_dict(document)
    with pytest.raises(UsageError, match="leave out its duration"):
        SessionOrder(duration_s=60, tape="t")


def test_the_year_of_a_session_has_its_bars() -> None:
    spec = on_session(load_task("crypto-trading-live").spec, session_terms(contract(), 120))
    assert spec.scoring.periods_per_year == live_contract(spec.contract).bars_per_year == 365 * 86_400 / 2


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("tick", 0.0, "smallest step of prices"),
        ("instruments", ["BTCUSDT"], "3 different names"),
        ("instruments", ["BTCUSDT", "BTCUSDT", "SOLUSDT"], "different names"),
        ("interval_s", 61, "less than or equal to 60"),
        ("venue", "elsewhere", "binance"),
    ],
)
def test_a_contract_that_cannot_be_is_refused(key: str, value: object, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        LiveContract.model_validate(contract().model_dump() | {key: value})


def test_there_is_one_private_episode_and_a_session_takes_its_place() -> None:
    task = load_task("crypto-trading-live")
    kind, own = kind_of(task), contract()
    material = kind.shape(task, kind.load(task))
    assert is_live(own)
    assert material.n_private == 1
    assert material.shape == (material.n_public + 1, own.steps + 1, len(RecordColumn))
    rows = rows_of(1, own, TAIL)
    assert material.hidden["private_bars"].shape == (rows, 3, 5) == (own.lookback + own.steps, 3, 5)
    bars = np.random.default_rng(0).uniform(1.0, 2.0, (rows, 3, 5))
    arrays = session_arrays(material.hidden, bars, 10**18, 10**9)
    assert arrays.keys() == material.hidden.keys()
    for name, array in arrays.items():
        assert (array.shape, array.dtype) == (material.hidden[name].shape, material.hidden[name].dtype), name
    assert arrays["private_bars"] is bars
    assert arrays["public_bars"] is material.hidden["public_bars"]
    assert np.diff(arrays["private_times"]).tolist() == [10**9] * (rows - 1)


@pytest.mark.parametrize(("name", "refused"), [("crypto-trading-live", False), ("equity-trading-live-alpaca", True)])
def test_an_agent_is_told_where_pairs_are_refused(name: str, refused: bool) -> None:
    task = load_task(name)
    counts: Any = SimpleNamespace(n_train=1, n_public=1, n_private=1, public={"train_bars": np.empty((1, 3, 5))})
    brief = kind_of(task).brief(task, counts)
    assert "`oco`" in dict(brief.facts)["an order"]
    assert ("refuses pairs (`oco`)" in brief.note) is refused


def test_an_episode_on_a_local_venue_and_again_on_its_tape(tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    with LiveSession(simulated_venue("binance", NAMES, seed=4, before_s=90.0), TERMS, tape) as session:
        episode = SessionEpisode(session)
        steps = [episode.start()]
        with pytest.raises(SubmissionError, match="weights"):
            episode.step({"weights": [1.0]})
        steps.append(episode.step({"weights": [0.5, 0.3]}))
        steps.append(episode.step({"orders": [{"symbol": "btc", "side": "sell", "quantity": 0.01}]}))
        session.leave()  # and the session goes on
        record = episode.outcome().copy()
    assert session.simulated
    first, second, third = steps
    assert np.array(first.observation["bars"]).shape == (TERMS.lookback, 2, 5)
    assert [step.observation["steps_left"] for step in steps] == [3, 2, 1]
    assert first.observation["equity"] == 10_000.0
    # Each bar moves up by one, and the newest is new.
    assert np.array(first.observation["bars"])[1:].tolist() == np.array(second.observation["bars"])[:-1].tolist()
    assert {fill["symbol"] for fill in second.observation["fills"]} == {"btc", "eth"}, second.observation["rejections"]
    assert all(fill["fee"] > 0.0 for fill in second.observation["fills"])
    assert third.observation["fills"][0]["side"] == "sell"
    assert second.reward == pytest.approx(math.log(float(str(second.observation["equity"])) / 10_000.0))
    # What was held is sold when the agent leaves, and the last row is of cash.
    assert record[2, RecordColumn.LONG] > 0.0
    assert record[3, RecordColumn.LONG] == 0.0
    assert record[3, RecordColumn.TRADED] > 0.0
    fees = 0.001 * record[:, RecordColumn.TRADED].sum()
    assert fees <= record[:, RecordColumn.COST].sum() <= 3.0 * fees, (
        "what is not a fee is the way from the mid into the book"
    )

    machine, found = replayed(tape)
    assert found.difference is None
    assert found.checkpoints >= 1
    assert machine.record.tobytes() == record.tobytes()

    with TapedSession(tape) as same:
        played = SessionEpisode(same)
        again = [played.start(), played.step({"weights": [0.5, 0.3]})]
        again.append(played.step({"orders": [{"symbol": "btc", "side": "sell", "quantity": 0.01}]}))
        assert again == steps
    with TapedSession(tape) as other:
        played = SessionEpisode(other)
        played.start()
        with pytest.raises(SubmissionError, match="weights"):
            played.step({"weights": [1.0]})
        while not played.step(None).done:
            pass
        assert played.outcome()[:, RecordColumn.EQUITY].tolist() == [10_000.0] * 4
        assert other.machine.bars.tobytes() == machine.bars.tobytes()


def test_a_tape_of_a_feed_alone_is_no_session(tmp_path: Path) -> None:
    from openfingym.market.commands import Instant
    from openfingym.market.tape import TapeHeader
    from openfingym.market.tape_writer import TapeWriter

    path = tmp_path / "tape"
    TapeWriter(path, TapeHeader("binance"), Instant(0, 0)).close()
    with pytest.raises(DataError, match="no account traded"):
        TapedSession(path)
    with pytest.raises(DataError, match="no account traded"):
        replayed(path)
