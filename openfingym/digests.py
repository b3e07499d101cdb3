"""SHA-256 digests, in hex, of bytes, files and JSON values; they identify tasks, packages, results and logs."""

from __future__ import annotations

import hashlib
import json
from io import BufferedReader, BytesIO
from pathlib import Path

# Made once, because json.dumps makes a new one each time if its options are not the defaults.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(content: bytes | bytearray | memoryview) -> str:
    """Digest of bytes."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_text(text: str) -> str:
    """Digest of a text in UTF-8."""
    return sha256_of(text.encode())


def sha256_of_stream(stream: BufferedReader | BytesIO) -> str:
    """Digest of the rest of a stream, which may be of any size."""
    return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_file(path: Path) -> str:
    """Digest of a file of any size; for a file that a stranger made use :func:`openfingym.files.strange.sha256`."""
    with path.open("rb") as stream:
        return sha256_of_stream(stream)


def sha256_of_files(folder: Path) -> dict[str, str]:
    """Digests of all files in a folder and below it, by their paths relative to it, with ``/``; sorted by path."""
    return {
        path.relative_to(folder).as_posix(): sha256_of_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def canonical_json(value: object) -> bytes:
    """The bytes of a JSON value in the one form over which digests are taken: names sorted, no spaces, UTF-8."""
    return _ENCODER.encode(value).encode()


def sha256_of_json(value: object) -> str:
    """Digest of a JSON value in its canonical form."""
    return sha256_of(canonical_json(value))
