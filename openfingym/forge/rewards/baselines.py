"""Baselines of a paper that are among our own, whose figures a reviewer may compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openfingym.forge.blueprint import Blueprint
from openfingym.forge.rewards.deciding import MetricDecision
from openfingym.forge.rewards.meaning import plain

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
"""Names of papers for what our baselines do, by a word for it."""


def ours(name: str) -> str:
    """The word for a baseline of a paper that is one of ours; empty where it is none."""
    said = plain(name)
    return next((word for word, names in OURS.items() if said in names), "")


def our_figures(blueprint: Blueprint, decisions: Sequence[MetricDecision]) -> list[dict[str, object]]:
    """The paper's own figures of baselines that are ours, under the names of the bank."""
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
