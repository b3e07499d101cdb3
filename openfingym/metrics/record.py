"""The record of a metric: what it needs, what it returns, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.metrics.arrays import Numbers
    from openfingym.metrics.comparison import ForecastComparison
    from openfingym.metrics.redrawn import Redrawn

RowsDrawn = Callable[[NDArray[np.int64]], float]
"""A function that takes the numbers of drawn rows of an answer, in which a row may be more than once, and gives the
metric of these rows."""
Problem = Literal[
    "point",
    "forecast",
    "benchmark",
    "panel",
    "interval",
    "quantiles",
    "ensemble",
    "paths",
    "futures",
    "copying",
    "ranking",
    "codes",
    "code_samples",
    "items",
    "words",
    "trading",
]
"""Kind of question, which fixes the names and shapes of the arrays; see :data:`SHAPES`."""

SHAPES: Mapping[Problem, Mapping[str, str]] = {
    "point": {"y_true": "[...]", "y_pred": "as y_true"},
    "forecast": {"y_true": "[n, h, d]", "last_value": "[n, d]", "y_pred": "[n, h, d]"},
    "benchmark": {"y_true": "[...]", "y_pred": "as y_true", "benchmark": "as y_true, or one number"},
    "panel": {"y_true": "[rows, ...]", "y_pred": "as y_true", "period": "int[rows], or as y_true"},
    "interval": {"y_true": "[...]", "lower": "as y_true", "upper": "as y_true"},
    "quantiles": {"y_true": "[...]", "quantiles": "[..., q]", "levels": "[q], increasing, in (0, 1)"},
    "ensemble": {"y_true": "[...]", "samples": "[..., k]"},
    "paths": {"real": "[n, t, d]", "fake": "[m, t, d]"},
    "futures": {"real": "[contexts, t, d]", "futures": "[contexts, k, t, d]"},
    "copying": {"train": "[n, t, d]", "held_out": "[m, t, d]", "fake": "[k, t, d]"},
    "ranking": {"labels": "[n], 0 or 1", "scores": "[n]"},
    "codes": {"y_true": "[n, 20 + c], 0 or 1", "y_pred": "[n, 20 + c], at least 0"},
    "code_samples": {"y_true": "[n, 20 + c], 0 or 1", "samples": "[n, 20 + c, k], at least 0"},
    "items": {"y_true": "[n, c], 0 or 1", "y_pred": "[n, c], at least 0"},
    "words": {"y_true": "[n, w], packed references", "y_pred": "[n, w], packed texts"},
    "trading": {"record": "[episodes, steps + 1, 7], the account record"},
}
"""Arrays of each kind of question, by the name under which a metric takes them."""

ANSWERS: Mapping[Problem, tuple[str, ...]] = {
    "point": ("y_pred",),
    "forecast": ("y_pred",),
    "benchmark": ("y_pred",),
    "panel": ("y_pred",),
    "interval": ("lower", "upper"),
    "quantiles": ("quantiles",),
    "ensemble": ("samples",),
    "paths": ("fake",),
    "futures": ("futures",),
    "copying": ("fake",),
    "ranking": ("scores",),
    "codes": ("y_pred",),
    "code_samples": ("samples",),
    "items": ("y_pred",),
    "words": ("y_pred",),
    "trading": ("record",),
}
"""Names of the arrays that the agent's answer holds; the others are the verifier's."""


@dataclass(frozen=True)
class Metric:
    """A number that says how good an answer is, and everything a task must know to use it."""

    name: str
    """Name in a scoring table and in every result."""
    function: Callable[..., float]
    """Computes the metric: a pure function that takes the arrays of ``needs`` and the ``options`` by name, and ``seed``
    where stochastic. It gives a finite number, or raises."""
    problem: Problem
    """Kind of question it scores, which fixes the arrays and their shapes."""
    description: str
    """What is computed, in one line."""
    unit: str
    """Unit of the result in terms of the values'; ``none`` for a pure number."""
    source: str
    """The paper or code that defines the metric, and the place in it."""
    range: tuple[float, float] = (0.0, math.inf)
    """Smallest and largest possible result."""
    direction: Literal["lower", "higher"] = "lower"
    """Which way is better."""
    optimum: float | None = 0.0
    """Result of the perfect answer; None where it depends on the truth."""
    clip: tuple[float, float] | None = None
    """Bounds applied before the result enters a total; None for none."""
    diagnostic: bool = False
    """True where something other than the perfect answer may score best: reported, never optimised alone."""
    proper: bool = True
    """Whether an honest answer scores best in expectation: one that states what is known of the law of the truth, such
    as its mean, median, quantiles or probabilities, draws of it, or the account that grows most. False where an answer
    that says less, or adds noise, may score better; the metric is then reported, and kept out of the relative total."""
    version: int = 1
    """Version of the definition; results of different versions cannot be compared."""
    changed: str = ""
    """What the version before did otherwise; empty for the first."""
    differs: str = ""
    """How the result differs from that of the code, or the formula, which ``source`` cites; empty where it does not."""
    stochastic: bool = False
    """Whether it draws random numbers, and so takes ``seed``."""
    repeats: int = 1
    """Number of independent repeats that are averaged in one result."""
    noise: float = 0.0
    """Bound on the difference of two results under different seeds, in the result's unit; 0 where deterministic."""
    minimum_rows: int = 1
    """Fewest windows, rows or samples for which it is defined."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Arguments of the function that belong to this record, by name; an option of the task overrides them."""
    options: tuple[str, ...] = ()
    """Options of a task that the function takes as keywords: ``semantics``, ``periods_per_year``, ``tail_level``. Those
    without a default must be given."""
    shared: Callable[[ForecastComparison], float] | None = None
    """Computes the same number from a comparison that keeps what several metrics of a forecast share; None where there
    is no such way."""
    by_row: Callable[[Numbers, Numbers], RowsDrawn] | None = None
    """For a metric that looks at each row by itself: takes ``y_true`` and ``y_pred``, and gives the metric as a
    function of drawn rows. Answers in words are then decided once, and not once a replicate."""
    redrawn: Callable[[Redrawn], NDArray[np.float64]] | None = None
    """Computes the same number for every resample of a forecast's windows at once, float64[replicates]; None where
    there is no such way."""
    pools: bool = False
    """Whether it takes all cells alike, whatever window, step and channel they are of, so that it can be computed from
    those alone whose truth is known. Any other metric of a truth with unknown cells is computed from whole windows."""
    heavy: bool = False
    """Whether it takes seconds of a processor, and so belongs in a process of its own."""
    prepare: Callable[[], None] | None = None
    """Compiles what the metric is computed with, where a process has to do that once; None where it has not."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the arrays it takes."""
        return tuple(SHAPES[self.problem])

    @property
    def ranks(self) -> bool:
        """Whether it may be part of the relative total."""
        return self.proper and not self.diagnostic

    @property
    def answers(self) -> tuple[str, ...]:
        """Names of the arrays among :attr:`needs` that the agent's answer holds."""
        return ANSWERS[self.problem]

    def compute(
        self,
        arrays: Mapping[str, NDArray[Any] | float],
        seed: int = 0,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> float:
        """The metric of these arrays.

        Args:
            arrays: every array of :attr:`needs`, by name; others are ignored.
            seed: seed of a stochastic metric. The task fixes it, never the call: a submission sent twice must score the
                same.
            options: the task's options by name; those in :attr:`options` are passed on, others are ignored.

        Raises:
            UsageError: an array or an option is missing, or the answer cannot be scored.
            DataError: the truth makes the metric undefined.
        """
        missing = [name for name in self.needs if name not in arrays]
        if missing:
            raise UsageError(f"{self.name} needs {', '.join(self.needs)}; missing: {', '.join(missing)}")
        given = {**self.parameters, **{name: options[name] for name in self.options if name in options}}
        lacking = [name for name in self.options if name not in given and _required(self.function, name)]
        if lacking:
            raise UsageError(f"{self.name} needs the task's option {' and '.join(lacking)}")
        call = partial(self.function, **{name: arrays[name] for name in self.needs}, **given)
        # Overflow shows in the result, which every function checks; a warning on the way would say it twice.
        with np.errstate(over="ignore", invalid="ignore"):
            return call(seed=seed) if self.stochastic else call()

    def clipped(self, value: float) -> float:
        """``value`` inside :attr:`clip`."""
        return value if self.clip is None else min(max(value, self.clip[0]), self.clip[1])


def _required(function: Callable[..., float], name: str) -> bool:
    """Whether a function has no default for a parameter."""
    parameter = signature(function).parameters.get(name)
    return parameter is not None and parameter.default is Parameter.empty
