"""Who is better: on common tasks and seeds alone, adjusted together, and said in words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from openfingym.reports.cells import grouped
from openfingym.reports.comparisons import compare, label
from tests.openfingym.reports.made import failed, scored

TASKS = [f"task-{n:02}" for n in range(10)]


def compared(*results):
    return {(one.data_kind, one.a[0], one.b[0]): one for one in compare(grouped(results, ("agent",)), 0)}


def runs(agent, losses, **changes):
    return [scored(loss, agent=agent, task=task, **changes) for task, loss in zip(TASKS, losses, strict=False)]


def test_the_figures_are_those_of_the_common_tasks():
    generator = np.random.default_rng(0)
    a, b = np.exp(generator.normal(-0.4, 0.2, 10)), np.exp(generator.normal(0.0, 0.2, 10))
    found = compared(*runs("a", a), *runs("b", b))["real", "a", "b"]
    differences = np.log(a) - np.log(b)
    assert found.loss_ratio.value == pytest.approx(stats.gmean(a / b))
    assert found.loss_ratio.low < found.loss_ratio.value < found.loss_ratio.high < 1.0
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1))
    exact = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert found.p_value == pytest.approx(exact.pvalue)
    assert (found.wins, found.losses, found.ties) == ((differences < 0).sum(), (differences > 0).sum(), 0)
    assert (found.tasks, found.pairs, found.verdict) == (10, 10, "better")
    assert found.sentence == (
        f"a is better than b on real data: its loss is {1.0 - stats.gmean(a / b):.1%} lower (95 % interval of the "
        "ratio "
        f"{found.loss_ratio.low:.3g} to {found.loss_ratio.high:.3g}), over 10 tasks, better on {found.wins} and worse "
        f"on {found.losses}; "
        f"p = {found.p_value:.2g}, Holm-adjusted {found.p_holm:.2g}."
    )


def test_the_sentence_begins_with_the_lower_loss():
    better, worse = (
        compared(*runs("a", losses), *runs("b", [1.0] * 10))["real", "a", "b"] for losses in ([0.5] * 10, [2.0] * 10)
    )
    assert (better.verdict, worse.verdict) == ("better", "worse")
    assert worse.sentence == better.sentence.replace("a is better than b", "b is better than a")


def test_only_seeds_that_both_ran_are_compared():
    common = [*runs("a", [0.5] * 6, seed=1), *runs("b", [0.6] * 6, seed=1)]
    elsewhere = [*runs("a", [50.0] * 6, seed=2), *runs("b", [0.01] * 6, seed=3)]
    found = compared(*common, *elsewhere)["real", "a", "b"]
    assert (found.tasks, found.pairs) == (6, 6)
    assert found.loss_ratio.value == pytest.approx(0.5 / 0.6)
    assert (found.verdict, found.effect) == ("better", None)


def test_attempts_are_averaged_within_a_seed_before_seeds_are():
    a = [
        run
        for task_loss in ([0.4, 0.9],)
        for n, loss in enumerate(task_loss)
        for run in runs("a", [loss] * 6, attempt=n)
    ]
    found = compared(*a, *runs("a", [0.5] * 6, seed=1), *runs("b", [1.0] * 6), *runs("b", [1.0] * 6, seed=1))[
        "real", "a", "b"
    ]
    assert found.loss_ratio.value == pytest.approx(math.exp((math.log(0.36) / 2 + math.log(0.5)) / 2))
    assert found.pairs == 12


def test_ours_are_left_out_and_rejected_ones_count_as_a_hundred_times_the_baseline():
    spoilt = [failed("error", agent="b", task=TASKS[0]), failed("rejected", agent="b", task=TASKS[1])]
    found = compared(*runs("a", [0.5] * 10), *spoilt, *runs("b", [0.5] * 10)[2:])["real", "a", "b"]
    assert found.tasks == 9
    assert (found.wins, found.losses, found.ties) == (1, 0, 8)
    assert found.loss_ratio.value == pytest.approx((0.5 / 100) ** (1 / 9))
    assert (found.scored, found.judged, found.scored_ratio.value) == ((9, 8), (9, 9), 1.0)
    assert found.verdict == "no difference"
    assert "cannot be told apart" in found.sentence
    assert "; a was scored in 9 of 9 runs, b in 8 of 9; where both were, the loss of a is 0.0% lower" in found.sentence


def test_a_row_that_was_never_scored_is_worse_than_one_that_was():
    nop = [failed("rejected", agent="nop", task=task) for task in TASKS]
    found = compared(*runs("a", [2.0] * 10), *nop)["real", "a", "nop"]
    assert found.verdict == "better"
    assert found.sentence.startswith(
        "a is better than nop on real data: its loss, a failure counted as 100 times the baseline's, is 98.0% lower"
    )
    assert "a was scored in 10 of 10 runs, nop in 0 of 10, and never both" in found.sentence
    assert compared(*nop, *(failed("rejected", agent="other", task=task) for task in TASKS)) == {}


def test_too_few_common_tasks_are_too_few_to_say():
    found = compared(*runs("a", [0.1] * 5), *runs("b", [1.0] * 10))["real", "a", "b"]
    assert (found.verdict, found.p_value, found.p_holm, found.effect, found.loss_ratio.low) == (
        "too few",
        None,
        None,
        None,
        None,
    )
    assert (
        found.sentence
        == "a and b on real data: too few to say, 5 common tasks; 6 are needed, or 6 common seeds of each."
    )
    apart = compared(*runs("a", [0.1] * 10, seed=1), *runs("b", [1.0] * 10, seed=2))["real", "a", "b"]
    assert (apart.tasks, apart.verdict) == (0, "too few")


def test_a_few_tasks_run_often_are_compared_over_their_seeds():
    generator = np.random.default_rng(1)
    losses = {agent: np.exp(generator.normal(mean, 0.2, (2, 6))) for agent, mean in (("a", -0.3), ("b", 0.0))}
    results = [
        run
        for agent, table in losses.items()
        for seed, column in enumerate(table.T)
        for run in runs(agent, column, seed=seed)
    ]
    found = compared(*results)["real", "a", "b"]
    differences = np.log(losses["a"]) - np.log(losses["b"])
    # Twelve pairs, of tasks that weigh the same.
    exact = stats.permutation_test(
        (differences.ravel(),), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert (found.tasks, found.pairs, found.loss_ratio.over) == (2, 12, "run")
    assert found.p_value == pytest.approx(exact.pvalue)
    assert found.loss_ratio.value == pytest.approx(math.exp(differences.mean()))
    assert found.loss_ratio.low < found.loss_ratio.value < found.loss_ratio.high
    assert "over the seeds of 2 tasks, which stand for no other, better on" in found.sentence
    # One seed less on one task, and the tasks do not stand for themselves.
    assert compared(*results[1:])["real", "a", "b"].verdict == "too few"


def test_few_tasks_weigh_the_same_however_often_they_were_run():
    generator = np.random.default_rng(3)
    differences = [generator.normal(-0.1, 0.2, 6), generator.normal(-0.1, 1.0, 7)]
    results = [
        scored(math.exp(value if agent == "a" else 0.0), agent=agent, task=task, seed=seed)
        for task, values in zip(TASKS, differences, strict=False)
        for seed, value in enumerate(values)
        for agent in ("a", "b")
    ]
    shares = np.concatenate([values / len(values) for values in differences])
    flipped = np.abs(np.array(list(itertools.product((1.0, -1.0), repeat=13))) @ shares)
    found = compared(*results)["real", "a", "b"]
    assert found.p_value == pytest.approx((flipped >= abs(shares.sum()) - 1e-12).mean())
    assert found.loss_ratio.value == pytest.approx(math.exp(np.mean([values.mean() for values in differences])))


def test_thousands_of_seeds_are_tested_in_blocks_of_one_task():
    generator = np.random.default_rng(2)
    noise = generator.normal(0.0, 0.3, (2, 2, 400))
    found = {}
    for name, shift in (("alike", 0.0), ("apart", 0.2)):
        results = [
            scored(math.exp(shift * row + noise[row, task, seed]), agent="ab"[row], task=TASKS[task], seed=seed)
            for row, task, seed in np.ndindex(noise.shape)
        ]
        found[name] = compared(*results)["real", "a", "b"]
    assert (found["alike"].verdict, found["apart"].verdict) == ("no difference", "better")
    theirs = stats.ttest_1samp((noise[0] - noise[1]).ravel(), 0.0).pvalue
    assert found["alike"].p_value == pytest.approx(theirs, abs=0.1)


def test_comparisons_on_data_of_one_kind_are_adjusted_together():
    generator = np.random.default_rng(3)
    results = [
        run
        for kind in ("real", "simulated")
        for agent, mean in (("a", -0.5), ("b", -0.2), ("c", 0.0))
        for run in runs(agent, np.exp(generator.normal(mean, 0.25, 10)), data_kind=kind)
    ]
    found = compared(*results)
    assert len(found) == 6
    for kind in ("real", "simulated"):
        mine = sorted((one for key, one in found.items() if key[0] == kind), key=lambda one: one.p_value)
        assert mine[0].p_holm == pytest.approx(min(1.0, 3.0 * mine[0].p_value))
        assert all(one.p_holm >= one.p_value for one in mine)


def test_a_chance_difference_is_rarely_called_one():
    generator, wrong = np.random.default_rng(7), 0
    for _ in range(60):
        agents = [run for agent in "abcd" for run in runs(agent, np.exp(generator.normal(0.0, 0.3, 10)))]
        wrong += any(one.verdict in {"better", "worse"} for one in compared(*agents).values())
    # At most 5 % of families of comparisons, and three standard errors.
    assert wrong <= 60 * 0.05 + 3.0 * math.sqrt(60 * 0.05 * 0.95)


def test_a_row_is_named_without_what_it_has_not():
    assert label(("react", "gpt")) == "react / gpt"
    assert label(("ridge", "-")) == "ridge"
    assert label(("-",)) == "-"
