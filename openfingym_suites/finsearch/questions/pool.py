"""Drawing the pool of questions: the same pool everywhere for the same vault.

No two questions of the pool differ by names alone, and at most :data:`LIKE` are the same but for names, numbers and
dates. A question is in the pool only if another reading of it has another answer, and if its value is not as good as in
the middle between two roundings.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from openfingym.answers import decide
from openfingym.suites.suite import SuiteQuestion
from openfingym_suites.finsearch.questions import templates  # noqa: F401  # registers them
from openfingym_suites.finsearch.questions.composition import EARLY, LATE, TURN
from openfingym_suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    TEMPLATES,
    Draft,
    Draw,
    Program,
    SkipError,
    Template,
)
from openfingym_suites.finsearch.questions.masks import masked, without_names
from openfingym_suites.finsearch.questions.problem import SearchProblem, reference_of, situation
from openfingym_suites.finsearch.questions.sources import VaultSources

if TYPE_CHECKING:
    from openfingym.answers.reference import Reference
    from openfingym.vault import Vault

LIKE = 6
"""Most questions that are the same but for names, numbers and dates."""
TRIES = 14
"""Most draws for each question that a template may add to the pool."""
CHINESE = 0.75
"""Share of the questions of the Greater China subset that are asked in Chinese."""
NOT_THERE = (StopIteration, IndexError, KeyError, ZeroDivisionError)
"""What a program raises where a figure that it needs is not there."""


@dataclass
class _Drawn:
    """The pool so far.

    Attributes:
        problems: its questions.
        without_names: their texts without names, of which no two may be the same.
        masked: how many have the same text without names, numbers and dates.
    """

    problems: list[SearchProblem] = field(default_factory=list)
    without_names: set[str] = field(default_factory=set)
    masked: Counter[str] = field(default_factory=Counter)


def draw_pool(vault: Vault) -> list[SearchProblem]:
    """All questions about a vault, sorted by their ids."""
    drawn = _Drawn()
    for each in TEMPLATES:
        for subset in each.subsets:
            _draw(vault, each, subset, (TURN, LATE), each.most, drawn)
            # Two more to practise and to train on, asked before any question that counts.
            _draw(vault, each, subset, (EARLY, TURN), 2, drawn)
    return sorted(drawn.problems, key=lambda problem: problem.question.id)


def _draw(vault: Vault, source: Template, subset: str, window: tuple[str, str], most: int, drawn: _Drawn) -> None:
    """Add questions of one template to the pool.

    Args:
        vault: the vault that the questions are about.
        source: the template that draws them.
        subset: the subset that they belong to.
        window: days between which they are asked, as ISO dates.
        most: most questions that are added.
        drawn: the pool so far.
    """
    world = VaultSources(vault, None)
    added = 0
    for attempt in range(TRIES * most):
        if added == most:
            return
        # A seed of its own for each attempt: a change of one template leaves the draws of all others as they are.
        seed = f"{source.name} {subset} {window[0]} {attempt}"
        zh = subset == CHINA and random.Random(seed + " language").random() < CHINESE
        try:
            draft = source.draw(Draw(seed, world, subset, *window, zh=zh))
            problem = _problem(vault, source, subset, draft, zh=zh)
        except (SkipError, *NOT_THERE):
            continue  # what was drawn has no figures to be computed from
        if _add(problem, drawn):
            added += 1


def _add(problem: SearchProblem, drawn: _Drawn) -> bool:
    """Add a question to the pool, unless it is too much like those that are there."""
    text = problem.question.text
    # A question on what is latest is another one where it is asked on another day of the week, or at another hour.
    asked = situation(problem.question.as_of) if problem.tier == "T1" else ""
    nameless, like = without_names(text, problem.names) + asked, masked(text, problem.names)
    if nameless in drawn.without_names or drawn.masked[like] >= LIKE:
        return False
    if any(text == other.question.text for other in drawn.problems):
        return False
    drawn.without_names.add(nameless)
    drawn.masked[like] += 1
    drawn.problems.append(problem)
    return True


def _problem(vault: Vault, source: Template, subset: str, draft: Draft, *, zh: bool) -> SearchProblem:
    """A draft with its answer.

    Raises:
        SkipError: it is no sound question.
    """
    language = "zh" if zh else "en"
    # Without id and answer at first: both need what the other fields say.
    made = SearchProblem(
        question=SuiteQuestion("", draft.text, draft.as_of, {}),
        reference=None,  # type: ignore[arg-type]
        program=draft.program,
        params=draft.params,
        asks=draft.asks,
        table=draft.table,
        ordered=draft.ordered,
        alternatives=draft.alternatives,
        names=tuple(sorted({name for name in draft.names if name and name in draft.text})),
        template=source.name,
        tier=source.tier,
        subset=subset,
        topic=source.topic,
        language=language,
        sources=draft.sources,
        why=draft.why,
        real=draft.real,
    )
    sources = VaultSources(vault, draft.as_of)
    made = replace(made, alternatives=_readable(made, sources))
    reference = reference_of(made, draft.program(sources, draft.params))
    unique(made, reference, sources)
    return _with_question(made, reference)


def _readable(problem: SearchProblem, sources: VaultSources) -> dict[str, tuple[Program, dict[str, Any]]]:
    """The other readings of a question for which there are figures."""
    readable = {}
    for name, (program, params) in problem.alternatives.items():
        try:
            rows = program(sources, params)
        except NOT_THERE:
            continue
        if rows:
            readable[name] = (program, params)
    return readable


def unique(problem: SearchProblem, reference: Reference, sources: VaultSources) -> None:
    """Make sure that a question has one answer, and that another reading of it has another answer.

    Args:
        problem: the question that is checked.
        reference: the answer that its program computed.
        sources: what was known when it is asked.

    Raises:
        SkipError: the answer of another reading is not decided wrong, or all readings have the same answer.
    """
    if decide(reference, reference.answer()).outcome != "right":
        raise SkipError("its own answer is not decided right")
    told_apart = 0
    for name in problem.alternatives:
        answer = problem.other(sources, name)
        verdict = decide(reference, answer)
        same = answer == reference.answer()
        if not same and verdict.outcome != "wrong":
            raise SkipError(f"{name}: {answer} is decided {verdict.outcome}")
        told_apart += not same
    if problem.alternatives and not told_apart:
        raise SkipError("no other reading has another answer")


def _with_question(problem: SearchProblem, reference: Reference) -> SearchProblem:
    """A question with its answer and its id, which has a digest of its text and time."""
    text, as_of = problem.question.text, problem.question.as_of
    digest = hashlib.sha256(f"{problem.template} {text} {as_of}".encode()).hexdigest()[:8]
    short = "g" if problem.subset == GLOBAL else "c"
    question = SuiteQuestion(
        id=f"{problem.tier}-{short}-{problem.template}-{digest}",
        text=text,
        as_of=as_of,
        query={
            "tier": problem.tier,
            "subset": problem.subset,
            "topic": problem.topic,
            "language": problem.language,
            "today": as_of[:10],
        },
        tags=(problem.tier, problem.subset, problem.topic, problem.language, "real" if problem.real else "simulated"),
    )  # fmt: skip
    return replace(problem, question=question, reference=reference)
