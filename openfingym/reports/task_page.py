"""The page on which the author of a task sees what an agent gets, and what is hidden from it.

The page holds hidden values. So it is for the author alone: nobody else may read the file, and it is not written where
an agent could find it, or where it would be passed on with something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, whole_file
from openfingym.kinds import kind_of
from openfingym.reports.page import KINDS_OF_RUNS, document, kind_notice
from openfingym.reports.plots import drawing
from openfingym.results.run_folder import RESULT
from openfingym.task.published_sizes import split_beside_published
from openfingym.version import __version__

if TYPE_CHECKING:
    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage

MODE = 0o600
"""Permissions of the page's file: its owner alone may read and write it."""
MARKS: Mapping[str, str] = {
    "package.json": "a package",
    "truth.json": "a package",
    "contract.json": "a package",
    "interface.py": "a package or a workspace",
    "task.toml": "the folder of a task",
    RESULT: "the folder of a rollout",
}
"""Files by which a folder is known that others read, such as agents, and what the folder is."""


def render(package: BuiltPackage, odd: Sequence[str] = ()) -> str:
    """Render the page of a built package.

    Args:
        package: the package, with its hidden half.
        odd: what is odd about the task's data, as sentences; see :meth:`openfingym.kinds.Kind.oddities`.

    Returns:
        A self-contained HTML document, which holds hidden values.

    Raises:
        StoreError: the package is damaged; a DigestMismatchError if an array is not the one that was built.
    """
    task, manifest, contract = package.task, package.manifest, package.contract
    spec, hidden, instruction = task.spec, package.read_truth(), package.read_instruction()
    counts = manifest.n_public, manifest.n_private
    plots = kind_of(task).plots(spec, package.shown_array, hidden, counts, contract)
    provenance = spec.provenance
    published = split_beside_published(provenance.catalogue_id, spec.split)
    return document(
        "task.html.jinja",
        f"{task.name}: with hidden values",
        styles=("task.css",),
        name=task.name,
        description=task.file.task.description,
        notice=kind_notice(manifest.data_kind, KINDS_OF_RUNS),
        facts={
            "Family": f"{spec.family}, {spec.contract.kind}",
            "Panel": spec.panel,
            "Assets": f"{spec.asset_class}, {spec.frequency}",
            "Items": f"{manifest.n_train:,} train, {counts[0]:,} public, {counts[1]:,} private",
            "Answer": f"{' x '.join(map(str, manifest.submission_shape))}: {', '.join(manifest.submission_axes)}",
            "Values": f"{spec.contract.unit}, {spec.contract.low:g} to {spec.contract.high:g}",
            "Digest": manifest.digest,
            "OpenFinGym": __version__,
        },
        asked=_paragraphs(instruction.partition("\n## Data\n")[0]),
        instruction=instruction,
        metrics=[(entry["name"], entry["direction"], f"{entry['weight']:.4g}") for entry in contract["metrics"]],
        scoring=f"Ranks are by each metric's loss relative to that of the baseline, {spec.scoring.baseline}. "
        f"{spec.verification.budget} submissions or practice episodes, at most, get feedback from the public fold.",
        recipe=contract["recipe"],
        odd=odd,
        notes=[
            f"Dataset {manifest.dataset} ({manifest.data_kind}), sha256 {manifest.dataset_digest}.",
            f"Paper: {provenance.paper}"
            + (f", row {provenance.catalogue_id} of its catalogue." if provenance.catalogue_id else "."),
            *([f"Split: {published}."] if published else []),
            *([provenance.note] if provenance.note else []),
            *(f"Waiver: {waiver.finding} in {waiver.file}: {waiver.reason}" for waiver in spec.waivers),
        ],
        drawings=[drawing(plot) for plot in plots],
        arrays=list(_arrays(package, hidden)),
    )


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of an author's text, without its first heading, which repeats the name of the task."""
    parts = [part.strip() for part in text.split("\n\n")]
    return [part for number, part in enumerate(parts) if part and not (number == 0 and part.startswith("# "))]


def write_private(path: Path, page: str) -> None:
    """Write a page with hidden values to a file that its owner alone may read.

    Args:
        path: path of the file.
        page: the HTML document to write.

    Raises:
        UsageError: the file would be in a package, the folder of a task, a run or a workspace, or in the store.
        StoreError: the file cannot be written.
    """
    where = _not_private(path)
    if where is not None:
        raise UsageError(
            f"{path}: a page with hidden values is not written into {where}, where others would get it; "
            "choose a file elsewhere"
        )
    with (
        store_errors(path, "choose another file"),
        whole_file(path, mode=MODE, errors="backslashreplace") as stream,
    ):
        stream.write(page)


def _not_private(path: Path) -> str | None:
    """The folder that others read of which the file would be a part, in words; None if there is none."""
    from openfingym.rollouts.folders import is_run

    # Links are followed: one may lead into such a folder.
    folder = path.absolute().parent.resolve()
    if folder.is_relative_to(store.home().resolve()):
        return f"the store, {store.home()}"
    for parent in (folder, *folder.parents):
        mark = next((name for name in MARKS if (parent / name).exists()), None)
        if mark is not None:
            return f"{MARKS[mark]}, {parent}"
        if is_run(parent):
            return f"the folder of a run, {parent}"
    return None


def _arrays(package: BuiltPackage, hidden: Mapping[str, Array]) -> Iterator[tuple[str, ...]]:
    """Rows of the table of arrays: the public ones, then the hidden ones."""
    for name, about in package.contract["arrays"].items():
        yield _row(name, "agent", package.array(name), ", ".join(about["axes"]))
    for name, array in hidden.items():
        yield _row(name, "verifier alone", array, "")


def _row(name: str, seen_by: str, array: Array, axes: str) -> tuple[str, ...]:
    return name, seen_by, " x ".join(map(str, array.shape)), axes or "-", str(array.dtype), f"{array.nbytes:,}"
