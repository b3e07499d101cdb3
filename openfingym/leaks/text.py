"""Numbers that are written in text, and bytes that are written as hex or base64, in files of any size."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.contents import is_container, spooled

CHUNK = 4 << 20
"""Bytes of a text that are searched at a time."""
OVERLAP = 1 << 16
"""Bytes at the end of a chunk that the next one repeats, so that no run is lost between the two."""
_PIECE = 3 << 20
"""Characters that are decoded at a time; a multiple of the lengths of all groups."""

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_HEX = re.compile(rb"[0-9a-fA-F\r\n]{32,}")
_ESCAPED = re.compile(rb"(?:\\x[0-9a-fA-F]{2}){16,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_\-\r\n]{32,}")
_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_YES_NO = re.compile(rb"\b(?:(true|yes|anomal\w*|fraud\w*)|(false|no|normal|benign|legit\w*|genuine))\b", re.IGNORECASE)


Decoder = Callable[[memoryview], Iterator[bytes]]


def chunks(raw: memoryview) -> Iterator[bytes]:
    """Some bytes in chunks of a few MB, each of which begins with the end of the one before."""
    for start in range(0, max(len(raw), 1), CHUNK):
        yield bytes(raw[max(start - OVERLAP, 0) : start + CHUNK])


def number_arrays(chunk: bytes) -> Iterator[NDArray[np.float64]]:
    """The numbers of a text in their order; and as a table, of the lines with the most common number of them."""
    lines = [[float(token) for token in _NUMBER.findall(line)] for line in chunk.split(b"\n")]
    flat = np.array([number for line in lines for number in line], dtype=np.float64)
    if len(flat) >= 3:
        yield flat
    width, rows = (
        Counter(len(line) for line in lines if len(line) > 1).most_common(1)[0]
        if any(len(line) > 1 for line in lines)
        else (0, 0)
    )
    if rows >= 3:
        yield np.array([line for line in lines if len(line) == width], dtype=np.float64)


def yes_no(chunk: bytes) -> NDArray[np.float64]:
    """Words for anomalous as 1 and words for normal as 0, in the order of the text; float64[k]."""
    return np.array([1.0 if yes else 0.0 for yes, _ in _YES_NO.findall(chunk)], dtype=np.float64)


def decoded(raw: memoryview, name: str) -> Iterator[tuple[str, memoryview]]:
    """Encoding and bytes of everything that is written in hex, escapes or base64, from each offset in a group."""
    for encoding, pattern, decoders in (
        ("hex", _HEX, (_unhex(0), _unhex(1))),
        ("escapes", _ESCAPED, (_unescape,)),
        ("base64", _BASE64, tuple(_unbase64(skip) for skip in range(4))),
    ):
        stretches = [match.span() for match in pattern.finditer(raw)]
        for decode in decoders:
            rest: list[tuple[int, int]] = []
            # A container is opened by itself; all other stretches are put together, with zeros between them, since
            # searching each by itself would take long.
            for begin, end in stretches:
                head = b"".join(decode(raw[begin : min(end, begin + 1024)]))
                if is_container(head):
                    yield encoding, spooled(decode(raw[begin:end]), name)
                else:
                    rest.append((begin, end))
            content = spooled((piece for begin, end in rest for piece in (*decode(raw[begin:end]), bytes(16))), name)
            if len(content):
                yield encoding, content


def _unhex(skip: int) -> Decoder:
    """A decoder of hex that leaves out the first ``skip`` characters."""

    def decode(view: memoryview) -> Iterator[bytes]:
        pending = b""
        for start in range(skip, len(view), _PIECE):
            pending += bytes(view[start : start + _PIECE]).translate(None, b"\r\n")
            whole = len(pending) // 2 * 2
            yield bytes.fromhex(pending[:whole].decode("ascii"))
            pending = pending[whole:]

    return decode


def _unescape(view: memoryview) -> Iterator[bytes]:
    for start in range(0, len(view), _PIECE // 4 * 4):
        yield bytes.fromhex(bytes(view[start : start + _PIECE // 4 * 4]).replace(b"\\x", b"").decode("ascii"))


def _unbase64(skip: int) -> Decoder:
    """A decoder of base64, also URL-safe, that leaves out the first ``skip`` characters."""

    def decode(view: memoryview) -> Iterator[bytes]:
        pending = b""
        for start in range(skip, len(view), _PIECE):
            pending += bytes(view[start : start + _PIECE]).translate(_URL_SAFE, b"\r\n")
            whole = len(pending) // 4 * 4
            yield base64.b64decode(pending[:whole])
            pending = pending[whole:]
        # Without its padding the last group may be short.
        if len(pending) > 1:
            yield binascii.a2b_base64(pending + b"=" * (4 - len(pending)))

    return decode
