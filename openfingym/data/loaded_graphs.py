"""Graphs by name: the simulated stand-in, or the published graph once it has been pulled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.data.dataset import DatasetInfo, suggestion
from openfingym.data.graphs.attributed import simulate_graph
from openfingym.data.graphs.features import SparseRows
from openfingym.data.graphs.graph import Graph
from openfingym.data.graphs.motifs import GraphSet, ba_2motifs
from openfingym.data.graphs.table import DEFAULT_SEED, attributed_graph
from openfingym.errors import DataError

if TYPE_CHECKING:
    from openfingym.data.sources import Cache
    from openfingym.task import DataKind

PUBLISHED: Mapping[str, str] = {
    "amazon": "amazon-fraud-graph",
    "blogcatalog": "blogcatalog-fraud-graph",
    "cert": "cert-graph",
    "dblp": "dblp-graph",
    "imdb": "imdb-graph",
    "yelpchi": "yelpchi-fraud-graph",
}
"""Name of each simulated graph, and the dataset of :data:`~openfingym.data.sources.catalog.PULLABLE` for which it
stands."""
GRAPH_SETS = ("ba2motifs",)
"""Names of the sets of graphs."""
_NO_CLOCK = "none: a graph has no clock"
_NO_ACTIONS = "none: a graph has none"


@dataclass(frozen=True, eq=False)
class LoadedGraph:
    """A graph with its provenance."""

    graph: Graph
    info: DatasetInfo
    """Provenance, in which ``rows`` is the number of nodes and ``sha256`` the digest of the graph."""


@dataclass(frozen=True, eq=False)
class LoadedGraphSet:
    """A set of graphs with its provenance."""

    graphs: GraphSet
    info: DatasetInfo
    """Provenance, in which ``rows`` is the number of graphs and ``sha256`` the digest of the set."""


def load_graph(name: str, *, real: bool = False, seed: int = DEFAULT_SEED, cache: Cache | None = None) -> LoadedGraph:
    """The graph of that name: the simulated stand-in, or with ``real`` the published one.

    Args:
        name: name of the graph, a key of :data:`PUBLISHED`.
        real: load the published graph, as it was last pulled; nothing is downloaded here.
        seed: seed of the simulated graph, unused with ``real``; the default is public.
        cache: where pulls are kept; the one in the store by default.

    Raises:
        DataError: no such graph (near misses are suggested), or the published one has not been pulled: the
            message is the command that does.
    """
    spec = attributed_graph(name)
    if real:
        return _published(name, cache)
    graph = simulate_graph(spec, seed).graph
    info = _info(
        name=f"{name}-graph-simulated",
        title=f"{spec.title}, simulated; {_size(graph)}",
        kind="simulated",
        source="seeded simulator of OpenFinGym (openfingym/data/graphs/attributed.py); stands in for the published "
        "graph",
        provenance=f"{spec.pattern.title}, seed {seed}; edge count: {spec.edges_from}",
        licence="Apache-2.0",
        rows=graph.nodes,
        sha256=graph.digest,
        notes=(
            "no node, edge or feature is of the published graph; docs/data.md says which ranks of detectors it keeps",
        ),
    )
    return LoadedGraph(graph, info)


def load_graph_set(name: str, *, seed: int = DEFAULT_SEED) -> LoadedGraphSet:
    """The set of graphs of that name; ``ba2motifs`` is the only one, and specified by its paper.

    Raises:
        DataError: there is none of that name; near misses are suggested.
    """
    if name not in GRAPH_SETS:
        raise DataError(f"no set of graphs {name!r}{suggestion(name, GRAPH_SETS)}")
    graphs = ba_2motifs(seed)
    info = _info(
        name=name,
        title=f"{len(graphs.labels):,} graphs with a house or a five-cycle, {graphs.features.shape[1]} constant "
        "features a node",
        kind="specified",
        source="BA-2motifs, Luo et al. (2020), PGExplainer",
        provenance=f"generated from its specification, seed {seed}; two shortcuts closed: edge counts balanced, nodes "
        "shuffled",
        licence="Apache-2.0",
        rows=len(graphs.labels),
        sha256=graphs.digest,
        notes=(
            "as specified, the number of edges and fixed adjacency entries give the class away; see docs/synthetic.md",
        ),
    )
    return LoadedGraphSet(graphs, info)


def _published(name: str, cache: Cache | None) -> LoadedGraph:
    from openfingym.data.sources import SOURCES
    from openfingym.data.sources import Cache as DefaultCache
    from openfingym.data.sources.catalog import last_pull
    from openfingym.data.sources.graph_sizes import may_be_of
    from openfingym.data.sources.record import read_published

    dataset = PUBLISHED[name]
    cache = cache or DefaultCache()
    record = last_pull(dataset, cache)
    if record is None:
        raise DataError(
            f"the published {name} graph has not been pulled. Run this once, with a network: openfingym data pull "
            f"{dataset}"
        )
    # Early versions pulled without looking at sizes, so the cache may hold another graph under this name.
    if not may_be_of(record.rows, record.columns, getattr(SOURCES[record.source], "sizes", ())):
        raise DataError(
            f"the {name} graph that was pulled at {record.pulled_at} has {record.rows:,} nodes and {record.columns:,} "
            f"features, which the published one has not; pull it again: openfingym data pull {dataset} --refresh"
        )
    graph = read_published(record, cache).graph
    info = _info(
        name=dataset,
        title=f"{attributed_graph(name).title}; {_size(graph)}",
        kind="real",
        source=record.publisher,
        provenance=f"pulled {record.pulled_at} from {record.base_url}, read by {record.parser}",
        licence=record.licence,
        rows=graph.nodes,
        sha256=graph.digest,
        notes=record.notes,
        originals=tuple((origin.url, origin.sha256) for origin in record.files),
    )
    return LoadedGraph(graph, info)


def _info(
    *,
    name: str,
    title: str,
    kind: DataKind,
    source: str,
    provenance: str,
    licence: str,
    rows: int,
    sha256: str,
    notes: tuple[str, ...],
    originals: tuple[tuple[str, str], ...] = (),
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        title=title,
        kind=kind,
        source=source,
        provenance=provenance,
        licence=licence,
        frequency="none",
        measure="mixed",
        unit="edges, features and a 0/1 label",
        calendar=_NO_CLOCK,
        corporate_actions=_NO_ACTIONS,
        first=None,
        last=None,
        rows=rows,
        channels=(),
        missing=0,
        sha256=sha256,
        notes=notes,
        originals=originals,
    )


def _size(graph: Graph) -> str:
    sort = " sparse" if isinstance(graph.features, SparseRows) else ""
    return (
        f"{graph.nodes:,} nodes, {graph.edge_count:,} edges, {graph.features.shape[1]:,}{sort} features, "
        f"{graph.anomaly_rate:.1%} anomalies"
    )
