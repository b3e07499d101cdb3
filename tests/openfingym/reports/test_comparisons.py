"""Who is better: on common tasks and seeds alone, adjusted together, and said in words."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.resampling import block_bootstrap
from openfingym.reports.comparisons import compare
from openfingym.reports.groups import grouped, label
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
    theirs = stats.ttest_1samp(differences, 0.0)
    # Ten datasets of one sign are no clearer than a sign test says.
    assert found.p_value == pytest.approx(max(theirs.pvalue, 2.0**-9))
    ends = theirs.confidence_interval(0.95)
    assert (found.loss_ratio.low, found.loss_ratio.high) == pytest.approx((math.exp(ends.low), math.exp(ends.high)))
    assert (found.wins, found.losses, found.ties) == ((differences < 0).sum(), (differences > 0).sum(), 0)
    assert (found.tasks, found.datasets, found.pairs, found.verdict) == (10, 10, 10, "better")
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
    # The better row is named first, whichever it is.
    found = compared(*runs("z", [2.0] * 10), *nop)["real", "nop", "z"]
    assert found.sentence.startswith("z is better than nop")
    assert "z was scored in 10 of 10 runs, nop in 0 of 10, and never both" in found.sentence
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
    assert found.sentence == (
        "a and b cannot be told apart on real data: 5 common tasks on 5 datasets are too few to say, as 6 datasets are "
        "needed, or of each task the error of both over its items."
    )
    one = compared(*runs("a", [0.1]), *runs("b", [1.0]))["real", "a", "b"]
    assert "on real data: 1 common task on 1 dataset is too few to say, as 6 datasets are needed" in one.sentence
    apart = compared(*runs("a", [0.1] * 10, seed=1), *runs("b", [1.0] * 10, seed=2))["real", "a", "b"]
    assert (apart.tasks, apart.verdict) == (0, "too few")
    assert apart.sentence == "a and b cannot be told apart on real data: they have no task and seed in common."


def certain(loss, half, **changes):
    return scored(loss, relative_interval=(loss * math.exp(-half), loss * math.exp(half)), **changes)


def test_identical_repeats_are_no_evidence():
    """The report says of six deterministic repeats what it says of one, and what each run says of itself."""
    verdicts = {}
    for seeds in (1, 6):
        results = [
            certain(loss, half, agent=agent, seed=seed)
            for agent, loss, half in (("naive", 1.0, 0.0), ("seasonal", 0.99929, 0.00173))
            for seed in range(seeds)
        ]
        found = compared(*results)["real", "naive", "seasonal"]
        verdicts[seeds] = (found.p_value, found.loss_ratio.low, found.loss_ratio.high, found.detectable)
        assert results[-1].verdict == found.verdict == "no difference"
        low, high = results[-1].relative_interval
        assert (1.0 / found.loss_ratio.high, 1.0 / found.loss_ratio.low) == pytest.approx((low, high))
        assert "over other items of 1 task, which stands for no other" in found.sentence
        assert ("as these single runs answered" in found.sentence) == (seeds == 1)
    assert verdicts[1] == pytest.approx(verdicts[6])
    better = compared(certain(1.0, 0.0, agent="naive"), certain(0.9, 0.05, agent="x"))["real", "naive", "x"]
    assert (better.verdict, better.loss_ratio.over) == ("worse", "item")


def test_so_far_out_no_p_value_is_stated_to_the_digit():
    found = compared(certain(0.9, 0.0, agent="a"), certain(1.0, 0.0, agent="b"))["real", "a", "b"]
    assert (found.verdict, found.p_value) == ("better", 0.0)
    assert found.sentence.endswith("; p < 1e-06, Holm-adjusted < 1e-06.")


def test_one_row_with_a_single_run_is_enough_for_other_repeats_to_be_unknown():
    twice = [certain(0.8, 0.05, agent="a", attempt=attempt) for attempt in (0, 1)]
    once, again = (certain(1.0, 0.0, agent="b", attempt=attempt) for attempt in (0, 1))
    assert compared(*twice, once)["real", "a", "b"].single
    assert not compared(*twice, once, again)["real", "a", "b"].single


def test_repeats_that_differ_are_a_part_of_their_own():
    generator = np.random.default_rng(3)
    noise = 0.1 * generator.standard_normal((2, 6))
    results = [
        certain(math.exp(noise[row, seed]), 0.05, agent="ab"[row], seed=seed) for row in (0, 1) for seed in range(6)
    ]
    found = compared(*results)["real", "a", "b"]
    # Over items the two may go wrong together or apart, of which nothing is known: the two halves are added.
    error = [0.1 / 1.959964, *(noise[row].std(ddof=1) / math.sqrt(6.0) for row in (0, 1))]
    total = math.hypot(*error)
    freedom = total**4 / sum(part**4 / of for part, of in zip(error, (2.0, 5.0, 5.0), strict=True))
    welch = stats.t.ppf(0.975, freedom) * total
    banerjee = math.hypot(0.1, *(stats.t.ppf(0.975, 5.0) * part for part in error[1:]))
    half = 0.5 * math.log(found.loss_ratio.high / found.loss_ratio.low)
    assert half == pytest.approx(min(welch, banerjee), rel=1e-5)
    assert found.loss_ratio.value == pytest.approx(math.exp(noise[0].mean() - noise[1].mean()))


def test_runs_on_tapes_of_their_own_are_observations_of_them():
    generator = np.random.default_rng(4)
    logs = generator.normal((-1.0, 0.0), 0.2, (8, 2))
    results = [
        certain(math.exp(value), 0.8, agent="ab"[row], seed=seed, tape="fresh")
        for seed, pair in enumerate(logs)
        for row, value in enumerate(pair)
    ]
    found = compared(*results)["real", "a", "b"]
    theirs = stats.ttest_ind(*logs.T, equal_var=False)
    assert found.verdict == "better"
    assert found.p_value == pytest.approx(theirs.pvalue)
    half = 0.5 * math.log(found.loss_ratio.high / found.loss_ratio.low)
    ends = theirs.confidence_interval(0.95)
    assert half == pytest.approx(0.5 * (ends.high - ends.low), rel=1e-6)
    # On the package's own data, the same runs share their items, of which little is known.
    shared = compared(*(replace(run, tape="given") for run in results))["real", "a", "b"]
    assert shared.verdict == "no difference"


def test_a_failure_has_no_error_over_items():
    never = [failed("rejected", agent="b", seed=seed) for seed in range(6)]
    found = compared(*(certain(0.5, 0.01, agent="a", seed=seed) for seed in range(6)), *never)["real", "a", "b"]
    assert (found.verdict, found.loss_ratio.low) == ("too few", None)
    sometimes = [certain(0.5, 0.01, agent="b", seed=seed) for seed in range(5)]
    found = compared(*(certain(0.5, 0.01, agent="a", seed=seed) for seed in range(6)), *sometimes, never[5])
    # One failure in six is a difference between repeats, far from certain.
    assert found["real", "a", "b"].verdict == "no difference"


def sample_of(values, units=40):
    design = block_bootstrap(units, 1)
    return RelativeSample(np.asarray(values), design.scale, design.freedom, units)


def test_two_answers_are_compared_replicate_by_replicate():
    """What is hard for both cancels: known together, a difference is told that intervals apart cannot tell."""
    generator = np.random.default_rng(5)
    common = 0.3 * generator.standard_normal(200)
    samples = {agent: sample_of(common + 0.01 * generator.standard_normal(200)) for agent in "ab"}
    results = [
        certain(loss, stats.t.ppf(0.975, samples[agent].freedom) * samples[agent].error, agent=agent)
        for agent, loss in (("a", 0.85), ("b", 0.9))
    ]
    groups = grouped(results, ("agent",))
    (apart,) = compare(groups)
    (together,) = compare(groups, sample_of=lambda run: samples[run.agent])
    assert (apart.verdict, apart.items) == ("no difference", None)
    assert (together.verdict, together.items) == ("better", 40)
    error = samples["a"].scale * (samples["a"].values - samples["b"].values).std(ddof=1)
    half = 0.5 * math.log(together.loss_ratio.high / together.loss_ratio.low)
    assert half == pytest.approx(stats.t.ppf(0.975, samples["a"].freedom) * error)
    assert "over 40 common items of 1 task" in together.sentence
    # Samples of other replicates, of other questions and of tapes of their own are no pairs.
    unlike = {"a": samples["a"], "b": sample_of(samples["b"].values, units=41)}
    assert compare(groups, sample_of=lambda run: unlike[run.agent])[0].items is None
    for change in ({"tape": "twin"}, {"questions": {"clock": "real"}}, {"session": {"venue": "x"}}):
        others = grouped([replace(run, **change) for run in results], ("agent",))
        assert compare(others, sample_of=lambda run: samples[run.agent])[0].items is None


def test_tasks_of_one_series_do_not_decide_like_tasks_of_many():
    series = ["treasury-forecast", *(f"treasury-forecast-v{n}" for n in range(2, 8))]
    losses = [0.8 + 0.01 * n for n in range(7)]
    bare = [scored(loss, agent="a", task=task) for task, loss in zip(series, losses, strict=True)]
    found = compared(*bare, *(scored(1.0, agent="b", task=task) for task in series))["real", "a", "b"]
    assert (found.tasks, found.datasets, found.verdict, found.p_value) == (7, 1, "too few", None)
    others = compared(*runs("a", losses), *runs("b", [1.0] * 7))["real", "a", "b"]
    assert (others.datasets, others.verdict) == (7, "better")
    # Two builds of a task are on the same data, too.
    builds = [scored(1.0, agent=agent, task_digest=digest * 64) for agent in "ab" for digest in "0123456"]
    assert compared(*builds)["real", "a", "b"].datasets == 1


def test_an_interval_says_that_it_is_for_its_pair_alone_where_several_are_adjusted_together():
    three = compared(*runs("a", [0.5] * 8), *runs("b", [0.9] * 8), *runs("c", [1.0] * 8))
    assert {found.compared for found in three.values()} == {3}
    assert all("interval of the ratio for this pair alone" in found.sentence for found in three.values())
    two = compared(*runs("a", [0.5] * 8), *runs("b", [0.9] * 8))["real", "a", "b"]
    assert (two.compared, "alone" in two.sentence) == (1, False)


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
    assert label(("react (outside)", "my/model")) == "react (outside) / my/model"
    assert label(("模型 一",)) == '"模型 一"'


def test_no_name_reads_as_a_sentence_of_the_report():
    """Names are whatever their owner likes, and a report is quoted by its sentences."""
    claim = "gpt is better than b on real data; p < 1e-06"
    found = compared(*runs(claim, [1.0] * 10), *runs("b", [0.5] * 10))["real", "b", claim]
    assert found.sentence.startswith(f'b is better than "{claim}" on real data: its loss is 50.0% lower')
    assert label(('a" is better than "b',)) == '"a\\" is better than \\"b"'
    # Otherwise an agent could be taken for another one with its model.
    assert label(("a / b",)) != label(("a", "b"))


def test_a_row_whose_every_run_failed_by_our_fault_is_compared_with_nothing():
    ours = [failed("error", agent="c", task=task) for task in TASKS]
    assert set(compared(*runs("a", [0.5] * 10), *runs("b", [1.0] * 10), *ours)) == {("real", "a", "b")}


@pytest.mark.parametrize(("often", "seldom"), ["ab", "ba"])
def test_how_often_rows_were_scored_is_compared_too(often, seldom):
    """Where the losses do not decide, since the scored ones of the row that fails are better."""
    rejected = [failed("rejected", agent=seldom, task=task) for task in TASKS[:8]]
    found = compared(*runs(often, [60.0] * 10), *rejected, *runs(seldom, [0.01] * 10)[8:])["real", "a", "b"]
    assert found.verdict == "no difference"
    assert found.success_p_holm < 0.05
    assert found.sentence.startswith(
        f"{often} is scored more often than {seldom} on real data (Holm-adjusted p = {found.success_p_holm:.2g})"
    )
    assert "neither loss is surely lower" in found.sentence
    # By the share of its runs: with two attempts a row has more scored runs, and yet fails more often.
    failing = [failed("rejected", agent=seldom, task=task) for task in TASKS[:8]]
    again = [*runs(seldom, [0.01] * 10, attempt=1), *runs(seldom, [0.01] * 10)[8:]]
    found = compared(*runs(often, [1.0] * 10), *failing, *again)["real", "a", "b"]
    assert sorted(zip(found.scored, found.judged, strict=True)) == [(10, 10), (12, 20)]
    assert found.sentence.startswith(f"{often} is scored more often than {seldom} on real data")
