import itertools

import pytest

from openfingym.answers import Part, Reference, decide

RANGES = Reference(
    rows=tuple(
        (Part("rate", "number", high / 2, rule="between", low=0.0, high=high),) for high in (10.0, 5.0, 20.0, 40.0)
    )
)


@pytest.mark.parametrize("stated", [*itertools.permutations((7, 3, 15, 30)), *itertools.permutations((1, 2, 3, 30))])
def test_rows_that_fit_several_rows_of_the_reference_are_right_in_any_order(stated: tuple[int, ...]) -> None:
    assert decide(RANGES, str(list(stated))).outcome == "right"


def test_no_row_of_an_answer_counts_for_two_rows_of_the_reference() -> None:
    assert decide(RANGES, "[7, 8, 15, 30]").outcome == "wrong"
    assert decide(RANGES, "[3, 30, 31, 32]").outcome == "wrong"
    twice = Reference(
        rows=tuple((Part("rate", "number", 9.0, rule="between", low=0.0, high=high),) for high in (10, 10, 100, 100))
    )
    assert decide(twice, "[50, 60, 5, 70]").outcome == "wrong"
    assert decide(twice, "[50, 60, 5, 7]").outcome == "right"
    many = Reference(rows=tuple((Part("rate", "number", 1.0, rule="within", tolerance=float(n)),) for n in range(80)))
    assert decide(many, str(list(range(1, 81)))).outcome == "right"
    assert decide(many, str(list(range(80, 0, -1)))).outcome == "right"
    assert decide(many, str([1, *range(3, 82)])).outcome == "wrong"
