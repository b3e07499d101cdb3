"""The six published node-anomaly graphs as simulated stand-ins, by the sizes of Table 9 of the OpenFinGym paper."""

from __future__ import annotations

from openfingym.data.dataset import suggestion
from openfingym.data.graphs.anomalies import Organic, OrganicGroups, OtherClass, StandardInjection
from openfingym.data.graphs.attributed import AttributedGraph
from openfingym.data.graphs.words import NodeWords
from openfingym.errors import DataError

DEFAULT_SEED = 20260630

_PUBLISHED = "Qiao and Pang 2023 (arXiv 2306.00006), key statistics of the data sets"
_OURS = "chosen here; Table 9 gives none"

_GRAPHS = (
    AttributedGraph(
        "amazon",
        "Products of an online shop",
        10_224,
        175_608,
        25,
        693,
        _PUBLISHED,
        Organic(likeness=0.167, shift=2.0, spread=1.02),
        separation=0.35,
    ),
    AttributedGraph(
        "blogcatalog",
        "Bloggers and their tags",
        5_196,
        171_743,
        8_189,
        300,
        _PUBLISHED,
        StandardInjection(),
        words=NodeWords(70.0),
    ),
    AttributedGraph(
        "yelpchi",
        "Reviews by the same user",
        23_831,
        49_315,
        32,
        1_217,
        _PUBLISHED,
        OrganicGroups(likeness=0.909, shift=1.0, spread=0.98),
        tail=3.4,
        separation=0.25,
    ),
    AttributedGraph(
        "dblp",
        "Authors who publish together",
        4_057,
        20_000,
        334,
        284,
        _OURS,
        OtherClass(),
        words=NodeWords(28.0),
        communities=4,
    ),
    AttributedGraph(
        "imdb",
        "Films with a person in common",
        4_780,
        55_000,
        1_232,
        335,
        _OURS,
        OtherClass(),
        words=NodeWords(20.0),
        communities=3,
    ),
    AttributedGraph(
        "cert",
        "Users who mail each other",
        1_000,
        6_000,
        6,
        70,
        _OURS,
        Organic(likeness=0.07, shift=1.5, spread=1.0),
        communities=6,
        separation=0.3,
    ),
)


def attributed_graphs() -> list[AttributedGraph]:
    """All six graphs, by name. Every one is ``simulated``."""
    return sorted(_GRAPHS, key=lambda spec: spec.name)


def attributed_graph(name: str) -> AttributedGraph:
    """The one of that name.

    Raises:
        DataError: there is none; near misses are suggested.
    """
    for spec in _GRAPHS:
        if spec.name == name:
            return spec
    raise DataError(f"no graph {name!r}{suggestion(name, [spec.name for spec in attributed_graphs()])}")
