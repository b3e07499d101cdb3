"""BA-2motifs: structure from the specification, and the shortcuts that are closed."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import roc_auc_score

from openfingym.data.graphs import GraphSet, ba_2motifs
from openfingym.errors import DataError


def dense(edges, nodes):
    matrix = np.zeros((nodes, nodes), dtype=int)
    matrix[edges[0], edges[1]] = matrix[edges[1], edges[0]] = 1
    return matrix


def adjacencies(graphs):
    return [dense(graphs.edges_of(i), 25) for i in range(len(graphs.labels))]


@pytest.fixture(scope="module")
def specified():
    return ba_2motifs(1, 400, balance_edges=False, shuffle_nodes=False)


def test_size_and_features():
    graphs = ba_2motifs(0)
    assert len(graphs.labels) == 1000
    assert graphs.labels.mean() == 0.5
    assert graphs.features.shape == (25_000, 10)
    assert set(graphs.features.ravel().tolist()) == {0.1}
    assert graphs.digest == "902d3a464e6a87eb763f399e0b3002d1d2d96595c2c776e4cdbfa3e061faad0b"


def test_the_specified_graphs(specified):
    for label, adjacency in zip(specified.labels, adjacencies(specified), strict=True):
        motif, tree = adjacency[20:, 20:], adjacency[:20, :20]
        degrees = sorted(motif.sum(axis=0).tolist())
        assert degrees == ([2, 2, 2, 3, 3] if label else [2] * 5)
        # A triangle has six closed walks of length three: a house has one, a five-cycle none.
        assert np.trace(np.linalg.matrix_power(motif, 3)) == (6 if label else 0)
        assert connected_components(csr_array(motif))[0] == 1
        assert tree.sum() == 38
        assert connected_components(csr_array(tree))[0] == 1
        assert adjacency[:20, 20:].sum() == 1


def test_attachment_is_preferential(specified):
    """Of a tree grown by degree, node 2 joins node 0 or 1 equally, and node 3 the middle one with probability one
    half."""
    trees = [adjacency[:20, :20] for adjacency in adjacencies(specified)]
    assert np.mean([tree[2, 0] for tree in trees]) == pytest.approx(0.5, abs=0.1)
    middle = [tree[3, int(np.argmax(tree[:3, :3].sum(axis=0)))] for tree in trees]
    assert np.mean(middle) == pytest.approx(0.5, abs=0.1)
    bridges = np.concatenate([np.argwhere(adjacency[:20, 20:]) for adjacency in adjacencies(specified)])
    assert bridges.mean(axis=0) == pytest.approx([9.5, 2.0], abs=1.2)
    assert set(bridges[:, 1].tolist()) == set(range(5))


def test_edge_counts_tell_the_specified_classes_apart_and_the_balanced_ones_not(specified):
    assert roc_auc_score(specified.labels, specified.edge_counts) == 1.0
    assert set(specified.edge_counts.tolist()) == {25, 26}
    balanced = ba_2motifs(1, 400)
    assert set(balanced.edge_counts.tolist()) == {26}
    assert roc_auc_score(balanced.labels, balanced.edge_counts) == 0.5


def test_no_entry_of_the_adjacency_tells_the_classes_apart(specified):
    def best(graphs):
        flat = np.array(adjacencies(graphs)).reshape(len(graphs.labels), -1)
        means = [flat[graphs.labels == label].mean(axis=0) for label in (0, 1)]
        return np.abs(means[0] - means[1]).max()

    assert best(specified) == 1.0
    assert best(ba_2motifs(1, 400)) < 0.25


def test_shuffling_keeps_every_graph():
    plain, shuffled = ba_2motifs(4, 40, shuffle_nodes=False), ba_2motifs(4, 40)
    assert plain.labels.tolist() == shuffled.labels.tolist()
    for one, two in zip(adjacencies(plain), adjacencies(shuffled), strict=True):
        assert np.linalg.eigvalsh(one) == pytest.approx(np.linalg.eigvalsh(two), abs=1e-9)


def test_the_extra_edge_lies_in_the_tree():
    graphs = ba_2motifs(5, 40, shuffle_nodes=False)
    for label, adjacency in zip(graphs.labels, adjacencies(graphs), strict=True):
        assert adjacency[:20, :20].sum() // 2 == (19 if label else 20)


def test_labels_are_in_random_order():
    labels = ba_2motifs(0).labels.astype(float)
    assert abs(np.corrcoef(labels[1:], labels[:-1])[0, 1]) < 0.1
    assert 0.4 < labels[:500].mean() < 0.6


@pytest.mark.parametrize("count", [0, 7, -2])
def test_a_count_that_cannot_balance(count):
    with pytest.raises(DataError, match="even"):
        ba_2motifs(0, count)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": np.array([[0, 1], [1, 2]])}, r"column 1: \(1, 2\) joins graphs 0 and 1"),
        ({"offsets": np.array([0, 2, 3])}, "3 entries from 0 to 4"),
        ({"offsets": np.array([0, 4])}, "expected 3 entries"),
        ({"labels": np.array([0, 1, 1]), "offsets": np.array([0, 2, 2, 4])}, "graph 1 has no nodes"),
        ({"labels": np.array([1, 1])}, "all 2 are 1"),
        ({"labels": np.array([0, 3])}, "graph 1: 3"),
        ({"edges": np.array([[0, 2], [1, 9]])}, "outside 0 .. 3"),
    ],
)
def test_what_makes_no_set(change, words):
    parts = {
        "edges": np.array([[0, 2], [1, 3]]),
        "offsets": np.array([0, 2, 4]),
        "features": np.ones((4, 1)),
        "labels": np.array([0, 1]),
    } | change
    with pytest.raises(DataError, match=words):
        GraphSet(**parts)
