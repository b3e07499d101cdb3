"""Edges of a degree-corrected block model, drawn without a matrix.

An edge is one number, its key: smaller node x nodes + larger node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAVIEST = 60.0
"""Cap on a node's weight, the lightest having 1: beyond it most draws of an edge would repeat one."""


@dataclass(frozen=True, eq=False)
class Communities:
    """Nodes by community, and how often each is drawn."""

    of: NDArray[np.int64]
    """Community of each node, int64[n]."""
    weights: NDArray[np.float64]
    """Weight of each node, float64[n]; 0 for one that is never drawn."""

    def without(self, nodes: NDArray[np.int64]) -> Communities:
        """A copy from which these nodes are never drawn."""
        weights = self.weights.copy()
        weights[nodes] = 0.0
        return Communities(self.of, weights)


def draw_communities(bits: np.random.PCG64, nodes: int, count: int, tail: float) -> Communities:
    """Communities of sizes in proportion to 1 / sqrt(rank), and Pareto weights of density exponent ``tail``."""
    sizes = np.cumsum(1.0 / np.sqrt(np.arange(1, count + 1)))
    of = np.searchsorted(sizes, uniforms(bits, nodes) * sizes[-1]).astype(np.int64)
    weights = np.minimum(uniforms(bits, nodes) ** (-1.0 / (tail - 1.0)), HEAVIEST)
    return Communities(of, weights)


def sample_edges(
    bits: np.random.PCG64, communities: Communities, mixing: float, total: int, existing: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add edges to ``existing`` until there are ``total``; int64[total] of keys, the existing first.

    Raises:
        DataError: so many different edges do not turn up.
    """
    nodes = len(communities.of)
    order = np.argsort(communities.of, kind="stable")
    ladder = np.cumsum(communities.weights[order])
    last = np.searchsorted(communities.of[order], np.arange(communities.of.max() + 1), side="right") - 1
    upper = ladder[last][communities.of]
    lower = np.concatenate([[0.0], ladder[last][:-1]])[communities.of]
    heaviest = int(order[communities.weights[order] > 0.0][-1])
    keys = existing
    for _ in range(100):
        missing = total - len(keys)
        if missing <= 0:
            return keys[:total]
        count = missing + missing // 4 + 64
        tails = _pick(ladder, order, uniforms(bits, count) * ladder[-1], heaviest)
        anywhere = uniforms(bits, count) <= mixing
        places = uniforms(bits, count)
        reach = np.where(anywhere, places * ladder[-1], lower[tails] + places * (upper[tails] - lower[tails]))
        heads = _pick(ladder, order, reach, heaviest)
        new = np.minimum(tails, heads) * nodes + np.maximum(tails, heads)
        joined = np.concatenate([keys, new[tails != heads]])
        # In the order of drawing, so that cutting at the total favours no node.
        keys = joined[np.sort(np.unique(joined, return_index=True)[1])]
    raise DataError(f"only {len(keys)} different edges of {total} turned up; ask for fewer, or for more nodes")


def _pick(
    ladder: NDArray[np.float64], order: NDArray[np.int64], places: NDArray[np.float64], fallback: int
) -> NDArray[np.int64]:
    """The node whose step of the ladder each place falls on."""
    steps = np.searchsorted(ladder, places, side="left")
    return np.where(steps < len(order), order[np.minimum(steps, len(order) - 1)], fallback)


def without_excess(
    bits: np.random.PCG64, keys: NDArray[np.int64], members: NDArray[np.int64], excess: int, nodes: int
) -> NDArray[np.int64]:
    """Drop up to ``excess`` random edges of every member, and return the keys that stay, int64[k]."""
    ends = np.stack([keys // nodes, keys % nodes])
    is_member = np.zeros(nodes, dtype=bool)
    is_member[members] = True
    side, edge = np.nonzero(is_member[ends])
    owner = ends[side, edge]
    luck = bits.random_raw(len(keys))[edge]
    by_owner = np.lexsort((luck, owner))
    sorted_owner = owner[by_owner]
    rank = np.arange(len(owner)) - np.searchsorted(sorted_owner, sorted_owner, side="left")
    drop = np.zeros(len(keys), dtype=bool)
    drop[edge[by_owner[rank < excess]]] = True
    return keys[~drop]
