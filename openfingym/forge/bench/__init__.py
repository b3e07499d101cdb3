"""How well a model reads papers: precision and recall of fields, metrics and contradictions against an answer key."""

from openfingym.forge.bench.comparing import PaperMark, compare
from openfingym.forge.bench.key import KeyPaper, read_key

__all__ = ["KeyPaper", "PaperMark", "compare", "read_key"]
