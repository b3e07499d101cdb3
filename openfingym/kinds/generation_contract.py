"""The contract of a generation task: which windows are wanted, and how many of them may be copies."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from openfingym.metrics.semantics import ValueSemantics
from openfingym.task.contracts import Contract, Family, Fraction, PositiveInt


class GenerationContract(Contract):
    """Windows drawn from the distribution of the training windows.

    Without a context, a submission is [samples, horizon, channels], and the whole of it is compared with either fold.
    With a context it is [contexts, futures, horizon, channels], and each context belongs to one fold. Contexts with
    times are walked through in their order.
    """

    family: ClassVar[Family] = "generation"
    baseline: ClassVar[str] = "gaussian"
    has_split: ClassVar[bool | None] = None
    has_period: ClassVar[bool] = True
    from_start: ClassVar[bool] = True

    kind: Literal["generation"]
    lookback: Annotated[int, Field(ge=0)] = 0
    """Rows of context; 0 for unconditional generation."""
    horizon: PositiveInt
    """Rows to generate."""
    futures: PositiveInt = 1
    """Futures to generate for each context, K of the paper; 1 without a context."""
    dated: bool = False
    """Whether contexts have times, so that each is shown after the futures of those before it were drawn: true of all
    that are cut from a panel. Those of a process set are independent of each other, and are shown at once."""
    value_semantics: ValueSemantics
    """What the values are: returns, prices, yields, volatilities, or a mixture."""
    max_memorised: Fraction = 0.1
    """Largest share of generated windows that may be copies of training windows, beyond the share among real windows
    that were held out; an answer with more is refused."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lookback == 0 and self.futures != 1:
            raise ValueError("futures needs a context: set lookback, or leave futures out")
        if self.lookback == 0 and self.dated:
            raise ValueError("dated is said of contexts: set lookback, or leave dated out")
        return self


def generation_contract(contract: Contract) -> GenerationContract:
    """The contract, narrowed to one of generation."""
    assert isinstance(contract, GenerationContract)
    return contract
