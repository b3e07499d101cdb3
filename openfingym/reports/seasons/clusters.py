"""Ratios of sums over questions, with intervals that know that questions of one week and of one subject move together.

A variance is that of the jackknife which leaves out a week at a time, plus that of the subjects, less that of the
questions of one subject in one week, which both have counted (Cameron, Gelbach and Miller 2011; of the jackknife,
MacKinnon, Nielsen and Webb 2023); at least the larger of the two. Intervals are Student's with one degree of freedom
less than there are weeks.
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


@dataclass(frozen=True)
class ClusteredEstimate:
    """A figure over questions, and its 95 % interval."""

    value: float | None
    """None where nothing is known of it."""
    low: float | None
    """None, as ``high``, of fewer weeks than :data:`~openfingym.reports.statistics.FEWEST_UNITS`."""
    high: float | None
    questions: int
    weeks: int


NOTHING = ClusteredEstimate(None, None, None, 0, 0)


@dataclass(frozen=True)
class RatioTest:
    """A ratio with what it takes to test it."""

    value: float
    error: float | None
    """Its standard error; None of too few weeks."""
    freedom: float
    weeks: int

    @property
    def p_value(self) -> float | None:
        """Of the two-sided test that the ratio is 0."""
        from scipy.special import stdtr

        if self.error is None:
            return None
        if self.error == 0.0:
            # The same in every week and of every subject: each week had an even chance of either sign.
            return 1.0 if self.value == 0.0 else 2.0 ** (1 - self.weeks)
        return float(2.0 * stdtr(self.freedom, -abs(self.value) / self.error))


def ratio(part: Floats, whole: Floats, weeks: Places, subjects: Places) -> RatioTest | None:
    """The sum of ``part`` over that of ``whole``.

    Args:
        part: float64[questions], what is divided.
        whole: float64[questions], what it is divided by, at least 0.
        weeks: intp[questions], a number of each question's week.
        subjects: intp[questions], a number of each question's subject.

    Returns:
        None where there is nothing to divide by.
    """
    below = float(whole.sum())
    if below <= 0.0:
        return None
    value = float(part.sum()) / below
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
    """A ratio as :func:`ratio` has it, with its interval.

    Args:
        part: float64[questions].
        whole: float64[questions].
        weeks: intp[questions].
        subjects: intp[questions].
        lost: whether 1 less the ratio is meant, as of a skill.
        bounds: least and greatest value that the figure can have; an interval is cut there.
    """
    found = ratio(part, whole, weeks, subjects)
    if found is None:
        return NOTHING
    value = 1.0 - found.value if lost else found.value
    # Where all questions agree, their spread says nothing of how sure the figure is.
    if not found.error:
        return ClusteredEstimate(value, None, None, len(part), found.weeks)
    half = _reach(found.freedom) * found.error
    low, high = max(value - half, bounds[0]), min(value + half, bounds[1])
    return ClusteredEstimate(value, low, high, len(part), found.weeks)


def _variance(part: Floats, whole: Floats, value: float, weeks: Places, subjects: Places) -> float | None:
    both = weeks * (int(subjects.max(initial=0)) + 1) + subjects
    by_week = _jackknife(part, whole, value, weeks)
    by_subject = _jackknife(part, whole, value, subjects)
    if by_week is None:
        return None
    if by_subject is None:  # all of one subject, of which weeks are the only clusters
        return by_week
    shared = _jackknife(part, whole, value, both) or 0.0
    return max(by_week, by_subject, by_week + by_subject - shared)


def _jackknife(part: Floats, whole: Floats, value: float, codes: Places) -> float | None:
    """Variance of the ratio where one cluster at a time is left out; None where one holds all there is."""
    _, place = np.unique(codes, return_inverse=True)
    rest_part = part.sum() - np.bincount(place, weights=part)
    rest_whole = whole.sum() - np.bincount(place, weights=whole)
    count = len(rest_whole)
    if count < 2 or not (rest_whole > 1e-12 * whole.sum()).all():
        return None
    spread = rest_part / rest_whole - value
    # Of equal ratios, sums in another order differ by rounding.
    spread[np.abs(spread) < 1e-13] = 0.0
    return float((count - 1.0) / count * (spread * spread).sum())


@lru_cache(maxsize=256)
def _reach(freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * LEVEL))
