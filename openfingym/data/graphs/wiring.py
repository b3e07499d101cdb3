"""Edges of a degree-corrected block model, drawn without a matrix.

An edge is one number, its key: smaller node x nodes + larger node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.data.processes.draws import permutation, uniforms
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEAVIEST = 60.0
"""Cap on a node's weight, the lightest having 1: beyond it most draws of an edge would repeat one."""
LARGEST = 40
"""Cap on a group's size as drawn, so that no single group decides what a whole graph is like."""
MIDDLING = 20
"""The most edges that a graph gains or loses when one member changes its group."""


@dataclass(frozen=True, eq=False)
class Communities:
    """Nodes by community, and how often each is drawn."""

    of: NDArray[np.int64]
    """Community of each node, int64[n]."""
    weights: NDArray[np.float64]
    """Weight of each node, float64[n]; 0 for one that is never drawn."""

    def among(self, nodes: NDArray[np.int64]) -> Communities:
        """A copy in which only these nodes are ever drawn."""
        weights = np.zeros_like(self.weights)
        weights[nodes] = self.weights[nodes]
        return Communities(self.of, weights)

    def weighing(self, nodes: NDArray[np.int64], factor: float) -> Communities:
        """A copy in which the weights of these nodes are multiplied."""
        weights = self.weights.copy()
        weights[nodes] *= factor
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
    # A ladder of all nodes, community after community, with a step as long as each node's weight: a uniform place on it
    # draws a node by weight, and a uniform place on a community's part of it draws one of that community.
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
        # A few more than are missing, since some draws repeat an edge or join a node to itself.
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
    """The node whose step of the ladder each place falls on; ``fallback`` for a place that rounding puts above it."""
    steps = np.searchsorted(ladder, places, side="left")
    return np.where(steps < len(order), order[np.minimum(steps, len(order) - 1)], fallback)


def clique_keys(groups: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Keys of all edges within each group, int64[groups, size] of different nodes, in no particular order."""
    i, j = np.triu_indices(groups.shape[1], 1)
    a, b = groups[:, i].ravel(), groups[:, j].ravel()
    return np.minimum(a, b) * nodes + np.maximum(a, b)


def group_sizes(bits: np.random.PCG64, nodes: int, edges: int, tail: float) -> NDArray[np.int64]:
    """Sizes of groups of two or more, int64[k], that hold ``nodes`` in all and, as cliques, exactly ``edges``.

    They follow a Pareto law of density exponent ``tail``; members then change groups one by one until the number is
    met.

    Raises:
        DataError: no such groups are found.
    """
    drawn = 2.0 * uniforms(bits, nodes) ** (-1.0 / (tail - 1.0))
    sizes = np.minimum(drawn, LARGEST).astype(np.int64)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), nodes - 1))]
    # The last group takes up what is left, so that the groups hold exactly all nodes.
    sizes[-1] += nodes - sizes.sum()
    for _ in range(nodes):
        missing = edges - int((sizes * (sizes - 1) // 2).sum())
        if missing == 0:
            return sizes[permutation(bits, len(sizes))]
        # A member that goes from a group of three to one of t makes t - 2 edges more; one that goes from t to a pair,
        # t - 3 fewer.
        step, partner = (2, 3) if missing > 0 else (3, 2)
        gain = sizes - step
        # Many groups change a little, rather than the largest much.
        changed = int(np.argmax(np.where(gain <= min(abs(missing), MIDDLING), gain, 0)))
        partners = np.flatnonzero(sizes == partner)
        partners = partners[partners != changed]
        if gain[changed] < 1 or not partners.size:
            break
        sizes[changed] += np.sign(missing)
        sizes[partners[0]] -= np.sign(missing)
    raise DataError(f"no groups of {nodes} nodes with {edges} edges were found; ask for other edges or another tail")
