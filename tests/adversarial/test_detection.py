"""What attacks and honest work look like over many rollouts: the first are flagged within twenty, the second never in
fifty.

One attack gains and is not seen: a hill-climb along levels of windows, made for the rounded scores (35 % after 1,000
rollouts where everything is told). Three private results a participant bound it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.kinds import kind_named
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.disclosure.designs import FoldHistory, is_patterned
from openfingym_verifier.disclosure.foresight import best_recorded, beyond_belief
from openfingym_verifier.disclosure.pools import Pool, flags_of_rollout
from openfingym_verifier.disclosure.probing import looks_like_probing
from openfingym_verifier.episodes.play import stored_values
from openfingym_verifier.scoring.truth import Grader, HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from tests.adversarial import attacks, honest
from tests.sweeps import ALL, fixed_part

WITHIN = 20
HONEST_ROLLOUTS = 50
USUAL_ROLLOUTS = HONEST_ROLLOUTS if ALL else WITHIN
"""For those whose rollouts take long: as many as attackers are given, and fifty where all is asked for."""
BUDGET = 5
"""Every honest participant for all its rollouts; else those that take seconds to fit play a few."""
SLOW = {
    "ridge, bagged anew": 8,
    "ridge, bagged anew, rounded": 8,
    "random features": 16,
    "outliers repaired": 16,
    "forests apart, seeds": 20,
}


@pytest.fixture(scope="module")
def package(few_windows: BuiltPackage) -> BuiltPackage:
    return few_windows


@pytest.fixture(scope="module")
def task(package: BuiltPackage) -> HiddenTask:
    return attacks.without_errors(load_hidden(package))


@pytest.fixture(scope="module")
def fraud_package(store_home: object) -> BuiltPackage:
    return build(load_task("amazon-fraud"))


@pytest.fixture(scope="module")
def fraud(fraud_package: BuiltPackage) -> HiddenTask:
    return attacks.without_errors(load_hidden(fraud_package))


def best(task: HiddenTask) -> float | None:
    return best_recorded(task.name, task.manifest.data_kind)


def relative(task: HiddenTask, values: np.ndarray) -> float:
    return task.relative_total(task.grader.private_score(values), task.grader.baseline_score())


def flagged_at(task: HiddenTask, rollouts: Iterable[list[np.ndarray]]) -> int | None:
    """The rollout, from 1, whose result first has a flag; None if none has."""
    pool = Pool()
    for number, submissions in enumerate(rollouts, 1):
        if flags_of_rollout(pool, task.grader, submissions, relative(task, submissions[-1]), best(task)):
            return number
    return None


PRIVATE: dict[str, tuple[Callable[[Grader], attacks.Attacker], int, float]] = {
    "powers in cells": (lambda g: attacks.PowersInCells(g.baseline, g.private.rows), 102, 0.98),
    "random signs": (lambda g: attacks.SignPatterns(g.baseline, g.private.rows, size=0.05), 602, 0.98),
    "Hadamard signs": (lambda g: attacks.HadamardPatterns(g.baseline, g.private.rows, size=0.05), 602, 0.98),
    "window shifts": (lambda g: attacks.WindowShifts(g.baseline, g.private.rows, size=0.05), 22, 0.3),
    "boosting": (lambda g: attacks.Boosting(g.baseline, g.private.rows, size=0.005), 800, 0.15),
}

"""An attacker of the private fold, the rollouts it needs, and what it gains if everything is disclosed."""


@pytest.mark.parametrize("name", PRIVATE)
def test_attacks_work_where_scores_are_disclosed_as_they_are(task: HiddenTask, name: str) -> None:
    make, rollouts, least = PRIVATE[name]
    attacker = make(task.grader)
    assert attacks.gain(task, attacker.decoded(attacks.pooled(task, attacker, rollouts))) > least


def test_changes_of_window_levels_gain_and_are_not_seen(task: HiddenTask) -> None:
    attacker = attacks.Boosting(task.grader.baseline, task.grader.private.rows, size=0.01, draw=attacks.window_levels)
    history = attacks.pooled(task, attacker, 200)
    assert attacks.gain(task, attacker.decoded(history)) > 0.2
    # What detection cannot do, so that nobody relies on it: the disclosure of scores has to bound this one.
    assert flagged_at(task, ([told.values] for told in history[:WITHIN])) is None


def test_group_tests_read_labels_off_the_auroc(fraud: HiddenTask) -> None:
    labels = fraud.grader.private.truth.arrays["labels"]
    attacker = attacks.GroupTests(fraud.shape, fraud.grader.private.rows, int(np.sum(labels)))
    decoded = attacker.decoded(attacks.pooled(fraud, attacker, 240))
    known = attacker.labels >= 0
    assert known.mean() > 0.8
    np.testing.assert_array_equal(attacker.labels[known], np.asarray(labels)[known])
    assert attacks.gain(fraud, decoded) > 0.9


@pytest.mark.parametrize("name", PRIVATE)
def test_attacks_on_private_scores_are_flagged(task: HiddenTask, name: str) -> None:
    attacker = PRIVATE[name][0](task.grader)
    history = attacks.pooled(task, attacker, WITHIN)
    found = flagged_at(task, ([told.values] for told in history))
    assert found is not None
    assert all(not looks_like_probing([kind_named(task.spec.contract).compared(told.values[:20])]) for told in history)


def rollouts_of(history: list[attacks.Told], each: int = BUDGET) -> list[list[np.ndarray]]:
    return [[told.values for told in history[i : i + each]] for i in range(0, len(history), each)]


PUBLIC: dict[str, Callable[[Grader], attacks.Attacker]] = {
    "powers in cells": lambda g: attacks.PowersInCells(g.baseline, g.public.rows, together=1),
    "random signs": lambda g: attacks.SignPatterns(g.baseline, g.public.rows, size=0.05),
    "window shifts": lambda g: attacks.WindowShifts(g.baseline, g.public.rows, size=0.05),
    "boosting": lambda g: attacks.Boosting(g.baseline, g.public.rows, size=0.01),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_attacks_on_feedback_are_flagged(task: HiddenTask, name: str) -> None:
    history = attacks.pooled(task, PUBLIC[name](task.grader), WITHIN * BUDGET, attacks.rationed)
    assert flagged_at(task, rollouts_of(history)) is not None


def test_attacks_on_feedback_work(task: HiddenTask) -> None:
    attacker = attacks.SignPatterns(task.grader.baseline, task.grader.public.rows, size=0.05, penalty=1e-3)
    decoded = attacker.decoded(attacks.pooled(task, attacker, 601, attacks.rationed))
    public = task.grader.public_score
    assert public(decoded).metrics["mse"] < 0.1 * public(task.grader.baseline).metrics["mse"]


@pytest.mark.parametrize("fold", ["public", "private"])
def test_group_tests_are_flagged(fraud: HiddenTask, fold: str) -> None:
    part = getattr(fraud.grader, fold)
    attacker = attacks.GroupTests(fraud.shape, part.rows, int(np.sum(part.truth.arrays["labels"])))

    def disclose(task: HiddenTask, number: int, values: np.ndarray) -> attacks.Told:
        return attacks.Told(values, getattr(task.grader, f"{fold}_score")(values).metrics)

    each = BUDGET if fold == "public" else 1
    history = attacks.pooled(fraud, attacker, WITHIN * each, disclose)
    assert flagged_at(fraud, rollouts_of(history, each)) is not None


def test_attacks_between_honest_submissions_are_flagged(task: HiddenTask, package: BuiltPackage) -> None:
    data = honest.Levels.of(package)
    attacker = attacks.SignPatterns(task.grader.baseline, task.grader.private.rows, size=0.05)
    history = attacks.pooled(task, attacker, WITHIN)
    mixed = [
        [told.values] if number % 2 else [data.naive + data.ridge(1.0 + number)] for number, told in enumerate(history)
    ]
    assert flagged_at(task, mixed) is not None


def test_what_stands_in_the_other_fold_hides_nothing(task: HiddenTask) -> None:
    attacker = attacks.PowersInCells(task.grader.baseline, task.grader.private.rows)
    generator = np.random.default_rng(0)
    rollouts = []
    for told in attacks.pooled(task, attacker, WITHIN):
        hidden = told.values.copy()
        hidden[task.grader.public.rows] += generator.standard_normal(hidden[task.grader.public.rows].shape)
        rollouts.append([hidden])
    pool = Pool()
    for submissions in rollouts:
        pool.add(task.grader, submissions, None, None)
    assert pool.private is not None
    assert pool.private.flagged


def test_decoded_labels_are_beyond_belief(task: HiddenTask, fraud: HiddenTask) -> None:
    oracle = task.grader.baseline.copy()
    oracle[task.grader.private.rows] = task.grader.private.truth.y_true
    assert flagged_at(task, [[oracle]]) == 1
    contract = fraud.spec.contract
    assert beyond_belief(contract, 0.01, 0.1866)
    assert not beyond_belief(contract, 0.05, 0.1866)
    assert not beyond_belief(contract, 0.01, 0.01421)
    assert not beyond_belief(contract, 0.01, None)
    looked_up = load_task("finsearch").spec.contract
    assert not beyond_belief(looked_up, 0.01, 1.0), "what was known already can be answered without an error"
    assert beyond_belief(load_task("mirai-relation-forecast").spec.contract, 0.01, 1.0)


FORECASTERS = tuple(
    honest.forecasters(honest.Levels(*(np.zeros((2, 20, 6)), np.zeros((2, 30)), np.zeros((2, 20, 6))), (2, 5, 6)))
)


@pytest.mark.parametrize("name", fixed_part(FORECASTERS, 2))
def test_honest_forecasters_are_never_flagged(
    task: HiddenTask, participants: dict[str, honest.Participant], name: str
) -> None:
    count = HONEST_ROLLOUTS if ALL else SLOW.get(name, HONEST_ROLLOUTS)
    rollouts = [participants[name](number) for number in range(count)]
    assert flagged_at(task, rollouts) is None
    public = [
        [kind_named(task.spec.contract).compared(values[task.grader.public.rows]) for values in given]
        for given in rollouts
    ]
    assert not any(looks_like_probing(given) for given in public)


@pytest.fixture(scope="module")
def participants(package: BuiltPackage) -> dict[str, honest.Participant]:
    return dict(honest.forecasters(honest.Levels.of(package)))


def test_honest_scorers_of_nodes_are_never_flagged(fraud: HiddenTask, fraud_package: BuiltPackage) -> None:
    for name, participant in honest.scorers(fraud_package).items():
        assert flagged_at(fraud, (participant(number) for number in range(USUAL_ROLLOUTS))) is None, name


def test_honest_generators_are_never_flagged(store_home: object) -> None:
    package = build(load_task("crypto-return-generation"))
    task = attacks.without_errors(load_hidden(package))
    train = np.array(package.array("train_targets"))
    generator = np.random.default_rng(0)
    pool = Pool()
    for _ in range(USUAL_ROLLOUTS):
        drawn = train[generator.integers(0, len(train), task.shape[0])]
        assert flags_of_rollout(pool, task.grader, [drawn], 0.3, best(task)) == []


@pytest.fixture(scope="module")
def market(store_home: object) -> HiddenTask:
    return attacks.without_errors(load_hidden(build(load_task("equity-trading"))))


@pytest.mark.parametrize(("share", "rollouts"), [(1.0, 1), (0.3, 1), (0.1, 12)])
def test_hindsight_is_flagged(market: HiddenTask, share: float, rollouts: int) -> None:
    contract: Any = market.spec.contract  # a trading contract
    cost = (contract.fee_bps + contract.slippage_bps + contract.half_spread_bps) * 1e-4
    attacker = attacks.Hindsight(len(contract.symbols), cost=cost, short=0.0, share=share)
    records = attacks.watched_then_played(market, attacker, rollouts)
    assert attacks.gain(market, records[-1]) > 0.1
    pool = Pool()
    flags = [flags_of_rollout(pool, market.grader, [record]) for record in records]
    assert flags[0] == []
    assert flags[-1] == ["foresight"]


def test_honest_traders_are_never_flagged(market: HiddenTask) -> None:
    contract: Any = market.spec.contract  # a trading contract
    count = HONEST_ROLLOUTS if ALL else 4
    for name, policy in honest.traders(market, len(contract.symbols), contract.lookback).items():
        pool = Pool()
        for number in range(count):
            assert flags_of_rollout(pool, market.grader, [honest.traded(market, policy(number))]) == [], name


def test_returns_rounded_to_almost_nothing_are_not_flagged() -> None:
    generator = np.random.default_rng(0)
    history = FoldHistory(0.02, structured=True)
    history.start(np.zeros((24, 10, 8)))
    for _ in range(HONEST_ROLLOUTS):
        history.add(np.round(np.clip(0.001 * generator.standard_t(4, (24, 10, 8)), -0.03, 0.03), 2))
    assert not history.flagged


def test_a_pool_rebuilt_from_what_is_stored_goes_on_as_before(task: HiddenTask) -> None:
    attacker = attacks.SignPatterns(task.grader.baseline, task.grader.private.rows, size=0.05)
    stored = [told.values.astype("<f8").tobytes() for told in attacks.pooled(task, attacker, WITHIN)]
    first = Pool()
    found = [flags_of_rollout(first, task.grader, [stored_values(payload, task)]) for payload in stored]
    half = Pool()
    for payload in stored[:6]:
        half.add(task.grader, [stored_values(payload, task)], None, None)
    assert [flags_of_rollout(half, task.grader, [stored_values(payload, task)]) for payload in stored[6:]] == found[6:]
    assert found[-1] == ["probing"]


def test_a_pool_is_bounded(task: HiddenTask) -> None:
    history = FoldHistory(1.0, structured=True)
    history.start(np.zeros((20, 5, 6)))
    generator = np.random.default_rng(0)
    for _ in range(500):
        history.add(np.cumsum(generator.standard_normal((20, 5, 6)), axis=1))
    assert history.remembered == 65


def test_a_rollout_costs_little(task: HiddenTask, fraud: HiddenTask, package: BuiltPackage) -> None:
    generator = np.random.default_rng(0)
    for hidden, limit in ((task, 0.02), (fraud, 0.08)):
        pool = Pool()
        spent = []
        for _ in range(20):
            submissions = [
                hidden.grader.baseline + generator.standard_normal(hidden.shape).cumsum(axis=-1) for _ in range(BUDGET)
            ]
            begun = time.process_time()
            pool.add(hidden.grader, submissions, None, None)
            spent.append(time.process_time() - begun)
        # Four times what it takes here, for machines that are busy.
        assert np.median(spent) < limit


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (np.full((20, 5, 6), 0.1), False),
        (np.broadcast_to(np.arange(1.0, 6.0)[:, None], (20, 5, 6)), False),
        (np.random.default_rng(0).choice([-1.0, 1.0], (20, 5, 6)), True),
        (np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (20, 5, 6)), True),
        (np.random.default_rng(0).choice([-1.0, 1.0], (20, 1, 1)) * np.arange(1.0, 31.0).reshape(5, 6), True),
        (np.random.default_rng(0).standard_normal((20, 5, 6)), False),
        (np.random.default_rng(0).standard_normal((20, 1, 1)) * np.ones((5, 6)), False),
    ],
)
def test_patterns(move: np.ndarray, expected: bool) -> None:
    assert is_patterned(move) is expected


def test_roundings_are_no_pattern() -> None:
    move = np.random.default_rng(0).choice([-0.01, 0.0, 0.01], (20, 5, 6), p=[0.3, 0.4, 0.3])
    assert not is_patterned(move, 0.01)
    assert is_patterned(move)
    assert is_patterned(2.0 * move, 0.01)
