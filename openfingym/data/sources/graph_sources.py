"""Sources of the published graphs: Amazon, BlogCatalog, YelpChi, DBLP and IMDB.

Table 9 of the OpenFinGym paper takes its graphs from Zheng et al. (2025). Amazon and YelpChi are
there the single-relation versions: the nodes that have an edge in users-who-reviewed-a-common-product
(``upu``) and reviews-by-one-user (``rur``). The published files hold all nodes and three relations,
and the sources here cut them in that way. DBLP and IMDB are published with classes and without
anomalies; injecting those is a step of the task, not of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openfingym.data.sources import graph_layouts as layouts
from openfingym.data.sources.cells import unzip, zip_names
from openfingym.data.sources.graph import Graph
from openfingym.data.sources.source import Request, refuse
from openfingym.data.sources.table import Provenance

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "graph-files/1"
GIVES = "edges by relation, node features, labels or classes"


@dataclass(frozen=True)
class MatGraph:
    """A graph in one MATLAB file, bare or the only one in a zip archive."""

    name: str
    base_url: str
    path: str
    publisher: str
    licence: str
    layouts: tuple[layouts.MatLayout, ...]
    only: str | None = None
    """Relation to cut the graph down to, leaving out nodes without an edge in it."""
    stated_nodes: int | None = None
    """Number of nodes in Table 9; another number is noted, not refused, since publishers correct files."""
    notes: tuple[str, ...] = ()
    frequency: str = "none"
    gives: str = GIVES

    def fetch(self, request: Request, client: Client, cache: Cache, progress: Progress) -> Graph:
        """The graph; the request names nothing. See :class:`Source`."""
        refuse(self.name, request, "symbols", "start", "end", "interval")
        zipped = self.path.endswith(".zip")
        url = f"{self.base_url}/{self.path}"
        entry = cache.fetch(client, url, kind="zip" if zipped else "mat", refresh=request.refresh, progress=progress)
        content = cache.read(entry)
        if zipped:
            _, content = unzip(content, self.name, lambda name: name.lower().endswith(".mat"))
        provenance = Provenance(self.name, self.publisher, self.licence, PARSER, (entry.origin,), self.notes)
        graph = layouts.graph_from_mat(content, self.layouts, provenance)
        # A file that has one network only was cut by whoever published it.
        if self.only is not None and self.only in graph.relations:
            graph = graph.without_isolated(self.only)
        return _counted(graph, self.stated_nodes)


@dataclass(frozen=True)
class Dblp:
    """DBLP authors, in any of the three forms in which the graph is published."""

    name: str = "dblp"
    base_url: str = "https://www.dropbox.com"
    path: str = "s/yh4grpeks87ugr2/DBLP_processed.zip?dl=1"
    publisher: str = "DBLP subset of Fu et al. (2020), MAGNN; four areas of computer science"
    licence: str = "DBLP data are CC0-1.0; no licence is stated for the processed files, so they are never bundled"
    frequency: str = "none"
    gives: str = "edges by common paper (apa) and common conference (apcpa), 334 features, the author's area as class"

    def fetch(self, request: Request, client: Client, cache: Cache, progress: Progress) -> Graph:
        """The graph; the request names nothing. See :class:`Source`."""
        refuse(self.name, request, "symbols", "start", "end", "interval")
        mat = self.path.partition("?")[0].endswith(".mat")
        url = f"{self.base_url}/{self.path}"
        entry = cache.fetch(client, url, kind="mat" if mat else "zip", refresh=request.refresh, progress=progress)
        content = cache.read(entry)
        provenance = Provenance(
            self.name, self.publisher, self.licence, PARSER, (entry.origin,), ("no anomalies are labelled; see classes",)
        )
        if mat:
            injected = replace(provenance, notes=())
            graph = layouts.graph_from_mat(content, (layouts.HAN_DBLP, layouts.INJECTED), provenance)
            graph = graph if graph.labels is None else replace(graph, provenance=injected)
        else:
            graph = (layouts.dblp_from_dat if "node.dat" in zip_names(content, self.name) else layouts.dblp_from_npz)(content, provenance)
        return _counted(graph, 4057)


def _counted(graph: Graph, stated: int | None) -> Graph:
    if stated is None or graph.nodes == stated:
        return graph
    note = f"{graph.nodes} nodes, where Table 9 of the OpenFinGym paper states {stated}"
    return replace(graph, provenance=replace(graph.provenance, notes=(*graph.provenance.notes, note)))


AMAZON = MatGraph(
    name="amazon-fraud",
    base_url="https://data.dgl.ai",
    path="dataset/FraudAmazon.zip",
    publisher="Amazon reviewers of musical instruments, Dou et al. (2020), as distributed by the Deep Graph Library",
    licence="no licence stated for the processed files; for your own use, never bundled",
    layouts=(layouts.FRAUD_AMAZON, layouts.NETWORK),
    only="upu",
    stated_nodes=10224,
    notes=("the first 3305 nodes of the full file have no label of their own there and count as 0",),
)
YELPCHI = MatGraph(
    name="yelpchi-fraud",
    base_url="https://data.dgl.ai",
    path="dataset/FraudYelp.zip",
    publisher="Yelp reviews of Chicago hotels and restaurants, Dou et al. (2020), as distributed by the Deep Graph Library",
    licence="no licence stated for the processed files; for your own use, never bundled",
    layouts=(layouts.FRAUD_YELP, layouts.NETWORK),
    only="rur",
    stated_nodes=23831,
)
BLOGCATALOG = MatGraph(
    name="blogcatalog-fraud",
    base_url="https://raw.githubusercontent.com",
    path="tyl419/OHATP/08d86887431e619ff1923ffbbf4ec44e14de616f/dataset/BlogCatalog.mat",
    publisher="BlogCatalog with the anomalies injected by Liu et al. (2021), CoLA, as carried by OHATP",
    licence="no licence stated for the data; for your own use, never bundled",
    layouts=(layouts.NETWORK, layouts.NETWORK_SHORT),
    stated_nodes=5196,
)
IMDB = MatGraph(
    name="imdb",
    base_url="https://raw.githubusercontent.com",
    path="chenzl23/AMOGCN/4729a71fc905c2dc791df9eebdb1e34d0d3a8e06/data/imdb5k.mat",
    publisher="IMDB 5K movies, Wang et al. (2019), HAN, as carried by AMOGCN",
    licence="no licence stated for the data; for your own use, never bundled",
    layouts=(layouts.HAN_IMDB, layouts.INJECTED),
    stated_nodes=4780,
)
MAT_GRAPHS: Mapping[str, MatGraph] = {source.name: source for source in (AMAZON, YELPCHI, BLOGCATALOG, IMDB)}
