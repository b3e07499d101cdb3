"""The built-in agents as records: what each does, and which tasks it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from openfingym.kinds import asks_questions, kind_named
from openfingym.task.known_kinds import is_builtin

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
    answers: bool = False
    """Whether it answers questions one by one, with settings behind its name."""

    def fits(self, spec: Spec) -> bool:
        """Whether the agent is for a task; of a baseline, the task's kind says that."""
        kind = kind_named(spec.contract)
        if self.answers and self.fit == QUESTIONS:
            return asks_questions(spec.contract)
        # The naive program covers all kinds of the library; a kind of somebody else's must bring a program of its own.
        if self.name == "naive":
            return kind.naive_program is not None or is_builtin(kind.name)
        return self.role != "baseline" or self.name in kind.baselines(spec)


def _baseline(name: str, does: str, fit: str) -> Builtin:
    return Builtin(name, does, "baseline", fit)


QUESTIONS = "questions with tools"
"""The value of :attr:`Builtin.fit` of agents that answer questions and do nothing else."""
_RECORDS = (
    _baseline(
        "naive",
        "zero return, last level, Gaussian draws, random scores, buy and hold: what the relative total divides by",
        "all",
    ),
    _baseline(
        "mean",
        "mean of training: of returns, of the move since the last value",
        "forecasts, curves, rows",
    ),
    _baseline(
        "seasonal",
        "mean of the hour or of the weekday, shrunk by what chance explains",
        "forecasts of every step",
    ),
    _baseline(
        "ridge",
        "ridge regression of the target path on the input window",
        "forecasts, rows",
    ),
    _baseline(
        "gbm",
        "gradient-boosted trees on summaries of the window",
        "forecasts, rows",
    ),
    _baseline("var", "vector autoregression, shrunk and iterated", "forecasts of a panel"),
    _baseline("arima", "an ARIMA model a channel", "forecasts of a panel"),
    _baseline("historical", "past returns drawn at random: volatility, no forecast", "forecasts that compare risk"),
    _baseline("har", "HAR-RV with the spillovers of neighbours", "forecasts of realised volatility"),
    _baseline("nelson-siegel", "level, slope and curvature that revert (Diebold and Li)", "yields and curves"),
    _baseline("market-implied", "the probability that the market's price shows", "questions about markets"),
    _baseline("logistic", "logistic regression on what is known, from the market's odds on", "questions about events"),
    _baseline("ewma", "no drift, and as wide as the latest returns are wild", "questions about prices"),
    _baseline("bootstrap", "blocks of training windows in a like state, put together", "generation"),
    _baseline("copula", "Gaussian copula over whole windows", "generation"),
    _baseline(
        "garch-sim",
        "AR(1)-GARCH(1, 1) a channel, driven by joint past shocks",
        "generation of returns or prices",
    ),
    _baseline("isolation-forest", "isolation forest on node features, without labels", "fraud on nodes"),
    _baseline("degree", "degree, neighbours' degrees and clustering, without labels", "fraud on nodes"),
    _baseline("graph-smooth", "boosted trees on nodes and neighbours, smoothed", "fraud"),
    _baseline(
        "rolling-ridge",
        "ridge regression on the last returns, corrected by outcomes",
        "rolling forecasts",
    ),
    _baseline("recurrency", "every relation that two countries ever had", "questions about events"),
    _baseline("frequency", "the relations that two countries had most often", "questions about events"),
    _baseline("last-value", "the value that was published last", "forecasts of figures and events"),
    _baseline("last-year", "the value of a year before, moved by a year's growth", "forecasts of figures and events"),
    _baseline("cash", "buys nothing", "trading"),
    _baseline("buy-and-hold", "equal parts, bought at the first open and held", "trading"),
    _baseline("equal-weight", "equal parts, restored every so often", "trading"),
    _baseline("momentum", "long what has risen, short what has fallen", "trading"),
    _baseline("mean-reversion", "buys far below the mean, sells far above it", "trading"),
    _baseline("volatility-target", "equal parts, less of them in wild markets", "trading"),
    _baseline("risk-parity", "every symbol adds the same risk", "trading"),
    Builtin("nop", "does nothing: must be rejected", "check", "all"),
    Builtin("oracle", "submits the hidden answer from the host: must score best", "check", "all"),
    Builtin("oneshot", "one completion, one program, run once: the paper's setting", "model", "all"),
    Builtin(
        "react",
        "thinks, calls tools, reads what they answer; steps where the task is stepped through",
        "model",
        "all",
        answers=True,
    ),
    Builtin("direct", "answers from what the model knows", "model", QUESTIONS, answers=True),
    Builtin("zero-shot-cot", "the same, asked to think step by step", "model", QUESTIONS, answers=True),
    Builtin("rag", "answers from what the suite retrieves for the question", "model", QUESTIONS, answers=True),
    Builtin(
        "deep-research",
        "plans, searches, notes, checks elsewhere, answers with sources",
        "model",
        QUESTIONS,
        answers=True,
    ),
    Builtin("codeblock", "one code block a turn, whose output the model reads", "model", "all"),
    Builtin("script", "your own program, given with --program", "yours", "all"),
    Builtin("command", "your own agent, given with --command", "yours", "all"),
    Builtin("cli", "a coding command line of yours, inside, with its model through the gate", "yours", "all"),
)
BUILTIN: Mapping[str, Builtin] = MappingProxyType({record.name: record for record in _RECORDS})
"""The built-in agents by name."""


def fitting(task: Task) -> list[str]:
    """Names of the baselines that are for a task, simplest first."""
    return [record.name for record in _RECORDS if record.role == "baseline" and record.fits(task.spec)]
