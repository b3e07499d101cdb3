"""The pool of questions, as it is drawn; the same everywhere for one vault.

No two questions of the pool differ by names alone, and at most :data:`LIKE` are the same but for names, numbers and
dates. A question is in the pool only if its other readings give another answer, and its value is no near tie.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from openfingym.answers import decide
from openfingym.digests import sha256_of_json
from openfingym.suites.finsearch.questions import templates  # noqa: F401  # registers them
from openfingym.suites.finsearch.questions.composition import EARLY, LATE, TURN
from openfingym.suites.finsearch.questions.drawing import (
    CHINA,
    GLOBAL,
    TEMPLATES,
    Draft,
    Draw,
    Program,
    SkipError,
    Template,
)
from openfingym.suites.finsearch.questions.masks import masked, without_names
from openfingym.suites.finsearch.questions.problem import SearchProblem, reference_of, situation
from openfingym.suites.finsearch.questions.sources import VaultSources
from openfingym.suites.suite import SuiteQuestion

if TYPE_CHECKING:
    from openfingym.answers.reference import Reference
    from openfingym.vault import Vault

LIKE = 6
"""Most questions that are the same but for names, numbers and dates."""
TRIES = 14
"""Draws for each question that a template may give."""
CHINESE = 0.75
"""Share of the Greater China subset that is asked in Chinese."""


@dataclass
class _Drawn:
    """What is in the pool so far."""

    problems: list[SearchProblem] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    like: Counter[str] = field(default_factory=Counter)


def draw_pool(vault: Vault) -> list[SearchProblem]:
    """All questions, sorted by their ids."""
    drawn = _Drawn()
    for one in TEMPLATES:
        for subset in one.subsets:
            _draw(vault, one, subset, (TURN, LATE), one.most, drawn)
            _draw(vault, one, subset, (EARLY, TURN), 2, drawn)
    return sorted(drawn.problems, key=lambda problem: problem.question.id)


def _draw(vault: Vault, one: Template, subset: str, window: tuple[str, str], most: int, drawn: _Drawn) -> None:
    world = VaultSources(vault, None)
    found = 0
    for attempt in range(TRIES * most):
        if found == most:
            return
        seed = f"{one.name} {subset} {window[0]} {attempt}"
        zh = subset == CHINA and random.Random(seed + " language").random() < CHINESE
        try:
            draft = one.draw(Draw(seed, world, subset, *window, zh=zh))
            problem = _problem(vault, one, subset, draft, zh=zh)
        except (SkipError, *NOT_THERE):
            continue  # what was drawn has no figures to be computed from
        if _taken(problem, drawn):
            found += 1


def _taken(problem: SearchProblem, drawn: _Drawn) -> bool:
    text = problem.question.text
    named = without_names(text, problem.names) + (situation(problem.question.as_of) if problem.tier == "T1" else "")
    like = masked(text, problem.names)
    if named in drawn.named or drawn.like[like] >= LIKE or any(text == one.question.text for one in drawn.problems):
        return False
    drawn.named.add(named)
    drawn.like[like] += 1
    drawn.problems.append(problem)
    return True


def _problem(vault: Vault, one: Template, subset: str, draft: Draft, *, zh: bool) -> SearchProblem:
    language = "zh" if zh else "en"
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
        template=one.name,
        tier=one.tier,
        subset=subset,
        topic=one.topic,
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


NOT_THERE = (StopIteration, IndexError, KeyError, ZeroDivisionError)
"""What a program raises where a figure that it needs is not there."""


def _readable(problem: SearchProblem, sources: VaultSources) -> dict[str, tuple[Program, dict[str, Any]]]:
    """The other readings for which there are figures."""
    found = {}
    for name, (program, params) in problem.alternatives.items():
        try:
            rows = program(sources, params)
        except NOT_THERE:
            continue
        if rows:
            found[name] = (program, params)
    return found


def unique(problem: SearchProblem, reference: Reference, sources: VaultSources) -> None:
    """Refuse a question of which another reading is as right, or none differs.

    Raises:
        SkipError: it is one.
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


def digest_of(pool: list[SearchProblem]) -> str:
    """A digest of all questions with their answers."""
    return sha256_of_json([[one.question.to_json(), one.reference.to_json()] for one in pool])
