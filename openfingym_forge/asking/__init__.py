"""Asking models in their roles and running the code that they write: journal, budget, sandbox, and the loop of
generator and reviewer.
"""

from openfingym_forge.asking.asked import RoleModels
from openfingym_forge.asking.journal import PaperJournal
from openfingym_forge.asking.loop import Produced, produce
from openfingym_forge.asking.replies import code_in
from openfingym_forge.asking.sandboxed import CodeLimits, CodeOutcome, run_in_sandbox

__all__ = [
    "CodeLimits",
    "CodeOutcome",
    "PaperJournal",
    "Produced",
    "RoleModels",
    "code_in",
    "produce",
    "run_in_sandbox",
]
