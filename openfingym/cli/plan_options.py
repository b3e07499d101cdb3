"""The options of ``openfingym rollout`` that state a plan, and the plan that they and a plan's file make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.cli.model_options import ModelOptions
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.rollouts import Plan

RAY = "ray"
"""Word of ``--backend`` that says where rollouts run, and not how programs are isolated."""


@dataclass(frozen=True)
class PlanOptions:
    """The options that state a plan, by the names of the command's arguments; None, empty or False where not given."""

    file: Path | None
    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    no_tools: bool
    seeds: str | None
    attempts: int | None
    model: ModelOptions
    budget: float | None
    """US dollars for the whole run."""
    budget_tokens: int | None
    concurrency: int | None
    backend: str | None
    patience: float | None
    """Seconds to wait for what does not answer."""
    real: bool
    fresh: bool
    split: str | None
    instances: str | None
    questions: str | None
    clock: str | None

    @property
    def on_ray(self) -> bool:
        """Whether rollouts run on the nodes of a Ray cluster."""
        return self.backend == RAY

    def plan(self) -> Plan:
        """The plan of the file, changed by the options; or of the options alone where there is no file.

        Raises:
            UsageError: neither a file nor tasks and agents are given, or a value is not allowed.
        """
        from openfingym.rollouts import Plan

        # Options that were not given change nothing, not even to their defaults: the file's values stay.
        stated = {key: value for key, value in self._by_key().items() if value}
        if self.file is not None:
            plan = Plan.read(self.file, stated)
        elif not self.tasks or not self.agents:
            raise UsageError("say what to run: --tasks and --agent, or --plan FILE")
        else:
            plan = Plan.make(stated, "the options")
        return _without_tools(plan) if self.no_tools else plan

    def _by_key(self) -> dict[str, object]:
        """The options by the keys of a plan."""
        budget = {"cost_usd": self.budget, "tokens": self.budget_tokens}
        return {
            "tasks": self.tasks,
            "agents": self.agents,
            "seeds": _seeds(self.seeds),
            "attempts": self.attempts,
            "models": self.model.model_name,
            "base_url": self.model.base_url,
            "stream": self.model.stream,
            "tokens": self.model.tokens,
            "limits": self.model.limits,
            "budget": {key: value for key, value in budget.items() if value is not None},
            "sampling": self.model.sampling,
            "prices": self.model.prices and str(self.model.prices),
            "concurrency": self.concurrency,
            "backend": None if self.on_ray else self.backend,
            "patience_s": self.patience,
            "real": self.real,
            "fresh": self.fresh,
            "split": self.split,
            "instances": self.instances,
            "questions": self.questions,
            "clock": self.clock,
        }


def _without_tools(plan: Plan) -> Plan:
    """A plan in which every agent that answers questions with tools does so without.

    Raises:
        UsageError: no agent has tools.
    """
    from openfingym.agents import WITH_TOOLS, without_tools

    with_tools = [agent for agent in plan.agents if agent.name.partition(":")[0] in WITH_TOOLS]
    if not with_tools:
        raise UsageError(f"--no-tools: no agent has tools to do without; {' and '.join(WITH_TOOLS)} have")
    changed = [
        agent.model_copy(update={"name": without_tools(agent.name)}) if agent in with_tools else agent
        for agent in plan.agents
    ]
    # By name: agents that differed in their tools alone have become the same one.
    return plan.model_copy(update={"agents": tuple({agent.name: agent for agent in changed}.values())})


def _seeds(text: str | None) -> int | list[int] | None:
    """How many seeds an option states, or which.

    Raises:
        UsageError: the text is neither a number above 0 nor a list of numbers.
    """
    if text is None:
        return None
    try:
        values = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--seeds: expected a count such as 3, or seeds such as 3,5,8; found {text!r}") from None
    if not values or ("," not in text and values[0] < 1):
        raise UsageError(f"--seeds: expected at least one seed; found {text!r}")
    # A comma makes a list, also of a single seed: `5,` is the seed 5, and `5` the first five seeds.
    return values if "," in text else values[0]
