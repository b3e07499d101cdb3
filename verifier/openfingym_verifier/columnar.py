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

from openfingym.errors import VerifierError
from openfingym.verifiers.routes import ARROW_FILE, ARROW_STREAM, PARQUET
from openfingym_verifier.columnar_child import REFUSED
from openfingym_verifier.problems import REFUSALS, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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


def read_table(media_type: str, body: bytes, shape: tuple[int, ...], labels: Sequence[str]) -> NDArray[np.generic]:
    """The values of a table whose columns are the labels of the last axis, and whose rows are all other axes, the last
    of them fastest.

    A submission with a single axis is a table of one column.

    Args:
        media_type: media type of the body, a key of :data:`KINDS`.
        body: content of the Arrow or Parquet file or stream.
        shape: shape of the submission that is expected.
        labels: column names expected, in any order.

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
    command = [sys.executable, "-P", str(CHILD), KINDS[media_type], json.dumps(list(labels)), str(rows)]
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
    # not trusted either, and must be as long as the array.
    if decoder.returncode != 0 or len(decoder.stdout) != math.prod(shape) * 8:
        raise Problem(
            "malformed-submission", "The table cannot be decoded within the memory and time that a submission may take."
        )
    return np.frombuffer(decoder.stdout, dtype="<f8").reshape(shape)


def _refusal(output: bytes) -> Problem:
    """The refusal that the child reports; its output is checked, since the child has read an agent's bytes."""
    try:
        reason = json.loads(output)
        slug, detail = str(reason["problem"]), str(reason["detail"])
    except (ValueError, KeyError, TypeError):
        slug, detail = "malformed-submission", "The table cannot be decoded."
    return Problem(slug if slug in REFUSALS else "malformed-submission", detail)
