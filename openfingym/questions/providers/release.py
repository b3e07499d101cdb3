"""Figures that are published on a day: series of FRED, and par yields of the United States Treasury.

A figure may be revised. The first print decides unless the question asks for the latest; the later ones that are known
are told with it, so that they are kept beside it.
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
LOOK_BACK = timedelta(days=800)
"""How far before the period the last figure is looked for that was known."""
MOST_PRINTS = 60
"""Later prints that are kept beside the one that decides, the newest ones."""
_SERIES = re.compile(r"[A-Z0-9_]{1,40}")
_TREASURY = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv"


class Print(NamedTuple):
    """A figure as it was published."""

    day: str
    """When, in ISO 8601."""
    value: float


@dataclass(frozen=True)
class Prints:
    """All prints of a figure that are known, the first one first; none where it is not published."""

    found: tuple[Print, ...]
    source: str
    whole: bool
    """Whether the first of them is the first that there was."""


@dataclass(frozen=True)
class Releases:
    """Published figures; the query has ``source`` (``fred`` or ``treasury``), ``series`` (an id such as ``CPIAUCSL``,
    or a tenor such as ``10y``), ``period`` (the day of the figure, such as ``2026-10-01`` for October's), of a
    probability ``above``, and, if it likes, ``print``: ``first`` or ``latest``.
    """

    fred: Web = field(default_factory=lambda: Web(base_url("FRED", Fred.base_url), per_second=2.0))
    api: Web = field(default_factory=lambda: Web(base_url("FRED_API", FRED_API), per_second=2.0))
    treasury: Web = field(default_factory=lambda: Web(base_url("TREASURY", Treasury.base_url), per_second=2.0))
    key: str | None = field(default_factory=lambda: os.environ.get(KEY_VARIABLE), repr=False)
    """Of FRED's interface with vintages; without one, only what stands there now is known."""
    name: str = "release"
    simulated: bool = False

    def check(self, question: Question) -> None:
        """See :class:`~openfingym.questions.provider.Provider`."""
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
        """The last figure before the period asked for that stands there now; closed once the first print of that period
        stands there, which nobody may say the time of.
        """
        self.check(question)
        period = _period(question)
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
        """What was published of each figure, asked for once."""
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
        asked = [value for day, value in _published(block) if day == period]
        # Nobody says when it was published, so that it may be a revision.
        return Prints(tuple(Print("", value) for value in asked), source, whole=False)

    def _vintages(self, series: str, period: date, key: str) -> Prints:
        asked = {
            "series_id": series,
            "observation_start": period.isoformat(),
            "observation_end": period.isoformat(),
            "realtime_start": "1776-07-04",  # the first and the last day that the service knows: every print
            "realtime_end": "9999-12-31",
            "file_type": "json",
        }
        reply = self.api.get("/fred/series/observations", asked, hidden={"api_key": key})
        rows = reply.object().get("observations")
        if not isinstance(rows, list):
            raise DataError(f"{reply.url}: the answer has no observations")
        found = []
        for row in rows:
            if row["date"] != period.isoformat():
                raise DataError(f"{reply.url}: the answer is about {row['date']}, asked was {period}")
            day = date.fromisoformat(row["realtime_start"]).isoformat()
            if row["value"] not in {".", ""}:
                found.append(Print(day, float(exact(row["value"], "a figure", None, None))))
        return Prints(tuple(sorted(found)), reply.url, whole=True)

    def _table(self, question: Question, first: date, last: date) -> tuple[Block, str]:
        """What stands there now of the days from the first to the last, and where."""
        series = str(question.query["series"])
        if question.query["source"] == "fred":
            asked = {"id": series, "cosd": first.isoformat(), "coed": last.isoformat()}
            reply = self.fred.get("/graph/fredgraph.csv", asked, kind="csv")
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
    return tuple(question.query[key] for key in ("source", "series", "period"))


def _answer(question: Question, prints: Prints) -> ProviderAnswer:
    if not prints.found:
        return ProviderAnswer("waiting", reason="it is not published yet", source=prints.source)
    decides = len(prints.found) - 1 if question.query.get("print") == "latest" else 0
    found = [_resolved(question, prints, place) for place in (decides, *range(decides + 1, len(prints.found)))]
    return replace(found[0], later=tuple(found[1:][-MOST_PRINTS:]))


def _resolved(question: Question, prints: Prints, place: int) -> ProviderAnswer:
    """What one print says."""
    day, value = prints.found[place]
    truth: Truth = value
    if question.form == "probability":
        truth = float(value > float(question.query["above"]))
    which = f"{place + 1} of {len(prints.found)} known" if prints.whole else "as it stood when it was asked for"
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
    """Days and figures of a table of one column, in the order of time, without the days that have none."""
    times, _, values = block
    found = zip(times.astype("datetime64[D]").tolist(), values[:, 0].tolist(), strict=True)
    return [(day, value) for day, value in found if not math.isnan(value)]


def _midnight_ns(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY_NS
