"""The trading metrics as a scoring table uses them."""

import math

import numpy as np
import pytest

from openfingym.errors import SubmissionError
from openfingym.metrics import METRICS, Truth, performance, relative, score
from openfingym.metrics.aggregation import relative_loss
from openfingym.metrics.cases import CASES
from tests.openfingym.metrics.rules import Entry, Rules

NAMES = [name for name, metric in METRICS.items() if metric.problem == "trading"]
ANNUAL = ("sharpe_ratio", "sortino_ratio", "calmar_ratio", "turnover")


TABLE = Rules(
    tuple(
        Entry(name, 0.5 if name in {"sharpe_ratio", "total_return"} else 0.0, 1.0 if name == "log_growth" else None)
        for name in NAMES
    ),
    periods_per_year=52.0,
)
TRUTH = Truth({}, {"periods_per_year": 52.0})


def case():
    return CASES["trading"](np.random.default_rng(0))


def test_all_of_them_are_there():
    assert NAMES == [
        "pnl",
        "total_return",
        "log_growth",
        "sharpe_ratio",
        "sortino_ratio",
        "max_drawdown",
        "calmar_ratio",
        "turnover",
        "hit_rate",
        "exposure",
        "cost_paid",
    ]


def test_a_table_scores_a_record_without_any_truth():
    answer = case().ladder[0]
    got = score(TABLE, TRUTH, answer)
    assert list(got.metrics) == NAMES
    for name in NAMES:
        function = getattr(performance, name)
        assert got.metrics[name] == (function(answer["record"], 52.0) if name in ANNUAL else function(answer["record"]))
    assert got.total == pytest.approx(
        -0.5 * got.metrics["total_return"] - 0.5 * max(-10.0, min(10.0, got.metrics["sharpe_ratio"]))
    )


@pytest.mark.parametrize(
    "name", ["pnl", "total_return", "log_growth", "sharpe_ratio", "sortino_ratio", "max_drawdown", "calmar_ratio"]
)
def test_worse_and_worse_accounts_score_worse_and_worse(name):
    question = case()
    values = [score(TABLE, TRUTH, answer).metrics[name] for answer in (question.perfect, *question.ladder)]
    assert values == sorted(values, reverse=METRICS[name].direction == "higher")
    assert len(set(values[:3])) == 3


def test_the_relative_total_ranks_by_growth_alone():
    question = case()
    results = [score(TABLE, TRUTH, answer).metrics for answer in (question.perfect, *question.ladder)]
    middle = results[1]
    totals = [relative(TABLE, values, middle) for values in results]
    assert totals[1] == 1.0
    assert totals == sorted(totals)
    # A currency of a millionth the size changes the profit and nothing that ranks.
    cents = score(TABLE, TRUTH, {"record": question.perfect["record"] * np.array([1e6] * 5 + [1.0] * 2)}).metrics
    assert cents["pnl"] == pytest.approx(1e6 * results[0]["pnl"])
    assert relative(TABLE, cents, middle) == pytest.approx(totals[0])
    # The relative total is the wealth of the baseline over that of the account, an episode.
    growth = [values["log_growth"] for values in results]
    assert totals == pytest.approx([math.exp(growth[1] - own) for own in growth])


def test_doing_nothing_has_no_drawdown_and_so_drawdown_does_not_rank():
    cash = score(TABLE, TRUTH, {"record": case().rivals[0]["record"]}).metrics
    assert cash["max_drawdown"] == cash["log_growth"] == 0.0
    only = Rules((Entry("log_growth", 0.5), Entry("max_drawdown", 0.5)))
    worse = score(only, TRUTH, case().ladder[0])
    better = score(only, TRUTH, case().rivals[0])
    assert relative(only, better.metrics, worse.metrics) == pytest.approx(
        math.exp(worse.metrics["log_growth"] - better.metrics["log_growth"])
    )


def test_a_profit_in_cash_has_a_finite_loss():
    assert relative_loss("pnl", -1e9) > relative_loss("pnl", -1.0) > relative_loss("pnl", 1e9) == 0.0
    assert math.isfinite(relative_loss("pnl", -1e9))


@pytest.mark.parametrize("record", [np.ones((2, 3)), np.ones((2, 3, 8)), -np.ones((2, 3, 7)), np.zeros((2, 3, 7))])
def test_what_is_no_record_is_refused(record):
    with pytest.raises(SubmissionError, match="record"):
        score(TABLE, TRUTH, {"record": record})
