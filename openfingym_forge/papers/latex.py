"""Reading LaTeX: one file, or an archive of sources as arXiv sends them."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import tarfile
import zlib
from pathlib import PurePosixPath

from openfingym_forge.papers.blocks import Block
from openfingym_forge.papers.limits import ARCHIVE_FILES, HTML_BYTES, UNPACKED_BYTES, UnreadableError

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
"""A comment: ``\\%`` is a percent sign, but behind ``\\\\``, which ends a line, a comment begins."""
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
        UnreadableError: the file is damaged, or holds no LaTeX, or is larger than the limits once it is unpacked.
    """
    # arXiv compresses whatever authors sent: an archive, a single file of LaTeX, or a PDF.
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
            # One byte more tells that there is more: a few kilobytes may unpack to terabytes.
            inflated = stream.read(UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise UnreadableError("its compression is damaged") from None
    if len(inflated) > UNPACKED_BYTES:
        raise UnreadableError(f"it is larger than {UNPACKED_BYTES >> 20} MiB unpacked, the most that is read")
    return inflated


def _members(archive: tarfile.TarFile) -> dict[str, str]:
    """The LaTeX files of an archive, by name. Nothing is written to the disk, so that no name and no link does harm."""
    texts: dict[str, str] = {}
    for number, entry in enumerate(archive):
        if number >= ARCHIVE_FILES:
            raise UnreadableError(f"its archive has more than {ARCHIVE_FILES:,} files")
        if not entry.isreg() or not entry.name.lower().endswith((".tex", ".bbl", ".ltx")):
            continue
        if entry.size > HTML_BYTES:
            raise UnreadableError(f"{entry.name} in it has {entry.size >> 20} MiB; at most {HTML_BYTES >> 20} are read")
        stream = archive.extractfile(entry)
        texts[str(PurePosixPath(entry.name))] = _decoded(stream.read() if stream else b"")
    return texts


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    # Older sources are Latin-1, which any bytes can be read as.
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _main(files: dict[str, str]) -> str:
    """The text of the document, with the files that it inputs in their places."""
    # Of several documents the one that lies least deep: others are figures or supplements in folders of their own.
    mains = sorted(
        (name for name, text in files.items() if "\\begin{document}" in text), key=lambda n: (n.count("/"), n)
    )
    if not mains:
        raise UnreadableError("its archive has no LaTeX file with a document")
    # A file may be input many times, and each of these may input others: the whole is bounded, not the files alone.
    left = UNPACKED_BYTES // 8

    def whole(text: str, depth: int) -> str:
        nonlocal left

        def named(command: re.Match[str]) -> str:
            nonlocal left
            name = command[1].strip().removeprefix("./")
            inner = files.get(name) or files.get(f"{name}.tex") or ""
            left -= len(inner)
            return whole(inner, depth + 1) if depth < 8 and left > 0 else ""

        return _INPUT.sub(named, _COMMENT.sub(r"\1", text))

    return whole(files[mains[0]], 0)


def blocks(source: str) -> list[Block]:
    """The blocks of a document.

    Args:
        source: the source of the document, or a part of one.

    Raises:
        UnreadableError: it is no LaTeX, or holds no text.
    """
    source = _COMMENT.sub(r"\1", source)
    made = [Block("title", _plain(title.replace(r"\\", " ")))] if (title := _argument(source, r"\title")) else []
    if author := _argument(source, r"\author"):
        made.append(Block("paragraph", _plain(author.replace(r"\and", ", "))))
    _, opening, body = source.partition(r"\begin{document}")
    body = (body if opening else source).partition(r"\end{document}")[0].replace(r"\maketitle", "")
    if not opening and "\\" not in source:
        raise UnreadableError("it is no LaTeX")
    at, numbers, endings = 0, [0, 0, 0, 0], _Endings(body)
    # What is opened and never closed is text like any other.
    openings = (each for each in _OPENINGS.finditer(body) if each["heading"] or endings.after(each))
    for piece in openings:
        # Inside of what was read already, as a tabular in its table.
        if piece.start() < at:
            continue
        made += _paragraphs(body[at : piece.start()])
        at = piece.end()
        if ending := endings.after(piece):
            inside, whole = body[at : ending.start()], body[piece.start() : ending.end()]
            at = ending.end()
            if piece["kind"] == "abstract":
                made += [Block("heading", "Abstract"), *_paragraphs(inside)]
            elif piece["kind"] != "thebibliography":
                made += _table(whole)
        else:
            # The match ends behind the brace that opens the heading's text.
            inner, at = _braced(body, at - 1)
            # The source has no numbers: LaTeX counts sections, so they are counted here as it does.
            level = {"section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4}[piece["heading"]]
            number = ""
            if not piece["star"] and level < 4:
                numbers = [*numbers[: level - 1], numbers[level - 1] + 1, *[0] * (4 - level)]
                number = ".".join(map(str, numbers[:level])) + " "
            made.append(Block("heading", number + _plain(inner), level))
    made += _paragraphs(body[at:])
    if not any(block.text for block in made):
        raise UnreadableError("it holds no text")
    return made


class _Endings:
    """Where environments of a text end.

    The next end of each kind is remembered: a text of many openings without an end would else be searched to its end
    for each of them.
    """

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
    """The argument of the first use of a command; empty where there is none."""
    match = re.search(re.escape(command) + r"\s*(?:\[[^\]]*\])?\s*\{", source)
    return _braced(source, match.end() - 1)[0] if match else ""


def _braced(text: str, at: int) -> tuple[str, int]:
    """What stands between the brace at ``at`` and the one that closes it, and the offset behind that one."""
    depth = 0
    # A sign behind a backslash is matched with it, so that an escaped brace does not count.
    for mark in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0 and mark[0] == "}":
            return text[at + 1 : mark.start()], mark.end()
    return text[at + 1 :], len(text)


def _paragraphs(source: str) -> list[Block]:
    """The paragraphs of a stretch of source, each displayed formula as one of its own."""
    endings, at, apart = _Endings(source, r"\*?"), 0, []
    for opening in _MATH.finditer(source):
        ending = endings.after(opening) if opening.start() >= at else None
        if ending is not None:
            formula = " ".join(source[opening.end() : ending.start()].split())
            apart += [source[at : opening.start()], f"\n\n\\[{formula}\\]\n\n"]
            at = ending.end()
    made = []
    for part in re.split(r"\n\s*\n", "".join([*apart, source[at:]])):
        words = part.strip()
        # A formula stays LaTeX, which is how a metric's definition is quoted.
        if words.startswith("\\["):
            made.append(Block("paragraph", re.sub(r"\\label\{[^{}]*\}", "", words)))
        elif words := _plain(words):
            made.append(Block("paragraph", words))
    return made


def _table(source: str) -> list[Block]:
    # What a table shows is one of the first tabulars in it: to match at every one of very many takes too long.
    places = [begin.start() for begin in itertools.islice(re.finditer(r"\\begin\{tabular", source), 8)]
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
    """LaTeX as the text that its reader sees, on one line; formulas stay LaTeX."""
    from pylatexenc.latex2text import LatexNodes2Text

    # Commands of fonts go and their arguments stay; commands that print nothing, or only numbers, go with theirs.
    source = re.sub(r"\\(?:texttt|textsf|textsc|mbox|path|ttfamily)\s*(?=\{)", "", source)
    source = re.sub(r"\\(?:label|ref|eqref|vspace|hspace|bibliographystyle|bibliography)\*?\{[^{}]*\}", "", source)
    reader = LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=False, keep_comments=False)
    text: str = reader.latex_to_text(source, tolerant_parsing=True)
    # A citation that was left out leaves a blank before the sign behind it.
    return re.sub(r" ([,.;:])(?=\s|$)", r"\1", " ".join(text.replace("<cit.>", "").split()))
