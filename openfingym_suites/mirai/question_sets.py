"""The questions of a task about a world of events, with their answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.dataset import DatasetInfo
from openfingym.suites.suite import QuestionSet, SuiteQuestion
from openfingym_suites.mirai import answers, months, objects, splits, taxonomy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.vault import Vault

ASKS = ("relations", "objects")
"""What a query leaves open: the relations between two countries, or the countries of a relation."""
TRAIN_MONTHS = 3
"""How many months' queries are given with their answers."""
PRACTICE = 20
"""How many queries of the month after those are for practice."""
TEXT = (
    "Please forecast the relations that {head} will take towards {tail} on {day} based on historical information up to "
    "{known}. I.e. forecast the relation CAMEO codes in query event Event(date={date}, "
    "head_entity=ISOCode({head_iso}), relation=CAMEOCode(?), tail_entity=ISOCode({tail_iso}))."
)
"""The paper's question (appendix F.1.2)."""


@dataclass(frozen=True)
class MiraiOptions:
    """What a task chooses of the suite."""

    months: tuple[str, ...]
    """The months that are asked about, one after another."""
    horizon: int
    """Days from the last known day to the day that is asked about."""
    subset: str
    """Name of the subset of the API's functions that agents may call."""
    asks: str
    """What is asked for, one of :data:`ASKS`."""


Find = Callable[["Vault", str, int, str], tuple[splits.Query, ...]]
"""Picks queries: of a world, a month, so many, and what they leave open, one of :data:`ASKS`."""


def question_set(vault: Vault, chosen: MiraiOptions, find: Find) -> QuestionSet:
    """The queries of the months, some for practice, and those of three months with their answers.

    Args:
        vault: the world that is asked about.
        chosen: what the task chooses.
        find: :func:`queries`, or :func:`kept_queries` for a world that many tasks are about.
    """
    asks_objects = chosen.asks == "objects"
    put, known_as = (objects.question, objects.truth) if asks_objects else (_question, _numbers)
    practice = practice_month(chosen)
    train = [months.shifted(practice, -back) for back in range(TRAIN_MONTHS, 0, -1)]
    answered = [query for month in train for query in find(vault, month, splits.QUERIES, chosen.asks)]
    rehearsed = find(vault, practice, PRACTICE, chosen.asks)
    asked = [query for month in chosen.months for query in find(vault, month, splits.QUERIES, chosen.asks)]
    every = [*answered, *rehearsed, *asked]
    texts = tuple(put(query, chosen.horizon) for query in every)
    first, second = len(answered), len(answered) + len(rehearsed)
    return QuestionSet(
        info=_info(vault, every, objects.labels() if asks_objects else answers.labels()),
        snapshot=vault.digest,
        train=texts[:first],
        public=texts[first:second],
        private=texts[second:],
        truths=np.stack([known_as(query) for query in every]),
    )


def practice_month(chosen: MiraiOptions) -> str:
    """The last month that is over on the last known day of the first question that counts."""
    first_month = chosen.months[0]
    # What is given with its answer must have been known when the first question is asked.
    known_day = splits.as_of(months.days_of(first_month)[0], chosen.horizon).date()
    back = next(back for back in range(1, 24) if _last_day(first_month, -back) <= known_day)
    return months.shifted(first_month, -back)


def queries(vault: Vault, month: str, count: int, asks: str) -> tuple[splits.Query, ...]:
    """The queries of a month."""
    find = splits.object_queries if asks == "objects" else splits.relation_queries
    return find(vault, month, count=count)


kept_queries = functools.lru_cache(maxsize=64)(queries)
"""The queries of a month, kept with their world: picking them takes a while, and tasks share months."""


def _numbers(query: splits.Query) -> NDArray[np.float64]:
    """The true answer of a query for relations, float64[codes]."""
    return answers.CodeAnswer(query.by_root).numbers()


def _question(query: splits.Query, horizon: int) -> SuiteQuestion:
    """A query for relations, as it is put to an agent."""
    known = splits.as_of(query.date, horizon)
    head, tail = (taxonomy.country(code) for code in (query.head, query.tail))
    return SuiteQuestion(
        id=f"{query.id}-{horizon}",
        text=TEXT.format(
            head=head.name,
            tail=tail.name,
            day=f"{query.date:%B %d, %Y}",
            known=f"{known:%B %d, %Y}",
            date=query.date,
            head_iso=query.head,
            tail_iso=query.tail,
        ),
        as_of=known.isoformat(),
        query={"date": str(query.date), "head": query.head, "tail": query.tail, "today": f"{known:%Y-%m-%d}"},
        tags=(f"{query.date:%Y-%m}", f"{horizon} d"),
    )


def _last_day(month: str, shift: int) -> date:
    """The last day of the month that is so many months later."""
    return months.days_of(months.shifted(month, shift))[1]


def _info(vault: Vault, queries: list[splits.Query], channels: tuple[str, ...]) -> DatasetInfo:
    manifest = vault.manifest
    return DatasetInfo(
        name=manifest.name,
        title=manifest.title,
        kind="simulated" if manifest.simulated else "real",
        source="; ".join(source.name for source in manifest.sources),
        provenance=f"vault {vault.digest[:12]}; balanced queries of a month, answers from all of its events",
        licence="; ".join(source.licence for source in manifest.sources),
        frequency="daily",
        measure="mixed",
        unit="ISO codes" if channels == objects.labels() else "CAMEO codes",
        calendar="every day",
        corporate_actions="none: events between countries",
        first=min(query.date for query in queries),
        last=max(query.date for query in queries),
        rows=len(queries),
        channels=channels,
        missing=0,
        sha256=vault.digest,
    )
