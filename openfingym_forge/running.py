"""Running a forge over the papers of a source: they are taken in, put through the stages, and installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from openfingym_forge.folder import ForgeFolder
from openfingym_forge.intake import take_in
from openfingym_forge.pipeline import AT_ONCE, INSTALL, Progress, forge_papers
from openfingym_forge.stages import stages_of


def run_forge(
    forge: ForgeFolder, source: str | Path, *, jobs: int = AT_ONCE, upto: str = INSTALL
) -> Iterator[Progress]:
    """Put the papers of a source through the stages, and install what is proved; yields the last stage of each paper,
    and once more where its task was installed.

    Whatever was done before is not done again.

    Args:
        forge: the forge; no other process may work in it.
        source: a folder, a file, or a query of arXiv that begins with ``arxiv:``.
        jobs: number of papers that are worked on at the same time.
        upto: name of the last stage to do.

    Raises:
        UsageError: another process works in the forge, there is no such source, or the extra ``forge`` is missing.
        DataError: arXiv refuses the query, or cannot be reached.
        StoreError: something cannot be written, as on a full disk.
    """
    from openfingym_forge.proving.install import install

    with forge.working():
        folders = [folder for folder, _ in take_in(forge, source)]
        yield from forge_papers(forge, folders, stages_of, install, jobs=jobs, upto=upto)
