"""Sparse graphs with labels: by name, validation, files, splits, BA-2motifs and simulated stand-ins."""

from openfingym.data.graphs.attributed import AttributedGraph, InjectedGraph, simulate_graph
from openfingym.data.graphs.features import SparseRows
from openfingym.data.graphs.files import graph_from_arrays, read_graph, write_graph
from openfingym.data.graphs.graph import Graph, graph_arrays, undirected
from openfingym.data.graphs.injection import inject_contextual
from openfingym.data.graphs.motifs import GraphSet, ba_2motifs, graph_set_arrays
from openfingym.data.graphs.split import LabelSplit, stratified_split, visible_labels
from openfingym.data.graphs.table import DEFAULT_SEED, attributed_graph, attributed_graphs
from openfingym.data.graphs.words import NodeWords

__all__ = [
    "DEFAULT_SEED",
    "AttributedGraph",
    "Graph",
    "GraphSet",
    "InjectedGraph",
    "LabelSplit",
    "NodeWords",
    "SparseRows",
    "attributed_graph",
    "attributed_graphs",
    "ba_2motifs",
    "graph_arrays",
    "graph_from_arrays",
    "graph_set_arrays",
    "inject_contextual",
    "read_graph",
    "simulate_graph",
    "stratified_split",
    "undirected",
    "visible_labels",
    "write_graph",
]
