"""Searching the public half of a task for hidden values.

:func:`find_leaks` looks for the hidden values themselves in every file, whatever the encoding;
:func:`suspicious_features` looks for public inputs that tell more of hidden targets than the same inputs tell of
training targets.

The words of this room: a *reading* is a way in which hidden values may have been written out (as logarithms, backwards,
as ranks), a *run* or *block* a few of them in a row, a *fingerprint* the hash of a run, and a *stream* a sequence of
numbers that a public file may hold. A *trace* is what is measured of a text besides what it says, such as the lengths
of its words, and *innovations* are what is new in hidden values. What a run or a trace *tells* is its information in
bits: how unlikely it is that an honest file holds the same by chance.
"""

from __future__ import annotations

from openfingym.leaks.findings import Found, Leak
from openfingym.leaks.search import LeakSearch, find_leak, find_leaks
from openfingym.leaks.suspicion import Suspicion, suspicious_features

__all__ = ["Found", "Leak", "LeakSearch", "Suspicion", "find_leak", "find_leaks", "suspicious_features"]
