"""The models of a report, and the endpoints at which they were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.models.prices import LOCAL

if TYPE_CHECKING:
    from openfingym.reports.runs import RunConfig
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class AskedModel:
    """A model at one endpoint."""

    model: str
    """Name of the model."""
    endpoint: str | None
    """Base URL of the endpoint without credentials; None if no run states it, or if a stand-in was started for each
    rollout."""
    runs: int
    """How many runs asked the model there."""

    @property
    def where(self) -> str:
        """The endpoint in words."""
        return self.endpoint or ("started for each rollout" if self.model.startswith(LOCAL) else "not stated")


def asked_models(runs: Iterable[RolloutResult], configs: Mapping[str, RunConfig]) -> list[AskedModel]:
    """Every model that runs asked at every endpoint, sorted by both.

    Args:
        runs: the runs of a report; runs of programs, which ask no model, are left out.
        configs: what a report compares of each rollout's configuration, by the id of the rollout.
    """
    counts = Counter(
        (run.model, configs[run.rollout_id].endpoint if run.rollout_id in configs else None)
        for run in runs
        if run.model is not None
    )
    return [
        AskedModel(*key, count)
        for key, count in sorted(counts.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    ]
