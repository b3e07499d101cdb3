"""The description of a process set, in the form that every dataset has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.data.dataset import DatasetInfo
from openfingym.digests import sha256_of_text

if TYPE_CHECKING:
    from openfingym.data.processes.sets import ProcessSet

VERSION = 1
"""Raised whenever a process would draw other paths from the same parameters."""
LICENCE = "Apache-2.0, like the code"


def process_info(known: ProcessSet) -> DatasetInfo:
    """Provenance of a process set. Its digest is that of its law and sizes, not of the paths, which take long to
    draw.
    """
    counts, steps = known.counts, known.shape[0]
    # The names of a law's classes and fields are in this text, and its digest in those of built packages: a rename
    # would change every package of the set.
    identity = f"{VERSION}|{known.name}|{known.process!r}|{counts!r}|{known.decimals!r}"
    return DatasetInfo(
        name=known.name,
        title=known.title,
        kind=known.kind,
        source=known.source,
        provenance=f"drawn at build by openfingym.data.processes; {known.calibration}",
        licence=LICENCE,
        frequency="none",
        measure="mixed",
        unit="see the task",
        calendar=f"none: each path is {steps} steps of its own, on no common clock",
        corporate_actions="none: not prices of anything that pays or splits",
        first=None,
        last=None,
        rows=counts.train + counts.public + counts.private,
        channels=known.process.channels,
        missing=0,
        sha256=sha256_of_text(identity),
        units=(),
    )
