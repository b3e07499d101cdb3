"""Tables of what agents gain by tools, and of how answers fail, for suites that tell failures apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import fmean

from openfingym.reports.groups import Row
from openfingym.reports.questions.parts import Group, PartTable, Rows, TableSource, score_title, task_of

FULL = "full"
"""Setting of an agent that has all tools."""
NO_MODE = "none of these"
"""Column of wrong answers that no mode of failure describes."""


def gains(source: TableSource) -> PartTable | None:
    """The table of what agents gain by tools: the score with a subset of the tools minus that with a smaller one, on
    the same questions, over all and in each tier; None if no agent was run with two subsets.
    """
    if "agent" not in source.by:
        return None
    # The subset is a setting in the agent's name: rows that differ in nothing else are compared.
    place = source.by.index("agent")
    variants: dict[Row, dict[str, Group]] = defaultdict(dict)
    tiers = next((run.breakdown.tiers for group in source.groups for run in group.runs if run.breakdown.tiers), ())
    for group in source.groups:
        agent, tools = _tools(group.row[place])
        variants[(*group.row[:place], agent, *group.row[place + 1 :])][tools] = group
    rows: Rows = []
    for row, by_tools in sorted(variants.items()):
        for more, less in (("search", "none"), (FULL, "search"), (FULL, "none")):
            if more in by_tools and less in by_tools:
                differences = [_difference(by_tools[more], by_tools[less], tier) for tier in ("", *tiers)]
                if any(value is not None for value in differences):
                    rows.append((*row, more, less, *differences))
    if not rows:
        return None
    columns = (*source.by, "tools", "less those with", "all", *tiers)
    note = (
        f"{score_title(source)} with one subset of the tools less that with the other, in percentage points, of one "
        "agent on the same questions."
    )
    shares = frozenset({"all", *tiers})
    return PartTable(
        source.data_kind, "gains", "Gained by tools", columns, tuple(rows), len(source.by) + 2, note, shares
    )  # fmt: skip


def failures(source: TableSource) -> PartTable | None:
    """The table of how the wrong answers of every row failed; None if no suite tells failures apart."""
    counts: dict[Row, Counter[str]] = {}
    wrong: Counter[Row] = Counter()
    notes = dict.fromkeys(run.breakdown.failures_note for group in source.groups for run in group.runs)
    for group in source.groups:
        known = [modes for run in group.runs for modes in run.failures if modes is not None]
        if not any(run.failures for run in group.runs):
            continue
        counts[group.row] = Counter(mode for modes in known for mode in (modes or (NO_MODE,)))
        wrong[group.row] = len(known)
    names = list(dict.fromkeys(mode for by_mode in counts.values() for mode in by_mode if mode != NO_MODE))
    if not names:
        return None
    columns = (*source.by, "wrong", *sorted(names), NO_MODE)
    rows: Rows = [
        (*row, wrong[row], *(by_mode.get(name, 0) for name in (*sorted(names), NO_MODE)))
        for row, by_mode in counts.items()
    ]
    return PartTable(
        source.data_kind, "failures", "How answers failed", columns, tuple(rows), len(source.by),
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
    """The difference of mean scores on common questions with a tag; None if there are none."""
    with_more, with_less = _by_question(more, tag), _by_question(less, tag)
    common = with_more.keys() & with_less.keys()
    if not common:
        return None
    return fmean(with_more[place] for place in common) - fmean(with_less[place] for place in common)


def _by_question(group: Group, tag: str) -> Mapping[tuple[str, int], float]:
    """Mean score of each question that has a tag, by task and number; of every question for an empty tag."""
    by_question: dict[tuple[str, int], list[float]] = defaultdict(list)
    for run in group.runs:
        if run.scores is None:
            continue
        for asked, score in zip(run.asked, run.scores.tolist(), strict=True):
            if not tag or tag in asked.tags:
                by_question[task_of(run), asked.question].append(score)
    return {place: fmean(scores) for place, scores in by_question.items()}
