"""Papers into a forge: each harvested file gets a folder, also one that cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from openfingym_forge.folder import ForgeFolder, KeptResult, PaperFolder, UnreadableRecordError
from openfingym_forge.paper import Paper
from openfingym_forge.papers.harvest import Harvested, harvest
from openfingym_forge.stage import StageResult

HARVEST = "harvest"


def take_in(forge: ForgeFolder, source: str | Path) -> Iterator[tuple[PaperFolder, KeptResult | None]]:
    """Take the papers of a source into a forge; yields each with the result of its harvest, or None where that cannot
    be read.

    A paper that was taken in before stays as it is. A record that is damaged stays as well, for somebody to look at:
    work on its paper ends there with its name, and the other papers go on.

    Args:
        forge: the forge, whose lock the caller holds.
        source: a folder, a file, or a query of arXiv that begins with ``arxiv:``.

    Raises:
        UsageError: there is no such file or folder, or the extra ``forge`` is missing.
        DataError: arXiv refuses the query, or cannot be reached.
        StoreError: a paper cannot be written.
    """
    for harvested in harvest(source, known=_accepted_before(forge), cache=forge.root / "downloads"):
        folder = forge.paper(harvested.key)
        try:
            kept = folder.result(HARVEST)
        except UnreadableRecordError:
            yield folder, None
            continue
        yield folder, _taken_in(folder, kept, harvested)


def _taken_in(folder: PaperFolder, kept: KeptResult | None, harvested: Harvested) -> KeptResult:
    """The result of a paper's harvest, written with the paper where either is missing."""
    made_from = _digest(harvested)
    # What passed once is never refused later, as the duplicate of a paper that came after it: stages rest on it.
    is_new = kept is None or (kept.made_from != made_from and kept.result.state != "passed")
    # A paper that was removed because it was damaged comes back, and keeps what its stages found.
    if harvested.paper is not None and (is_new or not folder.has_paper):
        folder.keep_paper(harvested.paper, harvested.name, harvested.original)
    # After the paper, since the pipeline takes this record for the sign that the paper is there.
    if kept is None or is_new:
        kept = folder.keep_result(_result(harvested), made_from, 0.0)
    return kept


def _accepted_before(forge: ForgeFolder) -> list[Paper]:
    """The papers that an earlier harvest accepted, without those whose records cannot be read."""
    accepted = []
    for folder in forge.papers():
        try:
            kept = folder.result(HARVEST)
            # A duplicate that was refused must not stand for its original.
            if kept is not None and kept.result.state == "passed":
                accepted.append(folder.paper())
        except UnreadableRecordError:
            continue
    return accepted


def _result(harvested: Harvested) -> StageResult:
    facts = {"file": harvested.name, "origin": harvested.origin}
    if harvested.reason is None:
        return StageResult(HARVEST, "passed", facts=facts)
    return StageResult(HARVEST, "refused", (harvested.reason,), facts=facts)


def _digest(harvested: Harvested) -> str:
    """Digest of what the result of a harvest follows from: the file's bytes, and why it was refused."""
    reason = "" if harvested.reason is None else harvested.reason.code
    return hashlib.sha256(harvested.original + reason.encode()).hexdigest()
