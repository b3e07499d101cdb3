"""Values that are assumed where a paper is silent, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openfingym_forge.blueprint import Stated, Value

_HIGHER = re.compile(
    r"accura|auc|auroc|sharpe|sortino|calmar|return|precision|recall|f1|f-score|r2|r²|r\^2|hit"
    r"|profit|wealth|growth|gain|correlation of|average precision"
    r"|\bap\b|\bda\b|direction|information (?:coefficient|ratio)|\bic\b",
    re.IGNORECASE,
)
"""Names of metrics that are better when they are higher; all others are errors, costs or distances."""
SILENT = "the paper does not say it"
"""How the reason of an assumed value begins."""


def assumed(value: Value, why: str) -> Stated:
    """A value that is assumed, with the reason."""
    return Stated(value=value, assumed=why)


def direction_of(metric: str) -> str:
    """The direction that metrics of a name usually have: ``lower`` or ``higher`` is better."""
    return "higher" if _HIGHER.search(metric) else "lower"


def defaults(fields: Mapping[str, Stated]) -> dict[str, Stated]:
    """The fields that a paper does not state and that follow from what it states, or are usual.

    Args:
        fields: what the paper states, by the name of the field.

    Returns:
        The other fields, each with the reason why it is assumed.
    """
    made: dict[str, Stated] = {}

    def known(name: str) -> Value:
        stated = fields.get(name) or made.get(name)
        return stated.value if stated else None

    def fill(name: str, value: Value, why: str) -> None:
        if name not in fields:
            made[name] = assumed(value, f"{SILENT}; {why}")

    # The order matters: later rules look at what earlier ones assumed.
    _split(fields, made)
    if known("asset_class") in {"synthetic", "graph"}:
        fill("frequency", "none", "such data have no frequency")
    synthetic = known("asset_class") == "synthetic"
    fill("data.kind", "specified" if synthetic else "real", "usual for the asset class")
    fill("data.target", None, "all series are predicted")
    fill("protocol.shuffled", False, "a protocol in time is in order")
    fill("protocol.scaling", "none", "no scaling is described")
    fill("protocol.overlap", False, "the library keeps one horizon between blocks")
    if known("family") == "forecasting":
        fill("contract.lookback", 20, "twenty rows are the library's usual input")
    horizon = known("contract.horizon")
    fill("split.embargo", horizon if isinstance(horizon, int) else 5, "one horizon lies between blocks")
    rates = known("asset_class") == "rates"
    fill("data.measure", "yield" if rates else "price", "from the asset class")
    if known("family") in {"forecasting", "generation"}:
        fill(
            "contract.value_semantics",
            "yield_level" if rates else "mixed" if synthetic else "log_return",
            "usual for the asset class",
        )
    semantics = known("contract.value_semantics")
    unit = {"yield_level": "percent per annum", "log_return": "log return", "price_level": "price"}.get(str(semantics))
    if unit:
        fill("contract.unit", unit, f"the unit of a {semantics}")
    return made


def _split(fields: Mapping[str, Stated], made: dict[str, Stated]) -> None:
    """Fill in the shares of the three blocks from those that the paper states."""
    names = ("split.train", "split.public", "split.private")
    shares = {name: float(str(fields[name].value)) for name in names if name in fields}
    share = fields.get("protocol.train_share")
    if "split.train" not in shares and share is not None:
        shares["split.train"] = float(str(share.value))
        made["split.train"] = share
    missing = [name for name in names if name not in shares]
    left = 1 - sum(shares.values())
    if not shares:
        usual = zip(names, (0.7, 0.15, 0.15), strict=True)
        made.update({name: assumed(value, f"{SILENT}; the library's usual blocks") for name, value in usual})
        return
    # Shares that leave nothing contradict each other, which is reported elsewhere.
    if not missing or left <= 0:
        return
    why = (
        "the paper has two blocks, and what is not training is halved" if len(missing) == 2 else "what the others leave"
    )
    for name in missing:
        made[name] = assumed(round(left / len(missing), 6), f"{SILENT}; {why}")
