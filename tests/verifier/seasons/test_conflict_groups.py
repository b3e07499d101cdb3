"""Of two tasks of which one shows what the other hides, a participant enters one a season."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from openfingym import catalog
from openfingym.errors import VerifierError
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.policy import POLICIES
from openfingym_verifier.scoring.truth import load_task
from openfingym_verifier.seasons.conflict_groups import ConflictGroups

if TYPE_CHECKING:
    from openfingym.results.result import TapePolicy
    from openfingym_verifier.ledger.ledger import Ledger

NAMES = ("finsearch", "fx-forecast", "treasury-forecast")


@pytest.fixture(scope="module")
def built() -> list[BuiltPackage]:
    """FinSearchComp, whose tools serve rates and yields that the other two hide."""
    return [build(catalog.load_task(name)) for name in NAMES]


@contextmanager
def serving(built: list[BuiltPackage], state: Path, policy: str = "strict") -> Iterator[VerifierClient]:
    """A verifier on a state directory; the client is the operator's."""
    with (
        EmbeddedVerifier.start(built, policy=policy, state=state) as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
    ):
        operator.uds = running.uds  # type: ignore[attr-defined]
        yield operator


def test_a_participant_enters_one_task_of_a_conflict_group_a_season(built: list[BuiltPackage], tmp_path: Path) -> None:
    with serving(built, tmp_path) as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=operator.uds, admin_token=key) as ann:  # type: ignore[attr-defined]
            ann.create_rollout("treasury-forecast")
            ann.create_rollout("fx-forecast")  # no part of the first one's group
            ann.create_rollout("treasury-forecast")
            with pytest.raises(VerifierError) as refused:
                ann.create_rollout("finsearch")
        told = str(refused.value)
        assert "conflicting-task" in told
        assert "US Department of the Treasury" in told or "exchange rate" in told
        assert "ann has entered" in told
        assert "The group: finsearch, fx-forecast, treasury-forecast." in told
        for name in NAMES:
            operator.create_rollout(name)  # the operator is free
    # What was entered is in the ledger.
    with serving(built, tmp_path) as operator, VerifierClient(uds=operator.uds, admin_token=key) as ann:  # type: ignore[attr-defined]
        with pytest.raises(VerifierError, match="conflicting-task"):
            ann.create_rollout("finsearch")
        other = operator.add_participant("bob")
        with VerifierClient(uds=operator.uds, admin_token=other) as bob:  # type: ignore[attr-defined]

            def enter(name: str) -> str:
                try:
                    bob.create_rollout(name)
                except VerifierError as error:
                    return "refused" if "conflicting-task" in str(error) else str(error)
                return "entered"

            # Sent at once, one of two is entered.
            with ThreadPoolExecutor(4) as threads:
                outcomes = list(threads.map(enter, ["finsearch", "treasury-forecast"] * 2))
        assert sorted(outcomes) == ["entered", "entered", "refused", "refused"]
        assert outcomes[:2] == outcomes[2:]


def test_what_tools_showed_in_an_earlier_season_counts_as_shown(built: list[BuiltPackage], tmp_path: Path) -> None:
    """Tools of one season serve what a task of the next one hides: an agent that is made in between is replayed."""
    yields = next(one for one in built if one.manifest.name == "treasury-forecast")
    with serving(built, tmp_path) as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=operator.uds, admin_token=key) as ann:  # type: ignore[attr-defined]
            ann.start_episode(ann.create_rollout("finsearch").token)
            operator.close_season()
            operator.open_season("2")
            ticket = ann.create_rollout("treasury-forecast", agent_digest="ab" * 32)
            ann.walk(ticket.token, np.zeros((yields.manifest.n_private, *yields.manifest.submission_shape[1:])))
            ended = ann.finalize(ticket.rollout_id)
    assert (ended.shown_before, ended.replayed) == (1, True)


def test_with_given_tapes_simulated_tasks_on_one_dataset_conflict(tmp_path: Path) -> None:
    """Drawn anew for each rollout, nobody has seen them elsewhere; given, they are the same for all."""
    names = ("commodity-forecast", "commodity-forecast-v1")
    tasks = {name: load_task(build(catalog.load_task(name))) for name in names}
    policies: tuple[TapePolicy, ...] = ("fresh", "given")
    found = {
        tapes: ConflictGroups(tasks, cast("Ledger", None), POLICIES["strict"], tapes)._conflicts for tapes in policies
    }
    assert found["fresh"] == []
    assert [conflict.tasks for conflict in found["given"]] == [names]


def test_under_the_local_policy_every_task_may_be_entered(built: list[BuiltPackage], tmp_path: Path) -> None:
    with serving(built, tmp_path, "local") as operator:
        for name in NAMES:
            operator.create_rollout(name)
