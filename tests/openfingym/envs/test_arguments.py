"""What callers give to environments: what is taken as it is, and what is refused as an error of ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from openfingym.envs.arguments import options_of, real_numbers, require_recordable
from openfingym.errors import UsageError

NO_NUMBERS = [
    [10**400, 0, 0],
    np.array([0.1 + 1j, 0.0, 0.0]),
    np.array(["2020-01-01"] * 3, "datetime64[D]"),
    np.array([1, 2, 3], "timedelta64[D]"),
    [np.datetime64("2020-01-01"), np.datetime64("2020-01-02"), np.datetime64("2020-01-03")],
    np.ma.array([0.1, 0.2, 0.3], mask=[True, False, False]),
    np.zeros(3, [("weight", np.float64)]),
    [[0.1], [0.1, 0.2], 0.3],
    "buy",
    object(),
]
"""Actions that are no arrays of real numbers."""


@given(hnp.arrays(hnp.floating_dtypes() | hnp.integer_dtypes() | hnp.boolean_dtypes(), (2, 3)), st.booleans())
def test_real_numbers_are_as_numpy_converts_them(array: np.ndarray, fortran: bool) -> None:  # type: ignore[type-arg]
    given_array = np.asfortranarray(array) if fortran else array
    found = real_numbers(given_array)
    with np.errstate(over="ignore"):
        expected = array.astype(np.float64)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(real_numbers(given_array.tolist()), np.asarray(array.tolist(), np.float64))


def test_nothing_behind_a_mask_is_no_objection() -> None:
    assert real_numbers(np.ma.array([0.1, 0.2])).tolist() == [0.1, 0.2]
    assert type(real_numbers(np.ma.array([0.1, 0.2]))) is np.ndarray


@pytest.mark.parametrize("action", NO_NUMBERS)
def test_what_is_no_array_of_real_numbers_is_refused(action: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        real_numbers(action)


def test_seeds_and_options() -> None:
    for seed in (None, 0, 2**63 - 1):
        require_recordable(seed)
    with pytest.raises(UsageError, match=r"2\^63 - 1"):
        require_recordable(2**63)
    assert options_of(None) == options_of({}) == {}
    asked = {"start": 3}
    assert options_of(asked) == asked
    assert options_of(asked) is not asked
    for wrong in ("x", 5, ["start"], np.zeros(2)):
        with pytest.raises(UsageError, match="expected a dict"):
            options_of(wrong)
