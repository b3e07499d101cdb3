"""``find_leak``: every file of a folder against every fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.leaks.arrays import search_array
from openfingym.leaks.contents import Content, UnsearchableError, open_file, opened
from openfingym.leaks.fingerprints import Table
from openfingym.leaks.labels import Labels, is_labels, node_numbers, search_label_bytes, search_label_numbers
from openfingym.leaks.rawbytes import Words, build_words, search_bytes
from openfingym.leaks.runs import build_tables
from openfingym.leaks.shuffled import HiddenSets, hidden_sets, search_sets
from openfingym.leaks.sparse import search_sparse
from openfingym.leaks.text import chunks, decoded, number_arrays, yes_no

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DECODING_DEPTH = 3
"""Encodings within encodings that are undone."""


@dataclass(frozen=True, eq=False)
class _Wanted:
    tables: list[Table]
    words: Words
    sets: list[HiddenSets]
    labels: list[Labels]


def find_leak(folder: Path, truth: Mapping[str, NDArray[Any]], *, ids: NDArray[np.int64] | None = None) -> str | None:
    """Say where hidden values are found below ``folder``, or None.

    Hidden values are found as they are, as float32, rounded to six or four decimals, shifted and
    scaled (standardised, in percent, negated), reversed in time, cumulated, differenced, as
    logarithms or exponentials, or in another order; in NumPy, Parquet and Arrow files, raw bytes,
    text, hex, base64, and within zip, tar, gzip, bzip2, xz and zlib. Files are mapped and read in
    blocks, so that large ones need little memory.

    Runs of values that honest data repeat, such as a pegged rate or days without volume, do not
    count: see :mod:`openfingym.leaks.information`. Under its assumptions an honest package is
    reported with a probability below 1e-6 (1e-9 a search).

    Args:
        folder: the public half.
        truth: the hidden arrays by name: floats of one to four axes (windows, [samples,] time,
            channels), or labels, an array of one axis that holds 0 and 1 only.
        ids: int64[n], the node that each hidden label belongs to, for tasks with one graph.

    Returns:
        The file and what was found in it. Also where something could not be looked into: what
        is not searched is not known to be free of leaks.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    floats = {name: np.asarray(array) for name, array in truth.items() if not is_labels(np.asarray(array))}
    labels = [Labels(name, np.asarray(array, dtype=np.uint8), ids) for name, array in truth.items() if name not in floats]
    places = sum(path.stat().st_size for path in files) // 8
    wanted = _Wanted(build_tables(floats, places), build_words(floats), hidden_sets(floats), labels)
    with np.errstate(all="ignore"):
        for path in files:
            name = path.relative_to(folder).as_posix()
            try:
                for content in open_file(path, name):
                    found = _in_content(content, wanted)
                    if found:
                        return f"{content.name} ({found})"
            except UnsearchableError as error:
                return f"{name} (cannot be searched: {error})"
    return _of_the_whole(folder, wanted)


def _of_the_whole(folder: Path, wanted: _Wanted) -> str | None:
    for labels in wanted.labels:
        found = node_numbers(labels) or search_sparse(folder, labels)
        if found:
            return found
    return None


def _in_content(content: Content, wanted: _Wanted) -> str | None:
    for array in content.arrays:
        found = _in_numbers(array, wanted)
        if found:
            return found
    # Bytes that are no floats may be anything, integers included.
    if content.packed or (content.arrays and all(array.dtype.kind == "f" for array in content.arrays)):
        return None
    return _in_bytes(content.raw, wanted) or _in_text(content, wanted)


def _in_numbers(array: NDArray[Any], wanted: _Wanted, *, text: bool = False) -> str | None:
    found = search_array(array, wanted.tables) or search_sets(array, wanted.sets)
    for labels in wanted.labels:
        found = found or search_label_numbers(array, labels, text=text)
    return found


def _in_bytes(raw: memoryview, wanted: _Wanted) -> str | None:
    found = search_bytes(raw, wanted.words, wanted.tables)
    for labels in wanted.labels:
        found = found or search_label_bytes(raw, labels)
    return found


def _in_text(content: Content, wanted: _Wanted) -> str | None:
    if content.arrays:
        return None
    for chunk in chunks(content.raw):
        for numbers in number_arrays(chunk):
            found = _in_numbers(numbers, wanted, text=True)
            if found:
                return f"numbers in text, {found}"
        words = yes_no(chunk)
        for labels in wanted.labels:
            found = search_label_numbers(words, labels) if len(words) else None
            if found:
                return f"words in text, {found}"
    if content.depth >= DECODING_DEPTH:
        return None
    for encoding, raw in decoded(content.raw, content.name):
        for inner in opened(raw, content.name, content.depth + 1):
            found = _in_content(inner, wanted)
            if found:
                return f"{encoding}, {found}"
    return None
