"""The built-in agents as records: what each does, and which tasks it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from openfingym.task.contracts import (
    Contract,
    CurvesContract,
    ForecastContract,
    GenerationContract,
    GraphsContract,
    NodesContract,
    RollingContract,
    RowsContract,
    TradingContract,
)

if TYPE_CHECKING:
    from openfingym.task import Spec, Task


@dataclass(frozen=True)
class Builtin:
    """One built-in agent."""

    name: str
    does: str
    """What its program does, in a few words."""
    role: Literal["baseline", "check", "model", "yours"]
    """A fair attempt, a check of the machinery, one that asks a model, or whatever the user brings."""
    fit: str
    """The tasks that the agent is for, in words."""
    fits: Callable[[Spec], bool]
    """Whether it is for a task."""


def _any(_: Spec) -> bool:
    return True


def _of(*contracts: type[Contract]) -> Callable[[Spec], bool]:
    return lambda spec: isinstance(spec.contract, contracts)


def _seasonal(spec: Spec) -> bool:
    return isinstance(spec.contract, ForecastContract) and not spec.contract.horizons and spec.frequency != "none"


def _panel(spec: Spec) -> bool:
    return isinstance(spec.contract, ForecastContract) and not spec.contract.pooled


def _risk(spec: Spec) -> bool:
    compared = "delta_var" in {metric.name for metric in spec.scoring.metrics}
    return (
        isinstance(spec.contract, ForecastContract)
        and compared
        and spec.contract.value_semantics in {"log_return", "price_level"}
    )


def _volatility(spec: Spec) -> bool:
    return isinstance(spec.contract, ForecastContract) and spec.contract.value_semantics == "realised_vol"


def _yields(spec: Spec) -> bool:
    return isinstance(spec.contract, CurvesContract) or (
        isinstance(spec.contract, ForecastContract) and spec.contract.value_semantics == "yield_level"
    )


def _returns(spec: Spec) -> bool:
    return isinstance(spec.contract, GenerationContract) and spec.contract.value_semantics in {
        "log_return",
        "price_level",
    }


def _baseline(name: str, does: str, fit: str, fits: Callable[[Spec], bool]) -> Builtin:
    return Builtin(name, does, "baseline", fit, fits)


_RECORDS = (
    _baseline(
        "naive",
        "zero return, last level, Gaussian draws, random scores, buy and hold: what the relative total divides by",
        "all",
        _any,
    ),
    _baseline(
        "mean",
        "mean of training: of returns, of the move since the last value",
        "forecasts, curves, rows",
        _of(ForecastContract, CurvesContract, RowsContract),
    ),
    _baseline(
        "seasonal",
        "mean of the hour or of the weekday, shrunk by what chance explains",
        "forecasts of every step",
        _seasonal,
    ),
    _baseline(
        "ridge",
        "ridge regression of the target path on the input window",
        "forecasts, rows",
        _of(ForecastContract, RowsContract),
    ),
    _baseline(
        "gbm",
        "gradient-boosted trees on summaries of the window",
        "forecasts, rows",
        _of(ForecastContract, RowsContract),
    ),
    _baseline("var", "vector autoregression, shrunk and iterated", "forecasts of a panel", _panel),
    _baseline("arima", "an ARIMA model a channel", "forecasts of a panel", _panel),
    _baseline(
        "historical", "past returns drawn at random: volatility, no forecast", "forecasts that compare risk", _risk
    ),
    _baseline("har", "HAR-RV with the spillovers of neighbours", "forecasts of realised volatility", _volatility),
    _baseline("nelson-siegel", "level, slope and curvature that revert (Diebold and Li)", "yields and curves", _yields),
    _baseline(
        "bootstrap", "blocks of training windows in a like state, put together", "generation", _of(GenerationContract)
    ),
    _baseline("copula", "Gaussian copula over whole windows", "generation", _of(GenerationContract)),
    _baseline(
        "garch-sim",
        "AR(1)-GARCH(1, 1) a channel, driven by joint past shocks",
        "generation of returns or prices",
        _returns,
    ),
    _baseline(
        "isolation-forest", "isolation forest on node features, without labels", "fraud on nodes", _of(NodesContract)
    ),
    _baseline(
        "degree", "degree, neighbours' degrees and clustering, without labels", "fraud on nodes", _of(NodesContract)
    ),
    _baseline(
        "graph-smooth", "boosted trees on nodes and neighbours, smoothed", "fraud", _of(NodesContract, GraphsContract)
    ),
    _baseline(
        "rolling-ridge",
        "ridge regression on the last returns, corrected by outcomes",
        "rolling forecasts",
        _of(RollingContract),
    ),
    _baseline("cash", "buys nothing", "trading", _of(TradingContract)),
    _baseline("buy-and-hold", "equal parts, bought at the first open and held", "trading", _of(TradingContract)),
    _baseline("equal-weight", "equal parts, restored every so often", "trading", _of(TradingContract)),
    _baseline("momentum", "long what has risen, short what has fallen", "trading", _of(TradingContract)),
    _baseline("mean-reversion", "buys far below the mean, sells far above it", "trading", _of(TradingContract)),
    _baseline("volatility-target", "equal parts, less of them in wild markets", "trading", _of(TradingContract)),
    _baseline("risk-parity", "every symbol adds the same risk", "trading", _of(TradingContract)),
    Builtin("nop", "does nothing: must be rejected", "check", "all", _any),
    Builtin("oracle", "submits the hidden answer from the host: must score best", "check", "all", _any),
    Builtin("oneshot", "one completion, one program, run once: the paper's setting", "model", "all", _any),
    Builtin(
        "react",
        "thinks, calls tools, reads what they answer; steps where the task is stepped through",
        "model",
        "all",
        _any,
    ),
    Builtin("codeblock", "one code block a turn, whose output the model reads", "model", "all", _any),
    Builtin("script", "your own program, given with --program", "yours", "all", _any),
    Builtin("command", "your own agent, given with --command", "yours", "all", _any),
)
BUILTIN: Mapping[str, Builtin] = MappingProxyType({record.name: record for record in _RECORDS})
"""The built-in agents by name."""


def fitting(task: Task) -> list[str]:
    """Names of the baselines that are for a task, simplest first."""
    return [record.name for record in _RECORDS if record.role == "baseline" and record.fits(task.spec)]
