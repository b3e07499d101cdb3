"""Questions about made-up markets, to try a series without a network. Every text of theirs says SIMULATED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from openfingym.questions.question import Form, Measure, Question, utc_text
from openfingym.rounds.generator import Options, Round
from openfingym.rounds.numbers import NUMBER_FORMS, Number, slug
from openfingym.task.contracts import PositiveInt, Section, as_tuple

PROVIDER = "simulated"
MARK = "SIMULATED: "
RULES = "Decided by a made-up market; nothing of it is real."


class Symbol(Section):
    """A table of ``symbols``: something whose price is a random walk."""

    name: str
    """Name of the symbol."""
    unit: str
    """Unit of its price."""
    measure: Measure | None = None
    """What its price measures, by which a forecast of it counts as correct; None if none does."""
    start: Annotated[float, Field(gt=0.0)] = 100.0
    """Its price at the beginning of 2025."""
    volatility: Annotated[float, Field(gt=0.0, le=5.0)] = 0.2
    """Standard deviation of the logarithm of its price over a year."""


class Contest(Section):
    """A table of ``contests``: something that has one of several outcomes."""

    text: str
    """What is asked, without the time by which it happens, such as ``Which coalition is formed``."""
    outcomes: tuple[str, ...]
    """Names of the outcomes."""

    _lists = field_validator("outcomes", mode="before")(as_tuple)


class SimulatedOptions(Options):
    """Options of the generator ``simulated``."""

    horizons_days: tuple[PositiveInt, ...] = (7, 30, 91)
    """Days from the generation to the truth, for each horizon."""
    events: tuple[str, ...] = ()
    """What may happen, as questions without a time; the probability of each is asked for."""
    contests: tuple[Contest, ...] = ()
    """The contests; the probabilities of all outcomes of each are asked for."""
    symbols: tuple[Symbol, ...] = ()
    """The symbols whose prices are asked for."""
    forms: tuple[Form, ...] = ("value", "quantiles")
    """The forms in which prices are asked for; ``probability`` asks how likely it is above the price at generation."""

    _lists = field_validator("horizons_days", "events", "contests", "symbols", "forms", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not (self.events or self.contests or self.symbols):
            raise ValueError("needs some of events, contests and symbols")
        if unfit := [form for form in self.forms if form not in NUMBER_FORMS]:
            raise ValueError(f"forms: a symbol is asked for {', '.join(NUMBER_FORMS)}; found {unfit[0]}")
        return self

    @property
    def is_simulated(self) -> bool:
        """Always true: all truths are made up."""
        return True


class SimulatedGenerator:
    """Asks the same every week: about events and contests that are drawn anew for each week, and about symbols whose
    prices go on.
    """

    options = SimulatedOptions

    def make(self, one: Round, options: SimulatedOptions) -> list[Question]:
        """See :class:`~openfingym.rounds.generator.Generator`."""
        return [question for days in options.horizons_days for question in self._at(one, options, days)]

    def _at(self, one: Round, options: SimulatedOptions, days: int) -> Iterator[Question]:
        """The questions at one horizon."""
        about: dict[str, Any] = {"category": options.category, "market": options.market, "rules": RULES}
        at = utc_text(one.evaluation_ns(one.after(days)))
        event = about | {"provider": PROVIDER, "settled_ns": one.after(days)}
        for text in options.events:
            key = f"{slug(text)}-{days}d"
            asked = f"{MARK}{text} before {at}?"
            yield one.question(key, text=asked, form="probability", query=_market(one, key), **event)
        for contest in options.contests:
            key = f"{slug(contest.text)}-{days}d"
            asked = f"{MARK}{contest.text} before {at}?"
            form: Form = "probabilities"
            yield one.question(key, text=asked, form=form, outcomes=contest.outcomes, query=_market(one, key), **event)
        for symbol in options.symbols:
            number = Number(
                key=f"{slug(symbol.name)}-{days}d",
                what=f"{symbol.name} at {at}",
                unit=symbol.unit,
                measure=symbol.measure,
                settled_ns=one.after(days),
                provider=PROVIDER,
                query={"symbol": symbol.name, "start": symbol.start, "volatility": symbol.volatility},
                mark=MARK,
                common=about,
            )
            for form in options.forms:
                yield number.question(one, form)


def _market(one: Round, key: str) -> dict[str, str | float]:
    """The query for the made-up market of an event, which no other round has."""
    return {"market": f"{one.name}/{one.source}/{key}"}


GENERATOR = SimulatedGenerator()
