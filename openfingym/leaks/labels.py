"""Searching for hidden labels, 0 or 1 each, which have no values to recognise, only an order and the nodes they are of.

What is looked for are stretches of the label vector in the order of the hidden nodes; lists of nodes that are all
anomalies, or all normal; and numbers, one for each node, that tell anomalies from the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRETCH_BITS = 80.0
"""Bits that a stretch of labels must tell: a place matches with probability 2^-80, a file of a terabyte with 1e-11."""
STRETCHES = 16
"""Most stretches of the label vector. A part of the vector that is as long as two of them contains a whole one."""
SEPARATION = 0.995
"""AUROC, or one minus it, from which on a public number is taken for the label."""
CHANCE = 1e-9
"""Largest probability that a search of an honest package reports it."""
COLUMNS = 1 << 20
"""Number of columns among which ``CHANCE`` is shared out."""
_BLOCK = 1 << 22
"""Numbers or bytes that are searched at a time."""
_COLUMN_BYTES = 32 << 20
"""Bytes of the columns that are ranked at a time."""
_WIDE = ("<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "<f4", ">f4", "<f8", ">f8")
"""NumPy types, wider than a byte, in which labels may be written."""


@dataclass(frozen=True, eq=False)
class Labels:
    """The hidden labels of a task."""

    name: str
    """Name of the hidden array."""
    values: NDArray[np.uint8]
    """The labels, uint8[n], 0 or 1."""
    ids: NDArray[np.int64] | None
    """Number of the node of each label, int64[n]; None if items have no number of their own."""

    @cached_property
    def stretches(self) -> tuple[slice, ...]:
        """Parts of the label vector that tell about ``STRETCH_BITS`` each."""
        rate = float(self.values.mean())
        if not 0.0 < rate < 1.0:
            return ()
        told = -(np.log2(rate) * self.values + np.log2(1.0 - rate) * (1 - self.values))
        count = min(STRETCHES, int(told.sum() // STRETCH_BITS))
        bounds = np.linspace(0, len(told), count + 1).round().astype(int)
        parts = [slice(int(a), int(b)) for a, b in pairwise(bounds)]
        return tuple(part for part in parts if told[part].sum() >= 0.8 * STRETCH_BITS)

    @cached_property
    def fewest(self) -> int:
        """How many numbers give the labels away at the least: a stretch of labels, or half of the nodes of a class."""
        lengths = [part.stop - part.start for part in self.stretches]
        if self.ids is not None:
            anomalies = int(self.values.sum())
            lengths.append((min(anomalies, len(self.values) - anomalies) + 1) // 2)
        return min(lengths, default=len(self.values))

    @cached_property
    def by_node(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The order in which the labels have ascending node numbers, and those numbers; int64[n] each."""
        if self.ids is None:
            raise ValueError(f"{self.name}: items have no number of their own")
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]

    @cached_property
    def separable(self) -> bool:
        """Whether chance would hardly separate the classes perfectly in any of ``COLUMNS`` columns."""
        n, anomalies = len(self.values), int(self.values.sum())
        return 0 < anomalies < n and _log_choose(n, anomalies) > math.log(2.0 * COLUMNS / CHANCE)


def is_labels(array: NDArray[np.generic]) -> bool:
    """Whether a hidden array holds labels: one axis, and nothing but 0 and 1."""
    return array.ndim == 1 and array.dtype.kind in "fiub" and array.size > 0 and bool(np.isin(array, (0, 1)).all())


def search_label_numbers(array: NDArray[Any], labels: Labels, *, text: bool = False) -> str | None:
    """Say how an array of numbers gives the labels away; None if it does not.

    Args:
        array: a public array of numbers.
        labels: the hidden labels to look for.
        text: whether the numbers are from a text, in which a table may have lost its rows.
    """
    if array.size < labels.fewest:
        return None
    # Blocks overlap by the length of the label vector, so that none is cut in two.
    for start in range(0, array.size, _BLOCK):
        block = np.asarray(array.reshape(-1)[start : start + _BLOCK + len(labels.values)])
        found = _in_order(block, labels) or _node_list(block, labels)
        if found:
            return found
    table = array.reshape(len(array), -1)
    if 1 < table.shape[1] <= 64:
        for column in range(table.shape[1]):
            found = _in_order(table[:, column], labels) or _node_list(table[:, column], labels)
            if found:
                return f"column {column}, {found}"
    views = [table, *([_pairs(table.reshape(-1), skip) for skip in (0, 1)] if text and table.shape[1] == 1 else [])]
    for view in views:
        found = (
            _keyed(view, labels)
            or _separating(view, labels)
            or (_separating(view.T, labels) if view.shape[1] > 1 else None)
        )
        if found:
            return found
    return None


def search_label_bytes(raw: memoryview, labels: Labels) -> str | None:
    """Say how bytes hold the labels in order (as digits, bytes, words of any width or bits); None if they do not."""
    patterns = list(_patterns(labels))
    longest = max((len(pattern) for _, pattern in patterns), default=1)
    for start in range(0, len(raw), _BLOCK):
        piece = bytes(raw[start : start + _BLOCK + longest])
        for encoding, pattern in patterns:
            if pattern in piece:
                return f"labels in order, as {encoding}"
    return None


def _patterns(labels: Labels) -> Iterator[tuple[str, bytes]]:
    """Encoding and bytes of each stretch of the labels, as they are and inverted."""
    for inverted in (False, True):
        whole = 1 - labels.values if inverted else labels.values
        sense = ", inverted" * inverted
        for part in labels.stretches:
            values = whole[part]
            yield f"bytes{sense}", values.tobytes()
            yield f"digits{sense}", (values + ord("0")).astype(np.uint8).tobytes()
            for dtype in _WIDE:
                yield f"{dtype}{sense}", values.astype(dtype).tobytes()
        for order in ("big", "little"):
            for part in labels.stretches:
                # The whole vector is packed from its first label on: of a stretch, only its whole bytes are known.
                begin, end = -(-part.start // 8), part.stop // 8
                packed = np.packbits(whole, bitorder=order)[begin:end].tobytes()
                if len(packed) >= 8:
                    yield f"bits{sense}", packed


def _in_order(numbers: NDArray[Any], labels: Labels) -> str | None:
    """Say which stretch of the labels is among numbers, as 0 and 1 or as -1 and 1, or inverted; None if none is."""
    if not labels.stretches or numbers.size < min(part.stop - part.start for part in labels.stretches):
        return None
    # A byte for each number, 2 for any other value, so that a stretch is found by a search for bytes.
    codes = np.full(numbers.shape, 2, dtype=np.uint8)
    codes[(numbers == 0) | (numbers == -1)] = 0
    codes[numbers == 1] = 1
    text = codes.tobytes()
    for part in labels.stretches:
        if labels.values[part].tobytes() in text or (1 - labels.values[part]).tobytes() in text:
            return f"the labels of hidden rows {part.start} to {part.stop - 1} in order"
    return None


def _node_list(numbers: NDArray[Any], labels: Labels) -> str | None:
    """Say whether numbers list half of the hidden anomalies and no other hidden node in between, or half of the normal
    nodes; None if they do not.
    """
    if labels.ids is None or not len(numbers):
        return None
    order, known = labels.by_node
    place = np.searchsorted(known, numbers).clip(max=len(known) - 1)
    member = known[place] == numbers
    which = order[place[member]]
    if not len(which):
        return None
    # Classes of the hidden nodes that the numbers name, in their order; numbers of other nodes are passed over.
    classes = labels.values[which]
    for wanted, name in ((1, "anomalies"), (0, "normal")):
        size = int(np.count_nonzero(labels.values == wanted))
        breaks = np.flatnonzero(classes != wanted)
        begins, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(which)]])
        for begin, end in zip(begins, ends, strict=True):
            if 2 * (end - begin) < size:
                continue
            distinct = len(np.unique(which[begin:end]))
            if 2 * distinct >= size and _unlikely(distinct, size, len(labels.values), len(numbers)):
                return f"a list of {distinct} hidden nodes, all {name}"
    return None


def _unlikely(distinct: int, size: int, total: int, places: int) -> bool:
    """Whether chance hardly explains that a run of a list holds nodes of one class only.

    Args:
        distinct: number of different nodes in the run.
        size: number of hidden nodes of the class.
        total: number of all hidden nodes.
        places: number of places at which the run could be.
    """
    log_chance = _log_choose(size, distinct) - _log_choose(total, distinct)
    return log_chance + math.log(places) < math.log(CHANCE)


def _pairs(flat: NDArray[Any], skip: int) -> NDArray[Any]:
    """Numbers as a table of two columns, from the one after ``skip`` numbers on."""
    return flat[skip : skip + (len(flat) - skip) // 2 * 2].reshape(-1, 2)


def _keyed(table: NDArray[Any], labels: Labels) -> str | None:
    """Say whether a table has node numbers in one column and another one that separates the classes; None if not."""
    if labels.ids is None or not 1 < table.shape[1] <= 64 or 2 * len(table) < len(labels.ids):
        return None
    order, known = labels.by_node
    for key in range(table.shape[1]):
        column = np.asarray(table[:, key])
        place = np.searchsorted(known, column).clip(max=len(known) - 1)
        member = known[place] == column
        nodes, first = np.unique(order[place[member]], return_index=True)
        # Half of the hidden nodes, hardly any of them twice: else the column holds something other than node numbers.
        if 2 * len(nodes) < len(labels.ids) or len(nodes) < 0.9 * np.count_nonzero(member):
            continue
        part = Labels(labels.name, labels.values[nodes], None)
        others = np.delete(np.asarray(table)[member][first], key, axis=1)
        found = _columns_separate(others, part)
        if found:
            return f"{found}, by the node numbers in column {key}"
    return None


def _separating(table: NDArray[Any], labels: Labels) -> str | None:
    """Say which column of a table with a row a label, or a row a node, separates the classes; None if none does."""
    if len(table) == len(labels.values):
        found = _columns_separate(table, labels)
        if found:
            return found
    if labels.ids is not None and len(table) > int(labels.ids.max()):
        return _columns_separate(table, labels, labels.ids)
    return None


def _columns_separate(table: NDArray[Any], labels: Labels, rows: NDArray[np.int64] | None = None) -> str | None:
    """Say which column of a table separates the classes; None if none does.

    Args:
        table: public numbers, with a row for each label or for each node.
        labels: the hidden labels to look for.
        rows: row of the table for each label; None if the rows are those of the labels.
    """
    if not labels.separable:
        return None
    width = max(1, _COLUMN_BYTES // (8 * len(labels.values)))
    for start in range(0, table.shape[1], width):
        part = table[:, start : start + width]
        part = np.asarray(part if rows is None else part[rows], dtype=np.float64)
        score = auroc_columns(part, labels.values)
        best = int(np.argmax(np.abs(score - 0.5)))
        if abs(score[best] - 0.5) >= SEPARATION - 0.5:
            return f"column {start + best} separates the hidden classes (AUROC {score[best]:.4f})"
    return None


def auroc_columns(values: NDArray[np.float64], labels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """AUROC of each column of float64[n, f] as a score of the labels, with ties counted half; float64[f]."""
    from scipy.stats import rankdata

    ranks = rankdata(np.nan_to_num(values), axis=0)
    anomalies = int(labels.sum())
    # The statistic of Mann and Whitney, over its largest value.
    total = ranks[labels == 1].sum(axis=0)
    score: NDArray[np.float64] = (total - anomalies * (anomalies + 1) / 2) / (anomalies * (len(labels) - anomalies))
    return score


def node_numbers(labels: Labels) -> str | None:
    """Say whether the numbers of nodes, or the order of the hidden rows, separate the classes; None if they do not."""
    rows = np.arange(len(labels.values))
    table = np.column_stack([rows, rows if labels.ids is None else labels.ids]).astype(np.float64)
    found = _columns_separate(table, labels)
    return None if found is None else f"the order of {labels.name}: {found}; shuffle the rows"


def _log_choose(n: int, k: int) -> float:
    """The natural logarithm of the number of ways to choose ``k`` of ``n``."""
    if not 0 <= k <= n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
