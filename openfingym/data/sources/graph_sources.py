"""Sources of the published graphs: Amazon, BlogCatalog, YelpChi, DBLP and IMDB.

Table 9 of the OpenFinGym paper takes its graphs from Zheng et al. (2025). Amazon and YelpChi are
there the single-relation versions: the nodes that have an edge in users-who-reviewed-a-common-product
(``upu``) and reviews-by-one-user (``rur``). The published files hold all nodes and three relations,
and the sources here cut them in that way. DBLP and IMDB are published with classes and without
anomalies, so as many as Table 9 counts are injected here (:mod:`openfingym.data.graphs.injection`),
and a note says so; a file that labels its own is taken as it is. Several relations are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from openfingym.data.graphs.injection import inject_contextual
from openfingym.data.sources import graph_layouts as layouts
from openfingym.data.sources.cells import unzip, zip_names
from openfingym.data.sources.graph_sizes import GraphSize, require_size
from openfingym.data.sources.source import PublishedGraph, SourceRequest, refuse
from openfingym.data.sources.table import DataProvenance

if TYPE_CHECKING:
    from openfingym.data.sources.cache import Cache
    from openfingym.data.sources.progress import Progress
    from openfingym.data.sources.transport import Client

PARSER = "graph-files/1"
"""Name and version of this reader; a version that reads files differently must have another number."""
GIVES = "edges, node features, anomaly labels"
INJECTION_SEED = 20260702
"""Seed of the anomalies that are injected, the same for everybody who pulls."""


@dataclass(frozen=True)
class MatGraph:
    """A graph in one MATLAB file, bare or the only one in a zip archive."""

    name: str
    base_url: str
    path: str
    """Path of the file at ``base_url``."""
    publisher: str
    licence: str
    layouts: tuple[layouts.MatLayout, ...]
    """Layouts that the file may have, of which the first that fits is used."""
    only: str | None = None
    """Relation that the graph is cut down to, without the nodes that have no edge in it; None for the whole graph."""
    sizes: tuple[GraphSize, ...] = ()
    """Sizes of the published graph, one for each form of its file; a file of none of them is refused."""
    anomalies: int | None = None
    """Number of anomalies to inject where the file has classes; None where it labels anomalies of its own."""
    notes: tuple[str, ...] = ()
    """What users of the graph should know, for its provenance."""
    frequency: str = "none"
    gives: str = GIVES
    lag_days: int | None = None

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> PublishedGraph:
        """The graph; nothing may be chosen by the request. See :class:`DataSource`."""
        refuse(self.name, request, "symbols", "start", "end", "interval")
        zipped = self.path.endswith(".zip")
        url = f"{self.base_url}/{self.path}"
        entry = cache.fetch(client, url, kind="zip" if zipped else "mat", refresh=request.refresh, progress=progress)
        content = cache.read(entry)
        if zipped:
            _, content = unzip(content, self.name, lambda name: name.lower().endswith(".mat"))
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, (entry.origin,), self.notes)
        file = layouts.graph_from_mat(content, self.layouts, self.name)
        require_size(file, self.sizes, self.name)
        # A file with one network alone does not name the relation: whoever published it has cut it already.
        if self.only is not None and self.only in file.relations:
            file, gone = file.without_isolated(self.only)
            note = (
                f"only relation {self.only}; {gone} of {gone + file.nodes} nodes without an edge in it left out, the "
                "rest renumbered"
            )
            provenance = provenance.noting(note)
        return _published(file, provenance, self.anomalies)


@dataclass(frozen=True)
class Dblp:
    """DBLP authors, in any of the three forms in which the graph is published."""

    name: str = "dblp"
    base_url: str = "https://www.dropbox.com"
    path: str = "s/yh4grpeks87ugr2/DBLP_processed.zip?dl=1"
    publisher: str = "DBLP subset of Fu et al. (2020), MAGNN; four areas of computer science"
    licence: str = "DBLP data are CC0-1.0; no licence is stated for the processed files, so they are never bundled"
    frequency: str = "none"
    gives: str = "edges by common paper or common conference, 334 features, injected anomalies"
    anomalies: int = 284
    sizes: tuple[GraphSize, ...] = (GraphSize(4_057, 334, 284),)
    lag_days: int | None = None

    def fetch(self, request: SourceRequest, client: Client, cache: Cache, progress: Progress) -> PublishedGraph:
        """The graph; nothing may be chosen by the request. See :class:`DataSource`."""
        refuse(self.name, request, "symbols", "start", "end", "interval")
        mat = self.path.partition("?")[0].endswith(".mat")
        url = f"{self.base_url}/{self.path}"
        entry = cache.fetch(client, url, kind="mat" if mat else "zip", refresh=request.refresh, progress=progress)
        content = cache.read(entry)
        provenance = DataProvenance(self.name, self.publisher, self.licence, PARSER, (entry.origin,))
        if mat:
            file = layouts.graph_from_mat(content, (layouts.HAN_DBLP, layouts.INJECTED), self.name)
        else:
            read = layouts.dblp_from_dat if "node.dat" in zip_names(content, self.name) else layouts.dblp_from_npz
            file = read(content, self.name)
        require_size(file, self.sizes, self.name)
        return _published(file, provenance, self.anomalies)


def _published(file: layouts.GraphFile, provenance: DataProvenance, anomalies: int | None) -> PublishedGraph:
    """The graph of a file, with anomalies injected where it has only classes."""
    if len(file.relations) > 1:
        provenance = provenance.noting(f"relations {', '.join(file.relations)} merged")
    if file.labels is None and file.classes is not None and anomalies is not None:
        features, labels = inject_contextual(file.features, file.classes, anomalies, INJECTION_SEED)
        file = replace(file, features=features, labels=labels)
        note = (
            f"the publisher labels no anomalies: {anomalies} nodes were given features of another class here, seed "
            f"{INJECTION_SEED}"
        )
        provenance = provenance.noting(note)
    return PublishedGraph(file.to_graph(provenance.source), provenance)


_of_dgl = partial(
    MatGraph,
    base_url="https://data.dgl.ai",
    licence="no licence stated for the processed files; for your own use, never bundled",
)
_of_github = partial(
    MatGraph,
    base_url="https://raw.githubusercontent.com",
    licence="no licence stated for the data; for your own use, never bundled",
)
AMAZON = _of_dgl(
    name="amazon-fraud",
    path="dataset/FraudAmazon.zip",
    publisher="Amazon reviewers of musical instruments, Dou et al. (2020), as distributed by the Deep Graph Library",
    layouts=(layouts.FRAUD_AMAZON, layouts.NETWORK),
    only="upu",
    # The whole file as DGL states it, then the cut one: 10,244 nodes in Qiao and Pang (2023), 10,224 in Table 9.
    sizes=(
        GraphSize(11_944, 25, 821, {"upu": 175_608, "usu": 3_566_479, "uvu": 1_036_737}),
        GraphSize(10_244, 25, 693, {"network": 175_608}),
        GraphSize(10_224, 25, 693, {"network": 175_608}),
    ),
    notes=("the first 3305 nodes of the full file have no label of their own there and count as 0",),
)
YELPCHI = _of_dgl(
    name="yelpchi-fraud",
    path="dataset/FraudYelp.zip",
    publisher="Yelp reviews of Chicago hotels and restaurants, Dou et al. (2020), as distributed by the Deep Graph "
    "Library",
    layouts=(layouts.FRAUD_YELP, layouts.NETWORK),
    only="rur",
    sizes=(
        GraphSize(45_954, 32, 6_677, {"rur": 49_315, "rtr": 573_616, "rsr": 3_402_743}),
        GraphSize(23_831, 32, 1_217, {"network": 49_315}),
    ),
)
BLOGCATALOG = _of_github(
    name="blogcatalog-fraud",
    path="tyl419/OHATP/08d86887431e619ff1923ffbbf4ec44e14de616f/dataset/BlogCatalog.mat",
    publisher="BlogCatalog with the anomalies injected by Liu et al. (2021), CoLA, as carried by OHATP",
    layouts=(layouts.NETWORK, layouts.NETWORK_SHORT),
    # Its edges are counted before the injection everywhere, which adds some.
    sizes=(GraphSize(5_196, 8_189, 300),),
)
IMDB = _of_github(
    name="imdb",
    path="chenzl23/AMOGCN/4729a71fc905c2dc791df9eebdb1e34d0d3a8e06/data/imdb5k.mat",
    publisher="IMDB 5K movies, Wang et al. (2019), HAN, as carried by AMOGCN",
    layouts=(layouts.HAN_IMDB, layouts.INJECTED),
    sizes=(GraphSize(4_780, 1_232, 335),),
    anomalies=335,
)
MAT_GRAPHS: Mapping[str, MatGraph] = {source.name: source for source in (AMAZON, YELPCHI, BLOGCATALOG, IMDB)}
