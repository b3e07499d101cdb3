"""Measuring how well a model turns papers into tasks: what it read, and what became of it, against an answer key."""

from openfingym_forge.bench.comparing import PaperMark, compare
from openfingym_forge.bench.key import KeyPaper, read_key
from openfingym_forge.bench.marking import BenchPaper, ForgeBench, mark_forge, side_by_side
from openfingym_forge.bench.running import BenchCorpus, run_bench, shipped_corpus

__all__ = [
    "BenchCorpus",
    "BenchPaper",
    "ForgeBench",
    "KeyPaper",
    "PaperMark",
    "compare",
    "mark_forge",
    "read_key",
    "run_bench",
    "shipped_corpus",
    "side_by_side",
]
