"""What a participant can compute of the private labels from everything that a strict verifier tells it over many
rollouts.

Each attack is one that reads labels where scores are told as they are (`test_detection.py` shows it for the same
classes). Here it has a participant's key to a real verifier in a disclosing season and creates rollout after rollout,
with everything that is told put together: the rungs of the ladder, and the feedback on the public fold. What many
parties gain together is in `test_colluders.py`.

What each took off the baseline's private loss before disclosures were bounded; now it is 0 in 1,000 rollouts each:

- offsets in powers at six private cells a rollout, of `treasury-forecast`: 99 % after 102; now flagged at rollout 9
- random or Hadamard signs on all private cells: 99 % after 602; now flagged at rollout 9 or 10
- whole windows shifted one after the other: 38 % after 22; now flagged at rollout 9
- random changes, kept where they help: 22 % after 1,000; now flagged at rollout 15
- group tests on ranks of `amazon-fraud`: 94 % after 240; now flagged within 20
- five feedbacks a rollout on the public fold: its labels after 120; now 100 feedbacks a participant
- signs drawn beforehand, and all held results of 200 rollouts released at once: 21 %; now three are released at a time
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.disclosure.disclosure import GRID
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.policy import STRICT
from openfingym_verifier.scoring.truth import Grader, HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial import attacks
from tests.adversarial.attacks import Told
from tests.answering import give, practise
from tests.sweeps import fixed_part

ROLLOUTS = int(os.environ.get("OPENFINGYM_ATTACK_ROLLOUTS", "40"))
"""How many an attack has; the figures in docs/trust.md are of 1,000."""
FLAGGED_WITHIN = 20
RELEASE_ROLLOUTS = 60
MOST = 0.01
"""Gain over the baseline that an attack must stay below."""


@dataclass(frozen=True)
class Attacked:
    """A strict verifier and what it holds, which only the test knows."""

    running: EmbeddedVerifier
    tasks: dict[str, HiddenTask]

    def participant(self, name: str) -> VerifierClient:
        with self.operator() as operator:
            return VerifierClient(uds=self.running.uds, admin_token=operator.add_participant(name))

    def operator(self) -> VerifierClient:
        return VerifierClient(uds=self.running.uds, admin_token=self.running.admin_token)


@pytest.fixture(scope="module")
def attacked(few_windows: BuiltPackage) -> Iterator[Attacked]:
    packages = [few_windows, build(load_task("amazon-fraud"))]
    with EmbeddedVerifier.start(packages, policy="strict") as running:
        with VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator:
            operator.close_season()
            operator.open_season("open", kind="disclosing")
        yield Attacked(running, {package.manifest.name: load_hidden(package) for package in packages})


def gains(task: HiddenTask, attacker: attacks.Attacker, history: list[Told]) -> tuple[float, float]:
    """What the attacker's last answer gains over the baseline as it is shown, and what it gains by having been told
    anything.

    An uninformed change of the baseline may be lucky on some tens of windows. That is within its sampling error, so it
    is shown as the baseline; and the attacker has it as well if it is told, each time, that its submission scores as
    the baseline does.
    """
    score, baseline = task.grader.private_score(attacker.decoded(history)), task.grader.baseline_score()
    error = task.sampling_error(score, baseline)
    relative = task.relative_total(score, baseline)
    lead = -math.log(relative) / error.relative_standard_error if error.relative_standard_error else 0.0
    untold = [Told(told.values, None if told.metrics is None else dict(baseline.metrics), 1.0) for told in history]
    return (1.0 - relative if lead >= GRID else 0.0), attacks.gain(task, attacker.decoded(history)) - attacks.gain(
        task, attacker.decoded(untold)
    )


def told_over(attacked: Attacked, task: str, name: str, attacker: attacks.Attacker) -> tuple[list[Told], int | None]:
    """What an attacker is told in all of its rollouts, and the first rollout, from 1, that is flagged."""
    history: list[Told] = []
    flagged = None
    with attacked.participant(name) as client, attacked.operator() as operator:
        for number in range(1, ROLLOUTS + 1):
            values = attacker.next_submission(history)
            ticket = client.create_rollout(task)
            give(client, ticket.token, attacked.tasks[task].package, values)
            result = client.finalize(ticket.rollout_id)
            history.append(
                Told(values, result.metrics or None, None if result.ladder is None else result.ladder["top"])
            )
            # Whether it is suspected is the operator's to know before the close.
            assert result.flags == ()
            if flagged is None and operator.finalize(ticket.rollout_id).flags:
                flagged = number
    return history, flagged


TREASURY: dict[str, Callable[[Grader], attacks.Attacker]] = {
    "powers-in-cells": lambda g: attacks.PowersInCells(g.baseline, g.private.rows),
    "random-signs": lambda g: attacks.SignPatterns(g.baseline, g.private.rows, size=0.05),
    "hadamard-signs": lambda g: attacks.HadamardPatterns(g.baseline, g.private.rows, size=0.05),
    "window-shifts": lambda g: attacks.WindowShifts(g.baseline, g.private.rows, size=0.05),
    "boosting": lambda g: attacks.Boosting(g.baseline, g.private.rows, size=0.005),
}


@pytest.mark.parametrize("name", fixed_part(TREASURY, 2))
def test_rollout_after_rollout_gives_no_private_label_of_a_forecast(attacked: Attacked, name: str) -> None:
    task = attacked.tasks["treasury-forecast"]
    attacker = TREASURY[name](task.grader)
    history, flagged = told_over(attacked, task.name, name, attacker)
    assert sum(told.relative is not None for told in history) == STRICT.private_disclosures
    assert {told.metrics for told in history} == {None}
    shown, by_being_told = gains(task, attacker, history)
    assert shown < MOST
    assert by_being_told < MOST
    assert flagged is not None
    assert flagged <= FLAGGED_WITHIN


def test_group_tests_give_no_private_label_of_a_graph(attacked: Attacked) -> None:
    task = attacked.tasks["amazon-fraud"]
    labels = np.asarray(task.grader.private.truth.arrays["labels"])
    attacker = attacks.GroupTests(task.shape, task.grader.private.rows, int(labels.sum()))
    history, flagged = told_over(attacked, task.name, "group-tests", attacker)
    gained = attacks.gain(task, attacker.decoded(history))
    assert gained < MOST
    assert flagged is not None
    assert flagged <= FLAGGED_WITHIN


def test_feedback_on_the_public_fold_says_nothing_of_the_private_one(attacked: Attacked) -> None:
    task = attacked.tasks["treasury-forecast"]
    public = attacks.HadamardPatterns(task.grader.baseline, task.grader.public.rows, size=0.05)
    history: list[Told] = []
    with attacked.participant("public-reader") as client:
        while len(history) < (STRICT.public_disclosures or 0) + 20:
            ticket = client.create_rollout(task.name)
            for _ in range(task.spec.verification.budget):
                values = public.next_submission(history)
                history.append(Told(values, practise(client, ticket.token, task.package, values) or None))
            client.finalize(ticket.rollout_id)
    assert sum(told.metrics is not None for told in history) == STRICT.public_disclosures
    assert max(gains(task, public, history)) < MOST


def shifted(task: HiddenTask, window: int, size: float) -> np.ndarray:
    """The baseline with one private window moved."""
    values = task.grader.baseline.copy()
    values[task.grader.private.rows][window] += size
    return values


def test_how_surely_an_answer_is_worse_is_not_told(attacked: Attacked) -> None:
    """One window moved far makes the standard error a function of its labels."""
    task = attacked.tasks["treasury-forecast"]
    baseline = task.grader.baseline_score()
    errors, told = set(), set()
    with attacked.participant("one-window") as client:
        for window in (0, 4, 9):
            values = shifted(task, window, 0.3)
            errors.add(task.sampling_error(task.grader.private_score(values), baseline).relative_standard_error)
            ticket = client.create_rollout(task.name)
            give(client, ticket.token, task.package, values)
            result = client._connection.json("POST", f"/v1/rollouts/{ticket.rollout_id}/finalize")
            assert result["disclosure"] == "held"
            told.add(tuple(result[name] for name in ("relative_total", "relative_standard_error", "relative_interval")))
    assert len(errors) == 3
    assert told == {(None, None, None)}


def test_the_results_that_a_season_tells_at_its_close_are_no_private_labels(few_windows: BuiltPackage) -> None:
    """Signs for each window drawn beforehand: what the few answers that are told apart have in common is where the
    labels lie. Whoever walks through a fold is told of one rollout at the close, the first."""
    package = few_windows
    task = load_hidden(package)
    rows, rng = task.grader.private.rows, np.random.default_rng(1)
    signs = rng.choice([-1.0, 1.0], (RELEASE_ROLLOUTS, task.manifest.n_private))
    with (
        EmbeddedVerifier.start([package], policy="strict") as running,
        VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
        VerifierClient(uds=running.uds, admin_token=operator.add_participant("patient")) as client,
    ):
        tickets = [client.create_rollout(task.name) for _ in signs]
        for ticket, pattern in zip(tickets, signs, strict=True):
            values = task.grader.baseline.copy()
            values[rows] += 0.003 * pattern[:, None, None]
            give(client, ticket.token, package, values)
            client.finalize(ticket.rollout_id)
        operator.close_season()
        found = [client.finalize(ticket.rollout_id) for ticket in tickets]
    better = np.array([one.relative_total is not None and one.relative_total < 1.0 for one in found])
    known = [one.state == "scored" for one in found]
    assert known == [True] + [False] * (RELEASE_ROLLOUTS - 1)
    direction = (
        signs[better].mean(axis=0) - signs[~better].mean(axis=0) if better.any() else np.zeros(task.manifest.n_private)
    )
    values = task.grader.baseline.copy()
    values[rows] += (0.04 * direction / max(float(np.abs(direction).max()), 1e-12))[:, None, None]
    assert attacks.gain(task, values) < MOST


def test_the_same_attack_reads_labels_where_everything_is_told(attacked: Attacked) -> None:
    """The bound is the policy's doing, not a weakness of the attack."""
    task = attacked.tasks["treasury-forecast"]
    attacker = TREASURY["powers-in-cells"](task.grader)
    history: list[Told] = []
    with VerifierClient(uds=attacked.running.uds, admin_token=attacked.running.admin_token) as operator:
        for _ in range(12):
            values = attacker.next_submission(history)
            ticket = operator.create_rollout(task.name)
            give(operator, ticket.token, task.package, values)
            result = operator.finalize(ticket.rollout_id)
            history.append(Told(values, result.metrics, result.relative_total))
    truth = np.asarray(task.grader.private.truth.arrays["y_true"]).reshape(-1)
    decoded = attacker.decoded(history)[task.grader.private.rows].reshape(-1)
    read = np.flatnonzero(decoded != task.grader.baseline[task.grader.private.rows].reshape(-1))
    assert len(read) > 40
    np.testing.assert_allclose(decoded[read], truth[read], atol=0.006)
