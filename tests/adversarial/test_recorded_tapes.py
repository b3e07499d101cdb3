"""Whoever wrote down one rollout's hidden bars knows nothing of the next one's.

The attack: play a rollout without acting and keep every bar that is shown; in the next rollout of the same task, trade
with those bars in hand. On given tapes it wins whatever there is to win, which is what shows that it is one.

Before there were fresh tapes and twins of real bars, it gained 99 % in the second rollout; now it is below 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.kinds.rolling import RollingContract
from openfingym.kinds.trading.contract import TradingContract
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.trading.hindsight import hindsight_weights
from openfingym.verifiers.client import EpisodeStep, VerifiedResult, VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.marks import SOCKETS_DROPPED
from tests.sweeps import ALL

TRADED = 2
"""Private episodes that are traded; those left out count as if nothing were done in them."""
TRIED = 3 if ALL else 2
"""Rollouts on fresh tapes, which are judged together."""
TRADING = {"crypto-trading": "fresh", "equity-trading": "twin"}
ROLLING = {"equity-rolling-forecast": "twin"}
if ALL:  # its many bars take a minute
    ROLLING |= {"crypto-rolling-forecast": "fresh"}
pytestmark = SOCKETS_DROPPED

Recording = list[NDArray[np.float64]]
"""The bars of each private episode from its first origin on, float64[1 + steps, S, 5]."""


@pytest.fixture
def package(name: str) -> BuiltPackage:
    return build(load_task(name))


@pytest.fixture
def client(package: BuiltPackage) -> Iterator[VerifierClient]:
    """Of a verifier that nobody has played on."""
    with (
        EmbeddedVerifier.start([package]) as embedded,
        VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as opened,
    ):
        yield opened


def last_bar(at: EpisodeStep) -> NDArray[np.float64]:
    return np.array(at.observation["bars"], dtype=np.float64)[-1]


def play(
    client: VerifierClient, package: BuiltPackage, plan: list[list[object]] | None, *, fresh: bool
) -> tuple[VerifiedResult, Recording]:
    """A rollout of the first private episodes, with these actions or none, and what was seen in it."""
    ticket = client.create_rollout(package.manifest.name, fresh=fresh)
    seen: Recording = []
    for number in range(TRADED if package.task.spec.contract.kind == "trading" else package.manifest.n_private):
        at = client.start_episode(ticket.token)
        bars = [last_bar(at)]
        while not at.done:
            action = None if plan is None else plan[number][at.step]
            at = client.step(ticket.token, at.episode, at.step + 1, action)
            bars.append(last_bar(at))
        seen.append(np.array(bars))
    return client.finalize(ticket.rollout_id), seen


def trades(contract: TradingContract, recording: Recording) -> list[list[object]]:
    """The best weights of every step, were the next episodes the recorded ones."""
    cost = (contract.fee_bps + contract.slippage_bps + contract.half_spread_bps) * 1e-4
    plan: list[list[object]] = []
    for bars in recording:
        live = bars[1:]
        weights = hindsight_weights(
            live[:, :, 0], live[-1, :, 3], cost=cost, short=min(contract.max_short, 1.0), worst=False
        )
        plan.append([{"weights": row} for row in weights.tolist()])
    return plan


@pytest.mark.parametrize(("name", "tape"), TRADING.items())
def test_trading_on_recorded_bars(client: VerifierClient, package: BuiltPackage, tape: str) -> None:
    contract = package.task.spec.contract
    assert isinstance(contract, TradingContract)
    _, recording = play(client, package, None, fresh=False)
    known, again = play(client, package, trades(contract, recording), fresh=False)
    np.testing.assert_array_equal(again, recording)
    assert known.tape == "given"
    assert known.relative_total is not None
    # Two of crypto's fourteen private episodes are traded, so that most of the score is that of doing nothing.
    assert known.relative_total < 0.9, "the attack wins nothing where it must, so that nothing is shown"
    returns, relative = [], []
    for _ in range(TRIED):
        found, other = play(client, package, trades(contract, recording), fresh=True)
        assert found.tape == tape
        assert not any(np.array_equal(one, two) for one, two in zip(other, recording, strict=True))
        assert found.relative_total is not None
        returns.append(found.metrics["total_return"])
        relative.append(found.relative_total)
    assert np.mean(returns) < 0.05 * known.metrics["total_return"]
    # One rollout may be lucky (equity-trading: 1.25 on average, with a standard deviation of 0.23): nearer to 1 than to
    # the attack.
    assert np.mean(relative) > (1.0 + known.relative_total) / 2


@pytest.mark.parametrize(("name", "tape"), ROLLING.items())
def test_forecasting_recorded_bars(client: VerifierClient, package: BuiltPackage, tape: str) -> None:
    contract = package.task.spec.contract
    assert isinstance(contract, RollingContract)

    def forecasts(recording: Recording) -> list[list[object]]:
        """The returns of the recorded bars; the last ones, of which the outcome was not shown, are zero."""
        plan: list[list[object]] = []
        for bars in recording:
            returns = np.zeros((contract.steps, len(contract.symbols)))
            moves = np.log(bars[contract.horizon :, :, 3] / bars[: -contract.horizon, :, 3])[: contract.steps]
            returns[: len(moves)] = moves
            plan.append([{"predictions": row} for row in returns.tolist()])
        return plan

    _, recording = play(client, package, None, fresh=False)
    known, _ = play(client, package, forecasts(recording), fresh=False)
    found, _ = play(client, package, forecasts(recording), fresh=True)
    assert (known.tape, found.tape) == ("given", tape)
    assert known.relative_total is not None
    assert found.relative_total is not None
    assert known.relative_total < 0.3
    assert found.relative_total > 1.0
