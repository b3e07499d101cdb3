"""The contract of tasks that ask questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from openfingym.task.contracts import Contract, Family, PositiveInt, as_tuple

if TYPE_CHECKING:
    from openfingym.task import Spec

COVERAGE = 0.95
"""Probability with which an interval should hold the truth; the metrics of intervals assume this value."""
PROBLEMS: Mapping[str, frozenset[str]] = {
    "probability": frozenset({"point"}),
    "value": frozenset({"point"}),
    "quantiles": frozenset({"quantiles"}),
    "interval": frozenset({"interval"}),
}
"""Problems of metrics (:attr:`openfingym.metrics.Metric.problem`) that fit each form of answer; quantiles that include
the median fit ``point`` too."""


class QuestionsContract(Contract):
    """Questions of one form: a submission is [questions], or [questions, numbers of an answer]."""

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["questions"]
    form: Literal["probability", "value", "quantiles", "interval"]
    """Form of an answer; see :data:`openfingym.questions.question.Form`."""
    levels: tuple[float, ...] = ()
    """Levels of the quantiles, increasing in (0, 1); empty for other forms."""
    market_implied: bool = False
    """Whether the market's own probability, shown as ``price``, is the baseline."""
    provider: Literal["polymarket", "price", "manual"]
    """The provider that knows the truth of questions with a real clock; see :mod:`openfingym.questions.providers`."""
    venue: str = ""
    """Venue whose prices count, such as ``binance``, for the provider ``price``; else empty."""
    markets: tuple[str, ...] = ()
    """Symbols at the venue, which questions are about in turn; empty if they are about whatever market is open."""
    horizons: tuple[PositiveInt, ...] = ()
    """Bars ahead that questions are about, in turn."""
    bar_s: PositiveInt = 3600
    """Length of a bar in seconds."""
    longest_s: PositiveInt = 90 * 24 * 3600
    """Most seconds from asking to resolution, for markets that state when they are resolved."""
    window_s: PositiveInt = Field(default=3600)
    """Seconds from asking to the deadline for answers."""

    _lists = field_validator("levels", "markets", "horizons", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ends = (0.0, *self.levels, 1.0)
        # Sorted without repeats: so levels increase, and 0 and 1 are not among them.
        if (self.form == "quantiles") != bool(self.levels) or list(ends) != sorted(set(ends)):
            raise ValueError(f"levels must increase between 0 and 1, of quantiles alone; found {list(self.levels)}")
        if self.form == "probability" and (self.low, self.high) != (0.0, 1.0):
            raise ValueError(f"a probability is from low = 0.0 to high = 1.0, found {self.low} and {self.high}")
        if self.market_implied and self.form != "probability":
            raise ValueError(f"market_implied is for the form probability, found {self.form}")
        if (self.provider == "price") != bool(self.venue and self.markets and self.horizons):
            raise ValueError("venue, markets and horizons go with provider = 'price', and all of them")
        return self

    @property
    def reference(self) -> str:
        """Name of the baseline: the market's own probability, or a forecast without skill."""
        return "market-implied" if self.market_implied else self.baseline

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers of one answer."""
        if self.form == "quantiles":
            return tuple(f"q{level:g}" for level in self.levels)
        return ("lower", "upper") if self.form == "interval" else (self.form,)

    def agree(self, spec: Spec) -> None:
        """Check as every contract does, and that every metric fits the form of answers; see :meth:`Contract.agree`."""
        from openfingym.metrics import find_metric

        super().agree(spec)
        fit = PROBLEMS[self.form] | ({"point"} if 0.5 in self.levels else set())
        for metric in spec.scoring.metrics:
            if (problem := find_metric(metric.name).problem) not in fit:
                raise ValueError(f"{metric.name} is about {problem}; an answer of the form {self.form} has none")


def questions_contract(contract: Contract) -> QuestionsContract:
    """The contract, narrowed to one of questions."""
    assert isinstance(contract, QuestionsContract)
    return contract
