"""Stage ``triage``: which kind of task serves a blueprint, and with which parameters."""

from openfingym_forge.triage.stage import TriageStage

__all__ = ["TriageStage"]
