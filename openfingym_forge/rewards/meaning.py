"""Which metric of the bank a paper's metric is by its name, and which kind of question it is asked on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openfingym.metrics.record import Metric, Problem
from openfingym_forge.blueprint import MetricBlueprint

PROBLEMS: Mapping[str, tuple[Problem, ...]] = {
    "forecasting": ("point", "forecast", "panel", "interval", "quantiles", "ensemble"),
    "generation": ("paths", "futures", "copying"),
    "fraud": ("ranking",),
    "trading": ("trading",),
}
"""Kinds of question that a family of tasks may ask, the usual one first. What they are is said by
:data:`openfingym.metrics.record.SHAPES`."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    "mse": ("mean squared error", "mean square error", "quadratic loss"),
    "rmse": ("root mean squared error", "root mean square error", "rms error"),
    "mae": ("mean absolute error", "mean absolute deviation", "average absolute error"),
    "mape": ("mean absolute percentage error",),
    "smape": ("symmetric mean absolute percentage error",),
    "nrmse": ("normalised root mean squared error", "normalized root mean squared error"),
    "r2": ("r squared", "coefficient of determination", "r 2"),
    "r2_zero": ("out of sample r squared", "out of sample r2", "r2 oos"),
    "directional_accuracy": (
        "da", "sign accuracy", "share of right signs", "right signs", "hit ratio", "directional hit rate",
        "direction accuracy", "mean directional accuracy",
    ),
    "picp": ("prediction interval coverage probability", "coverage probability", "coverage"),
    "mpiw": ("mean prediction interval width", "interval width"),
    "interval_score": ("winkler score",),
    "pinball": ("pinball loss", "quantile loss"),
    "crps_samples": ("crps", "continuous ranked probability score"),
    "auroc": (
        "auc", "roc auc", "auc roc", "area under the roc curve",
        "area under the receiver operating characteristic curve",
    ),
    "average_precision": ("ap", "auprc", "pr auc", "area under the precision recall curve"),
    "recall_at_k": ("recall at k", "rec k"),
    "f1": ("f1 score", "f score"),
    "sharpe_ratio": ("sharpe", "sr", "annualised sharpe ratio", "annualized sharpe ratio"),
    "sortino_ratio": ("sortino",),
    "calmar_ratio": ("calmar",),
    "max_drawdown": ("mdd", "maximum drawdown", "max drawdown", "largest drawdown"),
    "total_return": ("cumulative return", "tr"),
    "log_growth": ("log wealth", "growth of wealth"),
    "marginal_total_variation": ("tv", "total variation", "total variation distance", "marginal distance"),
    "correlation_l1": ("corr", "correlation distance", "correlation error"),
    "covariance_frobenius": ("cov", "covariance distance", "covariance error"),
    "sig_mmd": ("sigmmd", "signature mmd", "signature kernel mmd"),
    "sig_w1": ("sigw1", "signature wasserstein", "signature w1"),
    "autocorrelation_non_stationary": ("acf", "autocorrelation distance", "acf distance"),
    "disc_gru": ("discriminative score",),
    "pred_lstm": ("predictive score",),
}  # fmt: skip
"""Other names of the bank's metrics, in the form that :func:`plain` gives."""


def plain(text: str) -> str:
    """A name as it is compared: letters and digits in lower case, with one blank between words."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def by_name(name: str, bank: Mapping[str, Metric], problems: tuple[Problem, ...]) -> Metric | None:
    """The metric of the bank that has this very name, or has it as another name; None where none has.

    Args:
        name: name by which the paper calls its metric. A name in brackets counts as well as what stands before it:
            ``Area under the ROC curve (AUROC)``.
        bank: all metrics that there are, by name.
        problems: kinds of question that the metric may be asked on.
    """
    said = {plain(part) for part in (name, re.sub(r"\([^)]*\)", "", name), *re.findall(r"\(([^)]*)\)", name))} - {""}
    for metric in bank.values():
        names = {plain(metric.name), plain(metric.name).replace(" ", ""), *ALIASES.get(metric.name, ())}
        if metric.problem in problems and said & names:
            return metric
    return None


def problem_of(family: str, named: Metric | None) -> Problem:
    """The kind of question that a metric is asked on.

    Args:
        family: family of the task.
        named: the metric of the bank that has its name; None where none has.
    """
    return named.problem if named is not None else PROBLEMS.get(family, ("point",))[0]


def formula_of(metric: MetricBlueprint) -> str:
    """The formula as the paper has it: the stated value, or else the words that were quoted for it."""
    if isinstance(metric.formula.value, str) and metric.formula.value.strip():
        return metric.formula.value
    return " ".join(quotation.quote for quotation in metric.formula.quotations)
