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
    """A table of ``series``: a series of figures that a statistical office publishes."""

    id: str
    """Name of the series at its source, such as ``UNRATE`` or ``10y``."""
    title: str
    """Name of the series in words, such as ``the unemployment rate of the United States``."""
    unit: str
    """Unit of the figures, such as ``percent``."""
    measure: Measure
    """What the figures measure, by which a forecast of one counts as correct."""
    period: Period
    """The period that each figure is about."""
    published_days: tuple[int, int]
    """How many days after the end of its period a figure is published, at the earliest and at the latest."""

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
    """Who publishes or collects the figures."""
    series: tuple[ReleasedSeries, ...]
    """The series that are asked about."""
    forms: tuple[Form, ...] = ("value", "quantiles")
    """The forms in which each figure is asked for."""
    within_days: Annotated[int, Field(gt=0, le=400)] = 45
    """Most days from the generation to the publication; later figures are asked for in a later round."""
    horizon_days: Annotated[int, Field(ge=0, le=400)] = 0
    """Days by which the period ends later than it has to, such as 30 for a yield in a month."""

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
        questions = []
        for series in options.series:
            first, last = series.published_days
            # The earliest day on which the figure may be published must come after the deadline.
            ends_not_before = _day_of(one.times.deadline_ns) + timedelta(days=1 - first + options.horizon_days)
            begun, ended = _period_ending(series.period, ends_not_before)
            # The end of the latest day on which it may be published.
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
            questions += [number.question(one, form) for form in options.forms]
        return questions


def _period_ending(period: Period, not_before: date) -> tuple[date, date]:
    """First and last day of the first period that does not end before a day; a period of one day is a weekday."""
    if period == "day":
        day = not_before
        while day.weekday() > 4:
            day += timedelta(days=1)
        return day, day
    # Months are counted from 0 here, so that a quarter begins at a multiple of 3.
    length = MONTHS[period]
    month = (not_before.month - 1) // length * length
    begin = date(not_before.year, month + 1, 1)
    following = date(begin.year + (month + length) // 12, (month + length) % 12 + 1, 1)
    return begin, following - timedelta(days=1)


def _named(period: Period, begun: date) -> str:
    """A period in words, by its first day."""
    return {
        "day": begun.isoformat(),
        "month": f"{begun:%B %Y}",
        "quarter": f"the {begun.month // 3 + 1}. quarter of {begun.year}",
    }[period]


def _day_of(at_ns: int) -> date:
    """The UTC date of a moment."""
    return datetime.fromtimestamp(at_ns // 10**9, UTC).date()


def _midnight(day: date) -> int:
    """The beginning of a UTC day, in nanoseconds since the epoch."""
    return moment_ns(datetime(day.year, day.month, day.day, tzinfo=UTC))


GENERATOR = ReleasesGenerator()
