"""Papers into a forge: each harvested file gets a folder, also one that cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from openfingym.forge.folder import ForgeFolder, KeptResult, PaperFolder
from openfingym.forge.papers.harvest import Harvested, harvest
from openfingym.forge.stage import StageResult

HARVEST = "harvest"


def take_in(forge: ForgeFolder, source: str | Path) -> Iterator[tuple[PaperFolder, KeptResult]]:
    """Take the papers of a source into a forge; yields each with what the harvest found of it.

    A paper that is there already stays as it is.

    Args:
        forge: the forge, which the caller holds.
        source: a folder, a file, or a query of arXiv that begins with ``arxiv:``.

    Raises:
        UsageError: there is no such file or folder, or the extra ``forge`` is missing.
        StoreError: a paper cannot be kept.
    """
    known = [folder.paper() for folder in forge.papers() if (folder.path / "paper.json").exists()]
    for found in harvest(source, known=known, cache=forge.root / "downloads"):
        folder = forge.paper(found.key)
        made_from = _digest(found)
        kept = folder.result(HARVEST)
        if kept is None or kept.made_from != made_from:
            if found.paper is not None:
                folder.keep_paper(found.paper, found.name, found.original)
            kept = folder.keep_result(_result(found), made_from, 0.0)
        yield folder, kept


def _result(found: Harvested) -> StageResult:
    facts = {"file": found.name, "origin": found.origin}
    if found.reason is None:
        return StageResult(HARVEST, "passed", facts=facts)
    return StageResult(HARVEST, "refused", (found.reason,), facts=facts)


def _digest(found: Harvested) -> str:
    reason = "" if found.reason is None else found.reason.code
    return hashlib.sha256(found.original + reason.encode()).hexdigest()
