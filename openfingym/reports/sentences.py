"""Comparisons in words: who is better, by how much, and what that is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.reports.groups import label
from openfingym.reports.statistics import FEWEST_UNITS, Estimate
from openfingym.results.result import LOSS_FAILURE

if TYPE_CHECKING:
    from openfingym.reports.comparisons import RowComparison

SIGNIFICANT = 0.05
"""Adjusted p-value below which a difference is significant."""
SMALLEST = 1e-6
"""p-values below this are said to be below it: so far out, no distribution of errors is known."""


def sentence_of(pair: RowComparison) -> str:
    """A comparison in words, with the row of the lower loss first."""
    a, b, data = label(pair.a), label(pair.b), f"{pair.data_kind} data"
    if pair.verdict == "too few":
        return f"{a} and {b} cannot be told apart on {data}: {_why_not(pair)}."
    swapped = (pair.loss_ratio.value or 1.0) > 1.0
    wins, losses = pair.wins, pair.losses
    if swapped:
        a, b, wins, losses = b, a, losses, wins
    size = _size(pair, swapped)
    figures = f"{_scope(pair)}, better on {wins} and worse on {losses}; {_p_values(pair)}"
    counted = ""
    if pair.scored != pair.judged:
        counted = f", a failure counted as {-LOSS_FAILURE:g} times the baseline's,"
        figures += _successes(pair, a, b, swapped=swapped)
    if pair.verdict == "no difference" and (pair.success_p_holm or 1.0) < SIGNIFICANT:
        # Shares of scored runs, compared without a division: neither row may have been judged.
        often, seldom = (0, 1) if pair.scored[0] * pair.judged[1] > pair.scored[1] * pair.judged[0] else (1, 0)
        names = label(pair.a), label(pair.b)
        return (
            f"{names[often]} is scored more often than {names[seldom]} on {data} (Holm-adjusted p = "
            f"{pair.success_p_holm:.2g}), and neither loss is surely lower: the loss of {a}{counted} is {size}, "
            f"{figures}."
        )
    if pair.verdict == "no difference":
        told = (
            "" if pair.detectable is None else f" A difference below {pair.detectable:.2g} of the loss is seldom told."
        )
        return f"{a} and {b} cannot be told apart on {data}: the loss of {a}{counted} is {size}, {figures}.{told}"
    return f"{a} is better than {b} on {data}: its loss{counted} is {size}, {figures}."


def _why_not(pair: RowComparison) -> str:
    """Why nothing is known of the error of a comparison."""
    if pair.tasks == 0:
        return "they have no task and seed in common"
    tasks = f"{pair.tasks} common task{'s' * (pair.tasks != 1)} on {pair.datasets} dataset{'s' * (pair.datasets != 1)}"
    return (
        f"{tasks} {'is' if pair.tasks == 1 else 'are'} too few to say, as {FEWEST_UNITS} datasets are needed, or of "
        "each task the error of both over its items"
    )


def _size(pair: RowComparison, swapped: bool) -> str:
    """How much lower the loss of the better row is, with the interval."""
    ratio, low, high = _ratio(pair.loss_ratio, swapped)
    # The sentence is adjusted for all pairs, and the interval is not.
    alone = " for this pair alone" if pair.compared > 1 else ""
    return f"{1.0 - ratio:.1%} lower (95 % interval of the ratio{alone} {low:.3g} to {high:.3g})"


def _scope(pair: RowComparison) -> str:
    """What a comparison is over, and what it says nothing of."""
    tasks = f"{pair.tasks} task{'s' * (pair.tasks != 1)}"
    if pair.loss_ratio.over == "task":
        on = f" on {pair.datasets} datasets" if pair.datasets != pair.tasks else ""
        return f"over {tasks}{on}"
    stands = f"{tasks}, which stand{'s' * (pair.tasks == 1)} for no other"
    over = f"other {pair.items_are}" if pair.items is None else f"{pair.items} common {pair.items_are}"
    return f"over {over} of {stands}{', as these single runs answered' if pair.single else ''}"


def _p_values(pair: RowComparison) -> str:
    p = f"p {_p(pair.p_value)}"
    return f"{p}, Holm-adjusted {_p(pair.p_holm).removeprefix('= ')}"


def _p(value: float | None) -> str:
    return f"< {SMALLEST:g}" if value is None or value < SMALLEST else f"= {value:.2g}"


def _successes(pair: RowComparison, a: str, b: str, *, swapped: bool) -> str:
    """How often each was scored, and the losses where both were."""
    first, second = (1, 0) if swapped else (0, 1)
    counts = (
        f"; {a} was scored in {pair.scored[first]} of {pair.judged[first]} runs, {b} in {pair.scored[second]} of "
        f"{pair.judged[second]}"
    )
    if pair.scored_ratio.value is None:
        return f"{counts}, and never both"
    ratio, low, high = _ratio(pair.scored_ratio, swapped)
    size = f"{abs(1.0 - ratio):.1%} {'lower' if ratio <= 1.0 else 'higher'}"
    ends = f" (95 % interval of the ratio {low:.3g} to {high:.3g})" if pair.scored_ratio.enough else ""
    return f"{counts}; where both were, the loss of {a} is {size}{ends}"


def _ratio(estimate: Estimate, swapped: bool) -> tuple[float, float, float]:
    """A ratio of losses and the ends of its interval, b over a if they are swapped; 1 stands for a missing figure."""
    # The inverse of an interval has its ends in the other order.
    value, low, high = (part or 1.0 for part in (estimate.value, estimate.low, estimate.high))
    return (1.0 / value, 1.0 / high, 1.0 / low) if swapped else (value, low, high)
