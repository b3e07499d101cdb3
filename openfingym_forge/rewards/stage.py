"""Stage ``rewards``: each metric of a blueprint is matched to the bank, or admitted as a new one, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, whole_file
from openfingym.metrics.record import SHAPES, Metric
from openfingym.metrics.registry import METRICS, third_party_metrics
from openfingym_forge.asking import produce
from openfingym_forge.blueprint import Blueprint
from openfingym_forge.prompts import render
from openfingym_forge.rewards.admitting import admitted, free_name, plug_in
from openfingym_forge.rewards.baselines import our_figures
from openfingym_forge.rewards.compared import edge_calls, first_difference, random_calls
from openfingym_forge.rewards.deciding import MetricDecision, checked_direction, checked_games, decide, describe
from openfingym_forge.rewards.evaluated import evaluate
from openfingym_forge.rewards.screened import screen
from openfingym_forge.rewards.translated import ROOM, prompt_values
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult

NAME = "rewards"
FOLDER = "metrics"
"""Folder of a paper's new metrics, each a package that a person may install."""


class RewardsStage:
    """Matches, audits and admits the metrics of a paper; writes their names in the bank into the blueprint.

    Nothing that a model wrote gets into a verifier: a new metric is left in the paper's folder as a package, and the
    task goes without it until a person has read and installed it.
    """

    name = NAME

    def run(self, candidate: CandidateTask) -> StageResult:
        """Decide about each metric, and write the names of the bank into ``blueprint.toml``."""
        blueprint = candidate.blueprint
        if blueprint is None or not blueprint.metrics:
            return StageResult(NAME, "refused", (RejectionReason("no-metric", "the blueprint has no metric"),))
        bank = {**METRICS, **third_party_metrics()}
        family = str(blueprint.value("family", "forecasting"))
        decisions, files = [], []
        for metric in blueprint.metrics:
            # Only a new metric is tried for answers that win without skill: those of the bank were when they came in.
            decision = checked_games(checked_direction(decide(candidate, metric, family, bank)))
            if decision.how == "new":
                decision, made = _new(candidate, decision, bank)
                files += made
            decisions.append(decision)
        _write(candidate, blueprint, decisions)
        return _result(blueprint, decisions, files)


def _result(blueprint: Blueprint, decisions: Sequence[MetricDecision], files: Sequence[str]) -> StageResult:
    """The result of the stage: refused if a metric is, or none ranks answers; waiting if all metrics are new."""
    reasons = tuple(reason for decision in decisions for reason in decision.reasons)
    notes = tuple(note for decision in decisions for note in decision.notes)
    reused = [decision for decision in decisions if decision.how == "reused"]
    new = [decision for decision in decisions if decision.how == "new"]
    facts: dict[str, object] = {
        "metrics": [describe(decision) for decision in decisions],
        "reused": [decision.bank.name for decision in reused if decision.bank],
        "new": [decision.metric.name for decision in new],
        "figures": our_figures(blueprint, decisions),
    }
    state: Literal["passed", "refused", "waiting"] = "refused" if reasons else "passed"
    if not reasons and reused and all(decision.bank is not None and decision.bank.diagnostic for decision in reused):
        names = ", ".join(decision.metric.name for decision in reused)
        text = f"{names}: of use beside other metrics alone, since an answer without skill may score best by it"
        state, reasons = "refused", (RejectionReason("metric-games", text),)
    elif not reasons and not reused:
        text = "every metric of the paper is new; read and install what is named in the notes, and run the forge again"
        state, reasons = "waiting", (RejectionReason("metric-new", text),)
    return StageResult(NAME, state, reasons, notes, facts, tuple(files))


def _new(
    candidate: CandidateTask, decision: MetricDecision, bank: Mapping[str, Metric]
) -> tuple[MetricDecision, list[str]]:
    """Have a new metric written, tested, judged, compared and admitted.

    Args:
        candidate: the paper, with the models that are asked.
        decision: the decision that the metric is new.
        bank: all metrics that there are, by name.

    Returns:
        The decision, which may be to refuse it after all, and the paths of the files that were written.
    """
    metric, problem = decision.metric, decision.problem
    values = prompt_values(metric, problem)
    made = produce(
        candidate,
        purpose="metric-write",
        write=lambda wrong: render(ROOM, "metric-write", wrong=wrong, **values),
        tests=render(ROOM, "metric-tests", **values),
        judge=lambda code, tests, outcome: render(
            ROOM, "metric-judge", code=code, tests=tests, outcome=outcome, **values
        ),
        screen=lambda code: screen(code, tuple(SHAPES[problem])),
    )
    if not made.accepted:
        code = "malformed-answer" if made.malformed else "not-admitted"
        return _refused(decision, code, f"no code for it was accepted: {made.why}"), []
    # The code that would be installed against the reviewer's translation, on other arrays than it was decided by.
    calls = [*random_calls(problem, seed=1)[0], *edge_calls(problem)]
    written, second = evaluate(made.code, calls), evaluate(decision.codes[1], calls)
    if isinstance(written, str) or isinstance(second, str):
        why = written if isinstance(written, str) else second
        return _refused(decision, "metric-wrong", f"its code does not run: {why}"), []
    if different := first_difference(written, second):
        return _refused(decision, "metric-wrong", f"its code is not the paper's formula: {different}"), []
    section = metric.formula.quotations[0].section if metric.formula.quotations else ""
    name = free_name(metric.name, tuple(bank))
    try:
        record = admitted(
            made.code,
            problem,
            name=name,
            direction="higher" if metric.direction.value == "higher" else "lower",
            description=f"{metric.name} of {candidate.paper.title}"[:200],
            unit=str(metric.unit.value or "none"),
            source=f"{candidate.paper.title} ({candidate.paper.origin})" + (f", {section}" if section else ""),
        )
    except UsageError as error:
        return _refused(decision, "not-admitted", str(error)), []
    package = candidate.folder / FOLDER / name
    text = (
        f"{metric.name} is new: admitted as {name}, and left out of the task until somebody has read and installed it: "
        f"pip install {package}; then remove {candidate.folder / 'rewards.json'}, and run the forge again"
    )
    noted = replace(decision, notes=(*decision.notes, RejectionReason("metric-new", text)))
    return noted, [str(path.relative_to(candidate.folder)) for path in _left(package, plug_in(record, made.code))]


def _left(package: Path, files: Mapping[str, str]) -> list[Path]:
    """Leave the files of a new metric's package for a person to read and install; gives their paths."""
    paths = [package / name for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        with store_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as stream:
                stream.write(text)
    return paths


def _refused(decision: MetricDecision, code: str, text: str) -> MetricDecision:
    reason = RejectionReason(code, f"{decision.metric.name}: {text}", tuple(decision.metric.formula.quotations))
    return replace(decision, how="refused", reasons=(reason,))


def _write(candidate: CandidateTask, blueprint: Blueprint, decisions: Sequence[MetricDecision]) -> None:
    """Write the blueprint with the names of the metrics in the bank, if anything changed."""
    from openfingym_forge.blueprint_file import write_blueprint

    metrics = [
        decision.metric.model_copy(update={"bank": decision.bank.name if decision.bank else ""})
        for decision in decisions
    ]
    # A new metric has no name there, and the task goes without it.
    if metrics != blueprint.metrics:
        write_blueprint(candidate.folder / "blueprint.toml", blueprint.model_copy(update={"metrics": metrics}))
