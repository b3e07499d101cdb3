"""Where a model's cut-off is against the days that it is asked about."""

from __future__ import annotations

from datetime import date

import pytest

from openfingym.errors import UsageError
from openfingym.models.cutoffs import last_day, standing

FIRST, LAST = date(2016, 7, 11), date(2017, 3, 31)


@pytest.mark.parametrize(
    ("cutoff", "where"),
    [
        ("2016-06", "before"),
        ("2016-07-10", "before"),
        ("2016-07-11", "within"),
        ("2016-07", "within"),
        ("2017-03-30", "within"),
        ("2017-03", "after"),
        ("2024-06", "after"),
    ],
)
def test_a_cutoff_is_before_within_or_after_a_season(cutoff: str, where: str) -> None:
    assert standing(cutoff, FIRST, LAST) == where


def test_a_month_counts_to_its_last_day() -> None:
    assert (last_day("2024-02"), last_day("2024-02-03")) == (date(2024, 2, 29), date(2024, 2, 3))


@pytest.mark.parametrize("cutoff", ["2016", "2016-13", "June 2016", ""])
def test_what_is_no_cutoff_is_refused(cutoff: str) -> None:
    with pytest.raises(UsageError, match="cut-off"):
        standing(cutoff, FIRST, LAST)


def test_days_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UsageError, match="order"):
        standing("2016-06", LAST, FIRST)
