"""Hidden data that a party was shown before: an agent that came into being later is scored apart."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.agents import resolve
from openfingym.errors import VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.spec import player_digest
from openfingym.verifiers.answers import VerifiedResult
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.ledger.ledger import Ledger
from tests.verifier.conftest import FILE, OPEN_RATE, SPLIT, make_kind, seal, write_task, write_walk

TASK = "forecasts"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """Forecasts of one series, from a file: every rollout has the same hidden windows."""
    return forecasts(tmp_path_factory.mktemp("showings"), TASK, (0.4, 0.3, 0.3))


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """Graphs, whose answer is one array, and of which no outcome is shown."""
    return make_kind(tmp_path_factory.mktemp("graphs"), "graphs")


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def play(client: VerifierClient, package: BuiltPackage, agent: str | None = None) -> VerifiedResult:
    """A rollout that answers every private window with 0."""
    ticket = client.create_rollout(package.manifest.name, agent_digest=None if agent is None else digest(agent))
    client.walk(ticket.token, np.zeros((package.manifest.n_private, *package.manifest.submission_shape[1:])))
    return client.finalize(ticket.rollout_id)


def told(result: VerifiedResult) -> tuple[int, bool]:
    return result.shown_before, result.replayed


class Parties:
    """A strict verifier with two participants."""

    def __init__(self, launch: Callable[..., Any], packages: list[BuiltPackage], state: Path) -> None:
        self.launch, self.packages, self.state, self.keys = launch, packages, state, {}
        self.process = launch(packages, state)
        with self.process.client() as operator:
            self.keys = {name: operator.add_participant(name) for name in ("first", "second")}

    def client(self, name: str) -> VerifierClient:
        return VerifierClient(uds=self.process.uds, admin_token=self.keys[name])

    def restart(self) -> None:
        self.process.kill()
        self.process = self.launch(self.packages, self.state)


@pytest.fixture
def parties(launch: Callable[..., Any], package: BuiltPackage, graphs: BuiltPackage, tmp_path: Path) -> Parties:
    return Parties(launch, [package, graphs], tmp_path / "state")


def test_an_agent_made_after_its_party_saw_the_data_is_replayed(parties: Parties, package: BuiltPackage) -> None:
    with parties.client("first") as first, parties.client("second") as second:
        assert first.file_agents([digest("planned")]) is None
        assert told(play(first, package, "a")) == (0, False)
        assert told(play(first, package, "a")) == (1, False), "another seed of the agent that was there before"
        assert told(play(first, package, "planned")) == (2, False), "filed before anything was shown"
        assert told(play(first, package, "later")) == (3, True)
        assert told(play(first, package, "later")) == (4, True), "to have run once makes it no older"
        assert told(play(first, package)) == (5, True), "an agent that nobody names may be made by what was shown"
        first.file_agents([digest("too late")])
        assert told(play(first, package, "too late")) == (6, True)
        shipped = first.create_rollout(TASK, agent_digest=player_digest(resolve("ridge"), None))
        first.walk(shipped.token, np.zeros((package.manifest.n_private, *package.manifest.submission_shape[1:])))
        assert told(first.finalize(shipped.rollout_id)) == (7, False), "a program of the library's was there before"
        assert told(play(second, package, "later")) == (0, False), "another party was shown nothing"
    parties.restart()
    with parties.client("first") as first:
        assert told(play(first, package, "planned")) == (8, False)
        assert told(play(first, package, "a third")) == (9, True)
    parties.process.kill()
    verify_ledger(parties.state / "ledger.db")


def test_a_rollout_that_is_held_open_learns_from_another(parties: Parties, package: BuiltPackage) -> None:
    """An agent that nobody names may be written while its rollout waits; one that was filed may not."""
    with parties.client("first") as first:
        waiting = [first.create_rollout(TASK, agent_digest=agent) for agent in (None, digest("filed"))]
        play(first, package, "a")
        values = np.zeros((package.manifest.n_private, *package.manifest.submission_shape[1:]))
        for ticket in waiting:
            first.walk(ticket.token, values)
        assert [told(first.finalize(ticket.rollout_id)) for ticket in waiting] == [(2, True), (2, False)]


def test_practice_and_what_is_answered_at_once_show_nothing(
    parties: Parties, package: BuiltPackage, graphs: BuiltPackage
) -> None:
    with parties.client("first") as first:
        ticket = first.create_rollout(TASK)
        first.walk(
            ticket.token, np.zeros((package.manifest.n_public, *package.manifest.submission_shape[1:])), "public"
        )
        assert told(first.finalize(ticket.rollout_id)) == (0, False)
        assert told(play(first, package, "b")) == (0, False)
        for _ in range(2):
            ticket = first.create_rollout("graphs")
            first.submit(ticket.token, np.zeros(graphs.manifest.submission_shape))
            assert told(first.finalize(ticket.rollout_id)) == (0, False)


def test_the_first_window_counts_as_shown(parties: Parties, package: BuiltPackage) -> None:
    """A rollout that is given up after a look at the first window has shown it."""
    with parties.client("first") as first:
        first.start_episode(first.create_rollout(TASK, agent_digest=digest("a")).token)
        assert told(play(first, package, "b")) == (1, True)


def test_what_is_filed_twice_takes_no_room(launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path) -> None:
    verifier = launch([package], tmp_path / "state", "--stored-mb", "0.006")
    with verifier.client() as operator:
        key = operator.add_participant("modest")
    with VerifierClient(uds=verifier.uds, admin_token=key) as modest:
        for _ in range(3):
            modest.file_agents([digest(f"{i}") for i in range(8)])
        with pytest.raises(VerifierError, match="ask the operator"):
            modest.file_agents([digest(f"{i}") for i in range(100)])
        with pytest.raises(VerifierError, match="digests"):
            modest.file_agents(["no digest"])
    verifier.kill()
    ledger = Ledger(tmp_path / "state")
    try:
        assert len(ledger.filed("modest")) == 8
        assert ledger.stored_bytes() == {"modest": 8 * 512}
    finally:
        ledger.close()


def forecasts(
    folder: Path, name: str, shares: tuple[float, float, float], seed: int = 0, rows: int = 100
) -> BuiltPackage:
    """Forecasts of a series from a file, which is the same for the same seed."""
    task = write_task(
        folder,
        name,
        metrics=("mae",),
        family="forecasting",
        kind="forecast",
        contract="lookback = 3\nhorizon = 2\nvalue_semantics = 'log_return'\nunit = 'u'\nlow = -2.0\nhigh = 2.0",
        dataset=f"{FILE}channels = ['c0', 'c1']",
        split=SPLIT.format(*shares, 3),
        verification=f"budget = 2\n{OPEN_RATE}",
    )
    write_walk(task, rows, ["c0", "c1"], seed)
    return seal(folder, task)


def test_what_was_shown_under_another_name_counts_when_that_task_is_gone(
    launch: Callable[..., Any], package: BuiltPackage, tmp_path: Path
) -> None:
    """Series and days are compared, and no names: another split of the series hides what was shown."""
    later, other = forecasts(tmp_path, "later", (0.5, 0.3, 0.2)), forecasts(tmp_path, "other", (0.5, 0.3, 0.2), seed=1)
    parties = Parties(launch, [package], tmp_path / "state")
    with parties.client("first") as first:
        play(first, package, "a")
    parties.packages = [later, other]
    parties.restart()
    with parties.client("first") as first, parties.client("second") as second:
        assert told(play(first, later, "b")) == (1, True)
        assert told(play(first, other, "c")) == (0, False)
        assert told(play(second, later, "b")) == (0, False)


def test_an_authors_series_with_one_row_more_is_the_same_series(launch: Callable[..., Any], tmp_path: Path) -> None:
    """Its digest is another one, and so are its instruments' names; the task's name is not."""
    packages = []
    for rows in (100, 101):
        folder = tmp_path / str(rows)
        packages.append(forecasts(folder, "weekly", (0.4, 0.3, 0.3), rows=rows))
    parties = Parties(launch, packages[:1], tmp_path / "state")
    with parties.client("first") as first:
        play(first, packages[0], "a")
    parties.packages = packages[1:]
    parties.restart()
    with parties.client("first") as first:
        assert told(play(first, packages[1], "b")) == (1, True)


def test_under_the_local_policy_it_is_counted_alone(serve: Callable[..., Any], package: BuiltPackage) -> None:
    with serve([package]) as server:
        assert [told(play(server.client, package)) for _ in range(3)] == [(0, False), (1, False), (2, False)]
