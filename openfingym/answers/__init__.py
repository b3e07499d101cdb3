"""Answers in words to questions with one truth: what the truth is, what an answer says, and whether it is right.

Everything here is a pure function of the answer's text and of its :class:`Reference`, so that anybody who has both
comes to the same verdict. An answer that no rule can decide is said to be undecided, and is left to a judge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.answers.deciding import decide
    from openfingym.answers.reference import Part, Reference

__all__ = [
    "Part",
    "Reference",
    "decide",
]

_HOMES = {
    "Part": "reference",
    "Reference": "reference",
    "decide": "deciding",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
