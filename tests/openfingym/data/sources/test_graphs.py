"""Published graph files in every layout, written by SciPy and read back; never pickle.

The attack: a mirror or a changed address that serves another graph, for scores under the published name.
"""

import io
import pickle
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from openfingym.data.graphs import Graph, SparseRows
from openfingym.data.graphs.table import attributed_graph
from openfingym.data.loaded_graphs import PUBLISHED
from openfingym.data.sources import SOURCES, SourceRequest, silent
from openfingym.data.sources.catalog import PULLABLE
from openfingym.data.sources.graph_files import feature_matrix, read_npy, read_npz, simple_edges
from openfingym.data.sources.graph_layouts import (
    FRAUD_YELP,
    HAN_IMDB,
    INJECTED,
    NETWORK,
    NETWORK_SHORT,
    dblp_from_dat,
    dblp_from_npz,
    graph_from_mat,
)
from openfingym.data.sources.graph_sizes import GraphSize
from openfingym.data.sources.graph_sources import Dblp
from openfingym.errors import DataError, UsageError

N = 40
RNG = np.random.default_rng(7)


def adjacency(n=N, density=0.1, seed=0):
    """Directed, weighted, with self-loops: as messy as published ones are."""
    matrix = scipy.sparse.random(n, n, density, random_state=np.random.default_rng(seed), format="csr")
    return matrix + scipy.sparse.eye(n)


def expected_edges(*matrices):
    dense = sum(abs(matrix).toarray() if scipy.sparse.issparse(matrix) else np.abs(matrix) for matrix in matrices)
    pairs = np.argwhere((dense + dense.T) > 0)
    return pairs[pairs[:, 0] < pairs[:, 1]].T


LABELS = (np.arange(N) % 8 == 0).astype(np.uint8)


def mat(**variables):
    file = io.BytesIO()
    scipy.io.savemat(file, variables, do_compression=True)
    return file.getvalue()


def packed(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"folder/{name}", content)
    return file.getvalue()


def fraud(prefix, *relations, n=N):
    parts = {f"net_{name}": adjacency(n, 0.02, seed) for seed, name in enumerate(relations)}
    return {
        **parts,
        "homo": adjacency(n),
        "features": scipy.sparse.csc_matrix(RNG.random((n, 5))),
        "label": LABELS[None, :n],
    }


# ---- layouts


def test_three_relations_of_the_fraud_graphs():
    parts = fraud("", "rur", "rtr", "rsr")
    file = graph_from_mat(mat(**parts), (FRAUD_YELP,), "here")
    assert (file.nodes, set(file.relations)) == (N, {"rur", "rtr", "rsr"})
    for name, edges in file.relations.items():
        np.testing.assert_array_equal(edges, expected_edges(parts[f"net_{name}"]))
    assert file.classes is None
    graph = file.to_graph("here")
    assert isinstance(graph, Graph)
    np.testing.assert_array_equal(
        graph.edges, expected_edges(*(parts[f"net_{name}"] for name in ("rur", "rtr", "rsr")))
    )
    np.testing.assert_allclose(graph.features, parts["features"].toarray())
    assert graph.labels.tolist() == LABELS.tolist()
    assert graph.anomaly_rate == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("layout", "names"), [(NETWORK, ("Network", "Attributes", "Label")), (NETWORK_SHORT, ("A", "X", "gnd"))]
)
def test_one_network_with_sparse_attributes(layout, names):
    network, attributes = (
        adjacency(),
        scipy.sparse.random(N, 300, 0.02, random_state=np.random.default_rng(1), format="csc"),
    )
    content = mat(
        **dict(zip(names, (network, attributes, LABELS[:, None].astype(float)), strict=True)), Class=np.ones((N, 1))
    )
    graph = graph_from_mat(content, (NETWORK, NETWORK_SHORT), "here").to_graph("here")
    assert isinstance(graph.features, SparseRows)
    np.testing.assert_array_equal(graph.features.dense(), attributes.toarray())
    np.testing.assert_array_equal(graph.edges, expected_edges(network))
    assert layout.labels_anomalies


def test_one_hot_classes_are_classes_and_not_labels():
    classes = np.arange(N) % 3
    graph = graph_from_mat(
        mat(
            MAM=adjacency().toarray(),
            MDM=adjacency(seed=4).toarray(),
            feature=RNG.random((N, 6)),
            label=np.eye(3)[classes],
        ),
        (HAN_IMDB, INJECTED),
        "here",
    )
    assert graph.labels is None
    assert graph.classes.tolist() == classes.tolist()
    assert set(graph.relations) == {"mam", "mdm"}
    with pytest.raises(DataError, match="here: the file labels no anomalies"):
        graph.to_graph("here")


def test_files_with_injected_anomalies():
    content = mat(
        adj1=adjacency().toarray(), adj2=adjacency(seed=1).toarray(), feature=RNG.random((N, 6)), label=LABELS[:, None]
    )
    assert graph_from_mat(content, (HAN_IMDB, INJECTED), "here").labels.sum() == LABELS.sum()


def test_cutting_to_one_relation_drops_and_renumbers_nodes():
    network = np.zeros((N, N))
    network[3, 7] = network[7, 20] = network[20, 3] = network[5, 5] = 1.0
    features = RNG.random((N, 2))
    labels = np.zeros(N)
    labels[20] = 1
    content = mat(net_rur=network, net_rtr=adjacency(), net_rsr=adjacency(), features=features, label=labels)
    file, gone = graph_from_mat(content, (FRAUD_YELP,), "here").without_isolated("rur")
    cut = file.to_graph("here")
    assert (cut.nodes, gone) == (3, 37)
    assert cut.edges.tolist() == [[0, 0, 1], [1, 2, 2]]
    np.testing.assert_array_equal(cut.features, features[[3, 7, 20]])
    assert cut.labels.tolist() == [0, 0, 1]


def test_rows_of_a_sparse_matrix():
    matrix = scipy.sparse.random(50, 30, 0.1, random_state=np.random.default_rng(3), format="csr")
    rows = feature_matrix(matrix, "x")
    keep = np.array([4, 0, 49, 17])
    np.testing.assert_array_equal(rows.take(keep).dense(), matrix[keep].toarray())
    assert rows.take(keep[:0]).shape == (0, 30)
    new = np.random.default_rng(4).integers(0, 2, (4, 30)) * 1.5
    expected = matrix.toarray()
    expected[keep] = new
    np.testing.assert_array_equal(rows.with_rows(keep, new).dense(), expected)


def test_sparse_features_are_brought_into_form():
    """Published matrices hold duplicates, stored zeros and columns in any order."""
    messy = scipy.sparse.coo_matrix(([1.0, 2.0, 0.0, 5.0], ([0, 0, 1, 1], [7, 7, 2, 1])), shape=(4, 20)).tocsc()
    before = messy.copy()
    np.testing.assert_array_equal(feature_matrix(messy, "x").dense(), messy.toarray())
    assert messy.nnz == before.nnz


def test_edges_are_undirected_once_and_without_loops():
    pairs = np.array([[3, 1, 2, 2, 1], [1, 3, 2, 0, 3]])
    assert simple_edges(pairs, 4).tolist() == [[0, 1], [2, 3]]
    assert simple_edges(np.empty((2, 0), dtype=np.int64), 4).shape == (2, 0)


GOOD = {"Network": adjacency(), "Attributes": RNG.random((N, 4)), "Label": LABELS}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Label": np.zeros(N)}, r"anomaly labels are \[0\], expected both"),
        ({"Label": LABELS * 2}, r"anomaly labels are \[0, 2\]"),
        ({"Label": LABELS[:-1]}, "labels of shape .* expected 40 whole numbers"),
        ({"Label": LABELS + 0.5}, "expected 40 whole numbers"),
        ({"Label": np.full((N, 2), 1)}, "are not one-hot"),
        ({"Network": adjacency(N + 1)}, r"an adjacency of shape \[41, 41\] for 40 nodes"),
        ({"Network": scipy.sparse.eye(N)}, "here: an empty graph"),
        ({"Attributes": np.full((N, 2), np.nan)}, "here: features, row 0, column 0: nan"),
        (
            {"Attributes": scipy.sparse.csr_matrix(np.where(np.eye(N) > 0, np.inf, 0.0))},
            "here: features, row 0, column 0: inf",
        ),
        (
            {"Attributes": None},
            "expected the variables Network, Attributes, Label; of these the file has Label, Network",
        ),
        ({"Label": np.array(["a"] * N, dtype=object)}, "Label is a cell, expected a numeric matrix"),
    ],
)
def test_graphs_that_do_not_fit_together(changes, message):
    parts = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(DataError, match=message):
        graph_from_mat(mat(**parts), (NETWORK,), "here").to_graph("here")


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[:-50],
        lambda body: body[:200],
        lambda body: body[:150] + b"\xff" * 100 + body[250:],
        lambda body: b"",
    ],
)
def test_damaged_mat_files(damage):
    with pytest.raises(DataError, match=r"not a readable MATLAB 5 file|expected the variables"):
        graph_from_mat(damage(mat(**GOOD)), (NETWORK,), "here")


class Exploit:
    ran = False

    def __reduce__(self):
        return exec, ("import pathlib; pathlib.Path('/nonexistent-dir/x').touch()",)


def test_pickles_are_never_opened():
    file = io.BytesIO()
    np.savez(file, a=np.array([Exploit()], dtype=object))
    with pytest.raises(DataError, match=r"not a readable \.npz of plain arrays.*allow_pickle=False"):
        read_npz(file.getvalue(), "x")
    with pytest.raises(DataError, match=r"not a readable \.npy"):
        read_npy(pickle.dumps(Exploit()), "x")


# ---- DBLP: 4 authors, 3 papers, 2 terms, 2 conferences

AUTHORED = [(0, 4), (1, 4), (1, 5), (2, 5), (3, 6)]
APPEARED = [(4, 9), (5, 9), (6, 10)]
TERMS = [(4, 7), (6, 8)]
TYPES = np.array([0] * 4 + [1] * 3 + [2] * 2 + [3] * 2)
AREAS = np.array([0, 1, 1, 2])
FEATURES = np.arange(12.0).reshape(4, 3)
APA, APCPA = [[0, 1], [1, 2]], [[0, 0, 1], [1, 2, 2]]


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(matrix):
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix)
    return file.getvalue()


def bad_npz(**changes):
    file = io.BytesIO()
    parts = {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0, 1.0], "shape": [2, 2], "format": np.array(b"csr")}
    np.savez(file, **{**parts, **changes})
    return file.getvalue()


def magnn():
    pairs = np.array(AUTHORED + APPEARED + TERMS).T
    matrix = scipy.sparse.csr_matrix((np.ones(pairs.shape[1]), pairs), shape=(11, 11))
    features = npz(scipy.sparse.csr_matrix(FEATURES))
    return {
        "adjM.npz": npz(matrix + matrix.T),
        "features_0.npz": features,
        "labels.npy": npy(AREAS),
        "node_types.npy": npy(TYPES),
    }


def hgb():
    cells = {i: ",".join(map(str, row)) for i, row in enumerate(FEATURES.tolist())}
    nodes = "".join(
        f"{i}\tname {i}\t{kind}" + (f"\t{cells[i]}" if i in cells else "") + "\n"
        for i, kind in enumerate(TYPES.tolist())
    )
    links = "".join(f"{a}\t{b}\t0\t1.0\n" for a, b in AUTHORED + APPEARED + TERMS)
    label = "".join(f"{i}\tname {i}\t0\t{AREAS[i]}\n" for i in (0, 1))
    test = "".join(f"{i}\tname {i}\t0\t{AREAS[i]}\n" for i in (2, 3))
    return {"node.dat": nodes, "link.dat": links, "label.dat": label, "label.dat.test": test, "info.dat": "{}"}


@pytest.fixture
def dblp(site, client, cache):
    def dblp(content, path="DBLP.zip", **changes):
        site.on(f"/{path}", content)
        return Dblp(base_url=site.url, path=path, **{"anomalies": 1, "sizes": (), **changes}).fetch(
            SourceRequest(refresh=True), client, cache, silent
        )

    return dblp


@pytest.mark.parametrize(("members", "read"), [(magnn(), dblp_from_npz), (hgb(), dblp_from_dat)], ids=["npz", "dat"])
def test_dblp_joins_authors_over_papers_and_conferences(dblp, members, read):
    file = read(packed(**members), "dblp")
    assert file.nodes == 4
    assert file.relations["apa"].tolist() == APA
    assert file.relations["apcpa"].tolist() == APCPA
    features = file.features.dense() if isinstance(file.features, SparseRows) else file.features
    np.testing.assert_array_equal(features, FEATURES)
    assert file.classes.tolist() == AREAS.tolist()
    assert file.labels is None


def larger_hgb(copies=10):
    """Ten of the same, side by side, so that classes have enough authors to swap features."""
    shift = lambda node, copy: node + 4 * copy if node < 4 else 4 * copies + (node - 4) + 7 * copy  # noqa: E731
    kinds = [0] * 4 * copies + [1, 1, 1, 2, 2, 3, 3] * copies
    features = {i: ",".join(str(float(i * 3 + j)) for j in range(3)) for i in range(4 * copies)}
    nodes = "".join(
        f"{i}\tx\t{kind}" + (f"\t{features[i]}" if kind == 0 else "") + "\n" for i, kind in enumerate(kinds)
    )
    links = "".join(
        f"{shift(a, c)}\t{shift(b, c)}\t0\t1\n" for c in range(copies) for a, b in AUTHORED + APPEARED + TERMS
    )
    label = "".join(f"{i}\tx\t0\t{AREAS[i % 4]}\n" for i in range(4 * copies))
    return {"node.dat": nodes, "link.dat": links, "label.dat": label, "label.dat.test": label}


def test_dblp_gets_anomalies_which_its_publisher_does_not_label(dblp):
    published = dblp(packed(**larger_hgb()), anomalies=5)
    graph = published.graph
    expected = np.concatenate([np.array([[0, 0, 1], [1, 2, 2]]) + 4 * copy for copy in range(10)], axis=1)
    assert graph.edges.tolist() == expected.tolist()
    assert graph.labels.sum() == 5
    before = np.arange(120.0).reshape(40, 3)
    changed = (graph.features != before).any(axis=1)
    assert changed.tolist() == (graph.labels == 1).tolist()
    assert published.provenance.notes == (
        "relations apa, apcpa merged",
        "the publisher labels no anomalies: 5 nodes were given features of another class here, seed 20260702",
    )
    assert dblp(packed(**larger_hgb()), anomalies=5).graph.digest == graph.digest


def test_dblp_as_a_mat_file(dblp):
    content = mat(
        net_APA=adjacency(), net_APCPA=adjacency(seed=1), features=RNG.random((N, 3)), label=np.eye(4)[np.arange(N) % 4]
    )
    published = dblp(content, "DBLP4057.mat")
    np.testing.assert_array_equal(published.graph.edges, expected_edges(adjacency(), adjacency(seed=1)))
    injected = mat(adj1=adjacency(), adj2=adjacency(seed=1), feature=RNG.random((N, 3)), label=LABELS)
    published = dblp(injected, "DBLP4057.mat")
    assert published.graph.labels.tolist() == LABELS.tolist()
    assert not any("publisher labels no anomalies" in note for note in published.provenance.notes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("link.dat", "0\t4\n", "link.dat, line 1: 2 cells, expected 3"),
        ("link.dat", "0\t99\t0\t1.0\n", "a link leads elsewhere"),
        ("label.dat.test", "2\tx\t0\t1\n", "author 3 has no label"),
        ("node.dat", "", "node.dat: the file is empty"),
        ("node.dat", b"\xff\xfe", "not UTF-8"),
        ("label.dat", "zero\tx\t0\t1\n", "format has changed"),
    ],
)
def test_damaged_dat_files(dblp, name, content, message):
    with pytest.raises(DataError, match=message):
        dblp(packed(**{**hgb(), name: content}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels.npy": npy(AREAS[:2])}, "4 authors, but features for 4 and labels for 2"),
        ({"labels.npy": npy(AREAS * 1.0)}, "expected whole numbers"),
        ({"adjM.npz": npz(scipy.sparse.csr_matrix(np.eye(3)))}, r"an adjacency of shape \[3, 3\] for 11 nodes"),
        ({"adjM.npz": npz(scipy.sparse.coo_matrix(np.eye(11)))}, "in CSR form, found b?'coo'"),
        ({"adjM.npz": npz(scipy.sparse.csr_matrix(np.eye(11)))[:-40]}, "not a readable .npz"),
        ({"adjM.npz": bad_npz(indices=[0, 99])}, "adjM.npz: not a matrix in CSR form"),
        ({"adjM.npz": bad_npz(indptr=[0, 5, 2])}, "adjM.npz: not a matrix in CSR form"),
        ({"adjM.npz": bad_npz(indptr=[0])}, "adjM.npz: not a matrix in CSR form"),
        ({"features_0.npz": None}, "found 0 among folder/adjM.npz"),
    ],
)
def test_damaged_npz_files(dblp, changes, message):
    with pytest.raises(DataError, match=message):
        dblp(packed(**{key: value for key, value in {**magnn(), **changes}.items() if value is not None}))


# ---- the sources


@pytest.mark.parametrize(
    ("name", "content", "relation"),
    [
        ("amazon-fraud", packed(**{"Amazon.mat": mat(**fraud("", "upu", "usu", "uvu"))}), "upu"),
        ("yelpchi-fraud", packed(**{"YelpChi.mat": mat(**fraud("", "rur", "rtr", "rsr"))}), "rur"),
        ("blogcatalog-fraud", mat(**GOOD), "network"),
        (
            "imdb",
            mat(MAM=adjacency(), MDM=adjacency(), feature=RNG.random((N, 6)), label=np.eye(3)[np.arange(N) % 3]),
            "mam",
        ),
    ],
)
def test_every_source_reads_its_file(site, client, cache, name, content, relation):
    source = replace(SOURCES[name], base_url=site.url, sizes=(), anomalies=8 if SOURCES[name].anomalies else None)
    site.on(f"/{source.path}", content)
    published = source.fetch(SourceRequest(), client, cache, silent)
    graph = published.graph
    assert isinstance(graph, Graph)
    assert published.provenance.files[0].size == len(content)
    if source.only:
        assert source.only == relation
        assert len(np.unique(graph.edges)) == graph.nodes <= N
        assert f"only relation {relation}; {N - graph.nodes} of {N} nodes" in "".join(published.provenance.notes)
    with pytest.raises(UsageError, match="has no symbols"):
        source.fetch(SourceRequest(("x",)), client, cache, silent)
    site.on(f"/{source.path}", b"<html><title>Sign in</title>")
    with pytest.raises(DataError, match=r"'Sign in' and status 200.*is kept and untouched"):
        source.fetch(SourceRequest(refresh=True), client, cache, silent)


@pytest.mark.parametrize(
    ("nodes", "features", "anomalies"),
    [(13_752, 767, 950), (5_195, 8_189, 300), (5_196, 8_188, 300), (5_196, 8_189, 299)],
)
def test_another_graph_is_not_taken_for_blogcatalog(site, client, cache, nodes, features, anomalies):
    """Such as Amazon's computers, of 13,752 products, behind an address that should have bloggers."""
    source = replace(SOURCES["blogcatalog-fraud"], base_url=site.url)
    site.on(f"/{source.path}", one_network(nodes, features, anomalies))
    published = r"the published graph has 5,196 nodes, 8,189 features, 300 anomalies\. So it is another graph"
    with pytest.raises(
        DataError, match=f"{nodes:,} nodes, {features:,} features, {anomalies:,} anomalies.*{published}"
    ):
        source.fetch(SourceRequest(), client, cache, silent)
    site.on(f"/{source.path}", one_network(5_196, 8_189, 300))
    assert source.fetch(SourceRequest(refresh=True), client, cache, silent).graph.nodes == 5_196


def one_network(nodes, features, anomalies):
    pairs = np.random.default_rng(0).integers(0, nodes, (2, 2 * nodes))
    return mat(
        Network=scipy.sparse.csr_matrix((np.ones(2 * nodes), pairs), shape=(nodes, nodes)),
        Attributes=scipy.sparse.eye(nodes, features, format="csc"),
        Label=np.arange(nodes) < anomalies,
    )


def test_relations_are_counted_too(site, client, cache):
    """Features and labels of the right graph do not make another network right."""
    parts = fraud("", "rur", "rtr", "rsr")
    counts = {name: expected_edges(parts[f"net_{name}"]).shape[1] for name in ("rur", "rtr", "rsr")}
    right = GraphSize(N, 5, int(LABELS.sum()), counts)
    source = replace(SOURCES["yelpchi-fraud"], base_url=site.url, sizes=(right,))
    site.on(f"/{source.path}", packed(**{"YelpChi.mat": mat(**parts)}))
    source.fetch(SourceRequest(), client, cache, silent)
    wrong = replace(source, sizes=(GraphSize(N, 5, right.anomalies, {**counts, "rtr": counts["rtr"] + 1}),))
    with pytest.raises(
        DataError, match=rf"{counts['rtr']} edges in rtr.*the published.*{counts['rtr'] + 1} edges in rtr"
    ):
        wrong.fetch(SourceRequest(), client, cache, silent)


def test_every_graph_source_pins_a_size():
    for name, dataset in PUBLISHED.items():
        source, spec = SOURCES[PULLABLE[dataset].source], attributed_graph(name)
        assert source.sizes
        # Its stand-in has the size of the graph as a task uses it.
        assert spec.features in {size.features for size in source.sizes}
        assert spec.nodes in {size.nodes for size in source.sizes}


def test_a_graph_of_yelpchis_size_stays_sparse():
    """45,954 nodes, 700,000 edges: a dense adjacency would need 17 GB."""
    n, m = 45_954, 700_000
    pairs = np.random.default_rng(0).integers(0, n, (2, m))
    network = scipy.sparse.csr_matrix((np.ones(m), pairs), shape=(n, n))
    file = io.BytesIO()
    scipy.io.savemat(
        file, {"Network": network + network.T, "Attributes": np.ones((n, 32)), "Label": np.arange(n) % 7 == 0}
    )
    content = file.getvalue()
    tracemalloc.start()
    graph = graph_from_mat(content, (NETWORK,), "here").to_graph("here")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert graph.edges.shape[1] > 690_000
    assert peak < 250e6


def test_no_module_here_imports_pickle():
    import openfingym.data.sources

    for path in Path(openfingym.data.sources.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text
