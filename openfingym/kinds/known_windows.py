"""Hidden windows that rest on values which an author's file did not have, and which were filled in: nobody knows the
truth of them, and they are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.errors import TaskError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.task import Task


def left_of(
    task: Task, kept: NDArray[np.bool_], counts: tuple[int, int], reason: str
) -> tuple[tuple[int, int], tuple[str, ...]]:
    """How many hidden windows of both folds are left, and what was left out as sentences.

    Args:
        task: the task, for messages.
        kept: bool[windows], True for those that stay; the public fold first.
        counts: windows of the public and of the private fold before.
        reason: why the others go, as a clause about them.

    Raises:
        TaskError: a fold has no window left.
    """
    left = (int(kept[: counts[0]].sum()), int(kept[counts[0] :].sum()))
    if not all(left):
        raise TaskError(
            f"of {counts[0]} public and {counts[1]} private windows {left[0]} and {left[1]} are left without those "
            f"{reason}, which cannot be scored; leave out the column with most gaps, or give --fill drop",
            path=task.config_path,
            key="dataset.prepared",
        )
    gone = len(kept) - sum(left)
    said = f"{gone} hidden windows left out {reason}: {left[0]} public and {left[1]} private ones are left"
    return left, (said,) if gone else ()
