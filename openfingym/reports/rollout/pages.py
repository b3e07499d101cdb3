"""Pages of many rollouts in one folder, with an index whose links survive moving the folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from openfingym.files.whole import store_errors, write_text
from openfingym.reports.page import document
from openfingym.reports.rollout.page import render

if TYPE_CHECKING:
    from openfingym.results import RolloutResult

INDEX = "index.html"
LONGEST = 120
"""Characters of the name of a page, without its number and ending."""


class PageRow(NamedTuple):
    """A rollout in the index."""

    page: str
    state: str
    bad: bool
    skill: str
    task: str
    agent: str
    model: str
    seed: str
    reason: str


def is_file_name(place: Path) -> bool:
    """Whether a path is that of a page, and not that of a folder of pages."""
    return place.suffix.lower() in {".html", ".htm"} and not place.is_dir()


def page_names(results: Iterable[RolloutResult]) -> list[str]:
    """File names of pages: what they are about in harmless characters, and a number where two would be the same."""
    names: dict[str, int] = {}
    found = []
    for run in results:
        about = f"{run.task} {run.agent} {run.model or ''} s{run.seed} a{run.attempt}"
        name = re.sub("[^a-z0-9.]+", "-", about.lower()).strip("-.")[:LONGEST]
        names[name] = count = names.get(name, 0) + 1
        # Two underscores, of which no name has any, so that a numbered name is no other's.
        found.append(f"{name}.html" if count == 1 else f"{name}__{count}.html")
    return found


def write_page(path: Path, folder: Path, result: RolloutResult, *, back: str = "") -> None:
    """Write the page of a rollout, whole or not at all.

    Args:
        path: path of the page.
        folder: folder of the run.
        result: its result.
        back: relative address of the page that links here.

    Raises:
        StoreError: it cannot be written.
    """
    write_text(path, render(folder, result, back=back), errors="backslashreplace")


def write_pages(
    place: Path, runs: Sequence[tuple[Path, RolloutResult]], *, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Write a page for each rollout, and an index of them: failures first.

    Args:
        place: folder to write into, which is made where there is none; pages of the same names are replaced.
        runs: folders of rollouts with their results.
        progress: told what is being done.

    Returns:
        The path of the index.

    Raises:
        StoreError: a page cannot be written.
    """
    names = page_names(result for _, result in runs)
    write_each(place, runs, names, INDEX, progress)
    rows = sorted((_row(name, result) for name, (_, result) in zip(names, runs, strict=True)), key=_first)
    page = document("rollout/index.html.jinja", "OpenFinGym rollouts", styles=("rollout/rollout.css",), rows=rows)
    write_text(place / INDEX, page, errors="backslashreplace")
    return place / INDEX


def write_each(
    place: Path,
    runs: Sequence[tuple[Path, RolloutResult]],
    names: Sequence[str],
    back: str,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write the page of each rollout under its name.

    Args:
        place: folder to write into, which is made where there is none.
        runs: folders of rollouts with their results.
        names: file name of each page.
        back: relative address of the page that links to them.
        progress: told what is being done.
    """
    with store_errors(place, "choose another folder"):
        place.mkdir(parents=True, exist_ok=True)
    for number, (name, (folder, result)) in enumerate(zip(names, runs, strict=True), 1):
        progress(f"page {number:,} of {len(names):,}")
        write_page(place / name, folder, result, back=back)


def _row(page: str, run: RolloutResult) -> PageRow:
    skill = "" if run.skill is None else f"{run.skill:.3g}"
    bad = run.state in {"rejected", "error"}
    return PageRow(page, run.state, bad, skill, run.task, run.agent, run.model or "", str(run.seed), run.reason or "")


def _first(row: PageRow) -> bool:
    """Failures come first; the rest stays in its order."""
    return not row.bad
