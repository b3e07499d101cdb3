"""Graphs that are refused, with the position, and graphs that come back from files unchanged."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from openfingym.data.graphs import (
    Graph,
    GraphSet,
    SparseRows,
    ba_2motifs,
    graph_arrays,
    graph_from_arrays,
    read_graph,
    undirected,
    write_graph,
)
from openfingym.errors import DataError

EDGES = np.array([[0, 0, 1, 2], [1, 3, 2, 3]])
DENSE = np.arange(8.0).reshape(4, 2)
LABELS = np.array([0, 1, 0, 0])


def sparse(rows=4, columns=6, seed=0):
    matrix = random_array((rows, columns), density=0.4, format="csr", rng=np.random.default_rng(seed))
    matrix.sort_indices()
    return SparseRows(matrix.indptr, matrix.indices, matrix.data, columns), matrix.toarray()


def test_a_graph():
    graph = Graph(EDGES, DENSE, LABELS)
    assert (graph.nodes, graph.edge_count, graph.anomaly_rate) == (4, 4, 0.25)
    assert graph.degrees.tolist() == [2, 2, 2, 2]
    for array in (graph.edges, graph.features, graph.labels):
        assert not array.flags.writeable
    assert (graph.edges.dtype, graph.features.dtype, graph.labels.dtype) == (np.int64, np.float64, np.int8)


def test_the_callers_arrays_stay_theirs():
    edges, features = EDGES.copy(), DENSE.copy()
    graph = Graph(edges, features, LABELS)
    edges[0, 0], features[0, 0] = 3, 99.0
    assert graph.edges[0, 0] == 0
    assert graph.features[0, 0] == 0.0


def test_adjacency_is_that_of_scipy():
    rng = np.random.default_rng(1)
    edges = undirected(rng.integers(0, 40, (2, 200)), 40)
    edges = edges[:, edges[0] != edges[1]]
    graph = Graph(edges, np.ones((40, 1)), np.arange(40) % 2)
    expected = csr_array((np.ones(edges.shape[1]), edges), shape=(40, 40))
    expected = (expected + expected.T).tocsr()
    expected.sort_indices()
    indptr, neighbours = graph.adjacency
    assert indptr.tolist() == expected.indptr.tolist()
    assert neighbours.tolist() == expected.indices.tolist()
    assert graph.degrees.tolist() == np.diff(expected.indptr).tolist()


def test_undirected_merges_and_sorts():
    given = np.array([[3, 0, 1, 1, 2], [0, 3, 2, 2, 3]])
    assert undirected(given, 4).tolist() == [[0, 1, 2], [3, 2, 3]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": [[0, 1], [1, 4]]}, r"column 1: \(1, 4\) has a node outside 0 .. 3"),
        ({"edges": [[-1, 1], [1, 2]]}, r"column 0: \(-1, 1\) has a node outside"),
        ({"edges": [[0, 2], [1, 2]]}, r"column 1: \(2, 2\) is a self-loop"),
        ({"edges": [[0, 0, 0], [1, 2, 2]]}, r"column 2: \(0, 2\) is there twice"),
        ({"edges": [[0, 2], [1, 0]]}, r"column 1: \(2, 0\) has its larger node first.*undirected"),
        ({"edges": [[1, 0], [2, 1]]}, r"column 1: \(0, 1\) is out of order"),
        ({"edges": np.empty((2, 0), np.int64)}, "empty graph: expected one edge"),
        ({"edges": EDGES.T}, "transpose"),
        ({"edges": EDGES[0]}, "2 dimensions"),
        ({"edges": EDGES.astype(float)}, "expected int64, found float64"),
        ({"labels": [0, 1, 2, 0]}, "node 2: 2; expected 0"),
        ({"labels": [0, 0, 0, 0]}, "all 4 are 0"),
        ({"labels": [1, 1, 1, 1]}, "all 4 are 1"),
        ({"labels": [0, 256, 0, 0]}, "does not fit int8"),
        ({"labels": np.empty(0, np.int8), "features": np.empty((0, 2))}, "empty graph: expected one node"),
        ({"labels": [0, 1, 0]}, "4 rows of features, but 3 labels"),
        ({"features": np.where(DENSE == 5.0, np.nan, DENSE)}, "row 2, column 1: nan"),
        ({"features": DENSE[0]}, "2 dimensions"),
        ({"features": np.full((4, 2), "x")}, "expected float64"),
    ],
)
def test_what_makes_no_graph(change, words):
    parts = {"edges": EDGES, "features": DENSE, "labels": LABELS} | {
        key: np.asarray(value) for key, value in change.items()
    }
    with pytest.raises(DataError, match=words):
        Graph(**parts)


def test_sparse_rows_are_those_of_scipy():
    rows, expected = sparse()
    assert rows.shape == (4, 6)
    assert rows.dense().tolist() == expected.tolist()
    assert rows.dense(1, 3).tolist() == expected[1:3].tolist()
    assert rows.nbytes < expected.nbytes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"indices": [0, 2, 6]}, "row 1: column 6 is outside 0 .. 5"),
        ({"indices": [0, -1, 2]}, "row 0: column -1 is outside"),
        ({"indices": [2, 1, 0]}, "row 0: column 1 follows 2"),
        ({"indices": [1, 1, 0]}, "row 0: column 1 follows 1"),
        ({"values": [1.0, np.inf, 1.0]}, "row 0, column 2: inf"),
        ({"values": [1.0, 2.0, 0.0]}, "row 1, column 1: 0.0"),
        ({"values": [1.0, 2.0]}, "3 indices and 2 values"),
        ({"indptr": [0, 2, 1, 3]}, "row 1: indptr falls"),
        ({"indptr": [1, 2, 3]}, "must start with 0"),
        ({"indptr": [0, 2, 4]}, "ends at 4"),
        ({"indices": [0.0, 2.0, 1.0]}, "expected int32, found float64"),
        ({"indices": [0, 2**40, 1]}, "does not fit int32"),
    ],
)
def test_what_makes_no_sparse_rows(change, words):
    parts = {"indptr": [0, 2, 3], "indices": [0, 2, 1], "values": [1.0, 2.0, 3.0]} | change
    with pytest.raises(DataError, match=words):
        SparseRows(**{key: np.asarray(value) for key, value in parts.items()}, columns=6)


@pytest.mark.parametrize("features", [DENSE, sparse()[0]], ids=["dense", "sparse"])
def test_files_are_plain_equal_and_come_back(tmp_path, features):
    graph = Graph(EDGES, features, LABELS)
    write_graph(graph, tmp_path / "a")
    write_graph(Graph(EDGES.copy(), features, LABELS.copy()), tmp_path / "b")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert all(name.endswith(".npy") for name in names)
    assert [(tmp_path / "a" / name).read_bytes() for name in names] == [
        (tmp_path / "b" / name).read_bytes() for name in names
    ]
    back = read_graph(tmp_path / "a")
    assert isinstance(back, Graph)
    assert back.digest == graph.digest
    assert {key: array.tolist() for key, array in graph_arrays(back).items()} == {
        key: array.tolist() for key, array in graph_arrays(graph).items()
    }
    with pytest.raises(DataError, match=r"holds \.npy files already"):
        write_graph(graph, tmp_path / "a")


def test_a_digest_sees_every_part():
    graph = Graph(EDGES, DENSE, LABELS)
    others = [
        Graph(EDGES[:, :3], DENSE, LABELS),
        Graph(EDGES, DENSE + 1, LABELS),
        Graph(EDGES, DENSE, 1 - LABELS),
    ]
    assert len({graph.digest, *(other.digest for other in others)}) == 4


def test_a_set_of_graphs_comes_back(tmp_path):
    graphs = ba_2motifs(3, 10)
    write_graph(graphs, tmp_path)
    back = read_graph(tmp_path)
    assert isinstance(back, GraphSet)
    assert back.digest == graphs.digest


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "labels.npy").unlink(), "'labels' is missing; found edges"),
        (lambda folder: (folder / "edges.npy").write_bytes(b"<html>"), "edges.npy: not a readable"),
        (
            lambda folder: (folder / "edges.npy").write_bytes((folder / "edges.npy").read_bytes()[:-9]),
            "edges.npy: not a readable",
        ),
        (lambda folder: np.save(folder / "labels.npy", np.array([0, 1, 0, 5])), "node 3: 5"),
        (
            lambda folder: np.save(folder / "labels.npy", np.array([{}] * 4), allow_pickle=True),
            "labels.npy: not a readable",
        ),
        (lambda folder: np.save(folder / "features_shape.npy", np.array([5, 6])), "features_shape says"),
    ],
)
def test_damaged_files(tmp_path, damage, words):
    write_graph(Graph(EDGES, sparse()[0], LABELS), tmp_path)
    damage(tmp_path)
    with pytest.raises(DataError, match=words):
        read_graph(tmp_path)


def test_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match="found none"):
        read_graph(tmp_path)
    with pytest.raises(DataError, match="'edges' is missing"):
        graph_from_arrays({})


def test_an_unwritable_place(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_graph(Graph(EDGES, DENSE, LABELS), tmp_path / "file" / "folder")
