"""What the caller of a rollout is told while it runs, and by what it may cancel it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.agents.llm.session import Conversation, Listener
    from openfingym_runtime.job import Outcome


@dataclass(frozen=True)
class RolloutHooks:
    """Calls into the caller's code, and an event that the caller may set, during one rollout."""

    cancel: threading.Event | None = None
    """Ends the agent early when set; None where nobody cancels."""
    listener: Listener | None = None
    """Called with what an agent with a model says and does, as it does so, in another thread."""
    opened: Callable[[Conversation], None] | None = None
    """Called with the conversation of an agent with a model before it begins, in the thread of its event loop; the
    conversation may be read from any thread."""
    ended: Callable[[Outcome], None] | None = None
    """Called with how the program ended and what it printed, before it is scored; not called for an agent that runs
    many programs."""
