"""Sparse 0/1 features that behave like the words of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.graphs.features import SparseRows
from openfingym.data.processes.draws import geometrics, permutation, uniforms

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class NodeWords:
    """Parameters of word features: how many words a node has, and from which."""

    mean: float
    """Mean number of words drawn for a node, above 1; a word that is drawn again counts once."""
    topic: float = 0.6
    """Probability that a draw comes from the community's topic."""


def topic_words(
    bits: np.random.PCG64, words: NodeWords, community: NDArray[np.int64], communities: int, columns: int
) -> SparseRows:
    """Draw every node's words; a word that is drawn again counts once.

    Words follow Zipf's law, 1 / (rank + 10), in an order of their own in every topic.
    """
    nodes = len(community)
    # 1 + geometric: every node has a word, and the mean is that of the parameters.
    counts = 1 + geometrics(bits, (words.mean - 1.0) / words.mean, nodes).astype(np.int64)
    owner = np.repeat(np.arange(nodes), counts)
    law = np.cumsum(1.0 / (np.arange(columns) + 10.0))
    rank = np.minimum(np.searchsorted(law, uniforms(bits, len(owner)) * law[-1]), columns - 1)
    # An order of the words for each community, and one more for draws that are off topic.
    topics = np.stack([permutation(bits, columns) for _ in range(communities + 1)])
    topic = np.where(uniforms(bits, len(owner)) <= words.topic, community[owner], communities)
    # One number a cell of the matrix; unique sorts them by row and column, and merges repetitions.
    stored = np.unique(owner * columns + topics[topic, rank])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(stored // columns, minlength=nodes))]).astype(np.int64)
    return SparseRows(indptr, (stored % columns).astype(np.int32), np.ones(len(stored)), columns)
