"""Columns that hold what was not known at their row's time, and inputs that are the answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from openfingym.forge.data.matching import texts
from openfingym.forge.data.names import canonical, matched
from openfingym.forge.stage import RejectionReason

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym.forge.blueprint import Blueprint

SURE: Final = 0.995
"""Correlation of changes that no honest input has with what is still to come."""
_AHEAD: Final = re.compile(
    r"(^|[_\s])(next|future|fut|lead\d*|fwd|tomorrow|ahead|t\+\d+|shift_?-\d+)([_\s\d]|$)", re.IGNORECASE
)
_LONGEST: Final = 30
_LAGS: Final = 5
_LATEST: Final = 2000
"""Rows, the last ones, that a regression is made of."""
TOLD: Final = 0.98
"""Share of what a target's own past leaves open of its later values that no honest input tells."""
SAME: Final = 1 - 1e-7
"""Correlation of levels and of changes from which two columns are one."""
_PAST: Final = re.compile(r"(^|[_\s])(prev(ious)?|lag(ged)?\d*|last|yesterday|shift_?\d+)([_\s\d]|$)", re.IGNORECASE)
_GIVEN: Final = re.compile(
    r"\bthe targets? (?:itself|themselves)\b|\b(?:values?|returns?|levels?|rates?|prices?|targets?) (?:of|in|for) the "
    r"(?:same|target|forecast|predicted) (?:hour|day|week|month|period|row|step)s?\b"
)
_EARLIER: Final = re.compile(r"[^.;]{0,30}\b(?:earlier|before|ago|(?:previous|prior|preceding|last|past) \w+)\b")
_EARLIER_THAN: Final = re.compile(r"\b(?:previous|prior|preceding|last|past) \w+?(?:'s|\u2019s|s')? $")


def look_ahead(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    """Columns that are named for, or move with, a later value of a target."""
    looked_at, targets = _checked(frame, blueprint)
    named = [name for name in map(str, frame.columns) if _AHEAD.search(name) and name not in targets]
    found = [
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
                found.append(RejectionReason("target-as-feature", f"{name}: it is {target}, perhaps in another unit"))
                break
            if told := _ahead_of(column, truth, most) or _explained(column, truth, most):
                found.append(RejectionReason("look-ahead-column", f"{name}: {told} of {target}"))
                break
    return found


def _targets(frame: pd.DataFrame, blueprint: Blueprint) -> list[str]:
    columns = {canonical(str(name)): str(name) for name in frame.columns}
    wanted = texts(blueprint.value("data.target"))
    return [columns[canonical(name)] for name in wanted if canonical(name) in columns]


def _checked(frame: pd.DataFrame, blueprint: Blueprint) -> tuple[list[str], list[str]]:
    """Columns that are looked at, and those whose later values they may hold: the targets, or else the series that the
    blueprint names.
    """
    names, targets = list(map(str, frame.columns)), _targets(frame, blueprint)
    if targets:
        return names, targets
    series = list(matched(texts(blueprint.value("data.series")), names).values())
    return names if series else [], series


def _follows(column: str, target: str) -> bool:
    """Whether a column is honestly ahead: the close of a bar, of the open of the next, which begins where it ended; or
    a series, of what is named for its past.
    """
    return (column.lower().endswith("close") and target.lower().endswith("open")) or bool(_PAST.search(target))


def _of_bars(*names: str) -> bool:
    """Whether they are parts of bars, which are equal where nothing was traded or paid out."""
    return all(re.search(r"(open|high|low|close|vwap)$", name, re.IGNORECASE) for name in names)


def _is_same(column: NDArray[np.float64], target: NDArray[np.float64]) -> bool:
    """Whether a column is another, or is it in another unit."""
    both = np.isfinite(column) & np.isfinite(target)
    ours, theirs = column[both], target[both]
    if len(theirs) < 30 or min(np.count_nonzero(np.diff(one)) for one in (ours, theirs)) < 20:
        return False
    return float(np.corrcoef(ours, theirs)[0, 1]) > SAME < _correlation(np.diff(ours), np.diff(theirs))


def _explained(column: NDArray[np.float64], target: NDArray[np.float64], most: int) -> str:
    """How much better a column's last rows and the target's tell the target's later values, or their means, than the
    target's alone, as where a mean is stamped at its middle; empty where it is not nearly all.
    """
    at = np.arange(_LAGS, len(target) - most)[-_LATEST:]
    if len(at) < 100 or min(np.count_nonzero(np.diff(one)) for one in (column, target)) < 20:
        return ""
    for truth in (target, np.log(target)) if (target > 0).all() else (target,):
        later = np.column_stack([truth[at + step] for step in range(1, most + 1)])
        means = np.cumsum(later, axis=1) / np.arange(1, most + 1)
        wanted = np.hstack([later, means]) - truth[at][:, None]
        own = np.column_stack([truth[at - lag] for lag in range(_LAGS + 1)])
        whole = np.hstack([own, np.column_stack([column[at - lag] for lag in range(_LAGS)])])
        finite = np.isfinite(np.hstack([wanted, whole])).all(axis=1)
        if finite.sum() < 100:
            continue
        left, open_ = (_unexplained(given[finite], wanted[finite]) for given in (whole, own))
        # What its own past tells whole is open to nobody.
        is_open = open_ > 1e-9 * wanted[finite].var(axis=0)
        share = np.where(is_open, 1.0 - left / np.where(is_open, open_, 1.0), 0.0)
        best = int(share.argmax())
        if share[best] >= TOLD:
            what = "the value" if best < most else "the mean"
            return f"it tells {share[best]:.1%} of what is open of {what} {best % most + 1} rows later"
    return ""


def _unexplained(given: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of each column that a regression leaves."""
    width = given.std(axis=0)
    scaled = np.column_stack([np.ones(len(given)), (given - given.mean(axis=0)) / np.where(width > 0, width, 1.0)])
    fitted = scaled @ np.linalg.lstsq(scaled, wanted, rcond=None)[0]
    left: NDArray[np.float64] = (wanted - fitted).var(axis=0)
    return left


def _ahead_of(column: NDArray[np.float64], target: NDArray[np.float64], most: int) -> str:
    """How a column moves with later values of a target; empty where it does not."""
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
            if abs(strength) >= SURE and abs(strength) > abs(now) + 1e-6:
                return f"correlation {strength:.4f} with {what} {step} rows later"
    return ""


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    both = np.isfinite(one) & np.isfinite(other)
    # Few moves, as of a policy rate, correlate by luck.
    if both.sum() < 30 or np.count_nonzero(one[both]) < 20 or np.count_nonzero(other[both]) < 20:
        return 0.0
    left, right = one[both], other[both]
    if left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def target_given_away(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    """Inputs that are the target: by name in rows without a time, by value wherever the target is no series of its own
    past.
    """
    targets = texts(blueprint.value("data.target"))
    features = texts(blueprint.value("data.features"))
    stated = blueprint.fields.get("data.features")
    quotations = tuple(stated.quotations) if stated is not None else ()
    said = _given(". ".join([*features, *(one.quote for one in quotations)]).lower())
    if said:
        return [RejectionReason("target-as-feature", f"the inputs have {said!r}, which is the target", quotations)]
    # A series' own past is an honest input; a label of a row has none.
    past = bool(np.issubdtype(frame.index.to_numpy().dtype, np.datetime64)) and blueprint.value("family") != "fraud"
    if past or not targets:
        return []
    same = {canonical(name) for name in targets} & {canonical(name) for name in features}
    found = [
        RejectionReason("target-as-feature", f"{name} is the target and among the inputs", quotations)
        for name in sorted(same)
    ]
    columns = {canonical(str(name)): str(name) for name in frame.columns}
    inputs = [name for key, name in columns.items() if key not in {canonical(one) for one in targets}]
    for target in targets:
        name = columns.get(canonical(target))
        if name is None:
            continue
        truth = frame[name].to_numpy(float)
        told = ((other, _tells(frame[other].to_numpy(float), truth)) for other in inputs)
        found += [RejectionReason("target-as-feature", f"{other}: {why} {name}") for other, why in told if why]
    return found


def _given(text: str) -> str:
    """Words that put the target's own row among the inputs, or empty; of the same week a year earlier they do not."""
    for said in _GIVEN.finditer(text):
        if not _EARLIER.match(text, said.end()) and not _EARLIER_THAN.search(text[: said.start()]):
            return said[0]
    return ""


def _tells(column: NDArray[np.float64], truth: NDArray[np.float64]) -> str:
    both = np.isfinite(column) & np.isfinite(truth)
    column, truth = column[both], truth[both]
    if len(truth) < 30 or truth.std() == 0 or column.std() == 0:
        return ""
    strength = float(np.corrcoef(column, truth)[0, 1])
    if abs(strength) > 0.9999:
        return f"correlation {strength:.5f} with"
    if len(np.unique(truth)) == 2:
        one, other = column[truth == truth.max()], column[truth == truth.min()]
        if min(len(one), len(other)) >= 10 and (one.min() > other.max() or one.max() < other.min()):
            return "a threshold on it tells without error"
    return ""
