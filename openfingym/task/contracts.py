"""What a task asks for: what the contracts of all kinds of task have in common.

Whatever the kind, what is scored is one float64 array of a fixed shape: in a batch task an agent submits it, in a
sequential one it comes from the steps that the agent took. The kind says what the axes of this array are, which arrays
an agent sees, and which items it must answer for. The contract of a kind is a subclass of :class:`Contract` in the
file of the kind: see :mod:`openfingym.task.known_kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from openfingym.task.model import Spec

Family = Literal["forecasting", "generation", "trading", "fraud", "questions"]
PositiveInt = Annotated[int, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]


class Section(BaseModel):
    """A table of ``task.toml``: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def as_tuple(value: object) -> object:
    """TOML arrays arrive as lists; the frozen model holds tuples."""
    return tuple(value) if isinstance(value, list) else value


class Contract(Section):
    """Base class of all contracts: kind, unit and admissible range of a prediction.

    A subclass is the ``[metadata.openfingym.contract]`` of one kind. It fixes ``kind`` to the kind's name, and says
    what the rest of the file may hold.
    """

    family: ClassVar[Family]
    """Name of the family that every task of this kind belongs to."""
    baseline: ClassVar[str]
    """Name of the baseline, whose losses the relative total of a task of this kind divides by."""
    has_split: ClassVar[bool | None] = True
    """Whether a task of this kind has the table ``[metadata.openfingym.split]``; None if that depends on its data."""
    has_period: ClassVar[bool] = False
    """Whether days may choose rows: ``dataset.first`` and ``dataset.last``, and those of a split by days."""
    from_start: ClassVar[bool] = False
    """Whether ``split.scaling`` may be ``start``."""

    kind: str
    unit: str
    """Unit of every value, such as ``percent per annum``."""
    low: float
    high: float
    """Predictions outside [low, high] are refused as implausible."""
    dtype: Literal["float64"] = "float64"

    @model_validator(mode="after")
    def _range(self) -> Self:
        # Stated as what must hold, not as what must not: every comparison with a NaN is false.
        if not (self.low < self.high and abs(self.low) < 1e12 and abs(self.high) < 1e12):
            raise ValueError(f"need finite low < high, found low = {self.low}, high = {self.high}")
        return self

    @property
    def reference(self) -> str:
        """Name of the baseline of a task with this contract; overridden by a kind whose tasks have several."""
        return self.baseline

    def agree(self, spec: Spec) -> None:
        """Check that the rest of ``[metadata.openfingym]`` fits this contract; a kind with further rules extends this.

        Raises:
            ValueError: a table or key is missing, or has a value that this kind does not allow; the message names it.
        """
        split, dataset, scoring = spec.split, spec.dataset, spec.scoring
        if self.has_split and split is None:
            raise ValueError(f"a {self.kind} task needs the table [metadata.openfingym.split]")
        if not self.has_period and (dataset.first or dataset.last):
            raise ValueError(
                f"dataset: first and last choose rows of a panel, which a {self.kind} task has none of; remove"
            )
        if self.has_split is False and split is not None:
            raise ValueError(f"split: a {self.kind} task is not split by time; remove it")
        if not self.has_period and split is not None and split.dated:
            raise ValueError(
                f"split: public_from and private_from choose rows of a panel, which a {self.kind} task has none of; "
                "give train, public and private"
            )
        if split is not None and split.scaling == "start" and not self.from_start:
            raise ValueError(
                "split.scaling = 'start' is for generated windows; a forecast's inputs would lose their level"
            )
        if spec.family != self.family:
            raise ValueError(f"family is {spec.family!r}, but a {self.kind} task is of the family {self.family!r}")
        if scoring.baseline != self.reference:
            raise ValueError(
                f"scoring.baseline is {scoring.baseline!r}, but that of a {self.kind} task is {self.reference!r}"
            )
        horizon = getattr(self, "horizon", 0)
        if split is not None and split.embargo < horizon:
            raise ValueError(f"split.embargo ({split.embargo} rows) must be at least contract.horizon ({horizon})")
