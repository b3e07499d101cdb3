"""The stages of the forge, as one paper goes through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.forge.folder import ForgeFolder, PaperFolder
    from openfingym.forge.stage import ForgeAsking, Stage


def stages_of(forge: ForgeFolder, paper: PaperFolder) -> tuple[ForgeAsking, Sequence[Stage]]:
    """The models of a forge, asked for one paper, and the stages up to ``prove``."""
    from openfingym.forge.asking import RoleModels
    from openfingym.forge.assembly.stage import AssembleStage
    from openfingym.forge.data.stage import DataStage
    from openfingym.forge.extraction.stage import ExtractStage
    from openfingym.forge.papers.stages import ReadStage, ScreenStage
    from openfingym.forge.proving.stage import ProveStage
    from openfingym.forge.rewards.stage import RewardsStage
    from openfingym.forge.triage.stage import TriageStage

    settings = forge.settings
    asking = RoleModels(
        paper.path,
        settings.model,
        settings.reviewer,
        base_url=settings.base_url,
        budget_usd=settings.budget_usd,
        budget_tokens=settings.budget_tokens,
    )
    stages: list[Stage] = [
        ScreenStage(),
        ReadStage(),
        ExtractStage(),
        TriageStage(),
        DataStage(settings.local_hosts),
        RewardsStage(),
        AssembleStage(),
        ProveStage(settings.backend),
    ]
    return asking, stages
