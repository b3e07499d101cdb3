"""Harvesting: the papers of a folder or of an arXiv query, each once, with the reason for each that is left out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from openfingym.errors import UsageError
from openfingym.files import strange
from openfingym_forge.paper import Paper
from openfingym_forge.papers.blocks import letters
from openfingym_forge.papers.limits import FILE_BYTES, UnreadableError
from openfingym_forge.papers.reading import key_of, read_paper, require_readers
from openfingym_forge.stage import RejectionReason

ARXIV = "arxiv:"
"""How a source begins that is a query of arXiv."""
ALIKE = 0.8
"""Share of common runs of three words, in title and abstract, from which on two papers are the same one."""


@dataclass(frozen=True)
class Harvested:
    """A file, and the paper in it or the reason why there is none to work on."""

    key: str
    """Name of the paper's folder in a forge; a file that cannot be read has one as well."""
    name: str
    """Name of the file."""
    origin: str
    """Path or address that the file comes from."""
    original: bytes
    """Bytes of the file; empty where they could not be had."""
    paper: Paper | None
    """The paper; None where none could be read. One that is refused for its language or as a duplicate is here."""
    reason: RejectionReason | None
    """Why the paper is refused; None where it is to be worked on."""


def harvest(source: str | Path, *, known: Iterable[Paper] = (), cache: Path | None = None) -> Iterator[Harvested]:
    """The papers of a source, in a fixed order, each with what was read or the reason why nothing was.

    Args:
        source: a folder, a file, or a query of arXiv that begins with ``arxiv:``.
        known: papers that the forge took in before. A file that is one of them is no duplicate of anything; another
            form or version of one of them is its duplicate.
        cache: folder for what is downloaded, which a query of arXiv needs.

    Raises:
        UsageError: there is no such file or folder, or the extra ``forge`` is missing.
        DataError: arXiv refuses the query, or cannot be reached.
    """
    require_readers()
    accepted = list(known)
    known_digests = {paper.digest for paper in accepted}
    yielded: set[str] = set()
    for harvested in _read_all(source, cache):
        paper = harvested.paper
        if paper is None:
            yield harvested
            continue
        # The same bytes under a second name.
        if paper.digest in yielded:
            continue
        yielded.add(paper.digest)
        # Whoever was there first stays: else a second harvest would take a paper for the duplicate of its duplicate.
        reason = harvested.reason
        if reason is None and paper.digest not in known_digests:
            original = next((other for other in accepted if is_same(other, paper)), None)
            if original is None:
                accepted.append(paper)
            else:
                text = f"the same paper as {original.origin} ({original.key}), in another form or version"
                reason = RejectionReason("duplicate-paper", text)
        yield replace(harvested, reason=reason)


def is_same(one: Paper, other: Paper) -> bool:
    """Whether two papers are one: equal letters, equal number at arXiv, or nearly the same title and abstract."""
    if one.text_digest == other.text_digest:
        return True
    # Without the version, behind the v: a later version is the same paper.
    if one.arxiv_id and one.arxiv_id.partition("v")[0] == other.arxiv_id.partition("v")[0]:
        return True
    # A title alone decides where there are no two abstracts to compare, if it is long enough to be one paper's own.
    if (
        letters(one.title) == letters(other.title)
        and len(letters(one.title)) > 20
        and not (one.abstract and other.abstract)
    ):
        return True
    a, b = _runs(one), _runs(other)
    # Of a few words, many may agree by chance.
    return len(a | b) > 30 and len(a & b) >= ALIKE * len(a | b)


def _runs(paper: Paper) -> set[tuple[str, ...]]:
    """Every three words of title and abstract that follow each other."""
    words = re.findall(r"\w+", f"{paper.title} {paper.abstract}".lower())
    return set(zip(words, words[1:], words[2:], strict=False))


def _read_all(source: str | Path, cache: Path | None) -> Iterator[Harvested]:
    """Every file of a source as it was read, duplicates and all."""
    if isinstance(source, str) and source.startswith(ARXIV):
        from openfingym_forge.papers.arxiv import Arxiv

        if cache is None:
            raise UsageError("a query of arXiv needs a folder for what is downloaded")
        with Arxiv(cache) as arxiv:
            for entry in arxiv.search(source.removeprefix(ARXIV)):
                try:
                    name, content = arxiv.fetch(entry)
                except UnreadableError as error:
                    yield _unreadable(entry.identifier, b"", entry.address, str(error))
                    continue
                yield read_file(name, content, entry.address, arxiv_id=entry.identifier, licence=entry.licence)
        return
    path = Path(source)
    if path.is_file():
        yield _file(path)
    elif path.is_dir():
        # In a fixed order: which of two duplicates is the original depends on it.
        for inner in sorted(path.iterdir(), key=lambda entry: entry.name):
            if not inner.name.startswith(".") and not inner.is_dir():
                yield _file(inner)
    else:
        raise UsageError(f"{source}: no such file or folder; give a folder of papers, a file, or {ARXIV}QUERY")


def _file(path: Path) -> Harvested:
    """A file on this machine: its paper, or why there is none."""
    # Read as a stranger's: a link may lead to a file that is nobody's paper, a pipe never ends.
    try:
        content = strange.read_bytes(path.parent, path.name, FILE_BYTES)
    except OSError as error:
        return _unreadable(path.name, b"", str(path), str(error.strerror))
    return read_file(path.name, content, str(path))


def _unreadable(name: str, content: bytes, origin: str, why: str) -> Harvested:
    """A file that no paper can be read from."""
    # An empty file, or one whose bytes could not be had, is told from others by its name.
    key = key_of(name, hashlib.sha256(content or os.fsencode(name)).hexdigest())
    return Harvested(key, name, origin, content, None, RejectionReason("no-text", f"{name}: {why}"))


def read_file(name: str, content: bytes, origin: str, *, arxiv_id: str = "", licence: str = "") -> Harvested:
    """A file whose bytes are there: its paper, or why there is none.

    Args:
        name: name of the file.
        content: bytes of the file.
        origin: path or address that the file comes from.
        arxiv_id: number of the paper at arXiv with its version; empty for a paper from elsewhere.
        licence: licence of the paper; empty where it is not known.
    """
    try:
        paper = read_paper(name, content, origin=origin, arxiv_id=arxiv_id, licence=licence)
    except UnreadableError as error:
        return _unreadable(name, content, origin, str(error))
    reason = None
    if paper.language not in {"en", "und"}:
        reason = RejectionReason(
            "language", f"{name}: its text is in the language {paper.language!r}; papers in English are read"
        )
    return Harvested(paper.key, name, origin, content, paper, reason)
