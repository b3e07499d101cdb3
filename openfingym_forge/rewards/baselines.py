"""A paper's results of baselines that the library has too, which a reviewer may compare with its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openfingym_forge.blueprint import Blueprint
from openfingym_forge.rewards.deciding import MetricDecision
from openfingym_forge.rewards.meaning import plain

OURS: Mapping[str, tuple[str, ...]] = {
    "naive": ("naive", "random walk", "no change", "last value", "persistence", "naive forecast", "last observation"),
    "zero": ("zero", "zero forecast"),
    "mean": ("historical mean", "mean of training", "mean", "training mean"),
    "ridge": ("ridge", "ridge regression", "linear ridge"),
    "ar": ("ar 1", "ar 2", "autoregression", "ar"),
    "boosting": ("boosted trees", "gradient boosting", "lightgbm"),
    "bootstrap": ("block bootstrap", "bootstrap"),
    "buy-and-hold": ("buy and hold",),
    "degree": ("degree",),
    "random": ("random scores", "random"),
}
"""Names that papers have for each of our baselines, by our name for it."""


def ours(name: str) -> str:
    """Our name for a baseline of a paper; empty where we have none like it."""
    said = plain(name)
    return next((word for word, names in OURS.items() if said in names), "")


def our_figures(blueprint: Blueprint, decisions: Sequence[MetricDecision]) -> list[dict[str, object]]:
    """The paper's results of baselines that are ours too.

    Args:
        blueprint: the blueprint, whose baselines say which rows of the paper's tables are baselines.
        decisions: what was decided of each metric.

    Returns:
        For each result: ``baseline`` as the paper calls it, ``ours`` as we do, ``metric`` by its name in the bank,
        ``relation`` of the paper's metric to it, and ``paper``, the number.
    """
    named = {str(stated.value) for stated in blueprint.baselines if isinstance(stated.value, str)}
    return [
        {
            "baseline": figure.baseline,
            "ours": ours(figure.baseline),
            "metric": decision.bank.name,
            "relation": decision.relation,
            "paper": figure.value,
        }
        for decision in decisions
        if decision.bank is not None
        for figure in decision.metric.figures
        if ours(figure.baseline) and (figure.baseline in named or not named)
    ]
