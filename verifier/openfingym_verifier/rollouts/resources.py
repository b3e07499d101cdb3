"""What the services of one verifier work with: its ledger, its tapes, its scores and its threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from openfingym_verifier.disclosure.rations import Rations
    from openfingym_verifier.episodes.sessions import Sessions
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.storage import Storage
    from openfingym_verifier.rollouts.deferral import Deferrals
    from openfingym_verifier.rollouts.tapes import Tapes
    from openfingym_verifier.scoring.grading import Grading
    from openfingym_verifier.telemetry import Telemetry


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The parts of one verifier that its services for submissions, episodes and results have in common."""

    ledger: Ledger
    """The durable record, which everything is written to before it is answered."""
    tapes: Tapes
    """Gives the task of each rollout, with the hidden data that the rollout is on."""
    sessions: Sessions
    """The live sessions that are the private episodes of some rollouts."""
    grading: Grading
    """Computes scores, and keeps those that take long."""
    rations: Rations
    """Counts what each principal has been told."""
    storage: Storage
    """Counts what each participant has stored."""
    deferrals: Deferrals
    """Knows what rollouts were asked about what has not happened yet."""
    telemetry: Telemetry
    """Counts requests and measures how long they take."""
    threads: Executor
    """Threads for work that blocks, such as reading the ledger."""
