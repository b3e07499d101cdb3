"""NumPy's own formats, read without pickle and without a copy where the bytes allow it."""

from __future__ import annotations

import functools
import io
import math
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy_format

from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_HEADER_BYTES = 4096
MAX_AXES = 32
MAX_LENGTH = 2**31 - 1
"""Longest axis of an array."""
MAX_MEMBERS = 16
"""Largest number of members of a ``.npz`` archive."""
MEMBER = "predictions"
"""Name of the array of a ``.npz`` archive that is the submission."""
_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def read_npy(body: bytes) -> NDArray[np.generic]:
    """The array of a ``.npy`` file: a read-only view of ``body``, of the real type that the file states.

    Raises:
        Problem: ``malformed-submission``, or ``wrong-dtype`` for anything pickled or structured.
    """
    head = body[: 12 + MAX_HEADER_BYTES]
    # The head is the key of a cache, and with the first values in it would never be found again. Version 1.0 states
    # the header's length in bytes 8 and 9.
    if body[6:8] == b"\x01\x00":
        head = head[: 10 + int.from_bytes(body[8:10], "little")]
    try:
        shape, fortran_order, dtype, offset = _header(head)
    # NumPy's reader evaluates a Python literal, which may fail in any way.
    except Exception as error:
        raise Problem("malformed-submission", "The body is not a .npy file of version 1.0 or 2.0.") from error
    # Objects would be unpickled, which runs code of the agent's; an item of no size would fit any number of times.
    if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None or dtype.itemsize == 0:
        raise Problem("wrong-dtype", "The array holds Python objects or records; send plain numbers, float64 at best.")
    # Python's integers and tuples go further than NumPy's, and True is one of them.
    if len(shape) > MAX_AXES or not all(type(length) is int and 0 <= length <= MAX_LENGTH for length in shape):
        raise Problem(
            "malformed-submission", f"A shape has at most {MAX_AXES} axes, each of a length from 0 to {MAX_LENGTH}."
        )
    # Compared before anything is made: a header may announce terabytes.
    stated, present = math.prod(shape) * dtype.itemsize, len(body) - offset
    if stated != present:
        raise Problem("malformed-submission", f"The header announces {stated} bytes of data; {present} follow it.")
    flat = np.frombuffer(body, dtype=dtype, offset=offset)
    return flat.reshape(shape, order="F" if fortran_order else "C")


@functools.lru_cache(maxsize=256)
def _header(head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[np.generic], int]:
    """Shape, Fortran order, type and offset of the data; cached, since submissions of a task have equal headers."""
    stream = io.BytesIO(head)
    version = npy_format.read_magic(stream)
    with warnings.catch_warnings():
        # NumPy warns of headers that Python 2 wrote, and reads them all the same.
        warnings.simplefilter("ignore")
        shape, fortran_order, dtype = _READERS[version](stream, max_header_size=MAX_HEADER_BYTES)
    return shape, fortran_order, dtype, stream.tell()


def read_npz(body: bytes, limit_bytes: int) -> NDArray[np.generic]:
    """The array named ``predictions``, or the only one, of a ``.npz`` archive.

    Args:
        body: content of the ``.npz`` archive.
        limit_bytes: largest number of bytes a member may unpack to, checked against its header and again while
            unpacking.

    Raises:
        Problem: ``malformed-submission``, ``payload-too-large`` or ``wrong-dtype``, with what is wrong.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return read_npy(_inflate(archive, _member(archive), limit_bytes))
    except Problem:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        ValueError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
    ) as error:
        raise Problem("malformed-submission", "The body is not a readable .npz archive.") from error


def _member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The member that is the submission: the one of the right name, or the only one."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise Problem(
            "malformed-submission", f"The archive has {len(members)} members; send one array named {MEMBER!r}."
        )
    named = [member for member in members if member.filename in {MEMBER, f"{MEMBER}.npy"}]
    chosen = named or members
    if len(chosen) != 1:
        raise Problem(
            "malformed-submission",
            f"The archive has {len(chosen)} candidate arrays; send exactly one, named {MEMBER!r}.",
        )
    return chosen[0]


def _inflate(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit_bytes: int) -> bytes:
    """The unpacked bytes of a member, at most ``limit_bytes``."""
    if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise Problem("malformed-submission", "Archive members must be stored or deflated, as numpy.savez writes them.")
    detail = f"The array unpacks to more than the {limit_bytes} bytes that a submission may take."
    if member.file_size > limit_bytes:
        raise Problem("payload-too-large", detail)
    # What the header states need not be true; a byte more than the limit shows that there are too many.
    with archive.open(member) as stream:
        data = stream.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise Problem("payload-too-large", detail)
    return data
