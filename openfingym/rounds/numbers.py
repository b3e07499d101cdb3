"""Questions about a future number, such as a price or a figure, in each form in which it can be asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from openfingym.errors import DataError
from openfingym.questions.question import Form, Measure, Question
from openfingym.rounds.generator import Round

NUMBER_FORMS: tuple[Form, ...] = tuple(form for form in get_args(Form) if form not in {"choice", "probabilities"})
"""Forms in which a number can be asked for; ``probability`` asks how likely it is above the number shown at present."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles that are asked for."""
COVERAGE = 0.9
"""Probability with which an interval that is asked for should cover the number."""
LEVEL_DIGITS = 6
"""Significant digits to which the present number is rounded as a threshold, so that the text states all its digits."""
LONGEST_SLUG = 60
"""Most characters of a part of an id."""


@dataclass(frozen=True)
class Number:
    """A future number that is asked for."""

    key: str
    """Name of the number within its source and round; the keys of its questions begin with it."""
    what: str
    """The number in words, such as ``the price of BTCUSDT on 2026-12-03``."""
    unit: str
    """Unit of the number, such as ``USD``."""
    settled_ns: int
    """The moment from which on the number is known, in nanoseconds since the epoch."""
    provider: str
    """Name of the provider that knows the number."""
    query: dict[str, str | float]
    """The query for the number, in the form of its provider."""
    measure: Measure | None = None
    """What the number measures, by which a forecast of it counts as correct; None if none does."""
    mark: str = ""
    """What the text of each question begins with, such as ``SIMULATED: ``."""
    above: str = "above"
    """Key of the provider's query for the threshold of a probability."""
    common: dict[str, Any] = field(default_factory=dict)
    """Other fields that all its questions have: category, market and rules."""

    def question(self, one: Round, form: Form) -> Question:
        """A question about the number.

        Args:
            one: the round that asks it.
            form: the form in which the number is asked for, one of :data:`NUMBER_FORMS`.

        Raises:
            DataError: a probability is asked for, and no present number is shown that would be its threshold.
            OpenFinGymError: the present number cannot be looked up.
        """
        plain = one.question(
            f"{self.key}-{form}",
            settled_ns=self.settled_ns,
            text=f"{self.mark}What is {self.what}?",
            form="value",
            provider=self.provider,
            query=self.query,
            unit=self.unit,
            measure=self.measure,
            **self.common,
        )
        if form == "probability":
            level = self._level(one, plain)
            return replace(
                plain,
                form=form,
                text=f"{self.mark}Is {self.what} above {level:.{LEVEL_DIGITS}g} {self.unit}, what it is now?",
                query={**self.query, self.above: level},
                unit="",
                measure=None,
            )
        if form == "quantiles":
            named = ", ".join(f"{100 * level:g} %" for level in LEVELS)
            text = f"{self.mark}What is {self.what}? Give its quantiles at {named}."
            return replace(plain, form=form, text=text, levels=LEVELS, measure=None)
        if form == "interval":
            text = f"{self.mark}Between what is {self.what}? Give an interval that covers it with {100 * COVERAGE:g} %."
            return replace(plain, form=form, text=text, levels=(COVERAGE,), measure=None)
        return plain

    def _level(self, one: Round, question: Question) -> float:
        """The present number, rounded, which is the threshold of a probability."""
        shown = one.shown(question) or {}
        price = shown.get("price")
        # JSON's true and false are integers to Python.
        if not isinstance(price, int | float) or isinstance(price, bool):
            raise DataError(
                f"{question.id}: {self.provider} shows no number now, above which one could be asked for; leave "
                "'probability' out of the source's forms"
            )
        return float(f"{price:.{LEVEL_DIGITS}g}")


def slug(text: str) -> str:
    """A text as part of a question's id: letters, digits, dots and dashes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:LONGEST_SLUG]
