"""Graphs by name, injected anomalies, and time and memory at the size of YelpChi."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.metrics import roc_auc_score

from openfingym.data.graphs import DEFAULT_SEED, SparseRows, ba_2motifs, inject_contextual
from openfingym.data.loaded_graphs import load_graph, load_graph_set
from openfingym.errors import DataError


def test_a_simulated_graph_says_that_it_is():
    loaded = load_graph("cert")
    assert loaded.info.kind == "simulated"
    assert (loaded.info.rows, loaded.info.frequency, loaded.info.first, loaded.info.last) == (1_000, "none", None, None)
    assert loaded.info.sha256 == loaded.graph.digest
    assert "1,000 nodes, 6,000 edges, 6 features, 7.0% anomalies" in loaded.info.title
    assert load_graph("cert", seed=3).graph.digest != loaded.graph.digest


def test_sets_of_graphs():
    loaded = load_graph_set("ba2motifs")
    assert (loaded.info.kind, loaded.info.rows) == ("specified", 1_000)
    assert loaded.info.sha256 == loaded.graphs.digest == ba_2motifs(DEFAULT_SEED).digest


@pytest.mark.parametrize(("load", "name"), [(load_graph, "yelpchy"), (load_graph_set, "ba2motif")])
def test_names_nobody_knows(load, name):
    with pytest.raises(DataError, match="did you mean 'yelpchi'" if load is load_graph else "did you mean 'ba2motifs'"):
        load(name)


# ---- injection


def clustered(nodes=600, kinds=4, columns=40, seed=0):
    """Features and edges that follow the classes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, kinds, nodes)
    features = (
        rng.random((nodes, columns)) < np.where(np.arange(columns) % kinds == classes[:, None], 0.5, 0.1)
    ).astype(float)
    tails, heads = rng.integers(0, nodes, (2, nodes * 40))
    kept = (classes[tails] == classes[heads]) | (rng.random(len(tails)) < 0.05)
    adjacency = csr_array((np.ones(kept.sum()), (tails[kept], heads[kept])), shape=(nodes, nodes))
    return classes, features, adjacency + adjacency.T


def test_only_the_anomalies_change_and_no_row_is_a_copy():
    classes = clustered()[0]
    features = np.random.default_rng(5).random((600, 40))
    changed, labels = inject_contextual(features, classes, 40, 7)
    assert labels.dtype == np.int8
    assert labels.sum() == 40
    np.testing.assert_array_equal(changed[labels == 0], features[labels == 0])
    for node in np.flatnonzero(labels):
        # Of two donors, about 7 values in 10 of the first; both normal, and of one class that is not the node's.
        shared = (features == changed[node]).sum(axis=1)
        donors = np.flatnonzero(shared)
        assert len(donors) == 2
        assert shared.sum() == 40
        assert 15 < shared.max() < 40
        assert labels[donors].tolist() == [0, 0]
        assert len({*classes[donors].tolist(), int(classes[node])}) == 2
    again, same = inject_contextual(features, classes, 40, 7)
    assert (again.tolist(), same.tolist()) == (changed.tolist(), labels.tolist())
    assert inject_contextual(features, classes, 40, 8)[1].tolist() != labels.tolist()


def test_sparse_features_get_the_same_anomalies_as_dense_ones():
    classes, features, _ = clustered()
    matrix = csr_array(features)
    sparse = SparseRows(matrix.indptr, matrix.indices, matrix.data, matrix.shape[1])
    dense, labels = inject_contextual(features, classes, 60, 1)
    rows, same = inject_contextual(sparse, classes, 60, 1)
    assert isinstance(rows, SparseRows)
    np.testing.assert_array_equal(rows.dense(), dense)
    assert same.tolist() == labels.tolist()


def test_neighbours_tell_what_the_norm_does_not():
    classes, features, adjacency = clustered(1200)
    changed, labels = inject_contextual(features, classes, 120, 2)
    around = adjacency @ changed
    angle = (changed * around).sum(axis=1) / (np.linalg.norm(changed, axis=1) * np.linalg.norm(around, axis=1) + 1e-12)
    assert roc_auc_score(labels, -angle) > 0.9
    assert abs(roc_auc_score(labels, np.linalg.norm(changed, axis=1)) - 0.5) < 0.08
    assert abs(roc_auc_score(labels, np.diff(csr_array(adjacency).indptr)) - 0.5) < 0.08


@pytest.mark.parametrize(
    ("classes", "count", "message"),
    [
        (np.zeros(40, dtype=int), 4, "found 1 classes and 4"),
        (np.arange(40) % 2, 11, "1 to 10 anomalies among 40 nodes"),
        (np.arange(40) % 2, 0, "found 2 classes and 0"),
        (np.array([0] * 39 + [1]), 4, r"class 1 has [01] normal nodes; two are needed"),
    ],
)
def test_what_cannot_be_injected(classes, count, message):
    with pytest.raises(DataError, match=message):
        inject_contextual(np.arange(80.0).reshape(40, 2), classes, count, 0)


def test_rows_of_sparse_features():
    matrix = random_array((30, 20), density=0.2, format="csr", rng=np.random.default_rng(0))
    matrix.sort_indices()
    rows = SparseRows(matrix.indptr, matrix.indices, matrix.data, 20)
    keep = np.array([3, 3, 29, 0])
    np.testing.assert_array_equal(rows.take(keep).dense(), matrix.toarray()[keep])
    np.testing.assert_array_equal(rows.with_rows(np.array([5]), np.zeros((1, 20))).dense()[5], np.zeros(20))


# ---- the size of YelpChi

PROGRAM = """
    from pathlib import Path
    import numpy as np
    from openfingym.data.loaded_graphs import load_graph
    from openfingym.metrics.classification import auroc
    graph = load_graph("yelpchi").graph
    indptr, neighbours = graph.adjacency
    owner = np.repeat(np.arange(graph.nodes), np.diff(indptr))
    columns = (graph.features[neighbours, j] for j in range(graph.features.shape[1]))
    around = np.stack([np.bincount(owner, column, graph.nodes) for column in columns], axis=1)
    score = -(graph.features * around).sum(axis=1)
    value = auroc(graph.labels, score)
    # Not getrusage: its peak includes the parent's memory at the fork.
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = [line.split()[1] for line in status if line.startswith("VmHWM")]
    print(graph.nodes, value, peak)
"""


def test_loading_and_scoring_yelpchis_size_takes_little_memory():
    """In a process of its own, so that the memory is that of this alone."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=True, timeout=120
    )
    nodes, value, peak_kb = map(float, done.stdout.split())
    assert nodes == 23_831
    assert 0.3 < value < 1.0
    assert peak_kb < 400_000
