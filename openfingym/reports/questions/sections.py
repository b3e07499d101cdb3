"""The tables of a report about questions with tools: each function makes one from the runs on one kind of data.

A function returns None if its table would have nothing to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics import find_metric
from openfingym.models.cutoffs import last_day
from openfingym.reports.formatting import DASH
from openfingym.reports.groups import Row
from openfingym.reports.questions.analysis import best_of, by_tool, contributions, faults, mean_of, transitions
from openfingym.reports.questions.hidden import metric_of
from openfingym.reports.questions.judged import judged
from openfingym.reports.questions.modes import failures, gains
from openfingym.reports.questions.parts import Group, PartTable, Rows, TableSource, score_title, spread
from openfingym.reports.questions.played import PlayedRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = 8
"""Most steps between tools that the table has for each row; all are in the JSON."""
TOOLS = 60
"""Most tools that the table has for each row, those that were called most."""
STATES = ("answered", "not_answered", "unparsed", "invalid", "repeated")
"""States in which questions end, in the order of the table; others come after them."""


def scores(source: TableSource) -> PartTable | None:
    """The suite's figures of every row in every task, as the verifier disclosed them or as computed here."""
    figures = list(
        dict.fromkeys(figure for group in source.groups for run in group.runs for figure in run.breakdown.figures)
    )
    if not figures:
        return None
    played = [(task, group.row, runs) for group in source.groups for task, runs in group.tasks.items()]
    rows: Rows = []
    for task, row, runs in sorted(played, key=lambda item: item[:2]):
        values = [spread([_figure(run, figure.metric) for run in runs]) for figure in figures]
        rows.append((*row, task, len(runs[0].asked), len(runs), *values))
    shares = frozenset(figure.title for figure in figures if find_metric(figure.metric).range == (0.0, 1.0))
    named = ", ".join(f"{figure.title} {figure.metric}" for figure in figures)
    note = (
        "Shares in percent; of several runs, the mean and the standard deviation. A dash: withheld. In the reward bank "
        f"(docs/metrics.md): {named}."
    )
    columns = (*source.by, "task", "questions", "runs", *(figure.title for figure in figures))
    return PartTable(
        source.data_kind, "scores", "Scores of the answers", columns, tuple(rows), len(source.by) + 1, note, shares,
        ("runs", "questions"),
    )  # fmt: skip


def over_axis(source: TableSource) -> PartTable | None:
    """The suite's figures against the option that varies between its tasks, such as days ahead."""
    places: dict[tuple[Row, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    titles = {}
    for group in source.groups:
        for run in group.runs:
            axis = run.breakdown.axis
            if axis is None or not isinstance(run.options.get(axis.option), int | float):
                continue
            titles[axis.title] = True
            for figure in run.breakdown.figures:
                if figure.metric in run.result.metrics:
                    at = float(run.options[axis.option])
                    places[group.row, figure.title][at].append(run.result.metrics[figure.metric])
    values = sorted({at for by_place in places.values() for at in by_place})
    # One place makes no curve, and axes of different suites have nothing in common.
    if len(values) < 2 or len(titles) != 1:
        return None
    (title,) = titles
    columns = tuple(f"{at:g}" for at in values)
    rows = [
        (*row, name, *(spread(by_place[at]) if at in by_place else None for at in values))
        for (row, name), by_place in sorted(places.items(), key=lambda item: (item[0][1], item[0][0]))
    ]
    note = f"Columns are {title}."
    return PartTable(
        source.data_kind, "axis", f"Over {title}", (*source.by, "score", *columns), tuple(rows), len(source.by) + 1,
        note, frozenset(columns),
    )  # fmt: skip


def by_class(source: TableSource) -> PartTable | None:
    """The score within each class of answers."""
    title, names, rows = "class", list[str](), Rows()
    known_rows = []
    for group in source.groups:
        by_name: dict[str, list[float]] = defaultdict(list)
        for run in group.runs:
            # The class of a question is that of its true answer, which may be withheld.
            if run.breakdown.classes is None or run.hidden is None:
                continue
            title = run.breakdown.classes_title
            for name, values in run.breakdown.classes(run.hidden.truths, run.hidden.given).items():
                by_name[name] += values.tolist()
        names += [name for name in by_name if name not in names]
        if by_name:
            known_rows.append((group.row, {name: mean_of(values) for name, values in by_name.items()}))
    if not known_rows:
        return None
    for row, parts in known_rows:
        rows.append((*row, *(parts[name].score if name in parts else None for name in names)))
    counts = ", ".join(f"{name} {part.questions}" for name, part in known_rows[0][1].items())
    note = (
        f"{score_title(source)} of each class alone, over the questions that have a true answer of it, all tasks of a "
        f"row together (in the first row: {counts})."
    )
    return PartTable(
        source.data_kind, "classes", f"By {title}", (*source.by, *names), tuple(rows), len(source.by), note,
        frozenset(names),
    )  # fmt: skip


def by_tag(source: TableSource) -> PartTable | None:
    """The score of the questions with each tag."""
    rows: Rows = []
    for group in source.groups:
        by_tag: dict[str, list[float]] = defaultdict(list)
        for run in group.runs:
            if run.scores is None:
                continue
            counts = Counter(tag for question in run.asked for tag in set(question.tags))
            for question, score in zip(run.asked, run.scores.tolist(), strict=True):
                for tag in question.tags:
                    # A tag that all questions of a task have tells nothing apart.
                    if counts[tag] < len(run.asked):
                        by_tag[tag].append(score)
        rows += [(*group.row, tag, len(values), fmean(values)) for tag, values in sorted(by_tag.items())]
    if not rows:
        return None
    title = score_title(source)
    columns = (*source.by, "tag", "questions", title)
    return PartTable(
        source.data_kind, "tags", "By tag", columns, tuple(rows), len(source.by) + 1, "", frozenset({title})
    )


def tools(source: TableSource) -> PartTable | None:
    """Calls of each tool, their errors, and the score of the questions in which it answered."""
    title, rows = score_title(source), Rows()
    for group in source.groups:
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
    columns = (*source.by, "tool", "group", "calls", "refused", "repeated", "questions", title)
    return PartTable(
        source.data_kind, "tools", "By tool", columns, tuple(rows), len(source.by) + 2, note, frozenset({title}),
        ("repeated", "group"),
    )  # fmt: skip


def endings(source: TableSource) -> PartTable | None:
    """How questions ended."""
    states = [*STATES, *sorted({question.state for group in source.groups for question in group.asked} - {*STATES})]
    rows: Rows = []
    for group in source.groups:
        counts = Counter(question.state for question in group.asked)
        begun = sum(question.begun for question in group.asked)
        rows.append((*group.row, len(group.asked), begun, *(counts[state] for state in states)))
    titles = tuple(state.replace("_", " ") for state in states)
    note = (
        "Unparsed: there were answers, and none could be read; invalid: too many bad calls in a row; repeated: one "
        "call was made once too often. What has no answer counts as an empty one."
    )
    columns = (*source.by, "questions", "begun", *titles)
    return PartTable(source.data_kind, "endings", "How questions ended", columns, tuple(rows), len(source.by), note)


def errors(source: TableSource) -> PartTable | None:
    """Calls that were refused or repeated, by what was wrong with them."""
    by_group = [(group, faults(group.asked)) for group in source.groups]
    names = list(Counter({name: count for _, counts in by_group for name, count in counts.items()}))
    if not names:
        return None
    rows: Rows = []
    for group, counts in by_group:
        calls = sum(len(question.calls) for question in group.asked)
        rows.append((*group.row, calls, *(counts.get(name, 0) for name in names)))
    columns = (*source.by, "calls", *(name.replace("_", " ") for name in names))
    return PartTable(source.data_kind, "errors", "What was wrong with calls", columns, tuple(rows), len(source.by))


def ways(source: TableSource) -> PartTable | None:
    """The most frequent steps from one tool to the next."""
    rows: Rows = []
    for group in source.groups:
        steps, gains = steps_of(group)
        for (first, second), share in list(steps.items())[:STEPS]:
            if any(asked.calls for asked in group.asked):
                rows.append((*group.row, first, second, share, gains.get((first, second))))
    if not rows:
        return None
    note = (
        "Share of all steps from question to answer. Gain: the share on the way to a correct answer, one with a score "
        f"above 0, less that on the way to another. The {STEPS} most frequent of each; the JSON has all."
    )
    columns = (*source.by, "from", "to", "share", "gain")
    shares = frozenset({"share", "gain"})
    return PartTable(
        source.data_kind, "ways", "Ways through the tools", columns, tuple(rows), len(source.by) + 2, note, shares
    )


def steps_of(group: Group) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """The share of each step from one tool to the next, and its gain if scores are known."""
    scored = [pair for pair in group.scored if pair[1] is not None]
    return transitions(group.asked), contributions(scored)


def spending(source: TableSource) -> PartTable | None:
    """What a question took, on average."""
    rows: Rows = []
    for group in source.groups:
        results, count = [run.result for run in group.runs], len(group.asked)
        if not count:
            continue
        # A sum without the runs whose price is unknown would be too low.
        prices = [result.cost_usd for result in results if result.cost_usd is not None]
        tokens = sum(result.prompt_tokens + result.completion_tokens for result in results)
        usd = sum(prices) / count if len(prices) == len(results) else None
        actions = sum(question.actions for question in group.asked) / count
        turns, seconds = sum(result.turns for result in results), sum(result.wall_s for result in results)
        row = (actions, turns / count if turns else None, tokens / count if tokens else None, usd, seconds / count)
        rows.append((*group.row, *row))
    columns = (*source.by, "actions", "turns", "tokens", "USD", "seconds")
    return PartTable(
        source.data_kind, "spending", "What a question took", columns, tuple(rows), len(source.by),
        "Means over questions. USD: a dash where no price is known.",
    )  # fmt: skip


def samples(source: TableSource) -> PartTable | None:
    """Max@K and the score of a vote, for tasks that a row was run on several times or attempted several times."""
    rows: Rows = []
    most = 0
    for group in source.groups:
        for task, runs in group.tasks.items():
            for answers in _sampled(runs):
                best = best_of(answers.scores)
                most = max(most, len(best))
                rows.append((*group.row, task, answers.origin, answers.vote, *best))
    if not rows:
        return None
    # Tasks have different numbers of samples: shorter rows are filled up.
    width = len(source.by) + 3 + most
    columns = (*source.by, "task", "samples", "vote", *(f"K={k}" for k in range(1, most + 1)))
    note = (
        "Samples: runs of a row on one task, or attempts at each question of a run. K: the best score of K of them a "
        "question, mean over all ways to choose them; vote: of the one answer that they make together."
    )
    return PartTable(
        source.data_kind, "samples", "Max@K", columns, tuple(row + (None,) * (width - len(row)) for row in rows),
        len(source.by) + 2, note, frozenset(columns[len(source.by) + 2 :]),
    )  # fmt: skip


def memory(source: TableSource) -> PartTable | None:
    """The score by the month that questions are about, with the last month that the model was trained on."""
    title, rows = score_title(source), Rows()
    for group in source.groups:
        by_month: dict[tuple[str, str], list[tuple[int, float | None]]] = defaultdict(list)
        for run in group.runs:
            model = run.result.model
            if model is None:
                continue
            for month, part in _by_month(run).items():
                by_month[model, month].append(part)
        for (model, month), parts in sorted(by_month.items()):
            # A mean over questions, to which each run adds as many as it was asked.
            known = [(count, score) for count, score in parts if score is not None]
            total = sum(count for count, _ in known)
            score = sum(count * score for count, score in known) / total if total else None
            cutoff = source.cutoffs.get(model)
            remembered = _remembered(source.data_kind, month, cutoff)
            asked = sum(count for count, _ in parts)
            rows.append((*group.row, cutoff or "not stated", month, asked, score, remembered))
    if not rows:
        return None
    columns = (*source.by, "cut-off", "month", "questions", title, "the month is")
    note = (
        "Cut-off: the last that the model was trained on, as a plan or --cutoff states it. What came before it may be "
        "remembered rather than forecast; compare models on months after the cut-offs of both."
    )
    return PartTable(
        source.data_kind, "memory", "Months against cut-offs", columns, tuple(rows), len(source.by) + 2, note,
        frozenset({title}),
    )  # fmt: skip


SECTIONS: Sequence[Callable[[TableSource], PartTable | None]] = (
    scores, over_axis, by_class, by_tag, gains, failures, judged, endings, tools, errors, ways, samples, memory,
    spending,
)  # fmt: skip
"""The functions that make tables, in the order of the page."""


def _remembered(data_kind: str, month: str, cutoff: str | None) -> str:
    """Where a month is relative to a model's cut-off, in words: what came before it may be remembered."""
    if not data_kind.startswith("real"):
        return "made up: nobody can remember it"
    if cutoff is None:
        return "not known"
    first, last, trained = date.fromisoformat(f"{month}-01"), last_day(month), last_day(cutoff)
    return "after it" if first > trained else "before it" if last <= trained else "partly before it"


def _by_month(run: PlayedRun) -> dict[str, tuple[int, float | None]]:
    """How many questions a run has of each month, and their score; None if the score is not known."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, month in enumerate(run.months):
        places[month].append(place)
    # If all questions are of one month, its score is that of the run, which the verifier disclosed.
    if len(places) == 1:
        metric = next(
            (figure.metric for figure in run.breakdown.figures if figure.title == run.breakdown.score_title), ""
        )
        return {month: (len(indices), _figure(run, metric) if metric else None) for month, indices in places.items()}
    scores = run.scores
    return {
        month: (len(indices), None if scores is None else float(scores[indices].mean()))
        for month, indices in places.items()
    }


def _figure(run: PlayedRun, metric: str) -> float | None:
    """A metric of a run as its verifier disclosed it, or else computed from the answers; None if these are withheld."""
    if metric in run.result.metrics:
        return run.result.metrics[metric]
    return None if run.hidden is None else metric_of(metric, run.hidden)


@dataclass(frozen=True, eq=False)
class _Samples:
    """The scores of several answers to each question of a task."""

    origin: str
    """Whether the answers are those of several ``runs``, or of several ``attempts`` in one run."""
    scores: NDArray[np.float64]
    """Score of each answer, float64[samples, questions]."""
    vote: float | None
    """Mean score of the answers on which all samples vote; None if the suite has no vote."""


def _sampled(runs: Sequence[PlayedRun]) -> Iterator[_Samples]:
    """The samples of a row on a task: its runs, and the attempts within each."""
    breakdown, known = runs[0].breakdown, [run.hidden for run in runs if run.hidden is not None]
    if breakdown.score is None or not known or len({answers.given.shape for answers in known}) > 1:
        return
    several = [("runs", known[0].truths, np.stack([answers.given for answers in known]))] if len(known) > 1 else []
    several += [("attempts", answers.truths, answers.samples) for answers in known if answers.samples is not None]
    for origin, truths, answers in several:
        scores = np.stack([breakdown.score(truths, sample) for sample in answers])
        vote = None if breakdown.voted is None else float(breakdown.score(truths, breakdown.voted(answers)).mean())
        yield _Samples(origin, scores, vote)
