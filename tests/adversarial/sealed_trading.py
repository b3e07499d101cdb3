"""Sealed seasons of a trading task, whose episodes are played by the engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from openfingym.kinds.bars import episodes as bar_episodes
from openfingym.kinds.trading.environment import TAIL, open_account
from openfingym.metrics.performance import WEALTH_FLOOR, RecordColumn
from openfingym.trading.compiled.account import CompiledAccount
from openfingym.trading.session import Session
from openfingym_verifier.scoring.truth import HiddenTask
from tests.adversarial.sealed_season import Metrics, SealedSeason, Values, placed, sizes

BLOCK = 20
"""Steps of a trading episode for which weights stay the same."""


class SealedTrading(SealedSeason):
    """Bars whose moves keep their sizes and their order, up or down at random: those of the whole market about the
    drift at which holding everything grows best, and those of each stock beside it about none.

    An entry is weights of stocks for each block of :data:`BLOCK` steps, NaN where nothing is traded:
    [episodes, blocks, stocks].
    """

    def __init__(self, task: HiddenTask, bars: Values, known: Values) -> None:
        design = task.grader.design
        assert design is not None
        super().__init__(task, design)
        self.hidden = {**task.hidden, "private_bars": bars}
        self._known = known
        contract = task.spec.contract
        self._accounts = [
            open_account(contract, bar_episodes.window(contract, self.hidden, number, TAIL))
            for number in range(task.manifest.n_public, task.manifest.n_public + task.manifest.n_private)
        ]

    @classmethod
    def drawn(cls, task: HiddenTask, rng: np.random.Generator, signal: float = 0.0) -> SealedTrading:
        """See the base; the signal is the drift of a block that is known, in usual moves of a block."""
        bars, contract = np.asarray(task.hidden["private_bars"], dtype=np.float64), task.spec.contract
        closes = bars[:, :, 3]
        # Open, high, low and close of each bar beside the close before it.
        moves = np.log(bars[1:, :, :4] / closes[:-1, :, None])
        market = moves.mean(axis=1, keepdims=True)
        own, days = moves - market, len(moves)
        market, own = (part * rng.choice([-1.0, 1.0], (days, 1, 1)) for part in (market, own))
        spread = own[:, :, 3].std(axis=0)
        # Each block of an episode has a drift of its own, which comes in overnight.
        known = rng.standard_normal((task.manifest.n_private, contract.steps // BLOCK, closes.shape[1]))
        known -= known.mean(axis=2, keepdims=True)
        daily = np.zeros((days, closes.shape[1]))
        first = contract.lookback - 1
        flat = np.repeat(known.reshape(-1, closes.shape[1]), BLOCK, axis=0)[: days - first]
        daily[first : first + len(flat)] = signal * spread / np.sqrt(BLOCK) * flat
        # Half the variance, at which all of an account that is held in the market grows best.
        drift = 0.5 * market[:, 0, 3].var()
        drawn = market - market[:, :, 3:].mean() + own - own[:, :, 3:].mean(axis=0) + drift + daily[:, :, None]
        # Extremes of what was turned round change places.
        drawn[:, :, 1], drawn[:, :, 2] = drawn.max(axis=2), drawn.min(axis=2)
        levels = np.vstack([np.zeros((1, closes.shape[1])), drawn[:, :, 3].cumsum(axis=0)])
        new = bars.copy()
        new[1:, :, :4] = closes[0][None, :, None] * np.exp(levels[:-1, :, None] + drawn)
        return cls(task, new, known)

    @classmethod
    def given(cls, task: HiddenTask) -> SealedTrading:
        contract = task.spec.contract
        shape = (task.manifest.n_private, contract.steps // BLOCK, len(contract.symbols))
        return cls(task, np.asarray(task.hidden["private_bars"]), np.zeros(shape))

    @property
    def hidden_task(self) -> HiddenTask:
        baseline = placed(self.task, self.played(self.baseline[0]))
        return replace(self.task, hidden=self.hidden, grader=replace(self.task.grader, baseline=baseline))

    @property
    def baseline(self) -> Values:
        plan = np.full((1, *self._known.shape), np.nan)
        plan[:, :, 0] = 1.0 / plan.shape[3]
        return plan

    @property
    def honest(self) -> Values:
        """Twice as much of a stock as of each other where its drift is one usual move more."""
        return self._weights(1.0 + self._known[None])

    def blind(self, rng: np.random.Generator, entries: int) -> Values:
        """Stocks that are preferred for a block, for an episode or for good, or a part of the account held in cash, in
        turn.
        """
        shape = (entries, *self._known.shape)
        ways = [rng.standard_normal((entries, *size, shape[3])) for size in (shape[1:3], (shape[1], 1), (1, 1))]
        turn = np.arange(entries)[:, None, None, None] % 4
        strength = 3.0 * sizes(rng, entries, 3)
        plans = self._weights(1.0 + strength * np.select([turn == n for n in range(3)], ways, 0.0))
        invested = 1.0 - rng.random((entries, *shape[1:3], 1)) * sizes(rng, entries, 3)
        return np.where(turn == 3, plans * invested, plans)

    def _weights(self, preferred: Values) -> Values:
        """Weights in proportion to numbers, none of them below nothing; equal ones where all are."""
        liked = np.maximum(preferred, 0.0)
        total = liked.sum(axis=-1, keepdims=True)
        return np.where(total > 0.0, liked / np.where(total > 0.0, total, 1.0), 1.0 / preferred.shape[-1])

    def whole(self, answer: Values) -> Values:
        return super().whole(self.played(answer))

    def played(self, plan: Values) -> Values:
        """The account's records of an entry, [episodes, steps + 1, 7]."""
        records = []
        for session, blocks in zip(self._accounts, plan, strict=True):
            weights = np.full((session.steps, blocks.shape[1]), np.nan)
            weights[::BLOCK] = blocks
            records.append(record_of(session, weights))
        return np.stack(records)

    def submitted(self, entries: Values) -> Values:
        return np.stack([self.played(plan) for plan in entries])

    def measured(self, answers: Values, counts: Values) -> Metrics:
        equity = answers[:, :, :, RecordColumn.EQUITY]
        steps = np.diff(np.log(equity), axis=2).reshape(len(answers), -1)
        assert (equity[:, :, -1] > WEALTH_FLOOR * equity[:, :, 0]).all()
        weights = np.vstack([np.ones(steps.shape[1]), counts])
        return {"log_growth": steps @ weights.T / equity.shape[1]}


def record_of(session: Session, weights: Values) -> Values:
    """The account's record of an episode with given weights.

    Args:
        session: the account before its first decision; it does not move.
        weights: target weights of each step, float64[steps, stocks]; NaN where nothing is traded.
    """
    cash = session.simulator.cash
    account = CompiledAccount(session.bars, session.simulator.market, cash=cash, first=session.first)
    starts = np.zeros(session.steps + 1, np.int64)
    rows = account.run_arrays(np.zeros((0, 8)), starts, weights, ~np.isnan(weights[:, 0]))
    return np.vstack([session.record[:1], rows])
