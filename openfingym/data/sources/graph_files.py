"""Reading the files in which graph benchmarks are published: .mat, .npz and .dat, never pickle.

SciPy reads MATLAB files (version 5; version 7.3 is HDF5, and none of ours is one). ``.npz`` is
NumPy's archive with ``allow_pickle=False``; SciPy's sparse ``.npz`` stores plain arrays, so it is
read from those. ``.dat`` is the tab-separated form of the Heterogeneous Graph Benchmark.
"""

from __future__ import annotations

import importlib
import inspect
import io
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.data.graphs import SparseRows, undirected
from openfingym.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_CELLS = 1 << 28
"""Largest dense array taken from a file, in cells (2 GiB of float64)."""
NUMERIC = frozenset(
    {"sparse", "double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
)
"""Classes of MATLAB variables that are plain numbers."""


def read_mat(content: bytes, where: str, wanted: Collection[str]) -> dict[str, Any]:
    """Variables of a MATLAB 5 file by name, as NumPy arrays or SciPy sparse arrays.

    Args:
        content: content of the file.
        where: name of the file in error messages.
        wanted: names of the variables to read; those that the file lacks are left out.

    Raises:
        DataError: the file is damaged, of another version, or a variable is not a bounded numeric matrix.
    """
    # Imported by name because SciPy carries no type information.
    io_module = importlib.import_module("scipy.io")
    sparse = importlib.import_module("scipy.sparse")
    # The file's own list of its variables is read first, so that nothing is loaded that would not be accepted.
    try:
        listed = io_module.whosmat(io.BytesIO(content))
        for name, shape, kind in listed:
            if name in wanted and kind not in NUMERIC:
                raise DataError(f"{where}: {name} is a {kind}, expected a numeric matrix")
            if name in wanted and kind != "sparse" and int(np.prod(shape, dtype=object)) > MAX_CELLS:
                raise DataError(f"{where}: {name} has shape {shape}, more than {MAX_CELLS} cells")
        names = [name for name, _, _ in listed if name in wanted]
        # Before SciPy 1.18 there is no such option, and matrices are all there is.
        options = {"spmatrix": False} if "spmatrix" in inspect.signature(io_module.loadmat).parameters else {}
        loaded: dict[str, Any] = io_module.loadmat(io.BytesIO(content), variable_names=names, **options)
    except DataError:
        raise
    except Exception as error:  # SciPy raises a dozen types, zlib's and struct's among them, for damaged files.
        raise DataError(f"{where}: not a readable MATLAB 5 file ({type(error).__name__}: {error})") from error
    return {name: sparse.csr_array(loaded[name]) if sparse.issparse(loaded[name]) else loaded[name] for name in names}


def read_npz(content: bytes, where: str) -> dict[str, NDArray[np.generic]]:
    """Arrays of an ``.npz`` file.

    Raises:
        DataError: it is damaged, holds pickled objects, or an array beyond :data:`MAX_CELLS`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                info.filename.removesuffix(".npy"): _member(archive, info, where)
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
    except (ValueError, OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{where}: not a readable .npz of plain arrays ({error})") from error


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> NDArray[np.generic]:
    """One array of an archive; neither the directory nor the array's header is believed about its size."""
    if info.file_size > MAX_CELLS * 8:
        raise DataError(f"{where}: {info.filename} is larger than expected")
    with archive.open(info) as stream:
        body = stream.read(info.file_size + 1)
    npy = io.BytesIO(body)
    version = np.lib.format.read_magic(npy)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(npy)
    # Compared before NumPy sets aside the memory that the header asks for.
    if not dtype.hasobject and int(np.prod(shape, dtype=object)) * dtype.itemsize != len(body) - npy.tell():
        raise ValueError(f"{info.filename} does not hold what its header says, {dtype}{list(shape)}")
    npy.seek(0)
    array: NDArray[np.generic] = np.load(npy, allow_pickle=False)
    return array


def read_sparse_npz(content: bytes, where: str) -> Any:
    """A matrix that SciPy's ``save_npz`` wrote in CSR form, as a SciPy ``csr_array`` of float64.

    Raises:
        DataError: it is damaged, in another form, or a stored value is not finite.
    """
    return sparse_matrix(read_npz(content, where), where, forms=("csr",))


def sparse_matrix(
    arrays: Mapping[str, NDArray[np.generic]], where: str, *, forms: Collection[str] = ("csr", "csc", "coo")
) -> Any:
    """The arrays of a sparse matrix, by SciPy's names, as a SciPy ``csr_array`` of float64.

    Args:
        arrays: arrays ``format``, ``shape`` and ``data``, with ``indices`` and ``indptr``, or ``row`` and ``col``.
        where: name of the file, for messages.
        forms: forms of sparse matrices that are accepted.

    Raises:
        DataError: the arrays are of another form, or make no matrix.
    """
    form = arrays.get("format")
    stated = form.item() if form is not None and form.ndim == 0 else None
    name = stated.decode("ascii", "replace") if isinstance(stated, bytes) else stated
    needed = {"data", "shape", *(("row", "col") if name == "coo" else ("indices", "indptr"))}
    if name not in forms or not needed <= arrays.keys():
        raise DataError(
            f"{where}: expected a sparse matrix in {' or '.join(forms).upper()} form, found {stated!r} with "
            f"{', '.join(sorted(arrays))}"
        )
    require_numbers(arrays["data"], "data", where)
    shape = tuple(whole_numbers(arrays["shape"], where).tolist())
    data, sparse = arrays["data"].astype(np.float64), importlib.import_module("scipy.sparse")
    try:
        if name == "coo":
            places = whole_numbers(arrays["row"], where), whole_numbers(arrays["col"], where)
            return sparse.coo_array((data, places), shape=shape).tocsr()
        parts = data, whole_numbers(arrays["indices"], where), whole_numbers(arrays["indptr"], where)
        matrix = (sparse.csr_array if name == "csr" else sparse.csc_array)(parts, shape=shape)
        # SciPy's constructor does not look at the indices, and one out of range would read other memory later.
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{where}: not a matrix in {str(name).upper()} form ({error})") from error
    return matrix.tocsr()


def read_npy(content: bytes, where: str) -> NDArray[np.generic]:
    """A plain ``.npy`` array.

    Raises:
        DataError: it is damaged or holds pickled objects.
    """
    try:
        array: NDArray[np.generic] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{where}: not a readable .npy of plain numbers ({error})") from error
    return array


def read_dat(content: bytes, where: str, *, columns: Sequence[int], minimum: int) -> list[list[str]]:
    """Some cells of each line of a tab-separated file.

    Args:
        content: content of the file.
        where: name of the file in error messages.
        columns: positions of the cells wanted, from 0; a cell that a line does not reach is an empty text.
        minimum: number of cells that every line must have at least.

    Raises:
        DataError: not UTF-8, or a line has fewer than ``minimum`` cells.
    """
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) < minimum:
            raise DataError(
                f"{where}, line {number}: {len(cells)} cells, expected {minimum} at least; the file may be cut off"
            )
        rows.append([cells[column] if column < len(cells) else "" for column in columns])
    if not rows:
        raise DataError(f"{where}: the file is empty")
    return rows


def adjacency_edges(matrix: Any, nodes: int, where: str) -> NDArray[np.int64]:
    """Undirected edges int64[2, m] of a square adjacency matrix, dense or sparse, whatever its weights.

    Raises:
        DataError: it is not nodes by nodes.
    """
    if matrix.shape != (nodes, nodes):
        raise DataError(f"{where}: an adjacency of shape {list(matrix.shape)} for {nodes} nodes")
    rows, columns = matrix.nonzero()
    return simple_edges(np.stack([rows, columns]).astype(np.int64), nodes)


def simple_edges(pairs: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Bring pairs of nodes, int64[2, m], into the form of :class:`openfingym.data.graphs.Graph`, without self-loops."""
    return undirected(pairs[:, pairs[0] != pairs[1]], nodes)


def feature_matrix(matrix: Any, where: str) -> NDArray[np.float64] | SparseRows:
    """Features as float64[n, d], or sparse where the file is sparse and mostly zero.

    Raises:
        DataError: not a matrix, or a stored value is not finite.
    """
    if matrix.ndim != 2:
        raise DataError(f"{where}: features of {matrix.ndim} dimensions, expected 2")
    if isinstance(matrix, np.ndarray):
        return np.ascontiguousarray(matrix, dtype=np.float64)
    # A copy: what follows works in place.
    matrix = matrix.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz * 4 > matrix.shape[0] * matrix.shape[1]:
        dense: NDArray[np.float64] = matrix.toarray().astype(np.float64)
        return dense
    try:
        return SparseRows(matrix.indptr, matrix.indices, matrix.data, int(matrix.shape[1]))
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def label_vector(values: Any, nodes: int, where: str) -> NDArray[np.int64]:
    """Labels int64[nodes] from a row, a column, or one-hot rows.

    Raises:
        DataError: another shape, or not whole numbers.
    """
    array = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    require_numbers(array, "labels", where)
    if array.ndim == 2 and array.shape[0] == nodes and array.shape[1] > 1:
        if not ((array == 0) | (array == 1)).all() or not (array.sum(axis=1) == 1).all():
            raise DataError(f"{where}: labels of shape {list(array.shape)} are not one-hot")
        hot: NDArray[np.int64] = array.argmax(axis=1).astype(np.int64)
        return hot
    flat = array.reshape(-1)
    if flat.shape != (nodes,) or not np.isfinite(flat.astype(np.float64)).all() or (flat != np.round(flat)).any():
        raise DataError(f"{where}: labels of shape {list(array.shape)}, expected {nodes} whole numbers")
    whole: NDArray[np.int64] = flat.astype(np.int64)
    return whole


def require_numbers(array: Any, name: str, where: str) -> None:
    """Refuse an array or a sparse matrix of anything but real numbers, such as texts.

    Args:
        array: the array, or a sparse matrix of SciPy.
        name: what it is, for the message.
        where: name of the file, for the message.

    Raises:
        DataError: it holds something else.
    """
    if array.dtype.kind not in "biuf":
        raise DataError(f"{where}: {name} of type {array.dtype}; expected numbers, so save them as int64 or float64")


def whole_numbers(array: NDArray[np.generic], where: str) -> NDArray[np.int64]:
    """A one-dimensional array of integers as int64.

    Raises:
        DataError: it has another number of dimensions, or is of another type.
    """
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise DataError(f"{where}: expected whole numbers, found {array.dtype}{list(array.shape)}")
    return array.astype(np.int64)
