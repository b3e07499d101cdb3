"""The models of a report, and the endpoints they were asked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.models.prices import LOCAL

if TYPE_CHECKING:
    from openfingym.reports.runs import Made
    from openfingym.results import RolloutResult


@dataclass(frozen=True)
class AskedModel:
    """A model at one endpoint."""

    model: str
    endpoint: str | None
    """Base URL without credentials; None where it is not stated, and of a stand-in that was started for its rollout."""
    runs: int

    @property
    def where(self) -> str:
        """The endpoint in words."""
        return self.endpoint or ("started for each rollout" if self.model.startswith(LOCAL) else "not stated")


def asked_models(runs: Iterable[RolloutResult], made: Mapping[str, Made]) -> list[AskedModel]:
    """Every model of ``runs`` at every endpoint, in order of both.

    Args:
        runs: the runs of a report; those of programs asked no model.
        made: what rollouts were made of, by id.
    """
    found = Counter(
        (run.model, made[run.rollout_id].endpoint if run.rollout_id in made else None)
        for run in runs
        if run.model is not None
    )
    return [
        AskedModel(*key, count) for key, count in sorted(found.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    ]
