"""The six published node-anomaly graphs as simulated stand-ins, by the sizes of Table 9 of the OpenFinGym paper."""

from __future__ import annotations

from openfingym.data.dataset import suggestion
from openfingym.data.graphs.anomalies import Organic, OrganicGroups, OtherClass, StandardInjection
from openfingym.data.graphs.attributed import AttributedGraph
from openfingym.data.graphs.words import NodeWords
from openfingym.errors import DataError

DEFAULT_SEED = 20260630
"""Seed of the stand-ins unless a caller names another."""

_PUBLISHED = "Qiao and Pang 2023 (arXiv 2306.00006), key statistics of the data sets"
_OURS = "chosen here; Table 9 gives none"

_GRAPHS = (
    AttributedGraph(
        "amazon",
        "Products of an online shop",
        nodes=10_224,
        edges=175_608,
        features=25,
        anomalies=693,
        edges_from=_PUBLISHED,
        pattern=Organic(likeness=0.167, shift=2.0, spread=1.02),
        separation=0.35,
    ),
    AttributedGraph(
        "blogcatalog",
        "Bloggers and their tags",
        nodes=5_196,
        edges=171_743,
        features=8_189,
        anomalies=300,
        edges_from=_PUBLISHED,
        pattern=StandardInjection(),
        words=NodeWords(70.0),
    ),
    AttributedGraph(
        "yelpchi",
        "Reviews by the same user",
        nodes=23_831,
        edges=49_315,
        features=32,
        anomalies=1_217,
        edges_from=_PUBLISHED,
        pattern=OrganicGroups(likeness=0.909, shift=1.0, spread=0.98),
        tail=3.4,
        separation=0.25,
    ),
    AttributedGraph(
        "dblp",
        "Authors who publish together",
        nodes=4_057,
        edges=20_000,
        features=334,
        anomalies=284,
        edges_from=_OURS,
        pattern=OtherClass(),
        words=NodeWords(28.0),
        communities=4,
    ),
    AttributedGraph(
        "imdb",
        "Films with a person in common",
        nodes=4_780,
        edges=55_000,
        features=1_232,
        anomalies=335,
        edges_from=_OURS,
        pattern=OtherClass(),
        words=NodeWords(20.0),
        communities=3,
    ),
    AttributedGraph(
        "cert",
        "Users who mail each other",
        nodes=1_000,
        edges=6_000,
        features=6,
        anomalies=70,
        edges_from=_OURS,
        pattern=Organic(likeness=0.07, shift=1.5, spread=1.0),
        communities=6,
        separation=0.3,
    ),
)


def attributed_graphs() -> list[AttributedGraph]:
    """All six graphs, by name. Every one is ``simulated``."""
    return sorted(_GRAPHS, key=lambda spec: spec.name)


def attributed_graph(name: str) -> AttributedGraph:
    """The graph of that name.

    Raises:
        DataError: there is no such graph; near misses are suggested.
    """
    for spec in _GRAPHS:
        if spec.name == name:
            return spec
    raise DataError(f"no graph {name!r}{suggestion(name, [spec.name for spec in attributed_graphs()])}")
