"""Rules that choose the kind of task for a blueprint, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from openfingym_forge.blueprint import Blueprint, Quotation
from openfingym_forge.paper import Paper
from openfingym_forge.quoting import QuotedText

Verdict = Literal["routed", "partial match", "no match", "novel required"]
"""How well a kind serves a blueprint. ``routed``: a kind serves it, and the paper states the parameters. ``partial
match``: a kind serves it, and some parameters are assumed. ``no match``: the kinds of its family cannot hold what it
asks. ``novel required``: no kind is for anything like it."""
_SENTENCE = 400
"""Characters that are quoted around the words that decided."""


@dataclass(frozen=True)
class Route:
    """The kind of task that was chosen for a blueprint, and why."""

    verdict: Verdict
    kind: str
    """Name of the kind; empty where none serves the blueprint."""
    why: str
    """The reason, in words."""
    quotations: tuple[Quotation, ...] = ()
    """Words of the paper that decided."""


def route(blueprint: Blueprint, paper: Paper) -> Route:
    """Choose the kind that serves a blueprint.

    Args:
        blueprint: what is known of the task.
        paper: the paper, whose text is searched for what no field of a blueprint holds.
    """
    family = str(blueprint.value("family"))
    rule = _RULES.get(family)
    if rule is None:
        return Route(
            "novel required", "", f"no kind of task is for the family {family!r}", _quoted(blueprint, "family")
        )
    return rule(blueprint, paper)


def _quoted(blueprint: Blueprint, *names: str) -> tuple[Quotation, ...]:
    """The first quotation of each of these fields that has one."""
    stated = [blueprint.fields[name] for name in names if name in blueprint.fields]
    return tuple(quotation for each in stated for quotation in each.quotations[:1])


def _evidence(paper: Paper, pattern: str) -> tuple[Quotation, ...]:
    """The first words of a paper that match a pattern, with the rest of their sentence; empty where none do."""
    match = re.search(
        rf"[^.\n]{{0,{_SENTENCE // 2}}}(?:{pattern})[^.\n]{{0,{_SENTENCE // 2}}}", paper.text, re.IGNORECASE
    )
    quotation = QuotedText(paper).find(match[0].strip()) if match else None
    return (quotation,) if quotation else ()


def _settled(
    blueprint: Blueprint, kind: str, why: str, needed: tuple[str, ...], quotations: tuple[Quotation, ...]
) -> Route:
    """The route to a kind: a partial match if one of the needed fields is assumed."""
    assumed = [name for name in needed if name not in blueprint.fields or _is_guess(blueprint, name)]
    if not assumed:
        return Route("routed", kind, why, quotations)
    return Route("partial match", kind, f"{why}; assumed: {', '.join(assumed)}", quotations)


def _is_guess(blueprint: Blueprint, name: str) -> bool:
    """Whether a value is neither the paper's nor a person's."""
    stated = blueprint.fields[name]
    return bool(stated.assumed) and not stated.is_a_persons


def _forecasting(blueprint: Blueprint, paper: Paper) -> Route:
    # From the most special kind to the most general one: the first that fits is taken.
    quotations = _quoted(blueprint, "family", "contract.horizon")
    if blueprint.value("asset_class") == "lob":
        why = "forecasts of order books need messages, which no kind of the family holds"
        return Route("no match", "", why, _quoted(blueprint, "asset_class", "family"))
    intervals = [
        metric for metric in blueprint.metrics if re.search(r"cover|interval|winkler|width", metric.name, re.I)
    ]
    if intervals and blueprint.value("asset_class") == "rates":
        needed = ("contract.horizon", "data.series")
        return _settled(blueprint, "curves", "intervals of a curve are forecast", needed, quotations)
    features = blueprint.value("data.features")
    if isinstance(features, list) and len(features) > 1 and blueprint.value("frequency") == "monthly":
        return _settled(blueprint, "rows", "rows of characteristics predict returns", ("data.features",), quotations)
    online = _evidence(
        paper,
        r"(?:learn\w*|updat\w*|refit\w*) (?:\w+ ){0,3}(?:after|from) each (?:outcome|forecast|step)|online learning",
    )
    if online:
        why = "forecasts are made one after another, and each outcome is shown"
        return _settled(blueprint, "rolling", why, ("contract.horizon",), online)
    decided = ("contract.horizon", "contract.lookback", "contract.value_semantics")
    return _settled(
        blueprint, "forecast", "values some rows ahead are forecast from the rows before", decided, quotations
    )


def _generation(blueprint: Blueprint, paper: Paper) -> Route:
    del paper
    why = "windows of values are generated, and compared with real ones by their distribution"
    needed = ("contract.horizon", "contract.value_semantics")
    return _settled(blueprint, "generation", why, needed, _quoted(blueprint, "family", "contract.horizon"))


def _fraud(blueprint: Blueprint, paper: Paper) -> Route:
    nodes = _evidence(
        paper,
        (
            r"\bnodes?[- ]level|scor\w+ (?:\w+ ){0,3}nodes|anomalous nodes?|classif\w+ (?:\w+ "
            r"){0,3}nodes|each node|node classification"
        ),
    )
    # Papers on nodes speak of graphs as well, and so words about nodes decide.
    graphs = _evidence(
        paper, r"graph[- ](?:level|classification)|classif\w+ (?:\w+ ){0,3}graphs|each graph|label of (?:a|the) graph"
    )
    if graphs and not nodes:
        return _settled(blueprint, "graphs", "whole graphs are classified", ("data.source",), graphs)
    if nodes:
        return _settled(blueprint, "nodes", "nodes of one graph are scored", ("data.source",), nodes)
    why = "rows without a graph are classified, and no kind of task is for that"
    return Route("novel required", "", why, _quoted(blueprint, "family", "panel"))


def _trading(blueprint: Blueprint, paper: Paper) -> Route:
    other = _evidence(
        paper, r"\boptions? (?:pricing|hedging|trading|strateg)|market making|limit order book|high-frequency trading"
    )
    if other or blueprint.value("asset_class") == "lob":
        why = "the trading kind trades bars of spot prices, neither options nor quotes"
        return Route("no match", "", why, other or _quoted(blueprint, "asset_class"))
    why = "symbols are traded on bars, one step after another, at costs"
    needed = ("data.series", "frequency", "contract.fee_bps", "contract.steps")
    return _settled(blueprint, "trading", why, needed, _quoted(blueprint, "family", *needed))


_RULES: dict[str, Callable[[Blueprint, Paper], Route]] = {
    "forecasting": _forecasting,
    "generation": _generation,
    "fraud": _fraud,
    "trading": _trading,
}
