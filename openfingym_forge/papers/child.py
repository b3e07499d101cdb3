"""A program that reads one paper from its standard input, so that a hostile file ends nothing but this process.

Its argument is ``pdf``, ``html``, ``latex``, ``packed`` or ``text``. It prints a JSON object with ``blocks`` and the
``form`` that was found; or, with exit code 3, one with ``problem``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict

from openfingym_forge.papers.blocks import Block
from openfingym_forge.papers.limits import CPU_SECONDS, MEMORY_BYTES, UnreadableError

REFUSED = 3
"""Exit code with which the reason of a refusal stands in the output."""


def read(form: str, content: bytes) -> tuple[str, list[Block]]:
    """The form of a file, and its blocks.

    Args:
        form: what the file seems to be; ``packed`` for a compressed one, which may hold a PDF or LaTeX.
        content: bytes of the file.

    Raises:
        UnreadableError: no paper can be read from it.
    """
    from openfingym_forge.papers import latex, page, pdf, plain

    if form == "packed":
        form, inner = latex.unpacked(content)
        return form, pdf.blocks(inner) if isinstance(inner, bytes) else latex.blocks(inner)
    if form == "latex":
        return form, latex.blocks(content.decode("utf-8", "replace"))
    return form, {"pdf": pdf.blocks, "html": page.blocks, "text": plain.blocks}[form](content)


def main() -> int:
    """Read the paper; gives the exit code."""
    import resource

    for kind, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        # No file may grow: a parser that is taken over by its input has nowhere to leave anything.
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # A limit that the platform lacks is left out.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))
    try:
        form, blocks = read(sys.argv[1], sys.stdin.buffer.read())
    except UnreadableError as error:
        problem = str(error)
    except MemoryError:
        problem = "reading it takes more memory than is allowed"
    except RecursionError:
        problem = "its parts are nested too deeply to be read"
    # Readers raise whatever a damaged file brings about.
    except Exception as error:
        problem = f"it cannot be read ({type(error).__name__})"
    else:
        sys.stdout.write(json.dumps({"form": form, "blocks": [asdict(block) for block in blocks]}))
        return 0
    sys.stdout.write(json.dumps({"problem": problem}))
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
