"""Stage ``extract``: what a paper says, as a blueprint in which each value is quoted or assumed."""

from openfingym_forge.extraction.stage import ExtractStage

__all__ = ["ExtractStage"]
