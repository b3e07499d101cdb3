"""Questions about prices on real markets: what a symbol will cost in some days, or whether it will cost more."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from openfingym.questions.question import Form, Measure, Question, utc_text
from openfingym.rounds.generator import Options, Round
from openfingym.rounds.numbers import NUMBER_FORMS, Number, slug
from openfingym.task.contracts import PositiveInt, as_tuple

PROVIDER = "price"


class PricesOptions(Options):
    """Options of the generator ``prices``."""

    venue: Literal["binance", "yahoo", "alpaca"]
    """The venue whose prices are asked for."""
    symbols: tuple[str, ...]
    """The symbols that are asked about, as the venue names them, such as ``BTCUSDT`` or ``AAPL``."""
    calendar: str = ""
    """The exchange whose sessions count, if the venue closes, such as ``XNYS``; empty for the venue's own."""
    unit: str
    """The unit of the prices, such as ``USD``."""
    measure: Measure | None = "amount"
    """What a price measures, by which a forecast of it counts as correct; None if none does."""
    horizons_days: tuple[PositiveInt, ...] = (7,)
    """Days from the generation to the price, for each horizon."""
    forms: tuple[Form, ...] = ("value", "quantiles", "probability")
    """The forms in which each price is asked for; ``probability`` asks how likely it is above the price at
    generation."""

    _lists = field_validator("symbols", "horizons_days", "forms", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if not (self.symbols and self.horizons_days and self.forms):
            raise ValueError("needs at least one of symbols, of horizons_days and of forms")
        if unfit := [form for form in self.forms if form not in NUMBER_FORMS]:
            raise ValueError(f"forms: a price is asked for as {', '.join(NUMBER_FORMS)}; found {unfit[0]}")
        return self


class PricesGenerator:
    """Asks for the price of each symbol at each horizon in each form."""

    options = PricesOptions

    def make(self, one: Round, options: PricesOptions) -> list[Question]:
        """See :class:`~openfingym.rounds.generator.Generator`."""
        about: dict[str, Any] = {"category": options.category, "market": options.market}
        about["rules"] = f"The first price of {options.venue} that is not older than that time."
        calendar: dict[str, str | float] = {"calendar": options.calendar} if options.calendar else {}
        numbers = [
            Number(
                key=f"{slug(symbol)}-{days}d",
                what=f"the price of {symbol} at {utc_text(one.evaluation_ns(one.after(days)))}",
                unit=options.unit,
                measure=options.measure,
                settled_ns=one.after(days),
                provider=PROVIDER,
                query={"venue": options.venue, "symbol": symbol, **calendar},
                common=about,
            )
            for days in options.horizons_days
            for symbol in options.symbols
        ]
        return [number.question(one, form) for number in numbers for form in options.forms]


GENERATOR = PricesGenerator()
