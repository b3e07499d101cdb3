"""Searching a folder for hidden values.

A *fingerprint* is a run of consecutive hidden values long enough not to occur by chance: up to
three consecutive rows of a target window, all channels. It is looked for in every file: as rows
of arrays (exactly, as float32, and rounded), as raw bytes in either byte order, and in text as
decimals, hex or base64. Gzip, zlib, bzip2, xz and zip containers are opened first.
"""

from __future__ import annotations

import base64
import bz2
import contextlib
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUN_ROWS = 3
ROUNDINGS = (6, 4)
"""Decimals at which rows of arrays are compared, beside exact and float32."""
TEXT_FORMATS = ("{!r}", "{:.8g}", "{:.6g}", "{:.6f}", "{:.5g}", "{:.4e}", "{:.6e}")
TEXT_RUN = 6
"""Consecutive values that must follow one another in a text to count as a leak."""
MEMBER_LIMIT = 512 * 1024 * 1024


def find_leak(folder: Path, truth: NDArray[np.float64]) -> str | None:
    """Say where hidden values are found below ``folder``, or None.

    Args:
        folder: the public half.
        truth: float64[n, horizon, channels], the hidden targets.
    """
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        for content in _opened(path.read_bytes()):
            found = _in_content(content, truth)
            if found:
                return f"{name} ({found})"
    return None


def _in_content(content: bytes, truth: NDArray[np.float64]) -> str | None:
    if content.startswith(b"\x93NUMPY"):
        with contextlib.suppress(ValueError):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            return _in_array(array, truth) if array.dtype.kind in "fiu" else None
    return _in_bytes(content, truth) or _in_text(content, truth)


def _in_array(array: NDArray[np.generic], truth: NDArray[np.float64]) -> str | None:
    """Look for a run of truth rows among the runs of the array's rows, and for the targets however they are laid out."""
    values = array.astype(np.float64)
    channels = truth.shape[2]
    views = [(values, truth)]
    if values.ndim >= 2 and values.shape[-2] == channels and values.shape[-1] != channels:
        views.append((np.swapaxes(values, -1, -2), truth))
    for view, hidden in views:
        if view.ndim < 2 or view.shape[-1] != channels:
            continue
        rows = min(RUN_ROWS, truth.shape[1], view.shape[-2])
        where = _common_run(_runs(view, rows), _runs(hidden, rows))
        if where:
            return f"{rows} consecutive rows, {where}"
    flat, hidden_flat = values.reshape(-1), truth.reshape(-1)
    length = min(RUN_ROWS * channels, hidden_flat.size)
    if values.ndim < 2 and flat.size >= length:
        windows = np.lib.stride_tricks.sliding_window_view
        where = _common_run(windows(flat, length), hidden_flat[: hidden_flat.size // length * length].reshape(-1, length))
        if where:
            return f"{length} consecutive values, {where}"
    return None


def _runs(array: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Every run of ``rows`` consecutive rows of the trailing two axes, one a row: float64[m, rows * channels]."""
    blocks = array.reshape(-1, *array.shape[-2:])
    view = np.lib.stride_tricks.sliding_window_view(blocks, rows, axis=1)
    return np.swapaxes(view, 2, 3).reshape(-1, rows * array.shape[-1])


def _common_run(public: NDArray[np.float64], hidden: NDArray[np.float64]) -> str | None:
    """Whether a run that varies occurs in both, exactly, as float32, or rounded."""
    hidden = hidden[np.ptp(hidden, axis=1) > 0]
    if not len(hidden):
        return None
    for name, encode in _encodings().items():
        seen, wanted = encode(public), encode(hidden)
        if _tells_apart(wanted) and np.isin(_keys(wanted), _keys(seen)).any():
            return name
    return None


def _encodings() -> dict[str, Callable[[NDArray[np.float64]], NDArray[np.floating]]]:
    """Ways a value may have been stored; adding 0.0 makes a negative zero equal to a positive one."""

    def rounded(digits: int) -> Callable[[NDArray[np.float64]], NDArray[np.floating]]:
        return lambda values: np.round(values, digits) + 0.0

    return {
        "exact": lambda values: values + 0.0,
        "as float32": lambda values: values.astype(np.float32) + np.float32(0.0),
        **{f"rounded to {digits} decimals": rounded(digits) for digits in ROUNDINGS},
    }


def _tells_apart(hidden: NDArray[np.floating]) -> bool:
    """Whether this rounding keeps enough of the values to identify a run: three distinct values in most of them."""
    distinct = np.array([len(np.unique(run)) for run in hidden[:200]])
    return bool(np.median(distinct) >= 3)


def _keys(runs: NDArray[np.floating]) -> NDArray[np.void]:
    contiguous = np.ascontiguousarray(runs)
    return contiguous.view(np.dtype((np.void, contiguous.dtype.itemsize * contiguous.shape[1]))).reshape(-1)


def _in_bytes(content: bytes, truth: NDArray[np.float64]) -> str | None:
    """Raw rows in either byte order and width, plain, in hex and in base64."""
    rows = [row for row in truth.reshape(-1, truth.shape[2]) if np.ptp(row) > 0 or truth.shape[2] == 1]
    lowered = content.lower()
    for dtype in ("<f8", ">f8", "<f4", ">f4"):
        for row in rows:
            raw = row.astype(dtype).tobytes()
            if len(raw) < 8:
                continue
            if raw in content:
                return f"raw bytes, {dtype}"
            if raw.hex().encode() in lowered:
                return f"hex, {dtype}"
            # Base64 of the row inside a longer stream: encode at each alignment, drop the ragged ends.
            for pad in range(3):
                if base64.b64encode(b"\0" * pad + raw)[4:-4] in content:
                    return f"base64, {dtype}"
    return None


_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _in_text(content: bytes, truth: NDArray[np.float64]) -> str | None:
    """Consecutive decimals that equal consecutive hidden values, row by row or channel by channel."""
    tokens = _NUMBER.findall(content)
    if len(tokens) < TEXT_RUN or len(tokens) > 5_000_000:
        return None
    numbers = np.array([float(token) for token in tokens])
    for name, order in (("row by row", truth.reshape(-1)), ("channel by channel", np.swapaxes(truth, 1, 2).reshape(-1))):
        length = min(TEXT_RUN, order.size)
        public = np.lib.stride_tricks.sliding_window_view(numbers, length)
        for text_format in TEXT_FORMATS:
            shown = np.array([float(text_format.format(float(value))) for value in order])
            hidden = np.lib.stride_tricks.sliding_window_view(shown, length)
            hidden = hidden[np.array([len(np.unique(run)) >= 3 for run in hidden], dtype=bool)]
            if len(hidden) and np.isin(_keys(hidden + 0.0), _keys(public + 0.0)).any():
                return f"decimals {text_format}, {name}"
    return None


def _opened(content: bytes) -> Iterator[bytes]:
    """The content itself and, where it is a known container, what is inside."""
    yield content
    if content.startswith(b"PK\x03\x04"):
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                if member.file_size <= MEMBER_LIMIT:
                    yield archive.read(member)
    for magic, decompress in (
        (b"\x1f\x8b", gzip.decompress),
        (b"BZh", bz2.decompress),
        (b"\xfd7zXZ", lzma.decompress),
        (b"\x78", zlib.decompress),
    ):
        if content.startswith(magic):
            with contextlib.suppress(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
                yield decompress(content)
