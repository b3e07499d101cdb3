"""The stage ``extract``: a model writes down what a paper says, and each quotation is checked."""

from __future__ import annotations

import re
from itertools import pairwise

from openfingym.models.messages import CHARACTERS_A_TOKEN
from openfingym_forge.blueprint import Blueprint, Contradiction, MetricBlueprint, Stated
from openfingym_forge.blueprint_file import write_blueprint
from openfingym_forge.extraction.contradictions import DECIDING, chosen, contradictions
from openfingym_forge.extraction.defaults import SILENT, assumed, defaults, direction_of
from openfingym_forge.extraction.reading import FoundMetric, Readings, read
from openfingym_forge.paper import Paper
from openfingym_forge.prompts import TRIES, AnswerError, ask_for, of_json, render
from openfingym_forge.quoting import QuotedText
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult, StageState
from openfingym_forge.vocabulary import ASKED, FORMS

ROOM = "openfingym_forge.extraction"
"""Package that holds the prompt."""
PART_TOKENS = 24_000
"""Tokens of a paper's text in one prompt; a longer paper is read in parts, by sections."""
_NAME_WORDS = 6
"""Words of a title that go into the name of a task."""
# Fields without which no task of the family can be made.
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
        """A stage that asks for a paper in parts.

        Args:
            part_tokens: largest number of tokens of a paper's text in one prompt.
        """
        self.part_tokens = part_tokens

    def run(self, candidate: CandidateTask) -> StageResult:
        """Ask, check and write ``blueprint.toml``."""
        readings = Readings()
        text = QuotedText(candidate.paper)
        parts = parts_of(candidate.paper, self.part_tokens * CHARACTERS_A_TOKEN)
        for number, part in enumerate(parts, 1):
            which = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
            of_part, complaints = _ask(candidate, text, part, which)
            if of_part is None:
                why = "; ".join(complaints[-1].splitlines()[:5])
                reason = RejectionReason("malformed-answer", f"after {TRIES} answers: {why}")
                return StageResult(self.name, "failed", (reason,))
            readings.add(of_part)
        blueprint, listed = blueprint_from(candidate.paper, readings)
        # Also where the paper is refused: a person may mend the blueprint, from which the next run goes on.
        write_blueprint(candidate.folder / "blueprint.toml", blueprint)
        reasons = _refusals(blueprint, listed)
        notes = [_contradicted(each) for each in listed if each.field not in DECIDING]
        notes += [RejectionReason("malformed-answer", f"left out: {problem}") for problem in readings.problems]
        quoted = sum(bool(stated.quotations) for stated in blueprint.fields.values())
        facts: dict[str, object] = {
            "fields": len(blueprint.fields), "quoted": quoted, "assumed": len(blueprint.fields) - quoted,
            "metrics": [metric.name for metric in blueprint.metrics], "left_out": len(readings.problems),
        }  # fmt: skip
        state: StageState = "refused" if reasons else "passed"
        return StageResult(self.name, state, tuple(reasons), tuple(notes), facts, ("blueprint.toml",))


def _ask(candidate: CandidateTask, text: QuotedText, part: str, which: str) -> tuple[Readings | None, tuple[str, ...]]:
    """The readings of one part of a paper; None where no answer had any, with what was wrong with each answer.

    Args:
        candidate: the paper, with the models that are asked.
        text: text of the whole paper, in which quotations are looked for.
        part: text of the part.
        which: which part it is, in words for the prompt; empty for a paper of one part.
    """
    paper = candidate.paper
    # Tables as bars and cells beside the text, each with the part that its caption stands in.
    tables = "\n\n".join(
        "\n".join([table.caption, *(" | ".join(row) for row in table.rows)])
        for table in paper.tables
        if not which or table.caption[:40] in part
    )
    fields = [(name, meaning, FORMS[name].expected) for name, meaning in ASKED.items()]
    prompt = render(ROOM, "extract", title=paper.title, text=part, tables=tables, part=which, fields=fields)
    tried: list[Readings] = []

    def checked(answer: object) -> Readings:
        readings = read(answer, text)
        tried.append(readings)
        # Whatever the paper does not bear out is asked for again.
        if readings.problems:
            raise AnswerError("\n".join(readings.problems))
        return readings

    answered = ask_for(candidate.asking, "generator", "extract", prompt, of_json(checked))
    if answered.value is not None:
        return answered.value, ()
    # After the last try, the claims that the paper bears out count; an answer without any is none.
    usable = [readings for readings in tried if readings.fields]
    best = min(usable, key=lambda readings: len(readings.problems)) if usable else None
    return best, answered.complaints


def parts_of(paper: Paper, longest: int) -> list[str]:
    """A paper's text in parts, cut between sections, or else between paragraphs.

    Args:
        paper: the paper whose text is divided.
        longest: largest number of characters of a part.
    """
    if len(paper.text) <= longest:
        return [paper.text]
    cuts = sorted({0, len(paper.text), *(section.start for section in paper.sections)})
    pieces = [paper.text[start:end] for start, end in pairwise(cuts)]
    pieces = [part for piece in pieces for part in _pieces(piece, longest)]
    # As many sections together as fit, so that there are few prompts, and each has much around what it quotes.
    parts = [""]
    for piece in pieces:
        if parts[-1] and len(parts[-1]) + len(piece) > longest:
            parts.append("")
        parts[-1] += piece
    return parts


def _pieces(text: str, longest: int) -> list[str]:
    """A section in pieces, cut behind a paragraph or a sentence where there is one."""
    made = []
    while len(text) > longest:
        cut = max(text.rfind("\n\n", 0, longest), text.rfind(". ", 0, longest) + 1)
        cut = cut if cut > 0 else longest
        made.append(text[:cut])
        text = text[cut:]
    return [*made, text]


def blueprint_from(paper: Paper, readings: Readings) -> tuple[Blueprint, list[Contradiction]]:
    """The blueprint of what a paper states, with what is assumed where it is silent, and its contradictions."""
    listed = contradictions(readings.fields)
    fields = {name: chosen(of_field) for name, of_field in readings.fields.items()}
    fields |= defaults(fields)
    # In the order of the prompt, so that blueprints can be compared line by line.
    names = [name for name in (*ASKED, *fields) if name in fields]
    metrics = [_metric(metric, len(readings.metrics)) for metric in readings.metrics]
    return Blueprint(
        paper=paper.key,
        title=paper.title,
        name=task_name(paper.title),
        fields={name: fields[name] for name in dict.fromkeys(names)},
        metrics=metrics,
        baselines=readings.baselines,
        contradictions=listed,
    ), listed


def task_name(title: str) -> str:
    """Name of a task, made of the title of its paper: kebab-case, without small words."""
    small = {"a", "an", "the", "of", "with", "and", "on", "for", "in", "to", "by", "from"}
    words = [word for word in re.findall(r"[a-z0-9]+", title.lower()) if word not in small]
    return "-".join(words[:_NAME_WORDS]) or "untitled"


def _metric(metric: FoundMetric, count: int) -> MetricBlueprint:
    """A metric with what is assumed of it, one of ``count`` that the paper has."""

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
    """Why no task can be made of a blueprint; empty where one can."""
    reasons = [_contradicted(each) for each in listed if each.field in DECIDING]
    family = blueprint.value("family")
    contradicted = {each.field for each in listed}
    needed = ("family", *_NEEDED.get(str(family), ()))
    missing = [name for name in needed if name not in blueprint.fields and name not in contradicted]
    if missing:
        names = ", ".join(f"{name} ({ASKED[name]})" for name in missing)
        reasons.append(RejectionReason("no-protocol", f"the paper does not state {names}"))
    if not blueprint.metrics:
        reasons.append(RejectionReason("no-metric", "no metric by which the paper judges its methods was found"))
    return reasons


def _contradicted(contradiction: Contradiction) -> RejectionReason:
    quotations = tuple(quotation for stated in contradiction.readings for quotation in stated.quotations[:2])
    deciding = contradiction.field in DECIDING
    what = "it decides the task, so a person has to choose" if deciding else "the first reading is taken"
    return RejectionReason("contradiction", f"{contradiction.field}: {contradiction.why}; {what}", quotations)
