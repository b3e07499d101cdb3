"""What a party was shown before: its earlier rollouts on the hidden data that it plays now.

Whatever is stepped through shows its outcomes, and what a party was shown in one rollout it knows in the next. What
counts is whether the *agent* could have known: one that was filed before its party was first shown the data was made
without them. A rollout of any other agent is *replayed*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from openfingym.task.exposure import is_told
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.rows import Playing, RolloutRow
    from openfingym_verifier.scoring.truth import HiddenTask


@dataclass(frozen=True)
class ShownBefore:
    """What a rollout's party had been shown of its hidden data."""

    shown_before: int = 0
    """In how many other rollouts of the party the same hidden data were shown, before this one ended."""
    replayed: bool = False
    """Whether its agent came into being after that, as far as the verifier knows; never under the local policy."""


@cache
def shipped_digests() -> frozenset[str]:
    """Digests of the programs that come with this library, which were there before anything was shown."""
    # Imported here, since few rollouts need them and a verifier that starts needs none.
    from openfingym.agents import BUILTIN, Agent, resolve
    from openfingym.kinds import KINDS
    from openfingym.rollouts.spec import agent_digest

    # The oracle, which is a check too, runs no program: it knows the hidden data.
    named = [resolve(name) for name, record in BUILTIN.items() if record.role in {"baseline", "check"}]
    programs = [agent for agent in named if agent.kind == "program"]
    own = (kind.naive_program for kind in KINDS.values())
    programs += [Agent("naive", "program", program, trusted=True) for program in own if program is not None]
    return frozenset(map(agent_digest, programs))


class PastShowings:
    """Says what parties had been shown, by the ledger of one verifier, which knows what each task that was ever played
    shows and hides.
    """

    def __init__(self, ledger: Ledger, threads: Executor) -> None:
        self._ledger = ledger
        self._threads = threads

    async def of(self, rollout: RolloutRow, task: HiddenTask) -> ShownBefore:
        """What the party of a rollout that ends now had been shown of its hidden data.

        Args:
            rollout: the row of the rollout.
            task: what it was on.
        """
        # What nobody sees the outcomes of, before it is scored, cannot be replayed; nor can what one rollout alone has.
        if not task.sequential or task.split != "test" or rollout.tape != "given" or rollout.questions is not None:
            return ShownBefore()
        if rollout.session is not None and rollout.session.get("tape") is None:
            return ShownBefore()
        return await in_threads(self._threads, self._read, rollout, task)

    async def may_know(self, rollout: RolloutRow, task: HiddenTask) -> bool:
        """Whether the party of a rollout that is created now was shown hidden data of its given tape, or could still be
        by a rollout that is open.
        """

        def read() -> bool:
            played = self._ledger.may_have_played(rollout.principal, rollout.created_ns)
            return any(_has_shown(one, task) for one in played)

        return await in_threads(self._threads, read)

    def _read(self, rollout: RolloutRow, task: HiddenTask) -> ShownBefore:
        shown = self._ledger.shown(rollout)
        if rollout.session is None:
            shown = [one for one in shown if _has_shown(one, task)]
        count = sum(one.rollouts for one in shown)
        if not shown or rollout.policy == "local" or rollout.agent_digest in shipped_digests():
            return ShownBefore(count)
        # An agent that its caller does not name may be made by what was shown up to now.
        filed_ns = self._ledger.filed(rollout.principal).get(rollout.agent_digest or "")
        first_ns = min(one.first_ns for one in shown)
        return ShownBefore(count, replayed=filed_ns is None or filed_ns > first_ns)


def _has_shown(played: Playing, task: HiddenTask) -> bool:
    """Whether what was played shows something of a task's given tape."""
    if played.hidden_digest == task.hidden_digest:
        return True
    hidden, shown = task.given_exposure, played.exposure
    if hidden is None or shown is None:
        return played.task == task.name
    # An author's data have their digest for a name, and with one row more they have another.
    own = task.spec.dataset.file is not None and played.task == task.name
    return own or is_told(hidden, shown)
