"""Graphs as a folder of plain ``.npy`` files, one an array.

Not ``.npz``: the bytes of a zip archive depend on the versions of Python and zlib that wrote it, so that
equal graphs would not always be equal files. Nothing is pickled, in either direction.

::

    edges.npy                       int64[2, m]
    labels.npy                      int8[n]
    features.npy                    float64[n, f]         dense features, or
    features_{indptr,indices,values,shape}.npy            sparse ones
    offsets.npy                     int64[g + 1]          a set of graphs only
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.graphs.features import SparseRows
from openfingym.data.graphs.graph import Graph, graph_arrays
from openfingym.data.graphs.motifs import GraphSet, graph_set_arrays
from openfingym.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[np.generic]"]


def graph_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Graph | GraphSet:
    """The graph that is stored as these arrays; a set of graphs where ``offsets`` is among them.

    Raises:
        DataError: an array is missing, or they make no valid graph.
    """
    edges, labels = _need(arrays, "edges"), _need(arrays, "labels")
    if "features" in arrays:
        features: SparseRows | NDArray[np.float64] = arrays["features"]
    else:
        shape = _need(arrays, "features_shape").tolist()
        indptr, indices, values = (_need(arrays, f"features_{part}") for part in ("indptr", "indices", "values"))
        features = SparseRows(indptr, indices, values, shape[-1])
        if list(features.shape) != shape:
            raise DataError(f"features_shape says {shape}, but the rows make {list(features.shape)}")
    if "offsets" in arrays:
        return GraphSet(edges, arrays["offsets"], features, labels)
    return Graph(edges, features, labels)


def write_graph(graph: Graph | GraphSet, folder: Path) -> None:
    """Write a graph into ``folder``, which is made if it is not there. Equal graphs give equal bytes.

    Raises:
        DataError: the folder cannot be written, or holds ``.npy`` files already.
    """
    arrays = graph_arrays(graph) if isinstance(graph, Graph) else graph_set_arrays(graph)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # An array left over from another graph would be read as part of this one.
        if any(folder.glob("*.npy")):
            raise DataError(f"{folder}: holds .npy files already; name an empty folder")
        for name, array in arrays.items():
            little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            np.save(folder / f"{name}.npy", little, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error})") from error


def read_graph(folder: Path) -> Graph | GraphSet:
    """Read a graph that :func:`write_graph` wrote.

    Raises:
        DataError: a file is missing or damaged, or the arrays make no valid graph.
    """
    arrays: Arrays = {}
    for path in sorted(folder.glob("*.npy")):
        try:
            arrays[path.stem] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path}: not a readable .npy file ({error})") from error
    try:
        return graph_from_arrays(arrays)
    except DataError as error:
        raise DataError(f"{folder}: {error}") from error


def _need(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise DataError(f"array {name!r} is missing; found {', '.join(sorted(arrays)) or 'none'}")
    return arrays[name]
