"""Simulated graphs: the sizes of the published ones, and anomalies that came about as there."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from openfingym.data.graphs import (
    DEFAULT_SEED,
    NodeWords,
    SparseRows,
    attributed_graph,
    attributed_graphs,
    simulate_graph,
    stratified_split,
    visible_labels,
)
from openfingym.data.graphs.anomalies import Organic, OrganicGroups, StandardInjection
from openfingym.data.graphs.wiring import group_sizes
from openfingym.data.graphs.words import topic_words
from openfingym.data.processes.draws import stream
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
    "amazon": "19752d1bf5f95628b8408e2785f4b9dea84febeb6efe306bb3b4e77add013696",
    "blogcatalog": "ad0fc4d568c2d7254cd0d7c842d9cedcf8c5b82ee19cfb1ce5e59115a18008d8",
    "yelpchi": "dc6ceebadecc283d798fac9ae2a17917986bad4ae2fd6580da3f96a9ac6ef533",
    "dblp": "5e836006235f9ad09555a8cf346e11d9498801238a137cf100491c89d38ec036",
    "imdb": "66eae551c195958905f160afe62c0b9e806aa27231a8d4bcf5f56f1240ac896e",
    "cert": "7ee3726a9bf6d3f02f6765d19134d92c9be8e3dceaaf23273d44a94e1825aa2a",
}


@pytest.fixture(scope="module")
def made():
    return {spec.name: simulate_graph(spec, DEFAULT_SEED) for spec in attributed_graphs()}


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


def test_injected_structural_anomalies_are_cliques_of_fifteen(made):
    graph, members = made["blogcatalog"].graph, made["blogcatalog"].structural
    present = set(map(tuple, graph.edges.T.tolist()))
    groups = np.split(members, 15 * np.arange(1, 10))
    assert list(map(len, groups)) == [15] * 10
    for group in groups:
        ordered = np.sort(group)
        assert all((int(a), int(b)) in present for i, a in enumerate(ordered) for b in ordered[i + 1 :])


def test_injected_contextual_anomalies_copy_the_farthest_candidate(made):
    """With many candidates among few nodes it is the farthest of all, so that few rows are copied by most."""
    lengths = np.diff(made["blogcatalog"].graph.features.indptr)
    assert lengths[made["blogcatalog"].contextual].min() > np.median(lengths)
    spec = dataclasses.replace(
        attributed_graph("dblp"),
        nodes=400,
        edges=4_000,
        anomalies=60,
        pattern=StandardInjection(candidates=20_000),
    )
    injected = simulate_graph(spec, 1)
    features = injected.graph.features.dense()
    untouched = np.setdiff1d(np.arange(400), injected.contextual)
    longest = features[untouched].sum(axis=1).max()
    assert len(np.unique(features[injected.contextual], axis=0)) <= 4
    assert (features[injected.contextual].sum(axis=1) > 0.7 * longest).all()


@pytest.mark.parametrize("name", ["dblp", "imdb"])
def test_anomalies_of_another_class_leave_the_edges_alone(made, name):
    assert not made[name].structural.size
    assert made[name].contextual.tolist() == np.flatnonzero(made[name].graph.labels).tolist()


def test_all_that_is_one_users_is_joined(made):
    graph = made["yelpchi"].graph
    a, degrees = adjacency(graph), graph.degrees
    triangles = np.asarray((a @ a).multiply(a).sum(axis=1)).ravel()
    assert degrees.min() == 1
    assert (triangles == degrees * (degrees - 1)).all()


@pytest.mark.parametrize("edges", [45_000, 49_315, 60_000])
def test_groups_have_exactly_the_nodes_and_edges_asked_for(edges):
    sizes = group_sizes(stream(3), 23_831, edges, 3.4)
    assert sizes.min() >= 2
    assert (sizes.sum(), (sizes * (sizes - 1) // 2).sum()) == (23_831, edges)


def test_groups_that_cannot_be():
    with pytest.raises(DataError, match="no groups of 1000 nodes with 100 edges"):
        group_sizes(stream(3), 1_000, 100, 3.4)


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


def test_the_largest_graph_builds_small():
    """Measured: 34 MB; a dense adjacency alone would be 4.5 GB."""
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
        {"anomalies": 0},
        {"anomalies": 400},
        {"edges": 300},
        {"edges": 400_000},
        {"communities": 1},
        {"mixing": 0.0},
        {"tail": 2.0},
        {"pattern": StandardInjection(clique=2)},
        {"pattern": StandardInjection(candidates=0)},
        {"pattern": StandardInjection(clique=40)},
        {"pattern": Organic(likeness=0.05, shift=1.0, spread=1.0)},
        {"pattern": Organic(likeness=1.0, shift=1.0, spread=1.0)},
        {"pattern": OrganicGroups(likeness=0.9, shift=1.0, spread=0.0)},
    ],
)
def test_parameters_that_make_no_graph(change):
    with pytest.raises(DataError, match="cert: "):
        dataclasses.replace(attributed_graph("cert"), **change)


def test_anomalies_made_of_words_need_words():
    with pytest.raises(DataError, match="cert: its anomalies are made of words"):
        dataclasses.replace(attributed_graph("cert"), pattern=StandardInjection(clique=5))


def test_words_follow_their_mean():
    words = NodeWords(12.0)
    features = topic_words(stream(1), words, np.zeros(1_000, dtype=np.int64), 1, 5_000)
    assert np.diff(features.indptr).min() >= 1
    assert np.diff(features.indptr).mean() == pytest.approx(11.0, abs=1.2)


def test_an_unknown_graph():
    with pytest.raises(DataError, match="did you mean 'yelpchi'"):
        attributed_graph("yelp-chi")
