"""Questions about a number to come, in each form that one may have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from openfingym.errors import DataError
from openfingym.questions.question import Form, Measure, Question
from openfingym.rounds.generator import Round

NUMBER_FORMS: tuple[Form, ...] = tuple(form for form in get_args(Form) if form not in {"choice", "probabilities"})
"""Forms in which a number is asked for; ``probability`` is that of a number above the one that is shown now."""
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
COVERAGE = 0.9
LEVEL_DIGITS = 6
"""Significant digits of the number that one above is asked for, so that the text says all of it."""
LONGEST_SLUG = 60


@dataclass(frozen=True)
class Number:
    """A number to come."""

    key: str
    """Names it within its source and round."""
    what: str
    """As it is asked for, such as ``the price of BTCUSDT on 2026-12-03``."""
    unit: str
    settled_ns: int
    """When it is there."""
    provider: str
    query: dict[str, str | float]
    measure: Measure | None = None
    mark: str = ""
    """What the text of each question begins with, such as ``SIMULATED: ``."""
    above: str = "above"
    """Key of the provider's query for the number that one above is asked for."""
    common: dict[str, Any] = field(default_factory=dict)
    """Category, market and rules."""

    def question(self, one: Round, form: Form) -> Question:
        """A question of a round about it.

        Raises:
            DataError: one above today's is asked for, and nothing is shown today.
            OpenFinGymError: what is shown today cannot be asked for.
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
        shown = one.shown(question) or {}
        price = shown.get("price")
        if not isinstance(price, int | float) or isinstance(price, bool):
            raise DataError(
                f"{question.id}: {self.provider} shows no number now, above which one could be asked for; leave "
                "'probability' out of the source's forms"
            )
        return float(f"{price:.{LEVEL_DIGITS}g}")


def slug(text: str) -> str:
    """A text as part of a question's id: letters, digits, dots and dashes."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:LONGEST_SLUG]
