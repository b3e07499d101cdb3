"""Warnings about answers that are admissible but hardly meant: wrong units, constants, the same answer for
every window.

None of these is refused, because any of them may be right; but whoever sent the answer is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from openfingym.kinds import kind_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from openfingym.kinds.material import Reader
    from openfingym.packages.package import BuiltPackage
    from openfingym.task.contracts import Contract

FACTOR = 20.0
"""How many times larger or smaller than a typical training target a typical prediction must be to look as if it were in
another unit; percent in place of decimals makes 100."""
SAMPLE = 5_000
"""Number of training items, evenly spread, from which the size of a typical target is taken."""
REPEATED = 0.1
"""Share of generated windows that may repeat another one before a remark is made."""


def warnings_for(package: BuiltPackage, submission: NDArray[np.float64]) -> tuple[str, ...]:
    """Warnings about an admissible submission that is hardly meant, one sentence each.

    Args:
        package: the built package of the task, of which only the public half is read.
        submission: the submission, float64 of the task's submission shape, finite and in range.
    """
    contract = package.task.spec.contract
    return remarks(contract, package.manifest.labels, typical_sizes(contract, package.array), submission)


def typical_sizes(contract: Contract, read: Reader) -> NDArray[np.float64] | None:
    """Quantiles of the absolute training targets of each label.

    Args:
        contract: the contract of the task.
        read: reads a public array of the task, given its name.

    Returns:
        The 1 %, 50 % and 99 % quantile, float64[3, labels]; None where an answer is no forecast.
    """
    targets = kind_named(contract).known_targets(contract, read)
    if targets is None:
        return None
    sample = np.asarray(targets[:: max(len(targets) // SAMPLE, 1)], dtype=np.float64)
    return np.asarray(
        np.quantile(np.abs(sample.reshape(-1, sample.shape[-1])), (0.01, 0.5, 0.99), axis=0), dtype=np.float64
    )


def remarks(
    contract: Contract, labels: Sequence[str], sizes: NDArray[np.float64] | None, submission: NDArray[np.float64]
) -> tuple[str, ...]:
    """Remarks on a submission, like :func:`warnings_for`, without reading the package again.

    Args:
        contract: the contract of the task.
        labels: names along the last axis of a submission.
        sizes: typical sizes of the targets, from :func:`typical_sizes`; None where an answer is no forecast.
        submission: the submission, float64 of the task's submission shape.
    """
    kind = kind_named(contract)
    # A record of what an agent did is written by the verifier, and has nothing that could be meant otherwise.
    if kind.is_record:
        return ()
    # A constant answer is identical for all windows too; one remark is enough.
    sameness = _constant(labels, submission) or (_repeated if kind.drawn else _identical)(submission)
    return tuple(remark for remark in (_units(contract, labels, sizes, submission), sameness) if remark)


def _columns(labels: Sequence[str], submission: NDArray[np.float64]) -> NDArray[np.float64]:
    """The submission as float64[rows, labels]."""
    return submission.reshape(-1, len(labels))


def _units(
    contract: Contract, labels: Sequence[str], sizes: NDArray[np.float64] | None, submission: NDArray[np.float64]
) -> str | None:
    """A remark where typical predictions of a label are far larger or smaller than its typical training targets."""
    if sizes is None:
        return None
    # Medians, which a few far values do not move.
    own = np.median(np.abs(_columns(labels, submission)), axis=0)
    lowest, typical, highest = sizes
    known = (typical > 0.0) & (own > 0.0)
    # Beyond the bulk of training as well: rates near zero are typical of one decade and not of the next.
    large = known & (own > FACTOR * typical) & (own > highest)
    small = known & (own * FACTOR < typical) & (own < lowest)
    # The best forecast of a return is far smaller than a return; of a level it is not, and samples must be as large as
    # what they imitate.
    shrinks = not kind_named(contract).drawn and getattr(contract, "value_semantics", None) in {"log_return", "mixed"}
    wrong = large if shrinks else large | small
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    ratio = float(own[at] / typical[at])
    times = f"{ratio:.3g} times" if ratio > 1.0 else f"1/{1.0 / ratio:.3g} of"
    others = f", and {int(wrong.sum()) - 1} more like it" if wrong.sum() > 1 else ""
    return (
        f"units: a typical prediction of {labels[at]} is {own[at]:.3g}, {times} a typical training target "
        f"({typical[at]:.3g}){others}; "
        f"expected {contract.unit}. Percent for decimals?"
    )


def _constant(labels: Sequence[str], submission: NDArray[np.float64]) -> str | None:
    """A remark where all predictions of a label, or of all labels, are the same number."""
    columns = _columns(labels, submission)
    same = (columns == columns[0]).all(axis=0)
    if len(columns) < 2 or not same.any():
        return None
    at = int(same.argmax())
    if same.all() and (columns[0] == columns[0, 0]).all():
        return f"constant: all {submission.size} predictions are {columns[0, 0]:g}"
    others = f", and {int(same.sum()) - 1} more like it" if same.sum() > 1 else ""
    return f"constant: every prediction of {labels[at]} is {columns[0, at]:g}{others}"


def _identical(submission: NDArray[np.float64]) -> str | None:
    """A remark where the answer is the same for all windows."""
    if submission.ndim < 3 or submission.shape[0] < 2 or not (submission == submission[0]).all():
        return None
    return f"identical: the answer is the same for all {len(submission)} windows"


def _repeated(submission: NDArray[np.float64]) -> str | None:
    """A remark where many generated windows repeat another one."""
    if submission.ndim < 3 or submission.shape[0] < 2:
        return None
    windows = submission.reshape(-1, submission.shape[-2] * submission.shape[-1])
    repeated = len(windows) - len(np.unique(windows, axis=0))
    return (
        f"identical: {repeated} of {len(windows)} windows repeat another one"
        if repeated > REPEATED * len(windows)
        else None
    )
