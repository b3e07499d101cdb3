"""Contracts: what a task asks for, one class a kind of task.

Whatever the kind, what is scored is one float64 array of a fixed shape: in a batch task an agent
submits it, in a sequential one it comes from the steps that the agent took. The kind says what its
axes are, which arrays an agent sees and which it must answer for; :mod:`openfingym.kinds` has the
code of each. A kind that another distribution brings has its contract there: see
:mod:`openfingym.task.known_kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from openfingym.metrics.semantics import ValueSemantics

if TYPE_CHECKING:
    from openfingym.task.model import Spec

Family = Literal["forecasting", "generation", "trading", "fraud"]
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
    """Name of the baseline, whose losses the relative total of every task of this kind divides by."""
    has_split: ClassVar[bool | None] = True
    """Whether a task of this kind needs the table ``[metadata.openfingym.split]``; None where its data decide."""
    has_period: ClassVar[bool] = False
    """Whether ``dataset.first`` and ``dataset.last`` may choose rows."""
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
        if not (self.low < self.high and abs(self.low) < 1e12 and abs(self.high) < 1e12):
            raise ValueError(f"need finite low < high, found low = {self.low}, high = {self.high}")
        return self

    def agree(self, spec: Spec) -> None:
        """Compare with the rest of ``[metadata.openfingym]``; a kind with more to ask adds it to this.

        Raises:
            ValueError: a table or key is missing, or says what this kind cannot have; names it.
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
        if split is not None and split.scaling == "start" and not self.from_start:
            raise ValueError(
                "split.scaling = 'start' is for generated windows; a forecast's inputs would lose their level"
            )
        if spec.family != self.family:
            raise ValueError(f"family is {spec.family!r}, but a {self.kind} task is of the family {self.family!r}")
        if scoring.baseline != self.baseline:
            raise ValueError(
                f"scoring.baseline is {scoring.baseline!r}, but that of a {self.kind} task is {self.baseline!r}"
            )
        horizon = getattr(self, "horizon", 0)
        if split is not None and split.embargo < horizon:
            raise ValueError(f"split.embargo ({split.embargo} rows) must be at least contract.horizon ({horizon})")


class ForecastContract(Contract):
    """Windows of a panel: from ``lookback`` rows, predict the next ones.

    A submission is [windows, steps, targets].
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"
    has_period: ClassVar[bool] = True

    kind: Literal["forecast"]
    lookback: PositiveInt
    """Rows of input a window shows."""
    horizon: PositiveInt
    """Rows of target a window has, directly after the inputs."""
    horizons: tuple[PositiveInt, ...] = ()
    """Steps ahead that are predicted, increasing and ending with ``horizon``; none for every step."""
    targets: tuple[str, ...] = ()
    """Channels that are predicted, in the dataset's order; none for all."""
    value_semantics: ValueSemantics
    pooled: bool = False
    """Whether every channel of a window is a window of its own, with one channel: a panel of alike series."""
    graph_window: PositiveInt | None = None
    """Rows behind the correlation and the spillover graph that come with every window; none for no graphs."""

    _lists = field_validator("horizons", "targets", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.horizons and (list(self.horizons) != sorted(set(self.horizons)) or self.horizons[-1] != self.horizon):
            raise ValueError(
                f"horizons must increase and end with horizon = {self.horizon}, found {list(self.horizons)}"
            )
        if self.pooled and (self.horizon != 1 or self.targets or self.graph_window):
            raise ValueError("pooled needs horizon = 1 and goes neither with targets nor with graph_window")
        if self.graph_window is not None and self.value_semantics != "realised_vol":
            raise ValueError("graph_window goes with value_semantics = 'realised_vol'")
        return self

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps ahead that are predicted, from 1."""
        return self.horizons or tuple(range(1, self.horizon + 1))


class CurvesContract(Contract):
    """Whole curves of several countries: from ``lookback`` months, predict the next with an interval.

    A submission is [windows, 3, maturities]: lower, central, upper.
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["curves"]
    lookback: PositiveInt
    """Months of input a window shows."""
    horizon: Literal[1] = 1
    value_semantics: Literal["yield_level"] = "yield_level"
    coverage: Fraction = 0.95
    """Share of values that the interval should hold."""


class RowsContract(Contract):
    """Rows of features, one number each: a submission is [rows]."""

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["rows"]
    lookback: Literal[1] = 1
    horizon: Literal[1] = 1
    value_semantics: Literal["log_return"] = "log_return"


class GenerationContract(Contract):
    """Windows drawn from the law of the training windows.

    Without a context, a submission is [samples, horizon, channels], and the whole of it is compared
    with either fold. With one it is [contexts, futures, horizon, channels].
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
    """Futures asked for each context, K of the paper; without a context it stays 1."""
    value_semantics: ValueSemantics
    max_memorised: Fraction = 0.1
    """Share of memorised windows, beyond that of held-out ones, above which an answer is refused."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lookback == 0 and self.futures != 1:
            raise ValueError("futures needs a context: set lookback, or leave futures out")
        return self


class LabelsContract(Contract):
    """Base class of contracts about labels, which are divided at random within each class."""

    family: ClassVar[Family] = "fraud"
    baseline: ClassVar[str] = "random"
    has_split: ClassVar[bool | None] = False

    train: Fraction = 0.4
    """Share of the labels that agents see."""
    public: Fraction = 0.2
    """Share behind the public fold; the rest is behind the private one."""

    def agree(self, spec: Spec) -> None:
        """Check like every contract, and that there is no table of splits."""
        if spec.split is not None:
            raise ValueError("split: labels of a graph are split by contract.train and contract.public; remove it")
        super().agree(spec)


class NodesContract(LabelsContract):
    """An anomaly score for each hidden node of one graph: a submission is [nodes]."""

    kind: Literal["nodes"]


class GraphsContract(LabelsContract):
    """A score for each hidden graph of a set, higher for class 1: a submission is [graphs]."""

    kind: Literal["graphs"]


class BarsContract(Contract):
    """Base class of contracts about bars: hidden rows are stepped through, episode by episode."""

    has_period: ClassVar[bool] = True

    symbols: tuple[str, ...]
    """Instruments, each with the channels ``<symbol>_open`` to ``<symbol>_volume`` in the dataset; the order of every
    array."""
    lookback: PositiveInt
    """Bars that each observation shows, the current one included."""
    steps: PositiveInt
    """Actions an episode takes."""
    horizon: PositiveInt
    """Bars that the outcome of an origin reaches behind it."""

    _symbols = field_validator("symbols", mode="before")(as_tuple)

    @model_validator(mode="after")
    def _different(self) -> Self:
        if not self.symbols or len(set(self.symbols)) < len(self.symbols):
            raise ValueError(f"symbols must be different names, at least one, found {list(self.symbols)}")
        return self

    def agree(self, spec: Spec) -> None:
        """Check like every contract, and that bars are shown as they are, unscaled and unselected."""
        split = spec.split
        if split is not None and (split.scaling != "none" or split.scaled or split.log1p or split.train_stride != 1):
            raise ValueError(
                "split: bars are shown as they are, row by row; remove train_stride, scaling, scaled and log1p"
            )
        if spec.dataset.channels:
            raise ValueError("dataset.channels: contract.symbols says which bars are used; remove")
        super().agree(spec)


class RollingContract(BarsContract):
    """Forecasts from a moving origin: at each bar, predict every symbol's log return over the next ``horizon``
    bars.

    A submission is [episodes, steps, symbols], which is what an agent answered step by step.
    """

    family: ClassVar[Family] = "forecasting"
    baseline: ClassVar[str] = "naive"

    kind: Literal["rolling"]
    horizon: PositiveInt
    """Bars from the origin to the close that is predicted."""
    value_semantics: Literal["log_return"] = "log_return"


class TradingContract(BarsContract):
    """An account that trades hidden bars: after each, an agent states target weights or sends orders.

    What is scored is the account's own record, [episodes, steps + 1, columns]. The costs and rules are those of
    :class:`openfingym.trading.market.MarketRules`, which says what each of them is.
    """

    family: ClassVar[Family] = "trading"
    baseline: ClassVar[str] = "buy-and-hold"

    kind: Literal["trading"]
    horizon: Literal[1] = 1
    """Bars from a decision to the bar in which it is live."""
    initial_cash: Annotated[float, Field(gt=0.0)] = 100_000.0
    """Cash in the account at the start of each episode, in units of currency."""
    bars_per_year: Annotated[float, Field(gt=0.0)] = 252.0
    """Number of bars in a year, by which a year's cost of borrowing is divided and metrics are annualised."""
    fee_bps: NotNegative = 0.0
    fee_per_trade: NotNegative = 0.0
    slippage_bps: NotNegative = 0.0
    half_spread_bps: NotNegative = 0.0
    impact: NotNegative = 0.0
    max_participation: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    lot: NotNegative = 1.0
    tick: NotNegative = 0.0
    max_short: NotNegative = 1.0
    borrow_bps_per_year: NotNegative = 0.0
    max_open_orders: Annotated[int, Field(ge=1, le=4096)] = 64
    max_orders_per_step: Annotated[int, Field(ge=1, le=4096)] = 256
    """Orders that one action may submit; a larger batch is rejected as a whole."""
    unit: str = "share of equity"
    """Unit of a target weight."""
    low: float = -1.0
    """Smallest target weight."""
    high: float = 1.0
    """Largest target weight."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        lowest = 0.0 - self.max_short
        if self.low != lowest or self.high != 1.0:
            raise ValueError(f"low and high are those of a target weight: expected {lowest:g} (minus max_short) and 1")
        return self

    def agree(self, spec: Spec) -> None:
        """Check like contracts about bars, and that all name one number of bars a year."""
        if self.bars_per_year != spec.scoring.periods_per_year:
            raise ValueError(
                f"contract.bars_per_year is {self.bars_per_year:g} and scoring.periods_per_year "
                f"{spec.scoring.periods_per_year:g}; "
                "both are the bars in a year, and must agree"
            )
        super().agree(spec)
