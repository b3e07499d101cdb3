"""Reading LaTeX: one file, or an archive of sources as arXiv sends them."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import tarfile
import zlib
from pathlib import PurePosixPath

from openfingym.forge.papers.blocks import Block
from openfingym.forge.papers.limits import ARCHIVE_FILES, HTML_BYTES, UNPACKED_BYTES, UnreadableError

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}]+)\}")
_OPENINGS = re.compile(
    r"\\begin\{(?P<kind>abstract|table\*?|tabular|thebibliography)\}"
    r"|\\(?P<heading>(?:sub){0,2}section|paragraph)(?P<star>\*?)\s*(?:\[[^\]]*\])?\{"
)
_TABULAR = re.compile(
    r"\\begin\{tabular\*?\}(?:\{[^{}]*\})?\s*\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\*?\}", re.DOTALL
)
_RULES = re.compile(
    r"\\(?:top|mid|bottom|h)(?:rule|line)\b(?:\[[^\]]*\])?|\\c(?:mid)?(?:rule|line)(?:\([^)]*\))?\{[^{}]*\}"
)
_MATH = re.compile(r"\\begin\{(?P<kind>equation|align|gather|multline|displaymath)\*?\}")


def unpacked(content: bytes) -> tuple[str, bytes | str]:
    """What a compressed file holds: its form, and the source as one text or the bytes of a PDF.

    Raises:
        UnreadableError: it is damaged, or larger than the limits unpacked, or holds no LaTeX.
    """
    if content[:2] == b"\x1f\x8b":
        content = _inflated(content)
    if content[:5] == b"%PDF-":
        return "pdf", content
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            return "latex", _main(_members(archive))
    except tarfile.TarError:
        return "latex", _decoded(content)


def _inflated(content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            found = stream.read(UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise UnreadableError("its compression is damaged") from None
    if len(found) > UNPACKED_BYTES:
        raise UnreadableError(f"it is larger than {UNPACKED_BYTES >> 20} MiB unpacked, the most that is read")
    return found


def _members(archive: tarfile.TarFile) -> dict[str, str]:
    """The LaTeX files of an archive. Nothing is written to the disk, so that no name and no link matters."""
    found: dict[str, str] = {}
    for number, entry in enumerate(archive):
        if number >= ARCHIVE_FILES:
            raise UnreadableError(f"its archive has more than {ARCHIVE_FILES:,} files")
        if not entry.isreg() or not entry.name.lower().endswith((".tex", ".bbl", ".ltx")):
            continue
        if entry.size > HTML_BYTES:
            raise UnreadableError(f"{entry.name} in it has {entry.size >> 20} MiB; at most {HTML_BYTES >> 20} are read")
        stream = archive.extractfile(entry)
        found[str(PurePosixPath(entry.name))] = _decoded(stream.read() if stream else b"")
    return found


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _main(files: dict[str, str]) -> str:
    """The file that is the document, with those it inputs."""
    mains = sorted(
        (name for name, text in files.items() if "\\begin{document}" in text), key=lambda n: (n.count("/"), n)
    )
    if not mains:
        raise UnreadableError("its archive has no LaTeX file with a document")
    left = UNPACKED_BYTES // 8

    def whole(text: str, depth: int) -> str:
        nonlocal left

        def named(found: re.Match[str]) -> str:
            nonlocal left
            name = found[1].strip().removeprefix("./")
            inner = files.get(name) or files.get(f"{name}.tex") or ""
            left -= len(inner)
            return whole(inner, depth + 1) if depth < 8 and left > 0 else ""

        return _INPUT.sub(named, _COMMENT.sub(r"\1", text))

    return whole(files[mains[0]], 0)


def blocks(source: str) -> list[Block]:
    """The blocks of a document.

    Raises:
        UnreadableError: it holds no text.
    """
    source = _COMMENT.sub(r"\1", source)
    found = [Block("title", _plain(title.replace(r"\\", " ")))] if (title := _argument(source, r"\title")) else []
    if author := _argument(source, r"\author"):
        found.append(Block("paragraph", _plain(author.replace(r"\and", ", "))))
    _, opening, body = source.partition(r"\begin{document}")
    body = (body if opening else source).partition(r"\end{document}")[0].replace(r"\maketitle", "")
    if not opening and "\\" not in source:
        raise UnreadableError("it is no LaTeX")
    at, numbers, endings = 0, [0, 0, 0, 0], _Endings(body)
    # What is opened and never closed is text like any other.
    openings = (one for one in _OPENINGS.finditer(body) if one["heading"] or endings.after(one))
    for piece in openings:
        if piece.start() < at:
            continue
        found += _paragraphs(body[at : piece.start()])
        at = piece.end()
        if ending := endings.after(piece):
            inside, whole = body[at : ending.start()], body[piece.start() : ending.end()]
            at = ending.end()
            if piece["kind"] == "abstract":
                found += [Block("heading", "Abstract"), *_paragraphs(inside)]
            elif piece["kind"] != "thebibliography":
                found += _table(whole)
        else:
            inner, at = _braced(body, at - 1)
            level = {"section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4}[piece["heading"]]
            number = ""
            if not piece["star"] and level < 4:
                numbers = [*numbers[: level - 1], numbers[level - 1] + 1, *[0] * (4 - level)]
                number = ".".join(map(str, numbers[:level])) + " "
            found.append(Block("heading", number + _plain(inner), level))
    found += _paragraphs(body[at:])
    if not any(block.text for block in found):
        raise UnreadableError("it holds no text")
    return found


class _Endings:
    """Where environments of a text end; each kind that is never closed again is looked for once."""

    def __init__(self, source: str, star: str = "") -> None:
        self._source, self._star = source, star
        self._next: dict[str, re.Match[str] | None] = {}

    def after(self, opening: re.Match[str]) -> re.Match[str] | None:
        """The first end of an environment's kind after its beginning; None where there is none, or it is no
        environment.
        """
        kind = opening["kind"]
        if kind is None:
            return None
        known = self._next.get(kind)
        if kind not in self._next or (known is not None and known.start() < opening.end()):
            pattern = re.compile(rf"\\end\{{{re.escape(kind)}{self._star}\}}")
            known = self._next[kind] = pattern.search(self._source, opening.end())
        return known


def _argument(source: str, command: str) -> str:
    found = re.search(re.escape(command) + r"\s*(?:\[[^\]]*\])?\s*\{", source)
    return _braced(source, found.end() - 1)[0] if found else ""


def _braced(text: str, at: int) -> tuple[str, int]:
    """What stands between a brace and the one that closes it, and the place behind."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0 and found[0] == "}":
            return text[at + 1 : found.start()], found.end()
    return text[at + 1 :], len(text)


def _paragraphs(source: str) -> list[Block]:
    endings, at, apart = _Endings(source, r"\*?"), 0, []
    for opening in _MATH.finditer(source):
        ending = endings.after(opening) if opening.start() >= at else None
        if ending is not None:
            formula = " ".join(source[opening.end() : ending.start()].split())
            apart += [source[at : opening.start()], f"\n\n\\[{formula}\\]\n\n"]
            at = ending.end()
    found = []
    for part in re.split(r"\n\s*\n", "".join([*apart, source[at:]])):
        words = part.strip()
        if words.startswith("\\["):
            found.append(Block("paragraph", re.sub(r"\\label\{[^{}]*\}", "", words)))
        elif words := _plain(words):
            found.append(Block("paragraph", words))
    return found


def _table(source: str) -> list[Block]:
    # Of a table's environments one of the first is what it shows.
    places = [found.start() for found in itertools.islice(re.finditer(r"\\begin\{tabular", source), 8)]
    tabular = next(filter(None, (_TABULAR.match(source, place) for place in places)), None)
    if tabular is None:
        return _paragraphs(re.sub(r"\\(?:begin|end)\{table\*?\}(?:\[[^\]]*\])?", "", source))
    rows = []
    for line in re.split(r"\\\\(?:\[[^\]]*\])?", _RULES.sub("", tabular[1])):
        cells = tuple(_plain(cell) for cell in re.split(r"(?<!\\)&", line))
        if any(cells):
            rows.append(cells)
    return [Block("table", _plain(_argument(source, r"\caption")), rows=tuple(rows))]


def _plain(source: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    source = re.sub(r"\\(?:texttt|textsf|textsc|mbox|path|ttfamily)\s*(?=\{)", "", source)
    source = re.sub(r"\\(?:label|ref|eqref|vspace|hspace|bibliographystyle|bibliography)\*?\{[^{}]*\}", "", source)
    reader = LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=False, keep_comments=False)
    text: str = reader.latex_to_text(source, tolerant_parsing=True)
    return re.sub(r" ([,.;:])(?=\s|$)", r"\1", " ".join(text.replace("<cit.>", "").split()))
