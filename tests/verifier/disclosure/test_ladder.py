"""The ladder of a disclosing season: rungs of one height, one ladder a fold, and so many answers and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.metrics.relative_sample import RelativeSample
from openfingym.metrics.sampling_error import SamplingError
from openfingym_verifier.disclosure.ladder import BASELINE, RUNGS, Ladders, rung_of, surely_reached, worst_case_bits
from openfingym_verifier.ledger.rows import Climbed
from openfingym_verifier.policy import LADDER_ANSWERS, LADDER_STEP


@pytest.mark.parametrize(
    ("relative", "rung"),
    [(None, 1.0), (float("nan"), 1.0), (7.0, 1.0), (1.0, 1.0), (0.951, 1.0), (0.95, 0.95), (0.9, 0.9), (0.12, 0.15)],
)
def test_a_rung_is_a_multiple_of_the_step_towards_the_baseline(relative: float | None, rung: float) -> None:
    assert rung_of(relative) == rung


@given(st.floats(0.0, 2.0))
def test_a_rung_is_never_better_than_the_result_nor_worse_than_the_baseline(relative: float) -> None:
    assert min(relative, BASELINE) - 1e-9 <= rung_of(relative) <= BASELINE
    assert relative >= BASELINE or rung_of(relative) - relative < LADDER_STEP + 1e-9


def test_what_is_surely_reached_is_beyond_the_sampling_error() -> None:
    sample = RelativeSample(np.array([-0.2, 0.2]), 1.0, 19.0, 20)
    error = SamplingError(relative_standard_error=0.02, relative_sample=sample)
    # Student's quantile at 1 - 0.01 / 30 with 19 degrees of freedom, from a table.
    assert surely_reached(0.8, error) == pytest.approx(0.8 * math.exp(4.1 * 0.02), rel=0.01)
    assert surely_reached(0.8, SamplingError()) is None, "of what nothing is known, nothing is sure"
    assert rung_of(surely_reached(0.8, error)) == 0.9


def test_only_a_whole_step_above_the_top_raises_it() -> None:
    ladders = Ladders()
    told = [ladders.answer(["t"], relative) for relative in (0.96, 0.94, 0.93, 0.901, 0.9, 0.94, None)]
    assert [one and one.rung for one in told] == [None, 0.95, None, None, 0.9, None, None]
    assert [one and one.top for one in told] == [1.0, 0.95, 0.95, 0.95, 0.9, 0.9, 0.9]
    other = ladders.answer(["u"], 0.94)
    assert (other and other.rung, ladders.top(["t"])) == (0.95, 0.9), "a ladder for each fold"


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.one_of(st.none(), st.floats(0.0, 1.5))), max_size=40
    )
)
def test_a_ladder_that_is_read_from_what_it_said_is_where_it_was(asked: list[tuple[set[str], float | None]]) -> None:
    """Whatever names a fold has, each of them has the lowest top that was told under it, as the ledger computes it."""
    ladders = Ladders()
    told: dict[str, list[float]] = {}
    for names, surely in asked:
        if (said := ladders.answer(names, surely)) is not None:
            for name in names:
                told.setdefault(name, []).append(said.top)
    again = Ladders([Climbed(name, len(tops), min(tops)) for name, tops in told.items()])
    for names in (["a"], ["b"], ["c"], ["a", "b"], ["a", "b", "c"]):
        assert (again.top(names), again.answers(names)) == (ladders.top(names), ladders.answers(names))


def test_after_so_many_answers_it_tells_nothing_more() -> None:
    ladders = Ladders([Climbed("t", LADDER_ANSWERS - 2, 0.8)])
    ladders.count(["t"])
    last = ladders.answer(["t"], 0.7)
    assert (last and last.rung, last and last.answers) == (0.7, LADDER_ANSWERS)
    assert ladders.answer(["t"], 0.1) is None
    assert (ladders.top(["t"]), ladders.answers(["t"])) == (0.7, LADDER_ANSWERS)


def test_the_cost_of_a_ladder_counts_all_that_it_can_say() -> None:
    # Whatever comes, the answers are one of so many sequences: counted here one by one, a ladder of 2 rungs, 3 answers.
    def sequences(answers: int, rungs: int) -> int:
        if not answers:
            return 1
        return sequences(answers - 1, rungs) + sum(sequences(answers - 1, left) for left in range(rungs))

    assert sequences(3, 2) == math.comb(3 + 2, 2)
    assert sequences(6, 4) == math.comb(6 + 4, 4)
    assert worst_case_bits() == math.log2(math.comb(LADDER_ANSWERS + RUNGS, RUNGS)) == pytest.approx(45.4, abs=0.1)
