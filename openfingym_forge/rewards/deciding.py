"""Deciding about one metric of a paper: whether it is one of the bank's, a new one, or refused, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from openfingym.metrics.record import Metric, Problem
from openfingym_forge.asking import PaperJournal
from openfingym_forge.blueprint import MetricBlueprint, Quotation
from openfingym_forge.rewards.compared import (
    FormulaRelation,
    bank_values,
    edge_calls,
    first_difference,
    random_calls,
    relation,
)
from openfingym_forge.rewards.evaluated import Value, evaluate
from openfingym_forge.rewards.gaming import direction_by, games
from openfingym_forge.rewards.meaning import PROBLEMS, by_name, formula_of, problem_of
from openfingym_forge.rewards.translated import translate
from openfingym_forge.stage import CandidateTask, RejectionReason

How = Literal["reused", "new", "refused"]
"""``reused``: it is one of the bank's. ``new``: the bank has none like it. ``refused``: it cannot be used."""


@dataclass(frozen=True)
class MetricDecision:
    """What is decided of one metric."""

    metric: MetricBlueprint
    """The metric as the paper states it, with its direction where the paper did not say it."""
    how: How
    bank: Metric | None = None
    """The metric of the bank that is scored in its place; None for a new or a refused one."""
    relation: str = ""
    """``equal``, how it follows from the bank's, or ``by meaning`` where numbers could not be compared."""
    falls: bool = False
    """Whether it falls where the bank's rises."""
    reasons: tuple[RejectionReason, ...] = ()
    """Why it is refused."""
    notes: tuple[RejectionReason, ...] = ()
    """What a reviewer should see."""
    codes: tuple[str, ...] = field(default=(), repr=False)
    """The two translations of its formula; empty where there are none."""
    problem: Problem = "point"
    """The kind of question that it is asked on."""


def decide(
    candidate: CandidateTask, metric: MetricBlueprint, family: str, bank: Mapping[str, Metric]
) -> MetricDecision:
    """Match a metric to the bank, by name and by numbers; one that is not there may be new.

    Args:
        candidate: the paper, with the models that are asked.
        metric: the metric as the paper states it.
        family: family of the paper's task.
        bank: all metrics that there are, by name.

    Raises:
        ModelUnavailableError: a model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
        BackendUnavailableError: nothing on this machine can isolate programs.
    """
    named = bank.get(metric.bank) or by_name(metric.name, bank, PROBLEMS.get(family, ("point",)))
    problem = problem_of(family, named)
    # A formula that both roles translate to the same numbers was read as it is meant; a slip of one shows.
    first = translate(candidate, metric, problem, "metric-code", "generator")
    again = translate(candidate, metric, problem, "metric-code-again", "reviewer")
    start = MetricDecision(metric, "refused", problem=problem)
    for translation in (first, again):
        if translation.malformed:
            return _refused(start, "malformed-answer", f"no usable code for its formula: {translation.why}")
    # A model says that the formula cannot be computed: then only the name is left to go by.
    if not (first.code and again.code):
        why = first.why or again.why
        if named is None:
            return _refused(
                start, "no-metric", f"it is none of the bank by its name, and its formula cannot be computed: {why}"
            )
        note = RejectionReason(
            "metric-by-meaning",
            f"{metric.name}: taken for {named.name} by its name; the numbers were not compared ({why})",
            _quotations(metric),
        )
        return replace(start, how="reused", bank=named, relation="by meaning", notes=(note,))
    return _by_numbers(candidate, replace(start, codes=(first.code, again.code)), named, bank)


def _by_numbers(
    candidate: CandidateTask, start: MetricDecision, named: Metric | None, bank: Mapping[str, Metric]
) -> MetricDecision:
    """Decide about a metric whose formula was translated twice, by the values of both translations.

    Args:
        candidate: the paper, in whose journal the comparison is recorded.
        start: the decision so far, with both translations.
        named: the metric of the bank that has its name; None where none has.
        bank: all metrics that there are, by name.
    """
    metric, problem = start.metric, start.problem
    calls, options = random_calls(problem)
    edges = edge_calls(problem)
    values: list[list[Value]] = []
    for number, code in enumerate(start.codes):
        computed = evaluate(code, [*calls, *edges])
        if isinstance(computed, str):
            which = ("first", "second")[number]
            why = f"the {which} implementation of its formula does not run: {computed}"
            return _refused(start, "metric-wrong", why)
        values.append(computed)
    # The two are compared on the edges as well. The bank is compared on ordinary arrays alone: whether to give a number
    # at an edge or to refuse is each implementation's own choice.
    different = first_difference(*values)
    PaperJournal(candidate.folder).add_once("audit", metric=metric.name, calls=len(values[0]), different=different)
    if different:
        return _refused(start, "metric-wrong", f"two implementations of its formula do not agree: {different}")
    paper = values[0][: len(calls)]
    if all(isinstance(value, str) for value in paper):
        return _refused(start, "no-metric", f"its formula has no value on ordinary arrays: {paper[0]}")
    if named is not None and (how := _relation(named, paper, calls, options)) is not None:
        return _reused(start, named, how)
    related = _matches(bank, problem, paper, calls, options)
    exact = [other for other, how in related if how.exact]
    # Whoever reads the name expects the other metric.
    if exact and named is not None:
        return _refused(start, "metric-wrong", f"it is called {named.name}, and its formula is that of {exact[0].name}")
    if exact:
        return _reused(start, exact[0], FormulaRelation("equal", exact=True))
    if related and named is None:
        return _reused(start, *related[0])
    return replace(start, how="new")


def _matches(
    bank: Mapping[str, Metric],
    problem: Problem,
    paper: Sequence[Value],
    calls: Sequence[Mapping[str, object]],
    options: Mapping[str, object],
) -> list[tuple[Metric, FormulaRelation]]:
    """The metrics of the bank from which a paper's values follow, each with the relation.

    Args:
        bank: all metrics that there are, by name.
        problem: the kind of question.
        paper: values of the paper's formula, one for each call.
        calls: arguments of the calls.
        options: options that the bank's metrics are called with.
    """
    related = []
    for metric in bank.values():
        if metric.problem == problem:
            how = _relation(metric, paper, calls, options)
            if how is not None:
                related.append((metric, how))
    return related


def _relation(
    metric: Metric, paper: Sequence[Value], calls: Sequence[Mapping[str, object]], options: Mapping[str, object]
) -> FormulaRelation | None:
    """How a paper's values follow from a metric of the bank; None where they do not."""
    # One takes too long for so many calls, and the other has no values to be equal to.
    if metric.heavy or metric.stochastic:
        return None
    return relation(paper, bank_values(metric, calls, options))  # type: ignore[arg-type]


def _reused(start: MetricDecision, bank: Metric, how: FormulaRelation) -> MetricDecision:
    """The decision to score a metric of the bank, with a note where it is not equal to the paper's."""
    notes: tuple[RejectionReason, ...] = ()
    if not how.exact:
        text = (
            f"{start.metric.name}: not equal to {bank.name}, but {how.words}; {bank.name} is scored, which ranks "
            "answers the same, and the paper's figures are to be read so"
        )
        notes = (RejectionReason("metric-related", text, _quotations(start.metric)),)
    return replace(start, how="reused", bank=bank, relation=how.words, falls=how.falls, notes=notes)


def checked_direction(decision: MetricDecision) -> MetricDecision:
    """A decision after the metric's direction was compared with that of its formula. If the paper does not state one,
    the formula's is taken; if it states the other one, the metric is refused.
    """
    if decision.how == "refused":
        return decision
    stated = str(decision.metric.direction.value or "")
    if decision.bank is not None:
        other = {"lower": "higher", "higher": "lower"}
        right: str = other[decision.bank.direction] if decision.falls else decision.bank.direction
        whose = f"{decision.bank.name} of the bank"
    else:
        code = decision.codes[0]
        right = direction_by(decision.problem, lambda calls: evaluate(code, calls))
        whose = "its formula, by which worse answers are " + ("larger" if right == "lower" else "smaller")
    if not right or stated == right:
        return decision
    if decision.metric.direction.assumed or stated not in {"lower", "higher"}:
        changed = decision.metric.direction.model_copy(
            update={"value": right, "quotations": [], "assumed": f"direction of {whose}"}
        )
        return replace(decision, metric=decision.metric.model_copy(update={"direction": changed}))
    if decision.how == "new" and (won := _won(decision, right)):
        # A metric that is won without skill in either direction is refused for that, which says more.
        return _refused(decision, "metric-games", f"{', '.join(won)} scores best by it whichever is better")
    return _refused(decision, "metric-sign", f"the paper says that {stated} is better, and by {whose} it is {right}")


def checked_games(decision: MetricDecision) -> MetricDecision:
    """A decision after it was tried whether answers without skill win by a new metric, which is then refused."""
    if decision.how != "new":
        return decision
    won = _won(decision, str(decision.metric.direction.value))
    if not won:
        return decision
    return _refused(
        decision,
        "metric-games",
        f"{', '.join(won)} scores as well as an honest answer, or better; it measures no skill",
    )


def _won(decision: MetricDecision, direction: str) -> tuple[str, ...]:
    """The answers without skill that win by a metric in a direction."""
    code = decision.codes[0]
    return games(decision.problem, direction, lambda calls: evaluate(code, calls))


def _refused(decision: MetricDecision, code: str, text: str) -> MetricDecision:
    reason = RejectionReason(code, f"{decision.metric.name}: {text}", _quotations(decision.metric))
    return replace(decision, how="refused", bank=None, reasons=(reason,))


def _quotations(metric: MetricBlueprint) -> tuple[Quotation, ...]:
    return tuple(metric.formula.quotations or metric.direction.quotations)


def describe(decision: MetricDecision) -> dict[str, object]:
    """A decision as plain values, for the facts of the stage."""
    return {
        "name": decision.metric.name,
        "formula": formula_of(decision.metric),
        "how": decision.how,
        "bank": decision.bank.name if decision.bank else "",
        "relation": decision.relation,
    }
