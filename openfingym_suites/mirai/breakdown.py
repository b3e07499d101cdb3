"""What reports say of MIRAI's tasks: the paper's figures, F1 by quadratic class, and what was wrong with calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.metrics.codes import VOTES
from openfingym.suites.breakdown import Axis, Breakdown, ShownMetric
from openfingym_suites.mirai import answers, taxonomy
from openfingym_suites.mirai.arguments import IllegalCallError, decoded
from openfingym_suites.mirai.functions import functions_of
from openfingym_suites.mirai.tools import Tools

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion
    from openfingym.vault import Vault

    Numbers = NDArray[np.float64]

FIGURES = (
    ShownMetric("first_level_precision", "P 1"),
    ShownMetric("first_level_recall", "R 1"),
    ShownMetric("first_level_f1", "F1 1"),
    ShownMetric("second_level_precision", "P 2"),
    ShownMetric("second_level_recall", "R 2"),
    ShownMetric("second_level_f1", "F1 2"),
    ShownMetric("binary_kl", "binary KL"),
    ShownMetric("quad_kl", "quad KL"),
)
"""The columns of the paper's tables 1 and 2."""
OBJECT_FIGURES = (
    ShownMetric("item_precision", "P"),
    ShownMetric("item_recall", "R"),
    ShownMetric("item_f1", "F1"),
    ShownMetric("item_mrr", "MRR"),
    ShownMetric("item_hits_at_10", "Hits@10"),
)
"""The columns for queries that ask for countries, whose answers have one level."""
NEWS = frozenset({"count_news_articles", "get_news_articles", "browse_news_article"})
EVENTS = frozenset({"count_events", "get_events", "get_entity_distribution", "get_relation_distribution"})
ANSWER_DECIDES = frozenset({"browse_news_article", "get_parent_relation", "get_child_relations"})
"""Functions that refuse some well-formed arguments only when they look for their answer."""
FIRST_LEVEL = len(taxonomy.relations(1))


def breakdown_of(subset: str, asks: str = "relations") -> Breakdown:
    """What reports break down in a task.

    Args:
        subset: functions of the API that the task has.
        asks: ``relations`` or ``objects``, as the option of the task.
    """

    def fault(question: SuiteQuestion, name: str, arguments: Mapping[str, object], vault: Vault | None) -> str | None:
        return fault_of(question, name, arguments, vault, subset)

    breakdown = Breakdown(
        figures=FIGURES,
        score=f1_of_questions,
        score_title="F1 2",
        classes=f1_by_quad,
        classes_title="quad class",
        voted=voted_numbers,
        axis=Axis("horizon", "days ahead"),
        tool_groups={function.name: _group(function.name) for function in functions_of("full")},
        fault=fault,
        day=lambda question: date.fromisoformat(str(question.query["date"])),
    )
    if asks == "relations":
        return breakdown
    # Countries have neither levels nor quadratic classes.
    of_countries = replace(breakdown, score_title="F1", score=lambda truths, given: _f1(truths > 0.0, given > 0.0))
    return replace(of_countries, figures=OBJECT_FIGURES, classes=None, voted=None)


def f1_of_questions(truths: Numbers, given: Numbers) -> Numbers:
    """F1 of the second-level codes of each question, float64[questions]; 0 if none is named."""
    return _f1(truths[:, FIRST_LEVEL:] > 0.0, given[:, FIRST_LEVEL:] > 0.0)


def f1_by_quad(truths: Numbers, given: Numbers) -> dict[str, Numbers]:
    """F1 of the second-level codes of each quadratic class alone, as float64[questions] by the name of the class.

    It is NaN for a question without a true code of the class.
    """
    quads = np.array([taxonomy.quad_of(code) for code in answers.labels()[FIRST_LEVEL:]])
    by_class = {}
    for number, name in taxonomy.QUAD_NAMES.items():
        true, named = (values[:, FIRST_LEVEL:][:, quads == number] > 0.0 for values in (truths, given))
        by_class[name] = np.where(true.any(axis=1), _f1(true, named), np.nan)
    return by_class


def voted_numbers(samples: Numbers) -> Numbers:
    """The codes that at least :data:`~openfingym.metrics.codes.VOTES` samples name, with their first-level codes.

    If there are fewer samples, all of them must name a code.

    Args:
        samples: several answers to each question, float64[samples, questions, codes].
    """
    kept: Numbers = ((samples > 0.0).sum(axis=0) >= min(VOTES, len(samples))).astype(np.float64)
    for place, code in enumerate(answers.labels()[:FIRST_LEVEL]):
        below = [number for number, label in enumerate(answers.labels()) if len(label) == 3 and label[:2] == code]
        kept[:, place] = np.maximum(kept[:, place], kept[:, below].max(axis=1, initial=0.0))
    return kept


def fault_of(
    question: SuiteQuestion, name: str, arguments: Mapping[str, object], vault: Vault | None, subset: str
) -> str | None:
    """What was wrong with a call, in a word; None if nothing was.

    Args:
        question: the question that was open.
        name: name of the function.
        arguments: its arguments by name.
        vault: the vault that was looked into; None judges calls of :data:`ANSWER_DECIDES` by their form alone.
        subset: functions of the API that there were.
    """
    functions = {function.name: function for function in functions_of(subset)}
    if name not in functions:
        return "unknown_function"
    if name in ANSWER_DECIDES and vault is not None:
        return Tools(vault.as_of(question.as_of), subset).reply(name, arguments).fault
    # As for the tools, the midnight after a day still belongs to that day.
    today = (datetime.fromisoformat(question.as_of).astimezone(UTC) - timedelta(microseconds=1)).date()
    try:
        decoded(functions[name], arguments, today)
    except IllegalCallError as error:
        return error.fault
    return None


def _group(name: str) -> str:
    return "news" if name in NEWS else "events" if name in EVENTS else "codes and names"


def _f1(true: NDArray[np.bool_], named: NDArray[np.bool_]) -> Numbers:
    # 2 TP / (true + named) is F1 without a division by 0 where nothing is named.
    f1: Numbers = 2.0 * (true & named).sum(axis=1) / np.maximum(true.sum(axis=1) + named.sum(axis=1), 1)
    return f1
