"""Answers in words to questions with one truth: what the truth is, what an answer says, and whether it is right.

Everything here is a pure function of the answer's text and of its :class:`Reference`, so that anybody who has both
comes to the same verdict. An answer that no rule can decide is said to be undecided, and is left to a judge.
"""

from __future__ import annotations

from openfingym.answers.deciding import Outcome, State, Verdict, decide
from openfingym.answers.packing import BYTES, WIDTH, pack, unpack, unpack_rows
from openfingym.answers.reference import Part, Reference, expected

__all__ = [
    "BYTES",
    "WIDTH",
    "Outcome",
    "Part",
    "Reference",
    "State",
    "Verdict",
    "decide",
    "expected",
    "pack",
    "unpack",
    "unpack_rows",
]
