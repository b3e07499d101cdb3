"""SHA-256 digests in hex, of bytes, files and JSON values: what tasks, packages, results and logs are known by."""

from __future__ import annotations

import hashlib
import json
from io import BufferedReader, BytesIO
from pathlib import Path

# Made once: json.dumps with other than its defaults makes one each time.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_of(content: bytes | bytearray | memoryview) -> str:
    """Digest of bytes."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_text(text: str) -> str:
    """Digest of a text in UTF-8."""
    return sha256_of(text.encode())


def sha256_of_stream(stream: BufferedReader | BytesIO) -> str:
    """Digest of what is left of a stream of any size."""
    return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_of_file(path: Path) -> str:
    """Digest of a file of any size; one that a stranger made is for :func:`openfingym.files.strange.sha256`."""
    with path.open("rb") as stream:
        return sha256_of_stream(stream)


def sha256_of_files(folder: Path) -> dict[str, str]:
    """Digest of every file in a folder and below it, by its path from there with ``/``, sorted by parts of the path."""
    return {
        path.relative_to(folder).as_posix(): sha256_of_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def canonical_json(value: object) -> bytes:
    """The one byte representation of a JSON value that digests are taken over."""
    return _ENCODER.encode(value).encode()


def sha256_of_json(value: object) -> str:
    """Digest of a JSON value in its canonical form."""
    return sha256_of(canonical_json(value))
