"""Asking models in their roles and running the code that they write: journal, budget, sandbox, and the loop of
generator and reviewer.
"""

from openfingym.forge.asking.asked import RoleModels
from openfingym.forge.asking.journal import PaperJournal
from openfingym.forge.asking.loop import Produced, produce
from openfingym.forge.asking.replies import code_in
from openfingym.forge.asking.sandboxed import CodeLimits, CodeOutcome, run_in_sandbox

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
