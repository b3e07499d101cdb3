"""The blueprint: what a paper's task is, field by field, each with a quotation from the paper or the reason why it was
assumed.

A blueprint is a TOML file that a person may edit; whatever stands in it is checked again when it is read. Its fields
have the names of the tables and keys of ``task.toml`` (``contract.lookback``, ``dataset.channels``), so that assembling
a package is filling in a template. :data:`FIELDS` lists them, and those that ``task.toml`` does not have.
"""

from __future__ import annotations

from datetime import date
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

FORMAT: Literal[1] = 1
"""Version of the file's layout."""
Scalar = bool | int | float | date | str
Value = Scalar | list[Scalar] | None
"""What a field may hold; None where the paper's task has nothing there."""
CHANGED_BY = "changed by"
"""Begins the reason of a value that a person gave."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)


class Quotation(_Frozen):
    """Words of a paper, and where they stand."""

    quote: str = Field(min_length=1)
    """The words exactly as they stand in the paper's text."""
    section: str
    """Title of the section that they stand in; empty before the first."""
    start: int = Field(ge=0)
    """Offset of the first character in the paper's text."""


class Stated(_Frozen):
    """A value of a blueprint, with what it rests on: quotations, or the reason why it was assumed, never both."""

    value: Value
    quotations: list[Quotation] = []
    assumed: str = ""
    """Why the value was assumed, where the paper does not say it."""

    @property
    def is_a_persons(self) -> bool:
        """Whether a person gave the value, which then stands whatever the paper and the rules say."""
        return self.assumed.startswith(CHANGED_BY)

    @model_validator(mode="after")
    def _rests_on_something(self) -> Self:
        if bool(self.quotations) == bool(self.assumed):
            raise ValueError("a value needs either quotations or the reason why it is assumed, and not both")
        return self


class QuotedFigure(_Frozen):
    """A number that the paper reports for one of its baselines."""

    baseline: str
    """Name of the method as the paper writes it."""
    value: float
    """The number, in the unit of its metric."""
    quotation: Quotation


class MetricBlueprint(_Frozen):
    """A metric as the paper has it."""

    name: str
    """Name by which the paper calls the metric."""
    formula: Stated
    """Definition in LaTeX or in words, as the paper has it."""
    direction: Stated
    """``lower`` or ``higher``: which of them is better."""
    unit: Stated
    """Unit of the metric's values; None where it is that of the data."""
    weight: Stated
    """Share of the metric in the total, more than 0."""
    bank: str = ""
    """Name of the metric in the bank once it is matched; empty before, and where the bank lacks it."""
    figures: list[QuotedFigure] = []
    """The paper's own results by this metric."""


class Contradiction(_Frozen):
    """Two places of a paper that do not agree about one field."""

    field: str
    """Name of the field."""
    readings: list[Stated] = Field(min_length=2)
    """The values that the paper states, each with its quotation; the blueprint holds the first."""
    why: str
    """What does not agree, in one sentence."""


class Blueprint(_Frozen):
    """A paper's task before it is one."""

    format: Literal[1] = FORMAT
    paper: str
    """Key of the paper."""
    title: str
    """Title of the paper."""
    name: str
    """Name of the task, in kebab-case."""
    fields: dict[str, Stated]
    """Values by the name of their field, as in :data:`FIELDS` or as ``TABLE.KEY`` of ``task.toml``."""
    metrics: list[MetricBlueprint] = []
    baselines: list[Stated] = []
    """Names of the methods that the paper compares with."""
    contradictions: list[Contradiction] = []

    def value(self, field: str, default: Value = None) -> Value:
        """Value of a field; the default where the blueprint has none."""
        stated = self.fields.get(field)
        return default if stated is None else stated.value


FIELDS: dict[str, str] = {
    "family": "forecasting, generation, fraud or trading",
    "kind": "name of a kind of task: forecast, curves, rows, generation, nodes, graphs, rolling, trading",
    "asset_class": "commodity, crypto, equity, fx, rates, lob, synthetic or graph",
    "frequency": "intraday, hourly, daily, weekly, monthly or none",
    "panel": "what the data holds, in a few words",
    "description": "what is asked, in one sentence",
    "data.source": "publisher or data set, as the paper names it",
    "data.series": "names of the series: tickers, pairs, tenors",
    "data.url": "address it can be had from, if the paper gives one",
    "data.columns": "columns of the published table that are used, in order",
    "data.target": "name of the column or series that is predicted; null for all",
    "data.features": "names of the columns that are inputs",
    "data.start": "first day, as a date",
    "data.end": "last day, as a date",
    "data.licence": "licence of the data, as the paper or the publisher states it",
    "data.unit": "unit of the values",
    "data.kind": "real, simulated or specified",
    "data.measure": "price, yield or mixed",
    "protocol.train_share": "share of rows before the test begins, between 0 and 1",
    "protocol.shuffled": "whether rows are shuffled before they are split",
    "protocol.scaling": "none, train or all: which rows the scaling is fitted on",
    "protocol.resampling": "how a series is resampled, in words; whether a bar is stamped at its begin or its end",
    "protocol.overlap": "whether windows of the training and the test part may share rows",
    "contract.lookback": "rows of input",
    "contract.horizon": "rows ahead",
    "contract.value_semantics": "log_return, price_level, yield_level, realised_vol or mixed",
    "contract.unit": "unit of what is predicted",
    "split.train": "share of the training block",
    "split.public": "share of the block that gives feedback",
    "split.private": "share of the block that is scored",
    "split.embargo": "rows between two blocks, at least one horizon",
}
"""Meaning of the fields of a blueprint, by name. Other names are tables and keys of ``task.toml``, as
``contract.low``."""
