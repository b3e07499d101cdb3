"""Filling in the fields of a blueprint that follow from its kind of task."""

from __future__ import annotations

import re

from openfingym.kinds import KINDS
from openfingym.kinds.forging import Forging
from openfingym_forge.blueprint import Blueprint, Stated, Value

# What papers call the ways in which a task may scale its values.
_SHAPED = {
    "start": r"divided by|relative to|rebased|multiple",
    "mean": r"mean|average",
    "standard": r"standardi|z-scor|unit variance|zero mean",
}


def filled(blueprint: Blueprint, kind: str, why: str) -> Blueprint:
    """The blueprint with its kind and what follows from it. A field that the paper states stays, and so does one that a
    person changed.

    Args:
        blueprint: the blueprint as it was extracted.
        kind: name of the kind of task.
        why: why this kind serves the blueprint.
    """
    fields = dict(blueprint.fields)
    chosen = fields.get("kind")
    if chosen is None or not chosen.is_a_persons:
        fields["kind"] = Stated(value=kind, assumed=f"triage: {why}")
    for name, value, reason in _following(blueprint, kind):
        if name not in fields:
            fields[name] = Stated(value=value, assumed=reason)
    _described(blueprint, fields)
    return blueprint.model_copy(update={"fields": fields})


def _following(blueprint: Blueprint, kind: str) -> list[tuple[str, Value, str]]:
    """Name, value and reason of each field that follows from the kind."""
    fields: list[tuple[str, Value, str]] = []
    silent = "the paper does not say it; the library's tasks of this kind have this"
    forging, series = KINDS[kind].forging or Forging(), blueprint.value("data.series")
    fields += [(f"contract.{key}", value, f"{silent} ({what})") for key, (value, what) in forging.assumed.items()]
    if KINDS[kind].is_record and isinstance(series, list):
        fields.append(("contract.symbols", series, "the series of the data are what is traded"))
    scaling = _scaling(blueprint, forging)
    if scaling:
        fields.append(("split.scaling", scaling, "from how the paper scales its values"))
    return fields


def _scaling(blueprint: Blueprint, forging: Forging) -> str:
    """How the task scales its values, as ``split.scaling`` has it; empty where it does not."""
    if forging.scaling_of_prices and blueprint.value("contract.value_semantics") == "price_level":
        return forging.scaling_of_prices
    stated = blueprint.fields.get("protocol.scaling")
    if not forging.scaled_as_stated or stated is None or stated.value != "train":
        return ""
    # "train" says which rows a scaling is fitted on; its form is in the words that were quoted for it.
    words = " ".join(quotation.quote for quotation in stated.quotations).lower()
    if re.search(_SHAPED["standard"], words):
        return "standard"
    return "mean" if re.search(_SHAPED["mean"], words) and "divided" in words else ""


def _described(blueprint: Blueprint, fields: dict[str, Stated]) -> None:
    """Fill in panel and description in words, where the paper states none."""
    series = blueprint.value("data.series")
    listed = ", ".join(str(name) for name in series[:8]) if isinstance(series, list) else ""
    frequency, asset = blueprint.value("frequency", "none"), str(blueprint.value("asset_class", "financial"))
    often = "" if frequency == "none" else f"{frequency} "
    panel = f"{often}{asset} data{f' of {listed}' if listed else ''}"
    horizon = blueprint.value("contract.horizon")
    asked = {
        "forecasting": f"Forecast {panel}, {horizon} rows ahead.",
        "generation": f"Generate windows of {horizon} rows of {panel}.",
        "fraud": f"Score {panel} for anomalies.",
        "trading": f"Trade {panel}.",
    }.get(str(blueprint.value("family")), f"A task on {panel}.")
    fields.setdefault("panel", Stated(value=panel, assumed="triage: from series, frequency and asset class"))
    fields.setdefault("description", Stated(value=asked, assumed="triage: from family, horizon and series"))
