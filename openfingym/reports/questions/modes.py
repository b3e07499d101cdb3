"""What taking tools away costs, and how wrong answers look: tables of runs of questions whose suite tells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import fmean

from openfingym.reports.cells import Row
from openfingym.reports.questions.parts import Group, PartTable, Rows, Scene, score_title, task_of

FULL = "full"
NO_MODE = "none of these"


def gains(scene: Scene) -> PartTable | None:
    """What agents gain by tools: the score with a subset of the tools less that with a smaller one, on the same
    questions, over all and in each tier.
    """
    if "agent" not in scene.by:
        return None
    place = scene.by.index("agent")
    variants: dict[Row, dict[str, Group]] = defaultdict(dict)
    tiers = next((run.breakdown.tiers for group in scene.groups for run in group.runs if run.breakdown.tiers), ())
    for group in scene.groups:
        agent, tools = _tools(group.row[place])
        variants[(*group.row[:place], agent, *group.row[place + 1 :])][tools] = group
    rows: Rows = []
    for row, found in sorted(variants.items()):
        for more, less in (("search", "none"), (FULL, "search"), (FULL, "none")):
            if more in found and less in found:
                differences = [_difference(found[more], found[less], tier) for tier in ("", *tiers)]
                if any(value is not None for value in differences):
                    rows.append((*row, more, less, *differences))
    if not rows:
        return None
    columns = (*scene.by, "tools", "less those with", "all", *tiers)
    note = (
        f"{score_title(scene)} with one subset of the tools less that with the other, in percentage points, of one "
        "agent on the same questions."
    )
    shares = frozenset({"all", *tiers})
    return PartTable(
        scene.data_kind, "gains", "Gained by tools", columns, tuple(rows), len(scene.by) + 2, note, shares
    )  # fmt: skip


def failures(scene: Scene) -> PartTable | None:
    """What the wrong answers of every row look like."""
    counts: dict[Row, Counter[str]] = {}
    wrong: Counter[Row] = Counter()
    notes = dict.fromkeys(run.breakdown.failures_note for group in scene.groups for run in group.runs)
    for group in scene.groups:
        known = [modes for run in group.runs for modes in run.failures if modes is not None]
        if not any(run.failures for run in group.runs):
            continue
        counts[group.row] = Counter(mode for modes in known for mode in (modes or (NO_MODE,)))
        wrong[group.row] = len(known)
    names = list(dict.fromkeys(mode for found in counts.values() for mode in found if mode != NO_MODE))
    if not names:
        return None
    columns = (*scene.by, "wrong", *sorted(names), NO_MODE)
    rows: Rows = [
        (*row, wrong[row], *(found.get(name, 0) for name in (*sorted(names), NO_MODE))) for row, found in counts.items()
    ]
    return PartTable(
        scene.data_kind, "failures", "How answers failed", columns, tuple(rows), len(scene.by),
        " ".join(filter(None, notes)),
    )  # fmt: skip


def _tools(agent: str) -> tuple[str, str]:
    """The name of an agent without its setting of tools, and that setting."""
    name, _, settings = agent.partition(":")
    parts = dict(part.partition("=")[::2] for part in filter(None, settings.split(",")))
    tools = parts.pop("tools", FULL)
    rest = ",".join(f"{key}={value}" for key, value in parts.items())
    return (f"{name}:{rest}" if rest else name), tools


def _difference(more: Group, less: Group, tag: str) -> float | None:
    one, other = _by_question(more, tag), _by_question(less, tag)
    common = one.keys() & other.keys()
    if not common:
        return None
    return fmean(one[place] for place in common) - fmean(other[place] for place in common)


def _by_question(group: Group, tag: str) -> Mapping[tuple[str, int], float]:
    """Mean score of each question that has a tag; of all, for an empty one."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for run in group.runs:
        if run.scores is None:
            continue
        for asked, score in zip(run.asked, run.scores.tolist(), strict=True):
            if not tag or tag in asked.tags:
                found[task_of(run), asked.question].append(score)
    return {place: fmean(scores) for place, scores in found.items()}
