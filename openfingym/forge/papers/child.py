"""Reads one paper from stdin; run as a program of its own, so that a hostile file ends nothing but this process.

argv: pdf | html | latex | packed | text. stdout: a JSON object with ``blocks`` and the ``form`` that was found; with
exit code 3, one with ``problem``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import asdict

from openfingym.forge.papers.blocks import Block
from openfingym.forge.papers.limits import CPU_SECONDS, MEMORY_BYTES, UnreadableError

REFUSED = 3


def read(form: str, content: bytes) -> tuple[str, list[Block]]:
    """The form of a file, and its blocks."""
    from openfingym.forge.papers import latex, page, pdf, plain

    if form == "packed":
        form, inner = latex.unpacked(content)
        return form, pdf.blocks(inner) if isinstance(inner, bytes) else latex.blocks(inner)
    if form == "latex":
        return form, latex.blocks(content.decode("utf-8", "replace"))
    return form, {"pdf": pdf.blocks, "html": page.blocks, "text": plain.blocks}[form](content)


def main() -> int:
    """Read the paper."""
    import resource

    for kind, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))
    try:
        form, found = read(sys.argv[1], sys.stdin.buffer.read())
    except UnreadableError as error:
        problem = str(error)
    except MemoryError:
        problem = "reading it takes more memory than is allowed"
    except RecursionError:
        problem = "its parts are nested too deeply to be read"
    except Exception as error:  # readers raise whatever a damaged file brings about
        problem = f"it cannot be read ({type(error).__name__})"
    else:
        sys.stdout.write(json.dumps({"form": form, "blocks": [asdict(block) for block in found]}))
        return 0
    sys.stdout.write(json.dumps({"problem": problem}))
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
