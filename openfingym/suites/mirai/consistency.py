"""Self-consistency: one forecast from several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from openfingym.errors import UsageError
from openfingym.suites.mirai.answers import CodeAnswer, labels

VOTES = 2
"""Forecasts that must name a code; the paper's text has more than two, its code at least two."""


def voted(answers: Sequence[CodeAnswer], votes: int = VOTES) -> CodeAnswer:
    """The codes that enough forecasts name, of either level; of fewer forecasts than votes, all must.

    A first-level code stays if it has the votes itself, or one of its second-level codes does. Answers that could not
    be parsed are to be left out before.

    Raises:
        UsageError: there is no forecast.
    """
    if not answers:
        raise UsageError("there is no forecast to vote on; at least one must have been parsed")
    needed = min(votes, len(answers))
    counts = Counter(
        code for answer in answers for first, seconds in answer.codes.items() for code in (first, *seconds)
    )
    kept = [code for code in labels() if counts[code] >= needed]
    firsts = dict.fromkeys(sorted({code[:2] for code in kept}))
    return CodeAnswer({first: tuple(code for code in kept if len(code) == 3 and code[:2] == first) for first in firsts})
