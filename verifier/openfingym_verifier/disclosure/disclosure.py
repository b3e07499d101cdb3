"""How much of a private result its participant is told.

A score on some tens of hidden windows is known only up to its standard error. Digits beyond that say nothing about an
agent; all they carry is the labels. Under a strict policy a result is therefore shown on a grid of two standard errors:

- The relative total is moved towards the baseline to the next multiple of two standard errors of its logarithm. What is
  not better than the baseline by two standard errors is shown as the baseline: 1, without an interval. How much worse
  something is, is never shown, nor how surely; with large offsets these numbers could be made to say anything about the
  labels.
- Where a relative total is told apart from the baseline, every metric and the paper's total are moved towards the
  baseline's in the same way, each on a grid of two standard errors of its own. Otherwise they are the baseline's.
- Standard errors, of which the grid is made, are rounded up a coarse ladder; intervals and the baseline's own figures
  have three digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from openfingym.digests import sha256_of_json, sha256_of_text
from openfingym.results.result import Disclosure

GRID = 2.0
"""Width of the grid in standard errors."""
LADDER = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
"""Sizes of an error that are told, times a power of ten: a finer one would say which windows an answer moved, and what
it met there."""
BASELINE_DIGITS = 3
"""Significant digits of the baseline's own figures, and of the bounds of intervals."""
FINEST = 1e-4
"""Smallest error told, as a share: where an answer's losses are proportional to the baseline's, the error is that of
arithmetic alone."""

Document = dict[str, object]

NO_BASELINE: Mapping[str, object] = MappingProxyType({"baseline_total": None, "baseline_metrics": {}})
"""What is told of the baseline where nothing is told of the private fold: it is a submission as well."""


def disclosed(result: Document, disclosure: Disclosure) -> Document:
    """A copy of a result as its participant may see it.

    Args:
        result: the result as it was computed, with ``salt``.
        disclosure: how much of the result is told.
    """
    if disclosure == "full":
        return result
    shown: Document = {**result, "disclosure": disclosure, "salt": None if disclosure == "held" else _told_salt(result)}
    if disclosure == "held":
        return {**shown, **_held(result)}
    return {**shown, **(_rounded(result) if result["state"] == "scored" else NO_BASELINE)}


def told_digest(result: Document) -> str:
    """Digest that the log holds of what is told of a result that is not told in full, at once or when the season is
    closed.

    Args:
        result: the result as it was computed, without ``log_head``.
    """
    return sha256_of_json(disclosed(result, "rounded"))


def toward(value: float, anchor: float, width: float) -> float:
    """``value`` moved towards ``anchor`` to the next multiple of ``width`` from it; the anchor if the width is not a
    positive number.
    """
    if not width > 0.0 or not math.isfinite(width):
        return anchor
    steps = math.floor(abs(value - anchor) / width)
    return anchor + math.copysign(steps * width, value - anchor) if steps else anchor


def significant(value: float, digits: int) -> float:
    """``value`` rounded to ``digits`` significant digits."""
    return float(f"{value:.{digits - 1}e}")


def coarsely(error: float) -> float:
    """An error rounded up to the next size of :data:`LADDER`; what is no positive number stays as it is."""
    if not 0.0 < error < math.inf:
        return error
    unit = 10.0 ** math.floor(math.log10(error))
    # With a tolerance, so that an error that is a step of the ladder stays there; and with one step more, for an error
    # that is just above ten units by the rounding of the logarithm.
    return next(step for step in (*LADDER, 2.0 * LADDER[-1]) if step * (1.0 + 1e-12) >= error / unit) * unit


def _told_salt(result: Document) -> str:
    """The salt of what is told, which is told with it: with the result's own one could try out which figures of the
    full result give the digest in the log.
    """
    return sha256_of_text(f"told {result['salt']}")[:32]


def _held(result: Document) -> Document:
    """What is told of a result that is held: that there is one, whatever it is."""
    return {
        "state": "held",
        "reason": _why_held(result),
        # Whether an answer is suspected, or has a score at all, may follow from labels.
        "flags": [],
        "total": None,
        "relative_total": None,
        "relative_standard_error": None,
        "relative_sample": None,
        "relative_interval": None,
        "total_standard_error": None,
        "total_interval": None,
        "metrics": {},
        "standard_errors": {},
        **NO_BASELINE,
    }


def _why_held(result: Document) -> str:
    """The reason of a result that is held, with what the ladder says of it."""
    ladder = result.get("ladder")
    later = "what was entered and has ended by then is told when the season is closed"
    if not isinstance(ladder, Mapping):
        return f"the result is held; {later}"
    what = "does not raise" if ladder["rung"] is None else "raises"
    return (
        f"the result {what} the ladder of all parties, whose top is a relative total of {ladder['top']:g} (answer "
        f"{ladder['answers']} of {ladder['most']}); {later}"
    )


def _rounded(result: Document) -> Document:
    """What is told of a scored result: figures on grids, and nothing of how much worse than the baseline it is."""
    baseline = _baseline(result)
    error = _number(result["relative_standard_error"])
    # Without an error there is no grid, and everything is shown as the baseline.
    width = GRID * coarsely(max(error, FINEST)) if error else math.nan
    gain = -math.log(_number(result["relative_total"]))
    # Worse than the baseline is shown as the baseline.
    shown = toward(max(gain, 0.0), 0.0, width)
    is_better = shown > 0.0
    base_total, base_metrics = _number(baseline["baseline_total"]), _numbers(baseline["baseline_metrics"])
    errors = {
        name: coarsely(max(value, FINEST * abs(base_metrics[name])))
        for name, value in _numbers(result["standard_errors"]).items()
    }
    # In this order a total without an error stays without: max(nan, x) is nan, and max(x, nan) is x.
    total_error = max(_number(result["total_standard_error"]), FINEST * abs(base_total))
    metrics = {
        name: toward(value, base_metrics[name], GRID * errors.get(name, math.nan)) if is_better else base_metrics[name]
        for name, value in _numbers(result["metrics"]).items()
    }
    total = toward(_number(result["total"]), base_total, GRID * coarsely(total_error)) if is_better else base_total
    relative = math.exp(-shown)
    # The value lies up to one step beyond what is shown, and the truth up to two standard errors on either side of
    # that.
    interval = [math.exp(-shown - 2.0 * width), math.exp(-shown + width)] if is_better else []
    return {
        "relative_total": relative,
        # Of what is shown as the baseline no error either: a large offset in one window makes that one say what it met
        # there.
        "relative_standard_error": width / GRID if is_better else None,
        # Two hundred numbers of it, one for each replicate, would tell the labels window by window.
        "relative_sample": None,
        "relative_interval": [significant(bound, BASELINE_DIGITS) for bound in interval] or None,
        "total": total,
        "total_standard_error": coarsely(total_error) if is_better and math.isfinite(total_error) else None,
        "total_interval": None,
        "metrics": metrics,
        "standard_errors": errors if is_better else {},
        **baseline,
    }


def _baseline(result: Document) -> Document:
    """The baseline's figures on the private fold, rounded: the baseline is a submission too, so they tell as much."""
    return {
        "baseline_total": significant(_number(result["baseline_total"]), BASELINE_DIGITS),
        "baseline_metrics": {
            name: significant(value, BASELINE_DIGITS) for name, value in _numbers(result["baseline_metrics"]).items()
        },
    }


def _number(value: object) -> float:
    """A figure of a result; NaN where it is null."""
    return math.nan if value is None else float(value)  # type: ignore[arg-type]  # a document of ours


def _numbers(value: object) -> Mapping[str, float]:
    assert isinstance(value, Mapping)
    return value
