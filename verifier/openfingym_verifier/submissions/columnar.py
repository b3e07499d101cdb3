"""Arrow and Parquet submissions, decoded in a process that holds no labels."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.errors import SubmissionError, VerifierError
from openfingym.verifiers.routes import ARROW_FILE, ARROW_STREAM, PARQUET
from openfingym.verifiers.row_keys import TableName, key_names, order_of
from openfingym_verifier.problems import REFUSALS, Problem
from openfingym_verifier.submissions.columnar_child import REFUSED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from openfingym.packages.package import BuiltPackage

CHILD = Path(__file__).with_name("columnar_child.py")
KINDS = {
    ARROW_STREAM: "stream",
    ARROW_FILE: "file",
    PARQUET: "parquet",
}
"""Media type to the name the decoder knows it by."""
TIMEOUT_S = 20.0
"""Longest time that a decoder may run; its time on the processor is bounded by itself."""
_SLOTS = threading.BoundedSemaphore(2)
"""Decoders that may run at once, each of which may take 2 GiB of memory."""


def read_table(
    media_type: str, body: bytes, shape: tuple[int, ...], labels: Sequence[str], package: BuiltPackage
) -> NDArray[np.generic]:
    """The values of a table whose columns are the labels of the last axis, and whose rows are all other axes, the last
    of them fastest; or in the order that keys beside them state (:mod:`openfingym.verifiers.row_keys`).

    A submission with a single axis is a table of one column.

    Args:
        media_type: media type of the body, a key of :data:`KINDS`.
        body: content of the Arrow or Parquet file or stream.
        shape: shape of the submission that is expected.
        labels: column names expected, in any order.
        package: the built package of the task, which says what keys there are.

    Returns:
        float64 of that shape.

    Raises:
        Problem: the table is refused, or pyarrow is not installed.
        VerifierError: the decoder could not be run.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise Problem(
            "unsupported-media-type",
            "This verifier was installed without the extra 'arrow' (pip install 'openfingym[arrow]'); send "
            "application/x-npy instead.",
        )
    rows = math.prod(shape) // len(labels)
    # -P: the folder of the program must not shadow modules of the standard library.
    names = sorted(key_names(package))
    wanted = [KINDS[media_type], json.dumps(list(labels)), str(rows), json.dumps(names)]
    command = [sys.executable, "-P", str(CHILD), *wanted]
    with _SLOTS:
        try:
            decoder = subprocess.run(command, input=body, capture_output=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise Problem(
                "malformed-submission", "The table takes too long to decode; send application/x-npy instead."
            ) from None
        except OSError as error:
            raise VerifierError(f"the table decoder cannot be started: {error}") from error
    if decoder.returncode == REFUSED:
        raise _refusal(decoder.stdout)
    # Any other end is the table's doing: the kernel killed the decoder, or it crashed on the bytes. What it wrote is
    # not trusted either, and must be as long as the array and its keys.
    decoded = _decoded(decoder.stdout, rows, len(labels), names) if decoder.returncode == 0 else None
    if decoded is None:
        raise Problem(
            "malformed-submission", "The table cannot be decoded within the memory and time that a submission may take."
        )
    values, keys = decoded
    return _in_order(values, keys, package).reshape(shape)


def _decoded(
    output: bytes, rows: int, width: int, names: Sequence[str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.generic]]] | None:
    """The values and keys that the child wrote; None if it wrote something else, since it has read an agent's bytes."""
    header, _, content = output.partition(b"\n")
    try:
        stated = [(str(name), {"f8": "<f8", "i8": "<i8"}[kind]) for name, kind in json.loads(header)]
    except (ValueError, KeyError, TypeError):
        return None
    if any(name.lower() not in names for name, _ in stated) or len(content) != 8 * rows * (width + len(stated)):
        return None
    start, values = 8 * rows * width, np.frombuffer(content[: 8 * rows * width], dtype="<f8").reshape(rows, width)
    columns = (content[start + 8 * rows * n : start + 8 * rows * (n + 1)] for n in range(len(stated)))
    return values, {
        name: np.frombuffer(column, dtype=kind) for (name, kind), column in zip(stated, columns, strict=True)
    }


def _in_order(
    values: NDArray[np.float64], keys: Mapping[str, NDArray[np.generic]], package: BuiltPackage
) -> NDArray[np.float64]:
    """The rows of a table in the order that its keys state.

    Raises:
        Problem: a key does not name each row once, or two keys disagree.
    """
    if not keys:
        return values
    import pandas as pd

    # Times come as whole numbers of nanoseconds.
    frame = pd.DataFrame(
        {name: column.astype("datetime64[ns]") if column.dtype.kind == "i" else column for name, column in keys.items()}
    )
    try:
        order = order_of(TableName("the table"), frame, package)
    except SubmissionError as error:
        raise Problem(error.problem, f"{error}."[:500]) from None
    return values if order is None else values[order]


def _refusal(output: bytes) -> Problem:
    """The refusal that the child reports; its output is checked, since the child has read an agent's bytes."""
    try:
        reason = json.loads(output)
        slug, detail = str(reason["problem"]), str(reason["detail"])
    except (ValueError, KeyError, TypeError):
        slug, detail = "malformed-submission", "The table cannot be decoded."
    return Problem(slug if slug in REFUSALS else "malformed-submission", detail)
