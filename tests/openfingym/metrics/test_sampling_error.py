"""Standard errors and intervals against closed forms, and against the law they are drawn from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from openfingym.kinds import Fold, kind_named, score_with_replicates
from openfingym.kinds.forecast.contract import ForecastContract
from openfingym.kinds.trading.contract import TradingContract
from openfingym.metrics import METRICS, Truth, find_metric, relative
from openfingym.metrics.performance import RecordColumn
from openfingym.metrics.resampling import (
    GROUPS,
    REPLICATES,
    Resampling,
    block_bootstrap,
    block_length,
    grouped,
    stratified_bootstrap,
)
from openfingym.metrics.sampling_error import Replicates, SamplingError, sampling_error
from openfingym.metrics.scoring import Score, score
from openfingym.trading.redrawn_records import redrawn_record
from tests.openfingym.metrics.rules import Entry, Rules

OPTIONS = {"semantics": "log_return", "periods_per_year": 1.0, "tail_level": 0.05}
ERRORS = Rules((Entry("mae"), Entry("rmse")))
F1 = Rules(tuple(map(Entry, ("mae", "rmse", "delta_sharpe", "delta_var", "delta_es"))))


def contract(*, horizon: int = 5, pooled: bool = False) -> ForecastContract:
    return ForecastContract(
        kind="forecast", unit="fraction", lookback=10, horizon=1 if pooled else horizon, value_semantics="log_return",
        low=-100.0, high=100.0, pooled=pooled,
    )  # fmt: skip


def fold_of(y_true: np.ndarray, period: np.ndarray | None = None) -> Fold:
    n = len(y_true)
    arrays = {
        "y_true": y_true,
        "last_value": np.zeros((n, y_true.shape[2] if y_true.ndim == 3 else 1)),
        "benchmark": np.zeros_like(y_true),
        "period": np.arange(n) if period is None else period,
    }
    return Fold(slice(0, n), Truth(arrays, OPTIONS, 1))


def judged(
    fold: Fold, values: np.ndarray, baseline: np.ndarray, rules: Any = ERRORS, own: Any = None
) -> tuple[SamplingError, float]:
    own = own or contract(horizon=values.shape[1])
    design = kind_named(own).resampling(own, fold)
    scores = [score_with_replicates(own, rules, fold, one, design) for one in (values, baseline)]
    return sampling_error(rules, *scores), relative(rules, scores[0].metrics, scores[1].metrics)


def autoregressive(generator: np.random.Generator, n: int, shape: tuple[int, ...], phi: float) -> np.ndarray:
    """AR(1) along the first axis, of unit variance."""
    out = generator.standard_normal((n, *shape))
    for t in range(1, n):
        out[t] = phi * out[t - 1] + math.sqrt(1.0 - phi**2) * out[t]
    return out


def of_mean(design: Resampling, values: np.ndarray) -> float:
    replicates = Replicates.of(design, {})
    found = replicates.standard_error(np.array([values[draw].mean() for draw in design.draws]))
    assert found is not None
    return found


class TestClosedForms:
    def test_mean_of_independent_values(self) -> None:
        values = np.random.default_rng(3).standard_normal(400)
        design = stratified_bootstrap(np.zeros(400, dtype=np.int64), 0)
        assert design is not None
        assert of_mean(design, values) == pytest.approx(values.std(ddof=1) / 20.0, rel=0.15)

    def test_mean_of_a_few_values_is_not_underestimated(self) -> None:
        # The plain bootstrap is too small by sqrt((n - 1) / n), here 18 %; averaged over many samples that is plain to
        # see.
        generator = np.random.default_rng(4)
        found = []
        for seed in range(150):
            values = generator.standard_normal(3)
            design = stratified_bootstrap(np.zeros(3, dtype=np.int64), seed)
            assert design is not None
            found.append(of_mean(design, values) ** 2)
        assert math.sqrt(np.mean(found)) == pytest.approx(1.0 / math.sqrt(3.0), rel=0.1)

    def test_mean_of_a_series_that_depends_on_itself(self) -> None:
        # Var(mean) n -> (1 + phi) / (1 - phi), 3 at phi = 1/2, of which blocks of 13 see 3 (1 - O(1 / 13)); independent
        # draws see 1.
        found = []
        for seed in range(30):
            values = autoregressive(np.random.default_rng(seed), 2000, (), 0.5)
            design = block_bootstrap(len(values), seed)
            assert design is not None
            found.append(of_mean(design, values) ** 2 * len(values))
        assert 2.5 < np.mean(found) < 3.2

    def test_sharpe_ratio_of_an_account(self) -> None:
        # Lo 2002, eq. 9: sqrt((1 + SR^2 / 2) / n) for independent normal returns.
        generator = np.random.default_rng(5)
        returns = 0.002 + 0.01 * generator.standard_normal((14, 100))
        record = np.zeros((14, 101, 7))
        record[:, :, RecordColumn.EQUITY] = 1000.0 * np.cumprod(
            np.concatenate([np.ones((14, 1)), 1.0 + returns], axis=1), axis=1
        )
        own = TradingContract(
            kind="trading", symbols=("a",), lookback=30, steps=100, initial_cash=1000.0, unit="cash", bars_per_year=1.0
        )
        fold = Fold(slice(0, 14), Truth({}, {"periods_per_year": 1.0}, 1))
        rules = Rules((Entry("sharpe_ratio"), Entry("total_return"), Entry("log_growth")))
        error, _ = judged(fold, record, record, rules, own)
        sharpe = returns.mean() / returns.std(ddof=1)
        assert error.standard_errors["sharpe_ratio"] == pytest.approx(
            math.sqrt((1.0 + sharpe**2 / 2.0) / returns.size), rel=0.2
        )
        # The mean of 14 growths of 100 steps: each has variance ((1 + m)^2 + s^2)^100 - (1 + m)^200.
        spread = math.sqrt((1.002**2 + 0.01**2) ** 100 - 1.002**200) / math.sqrt(14.0)
        assert error.standard_errors["total_return"] == pytest.approx(spread, rel=0.25)
        assert error.relative_interval == (1.0, 1.0)

    def test_auroc(self) -> None:
        # Hanley and McNeil 1982, for scores of two normal laws; DeLong's variance is its limit.
        generator = np.random.default_rng(6)
        labels = np.repeat([0, 1], (900, 100))
        scores = generator.standard_normal(1000) + labels
        design = stratified_bootstrap(labels, 0)
        assert design is not None
        auroc = find_metric("auroc").function
        found = Replicates.of(design, {}).standard_error(
            np.array([auroc(labels[draw], scores[draw]) for draw in design.draws])
        )
        above = scores[labels == 1][:, None] > scores[labels == 0]
        delong = above.mean(axis=1).var(ddof=1) / 100 + above.mean(axis=0).var(ddof=1) / 900
        assert found == pytest.approx(math.sqrt(delong), rel=0.15)

    def test_errors_of_a_cross_section_go_together(self) -> None:
        # 60 periods of 50 series with one shock a period: there are 60 observations, not 3,000.
        generator = np.random.default_rng(7)
        shock = np.repeat(generator.standard_normal(60), 50)
        errors = shock + 0.1 * generator.standard_normal(3000)
        fold = fold_of(np.zeros(3000), np.repeat(np.arange(60), 50))
        error, _ = judged(
            fold, errors.reshape(-1, 1, 1), errors.reshape(-1, 1, 1), Rules((Entry("mse"),)), contract(pooled=True)
        )
        by_period = (errors**2).reshape(60, 50).mean(axis=1)
        by_row = (errors**2).std(ddof=1) / math.sqrt(3000)
        assert error.standard_errors["mse"] == pytest.approx(by_period.std(ddof=1) / math.sqrt(60), rel=0.3)
        assert error.standard_errors["mse"] > 4.0 * by_row


class TestCoverage:
    @pytest.mark.parametrize(("windows", "phi"), [(20, 0.0), (20, 0.5), (30, 0.0), (30, 0.5)])
    def test_intervals_hold_the_true_relative_loss(self, windows: int, phi: float) -> None:
        """Errors of agent and baseline are AR(1) from window to window and go together; the ratio of both errors is 0.9
        by law."""
        held = at = 0
        for seed in range(300):
            generator = np.random.default_rng([seed, windows])
            shared, own, base = autoregressive(generator, windows, (3, 5, 2), phi).transpose(1, 0, 2, 3)
            volatility = np.exp(0.4 * autoregressive(generator, windows, (1, 1), phi))
            agent, baseline = (
                volatility * scale * (0.8 * shared + 0.6 * one) for scale, one in ((0.9, own), (1.0, base))
            )
            error, rank = judged(fold_of(np.zeros_like(agent)), agent, baseline)
            assert error.relative_interval is not None
            assert error.relative_standard_error is not None
            low, high = error.relative_interval
            assert math.sqrt(low * high) == pytest.approx(rank)
            held += low <= 0.9 <= high
            at += 1
        assert 0.90 <= held / at <= 0.98

    def test_totals_too(self) -> None:
        held = 0
        truth = math.sqrt(2.0 / math.pi) + 1.0  # MAE and RMSE of a standard normal error
        for seed in range(300):
            errors = np.random.default_rng(seed).standard_normal((20, 5, 2))
            error, _ = judged(fold_of(np.zeros_like(errors)), errors, errors)
            assert error.total_interval is not None
            held += error.total_interval[0] <= truth <= error.total_interval[1]
        assert 0.90 <= held / 300 <= 0.98


class TestReplicates:
    def test_all_at_once_is_the_same_as_one_after_the_other(self) -> None:
        generator = np.random.default_rng(8)
        y_true, y_pred = 0.01 * generator.standard_normal((2, 30, 10, 8))
        y_true[:, :, 3], y_pred[:, :, 2] = 0.0, 0.003  # a flat series, a flat forecast, and ties at the quantile
        y_pred[:, :5, 4] = -0.01
        fold, own = fold_of(y_true), contract(horizon=10)
        design = kind_named(own).resampling(own, fold)
        assert design is not None
        assert {metric.name for metric in METRICS.values() if metric.redrawn} >= {entry.name for entry in F1.metrics}
        found = score_with_replicates(own, F1, fold, y_pred, design).replicates
        assert found is not None
        for number in range(0, REPLICATES, 9):
            drawn, values = kind_named(own).resampled(own, fold, y_pred, design.draws[number])
            expected = score(F1, drawn.truth, {"y_pred": values}).metrics
            assert {name: results[number] for name, results in found.metrics.items()} == pytest.approx(
                expected, rel=1e-9
            )

    def test_the_baseline_itself_is_certain(self) -> None:
        errors = np.random.default_rng(9).standard_normal((20, 5, 2))
        error, rank = judged(fold_of(np.zeros_like(errors)), errors, errors, F1)
        assert (rank, error.relative_interval, error.relative_standard_error) == (1.0, (1.0, 1.0), 0.0)
        assert error.total_interval is not None
        assert error.total_interval[0] < error.total_interval[1]

    def test_a_perfect_answer_is_certain(self) -> None:
        truth, noise = np.random.default_rng(10).standard_normal((2, 20, 5, 2))
        error, rank = judged(fold_of(truth), truth, truth + noise)
        assert error.relative_interval == pytest.approx((rank, rank))
        assert rank == pytest.approx(0.01)

    def test_what_too_many_replicates_refuse_has_no_error(self) -> None:
        results = np.random.default_rng(11).standard_normal(100)
        few, many = results.copy(), results.copy()
        few[:5], many[:6] = np.nan, np.nan
        design = Replicates({}, 1.0, 2.0, True, 9)
        assert design.standard_error(few) == pytest.approx(results[5:].std(ddof=1))
        assert design.standard_error(many) is None
        assert design.standard_error(np.array([0.0, 1e300, -1e308, 1e308])) is None
        rules = Rules((Entry("mae"), Entry("mse", 1.0, 0.0)))
        there = Replicates({"mae": results**2, "mse": many}, 1.0, 2.0, True, 9)
        whole = Score(1.0, {"mae": 1.0, "mse": 1.0}, there)
        error = sampling_error(rules, whole, whole)
        assert set(error.standard_errors) == {"mae"}
        assert error.total_interval is None  # the paper's total has both
        assert error.relative_interval == (1.0, 1.0)  # the relative one is of the first alone

    def test_too_few_windows_say_nothing(self) -> None:
        errors = np.ones((2, 5, 2))
        assert judged(fold_of(np.zeros_like(errors)), errors, errors)[0] == SamplingError()

    def test_a_period_drawn_twice_is_two(self) -> None:
        own, fold = contract(pooled=True), fold_of(np.arange(12.0), np.repeat([7, 8, 9], 4))
        drawn, values = kind_named(own).resampled(own, fold, np.arange(12.0), np.array([2, 0, 2]))
        moved = drawn.truth.arrays["y_true"].tolist()  # type: ignore[union-attr]
        assert values.tolist() == [8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11] == moved
        assert drawn.truth.arrays["period"].tolist() == [0] * 4 + [1] * 4 + [2] * 4  # type: ignore[union-attr]

    def test_they_travel_as_json(self) -> None:
        import json

        sent = Replicates({"mae": np.array([0.1, np.nan, 1.0 / 3.0])}, 1.1, 2.2, False, 9)
        back = Replicates.from_dict(json.loads(json.dumps(sent.to_dict())))
        assert np.array_equal(back.metrics["mae"], sent.metrics["mae"], equal_nan=True)
        assert (back.scale, back.freedom, back.full_size, back.units) == (1.1, 2.2, False, 9)


class TestDesigns:
    def test_blocks_are_of_neighbours_and_wrap(self) -> None:
        design = block_bootstrap(30, 0)
        assert design is not None
        assert block_length(30) == 3
        steps = np.diff(np.stack(design.draws), axis=1).reshape(REPLICATES, -1)
        within = steps[:, [n for n in range(29) if n % 3 != 2]]
        assert set(np.unique(within)) == {1, -29}
        counts = design.counts(30)
        assert (counts.sum(axis=1) == 30).all()
        # Circular: no unit, at an end or not, is drawn less often than another.
        assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-4

    def test_what_overlaps_is_in_one_block(self) -> None:
        design = block_bootstrap(100, 0, shortest=20)
        assert design is not None
        assert design.freedom == 4.0
        assert design.reach == pytest.approx(stats.t.ppf(0.975, 4.0))

    def test_no_replicate_lacks_a_class(self) -> None:
        labels = np.array([0] * 200 + [1] * 5)
        design = stratified_bootstrap(labels, 0)
        assert design is not None
        assert {int(labels[draw].sum()) for draw in design.draws} == {5}
        assert design.freedom == 4.0
        assert stratified_bootstrap(np.array([0] * 200 + [1] * 2), 0) is None

    def test_groups_are_scored_alone_or_left_out(self) -> None:
        alone, out = grouped(400, 20), grouped(60, 20)
        assert alone is not None
        assert out is not None
        assert not alone.full_size
        assert sorted(np.concatenate(alone.draws)) == list(range(400))
        assert out.full_size
        assert np.bincount(np.concatenate(out.draws)).tolist() == [GROUPS - 1] * 60
        assert grouped(20, 20) is None
        values = np.random.default_rng(12).standard_normal(400)
        # Of a mean both are the same by algebra: the deviation of group means over the root of their number.
        rest = Resampling(
            tuple(np.setdiff1d(np.arange(400), draw) for draw in alone.draws), 7.0 / math.sqrt(8.0), 7.0, 2.4, 400
        )
        assert of_mean(rest, values) == pytest.approx(of_mean(alone, values))


class TestGeneration:
    @pytest.mark.parametrize("windows", [60, 320])
    def test_errors_of_distances_are_those_of_fresh_draws(self, windows: int) -> None:
        """Two-sample distances, some of them far from linear: never far too small; measured 0.9 to 1.9 times what fresh
        draws show."""
        names = ("covariance_frobenius", "autocorrelation_stationary", "correlation_l1", "sig_w1")
        results: dict[str, list[float]] = {name: [] for name in names}
        squares: dict[str, list[float]] = {name: [] for name in names}
        design = grouped(windows, 20)
        assert design is not None
        for seed in range(60):
            generator = np.random.default_rng(seed)
            real = np.cumsum(generator.standard_normal((windows, 8, 2)), axis=1)
            fake = 1.2 * np.cumsum(generator.standard_normal((windows, 8, 2)), axis=1)
            for name in names:

                def of(rows: Any, name: str = name, real: np.ndarray = real, fake: np.ndarray = fake) -> float:
                    return find_metric(name).compute({"real": real[rows], "fake": fake[rows]}, 0, OPTIONS)

                results[name].append(of(slice(None)))
                if seed < 25:
                    error = Replicates.of(design, {}).standard_error(np.array([of(draw) for draw in design.draws]))
                    assert error is not None
                    squares[name].append(error**2)
        for name in names:
            assert 0.7 < math.sqrt(np.mean(squares[name])) / np.std(results[name], ddof=1) < 2.2, name

    def test_small_replicates_are_set_in_relation_to_the_level_of_the_fold(self) -> None:
        # Batches of 1/8 of the windows have losses about sqrt(8) times as large, in the baseline as in the answer.
        batch, base = np.array([2.0, 3.0, 4.0, 3.0] * 2), np.full(8, 5.0)
        own = Score(1.0, {"mae": 1.0}, Replicates({"mae": batch}, 0.5, 2.0, False, 8))
        other = Score(2.0, {"mae": 2.0}, Replicates({"mae": base}, 0.5, 2.0, False, 8))
        error = sampling_error(Rules((Entry("mae"),)), own, other)
        spread = 0.5 * batch.std(ddof=1)
        reach = stats.t.ppf(0.975, 2.0) * spread
        assert error.relative_standard_error == pytest.approx(spread)
        assert error.relative_interval == pytest.approx((0.5 * math.exp(-reach), 0.5 * math.exp(reach)))
        assert error.total_interval == pytest.approx((max(1.0 - reach, 0.0), 1.0 + reach))


class TestRecords:
    def test_steps_in_their_order_are_the_record(self) -> None:
        generator = np.random.default_rng(13)
        record = generator.uniform(1.0, 2.0, (3, 11, 7))
        assert redrawn_record(record, np.arange(30)) == pytest.approx(record)

    def test_ruin_stays(self) -> None:
        record = np.ones((2, 4, 7))
        record[
            0, 2:, [RecordColumn.EQUITY, RecordColumn.TRADED, RecordColumn.COST, RecordColumn.LONG, RecordColumn.SHORT]
        ] = 0.0
        drawn = redrawn_record(record, np.array([3, 1, 4, 5, 0, 3]))
        assert drawn[0, :, RecordColumn.EQUITY].tolist() == [1.0, 1.0, 0.0, 0.0]
        assert drawn[0, 3, RecordColumn.LONG] == 0.0
        assert drawn[1, :, RecordColumn.EQUITY].tolist() == [1.0] * 4
