"""An account behind the verifier is the account that the same actions make in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import SubmissionError, VerifierError
from openfingym.kinds import score_fold, sequential_kind
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.task.episodes import Step, SteppedEpisode
from openfingym.verifiers.client import EpisodeStep, VerifierClient
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.marks import SOCKETS_DROPPED

TASK = "equity-trading"
SYMBOLS = ("aapl", "ibm", "msft")
pytestmark = SOCKETS_DROPPED


@pytest.fixture(scope="module")
def package(store_home: Path) -> BuiltPackage:
    return build(load_task(TASK))


@pytest.fixture(scope="module")
def running(package: BuiltPackage, serve: Callable[..., Any]) -> Iterator[Any]:
    with serve([package]) as server:
        yield server


def local(package: BuiltPackage, number: int) -> SteppedEpisode:
    """A private episode, played here."""
    spec = package.task.spec
    return sequential_kind(spec.contract).episode(
        spec, package.array, package.read_truth(), package.manifest.n_public + number
    )


def random_action(random: np.random.Generator, close: list[float]) -> Any:
    """Anything an agent may ask for, sensible or not, in the form that the task states."""
    kind = random.integers(6)
    if kind == 0:
        return None
    if kind == 1:
        return {"weights": random.uniform(-0.6, 0.6, len(SYMBOLS)).round(4).tolist()}
    orders = []
    for _ in range(random.integers(1, 5)):
        symbol = int(random.integers(len(SYMBOLS)))
        near = round(close[symbol] * random.uniform(0.97, 1.03), 2)
        order: dict[str, Any] = {
            "symbol": SYMBOLS[symbol],
            "side": str(random.choice(["buy", "sell"])),
            "quantity": float(random.choice([1, 10, 250, -3, 0, 0.5])),
            "type": str(random.choice(["market", "limit", "stop", "stop-limit"])),
            "time_in_force": str(random.choice(["gtc", "ioc"])),
        }
        if "limit" in order["type"]:
            order["limit_price"] = near
        if "stop" in order["type"]:
            order["stop_price"] = near
        orders.append(order)
    return {"orders": orders, "cancels": [int(n) for n in random.integers(1, 40, random.integers(0, 3))]}


def same(found: EpisodeStep, expected: Step) -> None:
    assert found.observation == json.loads(json.dumps(expected.observation))
    assert (found.reward, found.terminated, found.truncated) == (
        expected.reward,
        expected.terminated,
        expected.truncated,
    )
    assert found.info == expected.info


def play(
    client: VerifierClient, token: str, episode: SteppedEpisode, random: np.random.Generator, steps: int
) -> EpisodeStep:
    """An episode there and here, step by step, up to a step or the end."""
    at, here = client.start_episode(token), episode.start()
    same(at, here)
    while at.step < steps and not at.done:
        close = [row[3] for row in here.observation["bars"][-1]]  # type: ignore[index]
        action = random_action(random, close)
        at, here = client.step(token, at.episode, at.step + 1, action), episode.step(action)
        same(at, here)
    return at


def test_the_account_is_the_one_that_the_actions_make(running: Any, package: BuiltPackage) -> None:
    client, random = running.client, np.random.default_rng(3)
    ticket = client.create_rollout(TASK)
    here = [local(package, number) for number in range(package.manifest.n_private)]
    # All but the last episode, and of the one before it only a part.
    plans = list(zip(here[:-1], [1000] * (len(here) - 2) + [70], strict=True))
    seen = [play(client, ticket.token, episode, random, steps) for episode, steps in plans]
    assert all(step.done for step in seen[:-1])
    result = client.finalize(ticket.rollout_id)
    kept = client.submission(ticket.rollout_id, 1)
    private = kept[package.manifest.n_public :]
    for record, episode in zip(private, here, strict=True):
        np.testing.assert_array_equal(record, episode.outcome())
    assert (private[:-1, :, 1].sum(axis=1) > 0).all(), "nothing was traded, so that nothing was tested"
    spec, manifest = package.task.spec, package.manifest
    counts = (manifest.n_public, manifest.n_private)
    folds = sequential_kind(spec.contract).folds(spec, package.array, package.read_truth(), counts, 0)
    expected = score_fold(spec.contract, spec.scoring, folds[1], kept)
    assert (result.total, result.metrics) == (expected.total, dict(expected.metrics))
    assert result.submissions_accepted == manifest.n_private - 1
    low, high = result.relative_interval
    assert low < result.relative_total < high
    assert set(result.standard_errors) == set(result.metrics)
    verify_chain(running.embedded.state, expected_head=result.log_head)


def test_open_orders_and_positions_survive_kill_9(
    launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path
) -> None:
    state, random, here = tmp_path / "state", np.random.default_rng(4), local(package, 0)
    process = launch([package], state)
    with process.client() as client:
        ticket = client.create_rollout(TASK)
        at, now = client.start_episode(ticket.token), here.start()
    for _ in range(3):
        with process.client() as client:
            for _ in range(40):
                close = [row[3] for row in now.observation["bars"][-1]]  # type: ignore[index]
                action = random_action(random, close)
                at, now = client.step(ticket.token, 1, at.step + 1, action), here.step(action)
                same(at, now)
        process.kill()
        process = launch([package], state)
    with process.client() as client:
        assert client.step(ticket.token, 1, at.step, action) == at
        client.finalize(ticket.rollout_id)
        np.testing.assert_array_equal(
            client.submission(ticket.rollout_id, 1)[package.manifest.n_public], here.outcome()
        )


def test_the_order_of_keys_in_an_action_makes_no_difference(running: Any) -> None:
    """An action is kept in one form only, so what it does must not depend on the form in which it came."""
    client = running.client
    order = {"symbol": "aapl", "side": "buy", "quantity": 5.0, "type": "market"}
    turned = dict(reversed(order.items()))
    token = client.create_rollout(TASK).token
    client.start_episode(token)
    first = client.step(token, 1, 1, {"orders": [order], "cancels": []})
    assert client.step(token, 1, 1, {"cancels": [], "orders": [turned]}) == first
    assert first.observation["fills"]


def test_a_batch_too_long_to_send_leaves_the_account_as_it_was(running: Any) -> None:
    client = running.client
    ticket = client.create_rollout(TASK)
    client.start_episode(ticket.token)
    order = {"symbol": "aapl", "side": "buy", "quantity": 1.0, "type": "market"}
    with pytest.raises(SubmissionError) as refused:
        client.step(ticket.token, 1, 1, {"orders": [order] * 10_000})
    assert refused.value.problem == "payload-too-large"
    many = client.step(ticket.token, 1, 1, {"orders": [order] * 3000})
    assert many.observation["unlisted"] or many.observation["rejections"]
    assert not client.finalize(ticket.rollout_id).submissions_rejected


def test_of_rollouts_that_see_their_outcomes_the_first_one_is_the_entry(package: BuiltPackage) -> None:
    """Whoever could choose among several, having seen what they are worth, would enter the luckiest."""
    with (
        EmbeddedVerifier.start([package], policy="strict") as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
        VerifierClient(uds=running.uds, admin_token=operator.add_participant("ann")) as ann,
    ):
        early, first, second = (ann.create_rollout(TASK) for _ in range(3))
        ann.start_episode(early.token, "public")
        for ticket in (first, second):
            ann.start_episode(ticket.token)
            with pytest.raises(VerifierError, match="whose private fold was begun first is the entry"):
                ann.enter(ticket.rollout_id, primary=True)
        assert ann.finalize(second.rollout_id).state == "held"
        operator.close_season()
        assert ann.start_episode(first.token).episode == 2, "what was begun is played out"
        with pytest.raises(SubmissionError, match="season of this rollout is closed"):
            ann.start_episode(early.token)
        (row,) = ann.board("1").rows
        assert (row.rollout_id, row.primary, row.state) == (first.rollout_id, True, "open")
        assert ann.finalize(second.rollout_id).state == "held"
        verify_ledger(running.state)
