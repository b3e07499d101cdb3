"""Figures that are published on a day: series of FRED, and par yields of the United States Treasury.

A figure may be revised. Its first print decides unless the question asks for the latest; later prints that are known
are reported with it, and recorded beside it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from openfingym.data.sources.fred import Fred, read_series
from openfingym.data.sources.treasury import TENORS, Treasury, read_year
from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.questions.markets import answer_together, closed_market
from openfingym.questions.payouts import exact
from openfingym.questions.provider import ProviderAnswer, Truth
from openfingym.questions.query import require_query
from openfingym.questions.question import DAY_NS
from openfingym.questions.web import Web, base_url, reading

if TYPE_CHECKING:
    from openfingym.data.sources.table import Block
    from openfingym.questions.question import Form, Question

FRED_API = "https://api.stlouisfed.org"
KEY_VARIABLE = "FRED_API_KEY"
FORMS: tuple[Form, ...] = ("probability", "value", "quantiles", "interval")
"""Forms of questions that a figure can resolve."""
LOOK_BACK = timedelta(days=800)
"""How far before the period the figure that was published last is looked for."""
MOST_PRINTS = 60
"""The most later prints that are kept beside the one that decides; the newest ones stay."""
_SERIES = re.compile(r"[A-Z0-9_]{1,40}")
_TREASURY = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv"


class Print(NamedTuple):
    """A figure as it was published on a day."""

    day: str
    """Day of publication, ISO 8601; empty where it is not known."""
    value: float


@dataclass(frozen=True)
class Prints:
    """The prints of a figure that are known."""

    known: tuple[Print, ...]
    """The prints in the order of their days; empty where the figure is not published yet."""
    source: str
    """Address that was asked, without keys."""
    whole: bool
    """Whether the first of them is surely the first print that there was."""


@dataclass(frozen=True)
class Releases:
    """Published figures.

    The query has ``source`` (``fred`` or ``treasury``), ``series`` (an id such as ``CPIAUCSL``, or a tenor such as
    ``10y``), ``period`` (the day of the figure, such as ``2026-10-01`` for October's), for a probability ``above``, and
    optionally ``print``: ``first`` or ``latest``.
    """

    fred: Web = field(default_factory=lambda: Web(base_url("FRED", Fred.base_url), per_second=2.0))
    """FRED's tables, which need no key and have the latest prints alone."""
    api: Web = field(default_factory=lambda: Web(base_url("FRED_API", FRED_API), per_second=2.0))
    """FRED's interface with all prints, which needs a key."""
    treasury: Web = field(default_factory=lambda: Web(base_url("TREASURY", Treasury.base_url), per_second=2.0))
    """The Treasury's tables of par yields."""
    key: str | None = field(default_factory=lambda: os.environ.get(KEY_VARIABLE), repr=False)
    """Key of FRED's interface with all prints; None for none, so that only the latest prints are known."""
    name: str = "release"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """Refuse a question that can never be resolved; see :class:`~openfingym.questions.provider.Provider`."""
        level: dict[str, type] = {"above": float} if question.form == "probability" else {}
        required = {"source": str, "series": str, "period": str, **level}
        require_query(question, required, optional={"print": str}, forms=FORMS)
        source, series = str(question.query["source"]), str(question.query["series"])
        known = series in TENORS if source == "treasury" else _SERIES.fullmatch(series) is not None
        if source not in {"fred", "treasury"} or not known:
            raise UsageError(
                f"question {question.id}: its query asks {source[:20]!r} for {series[:40]!r}; expected treasury and "
                f"one of {', '.join(TENORS)}, or fred and the id of a series"
            )
        if question.query.get("print", "first") not in {"first", "latest"}:
            raise UsageError(
                f"question {question.id}: print of its query is {question.query['print']!r}; expected first or latest"
            )
        _period(question)

    @reading()
    def reference(self, question: Question, now_ns: int) -> Mapping[str, Any] | None:
        """The last figure before the period asked for, as it stands now.

        Closed once the first print of the period is there: nobody says since when it has been.
        """
        self.check(question)
        period = _period(question)
        # No later than today: the Treasury's tables are by year, and next year's is not there yet.
        last = min(period, datetime.fromtimestamp(now_ns // 10**9, UTC).date())
        block, source = self._table(question, last - LOOK_BACK, last)
        known = _published(block)
        if any(day == period for day, _ in known) and question.query.get("print", "first") == "first":
            return closed_market(now_ns, source)
        if not any(day < period for day, _ in known):
            # A table may be of one year alone, which has just begun.
            last = last.replace(month=1, day=1) - timedelta(days=1)
            block, source = self._table(question, last - LOOK_BACK, last)
        before = [(day, value) for day, value in _published(block) if day < period]
        if not before:
            return None
        day, value = before[-1]
        return {"price": value, "at_ns": _midnight_ns(day), "source": source}

    def answers(
        self,
        questions: Sequence[Question],
        now_ns: int,  # noqa: ARG002
    ) -> Mapping[str, ProviderAnswer | OpenFinGymError]:
        """What was published of each figure, each of which is asked for once."""
        return answer_together(questions, _about, self._prints, _answer)

    def close(self) -> None:
        """Close connections."""
        for web in (self.fred, self.api, self.treasury):
            web.close()

    def _prints(self, question: Question) -> Prints:
        self.check(question)
        if question.query["source"] == "fred" and self.key:
            return self._vintages(str(question.query["series"]), _period(question), self.key)
        period = _period(question)
        block, source = self._table(question, period - LOOK_BACK, period)
        stands = [value for day, value in _published(block) if day == period]
        # Nobody says when it was published, so it may be a revision.
        return Prints(tuple(Print("", value) for value in stands), source, whole=False)

    def _vintages(self, series: str, period: date, key: str) -> Prints:
        """All prints of a figure, from FRED's interface with a key."""
        # From the first to the last day that the service knows, so that it gives every print.
        query = {
            "series_id": series,
            "observation_start": period.isoformat(),
            "observation_end": period.isoformat(),
            "realtime_start": "1776-07-04",
            "realtime_end": "9999-12-31",
            "file_type": "json",
        }
        reply = self.api.get("/fred/series/observations", query, hidden={"api_key": key})
        rows = reply.object().get("observations")
        if not isinstance(rows, list):
            raise DataError(f"{reply.url}: the answer has no observations")
        prints = []
        for row in rows:
            if row["date"] != period.isoformat():
                raise DataError(f"{reply.url}: the answer is about {row['date']}, asked was {period}")
            day = date.fromisoformat(row["realtime_start"]).isoformat()
            # FRED writes a dot where it had no figure on that day.
            if row["value"] not in {".", ""}:
                prints.append(Print(day, float(exact(row["value"], "a figure", None, None))))
        return Prints(tuple(sorted(prints)), reply.url, whole=True)

    def _table(self, question: Question, first: date, last: date) -> tuple[Block, str]:
        """A series as it stands now, from the first day to the last, and the address that was asked.

        The Treasury's tables are by year, so there it is the year of the last day.
        """
        series = str(question.query["series"])
        if question.query["source"] == "fred":
            period = {"id": series, "cosd": first.isoformat(), "coed": last.isoformat()}
            reply = self.fred.get("/graph/fredgraph.csv", period, kind="csv")
            return read_series(reply.body, series), reply.url
        query: dict[str, str | int] = {
            "type": "daily_treasury_yield_curve",
            "field_tdr_date_value": last.year,
            "_format": "csv",
        }
        reply = self.treasury.get(f"{_TREASURY}/{last.year}/all", query, kind="csv")
        (times, columns, values), _ = read_year(reply.body, last.year)
        place = columns.index(series)
        return (times, (series,), values[:, place : place + 1]), reply.url


def provider(secret: bytes) -> Releases:  # noqa: ARG001
    """The provider, for the registry."""
    return Releases()


def _about(question: Question) -> Hashable:
    """The figure that a question is about."""
    return tuple(question.query[key] for key in ("source", "series", "period"))


def _answer(question: Question, prints: Prints) -> ProviderAnswer:
    if not prints.known:
        return ProviderAnswer("waiting", reason="it is not published yet", source=prints.source)
    decides = len(prints.known) - 1 if question.query.get("print") == "latest" else 0
    answer, *later = (_resolved(question, prints, place) for place in range(decides, len(prints.known)))
    return replace(answer, later=tuple(later[-MOST_PRINTS:]))


def _resolved(question: Question, prints: Prints, place: int) -> ProviderAnswer:
    """The answer to a question by one of the prints."""
    day, value = prints.known[place]
    truth: Truth = value
    if question.form == "probability":
        truth = float(value > float(question.query["above"]))
    which = f"{place + 1} of {len(prints.known)} known" if prints.whole else "as it stood when it was asked for"
    evidence = {**{key: question.query[key] for key in ("source", "series", "period")}, "value": value, "print": which}
    published = _midnight_ns(date.fromisoformat(day)) if day else None
    return ProviderAnswer(
        "resolved", truth, source=prints.source, evidence=evidence, vintage=day, provider_ns=published
    )


def _period(question: Question) -> date:
    try:
        return date.fromisoformat(str(question.query["period"]))
    except ValueError:
        raise UsageError(
            f"question {question.id}: period of its query is {str(question.query['period'])[:40]!r}; expected a day "
            "such as 2026-10-01"
        ) from None


def _published(block: Block) -> list[tuple[date, float]]:
    """The days of a table of one column that have a figure, with it, in the order of time."""
    times, _, values = block
    rows = zip(times.astype("datetime64[D]").tolist(), values[:, 0].tolist(), strict=True)
    return [(day, value) for day, value in rows if not math.isnan(value)]


def _midnight_ns(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY_NS
