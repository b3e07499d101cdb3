"""Seeded processes: the papers' synthetic sets, and simulators for data that cannot be bundled."""

from openfingym.data.processes.sets import (
    BLOCK,
    DEFAULT_SEED,
    SPLITS,
    Counts,
    DrawnSets,
    Process,
    ProcessSet,
    Split,
    draw_sets,
    parameters,
    paths_digest,
    process_set,
    process_sets,
    stream_paths,
)

__all__ = [
    "BLOCK",
    "DEFAULT_SEED",
    "SPLITS",
    "Counts",
    "DrawnSets",
    "Process",
    "ProcessSet",
    "Split",
    "draw_sets",
    "parameters",
    "paths_digest",
    "process_set",
    "process_sets",
    "stream_paths",
]
