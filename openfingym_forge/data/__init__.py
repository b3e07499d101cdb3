"""Stage ``data``: the data of a blueprint are found in the library or downloaded, and judged."""

from openfingym_forge.data.stage import DataStage

__all__ = ["DataStage"]
