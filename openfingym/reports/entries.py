"""The verdicts of a season's board: which primary entries are better than the baselines of their tasks.

Of a thousand entries without skill the luckiest looks good. So the p-values of all primary entries of a season are
adjusted together: by Holm's method, by which "better" is said, so that with at least 95 % nobody without skill is
called better; and by Benjamini and Hochberg's, which bounds the share of false finds among the finds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from openfingym.reports.statistics import Figure, Part, benjamini_hochberg, holm, over_items

SIGNIFICANT = 0.05
"""Adjusted p-value below which an entry is better than the baseline."""
EntryVerdict = Literal["better", "not told apart"]


@dataclass(frozen=True)
class EntryTest:
    """What a board says of a primary entry."""

    p_holm: float
    """The p-value, adjusted by Holm's method for all primary entries of the season."""
    q: float
    """The same by Benjamini and Hochberg's method: the false discovery rate at which it would be found."""
    verdict: EntryVerdict
    """Whether it is better than the baseline."""


def verdicts_of(p_values: Sequence[float]) -> list[EntryTest]:
    """What is said of each primary entry of a season, in the order given."""
    adjusted = zip(holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [EntryTest(p, q, "better" if p < SIGNIFICANT else "not told apart") for p, q in adjusted]


def p_value_of(result: Mapping[str, object]) -> float:
    """p-value of the two-sided test that an answer is as good as the baseline; 1 of one that is not better, or that has
    no score or no sampling error, about which nothing can be said.

    Args:
        result: a verifier's result as it was computed.
    """
    relative, error, sample = (result.get(f"relative_{name}") for name in ("total", "standard_error", "sample"))
    if not isinstance(relative, float) or not isinstance(error, float) or not isinstance(sample, Mapping):
        return 1.0
    return p_value(relative, error, float(sample["freedom"]), int(sample["units"]))


def p_value(relative: float, error: float, freedom: float, units: int) -> float:
    """p-value of the two-sided test that an answer is as good as the baseline; 1 of one that is not better.

    Args:
        relative: the relative total.
        error: standard error of its logarithm.
        freedom: degrees of freedom of the error.
        units: how many units of the fold, such as windows, the error is from.
    """
    known = over_items([Figure(math.log(relative), Part.known(error, freedom), ())], [0])
    if known is None or known.value >= 0.0:
        return 1.0
    # Never below that of a sign test, in which all units have one sign: far out, Student's distribution rests on the
    # normal law of few units.
    return min(1.0, max(known.p_value, 2.0 ** (1 - units)))
