"""Stage ``data``: what a blueprint asks for is found in the library, or obtained, and judged."""

from openfingym.forge.data.stage import DataStage

__all__ = ["DataStage"]
