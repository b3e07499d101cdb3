"""The drawings of runs of questions: scores along an axis such as days ahead, and the ways through the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.reports.charts import BOX, Scale, axes
from openfingym.reports.formatting import percent
from openfingym.reports.groups import label
from openfingym.reports.page import macro
from openfingym.reports.questions.analysis import END, START
from openfingym.reports.questions.parts import PartTable, Spread
from openfingym.reports.questions.report import QuestionReport, ToolGraph, named_graphs

if TYPE_CHECKING:
    from markupsafe import Markup

    from openfingym.reports.questions.parts import Value

TEMPLATE = "questions/figures.html.jinja"
TONES = 8
"""How many colours there are for lines."""
MOST_GRAPHS = 6
"""Most rows whose graphs are drawn, those with the most different steps."""
WIDTH, ROW = 440, 32
"""Width of a graph and distance between its tools, in its own units."""
LETTER = 3.2
"""Half the width of a letter, from which the ends of a centred name are estimated."""
THICK = (0.02, 0.05, 0.1, 0.2, 0.35)
"""Shares of a step from which on its arc is thicker."""
TOLD = 0.005
"""Smallest gain of a step that gives its arc a colour."""


class Arc(NamedTuple):
    """A step of a graph, as it is drawn."""

    path: str
    """SVG path of the arc."""
    style: str
    """CSS classes of the arc."""
    said: str
    """The step in words."""


def curves(section: PartTable) -> list[Markup]:
    """Draw a figure for each score of a table whose columns are places on an axis."""
    places = section.columns[section.left :]
    by_score: dict[str, list[tuple[str, list[float | None]]]] = {}
    for row in section.rows:
        *name, score = map(str, row[: section.left])
        by_score.setdefault(score, []).append((label(tuple(name)), [_number(value) for value in row[section.left :]]))
    return [_curve(f"{score} {section.title[:1].lower()}{section.title[1:]}", places, lines) for score, lines in
            by_score.items()]  # fmt: skip


def _curve(title: str, places: Sequence[str], lines: Sequence[tuple[str, Sequence[float | None]]]) -> Markup:
    """Draw one figure.

    Args:
        title: title of the figure.
        places: names of the places on the axis.
        lines: name of each row, and its value at each place; None without a value.
    """
    known = np.array([value for _, values in lines for value in values if value is not None])
    scale = Scale.around([known], zero=True)
    across = [(100.0 * (place + 0.5) / len(places), text) for place, text in enumerate(places)]
    paths, dots = [], []
    for number, (name, values) in enumerate(lines):
        points = [(at, scale.percent(value), value) for (at, _), value in zip(across, values, strict=True)
                  if value is not None]  # fmt: skip
        path = "L".join(f"{round(BOX / 100.0 * x)} {round(BOX / 100.0 * y)}" for x, y, _ in points)
        paths.append((f"s{number % TONES}", f"M{path}"))
        dots += [(f"s{number % TONES}", f"{x:.2f}%", f"{y:.2f}%", f"{name}: {100.0 * value:.1f}") for x, y, value in
                 points]  # fmt: skip
    in_words = []
    for name, values in lines:
        shown = zip(places, values, strict=True)
        in_words.append(
            f"{name}: " + ", ".join(f"{place} {100.0 * value:.1f}" for place, value in shown if value is not None)
        )
    spoken = f"{title}. " + "; ".join(in_words)
    marks = axes(scale, "%", across, spoken)
    # There are few places, so that all are named even on a narrow page.
    marks = replace(marks, ticks=tuple((x, "x", anchor, text) for x, _, anchor, text in marks.ticks))
    return macro(
        TEMPLATE,
        "curves",
        title=title,
        keys=[(name, f"s{number % TONES}") for number, (name, _) in enumerate(lines)],
        axes=marks,
        box=BOX,
        paths=paths,
        dots=dots,
    )


def graphs(report: QuestionReport, data_kind: str) -> list[Markup]:
    """Draw the tool-transition graphs of the rows with the most different steps."""
    # A graph of two steps, from the question through a single tool to the answer, needs no drawing.
    drawn = [(name, graph) for name, graph in named_graphs(report, data_kind) if len(graph.shares) > len((START, END))]
    return [_graph(name, graph) for name, graph in drawn[:MOST_GRAPHS]]


def _graph(name: str, graph: ToolGraph) -> Markup:
    """Draw the tool-transition graph of a row of this name."""
    nodes = _order(graph.shares)
    at = {node: ROW * (place + 0.5) for place, node in enumerate(nodes)}
    # The most frequent steps are drawn last, over the others.
    arcs = [_arc(step, share, graph.gains.get(step), at) for step, share in reversed(list(graph.shares.items()))]
    spoken = f"Ways of {name}. " + "; ".join(arc.said for arc in reversed(arcs))
    return macro(
        TEMPLATE,
        "ways",
        title=name,
        spoken=spoken,
        width=WIDTH,
        height=ROW * len(nodes),
        middle=WIDTH // 2,
        nodes=[(node, f"{y:.0f}", node in {START, END}) for node, y in at.items()],
        arcs=arcs,
        told=bool(graph.gains),
    )


def _order(shares: Mapping[tuple[str, str], float]) -> list[str]:
    """The nodes of a graph from the question to the answer, with tools that are used early before those used late."""
    tools = sorted({node for step in shares for node in step} - {START, END})

    def lateness(tool: str) -> tuple[float, str]:
        begun, ended = shares.get((START, tool), 0.0), shares.get((tool, END), 0.0)
        through = sum(share for (_, second), share in shares.items() if second == tool)
        return (ended - begun) / (through or 1.0), tool

    return [START, *sorted(tools, key=lateness), END]


def _arc(step: tuple[str, str], share: float, gain: float | None, at: Mapping[str, float]) -> Arc:
    """Draw a step of a graph: downwards on the right of the names, upwards on their left.

    Args:
        step: the tools from which and to which it goes.
        share: its share among all steps.
        gain: how much larger the share is on the way to a correct answer; None if that is not known.
        at: vertical position of each node.
    """
    first, second = step
    start, end = at[first], at[second]
    weight = 1 + sum(share >= limit for limit in THICK)
    tone = "" if gain is None or abs(gain) < TOLD else " helps" if gain > 0.0 else " harms"
    said = f"{first} to {second}: {percent(share)} of steps"
    said += "" if gain is None else f", {100.0 * gain:+.1f} points more on the way to correct answers"
    middle, down = WIDTH / 2.0, 1 if end >= start else -1
    near, far = (middle + down * (8.0 + LETTER * len(node)) for node in step)
    if first == second:
        out = near + 34.0
        ends = f"{near:.0f} {start - 5:.0f}", f"{near:.0f} {start + 5:.0f}"
        path = f"M{ends[0]}C{out:.0f} {start - 16:.0f} {out:.0f} {start + 16:.0f} {ends[1]}"
        return Arc(path, f"w{weight}{tone}", said)
    # The arc goes around the longest of the names that it passes.
    passed = [len(node) for node, y in at.items() if min(start, end) <= y <= max(start, end)]
    furthest = middle + down * (8.0 + LETTER * max(passed))
    out = furthest + down * min(90.0, 14.0 + 0.45 * abs(end - start))
    path = f"M{near:.0f} {start:.0f}C{out:.0f} {start:.0f} {out:.0f} {end:.0f} {far:.0f} {end:.0f}"
    return Arc(path, f"w{weight}{tone}", said)


def _number(value: Value) -> float | None:
    """A cell as a number; None if it is none."""
    return value.mean if isinstance(value, Spread) else float(value) if isinstance(value, float | int) else None
