"""Prices and limits."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from openfingym.errors import UsageError
from openfingym.models import Allowance, Completion, Message, Meter, Usage
from openfingym.models.meter import Left, Spent
from openfingym.models.prices import PriceTable


def _completion(prompt: int = 100, completion: int = 50, cost: float | None = 0.01) -> Completion:
    return Completion(Message("assistant", "x"), "stop", Usage(prompt, completion), "m", cost_usd=cost, latency_s=2.0)


def test_price_of_cached_input() -> None:
    price = PriceTable.load().find("gpt-4o-2024-08-06")
    assert price is not None
    # A million fresh, a million cached, a million out.
    assert price.of(Usage(2_000_000, 1_000_000, 1_000_000)) == pytest.approx(2.5 + 1.25 + 10.0)


def test_every_price_of_the_package_is_read() -> None:
    table = PriceTable.load()
    stated = tomllib.loads((resources.files("openfingym") / "models" / "prices.toml").read_text())
    assert set(table.prices) == set(stated)
    assert all(
        price.cached is not None and price.cached < price.input < price.output for price in table.prices.values()
    )


def test_an_unknown_model_has_no_cost_rather_than_none_to_pay() -> None:
    assert PriceTable.load().cost_usd("someone/some-model", Usage(10, 10)) is None
    assert PriceTable.load().cost_usd("gpt-4o-but-another", Usage(10, 10)) is None


def test_own_prices_come_first(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('["gpt-4o"]\ninput = 1\noutput = 2\n["my/model"]\ninput = 0\noutput = 0\n')
    table = PriceTable.load(path)
    assert table.cost_usd("gpt-4o", Usage(1_000_000, 1_000_000, 500_000)) == pytest.approx(3.0)
    assert table.cost_usd("my/model", Usage(5, 5)) == 0.0
    assert table.find("gpt-4o-mini") == PriceTable.load().find("gpt-4o-mini")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = ", "not valid TOML"),
        ("[m]\ninput = 1", "needs input and output"),
        ("[m]\ninput = 1\noutput = 2\nother = 3", "needs input and output"),
        ("[m]\ninput = -1\noutput = 2", "m.input"),
        ("[m]\ninput = 1\noutput = inf", "m.output"),
        ('[m]\ninput = "1"\noutput = 2', "m.input"),
        ("m = 3", "needs input and output"),
    ],
)
def test_a_wrong_price_table(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        PriceTable.load(path)


def test_a_table_says_where_its_prices_are_from(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[mine]\ninput = 3.0\noutput = 15.0\n")
    builtin, own = PriceTable.load().describe("mine"), PriceTable.load(path).describe("mine")
    assert (builtin["price"], own["price"]) == (None, {"input": 3.0, "output": 15.0, "cached": None})
    assert builtin["sha256"] != own["sha256"]
    assert "not checked" in str(builtin["table"])
    assert str(own["table"]).startswith("mine.toml, then")


def test_a_missing_price_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        PriceTable.load(tmp_path / "none.toml")


def test_meter_counts_and_tells_what_is_left() -> None:
    now = [1000.0]
    meter = Meter(Allowance(turns=4, tokens=1000, cost_usd=0.1, wall_s=60.0), clock=lambda: now[0])
    assert meter.left == Left(4, 1000, 0.1, 60.0)
    assert meter.notice() is None
    for _ in range(3):
        meter.charge(_completion())
    now[0] += 50.0
    spent = meter.spent
    assert (spent.turns, spent.usage, spent.model_s, spent.wall_s) == (3, Usage(300, 150), 6.0, 50.0)
    assert spent.cost_usd == pytest.approx(0.03)
    assert meter.exhausted is None
    assert meter.notice() == "Left: 1 turn, your last, 10 seconds."
    meter.charge(_completion())
    assert (meter.exhausted, meter.left.turns) == ("turns", 0)
    nearly = Meter(Allowance(cost_usd=0.01001))
    nearly.charge(_completion())
    assert nearly.notice() == "Left: less than $0.0001."


@pytest.mark.parametrize(
    ("allowance", "limit"),
    [
        (Allowance(tokens=150), "tokens"),
        (Allowance(cost_usd=0.01), "cost"),
        (Allowance(wall_s=5.0), "wall"),
        (Allowance(), None),
    ],
)
def test_each_limit_ends_it(allowance: Allowance, limit: str | None) -> None:
    now = [0.0]
    meter = Meter(allowance, clock=lambda: now[0])
    assert meter.exhausted is None
    meter.charge(_completion())
    now[0] = 5.0
    assert meter.exhausted == limit


def test_an_unknown_cost() -> None:
    meter = Meter()
    meter.charge(_completion(cost=0.5))
    meter.charge(_completion(cost=None))
    meter.charge(_completion(cost=0.5))
    assert meter.spent.cost_usd is None
    with pytest.raises(UsageError, match="no price is known for model 'm'"):
        Meter(Allowance(cost_usd=1.0)).charge(_completion(cost=None))
    with pytest.raises(UsageError, match=r"did not count the tokens of 'm'.*limit the tokens instead"):
        Meter(Allowance(cost_usd=1.0)).charge(replace(_completion(cost=None), counted=False))


@pytest.mark.parametrize("wrong", [{"turns": 0}, {"tokens": -1}, {"cost_usd": float("nan")}, {"wall_s": float("inf")}])
def test_a_limit_is_more_than_nothing(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Allowance(**wrong)  # type: ignore[arg-type]


def _clocked(allowance: Allowance, now: list[float], **options: object) -> Meter:
    return Meter(allowance, clock=lambda: now[0], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowance", "spent", "passed", "told"),
    [
        # At a quarter of a limit, and not above it.
        (Allowance(turns=8), _completion(), 0.0, [None] * 5 + ["Left: 2 turns."]),
        (Allowance(turns=2), _completion(), 0.0, ["Left: 1 turn, your last."]),
        (Allowance(turns=4), _completion(), 0.0, [None, None, "Left: 1 turn, your last."]),
        (Allowance(tokens=600), _completion(), 0.0, [None, None, "Left: 150 tokens."]),
        (Allowance(tokens=601), _completion(), 0.0, [None, None, None, "Left: 1 tokens."]),
        (Allowance(cost_usd=0.5), _completion(cost=0.125), 0.0, [None, None, "Left: $0.1250."]),
        (Allowance(cost_usd=1.0), _completion(cost=0.5), 0.0, [None, "Left: $0.0000."]),
        (Allowance(cost_usd=1.0), _completion(cost=0.9998), 0.0, ["Left: $0.0002."]),
        (Allowance(wall_s=40.0), _completion(), 10.0, [None, None, "Left: 10 seconds."]),
        (Allowance(wall_s=40.0), _completion(), 50.0, ["Left: 0 seconds."]),
        (
            Allowance(turns=1, tokens=1, cost_usd=0.01, wall_s=1.0),
            _completion(),
            2.0,
            ["Left: 0 turns, 0 tokens, $0.0000, 0 seconds."],
        ),
    ],
)
def test_what_is_told_of_little(allowance: Allowance, spent: Completion, passed: float, told: list[str | None]) -> None:
    now = [0.0]
    meter = _clocked(allowance, now)
    found = []
    for _ in told:
        meter.charge(spent)
        now[0] += passed
        found.append(meter.notice())
    assert found == told


def test_a_meter_goes_on_from_what_was_spent_before() -> None:
    now, heard = [100.0], []
    before = Spent(turns=3, usage=Usage(10, 5), cost_usd=0.5, model_s=4.0, wall_s=30.0)
    meter = _clocked(Allowance(wall_s=60.0, cost_usd=1.0), now, before=before, charged=heard.append)
    now[0] += 20.0
    assert (meter.spent, heard) == (replace(before, wall_s=50.0), [])
    meter.charge(_completion(cost=0.25))
    assert heard == [Spent(4, Usage(110, 55), 0.75, 6.0, 50.0)]
    assert (meter.left.cost_usd, meter.left.wall_s, meter.left.turns, meter.left.tokens) == (0.25, 10.0, None, None)
    meter.excuse(15.0)
    assert meter.left.wall_s == 25.0
    now[0] += 30.0
    assert (meter.left.wall_s, meter.exhausted) == (0.0, "wall")


def test_what_is_left_is_never_less_than_nothing() -> None:
    meter = Meter(Allowance(turns=1, tokens=10, cost_usd=0.001))
    meter.charge(_completion())
    meter.charge(_completion())
    assert (meter.left.turns, meter.left.tokens, meter.left.cost_usd) == (0, 0, 0.0)
    assert meter.exhausted == "turns", "the first of the limits that are reached"


def test_a_cost_that_was_unknown_once_stays_so() -> None:
    meter = Meter(before=Spent(cost_usd=None))
    meter.charge(_completion(cost=1.0))
    assert meter.spent.cost_usd is None
    limited = Meter(Allowance(cost_usd=1.0), before=Spent(cost_usd=None))
    assert limited.left.cost_usd == 1.0


@pytest.mark.parametrize("limit", [1, 0.5])
def test_limits_that_are_taken(limit: float) -> None:
    for name in ("turns", "tokens", "cost_usd", "wall_s", "useless"):
        assert getattr(Allowance(**{name: limit}), name) == limit  # type: ignore[arg-type]
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="must be more than 0"):
            Allowance(useless=wrong)  # type: ignore[arg-type]
