"""Reading one file into a paper, in a process with limits."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import subprocess
import sys

from openfingym.errors import UsageError
from openfingym_forge.paper import Paper
from openfingym_forge.papers.blocks import Block, compose, letters
from openfingym_forge.papers.limits import TEXT_CHARACTERS, WALL_SECONDS, UnreadableError

_NEEDED = ("bs4", "lxml", "pdfplumber", "py3langid", "pylatexenc")
"""Libraries of the extra ``forge`` that papers are read with."""
_FEWEST_LETTERS = 40
"""Letters below which a file holds no text, and a text tells no language."""
_LICENCE = re.compile(
    r"\b(?:this (?:paper|article|work|preprint) is (?:licen[cs]ed|distributed|made available)[^.]{0,200})", re.I
)
_SUFFIXES = (
    ((".tar.gz", ".tgz", ".tar", ".gz"), "packed"), ((".pdf",), "pdf"), ((".html", ".htm", ".xhtml"), "html"),
    ((".tex", ".ltx"), "latex"), ((".txt", ".text", ".md"), "text"),
)  # fmt: skip


def require_readers() -> None:
    """Refuse to begin where the libraries that read papers are not installed.

    Raises:
        UsageError: the extra ``forge`` is missing.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"reading papers needs {', '.join(missing)}: pip install 'openfingym[forge]'")


def form_of(name: str, content: bytes) -> str | None:
    """Name of the reader for a file, by its content if that tells, else by its name; None if no reader fits."""
    if content[:5] == b"%PDF-":
        return "pdf"
    if content[:2] == b"\x1f\x8b":
        return "packed"
    return next((form for suffixes, form in _SUFFIXES if name.lower().endswith(suffixes)), None)


def read_paper(name: str, content: bytes, *, origin: str = "", arxiv_id: str = "", licence: str = "") -> Paper:
    """The paper in a file.

    Args:
        name: name of the file.
        content: bytes of the file.
        origin: path or address that the file comes from; empty for its name.
        arxiv_id: number of the paper at arXiv with its version; empty for a paper from elsewhere.
        licence: licence of the paper; empty where only its text may state one.

    Raises:
        UnreadableError: no paper can be read from it.
        UsageError: the extra ``forge`` is not installed.
    """
    require_readers()
    if not content:
        raise UnreadableError("it is empty")
    if (reader := form_of(name, content)) is None:
        raise UnreadableError("it is no PDF, HTML (.html), LaTeX (.tex, .tar.gz) or text (.txt)")
    form, blocks = _in_process(reader, content)
    composed = compose(blocks)
    if len(composed.text) > TEXT_CHARACTERS:
        raise UnreadableError(f"its text has {len(composed.text):,} characters; at most {TEXT_CHARACTERS:,} are read")
    if len(letters(composed.text)) < _FEWEST_LETTERS:
        raise UnreadableError("it holds no text to speak of")
    digest = hashlib.sha256(content).hexdigest()
    title = composed.title or composed.text.partition("\n")[0][:200]
    stated = _LICENCE.search(composed.text)
    return Paper(
        key=key_of(title, digest),
        title=title,
        abstract=composed.abstract,
        text=composed.text,
        sections=composed.sections,
        tables=composed.tables,
        language=language_of(composed.text),
        form=form,  # type: ignore[arg-type]
        origin=origin or name,
        digest=digest,
        text_digest=hashlib.sha256(letters(composed.text).encode()).hexdigest(),
        licence=licence or (stated[0] if stated else ""),
        arxiv_id=arxiv_id,
    )


def key_of(title: str, digest: str) -> str:
    """Name of a paper's folder: the first words of its title, and eight digits of its digest."""
    # Letters and digits alone, whatever a title holds: the key becomes a path.
    words = re.findall(r"[a-z0-9]+", title.lower())[:5]
    return "-".join([*words, digest[:8]])[:80]


def language_of(text: str) -> str:
    """ISO 639-1 code of a text's language; ``und`` for a text of too few words to tell."""
    import py3langid

    # Numbers, formulas and single letters are of no language; the first pages tell enough.
    words = " ".join(re.findall(r"[^\W\d_]{2,}", text)[:1500])
    if len(words) < _FEWEST_LETTERS:
        return "und"
    return str(py3langid.classify(words)[0])


def _in_process(form: str, content: bytes) -> tuple[str, list[Block]]:
    """The form of a file and its blocks, read by the program of :mod:`openfingym_forge.papers.child`."""
    # -I: neither the folder that this is run in nor the environment decides what the program imports.
    command = [sys.executable, "-I", "-m", "openfingym_forge.papers.child", form]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=WALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableError(f"reading it takes more than {WALL_SECONDS} seconds") from None
    try:
        answer = json.loads(done.stdout)
    # Ended by a limit of the system, it says nothing, or breaks off.
    except ValueError:
        raise UnreadableError("reading it takes more memory or time than is allowed") from None
    if "problem" in answer:
        raise UnreadableError(str(answer["problem"]))
    blocks = [
        Block(each["kind"], each["text"], each["level"], tuple(map(tuple, each["rows"]))) for each in answer["blocks"]
    ]
    return str(answer["form"]), blocks
