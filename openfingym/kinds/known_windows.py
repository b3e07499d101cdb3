"""Hidden windows that rest on values which an author's file did not have, and which were filled in: nobody knows the
truth of them, and they are left out.

Instances are cut from training rows, and hide some of them. So a package says which values of its training rows rest on
filled cells, and of none of its hidden ones: an agent that knew where hidden rows have no value would know when a
symbol stops trading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import TaskError

if TYPE_CHECKING:
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


def training_facts(
    cells: NDArray[np.bool_] | None, starts: NDArray[np.int64], length: int, lead: int = 0
) -> dict[str, list[list[int]]]:
    """What ``contract.json`` says of the values of training rows that rest on filled cells; nothing where none does.

    Args:
        cells: bool[rows, columns], True for such values of all rows; None for none.
        starts: first input row of each training window.
        length: rows of a window.
        lead: rows before the first window's inputs that are counted too.

    Returns:
        ``filled``: a column with the first and last row of a run, rows counted from ``lead`` before the first window.
    """
    if cells is None:
        return {}
    shown = cells[starts[0] - lead : starts[-1] + length]
    runs = []
    for column, known in enumerate(shown.T):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], known.astype(np.int8), [0]]))).tolist()
        runs += [[column, first, end - 1] for first, end in zip(edges[::2], edges[1::2], strict=True)]
    return {"filled": runs} if runs else {}


def training_cells(facts: Mapping[str, Any], rows: int, columns: int) -> NDArray[np.bool_] | None:
    """The values of training rows that rest on filled cells, bool[rows, columns]; None where there is none.

    Args:
        facts: content of ``contract.json``; see :func:`training_facts`.
        rows: number of rows.
        columns: number of columns.
    """
    if not facts.get("filled"):
        return None
    cells = np.zeros((rows, columns), dtype=np.bool_)
    for column, first, last in facts["filled"]:
        cells[first : last + 1, column] = True
    return cells
