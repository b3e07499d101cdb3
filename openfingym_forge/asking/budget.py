"""The budget of a forge, in money and tokens, over all its papers and over all processes that work in it.

What was spent is read from the journals of the papers, so that nothing is counted twice and nothing is lost with a
process. It is compared with the budget before each request: at most one answer per process goes beyond the budget.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from openfingym.errors import BudgetSpentError
from openfingym.models.messages import CHARACTERS_A_TOKEN
from openfingym_forge.asking.journal import NAME, lines_from


@dataclass(frozen=True)
class ForgeSpent:
    """What a forge has spent."""

    tokens: int = 0
    """Tokens of prompts and answers together."""
    cost_usd: float = 0.0
    """US dollars that the answers with a known price cost."""
    answers: int = 0
    """Number of answers."""
    unpriced: int = 0
    """Number of answers whose price is not known."""


class ForgeBudget:
    """Limits on what a forge may spend; None for no limit."""

    def __init__(self, papers: Path, usd: float | None, tokens: int | None) -> None:
        """A budget.

        Args:
            papers: folder that holds the folders of all papers, each with its journal.
            usd: US dollars that may be spent; None for no limit.
            tokens: tokens that may be used; None for no limit.
        """
        self.usd, self.tokens = usd, tokens
        self._papers = papers
        # Offset behind what was read of each journal: they only grow, and are read on from there.
        self._read: dict[Path, int] = {}
        self._spent = ForgeSpent()
        self._lock = threading.Lock()

    def spent(self) -> ForgeSpent:
        """What all papers have spent until now, in this process and in others."""
        with self._lock:
            for path in sorted(self._papers.glob(f"*/{NAME}")):
                entries, self._read[path] = lines_from(path, self._read.get(path, 0))
                for entry in entries:
                    if entry.get("kind") == "asked":
                        self._spent = _with(self._spent, entry)
            return self._spent

    def require(self, prompt: str) -> None:
        """Refuse a request that the budget does not allow.

        Args:
            prompt: the prompt of the request.

        Raises:
            BudgetSpentError: the money or the tokens are spent, or the prompt alone takes more tokens than are left.
        """
        if self.usd is None and self.tokens is None:
            return
        spent = self.spent()
        if self.usd is not None and spent.cost_usd >= self.usd:
            raise BudgetSpentError(
                f"the budget of {self.usd:g} US dollars is spent ({spent.cost_usd:.4f} by {spent.answers} answers); "
                "give more with --budget, and what is done is not asked for again"
            )
        # About as many tokens: the exact number is the endpoint's to say, and comes with the answer.
        needed = len(prompt) // CHARACTERS_A_TOKEN
        if self.tokens is not None and spent.tokens + needed >= self.tokens:
            raise BudgetSpentError(
                f"the budget of {self.tokens} tokens is spent ({spent.tokens} by {spent.answers} answers, and the next "
                f"prompt takes about {needed}); give more with --max-tokens, and what is done is not asked again"
            )


def _with(spent: ForgeSpent, entry: dict[str, object]) -> ForgeSpent:
    """What is spent with one more answer of a journal."""
    tokens, cost = entry.get("tokens"), entry.get("cost_usd")
    return ForgeSpent(
        spent.tokens + (tokens if isinstance(tokens, int) else 0),
        spent.cost_usd + (float(cost) if isinstance(cost, int | float) else 0.0),
        spent.answers + 1,
        spent.unpriced + (cost is None),
    )
