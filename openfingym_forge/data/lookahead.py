"""Finding columns that hold what was not known at their row's time, and inputs that are the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from openfingym_forge.data.matching import texts
from openfingym_forge.data.names import canonical, matched
from openfingym_forge.data.tables import is_dated
from openfingym_forge.stage import RejectionReason

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym_forge.blueprint import Blueprint

SURE: Final = 0.995
"""Correlation with changes that are still to come from which on a column is no honest input."""
_AHEAD: Final = re.compile(
    r"(^|[_\s])(next|future|fut|lead\d*|fwd|tomorrow|ahead|t\+\d+|shift_?-\d+)([_\s\d]|$)", re.IGNORECASE
)
"""Names of columns that say of themselves that they hold a later value."""
_LONGEST: Final = 30
"""Most rows ahead that are looked at, however long the horizon is."""
_LAGS: Final = 5
"""Rows of the past that a regression is given."""
_LATEST: Final = 2000
"""How many of the last rows a regression is made of."""
TOLD: Final = 0.98
"""Share of what the target's own past leaves open of its later values from which on a column that explains it is no
honest input."""
SAME: Final = 1 - 1e-7
"""Correlation, of levels and of changes alike, from which on two columns are the same."""
_PAST: Final = re.compile(r"(^|[_\s])(prev(ious)?|lag(ged)?\d*|last|yesterday|shift_?\d+)([_\s\d]|$)", re.IGNORECASE)
_GIVEN: Final = re.compile(
    r"\bthe targets? (?:itself|themselves)\b|\b(?:values?|returns?|levels?|rates?|prices?|targets?) (?:of|in|for) the "
    r"(?:same|target|forecast|predicted) (?:hour|day|week|month|period|row|step)s?\b"
)
_EARLIER: Final = re.compile(r"[^.;]{0,30}\b(?:earlier|before|ago|(?:previous|prior|preceding|last|past) \w+)\b")
_EARLIER_THAN: Final = re.compile(r"\b(?:previous|prior|preceding|last|past) \w+?(?:'s|\u2019s|s')? $")


def look_ahead(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    """Columns that are named for a later value of a target, or move with one, or explain one.

    Args:
        frame: the table, by time.
        blueprint: what the paper says of its data: its targets, or its series, and its horizon.
    """
    looked_at, targets = _checked(frame, blueprint)
    named = [name for name in map(str, frame.columns) if _AHEAD.search(name) and name not in targets]
    reasons = [
        RejectionReason("look-ahead-column", f"{name}: its name says that it holds a later value") for name in named
    ]
    horizon = blueprint.value("contract.horizon")
    most = min(max(5, horizon if isinstance(horizon, int) else 1), _LONGEST, max(len(frame) // 4, 1))
    for name in looked_at:
        if name in named:
            continue
        for target in targets:
            if target == name or _follows(name, target):
                continue
            column, truth = frame[name].to_numpy(float), frame[target].to_numpy(float)
            if _is_same(column, truth) and not _of_bars(name, target):
                reasons.append(RejectionReason("target-as-feature", f"{name}: it is {target}, perhaps in another unit"))
                break
            if finding := _ahead_of(column, truth, most) or _explained(column, truth, most):
                reasons.append(RejectionReason("look-ahead-column", f"{name}: {finding} of {target}"))
                break
    return reasons


def _targets(frame: pd.DataFrame, blueprint: Blueprint) -> list[str]:
    columns = {canonical(str(name)): str(name) for name in frame.columns}
    wanted = texts(blueprint.value("data.target"))
    return [columns[canonical(name)] for name in wanted if canonical(name) in columns]


def _checked(frame: pd.DataFrame, blueprint: Blueprint) -> tuple[list[str], list[str]]:
    """Names of the columns that are looked at, and of those whose later values they might hold: the targets, or else
    the series that the blueprint names.
    """
    names, targets = list(map(str, frame.columns)), _targets(frame, blueprint)
    if targets:
        return names, targets
    series = list(matched(texts(blueprint.value("data.series")), names).values())
    return names if series else [], series


def _follows(column: str, target: str) -> bool:
    """Whether a column is honestly ahead of a target: the close of a bar is ahead of the next bar's open, which begins
    where it ended, and a series is ahead of a column that is named for its past.
    """
    return (column.lower().endswith("close") and target.lower().endswith("open")) or bool(_PAST.search(target))


def _of_bars(*names: str) -> bool:
    """Whether all names are parts of bars, which are honestly equal where nothing was traded or paid out."""
    return all(re.search(r"(open|high|low|close|vwap)$", name, re.IGNORECASE) for name in names)


def _is_same(column: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    """Whether a column is the target, perhaps in another unit: a correlation does not change with the unit."""
    both = np.isfinite(column) & np.isfinite(target)
    ours, theirs = column[both], target[both]
    if len(theirs) < 30 or min(np.count_nonzero(np.diff(one)) for one in (ours, theirs)) < 20:
        return False
    return float(np.corrcoef(ours, theirs)[0, 1]) > SAME < _correlation(np.diff(ours), np.diff(theirs))


def _explained(column: NDArray[np.float64], target: NDArray[np.float64], most: int) -> str:
    """How much a column explains of the target's later values, or of their means, beyond what the target's own past
    explains; empty where that is not nearly all.

    It finds what no correlation of changes shows, such as a centred mean, or a signal mixed with the target's past.

    Args:
        column: values of the column, one a row.
        target: values of the target.
        most: largest number of rows ahead.
    """
    at = np.arange(_LAGS, len(target) - most)[-_LATEST:]
    if len(at) < 100 or min(np.count_nonzero(np.diff(one)) for one in (column, target)) < 20:
        return ""
    # A column may hold a later return as well as a later level.
    for truth in (target, np.log(target)) if (target > 0).all() else (target,):
        # What is to be explained: changes from now to each later row, and to the mean of the rows until then.
        later = np.column_stack([truth[at + step] for step in range(1, most + 1)])
        means = np.cumsum(later, axis=1) / np.arange(1, most + 1)
        wanted = np.hstack([later, means]) - truth[at][:, None]
        own = np.column_stack([truth[at - lag] for lag in range(_LAGS + 1)])
        whole = np.hstack([own, np.column_stack([column[at - lag] for lag in range(_LAGS)])])
        finite = np.isfinite(np.hstack([wanted, whole])).all(axis=1)
        if finite.sum() < 100:
            continue
        left, open_ = (_unexplained(inputs[finite], wanted[finite]) for inputs in (whole, own))
        # Of what the target's own past tells completely, nothing is left to be explained.
        is_open = open_ > 1e-9 * wanted[finite].var(axis=0)
        share = np.where(is_open, 1.0 - left / np.where(is_open, open_, 1.0), 0.0)
        best = int(share.argmax())
        if share[best] >= TOLD:
            what = "the value" if best < most else "the mean"
            return f"it tells {share[best]:.1%} of what is open of {what} {best % most + 1} rows later"
    return ""


def _unexplained(inputs: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of each wanted column that a linear regression on the inputs leaves.

    Args:
        inputs: what the regression is given, float64[rows, inputs].
        wanted: what it is to explain, float64[rows, columns].
    """
    # Scaled, so that least squares are well conditioned whatever the units are; a constant input stays as it is.
    width = inputs.std(axis=0)
    scaled = np.column_stack([np.ones(len(inputs)), (inputs - inputs.mean(axis=0)) / np.where(width > 0, width, 1.0)])
    fitted = scaled @ np.linalg.lstsq(scaled, wanted, rcond=None)[0]
    left: NDArray[np.float64] = (wanted - fitted).var(axis=0)
    return left


def _ahead_of(column: NDArray[np.float64], target: NDArray[np.float64], most: int) -> str:
    """How a column moves with later values of a target; empty where it does not.

    Args:
        column: values of the column, one a row.
        target: values of the target.
        most: largest number of rows ahead.
    """
    moves = np.diff(target)
    now = _correlation(np.diff(column), moves)
    for step in range(1, most + 1):
        later = target[step:]
        candidates = (
            ("the value", np.diff(column[:-step]), np.diff(later)),
            ("the change to the value", column[:-step], later - target[:-step]),
        )
        for what, ours, theirs in candidates:
            strength = _correlation(ours, theirs)
            # More than with the present: a slow series moves with its neighbours at every step.
            if abs(strength) >= SURE and abs(strength) > abs(now) + 1e-6:
                return f"correlation {strength:.4f} with {what} {step} rows later"
    return ""


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Correlation of two series where both have a value; 0 where it would say nothing."""
    both = np.isfinite(one) & np.isfinite(other)
    # Few moves, as of a policy rate, correlate by luck.
    if both.sum() < 30 or np.count_nonzero(one[both]) < 20 or np.count_nonzero(other[both]) < 20:
        return 0.0
    left, right = one[both], other[both]
    if left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def target_given_away(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    """Inputs that are the target or tell it: by the paper's words, and, in rows whose target has no past of its own, by
    name and by value.

    Args:
        frame: the table, by time, or by number if its rows have no time.
        blueprint: what the paper says of its target and features.
    """
    targets = texts(blueprint.value("data.target"))
    features = texts(blueprint.value("data.features"))
    stated = blueprint.fields.get("data.features")
    quotations = tuple(stated.quotations) if stated is not None else ()
    said = _given(". ".join([*features, *(each.quote for each in quotations)]).lower())
    if said:
        return [RejectionReason("target-as-feature", f"the inputs have {said!r}, which is the target", quotations)]
    # A series' own past is an honest input; a label of a row has none.
    has_past = is_dated(frame) and blueprint.value("family") != "fraud"
    if has_past or not targets:
        return []
    same = {canonical(name) for name in targets} & {canonical(name) for name in features}
    reasons = [
        RejectionReason("target-as-feature", f"{name} is the target and among the inputs", quotations)
        for name in sorted(same)
    ]
    columns = {canonical(str(name)): str(name) for name in frame.columns}
    inputs = [name for key, name in columns.items() if key not in {canonical(each) for each in targets}]
    for target in targets:
        name = columns.get(canonical(target))
        if name is None:
            continue
        truth = frame[name].to_numpy(float)
        findings = ((other, _tells(frame[other].to_numpy(float), truth)) for other in inputs)
        reasons += [RejectionReason("target-as-feature", f"{other}: {why} {name}") for other, why in findings if why]
    return reasons


def _given(text: str) -> str:
    """Words that put the target's own row among the inputs; empty where none do, as those of the same week of an
    earlier year.
    """
    for said in _GIVEN.finditer(text):
        if not _EARLIER.match(text, said.end()) and not _EARLIER_THAN.search(text[: said.start()]):
            return said[0]
    return ""


def _tells(column: NDArray[np.float64], truth: NDArray[np.float64]) -> str:
    """How a column tells a target; empty where it does not."""
    both = np.isfinite(column) & np.isfinite(truth)
    column, truth = column[both], truth[both]
    if len(truth) < 30 or truth.std() == 0 or column.std() == 0:
        return ""
    strength = float(np.corrcoef(column, truth)[0, 1])
    if abs(strength) > 0.9999:
        return f"correlation {strength:.5f} with"
    # Of a yes or no, a threshold may tell everything where a correlation is far from 1.
    if len(np.unique(truth)) == 2:
        one, other = column[truth == truth.max()], column[truth == truth.min()]
        if min(len(one), len(other)) >= 10 and (one.min() > other.max() or one.max() < other.min()):
            return "a threshold on it tells without error"
    return ""
