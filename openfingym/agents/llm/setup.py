"""An agent that asks a model or is a command, with its model and its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from openfingym.agents.llm.asking import Sampling
from openfingym.agents.llm.cli import Cli
from openfingym.agents.llm.session import Conversation, Listener, ModelAgent
from openfingym.agents.llm.settings import Answering
from openfingym.models.driven import DrivenModel
from openfingym.models.meter import Allowance, Spent
from openfingym.models.model import LanguageModel
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec


@dataclass(frozen=True)
class ModelSetup:
    """An agent with its model and its limits."""

    agent: ModelAgent
    spec: ModelSpec | None
    """The specification of the model; None for a model that was given as an object, and for a command."""
    model: LanguageModel | None
    """The model, open; None for a command."""
    allowance: Allowance
    """What the agent may spend; turns and time are always limited."""
    prices: PriceTable
    """The table by which the model's costs are counted."""
    listener: Listener | None = None
    """Called with each message as soon as it is there."""
    opened: Callable[[Conversation], None] | None = None
    """Called with the conversation, before the agent begins it."""
    before: Spent | None = None
    """What was spent on the rollout by a launcher that died."""
    charged: Callable[[Spent], None] | None = None
    """Called with what was spent so far, after each completion."""

    @property
    def is_object(self) -> bool:
        """Whether the model is an object of the caller's, and so code that runs with the user's rights."""
        return self.model is not None and self.spec is None

    @property
    def wall_s(self) -> float:
        """Seconds that the rollout may take."""
        assert self.allowance.wall_s is not None
        return self.allowance.wall_s

    @property
    def open_s(self) -> float:
        """Seconds that the rollout may be open: its own time, and the waiting for answers that it is excused."""
        return self.wall_s + (self.model.waits_s if isinstance(self.model, DrivenModel) else 0.0)

    def describe(self) -> dict[str, object]:
        """The model and its limits for a run's ``config.json``: plain values, and no API key."""
        sampling, answering = (getattr(self.agent, name, None) for name in ("sampling", "questions"))
        return {
            "model": self.model.name if self.model else None,
            "base_url": self.spec.endpoint if self.spec else None,
            "stream": self.spec.stream if self.spec else None,
            "tokens": self.spec.tokens if self.spec else None,
            "cutoff": self.spec.cutoff if self.spec else None,
            "sampling": asdict(sampling) if isinstance(sampling, Sampling) else None,
            "answering": asdict(answering) if isinstance(answering, Answering) else None,
            "prices": self.prices.describe(self.spec.name) if self.spec else None,
            "allowance": asdict(self.allowance),
            **({"command_line": self.agent.describe()} if isinstance(self.agent, Cli) else {}),
        }
