"""One reader a form in which people keep a graph: an edge list, GraphML, MATLAB, and NumPy's archive.

| ending | read as |
|---|---|
| ``.csv``, ``.tsv``, ``.txt``, ``.edges`` (also ``.gz``) | an edge list: the first two columns are nodes |
| ``.graphml``, ``.xml`` | GraphML: an attribute of nodes that is 0 or 1 is the label, the numeric others are features |
| ``.mat`` | MATLAB 5: an adjacency matrix, features and labels by the names of :data:`ADJACENCY` and the next two |
| ``.npz`` | one sparse matrix of SciPy; or named arrays, as above or as PyTorch Geometric has them |
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.csvfile import repeated
from openfingym.data.graphs import SparseRows
from openfingym.data.own.cells import author_bytes, examples, read_cells
from openfingym.data.sources.graph_files import (
    feature_matrix,
    label_vector,
    read_mat,
    read_npz,
    require_numbers,
    sparse_matrix,
)
from openfingym.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADJACENCY = ("Network", "homo", "A", "adj", "adj_matrix")
"""Names under which files have a graph's adjacency matrix, by preference."""
FEATURES = ("Attributes", "features", "feature", "attr", "attr_matrix", "X", "x")
"""Names under which files have the features of the nodes, by preference."""
LABELS = ("Label", "label", "labels", "gnd", "y")
"""Names under which files have the labels of the nodes, by preference."""
PAIRS = ("edge_index", "edges")
"""Names under which files have the pairs of nodes that are joined, in place of an adjacency matrix."""
EDGE_LISTS = (".csv", ".tsv", ".txt", ".edges")
"""Endings of files that are read as edge lists."""
NODE_LABELS = ("anomaly", "fraud", "label", "y", "class")
"""Attributes of GraphML nodes that are a label, if 0 or 1 everywhere; in this order."""
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
"""Name space of GraphML, as ElementTree puts it before every tag."""
NUMERIC = frozenset({"int", "long", "float", "double", "boolean"})
"""GraphML's types of attributes that are numbers."""
TRUTH = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
"""Texts that are a label, in lower case, and the label."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What one file says about a graph."""

    where: str
    """Name of the file, for messages."""
    names: list[str] | None
    """Names of the nodes where the file has them, in its order; numbers from 0 on if None."""
    pairs: NDArray[np.int64]
    """int64[2, m], places in ``names``, as the file has them."""
    features: NDArray[np.float64] | SparseRows | None = None
    """Features of the nodes, one row for each; None where the file has none."""
    feature_names: tuple[str, ...] = ()
    """Names of the features; empty where the file has none."""
    labels: NDArray[np.int64] | None = None
    """The label of each node, a whole number; None where the file has none."""
    nodes: int | None = None
    """Number of nodes where the file says so."""
    notes: tuple[str, ...] = field(default=())
    """What of the file was left out, for people to read."""


def read_parts(path: Path, known: set[str]) -> Parts:
    """Read a file with edges.

    Args:
        path: path of the author's file with the edges.
        known: names of nodes that a file of labels has, which tell an edge list's header from an edge; may be empty.

    Raises:
        UsageError: no form has such an ending.
        DataError: the file is not of that form.
    """
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending in EDGE_LISTS:
        return _edge_list(path, known)
    if ending not in READERS:
        endings = ", ".join((*EDGE_LISTS, *READERS))
        raise UsageError(f"{path}: no graph is read from a file that ends in {ending!r}; known: {endings}")
    return READERS[ending](path)


def _edge_list(path: Path, known: set[str]) -> Parts:
    cells = read_cells(path)
    if cells.width < 2:
        raise DataError(f"{path}: one column; an edge list has two, the nodes that are joined")
    # The first row is a header, unless both of its cells are nodes: known ones, or numbers where none are known.
    head = cells.header()[:2]
    first = 0 if known and set(head) <= known else 1
    if not known and all(name.lstrip("-").isdigit() for name in head):
        first = 0
    ends = [cells.column(place, first) for place in (0, 1)]
    for place, names in enumerate(ends):
        if "" in names:
            raise DataError(f"{path}, row {names.index('') + first + 1}, column {place + 1}: no node is named")
    names = list(dict.fromkeys(name for pair in zip(*ends, strict=True) for name in pair))
    number = {name: place for place, name in enumerate(names)}
    pairs = np.array([[number[name] for name in column] for column in ends], dtype=np.int64).reshape(2, -1)
    extra = cells.header()[2:] if first else [f"column {place + 1}" for place in range(2, cells.width)]
    notes = (f"left out of the edges: {', '.join(extra)}",) if extra else ()
    return Parts(str(path), names, pairs, notes=notes)


def _graphml(path: Path) -> Parts:
    from xml.etree import ElementTree as ET

    content = author_bytes(path)
    # Entities can make a small file huge, and no tool that writes GraphML declares any.
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError(f"{path}: declares a document type or entities, which are not read; remove the declaration")
    try:
        root = ET.fromstring(content)  # noqa: S314 - nothing that expands is left
    except ET.ParseError as error:
        raise DataError(f"{path}: not XML ({error})") from None
    # Some tools write GraphML's name space and some do not.
    for element in root.iter():
        element.tag = element.tag.removeprefix(GRAPHML)
    graph = root.find("graph")
    if root.tag != "graphml" or graph is None:
        raise DataError(f"{path}: no GraphML; expected <graphml> with a <graph>, found <{root.tag}>")
    nodes = graph.findall("node")
    names = [node.get("id", "") for node in nodes]
    number = {name: place for place, name in enumerate(names)}
    if twice := repeated(names):
        raise DataError(f"{path}: nodes that are there twice: {examples(twice)}")
    ends = [(edge.get("source", ""), edge.get("target", "")) for edge in graph.findall("edge")]
    if strange := [name for pair in ends for name in pair if name not in number]:
        raise DataError(f"{path}: edges name nodes that are not there: {examples(dict.fromkeys(strange))}")
    pairs = np.array([[number[a], number[b]] for a, b in ends], dtype=np.int64).reshape(-1, 2).T
    columns, left = _attributes(root, nodes, str(path))
    label = next((name for name in NODE_LABELS if set(columns.get(name, ())) in ({0.0, 1.0}, {0.0}, {1.0})), None)
    labels = None if label is None else np.array(columns.pop(label)).astype(np.int64)
    features = np.array(list(columns.values())).T if columns else None
    notes = (f"left out of the nodes, since they are no numbers: {', '.join(left)}",) if left else ()
    return Parts(str(path), names, pairs, features, tuple(columns), labels, len(names), notes)


def _attributes(root: Any, nodes: list[Any], where: str) -> tuple[dict[str, list[float]], list[str]]:
    """The attributes of all nodes that are numbers, by name, and the names of the others."""
    columns: dict[str, list[float]] = {}
    left = []
    # Of several texts for one attribute the first counts, so that it comes last here.
    own = [{data.get("key"): data.text for data in reversed(node.findall("data"))} for node in nodes]
    for key in root.findall("key"):
        name = key.get("attr.name", key.get("id", ""))
        if key.get("for", "all") not in {"node", "all"}:
            continue
        default = key.findtext("default")
        texts = [(values.get(key.get("id"), default) or "").strip().lower() for values in own]
        if key.get("attr.type") not in NUMERIC and not (name in NODE_LABELS and set(texts) <= TRUTH.keys()):
            left.append(name)
            continue
        values = []
        for node, text in zip(nodes, texts, strict=True):
            try:
                values.append(float(TRUTH.get(text, text)))
            except ValueError:
                raise DataError(
                    f"{where}, node {node.get('id')!r}, {name}: {text!r} is no number; fill or remove it first"
                ) from None
        columns[name] = values
    return columns, left


def _mat(path: Path) -> Parts:
    return _of_arrays(read_mat(author_bytes(path), str(path), {*ADJACENCY, *FEATURES, *LABELS, *PAIRS}), str(path))


def _npz(path: Path) -> Parts:
    arrays: dict[str, Any] = dict(read_npz(author_bytes(path), str(path)))
    if "format" in arrays and "data" in arrays:
        matrix = sparse_matrix(arrays, str(path))
        return _of_arrays({"adj": matrix}, str(path))
    # Archives of the node-classification benchmarks hold each sparse matrix as four arrays with a common beginning.
    for name in [name.removesuffix("_indptr") for name in arrays if name.endswith("_indptr")]:
        parts = {part: arrays.pop(f"{name}_{part}", None) for part in ("data", "indices", "indptr", "shape")}
        if any(part is None for part in parts.values()):
            raise DataError(f"{path}: {name} is a sparse matrix without all of data, indices, indptr and shape")
        arrays[name] = sparse_matrix({**parts, "format": np.array(b"csr")}, f"{path}, {name}")
    return _of_arrays(arrays, str(path))


def _of_arrays(arrays: Mapping[str, Any], where: str) -> Parts:
    """Named arrays and matrices as parts of a graph."""
    features, labels, adjacency, listed = (
        _first(arrays, names, where) for names in (FEATURES, LABELS, ADJACENCY, PAIRS)
    )
    if (adjacency is None) == (listed is None):
        raise DataError(
            f"{where}: needs either an adjacency matrix ({', '.join(ADJACENCY)}) or pairs of nodes "
            f"({', '.join(PAIRS)}); found {', '.join(sorted(arrays)) or 'none of these'}"
        )
    nodes: int | None = None if features is None else int(features.shape[0])
    if adjacency is not None:
        nodes = int(adjacency.shape[0])
        if adjacency.shape != (nodes, nodes):
            raise DataError(f"{where}: an adjacency of shape {list(adjacency.shape)}; expected as many rows as columns")
        pairs = np.stack(adjacency.nonzero()).astype(np.int64)
    else:
        assert listed is not None
        pairs = np.asarray(listed)
        # PyTorch Geometric has 2 x edges; others write one edge a row.
        if pairs.ndim == 2 and pairs.shape[0] != 2 and pairs.shape[1] == 2:
            pairs = pairs.T
        if pairs.ndim != 2 or pairs.shape[0] != 2 or (pairs != np.round(pairs)).any():
            raise DataError(f"{where}: pairs of nodes of shape {list(pairs.shape)}; expected whole numbers, 2 x edges")
        pairs = pairs.astype(np.int64)
        if nodes is None:
            nodes = int(np.size(labels)) if labels is not None else int(pairs.max(initial=-1)) + 1
    if (strange := pairs[(pairs < 0) | (pairs >= nodes)]).size:
        raise DataError(f"{where}: an edge names node {strange[0]}, but there are {nodes} nodes, numbered from 0")
    matrix = None if features is None else feature_matrix(_without_types(features), where)
    whole = None if labels is None else label_vector(labels, nodes, where)
    return Parts(where, None, pairs, matrix, (), whole, nodes)


def _without_types(features: Any) -> Any:
    """The features as float64, whatever numbers the file holds."""
    if not isinstance(features, np.ndarray):
        return importlib.import_module("scipy.sparse").csr_array(features).astype(np.float64)
    return features.astype(np.float64)


def _first(arrays: Mapping[str, Any], names: tuple[str, ...], where: str) -> Any:
    """The first array of numbers that is there under one of the names; None without one."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    require_numbers(arrays[name], repr(name), where)
    if not arrays[name].ndim:
        raise DataError(f"{where}: {name!r} is a single number; expected a list or a matrix")
    return arrays[name]


READERS: Mapping[str, Callable[[Path], Parts]] = {
    ".graphml": _graphml,
    ".xml": _graphml,
    ".mat": _mat,
    ".npz": _npz,
}
"""Readers of all forms but edge lists, by the ending of a file's name."""
