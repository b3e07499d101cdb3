"""Ratios of sums over questions, with intervals that allow for correlation within weeks and within subjects.

The variance of a ratio is clustered two ways (Cameron, Gelbach and Miller 2011): that by weeks, plus that by subjects,
less that by questions of one subject in one week, which both have counted; and never less than the larger of the two.
Each of the three is a jackknife that leaves out one cluster at a time (MacKinnon, Nielsen and Webb 2023). Intervals are
Student's, with one degree of freedom less than there are weeks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.reports.statistics import FEWEST_UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.intp]

LEVEL = 0.95
"""Coverage of the intervals."""


@dataclass(frozen=True)
class ClusteredEstimate:
    """A figure over questions, and its 95 % interval."""

    value: float | None
    """The figure; None if there is no question to take it from."""
    low: float | None
    """Lower end of the interval; None if there are fewer weeks than
    :data:`~openfingym.reports.statistics.FEWEST_UNITS`, if one of them holds the whole denominator, or if all questions
    agree."""
    high: float | None
    """Upper end of the interval; None if ``low`` is."""
    questions: int
    """Number of questions."""
    weeks: int
    """Number of weeks that the questions are from."""


NOTHING = ClusteredEstimate(None, None, None, 0, 0)
"""The estimate of a figure over no question."""


@dataclass(frozen=True)
class RatioTest:
    """A ratio with its standard error, from which it can be tested."""

    value: float
    """The ratio."""
    error: float | None
    """Standard error of the ratio; None if there are too few weeks, or if one of them holds the whole denominator."""
    freedom: float
    """Degrees of freedom of Student's distribution; 0 if there are too few weeks."""
    weeks: int
    """Number of weeks that the questions are from."""

    @property
    def p_value(self) -> float | None:
        """The p value of the two-sided test that the ratio is 0; None if there is no standard error."""
        from scipy.special import stdtr

        if self.error is None:
            return None
        if self.error == 0.0:
            # The ratio is the same in every week and for every subject, so that Student's test would divide by 0. What
            # is left is a sign test: by chance, all weeks have one sign with a probability of 2 * (1/2)^weeks.
            return 1.0 if self.value == 0.0 else 2.0 ** (1 - self.weeks)
        return float(2.0 * stdtr(self.freedom, -abs(self.value) / self.error))


def ratio(part: Floats, whole: Floats, weeks: Places, subjects: Places) -> RatioTest | None:
    """Divide the sum of ``part`` by that of ``whole``, with a standard error.

    Args:
        part: each question's share of the numerator, float64[questions].
        whole: each question's share of the denominator, at least 0, float64[questions].
        weeks: the number of each question's week, intp[questions].
        subjects: the number of each question's subject, intp[questions].

    Returns:
        The ratio; None if the denominator is 0.
    """
    denominator = float(whole.sum())
    if denominator <= 0.0:
        return None
    value = float(part.sum()) / denominator
    # Numbers of weeks are those of the whole season, of which these questions may have only some.
    count = int((np.bincount(weeks) > 0).sum())
    if count < FEWEST_UNITS:
        return RatioTest(value, None, 0.0, count)
    variance = _variance(part, whole, value, weeks, subjects)
    return RatioTest(value, None if variance is None else math.sqrt(variance), count - 1.0, count)


def estimate(
    part: Floats,
    whole: Floats,
    weeks: Places,
    subjects: Places,
    *,
    lost: bool = False,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> ClusteredEstimate:
    """Estimate a ratio, or 1 less a ratio, with its interval.

    Args:
        part: each question's share of the numerator, float64[questions].
        whole: each question's share of the denominator, at least 0, float64[questions].
        weeks: the number of each question's week, intp[questions].
        subjects: the number of each question's subject, intp[questions].
        lost: whether the figure is 1 less the ratio, as a skill is 1 less a ratio of losses.
        bounds: the least and the greatest value that the figure can have, at which its interval is cut off.
    """
    quotient = ratio(part, whole, weeks, subjects)
    if quotient is None:
        return NOTHING
    value = 1.0 - quotient.value if lost else quotient.value
    # If all questions agree, their spread says nothing about how certain the figure is.
    if not quotient.error:
        return ClusteredEstimate(value, None, None, len(part), quotient.weeks)
    half = _half_width(quotient.freedom) * quotient.error
    low, high = max(value - half, bounds[0]), min(value + half, bounds[1])
    return ClusteredEstimate(value, low, high, len(part), quotient.weeks)


def _variance(part: Floats, whole: Floats, value: float, weeks: Places, subjects: Places) -> float | None:
    """Variance of a ratio, clustered by week and by subject; None if one week holds all there is to divide by."""
    # A number for each pair of a week and a subject.
    both = weeks * (int(subjects.max(initial=0)) + 1) + subjects
    by_week = _jackknife(part, whole, value, weeks)
    by_subject = _jackknife(part, whole, value, subjects)
    if by_week is None:
        return None
    # If all questions are about one subject, weeks are the only clusters.
    if by_subject is None:
        return by_week
    shared = _jackknife(part, whole, value, both) or 0.0
    # In a small sample the sum of the three can be less than either, and even negative.
    return max(by_week, by_subject, by_week + by_subject - shared)


def _jackknife(part: Floats, whole: Floats, value: float, codes: Places) -> float | None:
    """Variance of the ratio over samples that leave out one cluster; None if one cluster holds the whole denominator.

    Args:
        part: each question's share of the numerator, float64[questions].
        whole: each question's share of the denominator, float64[questions].
        value: the ratio of all questions.
        codes: the number of each question's cluster, intp[questions].
    """
    _, place = np.unique(codes, return_inverse=True)
    rest_part = part.sum() - np.bincount(place, weights=part)
    rest_whole = whole.sum() - np.bincount(place, weights=whole)
    count = len(rest_whole)
    # A rest of 0 may come out as a little more, since its sum is taken in another order.
    if count < 2 or not (rest_whole > 1e-12 * whole.sum()).all():
        return None
    # About the ratio of all questions, not about the mean of the samples, which errs on the side of a wide interval.
    spread = rest_part / rest_whole - value
    # Ratios that are equal differ by rounding, from which a p value would be made.
    spread[np.abs(spread) < 1e-13] = 0.0
    return float((count - 1.0) / count * (spread * spread).sum())


@lru_cache(maxsize=256)
def _half_width(freedom: float) -> float:
    """Half the width of an interval in standard errors: the quantile of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * LEVEL))
