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
"""Most characters of the name of a page, without its number and ending."""


class PageRow(NamedTuple):
    """A rollout in the index, as text."""

    page: str
    """Relative address of its page."""
    state: str
    """The state in which it ended."""
    bad: bool
    """Whether it failed."""
    skill: str
    """Its skill; empty without one."""
    task: str
    """Name of its task."""
    agent: str
    """Name of its agent."""
    model: str
    """Name of its model; empty without one."""
    seed: str
    """Its seed."""
    reason: str
    """Why it has no score; empty if it has one."""


def is_file_name(place: Path) -> bool:
    """Whether a path that a user gave means a page, and not a folder of pages."""
    return place.suffix.lower() in {".html", ".htm"} and not place.is_dir()


def page_names(results: Iterable[RolloutResult]) -> list[str]:
    """The file name of the page of each rollout: task, agent, model, seed and attempt in harmless characters, with a
    number if two would have the same name.
    """
    counts: dict[str, int] = {}
    names = []
    for run in results:
        about = f"{run.task} {run.agent} {run.model or ''} s{run.seed} a{run.attempt}"
        name = re.sub("[^a-z0-9.]+", "-", about.lower()).strip("-.")[:LONGEST]
        counts[name] = count = counts.get(name, 0) + 1
        # No name has underscores of its own, so that a numbered name cannot be the name of another rollout.
        names.append(f"{name}.html" if count == 1 else f"{name}__{count}.html")
    return names


def write_page(path: Path, folder: Path, result: RolloutResult, *, back: str = "") -> None:
    """Write the page of a rollout, whole or not at all.

    Args:
        path: path of the page.
        folder: folder of the run.
        result: the result of the run.
        back: relative address of the page that links here; empty if there is none.

    Raises:
        StoreError: the page cannot be written.
    """
    # What a model said may have lone surrogates, which UTF-8 cannot encode.
    write_text(path, render(folder, result, back=back), errors="backslashreplace")


def write_pages(
    place: Path, runs: Sequence[tuple[Path, RolloutResult]], *, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Write a page for each rollout, and an index of them with the failures first.

    Args:
        place: folder to write into, which is made if it does not exist; pages of the same names are replaced.
        runs: folders of rollouts with their results.
        progress: receives a line of text before each page.

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
        place: folder to write into, which is made if it does not exist.
        runs: folders of rollouts with their results.
        names: file name of each page.
        back: relative address of the page that links to them.
        progress: receives a line of text before each page.

    Raises:
        StoreError: a page cannot be written.
    """
    with store_errors(place, "choose another folder"):
        place.mkdir(parents=True, exist_ok=True)
    for number, (name, (folder, result)) in enumerate(zip(names, runs, strict=True), 1):
        progress(f"page {number:,} of {len(names):,}")
        write_page(place / name, folder, result, back=back)


def _row(page: str, run: RolloutResult) -> PageRow:
    """The row of the index for a rollout."""
    skill = "" if run.skill is None else f"{run.skill:.3g}"
    bad = run.state in {"rejected", "error"}
    who = run.agent_label, run.model or ""
    return PageRow(page, run.state, bad, skill, run.task, *who, str(run.seed), run.reason or "")


def _first(row: PageRow) -> bool:
    """Failures come first; the rest stays in its order."""
    return not row.bad
