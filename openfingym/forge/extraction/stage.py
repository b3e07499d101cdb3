"""The stage ``extract``."""

from __future__ import annotations

import re
from itertools import pairwise

from openfingym.forge.blueprint import Blueprint, Contradiction, MetricBlueprint, Stated
from openfingym.forge.blueprint_file import write_blueprint
from openfingym.forge.extraction.contradictions import DECIDING, chosen, contradictions
from openfingym.forge.extraction.defaults import SILENT, assumed, defaults, direction_of
from openfingym.forge.extraction.reading import FoundMetric, Readings, read
from openfingym.forge.paper import Paper
from openfingym.forge.prompts import TRIES, AnswerError, ask_for, of_json, render
from openfingym.forge.quoting import QuotedText
from openfingym.forge.stage import CandidateTask, RejectionReason, StageResult, StageState
from openfingym.forge.vocabulary import ASKED, FORMS

ROOM = "openfingym.forge.extraction"
PART_TOKENS = 24_000
"""Tokens of a paper's text in one prompt; a longer paper is read in parts, by sections."""
CHARACTERS_A_TOKEN = 4
_NAME_WORDS = 6
_NEEDED = {
    "forecasting": ("frequency", "contract.horizon"),
    "generation": ("contract.horizon",),
    "fraud": (),
    "trading": ("frequency",),
}


class ExtractStage:
    """Asks a model what a paper says, checks each quotation, and writes the blueprint."""

    name = "extract"

    def __init__(self, part_tokens: int = PART_TOKENS) -> None:
        """The stage.

        Args:
            part_tokens: most tokens of a paper's text in one prompt.
        """
        self.part_tokens = part_tokens

    def run(self, candidate: CandidateTask) -> StageResult:
        """Ask, check and write ``blueprint.toml``."""
        found = Readings()
        text = QuotedText(candidate.paper)
        parts = parts_of(candidate.paper, self.part_tokens * CHARACTERS_A_TOKEN)
        for number, part in enumerate(parts, 1):
            readings, complaints = _ask(
                candidate, text, part, f", part {number} of {len(parts)}" if len(parts) > 1 else ""
            )
            if readings is None:
                told = "; ".join(complaints[-1].splitlines()[:5])
                return StageResult(
                    self.name, "failed", (RejectionReason("malformed-answer", f"after {TRIES} answers: {told}"),)
                )
            found.add(readings)
        blueprint, listed = blueprint_from(candidate.paper, found)
        write_blueprint(candidate.folder / "blueprint.toml", blueprint)
        reasons = _refusals(blueprint, listed)
        notes = [_contradicted(one) for one in listed if one.field not in DECIDING]
        notes += [RejectionReason("malformed-answer", f"left out: {problem}") for problem in found.problems]
        quoted = sum(bool(stated.quotations) for stated in blueprint.fields.values())
        facts: dict[str, object] = {
            "fields": len(blueprint.fields), "quoted": quoted, "assumed": len(blueprint.fields) - quoted,
            "metrics": [metric.name for metric in blueprint.metrics], "left_out": len(found.problems),
        }  # fmt: skip
        state: StageState = "refused" if reasons else "passed"
        return StageResult(self.name, state, tuple(reasons), tuple(notes), facts, ("blueprint.toml",))


def _ask(candidate: CandidateTask, text: QuotedText, part: str, which: str) -> tuple[Readings | None, tuple[str, ...]]:
    """What one part says. What is unsupported is asked for again; what still is in the last answer is left out."""
    paper = candidate.paper
    tables = "\n\n".join(
        "\n".join([table.caption, *(" | ".join(row) for row in table.rows)])
        for table in paper.tables
        if not which or table.caption[:40] in part
    )
    fields = [(name, meaning, FORMS[name].expected) for name, meaning in ASKED.items()]
    prompt = render(ROOM, "extract", title=paper.title, text=part, tables=tables, part=which, fields=fields)
    best: list[Readings] = []

    def checked(answer: object) -> Readings:
        readings = read(answer, text)
        best.append(readings)
        if readings.problems:
            raise AnswerError("\n".join(readings.problems))
        return readings

    answered = ask_for(candidate.asking, "generator", "extract", prompt, of_json(checked))
    if answered.value is not None:
        return answered.value, ()
    # What is borne out counts; a model that got nothing right gave no answer.
    usable = [one for one in best if one.fields]
    return (min(usable, key=lambda one: len(one.problems)) if usable else None), answered.complaints


def parts_of(paper: Paper, longest: int) -> list[str]:
    """A paper's text in parts of at most so many characters, cut between sections, else between paragraphs."""
    if len(paper.text) <= longest:
        return [paper.text]
    cuts = sorted({0, len(paper.text), *(section.start for section in paper.sections)})
    pieces = [paper.text[start:end] for start, end in pairwise(cuts)]
    pieces = [part for piece in pieces for part in _pieces(piece, longest)]
    parts = [""]
    for piece in pieces:
        if parts[-1] and len(parts[-1]) + len(piece) > longest:
            parts.append("")
        parts[-1] += piece
    return parts


def _pieces(text: str, longest: int) -> list[str]:
    made = []
    while len(text) > longest:
        cut = max(text.rfind("\n\n", 0, longest), text.rfind(". ", 0, longest) + 1)
        cut = cut if cut > 0 else longest
        made.append(text[:cut])
        text = text[cut:]
    return [*made, text]


def blueprint_from(paper: Paper, found: Readings) -> tuple[Blueprint, list[Contradiction]]:
    """The blueprint of what was quoted, with what is assumed where the paper is silent, and its contradictions."""
    listed = contradictions(found.fields)
    fields = {name: chosen(readings) for name, readings in found.fields.items()}
    fields |= defaults(fields)
    names = [one for one in (*ASKED, *fields) if one in fields]
    metrics = [_metric(metric, len(found.metrics)) for metric in found.metrics]
    return Blueprint(
        paper=paper.key,
        title=paper.title,
        name=task_name(paper.title),
        fields={name: fields[name] for name in dict.fromkeys(names)},
        metrics=metrics,
        baselines=found.baselines,
        contradictions=listed,
    ), listed


def task_name(title: str) -> str:
    """Name of a task after its paper's title, in kebab-case."""
    small = {"a", "an", "the", "of", "with", "and", "on", "for", "in", "to", "by", "from"}
    words = [word for word in re.findall(r"[a-z0-9]+", title.lower()) if word not in small]
    return "-".join(words[:_NAME_WORDS]) or "untitled"


def _metric(metric: FoundMetric, count: int) -> MetricBlueprint:
    def part(name: str, value: str | float | None, why: str) -> Stated:
        return metric.parts.get(name) or assumed(value, f"{SILENT}; {why}")

    return MetricBlueprint(
        name=metric.name,
        formula=part("formula", metric.name, "the usual formula of the name"),
        direction=part("direction", direction_of(metric.name), "usual for metrics of this name"),
        unit=part("unit", None, "as the values"),
        weight=part("weight", round(1 / count, 9), "all metrics weigh the same"),
        figures=metric.figures,
    )


def _refusals(blueprint: Blueprint, listed: list[Contradiction]) -> list[RejectionReason]:
    reasons = [_contradicted(one) for one in listed if one.field in DECIDING]
    family = blueprint.value("family")
    contradicted = {one.field for one in listed}
    needed = ("family", *_NEEDED.get(str(family), ()))
    missing = [name for name in needed if name not in blueprint.fields and name not in contradicted]
    if missing:
        told = ", ".join(f"{name} ({ASKED[name]})" for name in missing)
        reasons.append(RejectionReason("no-protocol", f"the paper does not state {told}"))
    if not blueprint.metrics:
        reasons.append(RejectionReason("no-metric", "no metric by which the paper judges its methods was found"))
    return reasons


def _contradicted(one: Contradiction) -> RejectionReason:
    quotations = tuple(quotation for stated in one.readings for quotation in stated.quotations[:2])
    decides = (
        "it decides the task, so a person has to choose" if one.field in DECIDING else "the first reading is taken"
    )
    return RejectionReason("contradiction", f"{one.field}: {one.why}; {decides}", quotations)
