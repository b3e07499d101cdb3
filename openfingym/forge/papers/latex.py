"""Reading LaTeX: one file, or an archive of sources as arXiv sends them."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from pathlib import PurePosixPath

from openfingym.forge.papers.blocks import Block
from openfingym.forge.papers.limits import ARCHIVE_FILES, HTML_BYTES, UNPACKED_BYTES, UnreadableError

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_INPUT = re.compile(r"\\(?:input|include)\s*\{([^{}]+)\}")
_PIECES = re.compile(
    r"\\begin\{abstract\}(?P<abstract>.*?)\\end\{abstract\}"
    r"|\\begin\{(?P<kind>table\*?|tabular)\}(?P<table>.*?)\\end\{(?P=kind)\}"
    r"|\\begin\{thebibliography\}.*?\\end\{thebibliography\}"
    r"|\\(?P<heading>(?:sub){0,2}section|paragraph)(?P<star>\*?)\s*(?:\[[^\]]*\])?\{",
    re.DOTALL,
)
_TABULAR = re.compile(
    r"\\begin\{tabular\*?\}(?:\{[^{}]*\})?\s*\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\*?\}", re.DOTALL
)
_RULES = re.compile(
    r"\\(?:top|mid|bottom|h)(?:rule|line)\b(?:\[[^\]]*\])?|\\c(?:mid)?(?:rule|line)(?:\([^)]*\))?\{[^{}]*\}"
)
_MATH_BLOCK = re.compile(r"\\begin\{(equation|align|gather|multline|displaymath)\*?\}(.*?)\\end\{\1\*?\}", re.DOTALL)


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
    at, numbers = 0, [0, 0, 0, 0]
    while piece := _PIECES.search(body, at):
        found += _paragraphs(body[at : piece.start()])
        at = piece.end()
        if piece["abstract"] is not None:
            found += [Block("heading", "Abstract"), *_paragraphs(piece["abstract"])]
        elif piece["table"] is not None:
            found += _table(piece[0])
        elif piece["heading"]:
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
    apart = _MATH_BLOCK.sub(lambda found: f"\n\n\\[{' '.join(found[2].split())}\\]\n\n", source)
    found = []
    for part in re.split(r"\n\s*\n", apart):
        words = part.strip()
        if words.startswith("\\["):
            found.append(Block("paragraph", re.sub(r"\\label\{[^{}]*\}", "", words)))
        elif words := _plain(words):
            found.append(Block("paragraph", words))
    return found


def _table(source: str) -> list[Block]:
    tabular = _TABULAR.search(source)
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
