"""A place in a text that states a value for a part."""

from __future__ import annotations

from typing import NamedTuple


class Candidate(NamedTuple):
    """A place in a text that states a value for a part."""

    start: int
    """Index of the first character of the place."""
    end: int
    """Index after the last character of the place."""
    right: bool | None
    """Whether the value is right; None if no rule can tell, since it is rounded too far or has two meanings."""
    loose: bool
    """Whether the value is an end of a range, or a bound, and so is no answer by itself."""
