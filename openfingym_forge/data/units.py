"""Whether values can have the unit that a blueprint states, by their magnitudes and by known facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from openfingym_forge.data.matching import texts
from openfingym_forge.data.names import canonical, matched
from openfingym_forge.stage import RejectionReason

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym_forge.blueprint import Blueprint

FACTS: Final = {
    "eur_usd": (0.6, 2.0), "gbp_usd": (0.9, 2.8), "aud_usd": (0.4, 1.3), "nzd_usd": (0.3, 1.1),
    "usd_jpy": (60.0, 400.0), "usd_chf": (0.6, 3.0), "usd_cad": (0.8, 1.8), "usd_inr": (20.0, 130.0),
    "usd_cny": (4.0, 10.0), "usd_hkd": (7.0, 8.2), "usd_krw": (600.0, 2200.0), "btc": (1.0, 1e6),
}  # fmt: skip
"""Least and largest value that the median of a series can have in its usual unit."""
_PERCENT: Final = re.compile(r"percent|per cent|%")
_BASIS: Final = re.compile(r"basis points?|\bbps?\b")
_FRACTION: Final = re.compile(r"fraction|decimal|per unit")
_RETURN: Final = re.compile(r"return")


def units(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    """The columns whose values cannot have the stated unit, each with at most one reason.

    Args:
        frame: a column for each series.
        blueprint: what the paper says of its data: their unit, what they measure, and their series.
    """
    stated = blueprint.fields.get("data.unit")
    unit = str(stated.value or "").lower() if stated is not None else ""
    measure = _measure(blueprint, unit)
    reasons = []
    named = texts(blueprint.value("data.series")) + texts(blueprint.value("data.target"))
    # Inputs beside the series have units of their own.
    own = set(matched(named, map(str, frame.columns)).values())
    for name in (column for column in frame.columns if not own or str(column) in own):
        values = frame[name].to_numpy(np.float64)
        values = values[np.isfinite(values)]
        # Of a few values, magnitudes say little.
        if len(values) < 20:
            continue
        why = _facts(canonical(str(name)), values, measure) or _wrong(values, measure, unit)
        if why:
            quotations = tuple(stated.quotations) if stated is not None else ()
            reasons.append(RejectionReason("wrong-units", f"{name}: {why}", quotations))
    return reasons


def _measure(blueprint: Blueprint, unit: str) -> str:
    """What the published values are: ``yield``, ``price``, ``return``, or empty where that is not known."""
    if _RETURN.search(unit):
        return "return"
    return {"yield": "yield", "price": "price"}.get(str(blueprint.value("data.measure") or ""), "")


def _facts(name: str, values: NDArray[np.float64], measure: str) -> str:
    """Why values cannot be the prices of a series that is known; empty where they can."""
    if measure != "price" or name not in FACTS:
        return ""
    low, high = FACTS[name]
    middle = float(np.median(values))
    if low <= middle <= high:
        return ""
    inverse = middle != 0 and low <= 1 / middle <= high
    return f"the median is {middle:.4g}, and it has always been in {low:g} to {high:g}" + (
        "; this is its inverse" if inverse else ""
    )


def _wrong(values: NDArray[np.float64], measure: str, unit: str) -> str:
    """Why values of a measure cannot have a unit; empty where they can."""
    if measure == "yield":
        return _wrong_yield(values, unit)
    if measure == "price":
        return _wrong_price(values)
    return _wrong_return(values, unit) if measure == "return" else ""


def _wrong_yield(values: NDArray[np.float64], unit: str) -> str:
    # A quantile, since a table may have a slip or a spike. Yields are between 0.3 and 60 percent.
    top = float(np.quantile(np.abs(values), 0.99))
    if _BASIS.search(unit):
        return f"99% are below {top:.3g}, too small for basis points" if top < 15 else ""
    if _FRACTION.search(unit) and not _PERCENT.search(unit):
        return f"1% are above {top:.3g}, which as a fraction is {100 * top:.0f} percent" if top > 0.5 else ""
    if _PERCENT.search(unit):
        # A yield below 0.3 percent throughout is rarer than a file in fractions; steps of 0.01 tell them apart.
        steps = np.abs(np.diff(values))
        moved = steps[steps > 0]
        if top < 0.3 and (not len(moved) or float(np.median(moved)) < 0.005):
            return f"99% are below {top:.3g}: fractions, not percent"
        return f"1% are above {top:.4g}: basis points, not percent" if top > 60 else ""
    return ""


def _wrong_price(values: NDArray[np.float64]) -> str:
    below = float((values <= 0).mean())
    if below > 0.05:
        return f"{below:.0%} are not above 0: returns or differences, not prices"
    return ""


def _wrong_return(values: NDArray[np.float64], unit: str) -> str:
    spread = float(np.std(values))
    # Returns have both signs, and each has little to do with the one before.
    if (values > 0).all() and spread:
        centred = values - values.mean()
        memory = float(centred[1:] @ centred[:-1] / (centred @ centred))
        if memory > 0.9:
            return f"all are above 0 and each near the one before (autocorrelation {memory:.3f}): levels, not returns"
    # A deviation of 0.05 percent is too small for returns of a market, and one of 50 percent too large.
    if _PERCENT.search(unit) and 0 < spread < 0.05:
        return f"their standard deviation is {spread:.2g}: fractions, not percent"
    if not _PERCENT.search(unit) and not _BASIS.search(unit) and spread > 0.5:
        return f"their standard deviation is {spread:.2g}: percent, not fractions"
    return ""
