"""Detection of answers that know hidden data.

Of a traded tape, whether an account gained on the baseline's so steadily, bar by bar, that it must have known the bars:
a t statistic beyond what any strategy reaches. Of any other answer, whether it is as far ahead of the best recorded
baseline as only labels bring it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds import kind_named
from openfingym.metrics.aggregation import SMALLEST_RATIO
from openfingym.metrics.performance import RecordColumn
from openfingym.results.baselines import CHECKS, recorded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task.contracts import Contract

TIMING_LIMIT = 8.0
"""t statistic of the gains on the baseline; a Sharpe ratio of 3 above it gives 5 in three years of days, and 1.7 in
2,800 hours."""
FEWEST_STEPS = 100
"""Bars below which a t statistic says nothing."""
MAX_TAPES = 64
"""Tapes whose gains are remembered, the latest ones."""
BEST_POWER, BEST_SHARE = 3.0, 0.5
"""An answer is beyond belief if its relative total is below this share of the best recorded one's to this power."""
ATTAINABLE = 0.1
"""Best recorded relative total below which an answer without any error is no surprise."""


@dataclass
class BarGains:
    """What a principal's accounts gained on the baseline's at each bar: in one rollout, and averaged over those that
    saw the same bars.

    Averaged, since the same luck on the same bars is no more evidence the second time, while knowledge that is used at
    a few bars a rollout comes out of the noise.
    """

    largest: float = 0.0
    """The largest t statistic so far."""
    _tapes: OrderedDict[bytes, tuple[int, NDArray[np.float64]]] = field(default_factory=OrderedDict)
    """By digest of the bars: the number of rollouts on them, and the sum of their gains, [episodes, steps]."""

    def add(self, tape: bytes, record: NDArray[np.float64], baseline: NDArray[np.float64]) -> None:
        """Record the private episodes of a rollout.

        Args:
            tape: digest of the bars.
            record: float64[episodes, steps + 1, columns], the account's record.
            baseline: float64 of the same shape, the record of the baseline's account on the same bars.
        """
        gained = _returns(record) - _returns(baseline)
        count, total = self._tapes.pop(tape, (0, np.zeros_like(gained)))
        self._tapes[tape] = (count + 1, total + gained)
        if len(self._tapes) > MAX_TAPES:
            self._tapes.popitem(last=False)
        pooled = np.concatenate([(total / count).reshape(-1) for count, total in self._tapes.values()])
        self.largest = max(self.largest, t_statistic(gained), t_statistic(pooled))

    @property
    def suspicious(self) -> bool:
        """Whether the timing is better than any strategy's without knowledge of the bars."""
        return self.largest > TIMING_LIMIT


def t_statistic(gains: NDArray[np.float64]) -> float:
    """The t statistic of the mean gain per bar; 0 where there are too few gains, or all are equal."""
    deviation = float(gains.std(ddof=1)) if gains.size >= FEWEST_STEPS else 0.0
    return float(gains.mean()) / deviation * gains.size**0.5 if deviation > 0.0 else 0.0


def beyond_belief(contract: Contract, relative: float, best: float | None) -> bool:
    """Whether a private relative total is one that knowing the labels gives, and no skill seen so far comes near.

    Args:
        contract: the contract of the task.
        relative: the relative total of the answer, in [0.01, 100].
        best: relative total of the best recorded baseline; None where none is recorded, so that nothing can be said.
    """
    kind = kind_named(contract)
    # The ratios of an account are moved by luck as much as by skill; it is judged by its timing. Where what is asked
    # was known already, a perfect answer is skill.
    if best is None or kind.is_record or kind.of_the_past(contract):
        return False
    # Each metric's ratio is clipped from below, so that this is an answer without any error.
    perfect = relative <= SMALLEST_RATIO * (1.0 + 1e-6) and best > ATTAINABLE
    # Gaps between statistics of drawn samples come near zero by luck.
    return perfect or (not kind.drawn and relative < BEST_SHARE * min(best, 1.0) ** BEST_POWER)


@functools.cache
def best_recorded(task: str, data_kind: str) -> float | None:
    """The best relative total of a recorded baseline; None where none is recorded.

    Args:
        task: name of the task.
        data_kind: kind of the task's data, such as ``real``.

    Raises:
        StoreError: the record of baselines cannot be read.
    """
    # Without the agents that check a task: among them is the oracle, which knows the labels.
    rows = [row for row in recorded() if row.task == task and row.data_kind == data_kind and row.agent not in CHECKS]
    return min((row.relative_total for row in rows if row.relative_total is not None), default=None)


def _returns(record: NDArray[np.float64]) -> NDArray[np.float64]:
    """Simple returns of equity [episodes, steps]; 0 after ruin."""
    equity = record[:, :, RecordColumn.EQUITY]
    before = equity[:, :-1]
    change: NDArray[np.float64] = np.divide(equity[:, 1:], before, out=np.ones_like(before), where=before > 0.0) - 1.0
    return change
