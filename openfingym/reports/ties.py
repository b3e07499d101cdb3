"""Which rows of a report cannot be told apart, as letters: rows without a common letter differ.

This is the compact letter display of Piepho (2004), "An algorithm for a letter-based representation of all-pairwise
comparisons", found by insert and absorb: a set of rows for each letter, split wherever it has two rows that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import TYPE_CHECKING

from openfingym.reports.groups import Row

if TYPE_CHECKING:
    from openfingym.reports.report import Report

BEST = "a"
"""The letter of the best row, and of those that were not told apart from it."""
TOLD_APART = ("better", "worse")
"""Verdicts of a comparison by which its two rows differ."""
SAYING = (*TOLD_APART, "no difference")
"""Verdicts of a comparison that had enough to go by."""


def ties_of(report: Report, data_kind: str, ranked: Sequence[Row]) -> dict[Row, str]:
    """The letters of each row that was compared on data of a kind; rows that share one were not told apart.

    Args:
        report: the report that has the comparisons.
        data_kind: the kind of data.
        ranked: the rows, the best first, which gets the letter ``a``.

    Returns:
        The letters of each row; a row about which no comparison can say anything is left out.
    """
    pairs = [pair for pair in report.comparisons if pair.data_kind == data_kind and pair.verdict in SAYING]
    compared = {row for pair in pairs for row in (pair.a, pair.b)}
    differing = [frozenset((pair.a, pair.b)) for pair in pairs if pair.verdict in TOLD_APART]
    return letters([row for row in ranked if row in compared], differing)


def told_apart(ties: Mapping[Row, str]) -> bool:
    """Whether some row differs from the best one; otherwise there is nothing by which the best would stand out."""
    return any(BEST not in text for text in ties.values())


def letters(ranked: Sequence[Row], differing: Iterable[frozenset[Row]]) -> dict[Row, str]:
    """The letters of each row, so that two rows share one if and only if they do not differ.

    Args:
        ranked: the rows, the best first.
        differing: pairs of rows that differ.
    """
    groups = [frozenset(ranked)]
    for pair in differing:
        split = [group - {row} for group in groups if pair <= group for row in pair]
        groups = [group for group in groups if not pair <= group]
        for part in split:
            # A set within another one says nothing that the other does not say.
            if not any(part <= other for other in groups):
                groups.append(part)
    place = {row: number for number, row in enumerate(ranked)}
    groups.sort(key=lambda group: sorted(place[row] for row in group))
    return {row: "".join(_letter(n) for n, group in enumerate(groups) if row in group) for row in ranked}


def _letter(number: int) -> str:
    """The letter of a group: a to z, then a2 to z2 and so on, which are letters with a number."""
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (f"{turn + 1}" if turn else "")
