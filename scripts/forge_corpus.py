"""Write the papers of the forge's tests from their sources in tests/openfingym_forge/written: PDF, HTML, LaTeX, text.

Usage: python scripts/forge_corpus.py [FOLDER], by default tests/openfingym_forge. The files are the same, byte by byte,
each time.
"""

from __future__ import annotations

import html
import io
import sys
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from reportlab import rl_config
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Table

MARK = "Written for tests, not a real paper; authors and results are invented."
HERE = Path(__file__).resolve().parents[1] / "tests" / "openfingym_forge"
rl_config.invariant = 1  # no dates, no random names: equal bytes


@dataclass(frozen=True)
class Source:
    """A paper in our markup: what stands at its head, and its blocks."""

    head: dict[str, str]
    blocks: list[str]


def read(path: Path) -> Source:
    """The source in a file."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    pairs = (line.partition(": ")[::2] for line in head.splitlines())
    return Source(dict(pairs), [block.strip() for block in body.split("\n\n") if block.strip()])


def rows(block: str) -> tuple[str, list[list[str]]]:
    """Caption and cells of a table's block."""
    caption, *lines = block.splitlines()
    return caption.removeprefix("@table "), [[cell.strip() for cell in line.split("|")] for line in lines]


def as_html(source: Source) -> str:
    """A page as a publisher's, with what is no part of the paper around it."""
    head = source.head
    parts = [f"<h2>Abstract</h2>\n<p>{html.escape(head['abstract'])}</p>"]
    for block in source.blocks:
        if block.startswith("#"):
            marks, _, title = block.partition(" ")
            parts.append(f"<h{len(marks) + 1}>{html.escape(title)}</h{len(marks) + 1}>")
        elif block.startswith("@eq "):
            parts.append(f'<p class="math">\\[{html.escape(block[4:])}\\]</p>')
        elif block.startswith("@table "):
            caption, cells = rows(block)
            lines = [
                "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line) + "</tr>"
                for line, tag in zip(cells, ["th"] + ["td"] * len(cells), strict=False)
            ]
            parts.append(f"<table><caption>{html.escape(caption)}</caption>\n" + "\n".join(lines) + "</table>")
        else:
            parts.append(f"<p>{html.escape(block)}</p>")
    body = "\n".join(parts)
    title = html.escape(head["title"])
    return (
        f'<!DOCTYPE html>\n<html lang="{head.get("language", "en")}"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>p.math{font-style:italic}</style><script>var page = 'not a part of the paper';</script></head>\n<body>"
        f'<nav><a href="#">Home</a> <a href="#">Journals</a></nav>\n<article><h1>{title}</h1>\n'
        f'<p class="authors">{html.escape(head["authors"])}<br>{html.escape(head["affiliation"])}<br>{MARK}</p>\n'
        f"{body}\n</article>\n<footer>Cookies and terms of use</footer></body></html>\n"
    )


def as_pdf(source: Source, path: Path) -> None:
    """A PDF in one column or two."""
    head, two = source.head, source.head["columns"] == "2"
    size, leading = (9.5, 11.5) if two else (11, 14)
    text = ParagraphStyle("text", fontName="Times-Roman", fontSize=size, leading=leading, spaceAfter=5, alignment=4)
    title = ParagraphStyle("title", parent=text, fontName="Times-Bold", fontSize=15, leading=18, alignment=1)
    middle = ParagraphStyle("middle", parent=text, alignment=1)
    bold = ParagraphStyle("bold", parent=text, fontName="Times-Bold", fontSize=size + 1, spaceBefore=6)
    top: list[tuple[str, ParagraphStyle]] = [
        (head["title"], title), (head["authors"], middle), (head["affiliation"], middle), (MARK, middle),
    ]  # fmt: skip
    story: list[Flowable] = [Paragraph("Abstract", bold), Paragraph(html.escape(head["abstract"]), text)]
    for block in source.blocks:
        if block.startswith("#"):
            story.append(Paragraph(html.escape(block.lstrip("# ")), bold))
        elif block.startswith("@eq "):
            story.append(Paragraph(html.escape(block[4:]), middle))
        elif block.startswith("@table "):
            caption, cells = rows(block)
            story.append(Paragraph(html.escape(caption), ParagraphStyle("caption", parent=text, keepWithNext=1)))
            lines = [("LINEABOVE", (0, 0), (-1, 0), 0.8, "black"), ("LINEBELOW", (0, 0), (-1, 0), 0.4, "black")]
            small = [
                ("FONT", (0, 0), (-1, -1), "Times-Roman", size),
                ("LINEBELOW", (0, -1), (-1, -1), 0.8, "black"),
            ]
            story.append(Table(cells, style=[*lines, *small], spaceAfter=8))
        else:
            story.append(Paragraph(html.escape(block), text))
    width, height = A4
    heads = [Paragraph(html.escape(words), style) for words, style in top]
    tall = sum(item.wrap(width - 110, height)[1] + 5 for item in heads) + 20

    def begin(canvas: Canvas, document: BaseDocTemplate) -> None:
        if document.page == 1:
            y = height - 50
            for item in heads:
                _, used = item.wrap(width - 110, height)
                item.drawOn(canvas, 55, y - used)
                y -= used + 5
        canvas.setFont("Times-Roman", 9)
        canvas.drawCentredString(width / 2, 30, str(document.page))

    def frames(room: float) -> list[Frame]:
        count = 2 if two else 1
        wide = (width - 110 - 18 * (count - 1)) / count
        return [Frame(55 + i * (wide + 18), 50, wide, room, 0, 0, 0, 0) for i in range(count)]

    document = BaseDocTemplate(str(path), pagesize=A4, title=head["title"], author=head["authors"])
    document.addPageTemplates(
        [
            PageTemplate("first", frames(height - 100 - tall), onPage=begin, autoNextPageTemplate="later"),
            PageTemplate("later", frames(height - 100), onPage=begin),
        ]
    )
    document.build(story)


def packed(files: dict[str, bytes]) -> bytes:
    """A tar.gz as arXiv sends sources."""
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    # Not gzip.compress: what it writes as the operating system depends on Python's version.
    compressor = zlib.compressobj(level=9, wbits=31)
    return compressor.compress(inner.getvalue()) + compressor.flush()


def write(written: Path, folder: Path) -> None:
    """The papers of one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(written.iterdir()):
        if path.suffix == ".src":
            source = read(path)
            if source.head["form"] == "html":
                (folder / f"{path.stem}.html").write_text(as_html(source), encoding="utf-8")
            else:
                as_pdf(source, folder / f"{path.stem}.pdf")
        elif path.suffix == ".tex" and "begin{thebibliography}" in path.read_text(encoding="utf-8"):
            (folder / f"{path.stem}.tar.gz").write_bytes(
                packed({"main.tex": path.read_bytes(), "figures/none.txt": b"\n"})
            )
        elif path.suffix in {".tex", ".txt"}:
            (folder / path.name).write_bytes(path.read_bytes())


def write_unlucky(folder: Path) -> None:
    """Files of which no paper can be read, or not one of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "noise.pdf").write_bytes(np.random.default_rng(7).bytes(4096))
    (folder / "bomb.tar.gz").write_bytes(packed({"main.tex": b"\0" * (96 << 20)}))
    scan = Canvas(str(folder / "scan.pdf"), pagesize=A4)
    from PIL import Image

    grey = np.random.default_rng(8).integers(180, 255, (80, 60), dtype=np.uint8)
    scan.drawImage(ImageReader(Image.fromarray(grey)), 50, 100, 480, 640)
    scan.save()
    from reportlab.lib.pdfencrypt import StandardEncryption

    locked = Canvas(str(folder / "locked.pdf"), pagesize=A4, encrypt=StandardEncryption("secret", strength=40))
    locked.drawString(72, 700, "Nobody reads this without the word.")
    locked.save()


def write_rates(path: Path) -> None:
    """The file that the paper on freight rates names: seeded, mean-reverting weekly indices."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draws = np.random.default_rng(20261123).normal(size=(1200, 3))
    mean = np.log([2400.0, 1600.0, 1100.0])
    level, change, lines = mean.copy(), np.zeros(3), ["date,capesize,panamax,supramax"]
    first = np.datetime64("2000-01-07")
    for week, shock in enumerate(draws):
        change = 0.25 * change - 0.02 * (level - mean) + 0.05 * (0.7 * shock[0] + 0.7 * shock)
        level = level + change
        cells = ",".join(f"{value:.1f}" for value in np.exp(level))
        lines.append(f"{first + np.timedelta64(7 * week, 'D')},{cells}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write everything."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    write(HERE / "written", root / "corpus")
    write(HERE / "written_held_out", root / "held_out")
    write(HERE / "written_unlucky", root / "unlucky")
    write_unlucky(root / "unlucky")
    write_rates(root / "served" / "dry-bulk.csv")


if __name__ == "__main__":
    main()
