"""The chain of stages that one paper goes through, made from the settings of its forge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_forge.folder import ForgeFolder, PaperFolder
    from openfingym_forge.stage import ForgeAsking, Stage


def stages_of(forge: ForgeFolder, paper: PaperFolder) -> tuple[ForgeAsking, Sequence[Stage]]:
    """What a paper is worked on with.

    Args:
        forge: the forge, whose settings name the models, the budget and what programs run in.
        paper: the folder of the paper, in whose journal everything asked is recorded.

    Returns:
        The models, to be asked for this paper, and the stages from ``screen`` to ``prove`` in order.

    Raises:
        UsageError: a model's name is none, or its price is not known where there is a limit on money.
    """
    # Each stage brings its own libraries, which the commands that only look at a forge do not need.
    from openfingym_forge.asking import RoleModels
    from openfingym_forge.assembly.stage import AssembleStage
    from openfingym_forge.data.stage import DataStage
    from openfingym_forge.extraction.stage import ExtractStage
    from openfingym_forge.papers.stages import ReadStage, ScreenStage
    from openfingym_forge.proving.stage import ProveStage
    from openfingym_forge.rewards.stage import RewardsStage
    from openfingym_forge.triage.stage import TriageStage

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
