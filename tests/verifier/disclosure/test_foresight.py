"""Detection of answers that know hidden data, at its bounds."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from openfingym.metrics.performance import RecordColumn
from openfingym.results.baselines import CHECKS
from openfingym_verifier.disclosure import foresight
from openfingym_verifier.disclosure.foresight import MAX_TAPES, BarGains, beyond_belief, t_statistic


def record(returns: np.ndarray) -> np.ndarray:
    """The record of an account [episodes, steps + 1, columns] with these returns [episodes, steps]."""
    made = np.ones((*returns.shape[:1], returns.shape[1] + 1, len(RecordColumn)))
    made[:, 1:, RecordColumn.EQUITY] = np.cumprod(1.0 + returns, axis=1)
    return made


def test_the_t_statistic_is_that_of_scipy_and_needs_enough_gains() -> None:
    from scipy.stats import ttest_1samp

    gains = np.random.default_rng(1).normal(0.1, 1.0, 100)
    assert t_statistic(gains) == pytest.approx(ttest_1samp(gains, 0.0).statistic)
    assert t_statistic(gains[1:]) == 0.0, "a hundred gains are the fewest that say anything"
    assert t_statistic(np.full(100, 0.25)) == 0.0


def test_gains_are_against_the_baseline_and_pooled_over_rollouts_of_the_same_bars() -> None:
    rng = np.random.default_rng(2)
    baseline = rng.normal(0.0, 0.01, (1, 400))
    noise = [rng.normal(0.0, 0.01, (1, 400)) for _ in range(2)]
    known = 0.003
    gains = BarGains()
    gains.add(b"t", record(baseline + known + noise[0]), record(baseline))
    alone = t_statistic(known + noise[0])
    assert gains.largest == pytest.approx(alone)
    gains.add(b"t", record(baseline + known + noise[1]), record(baseline))
    # The same bars twice: the gains are averaged, so that noise cancels and knowledge stays.
    pooled = t_statistic((2 * known + noise[0] + noise[1]) / 2)
    assert gains.largest == pytest.approx(max(alone, t_statistic(known + noise[1]), pooled))
    assert gains.largest == pytest.approx(pooled)
    # What was once so large stays known.
    gains.add(b"u", record(baseline - 0.01), record(baseline))
    assert gains.largest == pytest.approx(pooled)
    # Bars that were seen twice weigh no more than bars that were seen once.
    both, flat = BarGains(), record(np.zeros((1, 400)))
    one, other = known + noise[0], known + noise[1]
    for bars, returns in ((b"t", one), (b"t", one), (b"u", other)):
        both.add(bars, record(returns), flat)
    pooled = t_statistic(np.concatenate([one, other], axis=1))
    assert both.largest == pytest.approx(pooled)
    assert pooled > max(t_statistic(one), t_statistic(other))
    same = BarGains()
    same.add(b"t", record(baseline), record(baseline))
    assert same.largest == 0.0


def test_the_timing_is_suspicious_above_the_limit_alone() -> None:
    assert not BarGains(8.0).suspicious
    assert BarGains(np.nextafter(8.0, 9)).suspicious


def test_only_the_latest_tapes_are_remembered() -> None:
    gains, flat = BarGains(), record(np.zeros((1, 2)))
    for number in range(MAX_TAPES + 3):
        gains.add(bytes([number]), flat, flat)
    gains.add(bytes([10]), flat, flat)
    assert [key[0] for key in gains._tapes] == [*(n for n in range(3, MAX_TAPES + 3) if n != 10), 10]
    assert gains._tapes[bytes([10])][0] == 2


def test_after_ruin_an_account_returns_nothing() -> None:
    ruined = record(np.full((1, 3), -1.0))
    assert foresight._returns(ruined).tolist() == [[-1.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("relative", "best", "kind", "expected"),
    [
        (0.0624, 0.5, {}, True),
        (0.0625, 0.5, {}, False),
        (0.0624, 0.5, {"drawn": True}, False),
        (0.49, 2.0, {}, True),
        (0.5, 2.0, {}, False),
        (0.01, 0.2, {"drawn": True}, True),
        (0.011, 0.2, {"drawn": True}, False),
        (0.01, 0.1, {"drawn": True}, False),
        (0.01, None, {}, False),
        (0.01, 0.9, {"is_record": True}, False),
        (0.01, 0.9, {"past": True}, False),
    ],
)
def test_an_answer_beyond_belief(
    monkeypatch: pytest.MonkeyPatch, relative: float, best: float | None, kind: dict[str, bool], expected: bool
) -> None:
    made = SimpleNamespace(
        is_record=kind.get("is_record", False),
        drawn=kind.get("drawn", False),
        of_the_past=lambda _: kind.get("past", False),
    )
    monkeypatch.setattr(foresight, "kind_named", lambda _: made)
    contract: Any = object()
    assert beyond_belief(contract, relative, best) is expected


def test_the_best_recorded_is_that_of_the_task_and_its_data_without_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    def line(task: str, data: str, agent: str, relative: float | None) -> SimpleNamespace:
        return SimpleNamespace(task=task, data_kind=data, agent=agent, relative_total=relative)

    lines = [line("t", "real", "naive", 1.0), line("t", "real", "ridge", 0.8), line("t", "real", "broken", None)]
    lines += [
        line("t", "simulated", "ridge", 0.3),
        line("u", "real", "ridge", 0.2),
        line("t", "real", min(CHECKS), 0.01),
    ]
    monkeypatch.setattr(foresight, "recorded", lambda: lines)
    foresight.best_recorded.cache_clear()
    assert foresight.best_recorded("t", "real") == 0.8
    assert foresight.best_recorded("v", "real") is None
    foresight.best_recorded.cache_clear()
