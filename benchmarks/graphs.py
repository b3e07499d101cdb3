"""Loading and scoring a graph of YelpChi's size beside the fastest maintained alternative for each step.

Run ``python benchmarks/graphs.py``. Prints medians of CPU milliseconds and the ratio to the peer, measured in
turn in one process: SciPy for files and matrices, scikit-learn for scores, networkx as what most fraud code
loads graphs with (left out where it is not installed). Ours checks every edge, feature and label as it loads,
which no peer does.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import importlib.util
import io
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.io
from scipy.sparse import csr_array, load_npz, save_npz
from size import sized
from sklearn.metrics import average_precision_score, roc_auc_score

from openfingym.data.graphs import Graph, read_graph, write_graph
from openfingym.data.loaded_graphs import load_graph
from openfingym.data.sources.graph_layouts import NETWORK, graph_from_mat
from openfingym.metrics import classification

SECONDS = sized(1.0, 0.0)
Row = tuple[str, Callable[[], object], str, Callable[[], object]]


def main() -> None:
    start = time.process_time()
    graph = load_graph(sized("yelpchi", "cert")).graph
    generated = time.process_time() - start
    print(
        f"{graph.nodes:,} nodes, {graph.edge_count:,} edges, {graph.features.shape[1]} features; generated in "
        f"{generated:.2f} s of CPU\n"
    )
    print(f"{'step':<34}{'ours ms':>10}  {'peer':<30}{'peer ms':>10}{'ours / peer':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for name, ours, peer, theirs in rows(graph, Path(folder)):
            mine, others = alternate(ours, theirs)
            print(f"{name:<34}{1e3 * mine:>10.2f}  {peer:<30}{1e3 * others:>10.2f}{mine / others:>13.2f}")
    print(f"\npeak memory of all of this: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def rows(graph: Graph, folder: Path) -> Iterator[Row]:
    pairs = graph.edges
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    matrix = csr_array((np.ones(both.shape[1]), both), shape=(graph.nodes, graph.nodes))
    write_graph(graph, folder / "ours")
    save_npz(folder / "adjacency.npz", matrix, compressed=False)
    np.savez(folder / "nodes.npz", features=graph.features, labels=graph.labels)

    def theirs() -> object:
        with np.load(folder / "nodes.npz") as nodes:
            return load_npz(folder / "adjacency.npz"), nodes["features"], nodes["labels"]

    yield "load from files, checked", lambda: read_graph(folder / "ours"), "scipy.sparse.load_npz, np.load", theirs
    yield (
        "check a graph in memory",
        lambda: Graph(pairs, graph.features, graph.labels),
        "csr_array(...)",
        lambda: _matrix(both, graph.nodes),
    )
    file = io.BytesIO()
    scipy.io.savemat(
        file, {"Network": matrix, "Attributes": graph.features, "Label": graph.labels[:, None]}, do_compression=True
    )
    content = file.getvalue()
    yield (
        "read a published .mat file",
        lambda: graph_from_mat(content, (NETWORK,), "x").to_graph("x"),
        "scipy.io.loadmat",
        lambda: scipy.io.loadmat(io.BytesIO(content)),
    )
    # A cached property: a new graph each time.
    fresh = lambda: Graph(pairs, graph.features, graph.labels).adjacency  # noqa: E731
    yield "neighbour lists, check included", fresh, "csr_array(...)", lambda: _matrix(both, graph.nodes)
    yield from networkx_rows(graph, folder)
    scores = np.random.default_rng(0).normal(size=graph.nodes) + graph.labels
    labels = graph.labels
    yield (
        "AUROC",
        lambda: classification.auroc(labels, scores),
        "sklearn roc_auc_score",
        lambda: roc_auc_score(labels, scores),
    )
    yield (
        "average precision",
        lambda: classification.average_precision(labels, scores),
        "sklearn average_precision_score",
        lambda: average_precision_score(labels, scores),
    )


def networkx_rows(graph: Graph, folder: Path) -> Iterator[Row]:
    if importlib.util.find_spec("networkx") is None:
        print("networkx is not installed and left out")
        return
    import networkx as nx

    np.savetxt(folder / "edges.txt", graph.edges.T, fmt="%d")
    pairs = graph.edges.T.tolist()
    load = lambda: read_graph(folder / "ours").adjacency  # type: ignore[union-attr]  # noqa: E731
    yield (
        "load and neighbour lists",
        load,
        "networkx.read_edgelist",
        lambda: nx.read_edgelist(folder / "edges.txt", nodetype=int),
    )
    fresh = lambda: Graph(graph.edges, graph.features, graph.labels).degrees  # noqa: E731
    yield "graph and degrees", fresh, "networkx.Graph(edges).degree", lambda: dict(nx.Graph(pairs).degree)


def _matrix(both: np.ndarray[tuple[int, ...], np.dtype[np.int64]], nodes: int) -> object:
    return csr_array((np.ones(both.shape[1]), both), shape=(nodes, nodes))


def alternate(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Median CPU seconds of each, taken in turn."""
    times: tuple[list[float], list[float]] = [], []
    end = time.process_time() + SECONDS
    while time.process_time() < end or len(times[0]) < sized(5, 1):
        for call, taken in zip((ours, theirs), times, strict=True):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
    return statistics.median(times[0]), statistics.median(times[1])


if __name__ == "__main__":
    main()
