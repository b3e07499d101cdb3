"""Simulated graphs: the sizes of the published ones, anomalies that are there, and shortcuts that are not."""

import dataclasses
import time
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from openfingym.data.graphs import (
    DEFAULT_SEED,
    SparseRows,
    WordCounts,
    attributed_graph,
    attributed_graphs,
    simulate_graph,
    stratified_split,
    visible_labels,
)
from openfingym.errors import DataError

TABLE_9 = {
    "amazon": (10_224, 25, 0.068),
    "blogcatalog": (5_196, 8_189, 0.058),
    "yelpchi": (23_831, 32, 0.051),
    "dblp": (4_057, 334, 0.070),
    "imdb": (4_780, 1_232, 0.070),
    "cert": (1_000, 6, 0.070),
}
DIGESTS = {
    "amazon": "f0afd44a888094870389cc70a0ae5f93d45a1372c8f8be9d67c49603bcddd7ef",
    "blogcatalog": "5b968b18aca4b03f702a42c9317a8093460c4a4c0e7cc452bc3355c77215af7f",
    "yelpchi": "0b08961e71c3b4338b14d6886e9b44c90679c41fa6ffd534feed2b509f6132ee",
    "dblp": "61f7f77469765a35421372d372b35a16db5c9fad6645241f57745d0f22de4dcb",
    "imdb": "0470f35c3c73359c64b049d093d949f75e75fa62d2776fb0046a3e2278a90e68",
    "cert": "9889fd1ece1f769eae561d6b1667d06eef7e41e2bbb861d6766ebe847a8e0e08",
}


@pytest.fixture(scope="module")
def made():
    return {spec.name: simulate_graph(spec, DEFAULT_SEED) for spec in attributed_graphs()}


def marked(graph, nodes):
    out = np.zeros(graph.nodes, dtype=bool)
    out[nodes] = True
    return out


def auroc(score, positive, graph):
    """Of one kind of anomaly against the normal nodes."""
    chosen = positive | (graph.labels == 0)
    return roc_auc_score(positive[chosen], score[chosen])


def matrix(graph):
    features = graph.features
    if not isinstance(features, SparseRows):
        return features
    return csr_array((features.values, features.indices, features.indptr), shape=features.shape)


def adjacency(graph):
    indptr, neighbours = graph.adjacency
    return csr_array((np.ones(len(neighbours)), neighbours, indptr), shape=(graph.nodes, graph.nodes))


@pytest.mark.parametrize("name", TABLE_9)
def test_sizes_are_those_of_table_9(made, name):
    graph = made[name].graph
    nodes, features, rate = TABLE_9[name]
    assert (graph.nodes, graph.features.shape[1]) == (nodes, features)
    assert round(graph.anomaly_rate, 3) == rate
    assert graph.edge_count == attributed_graph(name).edges
    assert graph.digest == DIGESTS[name]


@pytest.mark.parametrize("name", TABLE_9)
def test_structural_anomalies_are_cliques(made, name):
    graph, members = made[name].graph, made[name].structural
    size = attributed_graph(name).clique
    present = set(map(tuple, graph.edges.T.tolist()))
    groups = np.split(members, size * np.arange(1, len(members) // size))
    assert min(map(len, groups)) >= size
    for group in groups:
        ordered = np.sort(group)
        assert all((int(a), int(b)) in present for i, a in enumerate(ordered) for b in ordered[i + 1 :])


@pytest.mark.parametrize("name", TABLE_9)
def test_neither_degree_nor_norm_gives_an_anomaly_away(made, name):
    """Usual injections are found by one of the two with an AUROC near 1."""
    graph = made[name].graph
    structural, contextual = marked(graph, made[name].structural), marked(graph, made[name].contextual)
    norms = np.asarray((matrix(graph) ** 2).sum(axis=1)).ravel()
    assert auroc(graph.degrees, structural, graph) < 0.8
    assert 0.4 < auroc(graph.degrees, contextual, graph) < 0.6
    assert auroc(norms, contextual, graph) < 0.8
    assert roc_auc_score(graph.labels, graph.degrees) < 0.66


@pytest.mark.parametrize("name", TABLE_9)
def test_contextual_anomalies_differ_from_their_neighbours(made, name):
    graph = made[name].graph
    features = matrix(graph)
    if name == "blogcatalog":
        # Angles survive a random projection, and the products stay small.
        features = features @ np.random.default_rng(0).standard_normal((features.shape[1], 400))
    elif not isinstance(features, np.ndarray):
        features = features.toarray()
    around = (adjacency(graph) @ features) / np.maximum(graph.degrees, 1)[:, None]
    dots = np.asarray((features * around).sum(axis=1)).ravel()
    norms = np.asarray((features**2).sum(axis=1)).ravel() * np.asarray((around**2).sum(axis=1)).ravel()
    score = -dots / np.sqrt(norms + 1e-12)
    assert auroc(score, marked(graph, made[name].contextual), graph) > 0.62


@pytest.mark.parametrize("name", ["amazon", "yelpchi", "dblp", "imdb", "cert"])
def test_cliques_show_in_the_clustering(made, name):
    graph = made[name].graph
    a, degrees = adjacency(graph), graph.degrees
    triangles = np.asarray((a @ a).multiply(a).sum(axis=1)).ravel()
    clustering = triangles / np.maximum(degrees * (degrees - 1), 1)
    assert auroc(clustering, marked(graph, made[name].structural), graph) > 0.8


@pytest.mark.parametrize("name", TABLE_9)
def test_degrees_have_a_heavy_tail_and_communities_show(made, name):
    graph = made[name].graph
    degrees = graph.degrees
    assert degrees.max() > 8 * degrees.mean()
    top = np.sort(degrees)[-graph.nodes // 10 :].sum() / degrees.sum()
    assert top > 0.25
    # Neighbours resemble each other more than strangers do.
    features = matrix(graph)
    some = np.random.default_rng(0).integers(0, graph.nodes, (2, 4_000))
    tied = graph.edges[:, :: max(1, graph.edge_count // 4_000)]
    likeness = [np.asarray((features[a] * features[b]).sum(axis=1)).mean() for a, b in (tied, some)]
    assert likeness[0] > likeness[1]


def test_the_seed_decides():
    spec = attributed_graph("cert")
    assert simulate_graph(spec, 5).graph.digest == simulate_graph(spec, 5).graph.digest
    assert simulate_graph(spec, 5).graph.digest != simulate_graph(spec, 6).graph.digest


def test_anomalies_are_no_block_of_nodes(made):
    positions = np.flatnonzero(made["yelpchi"].graph.labels)
    assert positions.mean() == pytest.approx(23_831 / 2, rel=0.08)


def test_the_largest_graph_builds_fast_and_small():
    """Measured 0.1 s and 34 MB; a dense adjacency alone would be 4.5 GB."""
    start = time.process_time()
    simulate_graph(attributed_graph("yelpchi"), 1)
    assert time.process_time() - start < 5.0
    tracemalloc.start()
    graph = simulate_graph(attributed_graph("yelpchi"), 1).graph
    assert len(graph.adjacency[1]) == 2 * graph.edge_count
    assert graph.digest
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


def test_the_split_keeps_the_rate(made):
    graph = made["amazon"].graph
    split = stratified_split(graph.labels, 1)
    parts = (split.train, split.public, split.private)
    assert sorted(np.concatenate(parts).tolist()) == list(range(graph.nodes))
    for part, share in zip(parts, (0.4, 0.2, 0.4), strict=True):
        assert len(part) == pytest.approx(share * graph.nodes, abs=2)
        assert graph.labels[part].sum() == pytest.approx(share * 693, abs=1)
        assert (np.diff(part) > 0).all()
        assert not part.flags.writeable


def test_the_split_is_random_and_repeatable(made):
    labels = made["cert"].graph.labels
    assert stratified_split(labels, 1).train.tolist() == stratified_split(labels, 1).train.tolist()
    assert stratified_split(labels, 1).train.tolist() != stratified_split(labels, 2).train.tolist()


def test_only_training_labels_are_visible(made):
    labels = made["cert"].graph.labels
    split = stratified_split(labels, 1)
    seen = visible_labels(labels, split)
    assert seen[split.train].tolist() == labels[split.train].tolist()
    assert set(seen[np.concatenate([split.public, split.private])].tolist()) == {-1}


@pytest.mark.parametrize(
    ("labels", "fractions", "words"),
    [
        ([0] * 50 + [1] * 2, {}, "2 labels are 1: too few"),
        ([0] * 50, {}, "0 labels are 1"),
        ([0, 1] * 50, {"train": 0.8, "public": 0.2}, "less than 1"),
        ([0, 1] * 50, {"train": 0.0}, "positive"),
    ],
)
def test_what_cannot_be_split(labels, fractions, words):
    with pytest.raises(DataError, match=words):
        stratified_split(np.array(labels), 1, **fractions)


@pytest.mark.parametrize(
    "change",
    [
        {"clique": 2},
        {"anomalies": 10},
        {"anomalies": 400},
        {"edges": 300},
        {"edges": 400_000},
        {"communities": 1},
        {"mixing": 0.0},
        {"tail": 2.0},
        {"outlier": 1.5},
    ],
)
def test_parameters_that_make_no_graph(change):
    with pytest.raises(DataError, match="cert: "):
        dataclasses.replace(attributed_graph("cert"), **change)


def test_words_follow_their_mean():
    spec = dataclasses.replace(attributed_graph("cert"), features=5_000, words=WordCounts(12.0), outlier=0.0)
    graph = simulate_graph(spec, 1).graph
    assert isinstance(graph.features, SparseRows)
    assert np.diff(graph.features.indptr).min() >= 1
    assert np.diff(graph.features.indptr).mean() == pytest.approx(11.0, abs=1.2)


def test_an_unknown_graph():
    with pytest.raises(DataError, match="did you mean 'yelpchi'"):
        attributed_graph("yelp-chi")
