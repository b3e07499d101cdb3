"""Settings of rollouts that are the same on every machine that runs them: backend, verifiers, models, places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.agents import Agent
from openfingym.models.endpoint import PATIENCE_S
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec
from openfingym.rollouts.spec import RolloutSpec
from openfingym.verifiers import VerifierAddress


@dataclass(frozen=True)
class ModelAccess:
    """Where language models are reached, and what they cost; keys are in the environment of the process that asks."""

    places: Mapping[str, ModelSpec] = field(default_factory=dict)
    """Models with their endpoints, by name; any other model is at the environment's endpoint."""
    prices: PriceTable | None = None
    """Prices of models; None for the built-in table."""

    def find(self, name: str) -> ModelSpec:
        """A model by its name.

        Raises:
            UsageError: the name is no model's.
        """
        return self.places.get(name) or ModelSpec.parse(name)


@dataclass(frozen=True)
class RolloutSettings:
    """How rollouts are run: the same on this machine and on each node of a cluster."""

    backend: str = "auto"
    """How programs are isolated: ``docker``, ``sandbox``, ``inline``, or ``auto`` for the best there is."""
    verifiers: Mapping[str, VerifierAddress] | None = None
    """Running verifiers, by the names of their tasks, as every machine of the run can reach them; None to start one on
    each machine, whose process holds the labels of all tasks of the run."""
    state: Path | None = None
    """Folder for the ledger of a verifier that is started here; None for a ledger that is removed with its verifier."""
    notes: Path | None = None
    """Folder with a note of each rollout that can be gone on with (:mod:`openfingym.rollouts.resuming`); None where
    no rollout is noted."""
    models: ModelAccess = ModelAccess()
    """Endpoints and prices of the models that are asked."""
    upcoming: tuple[RolloutSpec, ...] = ()
    """Rollouts that will come, so that workspaces can be started for them ahead of need."""
    filed: tuple[str, ...] = ()
    """Digests of who will play (:func:`openfingym.rollouts.spec.player_digest`), of which running verifiers are told
    before anything is shown."""
    places: int = 1
    """The most rollouts that run at once on each machine, and the most workspaces that wait there."""
    patience_s: float = PATIENCE_S
    """Seconds to wait for a model's endpoint, a Docker engine, a verifier that runs elsewhere, or a cluster's first
    node, while it does not answer."""

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents of the rollouts that will come, each once by its name."""
        return tuple({spec.agent.name: spec.agent for spec in self.upcoming}.values())
