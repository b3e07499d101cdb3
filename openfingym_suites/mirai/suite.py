"""MIRAI as a suite of questions: a month's queries, the functions of its API as tools, and CAMEO codes as answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.suites.asking import Approach, Prompt
from openfingym.suites.example import Example
from openfingym.suites.suite import (
    AnswerForm,
    Lookup,
    Observation,
    QuestionSet,
    Retrieval,
    Scalar,
    Suite,
    SuiteClient,
    SuiteQuestion,
    SuiteTool,
)
from openfingym.task.exposure import Exposure, between
from openfingym.vault import Vault
from openfingym.vault.held import opened
from openfingym_suites.mirai import answers, asking, months, objects, retrieval, splits, taxonomy
from openfingym_suites.mirai.breakdown import breakdown_of
from openfingym_suites.mirai.client import MODULE, client_source
from openfingym_suites.mirai.functions import SUBSETS, functions_of
from openfingym_suites.mirai.question_sets import (
    ASKS,
    MiraiOptions,
    kept_queries,
    practice_month,
    queries,
    question_set,
)
from openfingym_suites.mirai.simulated import NAME, continued, recipe_of, simulated_vault
from openfingym_suites.mirai.tools import Tools
from openfingym_suites.mirai.world import SimulationSize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.breakdown import Breakdown

PULLED = "mirai"
"""Name of the vault that ``openfingym vault pull mirai`` makes."""
FIRST_LEVEL = len(taxonomy.relations(1))
"""How many labels of an answer are first-level codes; second-level codes follow them."""
EXAMPLE = Example(
    data="the simulated world of the suite 'mirai'",
    description="Forecast what countries do to each other, in a simulated world.",
    asks="Forecast the relations between two countries a day ahead.",
    panel="questions about pairs of countries",
    dataset="mirai-simulated",
    contract="""suite = "mirai"
unit = "share of a set"
low = 0.0
high = 1.0

[metadata.openfingym.contract.options]   # what the suite lets a task choose; these are what it has without them
month = "2024-02"
horizon = 1            # days ahead: 1, 7, 30 or 90
subset = "full"        # full | events | news | none
""",
    metrics=(("second_level_f1", 1.0),),
)
"""The task that ``openfingym task new --kind qa`` starts from."""


class MiraiSuite(Suite):
    """Which relations there will be between two countries, or with which countries there will be one."""

    name = "mirai"
    example = EXAMPLE
    programs = frozenset({"recurrency", "frequency"})
    retrieves = retrieval.RETRIEVES
    has_dictionary = True

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """The options ``month``, ``horizon``, ``subset`` and ``asks``, each with its default if it is not given.

        ``month`` is one month, or a first and a last one, as ``2023-11..2024-02``; ``horizon`` is in days; ``asks`` is
        ``relations`` (the default, which is not stated) or ``objects``.
        """
        chosen: dict[str, Scalar] = {"month": splits.PAPER_MONTHS[-1], "horizon": 1, "subset": "full"}
        if unknown := given.keys() - {*chosen, "asks"}:
            raise ValueError(f"options: no option {', '.join(sorted(unknown))}; there are {', '.join(chosen)}, asks")
        # Options go into packages: `asks` is only among them if it is stated, so that older packages stay the same.
        chosen |= given
        if chosen["horizon"] not in splits.HORIZONS:
            raise ValueError(f"options.horizon is {chosen['horizon']!r}; expected one of {splits.HORIZONS}")
        if chosen["subset"] not in SUBSETS:
            raise ValueError(f"options.subset is {chosen['subset']!r}; expected one of {', '.join(SUBSETS)}")
        if chosen.get("asks", ASKS[0]) not in ASKS:
            raise ValueError(f"options.asks is {chosen['asks']!r}; expected one of {', '.join(ASKS)}")
        _months(chosen["month"])
        return chosen

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:  # noqa: ARG002 - one world for all
        """What decides the questions: the digest of the vault, or the recipe of the simulated world, which need not be
        made for that.
        """
        return recipe_of(SimulationSize(), 0) if dataset == NAME else _vault(dataset).digest

    def simulated(self, dataset: str) -> bool:
        """Whether it is the simulated world."""
        return dataset != PULLED

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """The queries of the months, some queries for practice, and those of three months with their answers.

        Practice is on the last month that was over when the first query is asked; answers are from the months before.
        """
        return question_set(_vault(dataset), _options(options), kept_queries)

    def renewable(self, dataset: str) -> bool:
        """Whether it is the simulated world."""
        return dataset == NAME

    def renewed(self, dataset: str, options: Mapping[str, Scalar], seed: int) -> QuestionSet:  # noqa: ARG002 - only one
        """The queries of a world that is drawn anew from the month for practice on."""
        chosen = _options(options)
        files = continued(months.days_of(practice_month(chosen))[0], seed)
        # Not kept in this process, which would keep the world too.
        return replace(question_set(opened(files), chosen, queries), world=files)

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:
        """A set of codes of both levels, or a list of countries."""
        return objects.form() if _options(options).asks == "objects" else asking.form_of("set")

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The functions of the subset."""
        return tuple(
            SuiteTool(function.name, f"{function.about} Answers {function.answer}.", function.schema)
            for function in functions_of(_options(options).subset)
        )

    def subsets(self, options: Mapping[str, Scalar]) -> Mapping[str, tuple[str, ...]]:
        """``full``, ``events``, ``news`` and ``none``, each without the functions that the task does not have."""
        offered = {function.name for function in functions_of(_options(options).subset)}
        return {
            name: tuple(function.name for function in functions_of(name) if function.name in offered)
            for name in SUBSETS
        }

    def forms(self, options: Mapping[str, Scalar]) -> Mapping[str, AnswerForm]:
        """A set of codes, or rankings of some or all codes, without or with probabilities; for countries, a list."""
        if _options(options).asks == "objects":
            return {"list": objects.form()}
        return {name: asking.form_of(name) for name in asking.STYLES}

    def retrieval(
        self,
        question: SuiteQuestion,
        what: str,
        options: Mapping[str, Scalar],  # noqa: ARG002
        calls: int,
    ) -> Retrieval:
        """The latest events of the pair, the articles that fit best, or both."""
        return retrieval.retrieval(question, what, calls)

    def prompt(
        self,
        question: SuiteQuestion,
        way: Approach,
        options: Mapping[str, Scalar],  # noqa: ARG002
        found: object = None,
    ) -> Prompt:
        """The paper's prompt."""
        return asking.prompt(question, way, way.tools, found)

    def read_call(self, text: str, options: Mapping[str, Scalar]) -> tuple[str, dict[str, object]]:  # noqa: ARG002
        """A line with the API's classes, such as ``get_events(head_entities=[ISOCode("USA")])``."""
        return asking.read_call(text)

    def vote(self, answers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The codes, or the countries, that two answers name."""
        return asking.voted(answers)

    def client(self, options: Mapping[str, Scalar]) -> SuiteClient:
        """The classes and functions of the paper as they are: ``from mirai_api import *``."""
        return SuiteClient(MODULE, client_source(_options(options).subset))

    def vault(self, snapshot: str) -> Vault:
        """The vault with this digest."""
        return _vault_of(snapshot)

    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The functions, as of the end of the last known day."""
        assert vault is not None
        tools = Tools(vault.as_of(question.as_of), _options(options).subset)

        def call(name: str, arguments: Mapping[str, object]) -> Observation:
            reply = tools.reply(name, arguments)
            return Observation(reply.text, reply.valid, reply.value)

        return call

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
        """The set of codes that would have been the best answer to all training questions; for countries, all that were
        an answer, the most frequent first.
        """
        # An answer of countries has another number of labels than one of codes.
        if truths.shape[1] == len(objects.labels()):
            return np.repeat(objects.prior(truths)[None], rows, axis=0)
        return np.repeat(_best_constant(truths)[None], rows, axis=0)

    def skillless(
        self, truths: NDArray[np.float64], rows: int, generator: np.random.Generator
    ) -> Mapping[str, NDArray[np.float64]]:
        """Nothing, everything, the most frequent codes, and codes drawn as often as they occur."""
        if truths.shape[1] == len(objects.labels()):
            return objects.skillless(truths, rows, generator)
        guesses = {"nothing": np.zeros((rows, truths.shape[1])), "everything": np.ones((rows, truths.shape[1]))}
        for most in (1, 3, 10, 30):
            guesses[f"the {most} most frequent"] = np.repeat(_most_frequent(truths, most)[None], rows, axis=0)
        drawn = (generator.uniform(size=(rows, truths.shape[1])) < truths.mean(axis=0)).astype(np.float64)
        guesses["drawn as often as in training"] = _with_roots(drawn)
        return guesses

    def exposure(self, dataset: str, options: Mapping[str, Scalar]) -> Exposure:
        """The days of the months that are asked about are hidden; tools show those up to the last known one. The world
        need not be made for that.
        """
        chosen, world = _options(options), self.searched(dataset)
        first, last = months.days_of(chosen.months[0])[0], months.days_of(chosen.months[-1])[1]
        shows = {world: between(date.min, last - timedelta(chosen.horizon))} if self.tools(options) else {}
        return Exposure(shows, {world: between(first, last)})

    def revealing(
        self,
        question: SuiteQuestion,
        options: Mapping[str, Scalar],  # noqa: ARG002 - calls that a subset lacks are refused
    ) -> Sequence[tuple[str, Mapping[str, object]]]:
        """The events and the news of what is asked about: of its day, and the latest ones."""
        query, day = question.query, question.query["date"]
        known = {"head_entities": [query["head"]]}
        known |= {"tail_entities": [query["tail"]]} if "tail" in query else {"relations": [query["relation"]]}
        on_day = {"date_range": {"start_date": day, "end_date": day}, **known}
        return [(name, given) for name in ("get_events", "get_news_articles") for given in (on_day, known)]

    def reveals(
        self,
        question: SuiteQuestion,
        truth: NDArray[np.float64],  # noqa: ARG002 - every event of the day is a part of it
        replies: Sequence[Observation],
    ) -> bool:
        """Whether an event or an article of the day that is asked about is shown."""
        shown = [row for reply in replies if isinstance(reply.value, list) for row in reply.value]
        return any(row[0] == question.query["date"] for row in shown)

    def breakdown(self, options: Mapping[str, Scalar]) -> Breakdown:
        """The paper's breakdown: by quadratic class, by function, over horizons."""
        return breakdown_of(_options(options).subset, str(options.get("asks", "relations")))


def _vault(dataset: str) -> Vault:
    if dataset == NAME:
        return _simulated()
    if dataset == PULLED:
        try:
            return Vault.open(PULLED)
        except OpenFinGymError as error:
            raise DataError(f"{error}; `openfingym vault pull mirai --from 2023-01 --to 2024-02` makes it") from error
    raise DataError(f"no world is named {dataset!r}; there are {NAME} and, once it is pulled, {PULLED}")


@functools.cache
def _simulated() -> Vault:
    return simulated_vault()


@functools.lru_cache(maxsize=4)
def _vault_of(snapshot: str) -> Vault:
    """The vault with this digest, open once a process.

    Raises:
        DataError: this machine has no vault of this digest.
    """
    for dataset in (NAME, PULLED):
        # Of the two vaults a machine may well have only one.
        try:
            vault = _vault(dataset)
        except DataError:
            continue
        if vault.digest == snapshot:
            return vault
    raise DataError(
        f"the vault {snapshot[:12]} that the questions were made from is not on this machine; build the task here, or "
        "copy the vault's folder into the store"
    )


def _best_constant(truths: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most frequent codes, as many as have the highest F1 of the second level on all truths; up to 30."""
    best = max(range(1, 31), key=lambda most: _mean_f1(truths[:, FIRST_LEVEL:], _most_frequent(truths, most)))
    return _most_frequent(truths, best)


def _most_frequent(truths: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The most frequent second-level codes, and their first-level codes, float64[codes]."""
    answer = np.zeros(truths.shape[1])
    order = np.argsort(-truths[:, FIRST_LEVEL:].mean(axis=0), kind="stable")
    answer[FIRST_LEVEL + order[:most]] = 1.0
    return np.asarray(_with_roots(answer[None])[0])


def _mean_f1(truths: NDArray[np.float64], answer: NDArray[np.float64]) -> float:
    """Mean F1 of one answer to all questions.

    Args:
        truths: the true answers, float64[questions, second-level codes].
        answer: the answer, float64[codes] of both levels.
    """
    named = answer[FIRST_LEVEL:]
    hits = truths @ named
    return float(np.mean(2.0 * hits / np.maximum(truths.sum(axis=1) + named.sum(), 1.0)))


def _with_roots(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Answers, float64[rows, codes], with the first-level code of every second-level code that they name."""
    labels = answers.labels()
    roots = np.array([labels.index(code[:2]) for code in labels[FIRST_LEVEL:]])
    whole: NDArray[np.float64] = rows.copy()
    for root in range(FIRST_LEVEL):
        whole[:, root] = np.maximum(whole[:, root], rows[:, FIRST_LEVEL:][:, roots == root].max(axis=1))
    return whole


def _options(options: Mapping[str, Scalar]) -> MiraiOptions:
    asks = str(options.get("asks", ASKS[0]))
    return MiraiOptions(_months(options["month"]), int(options["horizon"]), str(options["subset"]), asks)


def _months(given: Scalar) -> tuple[str, ...]:
    """The months of the option ``month``: one, or from one to another."""
    first, _, last = str(given).partition("..")
    try:
        listed = months.span(first, last or first)
    except UsageError:
        raise ValueError(f"options.month is {given!r}; expected a month such as 2024-02, or 2023-11..2024-02") from None
    if not listed:
        raise ValueError(f"options.month is {given!r}, which is backwards")
    return listed


SUITE = MiraiSuite()
