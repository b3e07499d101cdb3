"""Questions about figures that statistical offices publish: series of FRED, and yields of the US Treasury.

What is asked for is the figure of the first period that nobody can know before the deadline, as it is published first.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.questions.question import Form, Measure, Question, moment_ns
from openfingym.rounds.generator import Options, Round
from openfingym.rounds.numbers import NUMBER_FORMS, Number, slug
from openfingym.task.contracts import Section, as_tuple

Period = Literal["day", "month", "quarter"]
PROVIDER = "release"
MONTHS = {"month": 1, "quarter": 3}


class ReleasedSeries(Section):
    """One of ``series``."""

    id: str
    """As the source names it, such as ``UNRATE`` or ``10y``."""
    title: str
    """As people name it, such as ``the unemployment rate of the United States``."""
    unit: str
    measure: Measure
    period: Period
    published_days: tuple[int, int]
    """Days after the end of a period at which its figure is published, at the earliest and at the latest."""

    _lists = field_validator("published_days", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        first, last = self.published_days
        if not 0 <= first <= last <= 400:
            raise ValueError(
                f"published_days: expected two numbers of days in order, 0 to 400; found [{first}, {last}]"
            )
        return self


class ReleasesOptions(Options):
    """Options of the generator ``releases``."""

    source: Literal["fred", "treasury"] = "fred"
    """Who publishes them, or collects them."""
    series: tuple[ReleasedSeries, ...]
    forms: tuple[Form, ...] = ("value", "quantiles")
    within_days: Annotated[int, Field(gt=0, le=400)] = 45
    """Figures that are published later than so many days after the generation are asked for in a later round."""
    horizon_days: Annotated[int, Field(ge=0, le=400)] = 0
    """Days by which the period ends later than it must, such as for a yield in a month."""

    _lists = field_validator("series", "forms", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if unfit := [form for form in self.forms if form not in NUMBER_FORMS or form == "probability"]:
            raise ValueError(f"forms: a figure is asked for as value, quantiles or interval; found {unfit[0]}")
        return self


class ReleasesGenerator:
    """Asks for the next figure of each series."""

    options = ReleasesOptions

    def make(self, one: Round, options: ReleasesOptions) -> list[Question]:
        """See :class:`~openfingym.rounds.generator.Generator`."""
        found = []
        for series in options.series:
            first, last = series.published_days
            known_not_before = _day_of(one.times.deadline_ns) + timedelta(days=1 - first + options.horizon_days)
            begun, ended = _period_ending(series.period, known_not_before)
            settled = _midnight(ended + timedelta(days=last + 1))
            if settled > one.after(options.within_days):
                continue
            about: dict[str, Any] = {
                "category": options.category,
                "market": options.market,
                "rules": f"The figure of {series.id} as {options.source} publishes it first.",
            }
            number = Number(
                key=f"{slug(series.id)}-{begun.isoformat()}",
                what=f"{series.title} of {_named(series.period, begun)} ({series.id}, {series.unit})",
                unit=series.unit,
                measure=series.measure,
                settled_ns=settled,
                provider=PROVIDER,
                query={"source": options.source, "series": series.id, "period": begun.isoformat()},
                common=about,
            )
            found += [number.question(one, form) for form in options.forms]
        return found


def _period_ending(period: Period, not_before: date) -> tuple[date, date]:
    """First and last day of the first period that ends on a day or later; days are those of business."""
    if period == "day":
        day = not_before
        while day.weekday() > 4:
            day += timedelta(days=1)
        return day, day
    length = MONTHS[period]
    month = (not_before.month - 1) // length * length
    begin = date(not_before.year, month + 1, 1)
    following = date(begin.year + (month + length) // 12, (month + length) % 12 + 1, 1)
    return begin, following - timedelta(days=1)


def _named(period: Period, begun: date) -> str:
    return {
        "day": begun.isoformat(),
        "month": f"{begun:%B %Y}",
        "quarter": f"the {begun.month // 3 + 1}. quarter of {begun.year}",
    }[period]


def _day_of(moment: int) -> date:
    return datetime.fromtimestamp(moment // 10**9, UTC).date()


def _midnight(day: date) -> int:
    return moment_ns(datetime(day.year, day.month, day.day, tzinfo=UTC))


GENERATOR = ReleasesGenerator()
