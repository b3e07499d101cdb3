"""How rollouts are run, wherever that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from openfingym.models.endpoint import PATIENCE_S
from openfingym.models.prices import PriceTable
from openfingym.models.spec import ModelSpec
from openfingym.rollouts.spec import RolloutSpec
from openfingym.verifiers import VerifierAddress


@dataclass(frozen=True)
class ModelAccess:
    """Where language models are reached, and what they cost; the key is in the environment of the process that asks."""

    places: Mapping[str, ModelSpec] = field(default_factory=dict)
    """Endpoints of models, by the models' names; any other model is at the environment's endpoint."""
    prices: PriceTable | None = None
    """None for the built-in table."""

    def find(self, name: str) -> ModelSpec:
        """A model by its name.

        Raises:
            UsageError: there is none of that name.
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
    """Folder of the ledger of a verifier that is started here, which stays; None for one that goes with it."""
    notes: Path | None = None
    """Folder with a note of each rollout that can be gone on with (:mod:`openfingym.rollouts.resuming`); None where
    none is."""
    models: ModelAccess = ModelAccess()
    upcoming: tuple[RolloutSpec, ...] = ()
    """Rollouts that will come, so that their workspaces can be started before they do."""
    places: int = 1
    """Rollouts at once on each machine, and workspaces that may wait there."""
    patience_s: float = PATIENCE_S
    """Seconds to wait for a model's endpoint, a Docker engine, a verifier that runs elsewhere, or a cluster's first
    node, while it does not answer."""
