"""Comparing every file of a folder with the fingerprints of all hidden values; see :func:`find_leaks`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.leaks.arrays import search_array
from openfingym.leaks.blocks import HiddenBlocks, hidden_blocks
from openfingym.leaks.contents import Content, UnsearchableError, listed, open_file, opened
from openfingym.leaks.entropy import INVISIBLE, UNEXPLAINED
from openfingym.leaks.findings import Found, Leak
from openfingym.leaks.fingerprints import FingerprintTable
from openfingym.leaks.innovations import Target, targets
from openfingym.leaks.labels import Labels, is_labels, node_numbers, search_label_bytes, search_label_numbers
from openfingym.leaks.low_digits import array_traces
from openfingym.leaks.matching import matches, strided
from openfingym.leaks.prediction import predicted
from openfingym.leaks.rawbytes import HiddenWords, build_words, search_bytes
from openfingym.leaks.runs import build_tables
from openfingym.leaks.shuffled import HiddenSets, hidden_sets, search_sets
from openfingym.leaks.sparse import search_sparse
from openfingym.leaks.streams import Explored
from openfingym.leaks.text import chunks, decoded, number_arrays, yes_no
from openfingym.leaks.traces import Traces, text_traces

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DECODING_DEPTH = 3
"""How many encodings, one inside another, are undone in files of any size."""
CLOSE_BYTES = 256 << 10
"""Bytes at the beginning of a text that are searched in every reading and encoding."""
TRACED_BYTES = 64 << 10
"""Bytes at the beginning of a text whose traces are compared with what is new in hidden values."""
CLOSE_NUMBERS = 1024
"""Numbers at the beginning of an array that are compared in every reading."""


@dataclass(frozen=True, eq=False)
class LeakSearch:
    """The fingerprints of all hidden arrays, to be looked for in any number of folders."""

    tables: list[FingerprintTable]
    """Fingerprints of runs of hidden values."""
    words: HiddenWords
    """Hidden values as machine words."""
    sets: list[HiddenSets]
    """Hidden columns as sets, whatever their order."""
    labels: list[Labels]
    """Hidden labels."""
    blocks: list[HiddenBlocks]
    """Blocks of hidden values in every reading, for small files."""
    targets: list[Target]
    """What is new in hidden values, for traces that may predict it."""
    strides: tuple[int, ...]
    """Distances between values of one channel in a table that is written row by row."""
    channels: Sequence[str]
    """Names along the last axis of the hidden values, for messages."""

    @classmethod
    def of(
        cls,
        truth: Mapping[str, NDArray[Any]],
        *,
        ids: NDArray[np.int64] | None = None,
        folds: tuple[int, ...] = (),
        channels: Sequence[str] = (),
        public_bytes: int = 1 << 20,
    ) -> LeakSearch:
        """Prepare a search for some hidden arrays, by taking their fingerprints.

        Args:
            truth: the hidden arrays by name: floats of one to four axes (windows, [samples,] time, channels), or
                labels, an array of one axis that holds 0 and 1 only.
            ids: the node that each hidden label belongs to, int64[n], for tasks with one graph; None for others.
            folds: number of hidden rows of each fold, in the order of the folds.
            channels: names along the last axis, for messages.
            public_bytes: about how many bytes will be searched; the more, the longer runs must be.
        """
        floats = {name: np.asarray(array) for name, array in truth.items() if not is_labels(np.asarray(array))}
        labels = [
            Labels(name, np.asarray(array, dtype=np.uint8), ids) for name, array in truth.items() if name not in floats
        ]
        widths = {array.shape[-1] for array in floats.values() if array.ndim > 1}
        # And one more, for tables in which each row begins with a time or a number.
        strides = tuple(sorted({width + more for width in widths for more in (0, 1)} - {1}))
        with np.errstate(all="ignore"):
            tables, words, sets = build_tables(floats, public_bytes // 8), build_words(floats), hidden_sets(floats)
            news = targets(truth, folds)
            return cls(tables, words, sets, labels, hidden_blocks(floats, folds), news, strides, channels)

    def leaks(self, folder: Path) -> Iterator[Leak]:
        """Where hidden values are found below ``folder``: each finding of each file once.

        A file that cannot be searched is reported too, as it is not known to be free of leaks.
        """
        reported: set[tuple[str, str]] = set()
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        # Arbitrary bytes are read as floats here: overflows and NaN are expected.
        with np.errstate(all="ignore"):
            for leak in chain(_in_files(files, folder, self), _of_the_whole(folder, self)):
                # An array can be found in several ways and in several blocks of a file.
                if (leak.file, leak.finding) not in reported:
                    reported.add((leak.file, leak.finding))
                    yield leak


def find_leak(folder: Path, truth: Mapping[str, NDArray[Any]], *, ids: NDArray[np.int64] | None = None) -> Leak | None:
    """The first leak that :func:`find_leaks` finds; None if there is none."""
    return next(find_leaks(folder, truth, ids=ids), None)


def find_leaks(
    folder: Path,
    truth: Mapping[str, NDArray[Any]],
    *,
    ids: NDArray[np.int64] | None = None,
    folds: tuple[int, ...] = (),
    channels: Sequence[str] = (),
) -> Iterator[Leak]:
    """Where hidden values are found below ``folder``.

    In files of any size, hidden values are found as they are, as float32, rounded to six or four decimals, shifted and
    scaled (standardised, in percent, negated), reversed in time, cumulated, differenced, as logarithms or exponentials,
    or in another order; in NumPy, Parquet and Arrow files, raw bytes, text, hex, base64, and within zip, tar, gzip,
    bzip2, xz and zlib. Files are mapped and read in blocks, so that large ones need little memory. In texts and small
    arrays every reading of :mod:`openfingym.leaks.readings` is looked for, in every encoding of
    :mod:`openfingym.leaks.decoders`, and text that no language explains is reported as such.

    Values that honest data repeat, such as a pegged rate or days without volume, do not count: see
    :mod:`openfingym.leaks.information` and :mod:`openfingym.leaks.telling`. Under their assumptions an honest package
    is reported with a probability below 1e-3.

    Args:
        folder: the folder of the package's public half.
        truth: the hidden arrays, by name; see :meth:`LeakSearch.of`.
        ids: the node that each hidden label belongs to, int64[n]; None for tasks without a graph.
        folds: number of hidden rows of each fold, in the order of the folds.
        channels: names along the last axis of the hidden values, for messages.
    """
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return LeakSearch.of(truth, ids=ids, folds=folds, channels=channels, public_bytes=size).leaks(folder)


def _in_files(files: Iterable[Path], folder: Path, wanted: LeakSearch) -> Iterator[Leak]:
    for path in files:
        name = path.relative_to(folder).as_posix()
        try:
            for content in open_file(path, name):
                yield from (Leak(content.name, found, wanted.channels) for found in _in_content(content, wanted))
        except UnsearchableError as error:
            # Reported like a leak: otherwise hidden values would only have to be put where the search cannot look.
            yield Leak(name, Found("cannot be searched", more=str(error)))


def _of_the_whole(folder: Path, wanted: LeakSearch) -> Iterator[Leak]:
    """Leaks that no single file shows."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    stamps = [(path.relative_to(folder).as_posix(), path.stat()) for path in files]
    entries = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stamps]
    for listing in listed("the files of the package", entries):
        yield from (Leak(listing.name, found, wanted.channels) for found in _traced(listing, wanted))
    for labels in wanted.labels:
        for found in (node_numbers(labels), search_sparse(folder, labels)):
            if found:
                yield Leak("the package as a whole", Found(found))


def _in_content(content: Content, wanted: LeakSearch) -> Iterator[Found]:
    if content.listing:
        yield from _traced(content, wanted)
        return
    for array in content.arrays:
        yield from _in_numbers(array, wanted)
    # The bytes of an array of floats have been searched as numbers. Integers can be floats in disguise.
    if not content.packed and not (content.arrays and all(array.dtype.kind == "f" for array in content.arrays)):
        yield from _in_bytes(content.raw, wanted)
        yield from _in_text(content, wanted)
    yield from _closely(content, wanted)
    yield from _traced(content, wanted)


def _in_numbers(array: NDArray[Any], wanted: LeakSearch, *, text: bool = False) -> Iterator[Found]:
    yield from search_array(array, wanted.tables)
    yield from search_sets(array, wanted.sets)
    for labels in wanted.labels:
        found = search_label_numbers(array, labels, text=text)
        if found:
            yield Found(found)


def _in_bytes(raw: memoryview, wanted: LeakSearch) -> Iterator[Found]:
    yield from search_bytes(raw, wanted.words, wanted.tables)
    for labels in wanted.labels:
        found = search_label_bytes(raw, labels)
        if found:
            yield Found(found)


def _in_text(content: Content, wanted: LeakSearch) -> Iterator[Found]:
    if content.arrays:
        return
    for chunk in chunks(content.raw):
        for numbers in number_arrays(chunk):
            yield from (found.within("numbers in text") for found in _in_numbers(numbers, wanted, text=True))
        words = yes_no(chunk)
        for labels in wanted.labels:
            found = search_label_numbers(words, labels) if len(words) else None
            if found:
                yield Found(f"words in text, {found}")
    # A decoder finds something to decode even in noise, and its output may be decoded again: this ends the search.
    if content.depth >= DECODING_DEPTH:
        return
    for encoding, raw in decoded(content.raw, content.name):
        for inner in opened(raw, content.name, content.depth + 1):
            yield from (found.within(encoding) for found in _in_content(inner, wanted))


def _closely(content: Content, wanted: LeakSearch) -> Iterator[Found]:
    """Search small contents under every reading and encoding."""
    explored = Explored()
    # Of an array that is too large, the first rows, as whole rows.
    for array in content.arrays:
        rows = array.reshape(-1, array.shape[-1]) if array.ndim > 1 else array[:, None]
        explored.arrays(
            array if array.size <= CLOSE_NUMBERS else rows[: max(CLOSE_NUMBERS // rows.shape[1], 1), :CLOSE_NUMBERS]
        )
    if not content.arrays and not content.packed and not content.depth:
        explored.explore(bytes(content.raw[:CLOSE_BYTES]))
    # Labels have no values to recognise, and are looked for below.
    valued = explored.streams if wanted.blocks or wanted.tables else []
    streams = [part for stream in valued for part in strided(stream, wanted.strides)]
    for how, raw in explored.decoded:
        yield from (found.within(how) for found in _in_bytes(memoryview(raw), wanted))
    # Numbers as they stand in the text (without a `how`) have been compared in _in_text.
    for stream in streams:
        if stream.how and stream.written and not content.arrays:
            yield from (found.within(stream.how) for found in search_array(stream.values, wanted.tables))
    for match in matches(streams, wanted.blocks):
        what = f"values of {match.array}" + (f", {match.reading}" if match.reading else "")
        channel = match.channel if match.channel >= 0 else None
        yield Found(what, match.row, channel, f"{match.length} values, {match.bits:.0f} bits").within(match.how)
    for labels in wanted.labels:
        for stream in explored.streams:
            found = search_label_numbers(stream.values, labels, text=stream.written)
            if found:
                yield Found(found).within(stream.how)
    yield from _unexplained(explored)


def _traced(content: Content, wanted: LeakSearch) -> Iterator[Found]:
    """The first trace of a text or an array that predicts hidden values, whatever its code is."""
    if content.packed:
        return
    for found in predicted(_traces(content), wanted.targets):
        what = f"{found.trace} that predict {found.target.what}"
        channel = found.target.channel if found.target.channel >= 0 else None
        yield Found(what, None, channel, f"{found.count} of them tell {found.bits:.0f} bits more than chance")
        return


def _traces(content: Content) -> Iterator[Traces]:
    if content.arrays:
        for array in content.arrays:
            yield from array_traces(array)
        return
    # The last character may be cut in two.
    whole = "ignore" if len(content.raw) > TRACED_BYTES else "strict"
    with contextlib.suppress(UnicodeDecodeError):
        yield from text_traces(bytes(content.raw[:TRACED_BYTES]).decode("utf-8", whole))


def _unexplained(explored: Explored) -> Iterator[Found]:
    """Text in which anything may be hidden: no language explains it, nobody sees it, or it is nested too deep."""
    for stretch in explored.unexplained:
        if stretch.excess >= UNEXPLAINED:
            yield Found(
                "text of unexplained entropy",
                more=f"characters {stretch.begin} to {stretch.end - 1}, {stretch.excess:.0f} bits more than language",
            )
            break
    if explored.unseen > INVISIBLE:
        yield Found("invisible characters", more=f"{explored.unseen} of them")
    if not explored.whole:
        yield Found("cannot be searched", more="more encodings within encodings than are undone")
