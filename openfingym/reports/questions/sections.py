"""What a report says of runs of questions: each function makes a table of the runs on one kind of data."""

from __future__ import annotations

import calendar
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics import find_metric
from openfingym.reports.cells import Row
from openfingym.reports.formatting import DASH
from openfingym.reports.questions.analysis import best_of, by_tool, contributions, faults, mean_of, transitions
from openfingym.reports.questions.judged import judged
from openfingym.reports.questions.modes import failures, gains
from openfingym.reports.questions.parts import Group, PartTable, Rows, Scene, score_title, spread
from openfingym.reports.questions.played import PlayedRun, metric_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = 8
"""Steps between tools that are in a table of each row; all are in the JSON."""
TOOLS = 60
"""Tools in the table of a row: those that were called most."""
STATES = ("answered", "not_answered", "unparsed", "invalid", "repeated")


def scores(scene: Scene) -> PartTable | None:
    """The suite's figures of every row in every task; where they are withheld, those that the verifier told."""
    figures = list(dict.fromkeys(one for group in scene.groups for run in group.runs for one in run.breakdown.figures))
    if not figures:
        return None
    played = [(task, group.row, runs) for group in scene.groups for task, runs in group.tasks.items()]
    rows: Rows = []
    for task, row, runs in sorted(played, key=lambda one: one[:2]):
        values = [spread([_figure(run, one.metric) for run in runs]) for one in figures]
        rows.append((*row, task, len(runs[0].asked), len(runs), *values))
    shares = frozenset(one.title for one in figures if find_metric(one.metric).range == (0.0, 1.0))
    said = ", ".join(f"{one.title} {one.metric}" for one in figures)
    note = (
        "Shares in percent; of several runs, the mean and the standard deviation. A dash: withheld. In the reward bank "
        f"(docs/metrics.md): {said}."
    )
    columns = (*scene.by, "task", "questions", "runs", *(one.title for one in figures))
    return PartTable(
        scene.data_kind, "scores", "Scores of the answers", columns, tuple(rows), len(scene.by) + 1, note, shares,
        ("runs", "questions"),
    )  # fmt: skip


def over_axis(scene: Scene) -> PartTable | None:
    """What is scored, against the option by which the suite's tasks are laid out; None where it has one value."""
    places: dict[tuple[Row, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    titles = {}
    for group in scene.groups:
        for run in group.runs:
            axis = run.breakdown.axis
            if axis is None or not isinstance(run.options.get(axis.option), int | float):
                continue
            titles[axis.title] = True
            for one in run.breakdown.figures:
                if one.metric in run.result.metrics:
                    at = float(run.options[axis.option])
                    places[group.row, one.title][at].append(run.result.metrics[one.metric])
    values = sorted({at for found in places.values() for at in found})
    if len(values) < 2 or len(titles) != 1:
        return None
    (title,) = titles
    columns = tuple(f"{at:g}" for at in values)
    rows = [
        (*row, name, *(spread(found[at]) if at in found else None for at in values))
        for (row, name), found in sorted(places.items(), key=lambda item: (item[0][1], item[0][0]))
    ]
    note = f"Columns are {title}."
    return PartTable(
        scene.data_kind, "axis", f"Over {title}", (*scene.by, "score", *columns), tuple(rows), len(scene.by) + 1, note,
        frozenset(columns),
    )  # fmt: skip


def by_class(scene: Scene) -> PartTable | None:
    """The score within each class of answers."""
    title, names, rows = "class", list[str](), Rows()
    found_rows = []
    for group in scene.groups:
        found: dict[str, list[float]] = defaultdict(list)
        for run in group.runs:
            if run.breakdown.classes is None or run.hidden is None:
                continue
            title = run.breakdown.classes_title
            for name, values in run.breakdown.classes(run.hidden.truths, run.hidden.given).items():
                found[name] += values.tolist()
        names += [name for name in found if name not in names]
        if found:
            found_rows.append((group.row, {name: mean_of(values) for name, values in found.items()}))
    if not found_rows:
        return None
    for row, parts in found_rows:
        rows.append((*row, *(parts[name].score if name in parts else None for name in names)))
    counts = ", ".join(f"{name} {part.questions}" for name, part in found_rows[0][1].items())
    note = (
        f"{score_title(scene)} of each class alone, over the questions that have a true answer of it, all tasks of a "
        f"row together (in the first row: {counts})."
    )
    return PartTable(
        scene.data_kind, "classes", f"By {title}", (*scene.by, *names), tuple(rows), len(scene.by), note,
        frozenset(names),
    )  # fmt: skip


def by_tag(scene: Scene) -> PartTable | None:
    """The score of the questions of each tag; of tags that not all questions of a task have."""
    rows: Rows = []
    for group in scene.groups:
        found: dict[str, list[float]] = defaultdict(list)
        for run in group.runs:
            if run.scores is None:
                continue
            counts = Counter(tag for one in run.asked for tag in set(one.tags))
            for one, score in zip(run.asked, run.scores.tolist(), strict=True):
                for tag in one.tags:
                    if counts[tag] < len(run.asked):
                        found[tag].append(score)
        rows += [(*group.row, tag, len(values), fmean(values)) for tag, values in sorted(found.items())]
    if not rows:
        return None
    title = score_title(scene)
    columns = (*scene.by, "tag", "questions", title)
    return PartTable(scene.data_kind, "tags", "By tag", columns, tuple(rows), len(scene.by) + 1, "", frozenset({title}))


def tools(scene: Scene) -> PartTable | None:
    """Calls of each tool, their errors, and the score of the questions in which it answered."""
    title, rows = score_title(scene), Rows()
    for group in scene.groups:
        groups = next((run.breakdown.tool_groups for run in group.runs if run.breakdown.tool_groups), {}) or {}
        for use in by_tool(group.scored)[:TOOLS]:
            counts = (use.calls, use.refused, use.repeated, use.questions)
            rows.append((*group.row, use.tool, groups.get(use.tool, DASH), *counts, use.part.score))
    if not rows:
        return None
    note = (
        f"Refused: calls that were none, such as of a future day; repeated: answered, and made before in the question; "
        f"questions: in which the tool answered; {title}: mean over these. An agent chooses where it calls a tool: the "
        "score of few questions says little of the tool, and much of their answers."
    )
    columns = (*scene.by, "tool", "group", "calls", "refused", "repeated", "questions", title)
    return PartTable(
        scene.data_kind, "tools", "By tool", columns, tuple(rows), len(scene.by) + 2, note, frozenset({title}),
        ("repeated", "group"),
    )  # fmt: skip


def endings(scene: Scene) -> PartTable | None:
    """How questions ended."""
    states = [*STATES, *sorted({one.state for group in scene.groups for one in group.asked} - {*STATES})]
    rows: Rows = []
    for group in scene.groups:
        counts = Counter(one.state for one in group.asked)
        begun = sum(one.begun for one in group.asked)
        rows.append((*group.row, len(group.asked), begun, *(counts[state] for state in states)))
    titles = tuple(state.replace("_", " ") for state in states)
    note = (
        "Unparsed: there were answers, and none could be read; invalid: too many bad calls in a row; repeated: one "
        "call was made once too often. What has no answer counts as an empty one."
    )
    columns = (*scene.by, "questions", "begun", *titles)
    return PartTable(scene.data_kind, "endings", "How questions ended", columns, tuple(rows), len(scene.by), note)


def errors(scene: Scene) -> PartTable | None:
    """Calls that were refused or repeated, by what was wrong."""
    found = [(group, faults(group.asked)) for group in scene.groups]
    names = list(Counter({name: count for _, counts in found for name, count in counts.items()}))
    if not names:
        return None
    rows: Rows = []
    for group, counts in found:
        calls = sum(len(one.calls) for one in group.asked)
        rows.append((*group.row, calls, *(counts.get(name, 0) for name in names)))
    columns = (*scene.by, "calls", *(name.replace("_", " ") for name in names))
    return PartTable(scene.data_kind, "errors", "What was wrong with calls", columns, tuple(rows), len(scene.by))


def ways(scene: Scene) -> PartTable | None:
    """The most frequent steps from one tool to the next."""
    rows: Rows = []
    for group in scene.groups:
        found, gains = steps_of(group)
        for (first, second), share in list(found.items())[:STEPS]:
            if any(asked.calls for asked in group.asked):
                rows.append((*group.row, first, second, share, gains.get((first, second))))
    if not rows:
        return None
    note = (
        "Share of all steps from question to answer. Gain: the share on the way to a correct answer, one with a score "
        f"above 0, less that on the way to another. The {STEPS} most frequent of each; the JSON has all."
    )
    columns = (*scene.by, "from", "to", "share", "gain")
    shares = frozenset({"share", "gain"})
    return PartTable(
        scene.data_kind, "ways", "Ways through the tools", columns, tuple(rows), len(scene.by) + 2, note, shares
    )


def steps_of(group: Group) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """(share of each step, its gain where scores are known)."""
    scored = [pair for pair in group.scored if pair[1] is not None]
    return transitions(group.asked), contributions(scored)


def spending(scene: Scene) -> PartTable | None:
    """What a question took, on average."""
    rows: Rows = []
    for group in scene.groups:
        results, count = [run.result for run in group.runs], len(group.asked)
        if not count:
            continue
        prices = [one.cost_usd for one in results if one.cost_usd is not None]
        tokens = sum(one.prompt_tokens + one.completion_tokens for one in results)
        usd = sum(prices) / count if len(prices) == len(results) else None
        actions = sum(one.actions for one in group.asked) / count
        turns, seconds = sum(one.turns for one in results), sum(one.wall_s for one in results)
        row = (actions, turns / count if turns else None, tokens / count if tokens else None, usd, seconds / count)
        rows.append((*group.row, *row))
    columns = (*scene.by, "actions", "turns", "tokens", "USD", "seconds")
    return PartTable(
        scene.data_kind, "spending", "What a question took", columns, tuple(rows), len(scene.by),
        "Means over questions. USD: a dash where no price is known.",
    )  # fmt: skip


def samples(scene: Scene) -> PartTable | None:
    """Max@K, and the score of a vote, of tasks that a row was run on several times."""
    rows: Rows = []
    most = 0
    for group in scene.groups:
        for task, runs in group.tasks.items():
            for answers in _sampled(runs):
                best = best_of(answers.scores)
                most = max(most, len(best))
                rows.append((*group.row, task, answers.origin, answers.vote, *best))
    if not rows:
        return None
    width = len(scene.by) + 3 + most
    columns = (*scene.by, "task", "samples", "vote", *(f"K={k}" for k in range(1, most + 1)))
    note = (
        "Samples: runs of a row on one task, or attempts at each question of a run. K: the best score of K of them a "
        "question, mean over all ways to choose them; vote: of the one answer that they make together."
    )
    return PartTable(
        scene.data_kind, "samples", "Max@K", columns, tuple(row + (None,) * (width - len(row)) for row in rows),
        len(scene.by) + 2, note, frozenset(columns[len(scene.by) + 2 :]),
    )  # fmt: skip


def memory(scene: Scene) -> PartTable | None:
    """The score by month that questions are about, against the last that a model was trained on."""
    title, rows = score_title(scene), Rows()
    for group in scene.groups:
        found: dict[tuple[str, str], list[tuple[int, float | None]]] = defaultdict(list)
        for run in group.runs:
            model = run.result.model
            if model is None:
                continue
            for month, part in _by_month(run).items():
                found[model, month].append(part)
        for (model, month), parts in sorted(found.items()):
            known = [(count, score) for count, score in parts if score is not None]
            total = sum(count for count, _ in known)
            score = sum(count * score for count, score in known) / total if total else None
            cutoff = scene.cutoffs.get(model)
            said = _remembered(scene.data_kind, month, cutoff)
            rows.append((*group.row, cutoff or "not stated", month, sum(count for count, _ in parts), score, said))
    if not rows:
        return None
    columns = (*scene.by, "cut-off", "month", "questions", title, "the month is")
    note = (
        "Cut-off: the last that the model was trained on, as a plan or --cutoff states it. What came before it may be "
        "remembered rather than forecast; compare models on months after the cut-offs of both."
    )
    return PartTable(
        scene.data_kind, "memory", "Months against cut-offs", columns, tuple(rows), len(scene.by) + 2, note,
        frozenset({title}),
    )  # fmt: skip


SECTIONS: Sequence[Callable[[Scene], PartTable | None]] = (
    scores, over_axis, by_class, by_tag, gains, failures, judged, endings, tools, errors, ways, samples, memory,
    spending,
)  # fmt: skip
"""Every table, in its order."""


def _remembered(data_kind: str, month: str, cutoff: str | None) -> str:
    """Whether a month may have been in what a model was trained on."""
    if not data_kind.startswith("real"):
        return "made up: nobody can remember it"
    if cutoff is None:
        return "not known"
    first = date.fromisoformat(f"{month}-01")
    last = first.replace(day=calendar.monthrange(first.year, first.month)[1])
    trained = _end_of(cutoff)
    return "after it" if first > trained else "before it" if last <= trained else "partly before it"


def _end_of(cutoff: str) -> date:
    """The last day of a cut-off, a month or a day."""
    if len(cutoff) > 7:
        return date.fromisoformat(cutoff)
    first = date.fromisoformat(f"{cutoff}-01")
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _by_month(run: PlayedRun) -> dict[str, tuple[int, float | None]]:
    """(questions, score) by the month that they are about."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, month in enumerate(run.months):
        places[month].append(place)
    if len(places) == 1:
        # All questions together: what the verifier told of them will do.
        named = next((one.metric for one in run.breakdown.figures if one.title == run.breakdown.score_title), "")
        return {month: (len(found), _figure(run, named) if named else None) for month, found in places.items()}
    scores = run.scores
    return {
        month: (len(found), None if scores is None else float(scores[found].mean())) for month, found in places.items()
    }


def _figure(run: PlayedRun, metric: str) -> float | None:
    """A metric of a run: as its verifier told it, or of the answers themselves."""
    if metric in run.result.metrics:
        return run.result.metrics[metric]
    return None if run.hidden is None else metric_of(metric, run.hidden)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Several answers to each question of a task."""

    origin: str
    scores: NDArray[np.float64]
    """float64[samples, questions]."""
    vote: float | None
    """The score of the answer that they make together."""


def _sampled(runs: Sequence[PlayedRun]) -> Iterator[_Samples]:
    """The samples of a row on a task: its runs, and the attempts within each."""
    breakdown, known = runs[0].breakdown, [run.hidden for run in runs if run.hidden is not None]
    if breakdown.score is None or not known or len({one.given.shape for one in known}) > 1:
        return
    several = [("runs", known[0].truths, np.stack([one.given for one in known]))] if len(known) > 1 else []
    several += [("attempts", one.truths, one.samples) for one in known if one.samples is not None]
    for origin, truths, answers in several:
        scores = np.stack([breakdown.score(truths, one) for one in answers])
        vote = None if breakdown.voted is None else float(breakdown.score(truths, breakdown.voted(answers)).mean())
        yield _Samples(origin, scores, vote)
