"""The split of labels: those that an agent sees, those behind the public fold, and those behind the private one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import permutation, stream
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LabelSplit:
    """Three disjoint sets of nodes (or graphs) that cover all; each int64, increasing, read-only."""

    train: NDArray[np.int64]
    """Items whose labels an agent sees."""
    public: NDArray[np.int64]
    """Items of the public fold, on which feedback is given."""
    private: NDArray[np.int64]
    """Items of the private fold, which scores."""


def stratified_split(labels: NDArray[np.int8], seed: int, train: float = 0.4, public: float = 0.2) -> LabelSplit:
    """Split at random, class by class, so that every part keeps the anomaly rate to within one of each class.

    The edges of a graph stay whole: an agent sees the graph and all features, and the labels of ``train`` only.

    Args:
        labels: int8[n], the label of each item, 0 or 1.
        seed: seed of the draws, not negative.
        train: fraction of the items whose labels an agent sees.
        public: fraction of the items in the public fold; the private one is the rest.

    Raises:
        DataError: the fractions do not leave three parts, or a part would lack a class.
    """
    if not (train > 0.0 and public > 0.0 and train + public < 1.0):
        raise DataError(f"train and public must be positive and add up to less than 1, found {train} and {public}")
    parts: list[list[NDArray[np.int64]]] = [[], [], []]
    for kind in (0, 1):
        members = np.flatnonzero(np.asarray(labels) == kind)
        # A stream for each class, so that the draw of one does not depend on the size of the other.
        shuffled = members[permutation(stream(seed, kind), len(members))]
        cuts = [round(train * len(members)), round((train + public) * len(members))]
        for part, piece in zip(parts, np.split(shuffled, cuts), strict=True):
            if not piece.size:
                raise DataError(f"{len(members)} labels are {kind}: too few for every part of the split to have one")
            part.append(piece)
    return LabelSplit(*(_frozen(np.sort(np.concatenate(part))) for part in parts))


def visible_labels(labels: NDArray[np.int8], split: LabelSplit) -> NDArray[np.int8]:
    """The labels that an agent may see, int8[n]: those of ``split.train``, and -1 everywhere else."""
    seen = np.full(len(labels), -1, dtype=np.int8)
    seen[split.train] = labels[split.train]
    seen.flags.writeable = False
    return seen


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array.flags.writeable = False
    return array
