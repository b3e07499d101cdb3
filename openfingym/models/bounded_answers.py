"""Answers of an endpoint are read to a limit, decoded: two megabytes of gzip can be gigabytes of spaces."""

from __future__ import annotations

import sys
import zlib
from collections.abc import AsyncIterator
from typing import Any

MOST_BYTES = 64 * 1024 * 1024
"""Most bytes of an answer, or of all chunks of a streamed one."""
ENCODINGS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
"""Content encodings that are decoded, and the window bits by which zlib knows them."""
ACCEPTED = "gzip, deflate"
"""Header ``Accept-Encoding`` of a request."""


class UnreadableBodyError(Exception):
    """An answer that is not read to its end, and why, as the noun of a clause."""


async def bound(response: Any) -> None:
    """Have the body of a response end in an error once it is too large; a hook for responses of an HTTP client.

    Args:
        response: an ``httpx.Response`` whose body was not read yet, or one of the package of the same interface that
            the model client brings.
    """
    package = sys.modules[type(response).__module__.partition(".")[0]]
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    decoder = zlib.decompressobj(ENCODINGS[encoding]) if encoding in ENCODINGS else None
    if decoder is None and encoding not in {"", "identity"}:
        raise UnreadableBodyError(f"an answer in the encoding {encoding[:40]!r}, which was not asked for")
    inner = response.stream

    class Bounded(package.AsyncByteStream):  # type: ignore[misc, name-defined]  # which package it is differs
        """The decoded body, up to the limit."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = MOST_BYTES
            async for part in inner:
                decoded = part if decoder is None else _decompressed(decoder, part, left + 1)
                left -= len(decoded)
                if left < 0:
                    raise UnreadableBodyError(f"an answer of more than {MOST_BYTES >> 20} MiB")
                if decoded:
                    yield decoded

        async def aclose(self) -> None:
            await inner.aclose()

    response.stream = Bounded()


def _decompressed(decoder: Any, part: bytes, most: int) -> bytes:
    """What the next part of a compressed body holds, at most so many bytes: where there are more, it is too large.

    Raises:
        UnreadableBodyError: the body is not in its encoding.
    """
    try:
        decoded: bytes = decoder.decompress(part, most)
    except zlib.error as error:
        raise UnreadableBodyError(f"an answer that cannot be decompressed ({error})") from None
    return decoded
