"""Keys of problems, which follow from what they are about alone."""

from __future__ import annotations

import functools
import re

from openfingym_suites.findeepforecast.problem import Figure


def figure_key(figure: Figure, horizon: str) -> str:
    """The key of a problem about a figure, which a season asks once for each horizon.

    Args:
        figure: the figure that is asked about.
        horizon: the horizon of the problem.

    Example:
        >>> from datetime import date
        >>> figure_key(Figure("US:CPI", "level", date(2025, 10, 31)), "week")
        'US:CPI.level.2025-10-31.week'
        >>> figure_key(Figure("7203.T", "Return on Assets (ROA)", date(2025, 9, 30)), "quarter")
        '7203.T.Return-on-Assets-ROA.2025-09-30.quarter'
    """
    parts = (figure.subject, figure.measure, figure.period.isoformat(), horizon)
    return ".".join(plain(part) for part in parts)


@functools.lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """A text as a part of a key: letters, digits, dots, colons, underscores and dashes; the rest becomes dashes."""
    return re.sub(r"[^A-Za-z0-9.:_]+", "-", text).strip("-")
